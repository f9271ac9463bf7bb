//! The blocks of heaps and trackers that are alive where the interval begins, in the order of
//! their births: with the events it is found which of them made one.
//!
//! A realloc in the interval may sum up what its thread allocated last in its heap, and that may be gone, which
//! an earlier block that is alive cannot stand for: such blocks are found, too ([`AliveBlock::is_gone`]).
//!
//! Cost: a step a row born before the interval, two where there are reallocs; for a block the logarithm of those
//! of its tick. Memory: the blocks of one tick; where there are reallocs an entry a thread and heap.

use std::collections::{BTreeMap, BTreeSet};

use crate::events::{Event, Record};
use crate::model::{HeapId, NodeId, Processes, Row, RowId, Trace};
use crate::tables::{KeyedMap, KeyedSet};
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

    /// A record that ends the block at the tick at which it began.
    pub(super) fn free(&self) -> Record {
        let &Self { time, pid, tid, layer, heap, address, .. } = self;
        Record { time, pid, tid, event: Event::Free { layer, heap, address } }
    }

    fn place(&self) -> Place {
        (self.layer, self.heap, self.address, self.size)
    }

    /// The forms in which a record can begin the block: a header without process or thread leaves these to the stack.
    fn births(&self) -> impl Iterator<Item = Birth> + use<> {
        let (place, pids, tids) = (self.place(), [self.pid, Pid::NONE], [self.tid, Tid::NONE]);
        pids.into_iter().flat_map(move |pid| tids.map(|tid| (place, pid, tid)))
    }

    /// The forms in which a record can end the block, each with the thread and size that summaries of its birth have.
    fn ends(&self) -> impl Iterator<Item = End> + use<> {
        let &Self { layer, heap, address, size, tid, .. } = self;
        [self.pid, Pid::NONE].into_iter().map(move |pid| ((layer, heap, address), pid, tid, size))
    }
}

/// Layer, heap, address and size.
type Place = (Layer, u64, u64, u64);

/// A place, and by whom, as far as a record says it.
type Birth = (Place, Pid, Tid);

/// Layer, heap and address, whose they are as far as a record says it, by whom, and size.
type End = ((Layer, u64, u64), Pid, Tid, u64);

/// The block that a record allocates, if it allocates one.
fn place_of(record: &Record) -> Option<Place> {
    match record.event {
        Event::Alloc { layer, heap, address, size } => Some((layer, heap, address, size)),
        ref event if event.is_failed_realloc() => None,
        Event::Realloc { layer, heap, new, size, .. } => Some((layer, heap, new, size)),
        _ => None,
    }
}

/// Blocks that are alive where the interval begins, and how far their events were met.
#[derive(Debug)]
pub(super) struct Alive<'a> {
    trace: &'a Trace,
    trace_start: i64,
    processes: &'a Processes,
    /// Where the interval begins.
    from: Ticks,
    next: u32,
    /// Those born by now whose event was not met, with the numbers of their rows.
    waiting: Blocks<Birth>,
    /// Those whose event was met at this tick: it may be one before the one that made them.
    taken: Blocks<End>,
    /// The latest allocation of each thread at this tick, by process, thread and heap: address and size.
    latest: KeyedMap<(Pid, Tid, u64), (u64, u64)>,
    /// Rows of blocks that are gone but count.
    gone: KeyedSet<RowId>,
}

/// Rows of each thread's latest allocation in an NT heap before the interval, where it is freed by then and an earlier block
/// of the thread is alive.
fn gone(trace: &Trace, from: Ticks) -> KeyedSet<RowId> {
    if trace.counts.heap_realloc == 0 {
        return KeyedSet::default();
    }
    let mut latest: KeyedMap<(HeapId, Tid), (RowId, bool)> = KeyedMap::default();
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

/// Blocks in the order in which they came, looked up by what records say of them: many can be alike.
#[derive(Debug)]
struct Blocks<K> {
    list: BTreeMap<u64, (RowId, AliveBlock)>,
    keys: BTreeSet<(K, u64)>,
    next: u64,
}

impl<K: Ord + Copy> Blocks<K> {
    fn new() -> Self {
        Self { list: BTreeMap::new(), keys: BTreeSet::new(), next: 0 }
    }

    fn push(&mut self, block: (RowId, AliveBlock), keys: impl Iterator<Item = K>) {
        self.keys.extend(keys.map(|key| (key, self.next)));
        self.list.insert(self.next, block);
        self.next += 1;
    }

    /// The numbers of those with a key between these.
    fn between(&self, from: K, to: K) -> impl Iterator<Item = u64> + '_ {
        self.keys.range((from, 0)..=(to, u64::MAX)).map(|&(_, number)| number)
    }

    fn remove<I: Iterator<Item = K>>(&mut self, number: u64, keys: impl Fn(&AliveBlock) -> I) -> Option<(RowId, AliveBlock)> {
        let block = self.list.remove(&number)?;
        for key in keys(&block.1) {
            self.keys.remove(&(key, number));
        }
        Some(block)
    }

    /// All of them.
    fn take_all(&mut self) -> Vec<(RowId, AliveBlock)> {
        self.keys.clear();
        std::mem::take(&mut self.list).into_values().collect()
    }
}

impl<'a> Alive<'a> {
    pub(super) fn new(trace: &'a Trace, trace_start: i64, from: Ticks, processes: &'a Processes) -> Self {
        let (waiting, taken, latest) = (Blocks::new(), Blocks::new(), KeyedMap::default());
        Self { trace, trace_start, processes, from, next: 0, waiting, taken, latest, gone: gone(trace, from) }
    }

    /// Time goes on to this raw time. Blocks born before it whose event was not met are left to the
    /// caller: late events have other times than what they did.
    pub(super) fn advance(&mut self, raw: i64) -> Vec<AliveBlock> {
        let mut left = self.waiting.take_all();
        self.taken.take_all();
        self.latest.clear();
        left.sort_unstable_by_key(|(row, _)| *row);
        let now = Ticks::from_raw(raw, self.trace_start).min(Ticks(self.from.0.saturating_sub(1)));
        while (self.next as usize) < self.trace.rows.len() && self.trace.rows.birth(RowId(self.next)) <= now {
            let row = RowId(self.next);
            self.next += 1;
            let is_wanted = self.trace.rows.death(row) >= self.from || self.gone.contains(&row);
            if let Some(block) = is_wanted.then(|| self.block(row)).flatten() {
                self.waiting.push((row, block), block.births());
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
        let birth = (place_of(record)?, record.pid, record.tid);
        let number = self.waiting.between(birth, birth).next()?;
        let (row, block) = self.waiting.remove(number, AliveBlock::births)?;
        self.taken.push((row, block), block.ends());
        Some(block)
    }

    /// Whether a realloc sums up what its thread allocated at this tick.
    fn is_summary(&self, record: &Record) -> bool {
        let Event::Realloc { layer: Layer::Heap, heap, old, new, size } = record.event else { return false };
        let summed_up = ((Layer::Heap, heap, new), record.pid, record.tid, size);
        let is_there = |number: u64| self.taken.list.get(&number).is_some_and(|(_, block)| !block.is_gone);
        old != new
            && self.latest.get(&(record.pid, record.tid, heap)).is_none_or(|latest| *latest == (new, size))
            && self.taken.between(summed_up, summed_up).any(is_there)
    }

    /// The blocks that were taken at this tick and end with this record: another event of the tick makes them anew.
    pub(super) fn end(&mut self, record: &Record) -> Vec<AliveBlock> {
        let is_summary = self.is_summary(record);
        if let Some((Layer::Heap, heap, address, size)) = place_of(record).filter(|_| !is_summary) {
            self.latest.insert((record.pid, record.tid, heap), (address, size));
        }
        if self.taken.list.is_empty() {
            return Vec::new();
        }
        let pid = record.pid;
        let (layer, heap, addresses) = match record.event {
            Event::Alloc { layer, heap, address, .. } | Event::Free { layer, heap, address } => (layer, heap, [address; 2]),
            Event::Realloc { layer, heap, old, new, .. } if !record.event.is_failed_realloc() => {
                (layer, heap, [old, if is_summary { old } else { new }])
            }
            _ => return Vec::new(),
        };
        let mut ended = Vec::new();
        for address in addresses {
            let end = |tid, size| ((layer, heap, address), pid, tid, size);
            let taken = self.taken.between(end(Tid(0), 0), end(Tid(u32::MAX), u64::MAX));
            let numbers: BTreeSet<u64> = taken.collect(); // as they came
            for number in numbers {
                let Some((row, block)) = self.taken.remove(number, AliveBlock::ends) else { continue };
                self.waiting.push((row, block), block.births());
                ended.extend(Some(block).filter(|block| !block.is_gone)); // those that are gone ended at once
            }
        }
        ended
    }
}
