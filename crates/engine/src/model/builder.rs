//! The replay: applies records in time order to what there is and what is alive.
//!
//! This file only says what an event does in which room: [`World`] knows what there is, [`AllocationTable`] what
//! is allocated, [`Attach`] which stack belongs to which event, [`Limit`] what is read at all.
//!
//! Cost: a few hash operations a record. Nothing here fails; what does not fit
//! (a free of an unknown block, a block allocated twice) is counted in [`Quality`].
//!
//! [`Quality`]: super::Quality

mod admission;
mod block_batch;
mod forget;
mod heaps;
mod limit;
mod pages;
mod publish;
mod samples;
mod tidy;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::activity::ActivityTable;
use super::allocations::AllocationTable;
use super::attach::{Attach, LentAttach, Rooms, is_homeless};
use super::counters::CounterTable;
use super::losses::MAX_REPORTED;
use super::origin::Origin;
use super::rows::Row;
use super::scope::CutReason;
use super::trace::Lineage;
use super::world::World;
use super::{Chunked, Clock, Loss, Machine, RowId, StackSeen};
use crate::events::{BlockEvent, CallStack, Event, EventCounts, EventSchema, FileCopies, Frames, Item, ProcessChange, Record};
use crate::problem::Problem;
use crate::units::{Pid, Ticks, Tid};
use limit::Limit;
pub use limit::{BLOCKS_A_ROW, OUTLIVING_A_ROW, PREPARED_A_ROW, SUMS_A_ROW};

/// Facts about the input that are not in its records.
#[derive(Clone, Debug, Default)]
pub struct InputState {
    /// Events by kind.
    pub counts: EventCounts,
    /// Raw times of the first and last event of any kind.
    pub times: Option<(i64, i64)>,
    /// Problems so far.
    pub problems: Vec<Problem>,
    /// Number of problems so far.
    pub problem_count: u64,
    /// Copies in each file.
    pub copies: Vec<FileCopies>,
    /// Number of records that are copies.
    pub duplicate_events: u64,
    /// The machine that recorded it.
    pub machine: Machine,
    /// Names of trackers by the handles that were made of them.
    pub tracker_names: BTreeMap<u64, Arc<str>>,
    /// Losses that the files' buffers show, by time.
    pub losses: Arc<[Loss]>,
    /// Folders beside the files with PDBs that the recording made.
    pub symbol_folders: Vec<PathBuf>,
    /// Whether all input has been read.
    pub complete: bool,
}

/// Builds a trace from records in time order.
#[derive(Debug)]
pub struct Builder {
    clock: Clock,
    trace_start: i64,
    losses: (u64, u64),
    world: World,
    allocations: AllocationTable,
    attach: LentAttach,
    limit: Limit,
    counters: CounterTable,
    activity: ActivityTable,
    thread_stacks: Chunked<StackSeen>,
    /// Losses that events report.
    reported: Vec<Loss>,
    /// Time of the record that was applied last.
    now: Ticks,
    lineage: Lineage,
}

/// Most events that wait for one whose process only its stack can give.
const MAX_HELD: usize = 4096;

impl Builder {
    /// A builder for a capture whose trace start is at raw time `trace_start`, with
    /// the numbers of events and buffers that are known to be lost.
    pub fn new(clock: Clock, trace_start: i64, losses: (u64, u64)) -> Self {
        Self {
            clock,
            trace_start,
            losses,
            world: World::default(),
            allocations: AllocationTable::new(),
            attach: LentAttach::new(Attach::new(trace_start)),
            limit: Limit::default(),
            counters: CounterTable::default(),
            activity: ActivityTable::default(),
            thread_stacks: Chunked::default(),
            reported: Vec::new(),
            now: Ticks::BEFORE_TRACE,
            lineage: Lineage::new(),
        }
    }

    /// Sets the numbers of events and buffers that are known to be lost by now.
    pub fn set_losses(&mut self, losses: (u64, u64)) {
        self.losses = losses;
    }

    /// Adds a description of events that the trace may lack, at its end: the trace's own come first and hold.
    pub fn describe(&mut self, schema: &EventSchema) {
        self.activity.describe(schema);
    }

    /// Raw time of the latest record that was applied.
    pub fn reached(&self) -> i64 {
        self.trace_start.saturating_add(self.now.0)
    }

    /// Declares that everything up to this raw time has been applied: records that come for it all the
    /// same happen afterwards, so that a publication can show all of it.
    pub fn pass(&mut self, raw: i64) {
        self.take_back();
        let waits = self.attach.held.since().map_or(i64::MAX, |since| since.saturating_sub(1));
        self.now = self.now.max(Ticks::from_raw(raw.min(waits), self.trace_start).next());
    }

    /// Applies the next record in time order; `frames` are those of its stack, if it is one.
    pub fn apply(&mut self, record: &Record, frames: &[u64]) {
        self.take_back();
        self.apply_with_stack(record, CallStack::Frames(Frames::new(frames)).of(record));
    }

    /// Applies the next item, with the stack that came with it, if any did.
    #[inline(always)]
    pub fn apply_item(&mut self, item: Item<'_>, stack: CallStack<'_>) {
        self.take_back();
        match item {
            Item::Block(block) if self.attach.held.is_empty() && block.pid.is_known() => self.replay_block(&block, stack),
            Item::Block(block) => self.apply_with_stack(&block.record(), stack),
            Item::Record(record) => self.apply_with_stack(record, stack),
        }
    }

    #[inline(never)]
    fn apply_with_stack(&mut self, record: &Record, stack: CallStack<'_>) {
        if self.attach.held.is_empty() && !is_homeless(record) {
            self.replay(record, stack);
            return;
        }
        self.attach.held.claim(record);
        self.attach.held.push(record, stack);
        self.release_held(MAX_HELD);
    }

    /// Replays held records up to the first whose process is still unknown; if more than `keep` wait,
    /// or one waits for a second, that one is applied without a process.
    fn release_held(&mut self, keep: usize) {
        while let Some(held) = self.attach.held.next(keep, self.clock.frequency as i64) {
            match held.unclaimed_free() {
                Some(free) => self.free_unclaimed(&free),
                None => self.replay(&held.record, held.stack()),
            }
        }
    }

    /// The room of stacks, and the rooms in which it notes them.
    #[inline(always)]
    fn attach(&mut self) -> (&mut Attach, Rooms<'_>) {
        let Self { attach, world, allocations, activity, .. } = self;
        let ActivityTable { samples, faults, .. } = activity;
        attach.know(world.heaps());
        (attach, Rooms { world, allocations, samples, faults })
    }

    /// The origin of the event that happens now. An event that comes late happens when it comes.
    #[inline(always)]
    fn origin(&mut self, raw: i64, pid: Pid, tid: Tid) -> Origin {
        self.now = self.now.max(Ticks::from_raw(raw, self.trace_start));
        Origin { raw, time: self.now, pid, tid }
    }

    /// Replays a block. Nearly all records are blocks, which stay in registers from the entry to the
    /// row; therefore inlined.
    #[inline(always)]
    fn replay_block(&mut self, block: &BlockEvent, stack: CallStack<'_>) {
        self.attach.note(block.time, block.tid);
        let from = self.origin(block.time, block.pid, block.tid);
        self.complete_fragments(from, stack);
        if !self.admits_all() && !self.admits(from, &block.record()) {
            return;
        }
        let stack = if self.attach.reads { stack } else { CallStack::Nothing };
        match block.size {
            Some(size) => self.alloc(from, block.layer, block.heap, (block.address, size), stack),
            None => self.free(from, block.layer, block.heap, block.address, stack),
        }
    }

    fn replay(&mut self, record: &Record, stack: CallStack<'_>) {
        if let Some(block) = BlockEvent::of(record) {
            self.replay_block(&block, stack);
            return;
        }
        if record.event.may_have_stack() {
            self.attach.note(record.time, record.tid);
        }
        let from = self.origin(record.time, record.pid, record.tid);
        if matches!(record.event, Event::Realloc { .. }) {
            self.complete_fragments(from, stack);
        }
        if !self.admits_all() && !self.admits(from, record) {
            return;
        }
        match &record.event {
            Event::Alloc { .. } | Event::Free { .. } => {} // blocks
            event if event.is_failed_realloc() => {}
            Event::HeapOpen { layer, heap, name } => {
                self.world.open_heap((from.pid, from.time), *layer, *heap, name.as_deref());
            }
            Event::HeapClose { layer, heap, name } => self.close_heap(from, *layer, *heap, name.as_deref()),
            Event::Realloc { layer, heap, old, new, size } => {
                let stack = if self.attach.reads { stack } else { CallStack::Nothing };
                self.realloc(from, *layer, *heap, *old, (*new, *size), stack);
            }
            Event::VirtualAlloc(range) => self.virtual_alloc(from, range),
            Event::VirtualFree(range) => self.virtual_free(from, range),
            Event::CommitRundown(region) => self.commit_rundown(from, region),
            Event::Stack { .. } | Event::StackRef { .. } => {
                let (attach, mut rooms) = self.attach();
                attach.stack_came(&mut rooms, from, record, stack.frames());
            }
            Event::StackDefinition { part, key, .. } => {
                self.attach.define(*part, *key, stack.frames(), from.raw);
            }
            Event::Process(change, info) => {
                if *change != ProcessChange::Rundown {
                    self.attach.forget_process(from.pid);
                }
                let ended = self.world.change_process(from.pid, *change, info, from.time, self.clock.frequency as i64);
                if let Some(process) = ended
                    && self.cut().is_none()
                {
                    self.allocations.exit(&self.world, from.time, process);
                }
            }
            Event::ThreadStart(stack) => {
                self.attach.forget_thread(from.pid, from.tid);
                self.thread_is_seen(from, *stack);
            }
            Event::ThreadRundown(stack) => self.thread_is_seen(from, *stack),
            &Event::Sample { address, count } => {
                let (attach, mut rooms) = self.attach();
                attach.sample(&mut rooms, from, address, count);
            }
            &Event::Fault(fault) => {
                let (attach, mut rooms) = self.attach();
                attach.fault(&mut rooms, from, fault);
            }
            Event::Activity(event) => {
                let Self { activity, world, counters, clock, trace_start, .. } = self;
                activity.apply(record, event, (from.time, clock.frequency, *trace_start), &mut world.processes, counters);
            }
            Event::ThreadName(name) => self.world.name_thread(from.pid, from.tid, name, from.time),
            Event::Image(change, info) => self.world.change_image(from.pid, *change, info, from.time),
            Event::ImageFile(file) => self.world.identify_image_file(from.pid, file, from.time),
            Event::ImageId(id) => self.world.identify_image(from.pid, id, from.time),
            Event::Volume(paths) => self.world.map_volume(paths),
            Event::Counter(event) => self.counters.apply(record, event, from.time, &self.world.processes),
            Event::Lost(lost) => {
                if self.reported.len() < MAX_REPORTED {
                    let since = lost.details.map_or(from.time, |(since, _)| Ticks::from_raw(since, self.trace_start));
                    self.reported.push(Loss::reported(*lost, since, from.time));
                }
            }
        }
    }

    /// Completes other events of the acting thread with its user-mode stack, whatever event that came
    /// with.
    #[inline(always)]
    fn complete_fragments(&mut self, from: Origin, user: CallStack<'_>) {
        if self.limit.has_room_for_stacks() {
            let (attach, mut rooms) = self.attach();
            attach.complete_fragments(&mut rooms, from, user);
        }
    }

    /// Appends a row; if no more rows can be numbered, the trace ends.
    #[inline(always)]
    fn push(&mut self, row: &Row) -> Option<RowId> {
        let id = self.allocations.push(row);
        match id {
            Some(_) => self.attach.row_sites.push(row.site),
            None => self.cut_now(CutReason::Numbers),
        }
        id
    }
}
