//! The output of `highwater functions`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;

use super::butterfly::{Butterfly, FunctionNodes, FunctionPlaces, Neighbour, butterfly_peaks, by_size};
use super::forest::Forest;
use super::paths::Functions;
use super::peaks::function_peaks;
use super::places::{FunctionPlace, places};
use super::sums::{FunctionSums, function_sums};
use super::table::FunctionId;
use crate::model::{ProcessId, Trace};
use crate::names::Names;
use crate::query::{Cancel, Cancelled, FrameAddress, GroupNumbers, Index, Mask, SourceLine, Totals};
use crate::tables::KeyedSet;
use crate::units::Layer;

/// A query for functions.
#[derive(Clone, Debug)]
pub struct FunctionsRequest {
    /// The rows to count.
    pub mask: Mask,
    /// A function whose callers and callees are returned, too; it is always part of the answer.
    pub of: Option<String>,
    /// Largest number of other functions.
    pub top: Option<usize>,
}

/// One function in a process and layer.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct FunctionGroup {
    pub process: String,
    pub pid: u32,
    pub process_start_s: Option<f64>,
    pub layer: &'static str,
    pub function: String,
    /// Line of the call in it that holds most bytes.
    pub source: Option<SourceLine>,
    /// Where it calls from, if that is one address.
    pub address: Option<FrameAddress>,
    #[serde(rename = "self")]
    pub own: GroupNumbers,
    pub total: GroupNumbers,
    /// Only for the requested function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callers: Option<Vec<NeighbourGroup>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callees: Option<Vec<NeighbourGroup>>,
}

/// A caller or callee.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct NeighbourGroup {
    pub function: Option<String>,
    #[serde(flatten)]
    pub numbers: GroupNumbers,
}

/// Returns functions by |total impacting size|, then total size, both falling, then by name and process; process
/// instances that nothing else distinguishes keep their order. Also returns the number of all functions. Cost: their
/// sums, a sweep for the peaks of the listed ones, and one for callers and callees.
pub fn functions(
    (index, names): (&Index, &Names),
    functions: &Functions,
    totals: &Totals,
    request: &FunctionsRequest,
    cancel: &Cancel,
) -> Result<(Vec<FunctionGroup>, usize), Cancelled> {
    let (trace, mask) = (index.trace(), &request.mask);
    let mut sums = function_sums(trace, functions, totals, mask, cancel)?;
    sums.sort_by(|a, b| compare(trace, functions, a, b));
    let all = sums.len();
    let of = request.of.as_deref().map(|name| functions.called(name)).unwrap_or_default();
    let of: KeyedSet<FunctionId> = of.into_iter().collect();
    let mut place = 0..request.top.unwrap_or(all);
    sums.retain(|sums| place.next().is_some() || of.contains(&sums.function));
    let peaks = function_peaks(index, functions, totals, mask, &sums, cancel)?;
    let places = places((trace, names), functions, (totals, mask), &sums, cancel)?;
    let groups = sums.iter().zip(peaks).zip(places);
    let mut groups: Vec<FunctionGroup> =
        groups.map(|((sums, peaks), place)| group(trace, functions, sums, peaks, place)).collect();
    let found = butterflies(trace, functions, (totals, mask), &of, &sums, cancel)?;
    let both: Vec<&Butterfly> = found.iter().map(|(_, both)| both).collect();
    let peaks = butterfly_peaks(&both, index, totals, mask, cancel)?;
    for ((at, both), [callers, callees]) in found.iter().zip(peaks) {
        groups[*at].callers = Some(neighbours(functions, &both.callers, &callers));
        groups[*at].callees = Some(neighbours(functions, &both.callees, &callees));
    }
    Ok((groups, all))
}

/// Returns the callers and callees of the requested functions, each with the function's index in `sums`.
fn butterflies(
    trace: &Trace,
    functions: &Functions,
    (totals, mask): (&Totals, &Mask),
    of: &KeyedSet<FunctionId>,
    sums: &[FunctionSums],
    cancel: &Cancel,
) -> Result<Vec<(usize, Butterfly)>, Cancelled> {
    let mut places: BTreeMap<(FunctionId, Layer), Vec<(usize, ProcessId)>> = BTreeMap::new();
    for (at, sums) in sums.iter().enumerate().filter(|(_, sums)| of.contains(&sums.function)) {
        places.entry((sums.function, sums.layer)).or_default().push((at, sums.process));
    }
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let forest = Forest::top_down(functions);
    let nodes = FunctionNodes::of(&forest, of);
    let mut out = Vec::new();
    for ((function, layer), processes) in places {
        let found = FunctionPlaces::of(trace, &nodes, (totals, mask), function, layer, cancel)?;
        let mut found = found.butterflies(functions);
        out.extend(processes.into_iter().map(|(at, process)| (at, found.remove(&process).unwrap_or_default())));
    }
    Ok(out)
}

fn compare(trace: &Trace, functions: &Functions, a: &FunctionSums, b: &FunctionSums) -> Ordering {
    let name = |sums: &FunctionSums| functions.name(sums.function);
    let process = |sums: &FunctionSums| {
        let process = trace.process(sums.process);
        (process.label(), process.pid, process.start, sums.layer.name(), sums.process)
    };
    let by_size = by_size(&a.total).cmp(&by_size(&b.total));
    by_size.then_with(|| name(a).cmp(&name(b))).then_with(|| process(a).cmp(&process(b)))
}

fn group(
    trace: &Trace,
    functions: &Functions,
    sums: &FunctionSums,
    (own, total): (u64, u64),
    place: FunctionPlace,
) -> FunctionGroup {
    let process = trace.process(sums.process);
    FunctionGroup {
        process: process.label(),
        pid: process.pid.0,
        process_start_s: process.start.map(|at| trace.clock.seconds(at)),
        layer: sums.layer.name(),
        function: functions.name(sums.function).to_string(),
        source: place.source,
        address: place.address,
        own: GroupNumbers::new(&sums.own, own),
        total: GroupNumbers::new(&sums.total, total),
        callers: None,
        callees: None,
    }
}

fn neighbours(functions: &Functions, list: &[Neighbour], peaks: &[u64]) -> Vec<NeighbourGroup> {
    let name = |neighbour: &Neighbour| neighbour.function.map(|function| functions.name(function).to_string());
    let group = |(neighbour, &peak): (&Neighbour, &u64)| NeighbourGroup {
        function: name(neighbour),
        numbers: GroupNumbers::new(&neighbour.sums, peak),
    };
    list.iter().zip(peaks).map(group).collect()
}
