//! A range of addresses for each process that begins empty and grows at its end.
//!
//! A block goes to the smallest gap between others in which it fits, of equal ones to the lowest. If it fits in none, it goes
//! behind the last block.

use std::collections::{BTreeMap, BTreeSet};

use super::allocator::{Place, Request, Spaces};
use crate::query::PAGE;
use crate::tables::KeyedMap;

/// The ranges of all processes.
#[derive(Default, Debug)]
pub(super) struct Gaps {
    of_process: KeyedMap<u32, Range>,
    pages: u128,
}

#[derive(Debug)]
struct Range {
    space: u64,
    end: u64,
    /// Length of each gap by its first byte. No gap begins where another ends.
    by_first: BTreeMap<u64, u64>,
    /// Length and first byte of each gap.
    by_length: BTreeSet<(u64, u64)>,
    /// Number of blocks on each page in which one begins or ends.
    edges: KeyedMap<u64, u32>,
}

impl Gaps {
    /// Returns the place of a new block that takes `length` bytes of the range.
    pub(super) fn allocate(&mut self, request: &Request, length: u64, spaces: &mut Spaces) -> Place {
        let new = || Range {
            space: spaces.open(),
            end: 0,
            by_first: BTreeMap::new(),
            by_length: BTreeSet::new(),
            edges: KeyedMap::default(),
        };
        let range = self.of_process.entry(request.process).or_insert_with(new);
        let first = range.take(length);
        self.pages += u128::from(range.touch(first, request.needed()));
        Place { space: range.space, first }
    }

    /// Frees a block that takes `length` bytes of the range.
    pub(super) fn free(&mut self, request: &Request, length: u64, place: Place) {
        let Some(range) = self.of_process.get_mut(&request.process) else { return };
        range.give(place.first, length);
        self.pages -= u128::from(range.leave(place.first, request.needed()));
    }

    pub(super) fn pages(&self) -> u128 {
        self.pages
    }
}

impl Range {
    fn take(&mut self, length: u64) -> u64 {
        let fits = self.by_length.range((length, 0)..).next().copied();
        if let Some((found, first)) = fits {
            self.remove(first, found);
            if found > length {
                self.insert(first + length, found - length);
            }
            return first;
        }
        let last = self.by_first.last_key_value().map(|(first, length)| (*first, *length));
        let first = match last.filter(|(first, length)| first + length == self.end) {
            Some((first, length)) => {
                self.remove(first, length);
                first
            }
            None => self.end,
        };
        self.end = first + length;
        first
    }

    fn give(&mut self, mut first: u64, mut length: u64) {
        let before = self.by_first.range(..first).next_back().map(|(first, length)| (*first, *length));
        if let Some((start, known)) = before.filter(|(start, known)| start + known == first) {
            self.remove(start, known);
            (first, length) = (start, length + known);
        }
        if let Some(behind) = self.by_first.get(&(first + length)).copied() {
            self.remove(first + length, behind);
            length += behind;
        }
        self.insert(first, length);
    }

    fn insert(&mut self, first: u64, length: u64) {
        self.by_first.insert(first, length);
        self.by_length.insert((length, first));
    }

    fn remove(&mut self, first: u64, length: u64) {
        self.by_first.remove(&first);
        self.by_length.remove(&(length, first));
    }

    /// Counts a block; returns the number of pages that it is the first on. Blocks do not overlap: between its first and
    /// its last page it is alone.
    fn touch(&mut self, first: u64, bytes: u64) -> u64 {
        let (from, to) = (first / PAGE, (first + (bytes - 1)) / PAGE);
        let mut add = |page| {
            let blocks = self.edges.entry(page).or_default();
            *blocks += 1;
            u64::from(*blocks == 1)
        };
        add(from) + if to > from { add(to) + (to - from - 1) } else { 0 }
    }

    /// Removes a block; returns the number of pages that it was the last on.
    fn leave(&mut self, first: u64, bytes: u64) -> u64 {
        let (from, to) = (first / PAGE, (first + (bytes - 1)) / PAGE);
        let mut remove = |page| {
            let blocks = self.edges.get(&page).copied().unwrap_or(1) - 1;
            if blocks == 0 {
                self.edges.remove(&page)
            } else {
                self.edges.insert(page, blocks)
            };
            u64::from(blocks == 0)
        };
        remove(from) + if to > from { remove(to) + (to - from - 1) } else { 0 }
    }
}
