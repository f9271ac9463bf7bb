//! The butterfly, as the worker computes it: for one function in one process. Unless the user chose a process,
//! it is the one with the largest numbers of the function. Cost: a look at the nodes of the forest, and the
//! sites below those of the function.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::app::jobs::{ForestKind, QueryContext};
use crate::model::{ProcessId, Trace};
use crate::query::{Butterfly, Cancelled, FunctionNodes, FunctionPlaces, FunctionSums, Functions, Numbers};
use crate::units::{Layer, Pid, Ticks};

/// The identity of a process, which stays the same in every publication of a trace: its id and start time.
pub type ProcessLife = (Pid, Option<Ticks>);

/// The part of the request that the butterfly depends on.
pub struct Asked<'a> {
    pub middle: Option<&'a Arc<str>>,
    pub process: Option<ProcessLife>,
    pub layer: Layer,
}

/// A function with its callers and callees.
pub struct Butterflied {
    pub name: Arc<str>,
    /// `None` if the function does not occur in this layer and interval.
    pub sides: Option<Sides>,
}

impl Butterflied {
    /// Bytes that it takes, roughly.
    pub fn bytes(&self) -> usize {
        let sides = |sides: &Sides| size_of_val(&sides.both.callers[..]) + size_of_val(&sides.both.callees[..]);
        self.sides.as_ref().map_or(0, sides)
    }
}

/// The callers and callees of a function in one process.
pub struct Sides {
    /// Processes in which the function occurs, the one with the largest numbers first.
    pub processes: Vec<(ProcessLife, String)>,
    /// The process that is shown.
    pub process: ProcessLife,
    pub own: Numbers,
    pub total: Numbers,
    pub both: Butterfly,
}

/// The butterfly of the requested function, if one is requested.
pub fn of(asked: &Asked<'_>, functions: &Functions, query: &mut QueryContext<'_>) -> Result<Option<Butterflied>, Cancelled> {
    let Some(name) = asked.middle else { return Ok(None) };
    let (totals, forest) = (&*query.totals()?, query.forest(ForestKind::TopDown)?);
    let (trace, mask, cancel) = (&**query.trace(), &*query.mask, query.cancel);
    let called = functions.called(name);
    let nodes = FunctionNodes::of(&forest, &called.iter().copied().collect());
    let of = |function| FunctionPlaces::of(trace, &nodes, (totals, mask), function, asked.layer, cancel);
    let places = called.into_iter().map(of);
    let places: Vec<FunctionPlaces<'_>> = places.collect::<Result<_, _>>()?;
    let mut sums: Vec<(FunctionSums, &FunctionPlaces<'_>)> =
        places.iter().flat_map(|places| places.sums().into_iter().map(move |sums| (sums, places))).collect();
    sums.sort_by_key(|(sums, _)| {
        let total = sums.total.numbers();
        (Reverse((total.impacting.unsigned_abs(), total.size)), sums.process)
    });
    let chosen = sums.iter().find(|(sums, _)| Some(life(trace, sums.process)) == asked.process).or(sums.first());
    let sides = chosen.map(|(chosen, places)| Sides {
        processes: sums
            .iter()
            .map(|(sums, _)| (life(trace, sums.process), trace.process(sums.process).label_with_id()))
            .collect(),
        process: life(trace, chosen.process),
        own: chosen.own.numbers(),
        total: chosen.total.numbers(),
        both: places.butterfly(functions, chosen.process),
    });
    Ok(Some(Butterflied { name: Arc::clone(name), sides }))
}

fn life(trace: &Trace, process: ProcessId) -> ProcessLife {
    let process = trace.process(process);
    (process.pid, process.start)
}
