//! Frees without process and stack: each ends the block at its heap and address, if exactly one running
//! process has a block there.
//!
//! (Such frees have kernel-style headers without process and thread, in sessions that record stacks of
//! allocations only.) The owners of blocks are known from the first such free on; a capture without any
//! pays one comparison for each block that begins or ends.
//!
//! Cost: at the first such free a visit of each live block; then a few hash operations for each block
//! that begins or ends.

use super::matching::Matcher;
use crate::model::world::World;
use crate::model::{Heap, HeapId, ProcessId};
use crate::tables::{KeyedMap, KeyedSet};
use crate::units::Layer;

/// Bytes of a live block in the tables here, approximately.
const BLOCK: u64 = 80;

/// The owners of live blocks by address, from the first free on that asks for one.
#[derive(Debug, Default)]
pub(super) struct BlockOwners {
    live: Option<Box<OwnedBlocks>>,
    /// Frees whose process was found.
    pub(super) inferred: u64,
}

/// Live blocks in the NT heaps of running processes.
#[derive(Debug, Default)]
struct OwnedBlocks {
    /// Addresses of live blocks, by heap.
    addresses: KeyedMap<HeapId, KeyedSet<u64>>,
    /// Heaps that ever had a block, by process.
    heaps: KeyedMap<ProcessId, Vec<HeapId>>,
    /// Heaps with a live block, by handle and address.
    holders: KeyedMap<(u64, u64), HeapsAt>,
    len: u64,
}

/// The heaps that have a live block at one address; each is of another process.
#[derive(Clone, Copy, Debug, Default)]
struct HeapsAt {
    count: u32,
    /// Exclusive or of their ids: the id itself if there is one heap.
    mixed: u32,
}

impl BlockOwners {
    /// Whether any free has asked for an owner.
    pub(super) fn are_asked(&self) -> bool {
        self.live.is_some()
    }

    #[inline(always)]
    pub(super) fn begins(&mut self, heaps: &[Heap], id: HeapId, address: u64) {
        if let Some(live) = &mut self.live {
            live.add(&heaps[id.0 as usize], id, address);
        }
    }

    #[inline(always)]
    pub(super) fn ends(&mut self, heaps: &[Heap], id: HeapId, address: u64) {
        if let Some(live) = &mut self.live {
            live.remove(&heaps[id.0 as usize], id, address);
        }
    }

    /// Notes that all blocks of a heap end.
    pub(super) fn closes(&mut self, heaps: &[Heap], id: HeapId) {
        if let Some(live) = &mut self.live {
            live.remove_all(&heaps[id.0 as usize], id);
        }
    }

    /// Notes that a process is over: its blocks stay alive, but it frees nothing any more.
    pub(super) fn exits(&mut self, heaps: &[Heap], process: ProcessId) {
        let Some(live) = &mut self.live else { return };
        for id in live.heaps.remove(&process).unwrap_or_default() {
            live.remove_all(&heaps[id.0 as usize], id);
        }
    }

    /// The heap of the only live block at an address, for a free without a process, which ends it.
    pub(super) fn claim(&mut self, world: &World, matcher: &mut Matcher, handle: u64, address: u64) -> Option<HeapId> {
        let live = self.live.get_or_insert_with(|| Box::new(OwnedBlocks::of(world, matcher)));
        let heap = live.only(handle, address)?;
        self.inferred += 1;
        live.remove(world.heap(heap), heap, address);
        Some(heap)
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        self.live.as_ref().map_or(0, |live| live.len * BLOCK)
    }
}

impl OwnedBlocks {
    /// The blocks that are alive now.
    fn of(world: &World, matcher: &mut Matcher) -> Self {
        let mut live = Self::default();
        matcher.settle();
        matcher.each_alive(|id, address| {
            if world.process_of(id).end.is_none() {
                live.add(world.heap(id), id, address);
            }
        });
        live
    }

    fn add(&mut self, heap: &Heap, id: HeapId, address: u64) {
        if heap.layer != Layer::Heap {
            return;
        }
        let addresses = self.addresses.entry(id).or_insert_with(|| {
            self.heaps.entry(heap.process).or_default().push(id);
            KeyedSet::default()
        });
        if addresses.insert(address) {
            let holders = self.holders.entry((heap.handle, address)).or_default();
            holders.count += 1;
            holders.mixed ^= id.0;
            self.len += 1;
        }
    }

    fn remove(&mut self, heap: &Heap, id: HeapId, address: u64) {
        if self.addresses.get_mut(&id).is_some_and(|addresses| addresses.remove(&address)) {
            self.forget_holder(heap, id, address);
        }
    }

    fn remove_all(&mut self, heap: &Heap, id: HeapId) {
        let Some(addresses) = self.addresses.get_mut(&id) else { return };
        std::mem::take(addresses).into_iter().for_each(|address| self.forget_holder(heap, id, address));
    }

    fn forget_holder(&mut self, heap: &Heap, id: HeapId, address: u64) {
        self.len -= 1;
        let place = (heap.handle, address);
        if let Some(holders) = self.holders.get_mut(&place) {
            holders.count -= 1;
            holders.mixed ^= id.0;
            if holders.count == 0 {
                self.holders.remove(&place);
            }
        }
    }

    /// The heap that has the only live block there.
    fn only(&self, handle: u64, address: u64) -> Option<HeapId> {
        let holders = self.holders.get(&(handle, address))?;
        (holders.count == 1).then_some(HeapId(holders.mixed))
    }
}
