//! The replay: records in time order change what is alive and append rows.
//!
//! Cost: a few hash operations a record. Nothing here fails; what does not fit
//! (a free of an unknown block, a block allocated twice) is counted in [`Quality`].

mod actors;
mod forget;
mod framed;
mod freed;
mod heaps;
mod held;
mod keyed;
mod limit;
mod owners;
mod pages;
mod publish;
mod sites;
mod stacks;
mod tidy;
mod unmatched;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::commit::PageTable;
use super::counters::CounterTable;
use super::fragments::KernelFragments;
use super::heap::HeapTable;
use super::losses::MAX_REPORTED;
use super::matching::Matcher;
use super::module::ModuleTable;
use super::pending::{Pending, Pieces};
use super::process::ProcessTable;
use super::rows::{Row, RowWriter};
use super::scope::CutReason;
use super::stack::{Interner, StackRef};
use super::trace::Lineage;
use super::{Clock, Heap, HeapId, Loss, ProcessId, RowId, SiteId};
use crate::events::{BlockEvent, CallStack, Event, EventCounts, Frames, Item, ProcessChange, Record};
use crate::problem::Problem;
use crate::units::{Pid, Ticks, Tid};
use actors::Actors;
use framed::Framed;
use freed::Frees;
use held::Held;
use keyed::Keyed;
use limit::Limit;
pub use limit::{BLOCKS_A_ROW, SUMS_A_ROW};
use owners::Owners;
use sites::{SiteKey, SiteTable};
use stacks::LatestTick;
use unmatched::UnmatchedFrees;

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
    /// Losses that the files' buffers tell of, by time.
    pub losses: Arc<[Loss]>,
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
    matcher: Matcher,
    pages: PageTable,
    stacks: Interner,
    pending: Pending,
    pieces: Pieces,
    fragments: KernelFragments,
    rows: RowWriter,
    sites: SiteTable,
    thread_names: Arc<FxHashMap<(ProcessId, Tid), Arc<str>>>,
    volumes: Vec<(String, String)>,
    /// The same to look them up; keyed, since files choose them.
    known_volumes: HashSet<(String, String)>,
    counters: CounterTable,
    /// Losses that events tell of.
    reported: Vec<Loss>,
    held: VecDeque<Held>,
    actors: Actors,
    /// Rows, and frees, whose stack is given by a key, until no definition before it can come.
    keyed: Keyed,
    /// Rows whose stack came with them, until enough of them wait.
    framed: Framed,
    /// Stacks that came at the very tick of their owner, perhaps before it.
    early: Vec<(Record, Vec<u64>)>,
    tick: LatestTick,
    unmatched_frees: UnmatchedFrees,
    frees: Frees,
    owners: Owners,
    limit: Limit,
    /// Time of the record that was applied last.
    now: Ticks,
    lineage: Lineage,
}

/// Events that wait for one whose process only its stack tells.
const MAX_HELD: usize = 4096;

impl Builder {
    /// A builder for a capture whose trace start is at raw time `trace_start`, with
    /// the numbers of events and buffers that are known to be lost.
    pub fn new(clock: Clock, trace_start: i64, losses: (u64, u64)) -> Self {
        let (rows, deaths) = RowWriter::new();
        let mut matcher = Matcher::new();
        matcher.add_column(deaths);
        Self {
            clock,
            trace_start,
            losses,
            processes: ProcessTable::default(),
            heaps: HeapTable::default(),
            modules: ModuleTable::default(),
            matcher,
            pages: PageTable::default(),
            stacks: Interner::default(),
            pending: Pending::default(),
            pieces: Pieces::default(),
            fragments: KernelFragments::default(),
            rows,
            sites: SiteTable::default(),
            thread_names: Arc::default(),
            volumes: Vec::new(),
            known_volumes: HashSet::new(),
            counters: CounterTable::default(),
            reported: Vec::new(),
            held: VecDeque::new(),
            actors: Actors::default(),
            keyed: Keyed::default(),
            framed: Framed::default(),
            early: Vec::new(),
            tick: LatestTick::default(),
            unmatched_frees: UnmatchedFrees::default(),
            frees: Frees::default(),
            owners: Owners::default(),
            limit: Limit::default(),
            now: Ticks::BEFORE_TRACE,
            lineage: Lineage::new(),
        }
    }

    /// Events and buffers that are known to be lost by now.
    pub fn set_losses(&mut self, losses: (u64, u64)) {
        self.losses = losses;
    }

    /// Raw time of the latest record that was applied.
    pub fn reached(&self) -> i64 {
        self.trace_start.saturating_add(self.now.0)
    }

    /// Everything up to this raw time has been applied: what comes for it all the same
    /// happens afterwards, so that a publication can show all of it.
    pub fn pass(&mut self, raw: i64) {
        let waits = self.held.front().map_or(i64::MAX, |held| held.record.time.saturating_sub(1));
        self.now = self.now.max(Ticks::from_raw(raw.min(waits), self.trace_start).next());
    }

    /// Applies the next record in time order; `frames` are those of its stack, if it is one.
    pub fn apply(&mut self, record: &Record, frames: &[u64]) {
        self.apply_with_stack(record, CallStack::Frames(Frames::new(frames)).of(record));
    }

    /// The same for what may come with its stack.
    #[inline(always)]
    pub fn apply_item(&mut self, item: Item<'_>, stack: CallStack<'_>) {
        match item {
            Item::Block(block) if self.held.is_empty() && block.pid.is_known() => self.replay_block(&block, stack),
            Item::Block(block) => self.apply_with_stack(&block.record(), stack),
            Item::Record(record) => self.apply_with_stack(record, stack),
        }
    }

    #[inline(never)]
    fn apply_with_stack(&mut self, record: &Record, stack: CallStack<'_>) {
        if self.held.is_empty() && !is_homeless(record) {
            self.replay(record, stack);
            return;
        }
        self.claim_held(record);
        let after = self.held.back().map_or(i64::MIN, |held| held.order);
        self.held.push_back(Held::new(record, stack, after));
        self.release_held(MAX_HELD);
    }

    /// A stack tells the process of the first held event at its owner's time.
    fn claim_held(&mut self, stack: &Record) {
        let (Event::Stack { owner, .. } | Event::StackRef { owner, .. }) = stack.event else { return };
        let first = self.held.partition_point(|held| held.order < owner);
        let mut at_once = self.held.range_mut(first..).take_while(|held| held.order == owner).map(|held| &mut held.record);
        let claimed = at_once.find(|r| r.time == owner && is_homeless(r));
        if let Some(record) = claimed {
            record.pid = stack.pid;
            record.tid = stack.tid;
        }
    }

    /// Replays held records up to the first whose process is still unknown; beyond
    /// `keep` of them, or a second, that one is applied without.
    fn release_held(&mut self, keep: usize) {
        while let Some(Held { record: first, .. }) = self.held.front() {
            let newest = self.held.back().map_or(first.time, |held| held.record.time);
            let waits =
                is_homeless(first) && self.held.len() <= keep && newest.saturating_sub(first.time) <= self.clock.frequency as i64;
            if waits {
                return;
            }
            let Some(held) = self.held.pop_front() else { return };
            match held.unclaimed_free() {
                Some(free) => self.free_unclaimed(&free),
                None => self.replay(&held.record, held.stack()),
            }
        }
    }

    /// Who acts now. What comes later than its time allows happens when it comes.
    #[inline(always)]
    fn origin(&mut self, raw: i64, pid: Pid, tid: Tid) -> Origin {
        self.now = self.now.max(Ticks::from_raw(raw, self.trace_start));
        Origin { raw, time: self.now, pid, tid }
    }

    /// Nearly all there is to replay: in registers from the entry to the row, therefore inlined.
    #[inline(always)]
    fn replay_block(&mut self, block: &BlockEvent, stack: CallStack<'_>) {
        self.tick.note(block.time, block.tid);
        let from = self.origin(block.time, block.pid, block.tid);
        self.complete_fragments(from, stack);
        if !self.admits_all() && !self.admits(from, &block.record()) {
            return;
        }
        let stack = if self.limit.reads_stacks() { stack } else { CallStack::Nothing };
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
        if may_have_stack(&record.event) {
            self.tick.note(record.time, record.tid);
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
            Event::HeapOpen { layer, heap, name } => {
                self.actors.forget();
                let process = self.processes.acting(from.pid, from.time);
                self.heaps.open(&self.processes, process, *layer, *heap, name.as_deref());
            }
            Event::HeapClose { layer, heap, name } => self.close_heap(from, *layer, *heap, name.as_deref()),
            Event::Realloc { layer, heap, old, new, size } => {
                let stack = if self.limit.reads_stacks() { stack } else { CallStack::Nothing };
                self.realloc(from, *layer, *heap, *old, (*new, *size), stack);
            }
            Event::VirtualAlloc(range) => self.virtual_alloc(from, range),
            Event::VirtualFree(range) => self.virtual_free(from, range),
            Event::CommitRundown(region) => self.commit_rundown(from, region),
            Event::Stack { .. } | Event::StackRef { .. } => self.stack(from, record, stack.frames()),
            Event::StackDefinition { part, key, .. } => {
                self.settle_key(*key, from.raw);
                self.stacks.define(*part, *key, stack.frames(), from.raw);
            }
            Event::Process(change, info) => {
                self.actors.forget();
                if *change != ProcessChange::Rundown {
                    self.fragments.forget_process(from.pid);
                }
                let ended = match change {
                    ProcessChange::Start => self.processes.start(from.pid, info, from.time, self.clock.frequency as i64),
                    ProcessChange::Rundown => self.processes.rundown(from.pid, info, from.time),
                    ProcessChange::End => self.processes.end_of(from.pid, info, from.time),
                };
                if let Some(process) = ended
                    && self.cut().is_none()
                {
                    self.owners.exits(&self.heaps.list, process);
                    let rows = self.pages.take_all(process);
                    rows.into_iter().for_each(|row| self.kill(row, from.time));
                }
            }
            Event::ThreadStart => self.fragments.forget_thread(from.pid, from.tid),
            Event::ThreadName(name) => {
                let process = self.processes.find_or_add(from.pid, from.time);
                Arc::make_mut(&mut self.thread_names).insert((process, from.tid), name.as_ref().into());
            }
            Event::Image(change, info) => {
                let process = self.processes.find_or_add(from.pid, from.time);
                self.modules.change(process, &mut self.processes.get_mut(process).modules, *change, info, from.time);
            }
            Event::ImageFile(file) => {
                let process = self.processes.find_or_add(from.pid, from.time);
                self.modules.identify_file(process, &mut self.processes.get_mut(process).modules, file);
            }
            Event::ImageId(id) => {
                let process = self.processes.find_or_add(from.pid, from.time);
                self.modules.identify(process, &mut self.processes.get_mut(process).modules, id);
            }
            Event::Volume(paths) => {
                if self.known_volumes.insert(paths.as_ref().clone()) {
                    self.volumes.push(paths.as_ref().clone());
                }
            }
            Event::Counter(event) => self.counters.apply(record, event, from.time, &self.processes),
            Event::Lost(lost) => {
                if self.reported.len() < MAX_REPORTED {
                    let since = lost.details.map_or(from.time, |(since, _)| Ticks::from_raw(since, self.trace_start));
                    self.reported.push(Loss::reported(*lost, since, from.time));
                }
            }
        }
    }

    /// Ends a row of committed pages.
    fn kill(&mut self, row: RowId, at: Ticks) {
        self.rows.kill(row, at);
        self.matcher.note_death(row);
    }

    fn site(&mut self, heap: HeapId, stack: StackRef, caller: ProcessId, first: Ticks) -> SiteId {
        self.sites.intern(SiteKey { heap, stack, caller }, first)
    }

    /// The site of frames in a heap whose own process, `caller`, allocates.
    fn framed_site(&mut self, heap: HeapId, frames: Frames<'_>, caller: ProcessId, first: Ticks) -> SiteId {
        let whole = self.stacks.whole(frames);
        if let Some(site) = whole.sites.of(heap) {
            return site;
        }
        let stack = whole.stack();
        let site = self.site(heap, stack, caller, first);
        self.stacks.whole(frames).sites.add(heap, site);
        site
    }

    #[inline(always)]
    fn push(&mut self, row: &Row) -> Option<RowId> {
        let matcher = &mut self.matcher;
        let id = self.rows.push(row, |deaths| matcher.add_column(deaths));
        if id.is_none() {
            self.cut_now(CutReason::Numbers);
        }
        id
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

fn may_have_stack(event: &Event) -> bool {
    is_memory_event(event) || matches!(event, Event::VirtualAlloc(_) | Event::VirtualFree(_))
}
