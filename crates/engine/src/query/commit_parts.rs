//! Commit by what it is for: the committed bytes of processes at some moments, in parts that add up to all of them.
//!
//! Each committed range is in exactly one part, for its whole life:
//!
//! 1. the NT heap or tracker that has a block in the range's reservation, or the thread whose stack lies there: decided by
//!    address, from the blocks that were allocated while the address range was reserved;
//! 2. else the tag that the user's rules give its stack;
//! 3. else its [owner](super::owners) by its stack.
//!
//! Beside them there is the total, as far as it is known: the commit charge that the system sampled last. It has parts of which
//! there are no events, such as stacks that grew, copied pages of images, and page tables. Mapped views are beside it, too:
//! [`mapped`] says why.
//!
//! Cost: one parallel pass over the rows, a search for each committed range that is alive at one of the moments, and the owners of
//! the sites of these. Memory: an entry for each worker, part and moment at which a part changes.

mod entries;
mod mapped;
mod range_owners;
mod ranges;
mod site_parts;

use std::collections::BTreeMap;

use super::moments::places_alive;
use super::{Cancel, Cancelled, Index, NO_STACK_KEY};
use crate::model::{Counter, CounterKind, HeapId, ProcessId, SiteId, Trace};
use crate::names::Names;
use crate::tables::KeyedMap;
use crate::units::{Layer, Ticks};
pub use entries::{CommitEntry, CommitPartEntry, MappedEntry, commit_entries};
use mapped::Mapped;
pub use mapped::MappedViews;
use range_owners::RangeOwner;
pub use range_owners::RangeOwners;
use site_parts::site_parts;

/// Kind of a part of commit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PartKind {
    /// NT heaps.
    Heap,
    /// Trackers.
    Tracker,
    /// Stacks of threads.
    ThreadStacks,
    /// A tag of the user's rules, or an owner by stack.
    Tag,
    /// Ranges without a stack.
    Untagged,
    /// All parts that are too small to be listed.
    Others,
}

impl PartKind {
    /// Returns the name in the machine interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Tracker => "tracker",
            Self::ThreadStacks => "thread_stacks",
            Self::Tag => "tag",
            Self::Untagged => "untagged",
            Self::Others => "others",
        }
    }
}

/// Name of the part with all stacks of threads, which is also the owner's of their commit by stack.
const THREAD_STACKS: &str = "Thread stacks";
/// Name of the part with heaps that only the stack shows, which is also the owner's.
const HEAPS: &str = "Windows heap";
/// Name of the part with all small ones.
const OTHERS: &str = "Others";

/// A question about commit.
#[derive(Clone, Copy, Debug)]
pub struct CommitRequest<'a> {
    /// The moments, sorted.
    pub moments: &'a [Ticks],
    /// The processes, by [`ProcessId`].
    pub of_process: &'a [bool],
    /// Whether all NT heaps are one part, and all trackers.
    pub joins_heaps: bool,
    /// Largest number of parts of a process; those with the highest peaks are listed.
    pub most: usize,
}

/// A part of the commit of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommitPart {
    /// Its kind.
    pub kind: PartKind,
    /// A heap, tracker, tag or owner.
    pub name: String,
    /// Committed bytes at each moment.
    pub bytes: Vec<u64>,
}

/// The commit of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessCommit {
    /// The process.
    pub process: ProcessId,
    /// Its parts, by their highest bytes, falling, then by kind and name.
    pub parts: Vec<CommitPart>,
    /// All committed ranges at each moment: the sum of the parts.
    pub known: Vec<u64>,
    /// The commit charge at each moment, as the system sampled it last.
    pub total: Vec<Option<u64>>,
    /// Views of files and of shared memory, which are in no part; `None` if the trace has no event of any.
    pub mapped: Option<MappedViews>,
}

/// Whether any committed range of a trace is known.
pub fn has_commit(trace: &Trace) -> bool {
    trace.heaps.iter().any(|heap| heap.layer == Layer::Commit)
}

/// Returns the commit of the processes that have any at one of the moments, in the order of their numbers.
pub fn commit_parts(
    index: &Index,
    names: &Names,
    owners: &RangeOwners,
    request: &CommitRequest<'_>,
    cancel: &Cancel,
) -> Result<Vec<ProcessCommit>, Cancelled> {
    let trace = index.trace();
    if request.moments.is_empty() || !has_commit(trace) {
        return Ok(Vec::new());
    }
    let changes = changes(index, owners, request, cancel)?;
    let sites = changes.keys().filter_map(|(_, of)| if let Of::Site(site) = of { Some(*site) } else { None });
    let of_sites = site_parts(trace, names, &sites.collect::<Vec<_>>(), cancel)?;
    let mut of_process: BTreeMap<ProcessId, BTreeMap<(PartKind, String), Deltas>> = BTreeMap::new();
    for ((process, of), deltas) in changes {
        let part = match of {
            Of::Range(owner) => range_part(trace, owner, request.joins_heaps),
            Of::Site(site) => of_sites.get(&site).cloned().unwrap_or((PartKind::Untagged, NO_STACK_KEY.to_owned())),
        };
        let sums = of_process.entry(process).or_default().entry(part).or_default();
        deltas.into_iter().for_each(|(place, delta)| *sums.entry(place).or_default() += delta);
    }
    cancel.check()?;
    let mapped = Mapped::of(trace, request);
    let of_process = of_process.into_iter().map(|(process, parts)| ProcessCommit {
        mapped: mapped.as_ref().map(|mapped| mapped.of_process(process)),
        ..process_commit(trace, process, parts, request)
    });
    Ok(of_process.collect())
}

/// Changes of the bytes of a part, by the place of the first moment that sees them.
type Deltas = BTreeMap<usize, i128>;

/// The part of a committed range, before it has a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Of {
    Range(RangeOwner),
    Site(SiteId),
}

/// Returns the changes of each part.
fn changes(
    index: &Index,
    owners: &RangeOwners,
    request: &CommitRequest<'_>,
    cancel: &Cancel,
) -> Result<BTreeMap<(ProcessId, Of), Deltas>, Cancelled> {
    let (trace, moments) = (index.trace(), request.moments);
    let (visit, deaths) = (index.visit(), trace.last_deaths());
    let [first, last] = [moments.first(), moments.last()].map(|at| at.copied().unwrap_or(Ticks::BEFORE_TRACE));
    let new = KeyedMap::<(ProcessId, Of, usize), i128>::default;
    let parts = visit.fold_chunks(&visit.born_before(last), cancel, new, |sums, visited| {
        let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
        visited.each_alive(deaths, first, |i| {
            let heap = trace.heap(trace.site(sites[i]).heap);
            if heap.layer != Layer::Commit || !request.of_process[heap.process.0 as usize] {
                return;
            }
            let birth = chunk.birth(i);
            let alive = places_alive(moments, birth, chunk.death(i));
            if alive.is_empty() {
                return;
            }
            let owner = owners.owner(heap.process, chunk.address(i), birth);
            let of = owner.map_or(Of::Site(sites[i]), Of::Range);
            let size = i128::from(chunk.size(i));
            *sums.entry((heap.process, of, alive.start)).or_default() += size;
            *sums.entry((heap.process, of, alive.end)).or_default() -= size;
        });
    })?;
    let mut all: BTreeMap<(ProcessId, Of), Deltas> = BTreeMap::new();
    for part in parts {
        #[allow(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
        for ((process, of, place), delta) in part {
            *all.entry((process, of)).or_default().entry(place).or_default() += delta;
        }
    }
    Ok(all)
}

/// Returns the part of ranges with an owner.
fn range_part(trace: &Trace, owner: RangeOwner, joins_heaps: bool) -> (PartKind, String) {
    let name = |heap: HeapId, all: &str| match trace.heap(heap).key() {
        Some(key) if !joins_heaps => key,
        _ => all.to_owned(),
    };
    match owner {
        RangeOwner::Heap(heap) => (PartKind::Heap, name(heap, HEAPS)),
        RangeOwner::Tracker(heap) => (PartKind::Tracker, name(heap, "Trackers")),
        RangeOwner::Thread => (PartKind::ThreadStacks, THREAD_STACKS.to_owned()),
    }
}

/// Returns the commit of a process by the changes of its parts.
fn process_commit(
    trace: &Trace,
    process: ProcessId,
    parts: BTreeMap<(PartKind, String), Deltas>,
    request: &CommitRequest<'_>,
) -> ProcessCommit {
    let moments = request.moments;
    let mut ranked: Vec<_> = parts.into_iter().map(|(part, deltas)| (peak(&deltas), part, deltas)).collect();
    // The order of parts with equal peaks is that of their kinds and names.
    ranked.sort_by_key(|(peak, ..)| std::cmp::Reverse(*peak));
    let all = ranked.iter().fold(Deltas::new(), |all, (.., deltas)| sum(all, deltas));
    // A single small part keeps its name.
    let listed = if ranked.len() > request.most { request.most.saturating_sub(1) } else { ranked.len() };
    let rest = ranked.split_off(listed);
    let part =
        |((kind, name), deltas): ((PartKind, String), &Deltas)| CommitPart { kind, name, bytes: levels(deltas, moments.len()) };
    let mut parts: Vec<CommitPart> = ranked.into_iter().map(|(_, key, deltas)| part((key, &deltas))).collect();
    if !rest.is_empty() {
        let small = rest.iter().fold(Deltas::new(), |all, (.., deltas)| sum(all, deltas));
        parts.push(part(((PartKind::Others, OTHERS.to_owned()), &small)));
    }
    let (known, total) = (levels(&all, moments.len()), totals(trace, process, moments));
    ProcessCommit { process, parts, known, total, mapped: None }
}

/// Returns the commit charge of a process that the system sampled last, up to and including each moment; `None` before the first
/// sample and after the process's end.
fn totals(trace: &Trace, process: ProcessId, moments: &[Ticks]) -> Vec<Option<u64>> {
    let is_its = |counter: &&Counter| counter.kind == CounterKind::Commit && counter.process == Some(process);
    let counters: Vec<&Counter> = trace.counters.iter().filter(is_its).collect();
    let last = |counter: &&Counter, at: Ticks| {
        let place = counter.samples.partition_point(|(t, _)| *t <= at).checked_sub(1)?;
        counter.samples.get(place).copied()
    };
    let lives = |at: Ticks| trace.process(process).end.is_none_or(|end| at <= end);
    let total = |at: Ticks| counters.iter().filter(|_| lives(at)).filter_map(|counter| last(counter, at)).max_by_key(|(t, _)| *t);
    moments.iter().map(|at| total(*at).map(|(_, bytes)| bytes)).collect()
}

/// Returns [`totals`] at one moment.
pub(super) fn total_at(trace: &Trace, process: ProcessId, at: Ticks) -> Option<u64> {
    totals(trace, process, &[at])[0]
}

/// Adds changes to others.
fn sum(mut all: Deltas, deltas: &Deltas) -> Deltas {
    deltas.iter().for_each(|(place, delta)| *all.entry(*place).or_default() += delta);
    all
}

/// Returns the highest level.
fn peak(deltas: &Deltas) -> i128 {
    let mut level = 0;
    deltas
        .values()
        .map(|delta| {
            level += delta;
            level
        })
        .max()
        .unwrap_or(0)
}

/// Returns the level at each moment.
fn levels(deltas: &Deltas, count: usize) -> Vec<u64> {
    let mut level = 0;
    let at = |place: usize| {
        level += deltas.get(&place).copied().unwrap_or(0);
        u64::try_from(level).unwrap_or(u64::MAX)
    };
    (0..count).map(at).collect()
}
