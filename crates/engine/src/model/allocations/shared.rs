//! Blocks of providers of which some events do not say the tracker: such an event is of the tracker that has a block at its
//! address.
//!
//! Cost: a hash operation for each block of such a provider that begins or ends; nothing for others.

use crate::model::{HeapId, ProcessId};
use crate::tables::KeyedMap;

/// Bytes of a live block in the table, approximately.
const BLOCK: u64 = 56;

/// Live blocks by process, provider and address. Of two blocks at one address the later one counts.
#[derive(Debug, Default)]
pub(in crate::model) struct SharedBlocks {
    heaps: KeyedMap<(ProcessId, u64, u64), HeapId>,
}

impl SharedBlocks {
    /// Notes that a block begins; `provider` are the bits that all trackers of its provider have in common.
    pub(in crate::model) fn begins(&mut self, process: ProcessId, provider: u64, address: u64, heap: HeapId) {
        self.heaps.insert((process, provider, address), heap);
    }

    /// The tracker that has a block at an address.
    pub(in crate::model) fn heap(&self, process: ProcessId, provider: u64, address: u64) -> Option<HeapId> {
        self.heaps.get(&(process, provider, address)).copied()
    }

    /// Notes that the block of a tracker at an address ends.
    pub(in crate::model) fn ends(&mut self, process: ProcessId, provider: u64, address: u64, heap: HeapId) {
        if self.heap(process, provider, address) == Some(heap) {
            self.heaps.remove(&(process, provider, address));
        }
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        self.heaps.len() as u64 * BLOCK
    }
}
