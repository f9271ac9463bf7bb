//! Blocks that are alive in one heap, by address: a table of buckets that are a cache
//! line each, so that a look-up costs one cache miss, mostly, and no branch that
//! depends on which of the places in it is meant.
//!
//! A block whose bucket is full stands in a later one, and all that it went past count
//! it. Memory: 12.8 bytes a place, at most 70 % full.

use super::steps::SHARDS;
use crate::model::RowId;

/// No row has this number.
const EMPTY: u32 = u32::MAX;

/// Places in a bucket.
const PLACES: usize = 5;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket {
    /// Those of free places are what they were.
    addresses: [u64; PLACES],
    rows: [u32; PLACES],
    /// Blocks that went past this bucket because it was full.
    past: u32,
}

impl Bucket {
    const FREE: Self = Self { addresses: [0; PLACES], rows: [EMPTY; PLACES], past: 0 };

    /// A bit for each place for which `is_it` holds.
    #[inline(always)]
    fn places(is_it: impl Fn(usize) -> bool) -> u32 {
        (0..PLACES).fold(0, |mask, i| mask | u32::from(is_it(i)) << i)
    }

    /// The place of the block at an address.
    #[inline(always)]
    fn of(&self, address: u64) -> Option<usize> {
        let mut left = Self::places(|i| self.addresses[i] == address);
        while left != 0 {
            // One at most is not free, mostly the first that is looked at.
            let place = left.trailing_zeros() as usize;
            if self.rows.get(place).is_some_and(|&row| row != EMPTY) {
                return Some(place);
            }
            left &= left - 1;
        }
        None
    }

    #[inline(always)]
    fn free(&self) -> Option<usize> {
        let mask = Self::places(|i| self.rows[i] == EMPTY);
        (mask != 0).then_some(mask.trailing_zeros() as usize)
    }

    #[inline(always)]
    fn put(&mut self, place: usize, address: u64, row: u32) {
        (self.addresses[place], self.rows[place]) = (address, row);
    }

    fn blocks(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        (0..PLACES).filter(|&i| self.rows[i] != EMPTY).map(|i| (self.addresses[i], self.rows[i]))
    }
}

/// Spreads addresses over shards and slots. Odd and not known beforehand, so that
/// no file can be made whose addresses all meet in one place.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct Spread(u64);

impl Spread {
    pub(super) fn new() -> Self {
        use std::hash::{BuildHasher, RandomState};
        Self(RandomState::new().hash_one(0u8) | 1)
    }

    #[inline(always)]
    pub(super) fn hash(self, address: u64) -> u64 {
        (address ^ address >> 29).wrapping_mul(self.0)
    }

    /// The shard of the matching that knows of an address.
    #[inline(always)]
    pub(in crate::model) fn shard(self, address: u64) -> usize {
        // Other bits than those that choose the bucket.
        (self.hash(address) >> 24) as usize % SHARDS
    }
}

/// Live blocks of one heap.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveBlocks {
    buckets: Vec<Bucket>,
    len: usize,
}

impl LiveBlocks {
    /// Reads the bucket of an address, so that it is in the cache when it is needed.
    #[inline]
    pub(super) fn touch(&self, hash: u64) -> u32 {
        self.buckets.get(self.home(hash)).map_or(0, |bucket| bucket.past)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The block at an address.
    pub(super) fn get(&self, hash: u64, address: u64) -> Option<RowId> {
        self.find(hash, address).map(|(at, place)| RowId(self.buckets[at].rows[place]))
    }

    /// Makes a block alive and returns the one that was alive there.
    #[inline]
    pub(super) fn insert(&mut self, spread: Spread, hash: u64, address: u64, row: RowId) -> Option<RowId> {
        if (self.len + 1) * 10 > self.buckets.len() * PLACES * 7 {
            self.grow(spread);
        }
        let home = self.home(hash);
        let bucket = &mut self.buckets[home];
        if let Some(place) = bucket.of(address) {
            return Some(RowId(std::mem::replace(&mut bucket.rows[place], row.0)));
        }
        if bucket.past > 0
            && let Some((at, place)) = self.find(hash, address)
        {
            return Some(RowId(std::mem::replace(&mut self.buckets[at].rows[place], row.0)));
        }
        self.put(hash, address, row.0);
        self.len += 1;
        None
    }

    /// Ends the block at an address.
    #[inline]
    pub(super) fn remove(&mut self, hash: u64, address: u64) -> Option<RowId> {
        let (at, place) = self.find(hash, address)?;
        let row = std::mem::replace(&mut self.buckets[at].rows[place], EMPTY);
        let mut before = self.home(hash);
        while before != at {
            self.buckets[before].past -= 1;
            before = self.after(before);
        }
        self.len -= 1;
        Some(RowId(row))
    }

    /// Rows have new numbers.
    pub(super) fn renumber(&mut self, number: impl Fn(RowId) -> Option<RowId>) {
        for row in self.buckets.iter_mut().flat_map(|bucket| &mut bucket.rows).filter(|row| **row != EMPTY) {
            *row = number(RowId(*row)).map_or(*row, |row| row.0);
        }
    }

    /// Where there are live blocks, in any order.
    pub(super) fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.buckets.iter().flat_map(Bucket::blocks).map(|(address, _)| address)
    }

    /// Takes all live blocks.
    pub(super) fn take_all(&mut self) -> Vec<RowId> {
        let buckets = std::mem::take(self).buckets;
        let mut rows: Vec<RowId> = buckets.iter().flat_map(Bucket::blocks).map(|(_, row)| RowId(row)).collect();
        rows.sort_unstable(); // the order of the table must not show
        rows
    }

    /// Bucket and place of an address.
    #[inline]
    fn find(&self, hash: u64, address: u64) -> Option<(usize, usize)> {
        if self.len == 0 {
            return None;
        }
        let mut at = self.home(hash);
        for _ in 0..self.buckets.len() {
            let bucket = &self.buckets[at];
            if let Some(place) = bucket.of(address) {
                return Some((at, place));
            }
            if bucket.past == 0 {
                return None;
            }
            at = self.after(at);
        }
        None
    }

    /// Puts a block into the first bucket with a free place; there is one.
    #[inline]
    fn put(&mut self, hash: u64, address: u64, row: u32) {
        let mut at = self.home(hash);
        loop {
            let bucket = &mut self.buckets[at];
            if let Some(place) = bucket.free() {
                return bucket.put(place, address, row);
            }
            bucket.past += 1;
            at = self.after(at);
        }
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.buckets.len() as u128) >> 64) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.buckets.len() { 0 } else { at + 1 }
    }

    fn grow(&mut self, spread: Spread) {
        let room = (self.buckets.len() * 3 / 2).max(4);
        let old = std::mem::replace(&mut self.buckets, vec![Bucket::FREE; room]);
        for (address, row) in old.iter().flat_map(Bucket::blocks) {
            self.put(spread.hash(address), address, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map(steps in proptest::collection::vec((0u64..40, any::<bool>()), 0..400), wide in any::<bool>()) {
            let spread = Spread::new();
            let mut blocks = LiveBlocks::default();
            let mut map = BTreeMap::new();
            for (row, (place, free)) in steps.into_iter().enumerate() {
                let address = if wide { place << 60 | place } else { place * 16 };
                let (hash, row) = (spread.hash(address), RowId(row as u32));
                prop_assert_eq!(blocks.get(hash, address), map.get(&address).copied());
                if free {
                    prop_assert_eq!(blocks.remove(hash, address), map.remove(&address));
                } else {
                    prop_assert_eq!(blocks.insert(spread, hash, address, row), map.insert(address, row));
                }
            }
            let mut all: Vec<RowId> = map.into_values().collect();
            all.sort_unstable();
            prop_assert_eq!(blocks.take_all(), all);
        }
    }
}
