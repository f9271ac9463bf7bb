//! Blocks that are alive in one heap, by address: an open-addressed table of 12
//! bytes a slot, at most 70 % full. A look-up costs one cache miss, mostly.

use super::RowId;

/// No row has this number.
const EMPTY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Address in two halves: 12 bytes a slot instead of 16.
    low: u32,
    high: u32,
    row: u32,
}

impl Slot {
    const FREE: Self = Self { low: 0, high: 0, row: EMPTY };

    fn new(address: u64, row: RowId) -> Self {
        Self { low: address as u32, high: (address >> 32) as u32, row: row.0 }
    }

    fn address(self) -> u64 {
        u64::from(self.high) << 32 | u64::from(self.low)
    }
}

/// Spreads addresses over shards and slots. Odd and not known beforehand, so that
/// no file can be made whose addresses all meet in one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread(u64);

impl Spread {
    pub(super) fn new() -> Self {
        use std::hash::{BuildHasher, RandomState};
        Self(RandomState::new().hash_one(0u8) | 1)
    }

    pub(super) fn hash(self, address: u64) -> u64 {
        (address ^ address >> 29).wrapping_mul(self.0)
    }
}

/// Live blocks of one heap.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    slots: Vec<Slot>,
    len: usize,
}

impl Blocks {
    /// Reads the place of an address, so that it is in the cache when it is needed.
    pub(super) fn touch(&self, hash: u64) -> u32 {
        self.slots.get(self.home(hash)).map_or(0, |slot| slot.row)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The block at an address.
    pub(super) fn get(&self, hash: u64, address: u64) -> Option<RowId> {
        self.find(hash, address).map(|at| RowId(self.slots[at].row))
    }

    /// Makes a block alive and returns the one that was alive there.
    pub(super) fn insert(&mut self, spread: Spread, hash: u64, address: u64, row: RowId) -> Option<RowId> {
        if (self.len + 1) * 10 > self.slots.len() * 7 {
            self.grow(spread);
        }
        let mut at = self.home(hash);
        loop {
            let slot = &mut self.slots[at];
            if slot.row == EMPTY {
                *slot = Slot::new(address, row);
                self.len += 1;
                return None;
            }
            if slot.address() == address {
                return Some(RowId(std::mem::replace(&mut slot.row, row.0)));
            }
            at = self.after(at);
        }
    }

    /// Ends the block at an address.
    pub(super) fn remove(&mut self, spread: Spread, hash: u64, address: u64) -> Option<RowId> {
        let mut hole = self.find(hash, address)?;
        let row = self.slots[hole].row;
        // What comes behind moves up, unless it would then stand before its home.
        let mut at = hole;
        loop {
            at = self.after(at);
            let slot = self.slots[at];
            if slot.row == EMPTY {
                break;
            }
            let home = self.home(spread.hash(slot.address()));
            if self.distance(home, at) >= self.distance(hole, at) {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole] = Slot::FREE;
        self.len -= 1;
        Some(RowId(row))
    }

    /// Takes all live blocks.
    pub(super) fn take_all(&mut self) -> Vec<RowId> {
        let slots = std::mem::take(self).slots;
        let mut rows: Vec<RowId> = slots.into_iter().filter(|s| s.row != EMPTY).map(|s| RowId(s.row)).collect();
        rows.sort_unstable(); // the order of the table must not show
        rows
    }

    fn find(&self, hash: u64, address: u64) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let mut at = self.home(hash);
        loop {
            let slot = self.slots[at];
            if slot.row == EMPTY {
                return None;
            }
            if slot.address() == address {
                return Some(at);
            }
            at = self.after(at);
        }
    }

    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.slots.len() as u128) >> 64) as usize
    }

    fn after(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() { 0 } else { at + 1 }
    }

    /// Steps from one place forward to another.
    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.slots.len() - from }
    }

    fn grow(&mut self, spread: Spread) {
        let room = (self.slots.len() * 3 / 2).max(16);
        let old = std::mem::replace(&mut self.slots, vec![Slot::FREE; room]);
        for slot in old.into_iter().filter(|slot| slot.row != EMPTY) {
            let mut at = self.home(spread.hash(slot.address()));
            while self.slots[at].row != EMPTY {
                at = self.after(at);
            }
            self.slots[at] = slot;
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
            let mut blocks = Blocks::default();
            let mut map = BTreeMap::new();
            for (row, (place, free)) in steps.into_iter().enumerate() {
                let address = if wide { place << 60 | place } else { place * 16 };
                let (hash, row) = (spread.hash(address), RowId(row as u32));
                prop_assert_eq!(blocks.get(hash, address), map.get(&address).copied());
                if free {
                    prop_assert_eq!(blocks.remove(spread, hash, address), map.remove(&address));
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
