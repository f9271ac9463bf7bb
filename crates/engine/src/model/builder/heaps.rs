//! The begin and end of blocks in heaps and trackers.

use super::{Builder, Origin};
use crate::events::{BlockEvent, CallStack, shared_handle};
use crate::model::HeapId;
use crate::model::allocations::Ended;
use crate::model::attach::Begun;
use crate::units::{Layer, Pid};

impl Builder {
    #[inline(always)]
    pub(super) fn alloc(&mut self, from: Origin, layer: Layer, handle: u64, block: (u64, u64), stack: CallStack<'_>) {
        self.begin_block(from, layer, handle, block, stack, None);
    }

    #[inline(always)]
    pub(super) fn free(&mut self, from: Origin, layer: Layer, handle: u64, address: u64, stack: CallStack<'_>) {
        if let Some(freed) = self.end_block(from, layer, handle, address) {
            self.freed_by(from, freed, stack);
        }
    }

    /// Begins a block; a stack that comes later is also that of the block that was `freed` for it.
    #[inline(always)]
    fn begin_block(
        &mut self,
        from: Origin,
        layer: Layer,
        handle: u64,
        (address, size): (u64, u64),
        stack: CallStack<'_>,
        freed: Option<Ended>,
    ) {
        let (heap, process) = self.world.actor((from.pid, from.time), layer, handle);
        let site = self.attach.first_site(heap, process, from.time, stack);
        let row = from.row((address, size), site);
        let Some(row) = self.push(&row) else { return };
        self.allocations.begin(&self.world, from.time, heap, address, row);
        if let Some(provider) = shared_handle(layer, handle) {
            self.allocations.shared.begins(process, provider, address, heap);
        }
        if layer == Layer::Heap {
            self.allocations.latest.set(heap, from.tid, row);
        }
        let (attach, mut rooms) = self.attach();
        attach.began(&mut rooms, from, Begun { heap, row, freed }, stack);
    }

    /// Ends a block, without noting its stack. `None` in a heap of which nothing is known, if no details are kept.
    #[inline(always)]
    fn end_block(&mut self, from: Origin, layer: Layer, handle: u64, address: u64) -> Option<Ended> {
        let Some(heap) = self.heap_of_block(from, layer, handle, address) else {
            return self.allocations.free_unknown(from, (layer, handle, address), None);
        };
        if let Some(provider) = shared_handle(layer, handle) {
            self.allocations.shared.ends(self.world.heap(heap).process, provider, address, heap);
        }
        Some(self.allocations.free(&self.world, from, heap, address))
    }

    /// The heap that has a block: the one with the handle, or the tracker that has a block at the address, if the event
    /// does not say which tracker of its provider it means.
    #[inline(always)]
    fn heap_of_block(&self, from: Origin, layer: Layer, handle: u64, address: u64) -> Option<HeapId> {
        if shared_handle(layer, handle) != Some(handle) {
            return self.world.find_heap(from.pid, layer, handle);
        }
        self.allocations.shared.heap(self.world.processes.find(from.pid)?, handle, address)
    }

    #[inline(always)]
    fn freed_by(&mut self, from: Origin, ended: Ended, stack: CallStack<'_>) {
        let (attach, mut rooms) = self.attach();
        attach.freed(&mut rooms, from, ended, stack);
    }

    pub(super) fn realloc(
        &mut self,
        from: Origin,
        layer: Layer,
        handle: u64,
        old: u64,
        (new, size): (u64, u64),
        stack: CallStack<'_>,
    ) {
        if layer == Layer::Heap && old != new && self.is_summary(from, handle, old, (new, size), stack) {
            return;
        }
        let told = shared_handle(layer, handle).and_then(|_| self.heap_of_block(from, layer, handle, old));
        let handle = told.map_or(handle, |heap| self.world.heap(heap).handle);
        // Both blocks have one stack. Address 0 is no block: then this is an allocation.
        let freed = if old == 0 { None } else { self.end_block(from, layer, handle, old) };
        let waits = if stack == CallStack::Nothing { freed } else { None };
        if let (Some(freed), None) = (freed, waits) {
            self.freed_by(from, freed, stack);
        }
        self.begin_block(from, layer, handle, (new, size), stack, waits);
    }

    /// Whether a realloc record only sums up events before it. A moving realloc is logged as an
    /// allocation, a copy that may take long, a free, and then this record, all by one thread. So the
    /// record is a summary if its block is alive and is the last one that the thread allocated in the
    /// heap. A block that is alive at the old address is the old one, whose free was lost, unless it
    /// was allocated since.
    fn is_summary(&mut self, from: Origin, handle: u64, old: u64, (new, size): (u64, u64), stack: CallStack<'_>) -> bool {
        let Some(heap) = self.world.find_heap(from.pid, Layer::Heap, handle) else { return false };
        let Some(row) = self.allocations.just_allocated(heap, from.tid, new, size) else { return false };
        let stays = old == 0 || self.allocations.matcher.alive(heap, old).is_some_and(|there| there > row);
        if !stays {
            let ended = self.allocations.end(&self.world, from, heap, old);
            self.freed_by(from, ended, stack);
        }
        true
    }

    pub(super) fn close_heap(&mut self, from: Origin, layer: Layer, handle: u64, name: Option<&str>) {
        if let Some(heap) = self.world.close_heap(from.pid, layer, handle, name) {
            self.allocations.close_heap(&self.world, from.time, heap);
        }
    }

    /// Frees a block of which neither the header nor a stack gave the process.
    pub(super) fn free_unclaimed(&mut self, free: &BlockEvent) {
        self.attach.note(free.time, free.tid);
        let from = self.origin(free.time, free.pid, free.tid);
        self.admits_all();
        if self.cut().is_some() || !self.limit.scope().layers.contains(&Layer::Heap) {
            return;
        }
        let is_read = self.limit.scope().has(Pid::NONE, Layer::Heap);
        self.allocations.free_unclaimed(&self.world, from, free, is_read);
    }
}
