//! The blocks of heaps and trackers that are alive where the interval begins, in the order of
//! their births: with the events it is found which of them made one.
//!
//! A realloc in the interval may sum up what its thread allocated last in its heap, and that may be gone, which
//! an earlier block that is alive cannot stand for: such blocks are found, too ([`AliveBlock::is_gone`]).
//!
//! Cost: a step a row born before the interval, two where there are reallocs. Memory: the blocks of one tick; where
//! there are reallocs an entry a thread and heap.

use std::collections::{HashMap, HashSet};

use rustc_hash::FxHashMap;

use crate::events::{Event, Record};
use crate::model::{HeapId, NodeId, Processes, Row, RowId, Trace};
use crate::units::{Layer, Pid, Ticks, Tid};

/// One block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AliveBlock {
    /// Raw time of its birth.
    pub(super) time: i64,
    pub(super) pid: Pid,
    pub(super) tid: Tid,
    pub(super) layer: Layer,
    pub(super) heap: u64,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) stack: NodeId,
    /// It was freed before the interval begins, and its thread allocated nothing in its heap in between.
    pub(super) is_gone: bool,
}

impl AliveBlock {
    /// The allocation that it began with; one that was born by a realloc is written like this, too.
    pub(super) fn record(&self) -> Record {
        let &Self { time, pid, tid, layer, heap, address, size, .. } = self;
        Record { time, pid, tid, event: Event::Alloc { layer, heap, address, size } }
    }

    /// What ends it at the tick at which it began.
    pub(super) fn free(&self) -> Record {
        let &Self { time, pid, tid, layer, heap, address, .. } = self;
        Record { time, pid, tid, event: Event::Free { layer, heap, address } }
    }

    /// Where the header did not say whose it is, a stack did.
    fn may_be_of(&self, record: &Record) -> bool {
        self.pid == record.pid || !record.pid.is_known()
    }

    fn may_be_by(&self, record: &Record) -> bool {
        self.tid == record.tid || !record.tid.is_known()
    }

    fn place(&self) -> Place {
        (self.layer, self.heap, self.address, self.size)
    }
}

/// Layer, heap, address and size.
type Place = (Layer, u64, u64, u64);

/// What a record allocates, if it does.
fn place_of(record: &Record) -> Option<Place> {
    match record.event {
        Event::Alloc { layer, heap, address, size } => Some((layer, heap, address, size)),
        ref event if event.is_failed_realloc() => None,
        Event::Realloc { layer, heap, new, size, .. } => Some((layer, heap, new, size)),
        _ => None,
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Alive<'a> {
    trace: &'a Trace,
    trace_start: i64,
    processes: &'a Processes,
    /// Where the interval begins.
    from: Ticks,
    next: u32,
    /// Those born by now whose event was not met, with the numbers of their rows.
    waiting: FxHashMap<Place, Vec<(RowId, AliveBlock)>>,
    /// Those whose event was met at this tick: it may be one before the one that made them.
    taken: FxHashMap<(Layer, u64, u64), Vec<(RowId, AliveBlock)>>,
    /// What threads allocated last at this tick, by process, thread and heap: address and size.
    latest: HashMap<(Pid, Tid, u64), (u64, u64)>,
    /// Rows of blocks that are gone but count.
    gone: HashSet<RowId>,
}

/// What threads allocated last in an NT heap before the interval, where that is gone and an earlier block is alive.
fn gone(trace: &Trace, from: Ticks) -> HashSet<RowId> {
    if trace.counts.heap_realloc == 0 {
        return HashSet::new();
    }
    let mut latest: HashMap<(HeapId, Tid), (RowId, bool)> = HashMap::new();
    for row in (0..trace.rows.len() as u32).map(RowId).take_while(|&row| trace.rows.birth(row) < from) {
        let Row { thread, site, .. } = trace.rows.get(row);
        let heap = trace.site(site).heap;
        let any_alive = latest.get(&(heap, thread)).is_some_and(|(_, any_alive)| *any_alive);
        latest.insert((heap, thread), (row, any_alive || trace.rows.death(row) >= from));
    }
    latest.retain(|(heap, _), (row, any_alive)| {
        *any_alive && trace.rows.death(*row) < from && trace.heap(*heap).layer == Layer::Heap
    });
    latest.into_values().map(|(row, _)| row).collect()
}

impl<'a> Alive<'a> {
    pub(super) fn new(trace: &'a Trace, trace_start: i64, from: Ticks, processes: &'a Processes) -> Self {
        let (waiting, taken, latest) = Default::default();
        Self { trace, trace_start, processes, from, next: 0, waiting, taken, latest, gone: gone(trace, from) }
    }

    /// Time goes on to this raw time. Blocks born before it whose event was not met are left to the
    /// caller: late events have other times than what they did.
    pub(super) fn advance(&mut self, raw: i64) -> Vec<AliveBlock> {
        let mut left: Vec<(RowId, AliveBlock)> = self.waiting.drain().flat_map(|(_, blocks)| blocks).collect();
        self.taken.clear();
        self.latest.clear();
        left.sort_unstable_by_key(|(row, _)| *row);
        let now = Ticks::from_raw(raw, self.trace_start).min(Ticks(self.from.0.saturating_sub(1)));
        while (self.next as usize) < self.trace.rows.len() && self.trace.rows.birth(RowId(self.next)) <= now {
            let row = RowId(self.next);
            self.next += 1;
            let is_wanted = self.trace.rows.death(row) >= self.from || self.gone.contains(&row);
            if let Some(block) = is_wanted.then(|| self.block(row)).flatten() {
                self.waiting.entry(block.place()).or_default().push((row, block));
            }
        }
        left.into_iter().map(|(_, block)| block).collect()
    }

    fn block(&self, row: RowId) -> Option<AliveBlock> {
        let (trace, is_gone) = (self.trace, self.gone.contains(&row));
        let row = trace.rows.get(row);
        let site = trace.site(row.site);
        let heap = trace.heap(site.heap);
        let pid = trace.process(heap.process).pid;
        if heap.layer == Layer::Commit || !self.processes.has(pid) {
            return None; // pages come with all their events
        }
        let time = self.trace_start.saturating_add(row.birth.0);
        let (tid, layer, heap) = (row.thread, heap.layer, heap.handle);
        Some(AliveBlock { time, pid, tid, layer, heap, address: row.address, size: row.size, stack: site.stack, is_gone })
    }

    /// The block that an event of now made, if it is one of them.
    pub(super) fn take(&mut self, record: &Record) -> Option<AliveBlock> {
        let blocks = self.waiting.get_mut(&place_of(record)?)?;
        let at = blocks.iter().position(|(_, block)| block.may_be_of(record) && block.may_be_by(record))?;
        let (row, block) = blocks.remove(at);
        self.taken.entry((block.layer, block.heap, block.address)).or_default().push((row, block));
        Some(block)
    }

    /// Whether a realloc sums up what its thread allocated at this tick.
    fn is_summary(&self, record: &Record) -> bool {
        let Event::Realloc { layer: Layer::Heap, heap, old, new, size } = record.event else { return false };
        let is_its = |(_, block): &(RowId, AliveBlock)| block.may_be_of(record) && block.tid == record.tid && !block.is_gone;
        old != new
            && self.latest.get(&(record.pid, record.tid, heap)).is_none_or(|latest| *latest == (new, size))
            && self
                .taken
                .get(&(Layer::Heap, heap, new))
                .is_some_and(|taken| taken.iter().any(|taken| is_its(taken) && taken.1.size == size))
    }

    /// The blocks that were taken at this tick and end with this record: another event of the tick makes them anew.
    pub(super) fn end(&mut self, record: &Record) -> Vec<AliveBlock> {
        let is_summary = self.is_summary(record);
        if let Some((Layer::Heap, heap, address, size)) = place_of(record).filter(|_| !is_summary) {
            self.latest.insert((record.pid, record.tid, heap), (address, size));
        }
        if self.taken.is_empty() {
            return Vec::new();
        }
        let (layer, heap, addresses) = match record.event {
            Event::Alloc { layer, heap, address, .. } | Event::Free { layer, heap, address } => (layer, heap, [address; 2]),
            Event::Realloc { layer, heap, old, new, .. } if !record.event.is_failed_realloc() => {
                (layer, heap, [old, if is_summary { old } else { new }])
            }
            _ => return Vec::new(),
        };
        let mut ended = Vec::new();
        for address in addresses {
            let Some(taken) = self.taken.get_mut(&(layer, heap, address)) else { continue };
            for (row, block) in taken.extract_if(.., |(_, block)| block.may_be_of(record)) {
                self.waiting.entry(block.place()).or_default().push((row, block));
                ended.extend(Some(block).filter(|block| !block.is_gone)); // those that are gone ended at once
            }
        }
        ended
    }
}
