//! What happens in heaps and trackers: blocks begin and end.

use super::{Builder, Origin};
use crate::events::{BlockEvent, CallStack, StackPart};
use crate::model::attach::Begun;
use crate::model::lives::Ended;
use crate::model::rows::Row;
use crate::units::{Layer, Pid, Ticks};

impl Builder {
    #[inline(always)]
    pub(super) fn alloc(&mut self, from: Origin, layer: Layer, handle: u64, block: (u64, u64), stack: CallStack<'_>) {
        self.begin_block(from, layer, handle, block, stack, None);
    }

    #[inline(always)]
    pub(super) fn free(&mut self, from: Origin, layer: Layer, handle: u64, address: u64, stack: CallStack<'_>) {
        if let Some(freed) = self.end_block(from, layer, handle, address, stack) {
            self.freed_by(from, freed, stack);
        }
    }

    /// A block begins; a stack that comes later is also that of what was `freed` for it.
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
        let row = Row { address, size, birth: from.time, death: Ticks::NEVER, site, thread: from.tid, freed_at: None };
        let Some(row) = self.push(&row) else { return };
        self.lives.begin(&self.world, from.time, heap, address, row);
        if layer == Layer::Heap {
            self.lives.latest.set(heap, from.tid, row);
        }
        let (attach, mut rooms) = self.attach();
        attach.began(&mut rooms, from, Begun { heap, row, freed }, stack);
    }

    /// A block ends, its stack apart. `None` in a heap of which nothing is known.
    #[inline(always)]
    fn end_block(&mut self, from: Origin, layer: Layer, handle: u64, address: u64, stack: CallStack<'_>) -> Option<Ended> {
        let Some(heap) = self.world.find_heap(from.pid, layer, handle) else {
            let stack = self.attach.stacks.reference(StackPart::User, stack);
            self.lives.free_unknown(from, (layer, handle, address), stack);
            return None;
        };
        Some(self.lives.free(&self.world, from.time, heap, address))
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
        // One stack for both. Address 0 is no block: then this is an allocation.
        let freed = if old == 0 { None } else { self.end_block(from, layer, handle, old, stack) };
        let waits = if stack == CallStack::Nothing { freed } else { None };
        if let (Some(freed), None) = (freed, waits) {
            self.freed_by(from, freed, stack);
        }
        self.begin_block(from, layer, handle, (new, size), stack, waits);
    }

    /// A moving realloc is logged as an allocation, a copy that may take long, a free, and then this record, all by
    /// one thread. So it sums these up if its block is what the thread allocated last in the heap and is alive.
    /// What is alive where the block was is the old one, unless it was allocated since.
    fn is_summary(&mut self, from: Origin, handle: u64, old: u64, (new, size): (u64, u64), stack: CallStack<'_>) -> bool {
        let Some(heap) = self.world.find_heap(from.pid, Layer::Heap, handle) else { return false };
        let Some(row) = self.lives.just_allocated(heap, from.tid, new, size) else { return false };
        let stays = old == 0 || self.lives.matcher.alive(heap, old).is_some_and(|there| there > row);
        if !stays {
            let ended = self.lives.end(&self.world, from.time, heap, old);
            self.freed_by(from, ended, stack);
        }
        true
    }

    pub(super) fn close_heap(&mut self, from: Origin, layer: Layer, handle: u64, name: Option<&str>) {
        if let Some(heap) = self.world.close_heap(from.pid, layer, handle, name) {
            self.lives.close_heap(&self.world, from.time, heap);
        }
    }

    /// A free of which neither its header nor a stack told the process.
    pub(super) fn free_unclaimed(&mut self, free: &BlockEvent) {
        self.attach.note(free.time, free.tid);
        let from = self.origin(free.time, free.pid, free.tid);
        self.admits_all();
        if self.cut().is_some() || !self.limit.scope().layers.contains(&Layer::Heap) {
            return;
        }
        let is_read = self.limit.scope().has(Pid::NONE, Layer::Heap);
        self.lives.free_unclaimed(&self.world, from, free, is_read);
    }
}
