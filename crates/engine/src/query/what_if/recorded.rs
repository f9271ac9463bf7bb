//! Blocks at the addresses that they were recorded at. In a damaged trace, blocks may overlap: a page counts once for a process
//! all the same.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::allocator::{Allocator, Place, Request, Spaces};
use super::policy::{Policy, Sized};
use crate::query::PAGE;
use crate::tables::KeyedMap;

/// Pages of a leaf.
const LEAF: u64 = 64;

/// The recorded blocks of all processes.
#[derive(Default, Debug)]
pub(super) struct Recorded {
    of_process: KeyedMap<u32, Pages>,
    spaces: Spaces,
    pages: u128,
}

/// The touched pages of a process.
#[derive(Debug)]
struct Pages {
    space: u64,
    /// Number of blocks that begin or end on each page, in leaves by the number of their first page over [`LEAF`].
    edges: BTreeMap<u64, Box<[u32; LEAF as usize]>>,
    /// Number of blocks that cover each page whole: from a page up to the next entry; 0 before the first.
    covers: BTreeMap<u64, u32>,
}

/// Whether a block comes or goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Comes,
    Goes,
}

impl Change {
    /// Changes a number; returns whether it was 0 before or is now.
    fn apply(self, blocks: &mut u32) -> bool {
        match self {
            Self::Comes => *blocks += 1,
            Self::Goes => *blocks -= 1,
        }
        *blocks == u32::from(self == Self::Comes)
    }
}

impl Allocator for Recorded {
    fn allocate(&mut self, request: &Request) -> Place {
        let spaces = &mut self.spaces;
        let new = || Pages { space: spaces.open(), edges: BTreeMap::new(), covers: BTreeMap::new() };
        let pages = self.of_process.entry(request.process).or_insert_with(new);
        self.pages += u128::from(pages.change(request, Change::Comes));
        Place { space: pages.space, first: request.address }
    }

    fn free(&mut self, request: &Request, _: Place) {
        let Some(pages) = self.of_process.get_mut(&request.process) else { return };
        self.pages -= u128::from(pages.change(request, Change::Goes));
    }

    fn pages(&self) -> u128 {
        self.pages
    }
}

impl Pages {
    /// Adds or removes a block; returns the number of pages that were not touched before, or are not any more.
    fn change(&mut self, request: &Request, change: Change) -> u64 {
        let (from, to) = (request.address / PAGE, request.address.saturating_add(request.needed() - 1) / PAGE);
        let mut pages = self.change_edge(from, change);
        if to > from {
            pages += self.change_edge(to, change);
        }
        if to > from + 1 {
            pages += self.change_cover(from + 1, to, change);
        }
        pages
    }

    fn change_edge(&mut self, page: u64, change: Change) -> u64 {
        let leaf = self.edges.entry(page / LEAF).or_insert_with(|| Box::new([0; LEAF as usize]));
        let is_edge = change.apply(&mut leaf[(page % LEAF) as usize]);
        if is_edge && change == Change::Goes && leaf.iter().all(|blocks| *blocks == 0) {
            self.edges.remove(&(page / LEAF));
        }
        let is_covered = || self.covers.range(..=page).next_back().is_some_and(|(_, blocks)| *blocks > 0);
        u64::from(is_edge && !is_covered())
    }

    /// Changes the pages in `[from, to)`, which a block covers whole.
    fn change_cover(&mut self, from: u64, to: u64, change: Change) -> u64 {
        self.split(to);
        self.split(from);
        let mut parts: Vec<u64> = Vec::new();
        for (page, blocks) in self.covers.range_mut(from..to) {
            if change.apply(blocks) {
                parts.push(*page);
            }
        }
        let changed = parts.into_iter().map(|page| {
            // The range ends with an entry, so there is a next one.
            let end = self.covers.range((Bound::Excluded(page), Bound::Unbounded)).next().map_or(to, |(end, _)| *end);
            end - page - self.edges_in(page, end)
        });
        let changed = changed.sum();
        self.merge(from);
        self.merge(to);
        changed
    }

    /// Makes an entry begin at a page.
    fn split(&mut self, page: u64) {
        let blocks = self.covers.range(..=page).next_back().map_or(0, |(_, blocks)| *blocks);
        self.covers.insert(page, blocks);
    }

    /// Removes the entry of a page if the one before says as much.
    fn merge(&mut self, page: u64) {
        let before = self.covers.range(..page).next_back().map_or(0, |(_, blocks)| *blocks);
        if self.covers.get(&page) == Some(&before) {
            self.covers.remove(&page);
        }
    }

    /// Number of the pages in `[from, to)` on which a block begins or ends.
    fn edges_in(&self, from: u64, to: u64) -> u64 {
        let leaves = self.edges.range(from / LEAF..=(to - 1) / LEAF);
        let pages = leaves.flat_map(|(leaf, blocks)| (leaf * LEAF..).zip(blocks.iter()));
        pages.filter(|(page, blocks)| (from..to).contains(page) && **blocks > 0).count() as u64
    }
}

/// The recorded blocks, but for those of one group, which are in a pool.
#[derive(Debug)]
pub(super) struct OnePool {
    recorded: Recorded,
    pool: Sized,
    group: u32,
}

impl OnePool {
    pub(super) fn new(group: u32) -> Self {
        Self { recorded: Recorded::default(), pool: Sized::new(Policy::Pools), group }
    }
}

/// Bit of the spaces of the pool: the recorded ones have others.
const OF_POOL: u64 = 1 << 63;

impl Allocator for OnePool {
    fn allocate(&mut self, request: &Request) -> Place {
        if request.group != self.group {
            return self.recorded.allocate(request);
        }
        let Place { space, first } = self.pool.allocate(request);
        Place { space: space | OF_POOL, first }
    }

    fn free(&mut self, request: &Request, place: Place) {
        if request.group == self.group {
            self.pool.free(request, Place { space: place.space & !OF_POOL, ..place });
        } else {
            self.recorded.free(request, place);
        }
    }

    fn pages(&self) -> u128 {
        self.recorded.pages() + self.pool.pages()
    }
}
