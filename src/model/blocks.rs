//! Blocks that are alive, by heap and address.

use rustc_hash::FxHashMap;

use super::{HeapId, RowId};

/// Live blocks of all heaps and trackers.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    heaps: Vec<FxHashMap<u64, RowId>>,
}

impl Blocks {
    /// Makes a block alive and returns the one that was alive there.
    pub(super) fn insert(&mut self, heap: HeapId, address: u64, row: RowId) -> Option<RowId> {
        let index = heap.0 as usize;
        if index >= self.heaps.len() {
            self.heaps.resize_with(index + 1, FxHashMap::default);
        }
        self.heaps[index].insert(address, row)
    }

    pub(super) fn get(&self, heap: HeapId, address: u64) -> Option<RowId> {
        self.heaps.get(heap.0 as usize)?.get(&address).copied()
    }

    pub(super) fn remove(&mut self, heap: HeapId, address: u64) -> Option<RowId> {
        self.heaps.get_mut(heap.0 as usize)?.remove(&address)
    }

    /// Takes all live blocks of a heap.
    pub(super) fn take_all(&mut self, heap: HeapId) -> Vec<RowId> {
        let Some(blocks) = self.heaps.get_mut(heap.0 as usize) else { return Vec::new() };
        let mut rows: Vec<RowId> = std::mem::take(blocks).into_values().collect();
        rows.sort_unstable(); // the order of a hash table must not show
        rows
    }
}
