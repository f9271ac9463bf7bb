//! Rows in some order, in blocks that later publications share: a block is copied only if rows are
//! inserted into it.
//!
//! Cost: 4 bytes a row, and 20 a block; a search through the blocks for each access to a place, none
//! for the places that follow it.

use std::ops::Range;
use std::sync::Arc;

use super::RowId;

/// Row ids in an order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RowList {
    /// No block is empty.
    blocks: Vec<Arc<[RowId]>>,
    /// Where each block begins.
    starts: Vec<u32>,
    len: u32,
}

/// A block into which rows are inserted is split beyond this length.
const LONGEST: usize = 1 << 11;

impl RowList {
    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes in memory.
    pub fn heap_bytes(&self) -> usize {
        self.len() * 4 + self.blocks.capacity() * 16 + self.starts.capacity() * 4
    }

    /// The row at a place. Panics if there is no such place, as indexing does.
    #[inline]
    pub fn get(&self, at: u32) -> RowId {
        let block = self.block_at(at);
        self.blocks[block][(at - self.starts[block]) as usize]
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = RowId> + '_ {
        self.range(0..self.len)
    }

    /// The rows at some places.
    pub fn range(&self, places: Range<u32>) -> impl Iterator<Item = RowId> + '_ {
        self.parts(places).flatten().copied()
    }

    /// The rows at some places, block by block: for loops over many rows, which [`RowList::range`] slows down.
    pub fn parts(&self, places: Range<u32>) -> impl Iterator<Item = &[RowId]> {
        let Range { start, end } = places;
        let first = if start < end { self.block_at(start) } else { self.blocks.len() };
        let blocks = self.blocks[first..].iter().zip(&self.starts[first..]).take_while(move |(_, from)| **from < end);
        blocks.map(move |(block, &from)| &block[start.saturating_sub(from) as usize..block.len().min((end - from) as usize)])
    }

    /// Returns the rows at places that are asked in ascending order. It panics if there is no such place, as indexing does.
    pub fn reader(&self) -> impl FnMut(u32) -> RowId + '_ {
        let (mut start, mut block): (u32, &[RowId]) = (0, &[]);
        move |at| {
            if (at - start) as usize >= block.len() {
                let index = self.block_at(at);
                (start, block) = (self.starts[index], &self.blocks[index]);
            }
            block[(at - start) as usize]
        }
    }

    /// Number of rows at the beginning for which `before` holds; it holds for no others.
    pub fn partition_point(&self, before: impl Fn(RowId) -> bool) -> u32 {
        let Some(block) = self.blocks.partition_point(|block| before(block[0])).checked_sub(1) else { return 0 };
        self.starts[block] + self.blocks[block].partition_point(|&row| before(row)) as u32
    }

    fn block_at(&self, at: u32) -> usize {
        self.starts.partition_point(|&start| start <= at) - 1
    }

    /// Puts a block at the end.
    pub(super) fn push(&mut self, block: impl Into<Arc<[RowId]>>) {
        let block: Arc<[RowId]> = block.into();
        if !block.is_empty() {
            self.starts.push(self.len);
            self.len += block.len() as u32;
            self.blocks.push(block);
        }
    }

    /// The list with new row numbers, without rows that have none.
    pub(super) fn renumbered(&self, number: impl Fn(RowId) -> Option<RowId>) -> Self {
        let mut new = Self::default();
        self.blocks.iter().for_each(|block| new.push(block.iter().copied().filter_map(&number).collect::<Vec<_>>()));
        new
    }

    /// Merges `new` into a list; both are in the order of `key`, and new rows go behind those with the
    /// same key.
    pub(super) fn merged<K: Ord>(&self, new: &[RowId], key: impl Fn(RowId) -> K) -> Self {
        let (mut list, mut new, mut block) = (Self::default(), new, 0);
        while let Some(&first) = new.first() {
            let at_first = key(first);
            // The block that it belongs to: the last one that does not begin behind it.
            let begun = self.blocks[block..].partition_point(|block| key(block[0]) <= at_first);
            let own = (block + begun).saturating_sub(1).max(block);
            self.blocks[block..own].iter().for_each(|block| list.push(Arc::clone(block)));
            let Some(old) = self.blocks.get(own) else {
                new.chunks(LONGEST).for_each(|rows| list.push(rows));
                return list;
            };
            let behind = self.blocks.get(own + 1).map(|block| key(block[0]));
            let fitting = behind.map_or(new.len(), |behind| new.partition_point(|&row| key(row) < behind)).max(1);
            let mut rows = [old, &new[..fitting]].concat();
            rows.sort_by_key(|&row| key(row));
            let parts = rows.len().div_ceil(LONGEST).max(1);
            rows.chunks(rows.len().div_ceil(parts)).for_each(|rows| list.push(rows));
            (new, block) = (&new[fitting..], own + 1);
        }
        self.blocks[block.min(self.blocks.len())..].iter().for_each(|block| list.push(Arc::clone(block)));
        list
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn in_blocks(rows: &[u32], length: usize) -> RowList {
        let mut list = RowList::default();
        rows.chunks(length).for_each(|rows| list.push(rows.iter().copied().map(RowId).collect::<Vec<_>>()));
        list
    }

    proptest! {
        #[test]
        fn blocks_are_one_list(mut rows in prop::collection::vec(0..500u32, 0..200), length in 1..40usize, places in any::<[u16; 2]>(), limit in 0..500u32) {
            rows.sort_unstable();
            let list = in_blocks(&rows, length);
            let [a, b] = places.map(|place| u32::from(place) % (rows.len() as u32 + 1));
            let (from, to) = (a.min(b), a.max(b));
            let mut read = list.reader();
            prop_assert!((from..to).filter(|at| at % 3 > 0).all(|at| read(at) == list.get(at)));
            prop_assert_eq!(list.len(), rows.len());
            prop_assert!((0..).zip(&rows).all(|(at, row)| list.get(at).0 == *row));
            prop_assert!(list.range(from..to).map(|row| row.0).eq(rows[from as usize..to as usize].iter().copied()));
            prop_assert_eq!(list.partition_point(|row| row.0 < limit) as usize, rows.partition_point(|row| *row < limit));
            let halves = list.renumbered(|row| (row.0 % 3 != 0).then_some(RowId(row.0 / 2)));
            prop_assert!(halves.iter().map(|row| row.0).eq(rows.iter().filter(|row| *row % 3 != 0).map(|row| row / 2)));
        }

        #[test]
        fn merging_sorts_and_keeps_blocks_in_which_nothing_comes(
            mut old in prop::collection::vec(0..500u32, 0..100), mut new in prop::collection::vec(0..500u32, 0..20), length in 1..40usize,
        ) {
            // Equal keys, by the tens, stay in the order in which they came.
            old.sort_by_key(|row| row / 10);
            new.sort_by_key(|row| row / 10);
            let list = in_blocks(&old, length);
            let added: Vec<RowId> = new.iter().copied().map(RowId).collect();
            let merged = list.merged(&added, |row| row.0 / 10);
            let mut expected = [old, new.clone()].concat();
            expected.sort_by_key(|row| row / 10);
            prop_assert!(merged.iter().map(|row| row.0).eq(expected));
            let kept = list.blocks.iter().filter(|block| merged.blocks.iter().any(|other| Arc::ptr_eq(block, other)));
            prop_assert!(kept.count() + new.len() >= list.blocks.len());
        }
    }

    #[test]
    fn long_blocks_are_parted() {
        let list = (0..100u32).fold(RowList::default(), |list, turn| {
            let new: Vec<RowId> = (0..100).map(|i| RowId(i * 100 + turn)).collect();
            list.merged(&new, |row| row)
        });
        assert!(list.iter().map(|row| row.0).eq(0..10_000));
        assert!(list.blocks.iter().all(|block| block.len() <= LONGEST) && list.blocks.len() < 20);
    }
}
