//! Scopes, each and by name, with the bytes that their threads allocated in them.
//!
//! A scope is a mark that lasts and that a thread of a known process wrote (PIX's scopes, UIforETW's); collections are none. Only
//! blocks that the scope's own thread allocated in it count, those of scopes inside it too. Scopes of one name on one thread that
//! are inside each other or overlap count once, so a name's sums never contain a block or a moment twice. Layers nest, so sums
//! are for one layer.
//!
//! Cost: a sort of the scopes, one parallel scan of the rows with a look-up of the thread and a binary search for each birth on a
//! thread with scopes, and 16 bytes per edge of a scope and worker. At most the first [`MOST_SCOPES`] scopes are used.

use std::cmp::Reverse;
use std::sync::Arc;

use serde::Serialize;

use crate::events::class;
use crate::model::{Mark, ProcessId, Trace};
use crate::query::{Cancel, Cancelled, Index, LifetimeClass, Mask};
use crate::tables::KeyedMap;
use crate::units::{Interval, Layer, Ticks, Tid};

/// Largest number of scopes in one query.
pub const MOST_SCOPES: usize = 1 << 18;

/// A query for the memory of scopes.
#[derive(Clone, Debug)]
pub struct ScopeRequest<'a> {
    /// The scopes that overlap this interval, of which only their parts in it count.
    pub interval: Interval,
    /// The process that wrote them, by name or id; `None` for all.
    pub process: Option<&'a str>,
    /// The layer.
    pub layer: Layer,
    /// The rows to count.
    pub mask: &'a Mask,
}

/// Scopes of one name in one process.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct ScopeEntry {
    pub scope: String,
    pub provider: String,
    pub process: String,
    pub pid: u32,
    pub process_start_s: Option<f64>,
    /// Number of scopes, in the interval or in part.
    pub count: u64,
    /// Time in them, of all threads together.
    pub length_s: f64,
    pub allocated_count: u64,
    pub allocated_size: u64,
}

/// Allocations of a scope's own thread in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ScopeSums {
    /// Number of blocks.
    pub allocated_count: u64,
    /// Bytes of those blocks.
    pub allocated_size: u64,
}

impl ScopeSums {
    fn add(&mut self, count: u64, size: u64) {
        self.allocated_count += count;
        self.allocated_size = self.allocated_size.saturating_add(size);
    }
}

/// Returns the process of a mark that is a scope.
fn process_of_scope(trace: &Trace, mark: &Mark) -> Option<ProcessId> {
    let is_scope = mark.from < mark.to && mark.tid.is_known() && trace.activity.marks.provider(mark).guid != class::CLR;
    mark.process.filter(|_| is_scope)
}

/// Returns the number of scopes that a query asks for.
pub fn scope_count(trace: &Trace, interval: Interval, process: Option<&str>) -> usize {
    scopes(trace, interval, process).count()
}

fn scopes<'t>(trace: &'t Trace, interval: Interval, process: Option<&str>) -> impl Iterator<Item = (ProcessId, &'t Mark)> {
    let is_meant: Vec<bool> = trace.processes.iter().map(|known| process.is_none_or(|wanted| known.is_called(wanted))).collect();
    let is_seen = move |mark: &&Mark| mark.from < interval.to && mark.to > interval.from;
    let seen = trace.activity.marks.list.iter().filter(is_seen);
    seen.filter_map(|mark| Some((process_of_scope(trace, mark)?, mark))).filter(move |(process, _)| is_meant[process.0 as usize])
}

/// A name of scopes: process, provider and text.
type Name = (ProcessId, u16, Arc<str>);

/// A part of a thread's time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    /// Number of the thread in [`Threads::lanes`].
    lane: usize,
    from: Ticks,
    to: Ticks,
}

/// Blocks and bytes before an edge; the sizes of a hostile trace do not overflow.
#[derive(Clone, Copy, Default)]
struct Before {
    count: u64,
    size: u128,
}

/// A thread with scopes.
#[derive(Default)]
struct Lane {
    /// Edges of its scopes, each once.
    edges: Vec<Ticks>,
    /// Place of the first edge among those of all lanes.
    first: usize,
}

impl Lane {
    /// Returns the place of an edge among those of all lanes.
    fn place(&self, edge: Ticks) -> usize {
        self.first + self.edges.partition_point(|&other| other < edge)
    }

    /// Returns the place of the last edge at or before a moment.
    fn place_before(&self, at: Ticks) -> Option<usize> {
        Some(self.first + self.edges.partition_point(|&edge| edge <= at).checked_sub(1)?)
    }
}

/// The threads with scopes.
#[derive(Default)]
struct Threads {
    lanes: Vec<Lane>,
    places: KeyedMap<(ProcessId, Tid), usize>,
}

impl Threads {
    /// Adds a scope, or a part of one.
    fn add(&mut self, process: ProcessId, tid: Tid, from: Ticks, to: Ticks) -> Part {
        let lane = *self.places.entry((process, tid)).or_insert(self.lanes.len());
        if lane == self.lanes.len() {
            self.lanes.push(Lane::default());
        }
        self.lanes[lane].edges.extend([from, to]);
        Part { lane, from, to }
    }

    /// Sums the allocations of the threads in all parts of an interval.
    fn summed(mut self, index: &Index, of: &RowsOf<'_>, cancel: &Cancel) -> Result<Summed, Cancelled> {
        let mut edges = 0;
        for lane in &mut self.lanes {
            lane.edges.sort_unstable();
            lane.edges.dedup();
            lane.first = edges;
            edges += lane.edges.len();
        }
        let mut sum = Before::default();
        let add = |behind: ScopeSums| {
            let before = sum;
            sum = Before { count: sum.count + behind.allocated_count, size: sum.size + u128::from(behind.allocated_size) };
            before
        };
        let before = self.sums_behind(index, of, edges, cancel)?.into_iter().map(add).collect();
        Ok(Summed { lanes: self.lanes, before })
    }

    /// Sums the allocations behind each edge, up to the next one of its lane.
    fn sums_behind(&self, index: &Index, of: &RowsOf<'_>, edges: usize, cancel: &Cancel) -> Result<Vec<ScopeSums>, Cancelled> {
        let trace = index.trace();
        let mut has_scopes = vec![false; trace.processes.len()];
        self.places.keys().for_each(|(process, _)| has_scopes[process.0 as usize] = true);
        let meant = |site| {
            let process = trace.process_of(site);
            (trace.layer_of(site) == of.layer && has_scopes[process.0 as usize]).then_some(process)
        };
        let process_of: Vec<Option<ProcessId>> = trace.sites.iter().map(meant).collect();
        let parts = index.fold(
            cancel,
            || vec![ScopeSums::default(); edges],
            |sums, visited| {
                let (chunk, sites) = (visited.chunk, visited.chunk.sites());
                visited.each_in(of.interval, |at, class| {
                    let Some(process) = process_of[sites[at].0 as usize] else { return };
                    let is_born = matches!(class, LifetimeClass::Aifi | LifetimeClass::Aifo);
                    if !is_born || !of.mask.has(sites[at], class) {
                        return;
                    }
                    let Some(&lane) = self.places.get(&(process, chunk.thread(at))) else { return };
                    let Some(place) = self.lanes[lane].place_before(chunk.birth(at)) else { return };
                    sums[place].add(1, chunk.size(at));
                });
            },
        )?;
        let mut all = vec![ScopeSums::default(); edges];
        for part in &parts {
            all.iter_mut().zip(part).for_each(|(sum, part)| sum.add(part.allocated_count, part.allocated_size));
        }
        Ok(all)
    }
}

/// Rows of an interval.
struct RowsOf<'a> {
    interval: Interval,
    layer: Layer,
    mask: &'a Mask,
}

/// Allocations of threads, summed from edge to edge.
struct Summed {
    lanes: Vec<Lane>,
    /// For each edge of each lane, the sum of all parts before it.
    before: Vec<Before>,
}

impl Summed {
    /// Sums parts between edges; the parts do not overlap.
    fn of(&self, parts: impl IntoIterator<Item = Part>) -> ScopeSums {
        let mut sum = ScopeSums::default();
        for Part { lane, from, to } in parts {
            let [from, to] = [from, to].map(|edge| self.before[self.lanes[lane].place(edge)]);
            sum.add(to.count - from.count, u64::try_from(to.size - from.size).unwrap_or(u64::MAX));
        }
        sum
    }
}

/// Returns the allocations in the scopes among some marks, given as indices into [`Marks::list`](crate::model::Marks): `None`
/// for a mark that is no scope, and for scopes beyond [`MOST_SCOPES`].
pub fn each_scope(
    index: &Index,
    marks: &[u32],
    layer: Layer,
    mask: &Mask,
    cancel: &Cancel,
) -> Result<Vec<Option<ScopeSums>>, Cancelled> {
    let trace = index.trace();
    let mut threads = Threads::default();
    let mut most = MOST_SCOPES;
    let mut part_of = |&place: &u32| {
        let mark = trace.activity.marks.list.get(place as usize)?;
        let process = process_of_scope(trace, mark)?;
        most = most.checked_sub(1)?;
        Some(threads.add(process, mark.tid, mark.from, mark.to))
    };
    let parts: Vec<Option<Part>> = marks.iter().map(&mut part_of).collect();
    let known = || parts.iter().flatten();
    let Some((from, to)) = known().map(|part| part.from).min().zip(known().map(|part| part.to).max()) else {
        return Ok(vec![None; marks.len()]);
    };
    let sums = threads.summed(index, &RowsOf { interval: Interval { from, to }, layer, mask }, cancel)?;
    Ok(parts.into_iter().map(|part| part.map(|part| sums.of([part]))).collect())
}

/// Returns the scopes of an interval by name and process, those with most allocated bytes first.
pub fn scope_sums(index: &Index, request: &ScopeRequest<'_>, cancel: &Cancel) -> Result<Vec<ScopeEntry>, Cancelled> {
    let trace = index.trace();
    let &ScopeRequest { interval, process, layer, mask } = request;
    let mut threads = Threads::default();
    let mut names: KeyedMap<Name, Vec<Part>> = KeyedMap::default();
    for (process, mark) in scopes(trace, interval, process).take(MOST_SCOPES) {
        let part = threads.add(process, mark.tid, mark.from.max(interval.from), mark.to.min(interval.to));
        names.entry((process, mark.provider, Arc::clone(&mark.text))).or_default().push(part);
    }
    cancel.check()?;
    let sums = threads.summed(index, &RowsOf { interval, layer, mask }, cancel)?;
    let entry = |((process, provider, name), mut parts): (Name, Vec<Part>)| {
        let count = parts.len() as u64;
        parts.sort_unstable();
        let parts = apart(parts);
        let ScopeSums { allocated_count, allocated_size } = sums.of(parts.iter().copied());
        let known = trace.process(process);
        ScopeEntry {
            scope: name.to_string(),
            provider: trace.activity.marks.providers.get(usize::from(provider)).map(|of| of.label()).unwrap_or_default(),
            process: known.label(),
            pid: known.pid.0,
            process_start_s: known.start.map(|at| trace.clock.seconds(at)),
            count,
            length_s: trace.clock.seconds(Ticks(parts.iter().map(|part| part.to.0 - part.from.0).sum())),
            allocated_count,
            allocated_size,
        }
    };
    let mut all: Vec<ScopeEntry> = names.into_iter().map(entry).collect();
    all.sort_by(|a, b| {
        let key = |of: &ScopeEntry| (Reverse(of.allocated_size), Reverse(of.allocated_count), of.pid);
        key(a).cmp(&key(b)).then_with(|| a.scope.cmp(&b.scope)).then_with(|| a.provider.cmp(&b.provider))
    });
    Ok(all)
}

/// Joins sorted parts of one lane that overlap or touch.
fn apart(parts: Vec<Part>) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::new();
    for part in parts {
        match out.last_mut() {
            Some(last) if last.lane == part.lane && part.from <= last.to => last.to = last.to.max(part.to),
            _ => out.push(part),
        }
    }
    out
}
