//! Stretches of addresses, each of one block: every byte has one owner.

use rayon::prelude::*;

use crate::model::{RowId, SiteId};
use crate::query::pages::Block;

/// The site of blocks that the filters leave out.
pub(super) const LEFT_OUT: SiteId = SiteId(u32::MAX);

/// A block, or a part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// First byte.
    pub(super) first: u64,
    /// Number of bytes; 0 for an empty block.
    pub(super) bytes: u64,
    pub(super) row: RowId,
    pub(super) site: SiteId,
}

impl Piece {
    pub(super) fn new((address, size): (u64, u64), row: RowId, site: SiteId) -> Self {
        Self { first: address, bytes: Block::new(0, address, size).bytes(), row, site }
    }

    /// Last byte, or the first of an empty block.
    pub(super) fn last(&self) -> u64 {
        self.first + self.bytes.saturating_sub(1)
    }

    /// The part up to the last byte that begins at `from`.
    pub(super) fn part(&self, from: u64, last: u64) -> Self {
        let bytes = if self.bytes == 0 { 0 } else { (last - from).saturating_add(1) };
        Self { first: from, bytes, ..*self }
    }
}

/// Ranges of addresses, first and last byte, in order and without overlaps, that are asked about in order.
pub(super) struct Taken<'a> {
    ranges: &'a [(u64, u64)],
    next: usize,
}

impl<'a> Taken<'a> {
    pub(super) fn new(ranges: &'a [(u64, u64)]) -> Self {
        Self { ranges, next: 0 }
    }

    /// Calls `each` with the parts of a range that are not taken. Ranges must come in order.
    pub(super) fn each_free(&mut self, (mut from, last): (u64, u64), mut each: impl FnMut(u64, u64)) {
        while self.ranges.get(self.next).is_some_and(|(_, end)| *end < from) {
            self.next += 1;
        }
        for (first, end) in self.ranges[self.next..].iter().take_while(|(first, _)| *first <= last) {
            if *first > from {
                each(from, first - 1);
            }
            if *end >= last {
                return;
            }
            from = end + 1;
        }
        each(from, last);
    }
}

/// Gives each byte one owner, in the order of addresses: blocks of an earlier list own their bytes before those of later
/// ones; of blocks of one list that overlap, which happens in damaged traces only, the one that begins first does.
/// Empty blocks are left where no other block is.
pub(super) fn owned(lists: impl IntoIterator<Item = Vec<Piece>>) -> Vec<Piece> {
    let mut all: Vec<Piece> = Vec::new();
    for mut list in lists {
        // Empty ones last, so that a block at their address hides them.
        list.par_sort_unstable_by_key(|piece| (piece.first, piece.bytes == 0, piece.row));
        let own = without_overlaps(list);
        all = if all.is_empty() { own } else { added(all, &own) };
    }
    let mut covered = None;
    all.retain(|piece| {
        let is_seen = piece.bytes > 0 || covered.is_none_or(|last| last < piece.first);
        covered = if piece.bytes > 0 { Some(piece.last()) } else { covered };
        is_seen
    });
    all
}

/// Cuts from each piece what earlier ones cover.
fn without_overlaps(mut list: Vec<Piece>) -> Vec<Piece> {
    let mut covered: Option<u64> = None;
    list.retain_mut(|piece| {
        let last = piece.last();
        let from = match covered {
            Some(covered) if covered >= last => return false,
            Some(covered) => piece.first.max(covered + 1),
            None => piece.first,
        };
        *piece = piece.part(from, last);
        covered = if piece.bytes > 0 { Some(last) } else { covered };
        true
    });
    list
}

/// Adds the parts of other pieces that are not taken.
fn added(mut all: Vec<Piece>, others: &[Piece]) -> Vec<Piece> {
    let ranges: Vec<(u64, u64)> = all.iter().filter(|piece| piece.bytes > 0).map(|piece| (piece.first, piece.last())).collect();
    let mut taken = Taken::new(&ranges);
    for piece in others {
        taken.each_free((piece.first, piece.last()), |from, last| all.push(piece.part(from, last)));
    }
    all.par_sort_unstable_by_key(|piece| (piece.first, piece.bytes == 0, piece.row));
    all
}
