//! Numbers of ranges of addresses.
//!
//! Cost: a step for each block and each range, on all workers, whatever the blocks' sizes; for ranges with blocks of several
//! groups a sort of these.

use rayon::prelude::*;

use super::AddressSpace;
use super::piece::{LEFT_OUT, Piece};
use crate::model::{RowId, Rows, SiteId};
use crate::query::{Cancel, Cancelled};
use crate::units::Ticks;

/// Number of entries of groups that are kept before those of one group are added up.
const FULL: usize = 64;

/// Number of ranges in one piece of work.
const PART: usize = 512;

/// Numbers of a range of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sums {
    /// Bytes of live blocks.
    pub live: u64,
    /// Bytes of live blocks that the filters leave out.
    pub others: u64,
    /// Committed bytes, whatever is in them.
    pub committed: u64,
    /// Number of blocks, and of parts of blocks, that begin here.
    pub blocks: u64,
    /// The group with most bytes of blocks, of several the first; without any block that of the committed bytes. `None` if
    /// the filters leave nothing.
    pub group: Option<u32>,
    /// When the oldest block of those that are counted was allocated, or without any block the oldest page committed.
    pub oldest: Ticks,
    /// When the newest one was.
    pub newest: Ticks,
    /// The block with most bytes, of several the one with the first byte; without any block the committed range.
    pub largest: Option<RowId>,
}

impl Sums {
    /// Whether a block is in the range, one that the filters leave out included.
    pub fn has_blocks(&self) -> bool {
        self.blocks > 0 || self.live > 0 || self.others > 0
    }
}

/// The bytes of some pieces in one range.
struct Tally {
    bytes: u64,
    begun: u64,
    oldest: Ticks,
    newest: Ticks,
    largest: Option<(u64, RowId)>,
    /// Bytes of each group; a group can be there several times.
    groups: Vec<(u32, u64)>,
    /// The number of entries at which those of one group are added up.
    full: usize,
}

/// Returns the numbers of some ranges, first and last byte, which are in order and do not overlap.
pub(super) fn sums(
    space: &AddressSpace,
    ranges: &[(u64, u64)],
    group_of: &(impl Fn(SiteId) -> u32 + Sync + ?Sized),
    cancel: &Cancel,
) -> Result<Vec<Sums>, Cancelled> {
    let part = |ranges: &[(u64, u64)]| {
        cancel.check()?;
        let rows = &space.trace.rows;
        let from = ranges.first().map_or(0, |(first, _)| *first);
        let mut blocks = Behind::new(&space.blocks, from);
        let mut committed = Behind::new(&space.committed, from);
        let (mut of_blocks, mut of_committed) = (Tally::default(), Tally::default());
        let one = |&range: &(u64, u64)| {
            of_blocks.clear();
            of_committed.clear();
            let mut others = 0u64;
            let mut pages = 0u64;
            blocks.each_in(range, |piece, bytes| match piece.site {
                LEFT_OUT => others = bytes.saturating_add(others),
                site => of_blocks.add((piece, bytes), range, group_of(site), rows),
            });
            committed.each_in(range, |piece, bytes| {
                pages = bytes.saturating_add(pages);
                if piece.site != LEFT_OUT {
                    of_committed.add((piece, bytes), range, group_of(piece.site), rows);
                }
            });
            let is_empty = of_blocks.largest.is_none() && others == 0;
            Sums { others, committed: pages, ..of_blocks.sums(is_empty.then_some(&mut of_committed)) }
        };
        Ok(ranges.iter().map(one).collect())
    };
    let parts: Result<Vec<Vec<Sums>>, Cancelled> = ranges.par_chunks(PART).map(part).collect();
    Ok(parts?.concat())
}

/// Pieces that are visited range by range.
struct Behind<'a> {
    pieces: &'a [Piece],
    next: usize,
}

impl<'a> Behind<'a> {
    /// The pieces that do not end before an address.
    fn new(pieces: &'a [Piece], from: u64) -> Self {
        Self { pieces, next: pieces.partition_point(|piece| piece.last() < from) }
    }

    /// Calls `each` with the pieces in a range and their bytes in it. Ranges must come in order.
    fn each_in(&mut self, (first, last): (u64, u64), mut each: impl FnMut(&Piece, u64)) {
        while let Some(piece) = self.pieces.get(self.next).filter(|piece| piece.first <= last) {
            if piece.last() >= first {
                let bytes = (piece.last().min(last) - piece.first.max(first)).saturating_add(1);
                each(piece, bytes.min(piece.bytes));
            }
            if piece.last() > last {
                return;
            }
            self.next += 1;
        }
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            bytes: 0,
            begun: 0,
            oldest: Ticks::NEVER,
            newest: Ticks::BEFORE_TRACE,
            largest: None,
            groups: Vec::new(),
            full: FULL,
        }
    }
}

impl Tally {
    fn clear(&mut self) {
        let mut groups = std::mem::take(&mut self.groups);
        groups.clear();
        *self = Self { groups, ..Self::default() };
    }

    fn add(&mut self, (piece, bytes): (&Piece, u64), range: (u64, u64), group: u32, rows: &Rows) {
        self.bytes = self.bytes.saturating_add(bytes); // of all 2^64 bytes
        self.begun += u64::from(piece.first >= range.0);
        let birth = rows.birth(piece.row);
        (self.oldest, self.newest) = (self.oldest.min(birth), self.newest.max(birth));
        if self.largest.is_none_or(|(most, _)| bytes > most) {
            self.largest = Some((bytes, piece.row));
        }
        match self.groups.last_mut() {
            Some((of, sum)) if *of == group => *sum = sum.saturating_add(bytes),
            _ => self.groups.push((group, bytes)),
        }
        if self.groups.len() >= self.full {
            self.add_up();
            self.full = (2 * self.groups.len()).max(FULL);
        }
    }

    /// The numbers; those of committed pages describe a range in which no block is.
    fn sums(&mut self, committed: Option<&mut Self>) -> Sums {
        let (live, blocks) = (self.bytes, self.begun);
        let of = committed.unwrap_or(self);
        let (group, largest) = (of.leading(), of.largest.map(|(_, row)| row));
        Sums { live, others: 0, committed: 0, blocks, group, oldest: of.oldest, newest: of.newest, largest }
    }

    /// Makes the entries of each group one.
    fn add_up(&mut self) {
        self.groups.sort_unstable_by_key(|(group, _)| *group);
        self.groups.dedup_by(|(group, bytes), (before, sum)| {
            let is_one = group == before;
            if is_one {
                *sum = sum.saturating_add(*bytes);
            }
            is_one
        });
    }

    /// The group with most bytes, of several the first.
    fn leading(&mut self) -> Option<u32> {
        self.add_up();
        self.groups.iter().max_by_key(|(group, bytes)| (*bytes, std::cmp::Reverse(*group))).map(|(group, _)| *group)
    }
}
