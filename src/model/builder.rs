//! The replay: records in time order change what is alive and append rows.
//!
//! Cost: a few hash operations a record. Nothing here fails; what does not fit
//! (a free of an unknown block, a block allocated twice) is counted in [`Quality`].

mod pages;
mod stacks;

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::blocks::Blocks;
use super::commit::PageTable;
use super::heap::HeapTable;
use super::module::ModuleTable;
use super::pending::{Pending, Pieces};
use super::process::ProcessTable;
use super::rows::Row;
use super::stack::{Interner, StackRef};
use super::{Clock, DeathOrder, HeapId, ProcessId, Quality, RowId, Rows, Site, SiteId, Trace};
use crate::events::{Event, EventCounts, ProcessChange, Record};
use crate::problem::Problem;
use crate::units::{Interval, Layer, Pid, Ticks, Tid};

/// A site as interned while stacks may still be unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct SiteKey {
    heap: HeapId,
    stack: StackRef,
    thread: Tid,
    caller: ProcessId,
}

/// Who wrote an event and when.
#[derive(Clone, Copy)]
struct Origin {
    raw: i64,
    time: Ticks,
    pid: Pid,
    tid: Tid,
}

/// What the input outside the records says.
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
    /// Whether all input has been read.
    pub complete: bool,
}

/// Builds a trace from records in time order.
#[derive(Debug)]
pub struct Builder {
    clock: Clock,
    trace_start: i64,
    losses: (u64, u64),
    processes: ProcessTable,
    heaps: HeapTable,
    modules: ModuleTable,
    blocks: Blocks,
    pages: PageTable,
    stacks: Interner,
    pending: Pending,
    pieces: Pieces,
    rows: Rows,
    sites: Vec<(SiteKey, Ticks)>,
    site_index: FxHashMap<SiteKey, SiteId>,
    thread_names: Arc<FxHashMap<(ProcessId, Tid), Arc<str>>>,
    volumes: Vec<(String, String)>,
    held: VecDeque<(Record, Vec<u64>)>,
    /// Stacks that came at the very tick of their owner, perhaps before it.
    early: Vec<(Record, Vec<u64>)>,
    /// Raw time of the latest event that can have a stack, and the threads of all at that time.
    tick: (i64, Vec<Tid>),
    unmatched_frees: u64,
    superseded: u64,
    rows_refused: bool,
    /// Time of the record that was applied last.
    now: Ticks,
}

/// Events that wait for one whose process only its stack tells.
const MAX_HELD: usize = 4096;

impl Builder {
    /// A builder for a capture whose trace start is at raw time `trace_start`, with
    /// the numbers of events and buffers that are known to be lost.
    pub fn new(clock: Clock, trace_start: i64, losses: (u64, u64)) -> Self {
        Self {
            clock,
            trace_start,
            losses,
            processes: ProcessTable::default(),
            heaps: HeapTable::default(),
            modules: ModuleTable::default(),
            blocks: Blocks::default(),
            pages: PageTable::default(),
            stacks: Interner::default(),
            pending: Pending::default(),
            pieces: Pieces::default(),
            rows: Rows::default(),
            sites: Vec::new(),
            site_index: FxHashMap::default(),
            thread_names: Arc::default(),
            volumes: Vec::new(),
            held: VecDeque::new(),
            early: Vec::new(),
            tick: (i64::MIN, Vec::new()),
            unmatched_frees: 0,
            superseded: 0,
            rows_refused: false,
            now: Ticks::BEFORE_TRACE,
        }
    }

    /// Applies the next record in time order; `frames` are those of its stack, if it is one.
    pub fn apply(&mut self, record: &Record, frames: &[u64]) {
        if self.held.is_empty() && !is_homeless(record) {
            self.replay(record, frames);
            return;
        }
        self.claim_held(record);
        self.held.push_back((record.clone(), frames.to_vec()));
        self.release_held(MAX_HELD);
    }

    /// A stack tells the process of the first held event at its owner's time.
    fn claim_held(&mut self, stack: &Record) {
        let (Event::Stack { owner, .. } | Event::StackRef { owner, .. }) = stack.event else { return };
        let claimed = self.held.iter_mut().map(|(record, _)| record).find(|r| r.time == owner && is_homeless(r));
        if let Some(record) = claimed {
            record.pid = stack.pid;
            record.tid = stack.tid;
        }
    }

    /// Replays held records up to the first whose process is still unknown; beyond
    /// `keep` of them, or a second, that one is applied without.
    fn release_held(&mut self, keep: usize) {
        while let Some((first, _)) = self.held.front() {
            let newest = self.held.back().map_or(first.time, |(r, _)| r.time);
            let waits =
                is_homeless(first) && self.held.len() <= keep && newest.saturating_sub(first.time) <= self.clock.frequency as i64;
            if waits {
                return;
            }
            if let Some((record, frames)) = self.held.pop_front() {
                self.replay(&record, &frames);
            }
        }
    }

    fn replay(&mut self, record: &Record, frames: &[u64]) {
        if is_memory_event(&record.event) || matches!(record.event, Event::VirtualAlloc(_) | Event::VirtualFree(_)) {
            self.note_tick(record);
        }
        let from =
            Origin { raw: record.time, time: Ticks::from_raw(record.time, self.trace_start), pid: record.pid, tid: record.tid };
        self.now = from.time;
        match &record.event {
            Event::HeapOpen { layer, heap, name } => {
                let process = self.processes.acting(from.pid, from.time);
                self.heaps.open(process, *layer, *heap, name.as_deref());
            }
            Event::HeapClose { layer, heap, name } => self.close_heap(from, *layer, *heap, name.as_deref()),
            Event::Alloc { layer, heap, address, size } => self.alloc(from, *layer, *heap, *address, *size),
            Event::Free { layer, heap, address } => self.free(from, *layer, *heap, *address),
            Event::Realloc { layer, heap, old, new, size } => self.realloc(from, *layer, *heap, *old, *new, *size),
            Event::VirtualAlloc(range) => self.virtual_alloc(from, range),
            Event::VirtualFree(range) => self.virtual_free(from, range),
            Event::CommitRundown(range) => {
                // It ran before the trace, so a start to come is that of another life.
                let process = self.processes.acting(range.owner, from.time);
                let end = range.base.saturating_add(range.size);
                let nobody = Origin { tid: Tid::NONE, time: Ticks::BEFORE_TRACE, ..from };
                self.commit(nobody, process, process, range.base, end);
            }
            Event::Stack { .. } | Event::StackRef { .. } => self.stack(from, record, frames),
            Event::StackDefinition { part, key, .. } => self.stacks.define(*part, *key, frames, from.raw),
            Event::Process(change, info) => {
                let ended = match change {
                    ProcessChange::Start => self.processes.start(from.pid, info, from.time, self.clock.frequency as i64),
                    ProcessChange::Rundown => self.processes.rundown(from.pid, info, from.time),
                    ProcessChange::End => self.processes.end_of(from.pid, info, from.time),
                };
                if let Some(process) = ended {
                    self.kill_all(from.time, |builder| builder.pages.take_all(process));
                }
            }
            Event::ThreadName(name) => {
                let process = self.processes.find_or_add(from.pid, from.time);
                Arc::make_mut(&mut self.thread_names).insert((process, from.tid), name.as_ref().into());
            }
            Event::Image(change, info) => {
                let process = self.processes.find_or_add(from.pid, from.time);
                self.modules.change(process, &mut self.processes.get_mut(process).modules, *change, info, from.time);
            }
            Event::ImageId(id) => {
                let process = self.processes.find_or_add(from.pid, from.time);
                self.modules.identify(process, &mut self.processes.get_mut(process).modules, id);
            }
            Event::Volume(paths) => {
                if !self.volumes.contains(paths) {
                    self.volumes.push(paths.as_ref().clone());
                }
            }
        }
    }

    // Heaps and trackers

    fn alloc(&mut self, from: Origin, layer: Layer, handle: u64, address: u64, size: u64) {
        let process = self.processes.acting(from.pid, from.time);
        let heap = self.heaps.find_or_add(process, layer, handle);
        let site = self.site(heap, StackRef::NONE, from.tid, process, from.time);
        let Some(row) = self.push(Row { address, size, birth: from.time, death: Ticks::NEVER, site }) else { return };
        if let Some(older) = self.blocks.insert(heap, address, row) {
            self.rows.kill(older, from.time);
            self.superseded += 1;
        }
        self.await_stack(from, row.0..row.0 + 1, false);
    }

    fn free(&mut self, from: Origin, layer: Layer, handle: u64, address: u64) {
        match self.live_heap(from.pid, layer, handle).and_then(|heap| self.blocks.remove(heap, address)) {
            Some(row) => self.rows.kill(row, from.time),
            None => self.unmatched_frees += 1,
        }
    }

    fn live_heap(&self, pid: Pid, layer: Layer, handle: u64) -> Option<HeapId> {
        self.heaps.find(self.processes.find(pid)?, layer, handle)
    }

    fn realloc(&mut self, from: Origin, layer: Layer, handle: u64, old: u64, new: u64, size: u64) {
        if layer == Layer::Heap && old != new && self.is_summary(from, handle, new, size) {
            let old_row = self.live_heap(from.pid, layer, handle).and_then(|heap| self.blocks.remove(heap, old));
            if let Some(row) = old_row {
                self.rows.kill(row, from.time);
            }
            return;
        }
        self.free(from, layer, handle, old);
        self.alloc(from, layer, handle, new, size);
    }

    /// A moving realloc is logged as an allocation, a free, and then this record:
    /// its new block is alive already, just born by the same thread.
    fn is_summary(&self, from: Origin, handle: u64, new: u64, size: u64) -> bool {
        let Some(heap) = self.live_heap(from.pid, Layer::Heap, handle) else { return false };
        let Some(row) = self.blocks.get(heap, new) else { return false };
        let row = self.rows.get(row);
        let millisecond = self.clock.frequency as i64 / 1000;
        row.size == size
            && self.sites[row.site.0 as usize].0.thread == from.tid
            && from.time.0.saturating_sub(row.birth.0) <= millisecond
    }

    fn close_heap(&mut self, from: Origin, layer: Layer, handle: u64, name: Option<&str>) {
        let Some(process) = self.processes.find(from.pid) else { return };
        if let Some(heap) = self.heaps.close(process, layer, handle, name) {
            self.kill_all(from.time, |builder| builder.blocks.take_all(heap));
        }
    }

    fn kill_all(&mut self, at: Ticks, rows: impl FnOnce(&mut Self) -> Vec<RowId>) {
        for row in rows(self) {
            self.rows.kill(row, at);
        }
    }

    // Rows and sites

    fn site(&mut self, heap: HeapId, stack: StackRef, thread: Tid, caller: ProcessId, first: Ticks) -> SiteId {
        let key = SiteKey { heap, stack, thread, caller };
        *self.site_index.entry(key).or_insert_with(|| {
            self.sites.push((key, first));
            SiteId((self.sites.len() - 1) as u32)
        })
    }

    fn push(&mut self, row: Row) -> Option<RowId> {
        let id = self.rows.push(row);
        self.rows_refused |= id.is_none();
        id
    }

    fn published_rows(&self, complete: bool) -> Rows {
        if complete { self.rows.complete(DeathOrder::sorted(&self.rows)) } else { self.rows.publish(self.now) }
    }

    /// Publishes everything up to now. Rows are shared with later publications;
    /// sites, stacks and heaps are copied.
    pub fn publish(&mut self, input: InputState) -> Trace {
        if input.complete {
            self.release_held(0);
        }
        let sites = (0..self.sites.len())
            .map(|i| {
                let (key, first) = self.sites[i];
                Site { heap: key.heap, stack: self.stacks.resolve(key.stack), thread: key.thread, caller: key.caller, first }
            })
            .collect();
        let (first, last) = input.times.unwrap_or((self.trace_start, self.trace_start));
        let span = Interval {
            from: Ticks::from_raw(first.min(self.trace_start), self.trace_start),
            to: Ticks::from_raw(last.max(self.trace_start), self.trace_start).next(),
        };
        Trace {
            clock: self.clock,
            span,
            processes: self.processes.list.clone(),
            heaps: self.heaps.list.clone(),
            sites,
            stacks: self.stacks.stacks().clone(),
            rows: self.published_rows(input.complete),
            thread_names: Arc::clone(&self.thread_names),
            volumes: self.volumes.clone(),
            quality: Quality {
                events_lost: self.losses.0,
                buffers_lost: self.losses.1,
                unmatched_frees: self.unmatched_frees,
                superseded_allocations: self.superseded,
                problems: input.problem_count + u64::from(self.rows_refused),
            },
            counts: input.counts,
            problems: input.problems,
            complete: input.complete,
        }
    }
}

/// Whether only its stack can tell the process of an event.
fn is_homeless(record: &Record) -> bool {
    !record.pid.is_known() && is_memory_event(&record.event)
}

fn is_memory_event(event: &Event) -> bool {
    matches!(
        event,
        Event::Alloc { .. } | Event::Free { .. } | Event::Realloc { .. } | Event::HeapOpen { .. } | Event::HeapClose { .. }
    )
}
