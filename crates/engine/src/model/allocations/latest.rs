//! The block that each thread allocated last in each NT heap. It tells a realloc record that only sums
//! up a moving realloc from one that stands for itself: after the allocation that it sums up, the
//! thread has allocated nothing in that heap.
//!
//! Cost: a comparison an allocation; some hash operations where threads take turns. Memory: an entry
//! for each thread and heap in which it allocated.

use crate::model::{HeapId, RowId};
use crate::tables::KeyedMap;
use crate::units::Tid;

/// Number of places, each for one thread in one heap.
const RECENT: usize = 1 << 8;

/// Bytes of an entry, approximately.
const ENTRY: u64 = 32;

type Key = (HeapId, Tid);

/// The latest block of each thread in each heap.
#[derive(Debug)]
pub(in crate::model) struct LatestBlocks {
    /// Recent allocations; if a thread stands here, `all` may have an earlier block of it.
    recent: [Option<(Key, RowId)>; RECENT],
    all: KeyedMap<Key, RowId>,
}

impl Default for LatestBlocks {
    fn default() -> Self {
        Self { recent: [None; RECENT], all: KeyedMap::default() }
    }
}

impl LatestBlocks {
    /// Notes that a thread has allocated a block in a heap.
    #[inline(always)]
    pub(in crate::model) fn set(&mut self, heap: HeapId, thread: Tid, row: RowId) {
        match &mut self.recent[place_of(heap, thread)] {
            Some((key, latest)) if *key == (heap, thread) => *latest = row,
            _ => self.replace((heap, thread), row),
        }
    }

    #[inline(never)]
    fn replace(&mut self, key: Key, row: RowId) {
        let before = self.recent[place_of(key.0, key.1)].replace((key, row));
        self.all.extend(before);
        self.all.entry(key).or_insert(row);
    }

    /// The block that a thread allocated last in a heap, whether it is alive or not; one that is not
    /// may be forgotten.
    pub(super) fn of(&self, heap: HeapId, thread: Tid) -> Option<RowId> {
        match self.recent[place_of(heap, thread)] {
            Some((key, row)) if key == (heap, thread) => Some(row),
            _ => self.all.get(&(heap, thread)).copied(),
        }
    }

    /// Gives rows their new numbers; those without one are dropped.
    pub(super) fn renumber(&mut self, number: impl Fn(RowId) -> Option<RowId>) {
        let recent = std::mem::replace(&mut self.recent, [None; RECENT]);
        self.all.extend(recent.into_iter().flatten());
        self.all.retain(|_, row| number(*row).map(|new| *row = new).is_some());
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        self.all.len() as u64 * ENTRY
    }
}

#[inline(always)]
fn place_of(heap: HeapId, thread: Tid) -> usize {
    // Ids of threads are multiples of four, and those of a process near each other: they have places side by side, elsewhere in
    // each heap.
    (thread.0 >> 2).wrapping_add(heap.0.wrapping_mul(59)) as usize % RECENT
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn threads_of_one_process_have_places_of_their_own_in_each_of_its_heaps() {
        let keys = || (0..4).flat_map(|heap| (0..8).map(move |thread| (HeapId(heap), Tid(4_000 + 4 * thread))));
        let places: BTreeSet<usize> = keys().map(|(heap, thread)| place_of(heap, thread)).collect();
        assert_eq!(places.len(), keys().count());
    }

    #[test]
    fn the_latest_block_of_each_thread_and_heap_is_known_however_many_there_are() {
        let mut latest = LatestBlocks::default();
        let of = |n: u32| (HeapId(n % 7), Tid(n % 60 * 4));
        let mut expected = KeyedMap::default();
        for n in 0..4_000u32 {
            let key = of(n * n % 1_009);
            latest.set(key.0, key.1, RowId(n));
            expected.insert(key, RowId(n));
            assert_eq!(latest.bytes(), expected.len() as u64 * ENTRY);
            let key = of(n % 500);
            assert_eq!(latest.of(key.0, key.1), expected.get(&key).copied());
        }
        let number = |row: RowId| (!row.0.is_multiple_of(3)).then_some(RowId(row.0 / 3));
        latest.renumber(number);
        expected.into_iter().for_each(|(key, row)| assert_eq!(latest.of(key.0, key.1), number(row)));
    }
}
