//! Measures the window's views for random intervals: their elapsed time and their CPU time, which says more if other
//! programs use the processors too.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::asking::{BINS, interval, milliseconds};
use crate::model::ProcessId;
use crate::query::{
    AddressSpace, Bounds, By, Cancel, Cancelled, CommonGroups, DiffSide, FlameWeight, FlameWeights, Fold, Forest, FunctionNodes,
    FunctionPlaces, Functions, GenerationsRequest, Index, MapRequest, Mask, RowChoice, RowCondition, RowSort, SeriesOf, Sort,
    Types, address_map, call_tree, coarse_series, findings, flame_boxes, function_sums, generations, histogram, rows, series,
    totals,
};
use crate::random::Random;
use crate::symbols::Names;
use crate::tables::KeyedSet;
use crate::units::{Interval, Layer, Ticks};

/// Measurements of each view, by the name of the question.
pub(super) type Views = BTreeMap<&'static str, Vec<Took>>;

/// The cost of one answer, in milliseconds.
#[derive(Serialize)]
pub(super) struct Took {
    /// Elapsed time from the question to the answer.
    ms: f64,
    /// CPU time of all processors together, if the system reports it (Linux).
    processors_ms: Option<f64>,
}

/// Maximum rows in the table of allocations.
const ROWS: usize = 1_000_000;

/// Number of generations in an interval.
const GENERATIONS: i64 = 8;

/// Maximum cells of an address space map.
const CELLS: usize = 8192;

/// Maximum groups of a comparison.
const COMPARED: usize = 1000;

/// Asks each view `count` times. Views begin with the totals, so each measurement includes them.
pub(super) fn ask(index: &Index, count: usize, random: &mut Random, cancel: &Cancel) -> Result<Views, Cancelled> {
    let mut views = Views::new();
    once(index, &mut views, cancel)?;
    let trace = index.trace();
    let mask = Mask::all(trace);
    let names = Names::default();
    let functions = Arc::new(Functions::of(trace, &names, Fold::Foreign, cancel)?);
    let forests = [
        ("top-down", Forest::top_down(&functions)),
        ("bottom-up", Forest::inverted(&functions, cancel)?),
        ("by function", Forest::by_function(&functions)),
        ("by module", Forest::by_module(&functions)),
    ];
    let layer = trace.heaps.first().map_or(Layer::Heap, |heap| heap.layer);
    let process = trace.heaps.first().map_or(ProcessId(0), |heap| heap.process);
    let types = timed(&mut views, "types, once", || Types::of(trace, &names, cancel))?;
    let all = function_sums(trace, &functions, &totals(index, trace.span, cancel)?, &mask, cancel)?;
    // The largest function, which nearly everything lies below.
    let of = all.iter().filter(|of| of.layer == layer).max_by_key(|of| of.total.numbers().size).map(|of| of.function);
    let side = |interval| DiffSide { index, interval, mask: &mask, names: &names, functions: Some(&functions), totals: None };
    let groups =
        timed(&mut views, "compare, once", || CommonGroups::of(&[side(trace.span); 2], &[By::Function], Fold::Foreign, cancel))?;
    for _ in 0..count {
        let interval = interval(trace, random);
        timed(&mut views, "totals", || totals(index, interval, cancel))?;
        for (name, forest) in &forests {
            timed(&mut views, name, || {
                let sums = totals(index, interval, cancel)?;
                let sums = forest.sums(trace, &sums, &mask, layer);
                call_tree(&functions, &sums, Sort::default(), &Default::default(), true, cancel)
            })?;
        }
        let [(_, top_down), (_, inverted), ..] = &forests;
        for (name, forest) in [("flame graph", top_down), ("flame graph, bottom-up", inverted)] {
            timed(&mut views, name, || {
                let sums = totals(index, interval, cancel)?;
                let weights = FlameWeights::new(forest, trace, &sums, &mask, layer, FlameWeight::Size);
                Ok(flame_boxes(&weights, 0, |_| false))
            })?;
        }
        if let Some(of) = of {
            timed(&mut views, "butterfly", || {
                let sums = totals(index, interval, cancel)?;
                let places = FunctionPlaces::of(
                    trace,
                    &FunctionNodes::of(top_down, &KeyedSet::from_iter([of])),
                    (&sums, &mask),
                    of,
                    layer,
                    cancel,
                )?;
                Ok(places.sums().first().map(|sums| places.butterfly(&functions, sums.process)))
            })?;
        }
        timed(&mut views, "types", || Ok(types.groups(&totals(index, interval, cancel)?, &mask, Sort::default())))?;
        let halves = [(interval.from, middle(interval)), (middle(interval), interval.to)];
        let sides = halves.map(|(from, to)| side(Interval { from, to }));
        let start = Start::now();
        groups.compare(sides, Some(COMPARED), |_| start.note(&mut views, "compare, both parts new"), cancel)?;
        start.note(&mut views, "compare, with peaks");
        let known = Arc::new(totals(index, sides[0].interval, cancel)?);
        let sides = [DiffSide { totals: Some(&known), ..sides[0] }, sides[1]];
        let (start, enough) = (Start::now(), Cancel::default());
        let _ = groups.compare(
            sides,
            Some(COMPARED),
            |_| {
                start.note(&mut views, "compare");
                enough.cancel(); // the peaks are measured above
            },
            &enough,
        );
        timed(&mut views, "allocations", || rows(index, interval, &mask, RowSort::default(), ROWS, cancel))?;
        timed(&mut views, "histograms", || histogram(index, interval, &mask, layer, cancel))?;
        let step = (interval.len() / GENERATIONS).max(1);
        let edges = (0..=GENERATIONS).map(|i| Ticks(interval.from.0 + i * step)).collect();
        let request = GenerationsRequest { edges, end: Ticks(interval.from.0 + GENERATIONS * step), layer };
        timed(&mut views, "generations", || generations(index, &request, &mask, &functions, cancel))?;
        timed(&mut views, "address space", || {
            let space = AddressSpace::at(index, &mask, (process, interval.to), cancel)?;
            let group_of = |site| trace.site(site).heap.0;
            let request = MapRequest { range: (0, u64::MAX), most: CELLS, cell: None, group_of: &group_of };
            address_map(&space, &request, cancel)
        })?;
        let small = RowChoice { all: vec![RowCondition::Size(Bounds { from: None, to: Some(64) })] };
        let chosen = timed(&mut views, "rows of a size, chosen", || small.rows(trace, cancel))?;
        let chosen = index.choosing(chosen);
        let sums = timed(&mut views, "rows of a size, totals", || totals(&chosen, interval, cancel))?;
        let of = SeriesOf::new(trace, 1, |_| Some(0));
        timed(&mut views, "rows of a size, coarse graph", || coarse_series(&chosen, &sums, &of, BINS, cancel))?;
        timed(&mut views, "rows of a size, first graph", || series(&chosen, &sums, &of, BINS, cancel))?;
        let next = totals(&chosen, Interval::new(interval.from, middle(interval)), cancel)?;
        timed(&mut views, "rows of a size, graph", || series(&chosen, &next, &of, BINS, cancel))?;
        timed(&mut views, "rows of a size, top-down", || {
            let sums = totals(&chosen, interval, cancel)?;
            let sums = top_down.sums(trace, &sums, &mask, layer);
            call_tree(&functions, &sums, Sort::default(), &Default::default(), true, cancel)
        })?;
    }
    Ok(views)
}

/// Measures what is computed once per trace, or once per state of the names.
fn once(index: &Index, views: &mut Views, cancel: &Cancel) -> Result<(), Cancelled> {
    let (trace, names) = (index.trace(), Names::default());
    let functions = timed(views, "functions, once", || Functions::of(trace, &names, Fold::Foreign, cancel))?;
    timed(views, "top-down, once", || Ok(Forest::top_down(&functions)))?;
    timed(views, "bottom-up, once", || Forest::inverted(&functions, cancel))?;
    timed(views, "findings, once", || findings(index, trace.span, &Mask::all(trace), &names, cancel))?;
    Ok(())
}

fn middle(interval: Interval) -> Ticks {
    Ticks(interval.from.0 + interval.len() / 2)
}

fn timed<T>(views: &mut Views, name: &'static str, ask: impl FnOnce() -> Result<T, Cancelled>) -> Result<T, Cancelled> {
    let start = Start::now();
    let answer = ask()?;
    start.note(views, name);
    Ok(answer)
}

/// The start of a measurement.
#[derive(Clone, Copy)]
struct Start {
    at: Instant,
    processors: Option<u64>,
}

impl Start {
    fn now() -> Self {
        Self { processors: processor_time(), at: Instant::now() }
    }

    fn note(self, views: &mut Views, name: &'static str) {
        let ms = milliseconds(self.at);
        let processors_ms =
            processor_time().zip(self.processors).map(|(after, before)| after.saturating_sub(before) as f64 / 1e6);
        views.entry(name).or_default().push(Took { ms, processors_ms });
    }
}

/// CPU time of all threads of this process so far, in nanoseconds.
fn processor_time() -> Option<u64> {
    // The kernel updates the CPU time of a thread when the thread leaves its processor.
    std::thread::yield_now();
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let of_thread = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(threads.filter_map(|thread| of_thread(thread.ok()?)).sum())
}
