//! Live blocks of one heap, by address: a table of buckets that are a cache line each, so that a
//! look-up mostly costs one cache miss, and has no branch that depends on the place within the bucket.
//!
//! A block whose bucket is full stands in a later one, and all buckets that it went past count it.
//! Memory: 12.8 bytes a place, at most 70 % full.

use super::shard_hash::ShardHash;
use crate::model::RowId;

/// Places in a bucket.
const PLACES: usize = 5;

/// A bit for each place.
const ALL: u32 = (1 << PLACES) - 1;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket {
    /// Addresses of free places keep their last values.
    addresses: [u64; PLACES],
    rows: [u32; PLACES],
    /// A bit for each place that is taken; above these the number of blocks that went past this bucket
    /// because it was full: never 2^27, for so many would have to stand side by side.
    state: u32,
}

impl Bucket {
    const FREE: Self = Self { addresses: [0; PLACES], rows: [0; PLACES], state: 0 };

    /// One block that went past, in the state.
    const PAST: u32 = ALL + 1;

    /// The place of the block at an address.
    #[inline(always)]
    fn of(&self, address: u64) -> Option<usize> {
        let same = (0..PLACES).fold(0, |mask, i| mask | u32::from(self.addresses[i] == address) << i);
        let mask = same & self.state;
        (mask != 0).then_some(mask.trailing_zeros() as usize)
    }

    /// Puts a block in; `false` if there is no room.
    #[inline(always)]
    fn put(&mut self, address: u64, row: u32) -> bool {
        let free = !self.state & ALL;
        let place = free.trailing_zeros() as usize;
        if let (Some(there), Some(number)) = (self.addresses.get_mut(place), self.rows.get_mut(place)) {
            (*there, *number) = (address, row);
            self.state |= free & free.wrapping_neg();
            return true;
        }
        false
    }

    /// Takes out the block at a place.
    #[inline(always)]
    fn take(&mut self, place: usize) -> u32 {
        self.state &= !(1 << place);
        self.rows[place]
    }

    /// Whether no block went past.
    #[inline(always)]
    fn is_last(&self) -> bool {
        self.state < Self::PAST
    }

    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let state = self.state;
        (0..PLACES).filter(move |i| state >> i & 1 != 0)
    }

    fn blocks(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.places().map(|i| (self.addresses[i], self.rows[i]))
    }
}

/// Live blocks of one heap.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveBlocks {
    buckets: Vec<Bucket>,
    len: usize,
    /// Number of blocks at which the table grows.
    most: usize,
}

impl LiveBlocks {
    /// Reads the bucket of an address, so that it is in the cache when it is needed.
    #[inline]
    pub(super) fn touch(&self, hash: u64) -> u32 {
        self.buckets.get(self.home(hash)).map_or(0, |bucket| bucket.state)
    }

    /// Number of blocks.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The block at an address.
    pub(super) fn get(&self, hash: u64, address: u64) -> Option<RowId> {
        self.find(hash, address).map(|(at, place)| RowId(self.buckets[at].rows[place]))
    }

    /// Makes a block alive and returns the one that was alive there.
    #[inline]
    pub(super) fn insert(&mut self, shard_hash: ShardHash, hash: u64, address: u64, row: RowId) -> Option<RowId> {
        if self.len >= self.most {
            self.grow(shard_hash);
        }
        let home = self.home(hash);
        if let Some((at, place)) = self.find_from(home, address) {
            return Some(RowId(std::mem::replace(&mut self.buckets[at].rows[place], row.0)));
        }
        self.put(home, address, row.0);
        self.len += 1;
        None
    }

    /// Ends the block at an address.
    #[inline]
    pub(super) fn remove(&mut self, hash: u64, address: u64) -> Option<RowId> {
        let home = self.home(hash);
        let (at, place) = self.find_from(home, address)?;
        let row = self.buckets[at].take(place);
        let mut before = home;
        while before != at {
            self.buckets[before].state -= Bucket::PAST;
            before = self.after(before);
        }
        self.len -= 1;
        Some(RowId(row))
    }

    /// Gives rows their new numbers.
    pub(super) fn renumber(&mut self, number: impl Fn(RowId) -> Option<RowId>) {
        for bucket in &mut self.buckets {
            for place in bucket.places() {
                let row = &mut bucket.rows[place];
                *row = number(RowId(*row)).map_or(*row, |row| row.0);
            }
        }
    }

    /// Addresses of live blocks, in any order.
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
    #[inline(always)]
    fn find(&self, hash: u64, address: u64) -> Option<(usize, usize)> {
        self.find_from(self.home(hash), address)
    }

    /// Bucket and place of an address whose own bucket is `home`.
    #[inline(always)]
    fn find_from(&self, home: usize, address: u64) -> Option<(usize, usize)> {
        let bucket = self.buckets.get(home)?;
        match bucket.of(address) {
            Some(place) => Some((home, place)),
            None if bucket.is_last() => None,
            None => self.find_past(home, address),
        }
    }

    /// Bucket and place of an address that is not in its own bucket, if it is in a later one.
    #[inline(never)]
    fn find_past(&self, home: usize, address: u64) -> Option<(usize, usize)> {
        let mut at = self.after(home);
        while at != home {
            let bucket = &self.buckets[at];
            if let Some(place) = bucket.of(address) {
                return Some((at, place));
            }
            if bucket.is_last() {
                return None;
            }
            at = self.after(at);
        }
        None
    }

    /// Puts a block into the first bucket with a free place, from its own on; there always is one.
    #[inline]
    fn put(&mut self, home: usize, address: u64, row: u32) {
        let mut at = home;
        while !self.buckets[at].put(address, row) {
            self.buckets[at].state += Bucket::PAST;
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

    fn grow(&mut self, shard_hash: ShardHash) {
        // In little steps: of very many heaps most have a few blocks.
        let room = (self.buckets.len() * 3 / 2).max(self.buckets.len() + 1);
        let old = std::mem::replace(&mut self.buckets, vec![Bucket::FREE; room]);
        self.most = room * PLACES * 7 / 10;
        for (address, row) in old.iter().flat_map(Bucket::blocks) {
            self.put(self.home(shard_hash.hash(address)), address, row);
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
            let shard_hash = ShardHash::default();
            let mut blocks = LiveBlocks::default();
            let mut map = BTreeMap::new();
            for (row, (place, free)) in steps.into_iter().enumerate() {
                let address = if wide { place << 60 | place } else { place * 16 };
                let (hash, row) = (shard_hash.hash(address), RowId(row as u32));
                prop_assert_eq!(blocks.get(hash, address), map.get(&address).copied());
                if free {
                    prop_assert_eq!(blocks.remove(hash, address), map.remove(&address));
                } else {
                    prop_assert_eq!(blocks.insert(shard_hash, hash, address, row), map.insert(address, row));
                }
            }
            let mut all: Vec<RowId> = map.into_values().collect();
            all.sort_unstable();
            prop_assert_eq!(blocks.take_all(), all);
        }
    }
}
