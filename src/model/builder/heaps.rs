//! What happens in heaps and trackers: blocks begin and end.

use super::super::pending::{Ended, Freed, Waiting};
use super::super::rows::Row;
use super::super::stack::StackRef;
use super::super::{HeapId, ProcessId, SiteId};
use super::stacks::reference;
use super::{Builder, Origin};
use crate::events::{CallStack, StackPart};
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
        freed: Option<Freed>,
    ) {
        let (heap, process) = self.actor(from, layer, handle);
        let site = match stack {
            CallStack::Nothing => self.site(heap, StackRef::NONE, process, from.time),
            CallStack::Frames(_) | CallStack::Key { .. } => SiteId::UNKNOWN,
        };
        let row = Row { address, size, birth: from.time, death: Ticks::NEVER, site, thread: from.tid, freed_at: None };
        let Some(row) = self.push(&row) else { return };
        self.matcher.begin(from.time, heap, address, row);
        self.owners.begins(&self.heaps.list, heap, address);
        match stack {
            CallStack::Nothing => {
                let waiting = Waiting::new(row.0..row.0 + 1, false);
                self.await_stack(from, if let Some(freed) = freed { waiting.freeing(vec![freed]) } else { waiting });
            }
            CallStack::Frames(frames) => self.await_site(from, row, heap, frames),
            CallStack::Key { key, time } => self.await_key(from, row, heap, key, time),
        }
    }

    /// A block ends, its stack apart. `None` in a heap of which nothing is known.
    #[inline(always)]
    fn end_block(&mut self, from: Origin, layer: Layer, handle: u64, address: u64, stack: CallStack<'_>) -> Option<Freed> {
        let Some(heap) = self.live_heap(from.pid, layer, handle) else {
            let stack = reference(&mut self.stacks, StackPart::User, stack);
            self.unmatched_frees.add(from, layer, handle, address, stack);
            return None;
        };
        let place = self.matcher.free(from.time, heap, address);
        self.owners.ends(&self.heaps.list, heap, address);
        Some(Freed { heap, ended: Ended::Place(place) })
    }

    #[inline(always)]
    fn live_heap(&self, pid: Pid, layer: Layer, handle: u64) -> Option<HeapId> {
        match self.actors.get(pid, layer, handle) {
            Some((heap, _)) => Some(heap),
            None => self.heaps.find(self.processes.find(pid)?, layer, handle),
        }
    }

    /// The heap in which a process acts, and the process.
    #[inline(always)]
    fn actor(&mut self, from: Origin, layer: Layer, handle: u64) -> (HeapId, ProcessId) {
        if let Some(known) = self.actors.get(from.pid, layer, handle) {
            return known;
        }
        self.new_actor(from, layer, handle)
    }

    #[inline(never)]
    fn new_actor(&mut self, from: Origin, layer: Layer, handle: u64) -> (HeapId, ProcessId) {
        let process = self.processes.acting(from.pid, from.time);
        let heap = self.heaps.find_or_add(&self.processes, process, layer, handle);
        self.actors.put(from.pid, layer, handle, (heap, process));
        (heap, process)
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
        if layer == Layer::Heap && new == 0 {
            return; // it failed
        }
        if layer == Layer::Heap && old != new && self.is_summary(from, handle, new, size) {
            if let Some(heap) = self.live_heap(from.pid, layer, handle) {
                let place = self.matcher.end(from.time, heap, old);
                self.owners.ends(&self.heaps.list, heap, old);
                self.freed_by(from, Freed { heap, ended: Ended::Place(place) }, stack);
            }
            return;
        }
        // One stack for both.
        let freed = self.end_block(from, layer, handle, old, stack);
        let waits = if stack == CallStack::Nothing { freed } else { None };
        if let (Some(freed), None) = (freed, waits) {
            self.freed_by(from, freed, stack);
        }
        self.begin_block(from, layer, handle, (new, size), stack, waits);
    }

    /// A moving realloc is logged as an allocation, a free, and then this record:
    /// its new block is alive already, just born by the same thread.
    fn is_summary(&mut self, from: Origin, handle: u64, new: u64, size: u64) -> bool {
        let Some(heap) = self.live_heap(from.pid, Layer::Heap, handle) else { return false };
        let millisecond = self.clock.frequency as i64 / 1000;
        let since = Ticks(from.time.0.saturating_sub(millisecond));
        let Some(row) = self.matcher.alive(heap, new, since) else { return false };
        let row = self.rows.get(row);
        row.size == size && row.thread == from.tid && row.birth >= since
    }

    pub(super) fn close_heap(&mut self, from: Origin, layer: Layer, handle: u64, name: Option<&str>) {
        self.actors.forget();
        let Some(process) = self.processes.find(from.pid) else { return };
        if let Some(heap) = self.heaps.close(process, layer, handle, name) {
            self.matcher.close(from.time, heap);
            self.owners.closes(&self.heaps.list, heap);
        }
    }
}
