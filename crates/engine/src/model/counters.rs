//! Counters over time: values that the system samples of itself and its processes, and the sizes that
//! heaps report, as series of samples by time.
//!
//! Values are bytes, but for those that a program counts itself ([`CounterKind::Reported`]): these are numbers of any kind, stored
//! so that larger numbers have larger values. A value that does not change is not stored again. Series share their samples with
//! published traces; a shared series that grows is copied once.
//!
//! Memory: 16 bytes a sample, at most [`MAX_SAMPLES`] a series, [`MAX_SERIES`] series and [`MAX_ALL`]
//! samples in all; refused samples are counted. Cost: a few hash operations a value.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::pid_lives::PidLives;
use super::ranges::RangeMap;
use super::world::ProcessTable;
use super::{Process, ProcessId};
use crate::events::{
    Adapter, CounterEvent, GpuChange, GpuKind, GpuMemory, ManagedHeaps, MemoryLists, PAGE, ProcessMemory, RangeChange, Record,
    SegmentGroup,
};
use crate::format::plural;
use crate::stored::stored;
use crate::tables::KeyedMap;
use crate::units::{Pid, Ticks};

/// Most samples of one series.
pub(super) const MAX_SAMPLES: usize = 1 << 20;
/// Most series.
pub(super) const MAX_SERIES: usize = 1 << 16;
/// Most samples of all series: 256 MB.
pub(super) const MAX_ALL: usize = 1 << 24;
/// Most address ranges of all heaps.
const MAX_RANGES: usize = 1 << 20;

/// Index of a counter; it stays the same while the trace grows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CounterId(pub u32);

/// Kind of a counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CounterKind {
    /// Commit charge of all processes together.
    ProcessesCommit,
    /// Physical memory that can be had at once: zeroed, free and standby pages.
    Available,
    /// Zeroed and free pages.
    Free,
    /// Standby pages of all priorities.
    Standby,
    /// Modified pages, those not to be written among them.
    Modified,
    /// A process's commit charge.
    Commit,
    /// A process's working set.
    WorkingSet,
    /// The part of a process's working set that no other process shares.
    PrivateWorkingSet,
    /// A process's address space in use.
    VirtualSize,
    /// Address ranges of a heap.
    HeapReserved,
    /// Bytes committed for a heap, as it reports them itself.
    HeapCommitted,
    /// Bytes in the .NET runtime's heaps after a collection.
    ManagedHeap,
    /// Bytes in one generation of these heaps: 0 to 2, 3 for large objects, 4 for pinned ones.
    ManagedGeneration(u8),
    /// A process's memory on a graphics adapter.
    Gpu(GpuKind, SegmentGroup),
    /// A number that a program reports now and then under a name, by PIX's run-time.
    Reported,
}

stored!(enum CounterKind {
    0 = ProcessesCommit,
    1 = Available,
    2 = Free,
    3 = Standby,
    4 = Modified,
    5 = Commit,
    6 = WorkingSet,
    7 = PrivateWorkingSet,
    8 = VirtualSize,
    9 = HeapReserved,
    10 = HeapCommitted,
    11 = ManagedHeap,
    12 = ManagedGeneration(generation),
    13 = Gpu(kind, group),
    14 = Reported,
});

impl CounterKind {
    /// Counters that the system gives for each process.
    const OF_PROCESSES: [Self; 4] = [Self::Commit, Self::WorkingSet, Self::PrivateWorkingSet, Self::VirtualSize];

    /// Whether it is sampled now and then, not at every change.
    pub(crate) fn is_sampled(self) -> bool {
        !matches!(self, Self::HeapReserved | Self::HeapCommitted | Self::Gpu(..))
    }

    /// Whether its values are bytes.
    pub fn is_of_bytes(self) -> bool {
        self != Self::Reported
    }
}

/// Owner of a counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CounterOwner {
    /// The machine's.
    System,
    /// A process's.
    Process(Pid),
    /// That of a heap with this handle.
    Heap(Pid, u64),
    /// That of a process on a graphics adapter.
    Gpu(Pid, Adapter),
    /// That of a process under a name, of which this is a hash.
    Named(Pid, u64),
}

stored!(enum CounterOwner {
    0 = System,
    1 = Process(pid),
    2 = Heap(pid, handle),
    3 = Gpu(pid, adapter),
    4 = Named(pid, hash),
});

impl CounterOwner {
    /// The process, if it is one's.
    pub fn pid(self) -> Option<Pid> {
        match self {
            Self::System => None,
            Self::Process(pid) | Self::Heap(pid, _) | Self::Gpu(pid, _) | Self::Named(pid, _) => Some(pid),
        }
    }
}

/// One counter over time.
#[derive(Clone, PartialEq, Debug)]
pub struct Counter {
    /// Its kind.
    pub kind: CounterKind,
    /// Its owner.
    pub owner: CounterOwner,
    /// The life of the owning process, if an event named it.
    pub process: Option<ProcessId>,
    /// Number that tells the lives of one process id apart, named or not.
    pub life: u32,
    /// Its name, if the program gave it one.
    pub name: Option<Arc<str>>,
    /// Each change, by time: the value from then on.
    pub samples: Arc<Vec<(Ticks, u64)>>,
    /// Time until which the last value is known.
    pub until: Ticks,
    /// Largest value.
    pub peak: u64,
}

stored!(struct Counter { kind, owner, process, life, name, samples, until, peak });

/// The number that a stored value of a reported counter stands for.
pub(crate) fn reported_number(value: u64) -> f32 {
    let bits = value as u32;
    f32::from_bits(if bits & SIGN == 0 { !bits } else { bits & !SIGN })
}

/// The value that is stored for a number: larger for larger numbers.
fn reported_value(number: f32) -> u64 {
    let bits = number.to_bits();
    u64::from(if bits & SIGN == 0 { bits | SIGN } else { !bits })
}

/// The bit of the sign of a number.
const SIGN: u32 = 1 << 31;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct CounterKey {
    kind: CounterKind,
    owner: CounterOwner,
    /// Number that distinguishes the lives of one process id.
    life: u32,
}

/// A process id in the counters: its present life, if it is known, and the number of that.
#[derive(Clone, Copy, Debug)]
struct CounterLife {
    process: Option<ProcessId>,
    number: u32,
    first: Ticks,
}

/// Collects counters in time order.
#[derive(Debug, Default)]
pub(super) struct CounterTable {
    list: Vec<Counter>,
    index: KeyedMap<CounterKey, u32>,
    lives: KeyedMap<Pid, CounterLife>,
    /// Address ranges of heaps, by process, its life and handle, and their bytes.
    ranges: KeyedMap<(Pid, u32, u64), (RangeMap<()>, u64)>,
    range_count: usize,
    samples: usize,
    name_bytes: u64,
    refused: u64,
    homeless: u64,
    unread: u64,
}

impl CounterTable {
    /// Applies a record at the time `at`.
    pub(super) fn apply(&mut self, record: &Record, event: &CounterEvent, at: Ticks, processes: &ProcessTable) {
        match event {
            CounterEvent::Memory(lists) => self.memory(lists, at),
            CounterEvent::Processes(all) => self.processes(all, at, processes),
            CounterEvent::Chosen(some) => some.iter().for_each(|process| {
                self.process(process, &[CounterKind::Commit, CounterKind::WorkingSet], at, processes);
            }),
            CounterEvent::HeapRange { .. } | CounterEvent::HeapSize { .. } if !record.pid.is_known() => self.homeless += 1,
            CounterEvent::HeapRange { heap, change } => self.range(record.pid, *heap, change, at, processes),
            CounterEvent::HeapSize { heap, committed } => {
                let life = self.life(record.pid, at, processes);
                self.add(CounterKind::HeapCommitted, CounterOwner::Heap(record.pid, *heap), life, at, *committed);
            }
        }
    }

    fn memory(&mut self, lists: &MemoryLists, at: Ticks) {
        let sum = |parts: &[u64]| parts.iter().fold(0, |sum: u64, part| sum.saturating_add(*part)).saturating_mul(PAGE);
        let standby = sum(&lists.standby);
        let free = sum(&[lists.zero, lists.free]);
        for (kind, bytes) in [
            (CounterKind::Available, free.saturating_add(standby)),
            (CounterKind::Free, free),
            (CounterKind::Standby, standby),
            (CounterKind::Modified, sum(&[lists.modified, lists.modified_no_write])),
        ] {
            self.add(kind, CounterOwner::System, 0, at, bytes);
        }
    }

    fn processes(&mut self, all: &[ProcessMemory], at: Ticks, processes: &ProcessTable) {
        let mut commit = 0u64;
        for process in all {
            commit = commit.saturating_add(process.commit);
            self.process(process, &CounterKind::OF_PROCESSES, at, processes);
        }
        self.add(CounterKind::ProcessesCommit, CounterOwner::System, 0, at, commit.saturating_mul(PAGE));
    }

    fn process(&mut self, memory: &ProcessMemory, kinds: &[CounterKind], at: Ticks, processes: &ProcessTable) {
        let life = self.life(memory.pid, at, processes);
        for &kind in kinds {
            let pages = match kind {
                CounterKind::Commit => memory.commit,
                CounterKind::WorkingSet => memory.working_set,
                CounterKind::PrivateWorkingSet => memory.private_working_set,
                _ => memory.virtual_size,
            };
            self.add(kind, CounterOwner::Process(memory.pid), life, at, pages.saturating_mul(PAGE));
        }
    }

    /// Applies the sizes that a runtime reports after a collection.
    pub(super) fn managed_heaps(&mut self, pid: Pid, heaps: &ManagedHeaps, at: Ticks, processes: &ProcessTable) {
        let life = self.life(pid, at, processes);
        let owner = CounterOwner::Process(pid);
        let all = heaps.generations.iter().fold(0u64, |sum, bytes| sum.saturating_add(*bytes));
        self.add(CounterKind::ManagedHeap, owner, life, at, all);
        for (generation, &bytes) in (0..).zip(&heaps.generations) {
            let kind = CounterKind::ManagedGeneration(generation);
            // Old runtimes have no heap of pinned objects.
            if bytes > 0 || self.index.contains_key(&CounterKey { kind, owner, life }) {
                self.add(kind, owner, life, at, bytes);
            }
        }
    }

    /// Applies a change of GPU memory, which may come after the process's end. What held before the first one has held since
    /// the process, or the trace, began.
    pub(super) fn gpu_memory(&mut self, pid: Pid, memory: &GpuMemory, at: Ticks, processes: &ProcessTable) {
        let GpuMemory::Changed(change) = memory else {
            self.unread += 1;
            return;
        };
        let life = self.life_of(pid, processes.latest(pid), at, processes);
        let GpuChange { kind, adapter, group, new, old } = *change;
        let (kind, owner) = (CounterKind::Gpu(kind, group), CounterOwner::Gpu(pid, adapter));
        if !self.index.contains_key(&CounterKey { kind, owner, life }) {
            let process = self.lives.get(&pid).and_then(|life| life.process);
            let start = process.and_then(|id| processes.list[id.0 as usize].start);
            self.add(kind, owner, life, start.unwrap_or(Ticks::BEFORE_TRACE).min(at), old);
        }
        self.add(kind, owner, life, at, new);
    }

    /// Applies a number that a program reports under a name.
    pub(super) fn value(&mut self, pid: Pid, name: &str, number: f32, at: Ticks, processes: &ProcessTable) {
        let life = self.life(pid, at, processes);
        let owner = CounterOwner::Named(pid, xxh3_64(name.as_bytes()));
        self.add(CounterKind::Reported, owner, life, at, reported_value(number));
        let key = CounterKey { kind: CounterKind::Reported, owner, life };
        let counter = self.index.get(&key).and_then(|&index| self.list.get_mut(index as usize));
        if let Some(counter) = counter.filter(|counter| counter.name.is_none()) {
            self.name_bytes += name.len() as u64;
            counter.name = Some(name.into());
        }
    }

    /// Changes the ranges of a heap. Ranges that overlap count once, so it does not matter whether a
    /// heap's first range is reported by its creation, as a range of its own, or both.
    fn range(&mut self, pid: Pid, heap: u64, change: &RangeChange, at: Ticks, processes: &ProcessTable) {
        let life = self.life(pid, at, processes);
        if self.range_count >= MAX_RANGES {
            self.refused += 1;
            return;
        }
        let (ranges, total) = self.ranges.entry((pid, life, heap)).or_default();
        let before = ranges.len();
        match change {
            RangeChange::Rundown(all) => {
                (*ranges, *total) = Default::default();
                all.iter().for_each(|&(address, size)| reserve(ranges, total, address, size));
            }
            // An NT heap's handle is the first byte of its first range.
            RangeChange::Create(size) => {
                (*ranges, *total) = Default::default();
                reserve(ranges, total, heap, *size);
            }
            RangeChange::Reserve(address, size) => reserve(ranges, total, *address, *size),
            RangeChange::Release(address, size) => {
                let end = address.saturating_add(*size);
                let gone: u64 = ranges.overlapping(*address, end).iter().map(|r| r.1.min(end) - r.0.max(*address)).sum();
                *total -= gone;
                ranges.uncover(*address, end);
            }
            RangeChange::Destroy => (*ranges, *total) = Default::default(),
        }
        let bytes = *total;
        self.range_count = (self.range_count + ranges.len()).saturating_sub(before);
        self.add(CounterKind::HeapReserved, CounterOwner::Heap(pid, heap), life, at, bytes);
        if *change == RangeChange::Destroy && self.index.contains_key(&key(CounterKind::HeapCommitted, pid, heap, life)) {
            self.add(CounterKind::HeapCommitted, CounterOwner::Heap(pid, heap), life, at, 0);
        }
    }

    /// The number of the life of a process id that goes on at `at`. Counters never begin a life: only
    /// events of processes and of memory do.
    fn life(&mut self, pid: Pid, at: Ticks, processes: &ProcessTable) -> u32 {
        self.life_of(pid, processes.find(pid), at, processes)
    }

    /// The number of the life of a process id, if the process is `now`.
    fn life_of(&mut self, pid: Pid, now: Option<ProcessId>, at: Ticks, processes: &ProcessTable) -> u32 {
        let life = self.lives.entry(pid).or_insert(CounterLife { process: now, number: 0, first: at });
        match (life.process, now) {
            (None, Some(id)) if processes.list[id.0 as usize].start.is_none_or(|start| start <= life.first) => {
                life.process = now;
            }
            (before, Some(_)) if before != now => *life = CounterLife { process: now, number: life.number + 1, first: at },
            _ => {}
        }
        life.number
    }

    fn add(&mut self, kind: CounterKind, owner: CounterOwner, life: u32, at: Ticks, bytes: u64) {
        let key = CounterKey { kind, owner, life };
        let index = match self.index.get(&key) {
            Some(&index) => index,
            None if self.list.len() >= MAX_SERIES => {
                self.refused += 1;
                return;
            }
            None => {
                let index = self.list.len() as u32;
                let process = owner.pid().and_then(|pid| self.lives.get(&pid)).and_then(|life| life.process);
                self.list.push(Counter { kind, owner, process, life, name: None, samples: Arc::default(), until: at, peak: 0 });
                self.index.insert(key, index);
                index
            }
        };
        let counter = &mut self.list[index as usize];
        if counter.process.is_none() {
            counter.process = owner.pid().and_then(|pid| self.lives.get(&pid)).and_then(|life| life.process);
        }
        let last = counter.samples.last().copied();
        // A sample that comes late gets the time of the latest.
        let at = last.map_or(at, |(t, _)| at.max(t)).max(counter.until);
        if counter.samples.len() >= MAX_SAMPLES || self.samples >= MAX_ALL {
            self.refused += 1;
            return;
        }
        if last.is_none_or(|(_, value)| value != bytes) {
            self.samples += 1;
            Arc::make_mut(&mut counter.samples).push((at, bytes));
            counter.peak = counter.peak.max(bytes);
        }
        counter.until = at;
    }

    /// All counters so far. A counter whose process only a rundown at the end named finds it here.
    pub(super) fn publish(&self, processes: &[Arc<Process>]) -> Vec<Counter> {
        let lives = PidLives::of(processes);
        let mut list = self.list.clone();
        for counter in &mut list {
            let Some(pid) = counter.owner.pid() else { continue };
            let known = counter.samples.iter().map(|(t, _)| *t);
            let first = known.into_iter().find(|t| *t > Ticks::BEFORE_TRACE).unwrap_or(counter.until);
            // Who starts later has nothing to do with what was before.
            let has_started = |id: &ProcessId| processes[id.0 as usize].start.is_none_or(|start| start <= first);
            counter.process = counter.process.or_else(|| lives.going_on(pid, first).filter(has_started));
            let end = counter.process.and_then(|id| processes[id.0 as usize].end);
            if !counter.kind.is_sampled() {
                // The graphics kernel takes memory back after the end.
                let last = counter.samples.last().map_or(counter.until, |(t, _)| *t);
                counter.until = end.map_or(Ticks::NEVER, |end| end.max(last));
            }
        }
        list
    }

    /// Bytes of the samples and names.
    pub(super) fn bytes(&self) -> u64 {
        self.samples as u64 * 16 + self.name_bytes
    }

    /// A sentence about what was left out, if anything was.
    pub(super) fn left_out(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.refused > 0 {
            parts.push(format!(
                "{} of counters are more than are kept ({MAX_SAMPLES} a series, {MAX_ALL} in all)",
                plural(self.refused, "sample")
            ));
        }
        if self.homeless > 0 {
            parts.push(format!("{} of heaps without a process", plural(self.homeless, "change")));
        }
        if self.unread > 0 {
            parts.push(format!("{} of GPU memory in a form that is not known", plural(self.unread, "report")));
        }
        (!parts.is_empty()).then(|| format!("{}; they were left out of the graph", parts.join(", and ")))
    }
}

fn key(kind: CounterKind, pid: Pid, heap: u64, life: u32) -> CounterKey {
    CounterKey { kind, owner: CounterOwner::Heap(pid, heap), life }
}

fn reserve(ranges: &mut RangeMap<()>, total: &mut u64, address: u64, size: u64) {
    let end = address.saturating_add(size);
    if address < end {
        let new: u64 = ranges.gaps(address, end).iter().map(|(from, to)| to - from).sum();
        *total += new;
        ranges.cover(address, end);
    }
}
