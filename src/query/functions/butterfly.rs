//! Who calls a function, and what it calls, in one process and layer: each row under the
//! frame before its outermost place and under the one after its innermost place, so that
//! both lists add up to its total.
//!
//! Cost: a look at the nodes of a forest for those of the function; then the sites under
//! them, parallel. Others are not looked at.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use super::forest::{Forest, NodeKey};
use super::paths::Functions;
use super::sums::FunctionSums;
use super::table::FunctionId;
use crate::model::{HeapId, ProcessId, SiteId, Trace};
use crate::query::nest::NOBODY;
use crate::query::peaks::line_peaks;
use crate::query::{ByClass, Cancel, Cancelled, Index, LifetimeClass, Mask, Totals};
use crate::units::Layer;

/// A caller or a callee.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// Which; `None` where the stack begins with the function, or ends.
    pub function: Option<FunctionId>,
    /// What the function comes to with it.
    pub sums: ByClass,
}

/// A function between its callers and what it calls; both by |impacting size|, then size,
/// both falling, then by name.
#[derive(Clone, Debug, Default)]
pub struct Butterfly {
    /// Of the frame before its outermost place.
    pub callers: Vec<Neighbour>,
    /// Of the frame after its innermost place.
    pub callees: Vec<Neighbour>,
    /// Sites whose stack has it, with places in both lists.
    sites: Vec<(SiteId, u32, u32)>,
}

/// Sites in whose stacks the function has one caller and one callee.
struct Piece {
    /// By place in the forest.
    sites: Range<usize>,
    caller: Option<FunctionId>,
    /// `None`: the stacks end with the function.
    callee: Option<FunctionId>,
}

/// Where a function is, and what it comes to there in each process, in one layer.
pub struct FunctionPlaces<'a> {
    trace: &'a Trace,
    forest: &'a Forest,
    function: FunctionId,
    layer: Layer,
    pieces: Vec<Piece>,
    /// By piece and process, in the order of pieces, what is not nothing.
    sums: Vec<(u32, ProcessId, ByClass)>,
}

/// Sites that one worker adds up at a time.
const GRAIN: usize = 1 << 11;

/// Nodes that one worker looks at, at least.
const NODES: usize = 1 << 14;

impl<'a> FunctionPlaces<'a> {
    /// Of a forest whose callers are outside.
    pub fn of(
        trace: &'a Trace,
        forest: &'a Forest,
        (totals, mask): (&Totals, &Mask),
        function: FunctionId,
        layer: Layer,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let pieces = pieces(forest, function, cancel)?;
        let is_in_layer: Vec<bool> = trace.heaps.iter().map(|heap| heap.layer == layer).collect();
        let parts = (0..).zip(&pieces).flat_map(|(i, piece)| {
            let starts = piece.sites.clone().step_by(GRAIN);
            starts.map(move |start| (i, start..(start + GRAIN).min(piece.sites.end)))
        });
        let sums = |(piece, places): (u32, Range<usize>)| {
            let mut sums: Vec<(u32, ProcessId, ByClass)> = Vec::new();
            for place in places {
                let (site, heap) = (forest.sites()[place], forest.heap_at(place));
                let classes = mask.classes(site);
                if classes == 0 || !is_in_layer[heap.0 as usize] {
                    continue;
                }
                let buckets = totals.of(site).only(classes);
                if buckets.is_empty() {
                    continue;
                }
                let process = trace.heap(heap).process;
                match sums.iter_mut().find(|(_, of, _)| *of == process) {
                    Some((.., sums)) => sums.add(&buckets),
                    None => sums.push((piece, process, buckets)),
                }
            }
            sums
        };
        let parts: Vec<(u32, Range<usize>)> = parts.collect();
        cancel.check()?;
        let sums = parts.into_par_iter().flat_map_iter(sums).collect();
        cancel.check()?;
        Ok(Self { trace, forest, function, layer, pieces, sums })
    }

    /// What the function comes to in each process in which it is.
    pub fn sums(&self) -> Vec<FunctionSums> {
        let mut by_process: BTreeMap<ProcessId, FunctionSums> = BTreeMap::new();
        for (piece, process, sums) in &self.sums {
            let (none, process) = (ByClass::default(), *process);
            let new = FunctionSums { process, layer: self.layer, function: self.function, own: none, total: none };
            let of = by_process.entry(process).or_insert(new);
            of.total.add(sums);
            if self.pieces[*piece as usize].callee.is_none() {
                of.own.add(sums);
            }
        }
        by_process.into_values().collect()
    }

    /// Its callers and callees in a process.
    pub fn butterfly(&self, functions: &Functions, process: ProcessId) -> Butterfly {
        let (mut callers, mut callees) = (List::default(), List::default());
        let mut found: Vec<(u32, u32, u32)> = Vec::new();
        for (i, _, sums) in self.sums.iter().filter(|(_, of, _)| *of == process) {
            let piece = &self.pieces[*i as usize];
            found.push((*i, callers.add(piece.caller, sums), callees.add(piece.callee, sums)));
        }
        found.dedup();
        let (callers, new_callers) = callers.sorted(functions);
        let (callees, new_callees) = callees.sorted(functions);
        let is_its = |heap: HeapId| {
            let heap = self.trace.heap(heap);
            (heap.process, heap.layer) == (process, self.layer)
        };
        let sites = found.into_iter().flat_map(|(piece, caller, callee)| {
            let (caller, callee) = (new_callers[caller as usize], new_callees[callee as usize]);
            let places = self.pieces[piece as usize].sites.clone();
            let its = places.filter(|&place| is_its(self.forest.heap_at(place)));
            its.map(move |place| (self.forest.sites()[place], caller, callee))
        });
        Butterfly { sites: sites.collect(), callers, callees }
    }
}

impl Butterfly {
    /// The largest sizes of callers and of callees. Cost: two passes over the events of the
    /// interval.
    pub fn peaks(&self, index: &Index, totals: &Totals, mask: &Mask, cancel: &Cancel) -> Result<[Vec<u64>; 2], Cancelled> {
        let callers = self.sites.iter().map(|&(site, caller, _)| (site, caller));
        let callees = self.sites.iter().map(|&(site, _, callee)| (site, callee));
        Ok([
            peaks(&self.callers, callers, index, totals, mask, cancel)?,
            peaks(&self.callees, callees, index, totals, mask, cancel)?,
        ])
    }
}

fn peaks(
    list: &[Neighbour],
    sites: impl Iterator<Item = (SiteId, u32)>,
    index: &Index,
    totals: &Totals,
    mask: &Mask,
    cancel: &Cancel,
) -> Result<Vec<u64>, Cancelled> {
    let now: Vec<u64> = list.iter().map(|neighbour| neighbour.sums.numbers().outstanding_from).collect();
    let mut lines = vec![[NOBODY; 4]; index.trace().sites.len()];
    for (site, line) in sites {
        lines[site.0 as usize] = LifetimeClass::ALL.map(|class| if mask.has(site, class) { line } else { NOBODY });
    }
    line_peaks(index, totals.interval, &now, lines, |_| None, cancel)
}

/// All sites under a function, cut where its caller or its callee changes. Of a function that
/// calls itself the caller is that of the outermost place, the callee that of the innermost.
fn pieces(forest: &Forest, function: FunctionId, cancel: &Cancel) -> Result<Vec<Piece>, Cancelled> {
    let key = NodeKey::Function(function);
    let is_it = |&node: &u32| forest.key(node) == key;
    let nodes: Vec<u32> = (1..forest.len() as u32).into_par_iter().with_min_len(NODES).filter(is_it).collect();
    let function_of = |node: u32| match forest.key(node) {
        NodeKey::Function(function) => Some(function),
        _ => None,
    };
    let start = |node: u32| forest.places_under(node).start;
    let behind = |node: u32| forest.places_under(node).end;
    let mut pieces: Vec<Piece> = Vec::new();
    // Behind the outermost place that was met last, and what called it.
    let (mut end, mut caller) = (0, None);
    for (i, &node) in nodes.iter().enumerate() {
        if i.is_multiple_of(4096) {
            cancel.check()?;
        }
        if node >= end {
            (end, caller) = (forest.end(node), function_of(forest.parent(node)));
        }
        let mut put = |sites: Range<usize>, callee| {
            if !sites.is_empty() {
                pieces.push(Piece { sites, caller, callee });
            }
        };
        put(forest.places(node), None);
        let mut deeper = &nodes[i + 1..];
        for &child in forest.children(node).iter().filter(|child| !is_it(child)) {
            deeper = &deeper[deeper.partition_point(|&other| other < child)..];
            // What is in the function once more has a place of its own.
            let (callee, mut at) = (function_of(child), start(child));
            while let Some(&again) = deeper.first().filter(|&&other| other < forest.end(child)) {
                put(at..start(again), callee);
                at = behind(again);
                deeper = &deeper[deeper.partition_point(|&other| other < forest.end(again))..];
            }
            put(at..behind(child), callee);
        }
    }
    Ok(pieces)
}

/// Neighbours while they are met.
#[derive(Default)]
struct List {
    list: Vec<Neighbour>,
    index: crate::tables::KeyedMap<Option<FunctionId>, u32>,
}

impl List {
    fn add(&mut self, function: Option<FunctionId>, sums: &ByClass) -> u32 {
        let list = &mut self.list;
        let at = *self.index.entry(function).or_insert_with(|| {
            list.push(Neighbour { function, sums: ByClass::default() });
            list.len() as u32 - 1
        });
        list[at as usize].sums.add(sums);
        at
    }

    /// In order, and by old place the new one.
    fn sorted(self, functions: &Functions) -> (Vec<Neighbour>, Vec<u32>) {
        let mut order: Vec<u32> = (0..self.list.len() as u32).collect();
        let rank = |i: u32| {
            let Neighbour { function, sums } = &self.list[i as usize];
            (by_size(sums), function.map(|function| functions.name(function)))
        };
        order.sort_by(|&a, &b| rank(a).cmp(&rank(b)));
        let mut places = vec![0; order.len()];
        (0..).zip(&order).for_each(|(place, &i)| places[i as usize] = place);
        (order.into_iter().map(|i| self.list[i as usize]).collect(), places)
    }
}

/// The largest first: |impacting size|, then size.
pub(super) fn by_size(sums: &ByClass) -> Reverse<(u64, u64)> {
    let numbers = sums.numbers();
    Reverse((numbers.impacting.unsigned_abs(), numbers.size))
}
