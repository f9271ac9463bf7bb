//! A published trace: immutable, shared between the window and its workers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde::Serialize;

use super::mapped::{MappedModule, ModuleMap};
use super::pid_lives::PidLives;
use super::silent_allocators::{SilentAllocator, silent_allocators};
use super::{
    Activity, Chunked, Counter, Cut, Heap, HeapId, LastDeaths, Loss, Machine, Module, NodeId, Outline, Process, ProcessId,
    Reservations, RowId, Rows, Scope, Site, SiteId, StackSeen, Stacks,
};
use crate::events::{EventCounts, FileCopies};
use crate::problem::Problem;
use crate::stored::stored;
use crate::tables::{KeyedMap, KeyedSet};
use crate::units::{Interval, Layer, Pid, Ticks, Tid};

/// The clock of a capture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clock {
    /// Ticks a second.
    pub frequency: u64,
    /// FILETIME of the trace start, 0 if unknown.
    pub start_time: i64,
}

stored!(struct Clock { frequency, start_time });

impl Clock {
    /// Seconds since the trace start.
    #[inline]
    pub fn seconds(&self, t: Ticks) -> f64 {
        t.0 as f64 / self.frequency as f64
    }

    /// The nearest tick to a number of nanoseconds, halves away from zero; clamped to ordinary moments.
    /// Exact, unlike [`Clock::ticks`], which goes through a fraction.
    pub(crate) fn nearest_tick(&self, nanos: i128) -> Ticks {
        const NANOS_PER_SECOND: u128 = 1_000_000_000;
        let ticks =
            nanos.unsigned_abs().saturating_mul(self.frequency.into()).saturating_add(NANOS_PER_SECOND / 2) / NANOS_PER_SECOND;
        let ticks = i64::try_from(ticks).unwrap_or(i64::MAX);
        let signed = if nanos < 0 { -ticks } else { ticks };
        Ticks(signed.clamp(i64::MIN + 1, i64::MAX - 1))
    }

    /// The nearest tick to a number of seconds, clamped to ordinary moments.
    pub fn ticks(&self, seconds: f64) -> Ticks {
        let ticks = (seconds * self.frequency as f64).round();
        Ticks((ticks as i64).clamp(i64::MIN + 1, i64::MAX - 1)) // the cast saturates
    }
}

/// How far the numbers can be trusted; fields as the machine interface names them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Quality {
    /// Events that did not reach the files.
    pub events_lost: u64,
    /// Buffers that did not reach the files.
    pub buffers_lost: u64,
    /// Frees of blocks that were not alive.
    pub unmatched_frees: u64,
    /// Allocations at the address of a block that was still alive, and ranges reserved where
    /// pages were still committed.
    pub superseded_allocations: u64,
    /// Problems with the input.
    pub problems: u64,
    /// Frees without process and stack, whose block was the only one at their heap and address.
    pub inferred_frees: u64,
    /// Events that occur twice, in one file or in several; the copies changed nothing. Stacks are not
    /// counted apart from their events.
    pub duplicate_events: u64,
    /// Whether sizes add up to more than 64-bit numbers hold: sums stop there, and changes are unknown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sums_saturate: bool,
}

stored!(struct Quality {
    events_lost,
    buffers_lost,
    unmatched_frees,
    superseded_allocations,
    problems,
    inferred_frees,
    duplicate_events,
    sums_saturate,
});

/// A free of a block that was not alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnmatchedFree {
    /// Its time.
    pub time: Ticks,
    /// Process that freed.
    pub pid: Pid,
    /// Layer of the block.
    pub layer: Layer,
    /// Handle of the heap.
    pub handle: u64,
    /// The heap, if anything else is known of it.
    pub heap: Option<HeapId>,
    /// Address of the block.
    pub address: u64,
    /// Bytes of the pages; `None` for a block, whose size is not known.
    pub size: Option<u64>,
    /// Call stack, [`NodeId::ROOT`] if none was recorded.
    pub stack: NodeId,
}

stored!(struct UnmatchedFree { time, pid, layer, handle, heap, address, size, stack });

impl Default for UnmatchedFree {
    fn default() -> Self {
        let (time, layer, stack) = (Ticks::default(), Layer::Heap, NodeId::ROOT);
        Self { time, pid: Pid::NONE, layer, handle: 0, heap: None, address: 0, size: None, stack }
    }
}

/// Everything known of a capture up to some moment. Cheap to clone in part only:
/// share it by `Arc`.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The clock.
    pub clock: Clock,
    /// From the trace start, or the first event if that is earlier, to one tick after the last event,
    /// or to the cut.
    pub span: Interval,
    /// The part of the capture that was read.
    pub scope: Scope,
    /// Where reading stopped for want of room, if it did.
    pub cut: Option<Cut>,
    /// Allocations that were freed before this moment were dropped for want of room, if
    /// any were: numbers before it are lower bounds.
    pub forgotten: Option<Ticks>,
    /// Bytes that rows, stacks and tables took while they were built, as calculated.
    pub load_bytes: u64,
    /// Lives of processes, by [`ProcessId`].
    pub processes: Vec<Arc<Process>>,
    /// Heaps, by [`HeapId`].
    pub heaps: Vec<Heap>,
    /// Sites, by [`SiteId`].
    pub sites: Vec<Site>,
    /// Sites of frees, whose numbers are those of [`Rows::freed_at`]. Empty if no free has a stack.
    pub free_sites: Vec<Site>,
    /// Call stacks.
    pub stacks: Stacks,
    /// Allocations.
    pub rows: Rows,
    /// Names of threads, where events give them.
    pub thread_names: Arc<KeyedMap<(ProcessId, Tid), Arc<str>>>,
    /// Names of trackers by the handles that were made of them, of those that only free, too.
    pub tracker_names: BTreeMap<u64, Arc<str>>,
    /// NT paths of volumes and their drive letters.
    pub volumes: Vec<(String, String)>,
    /// Folders beside the files with PDBs that the recording made.
    pub symbol_folders: Vec<PathBuf>,
    /// Counters of the system, of processes and heaps, by [`CounterId`](super::CounterId).
    pub counters: Vec<Counter>,
    /// Activity of programs.
    pub activity: Activity,
    /// Where something was lost, by time.
    pub losses: Arc<[Loss]>,
    /// How far the numbers can be trusted.
    pub quality: Quality,
    /// Frees of blocks that were not alive, by time; not all if there are very many.
    pub unmatched: Vec<UnmatchedFree>,
    /// Address ranges that were reserved at some time.
    pub reservations: Reservations,
    /// User stacks of threads, by time.
    pub thread_stacks: Chunked<StackSeen>,
    /// Events by kind.
    pub counts: EventCounts,
    /// Copies in each file, in the order of the files.
    pub copies: Vec<FileCopies>,
    /// The machine that recorded it.
    pub machine: Machine,
    /// Problems with the input; at most [`crate::problem::Problems::KEPT`].
    pub problems: Vec<Problem>,
    /// Whether all input has been read.
    pub complete: bool,
    pub(super) lineage: Lineage,
    pub(super) derived: Derived,
}

impl Trace {
    /// Facts that lead to symbols: volumes with their drive letters, and folders of PDBs beside the files.
    pub fn places_of_names(&self) -> (&[(String, String)], &[PathBuf]) {
        (&self.volumes, &self.symbol_folders)
    }

    /// Allocators of which no blocks are seen, at most a few.
    pub fn silent_allocators(&self) -> &[SilentAllocator] {
        self.derived.silent_allocators.get_or_init(|| silent_allocators(self))
    }

    /// One heap.
    #[inline]
    pub fn heap(&self, id: HeapId) -> &Heap {
        &self.heaps[id.0 as usize]
    }

    /// One process.
    #[inline]
    pub fn process(&self, id: ProcessId) -> &Process {
        &self.processes[id.0 as usize]
    }

    /// Name of a process, with its id where another process has the same name.
    pub fn process_name(&self, id: ProcessId) -> String {
        let process = self.process(id);
        let namesakes = self.derived.namesakes.get_or_init(|| namesakes(&self.processes));
        match namesakes.contains(&id) {
            true => process.label_with_id(),
            false => process.label(),
        }
    }

    /// Whether a process has this name or id; one of which nothing else is known has only its id.
    pub(crate) fn is_process_called(&self, (pid, process): (Pid, Option<ProcessId>), wanted: &str) -> bool {
        process.map_or_else(|| wanted.parse() == Ok(pid.0), |process| self.process(process).is_called(wanted))
    }

    /// One site.
    #[inline]
    pub fn site(&self, id: SiteId) -> &Site {
        &self.sites[id.0 as usize]
    }

    /// Site at which a row was freed, if that was recorded.
    #[inline]
    pub fn freed_at(&self, row: RowId) -> Option<&Site> {
        self.rows.freed_at(row).map(|site| &self.free_sites[site.0 as usize])
    }

    /// Process of a site's memory.
    #[inline]
    pub fn process_of(&self, site: &Site) -> ProcessId {
        self.heap(site.heap).process
    }

    /// Layer of a site's memory.
    #[inline]
    pub fn layer_of(&self, site: &Site) -> Layer {
        self.heap(site.heap).layer
    }

    /// The module that is mapped at `address` in `process` at time `at`: the
    /// process's own, else the kernel's, which are mapped everywhere. If nothing is
    /// mapped there then, a module that was there at another time.
    #[inline]
    pub fn module_at(&self, process: ProcessId, address: u64, at: Ticks) -> Option<&Module> {
        self.mapped_at(process, address, at).module
    }

    /// The module that [`Self::module_at`] finds, the managed method there at that moment, and for how
    /// long both hold.
    pub fn mapped_at(&self, process: ProcessId, address: u64, at: Ticks) -> MappedModule<'_> {
        let mapped = self.derived.modules.find(&self.processes, process, address, at);
        if self.activity.managed.is_empty() {
            return mapped;
        }
        let (method, during) = self.activity.managed.at(process, address, at);
        let during = Interval { from: mapped.during.from.max(during.from), to: mapped.during.to.min(during.to) };
        MappedModule { method, during, ..mapped }
    }

    /// The process that made an unmatched free, if it is known: the life of its id at that moment, or
    /// else the first.
    pub fn process_of_free(&self, free: &UnmatchedFree) -> Option<ProcessId> {
        if let Some(heap) = free.heap {
            return Some(self.heap(heap).process);
        }
        let lives = self.derived.lives.get_or_init(|| PidLives::of(&self.processes));
        let has_begun = |id: &ProcessId| self.process(*id).start.is_none_or(|start| start <= free.time);
        lives.going_on(free.pid, free.time).filter(has_begun).or_else(|| lives.first(free.pid))
    }

    /// Whether this trace continues an earlier publication: the same rows and heaps have the same numbers and, up to the end of
    /// that one, the same births and deaths, except that rows may have got other sites in their heap, and may have been split.
    pub fn continues(&self, earlier: &Self) -> bool {
        self.lineage == earlier.lineage && self.rows.len() >= earlier.rows.len()
    }

    /// Whether it continues an earlier publication, and the same sites have the same numbers. The complete trace numbers them anew.
    pub fn continues_sites(&self, earlier: &Self) -> bool {
        self.continues(earlier) && !self.complete
    }

    /// The builder that made it. All publications of one builder number processes, heaps, counters and
    /// stacks alike.
    pub fn builder(&self) -> BuilderId {
        self.lineage.builder
    }

    /// Whether the rows of an earlier publication have the same numbers here, as all else has.
    pub fn keeps_rows(&self, earlier: &Self) -> bool {
        self.builder() == earlier.builder() && self.forgotten == earlier.forgotten
    }

    /// The moment up to which nothing was lost. After it totals are only bounds: sums of allocations
    /// and frees are lower bounds, and what is outstanding can be too high (a free is missing) or too
    /// low (an allocation is missing). `None` if nothing was lost. A loss whose place no buffer shows
    /// can have been at any time.
    pub fn exact_until(&self) -> Option<Ticks> {
        let placed = self.losses.iter().map(|loss| loss.interval.from).min();
        let lost = self.quality.events_lost + self.quality.buffers_lost > 0;
        placed.or(lost.then_some(self.span.from))
    }

    /// Stacks and sites in the order of an outline; made when it is first asked for.
    pub fn outline(&self) -> &Outline {
        self.derived.outline.get_or_init(|| Outline::of(&self.stacks, &self.sites, self.heaps.len()))
    }

    /// The last death of each block of rows; made when it is first asked for, which takes a pass over the deaths.
    pub fn last_deaths(&self) -> &LastDeaths {
        self.derived.last_deaths.get_or_init(|| LastDeaths::of(&self.rows))
    }
}

/// Identity of a builder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuilderId(u64);

/// The builder of a trace, and how often something was added to its past or removed from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lineage {
    builder: BuilderId,
    pub(super) past: u64,
}

impl Lineage {
    /// The lineage of a new builder.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { builder: BuilderId(NEXT.fetch_add(1, Ordering::Relaxed)), past: 0 }
    }
}

/// Data derived from the rest of a trace, made when it is first asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Derived {
    outline: OnceLock<Outline>,
    lives: OnceLock<PidLives>,
    last_deaths: OnceLock<LastDeaths>,
    /// Processes whose name another process has, too.
    namesakes: OnceLock<KeyedSet<ProcessId>>,
    modules: ModuleMap,
    silent_allocators: OnceLock<Vec<SilentAllocator>>,
}

/// The named processes whose name a process of another id has, too.
fn namesakes(processes: &[Arc<Process>]) -> KeyedSet<ProcessId> {
    let mut ids: KeyedMap<&str, KeyedSet<Pid>> = KeyedMap::default();
    let named = || (0..).map(ProcessId).zip(processes).filter(|(_, process)| !process.name.is_empty());
    named().for_each(|(_, process)| _ = ids.entry(&*process.name).or_default().insert(process.pid));
    named().filter(|(_, process)| ids[&*process.name].len() > 1).map(|(id, _)| id).collect()
}
