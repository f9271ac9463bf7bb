//! Functions as `highwater functions` prints them.

use std::cmp::Ordering;

use serde::Serialize;

use super::butterfly::{FunctionPlaces, Neighbour, by_size};
use super::forest::Forest;
use super::paths::Functions;
use super::peaks::function_peaks;
use super::sums::{FunctionSums, function_sums};
use crate::model::Trace;
use crate::query::{Cancel, Cancelled, GroupNumbers, Index, Mask, Totals};

/// What is asked of some totals.
#[derive(Clone, Debug)]
pub struct FunctionsRequest {
    /// Which rows.
    pub mask: Mask,
    /// Function whose callers and callees are told as well; it is always among the answer.
    pub of: Option<String>,
    /// At most so many others.
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
    #[serde(rename = "self")]
    pub own: GroupNumbers,
    pub total: GroupNumbers,
    /// Of the function that was asked for only.
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

/// The functions by |total impacting size|, then total size, both falling, then by name and
/// process, lives of one that nothing else tells apart as they came; and how many there are. Cost: their sums, and the peaks of those that are listed.
pub fn functions(
    index: &Index,
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
    let mut place = 0..request.top.unwrap_or(all);
    sums.retain(|sums| place.next().is_some() || of.contains(&sums.function));
    let peaks = function_peaks(index, functions, totals, mask, &sums, cancel)?;
    let forest = (!of.is_empty()).then(|| Forest::top_down(functions));
    let groups = sums.iter().zip(peaks).map(|(sums, peaks)| {
        let mut group = group(trace, functions, sums, peaks);
        if let Some(forest) = forest.as_ref().filter(|_| of.contains(&sums.function)) {
            let places = FunctionPlaces::of(trace, forest, (totals, mask), sums.function, sums.layer, cancel)?;
            let butterfly = places.butterfly(functions, sums.process);
            let [callers, callees] = butterfly.peaks(index, totals, mask, cancel)?;
            group.callers = Some(neighbours(functions, &butterfly.callers, &callers));
            group.callees = Some(neighbours(functions, &butterfly.callees, &callees));
        }
        Ok(group)
    });
    Ok((groups.collect::<Result<_, _>>()?, all))
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

fn group(trace: &Trace, functions: &Functions, sums: &FunctionSums, (own, total): (u64, u64)) -> FunctionGroup {
    let process = trace.process(sums.process);
    FunctionGroup {
        process: process.label(),
        pid: process.pid.0,
        process_start_s: process.start.map(|at| trace.clock.seconds(at)),
        layer: sums.layer.name(),
        function: functions.name(sums.function).to_string(),
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
