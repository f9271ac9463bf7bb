//! Callers and callees of a function, in one process and layer. Each row counts under the caller of the function's
//! outermost occurrence in the stack and under the callee of its innermost one, so both lists add up to its total.
//!
//! Cost: a look at the nodes of a forest to find those of all requested functions; then the sites below them, in
//! parallel. Other sites are not visited. All processes of a function take one pass, and the peaks of all butterflies
//! one sweep.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use rayon::prelude::*;

use super::forest::{Forest, NodeKey};
use super::paths::Functions;
use super::sums::FunctionSums;
use super::table::FunctionId;
use crate::model::{ProcessId, SiteId, Trace};
use crate::query::line_tree::{LineTree, NOBODY};
use crate::query::peaks::{ByClassLines, line_tree_peaks};
use crate::query::{ByClass, Cancel, Cancelled, Index, LifetimeClass, Mask, Totals};
use crate::tables::{KeyedMap, KeyedSet};
use crate::units::Layer;

/// A caller or a callee.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// Its function; `None` if the stacks begin or end with the function that is between callers and callees.
    pub function: Option<FunctionId>,
    /// Sums of the rows that the function shares with it.
    pub sums: ByClass,
}

/// A function's callers and callees; both lists are sorted by |impacting size|, then size, both falling, then by name.
#[derive(Clone, Debug, Default)]
pub struct Butterfly {
    /// Callers of the function's outermost occurrence.
    pub callers: Vec<Neighbour>,
    /// Callees of the function's innermost occurrence.
    pub callees: Vec<Neighbour>,
    /// Sites whose stack contains the function, each with its indices in both lists.
    sites: Vec<(SiteId, u32, u32)>,
}

/// A run of sites in whose stacks the function has the same caller and the same callee.
struct Piece {
    /// Range in the forest's sites.
    sites: Range<usize>,
    caller: Option<FunctionId>,
    /// `None` if the stacks end with the function.
    callee: Option<FunctionId>,
}

/// The occurrences of a function in the stacks of one layer, with its sums in each process.
pub struct FunctionPlaces<'a> {
    trace: &'a Trace,
    forest: &'a Forest,
    function: FunctionId,
    layer: Layer,
    pieces: Vec<Piece>,
    /// Nonempty sums by piece and process, in the order of pieces.
    sums: Vec<(u32, ProcessId, ByClass)>,
}

/// Number of sites that one worker adds up at a time.
const GRAIN: usize = 1 << 11;

/// Smallest number of nodes that one worker visits.
const NODES: usize = 1 << 14;

/// The nodes of some functions in a top-down forest.
pub struct FunctionNodes<'a> {
    forest: &'a Forest,
    nodes: KeyedMap<FunctionId, Vec<u32>>,
}

impl<'a> FunctionNodes<'a> {
    /// Finds the nodes of all functions in one pass.
    pub fn of(forest: &'a Forest, functions: &KeyedSet<FunctionId>) -> Self {
        let function = |node: u32| match forest.key(node) {
            NodeKey::Function(function) => functions.contains(&function).then_some((function, node)),
            _ => None,
        };
        let found: Vec<(FunctionId, u32)> =
            (1..forest.len() as u32).into_par_iter().with_min_len(NODES).filter_map(function).collect();
        let mut nodes: KeyedMap<FunctionId, Vec<u32>> = KeyedMap::default();
        found.into_iter().for_each(|(function, node)| nodes.entry(function).or_default().push(node));
        Self { forest, nodes }
    }
}

impl<'a> FunctionPlaces<'a> {
    /// Finds the occurrences of one of the functions in `nodes`.
    pub fn of(
        trace: &'a Trace,
        nodes: &FunctionNodes<'a>,
        (totals, mask): (&Totals, &Mask),
        function: FunctionId,
        layer: Layer,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let forest = nodes.forest;
        let nodes = nodes.nodes.get(&function).map(Vec::as_slice).unwrap_or_default();
        let pieces = pieces(forest, function, nodes, cancel)?;
        let is_in_layer: Vec<bool> = trace.heaps.iter().map(|heap| heap.layer == layer).collect();
        let parts = (0..).zip(&pieces).flat_map(|(i, piece)| {
            let starts = piece.sites.clone().step_by(GRAIN);
            starts.map(move |start| (i, start..(start + GRAIN).min(piece.sites.end)))
        });
        let sums = |(piece, places): (u32, Range<usize>)| {
            let mut sums: Vec<(u32, ProcessId, ByClass)> = Vec::new();
            let mut at: KeyedMap<ProcessId, usize> = KeyedMap::default();
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
                match at.entry(process) {
                    Entry::Occupied(known) => sums[*known.get()].2.add(&buckets),
                    Entry::Vacant(new) => {
                        new.insert(sums.len());
                        sums.push((piece, process, buckets));
                    }
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

    /// Returns the sums of the function in each process that has it.
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

    /// Returns the callers and callees in one process.
    pub fn butterfly(&self, functions: &Functions, process: ProcessId) -> Butterfly {
        self.those_of(functions, |of| of == process).remove(&process).unwrap_or_default()
    }

    /// Returns the callers and callees in each process that has the function.
    pub(crate) fn butterflies(&self, functions: &Functions) -> BTreeMap<ProcessId, Butterfly> {
        self.those_of(functions, |_| true)
    }

    fn those_of(&self, functions: &Functions, is_wanted: impl Fn(ProcessId) -> bool) -> BTreeMap<ProcessId, Butterfly> {
        let mut lists: BTreeMap<ProcessId, (List, List)> = BTreeMap::new();
        // By piece and process, the indices in both lists.
        let mut found: KeyedMap<(u32, ProcessId), (u32, u32)> = KeyedMap::default();
        let mut pieces: Vec<u32> = Vec::new();
        for &(i, process, ref sums) in self.sums.iter().filter(|(_, of, _)| is_wanted(*of)) {
            let (callers, callees) = lists.entry(process).or_default();
            let piece = &self.pieces[i as usize];
            found.insert((i, process), (callers.add(piece.caller, sums), callees.add(piece.callee, sums)));
            pieces.push(i);
        }
        pieces.dedup();
        type Moved = (Vec<u32>, Vec<u32>);
        let mut all: BTreeMap<ProcessId, (Butterfly, Moved)> = BTreeMap::new();
        for (process, (callers, callees)) in lists {
            let ((callers, new_callers), (callees, new_callees)) = (callers.sorted(functions), callees.sorted(functions));
            all.insert(process, (Butterfly { callers, callees, sites: Vec::new() }, (new_callers, new_callees)));
        }
        for piece in pieces {
            for place in self.pieces[piece as usize].sites.clone() {
                let heap = self.trace.heap(self.forest.heap_at(place));
                let Some(&(caller, callee)) = found.get(&(piece, heap.process)).filter(|_| heap.layer == self.layer) else {
                    continue;
                };
                let Some((both, (callers, callees))) = all.get_mut(&heap.process) else { continue };
                both.sites.push((self.forest.sites()[place], callers[caller as usize], callees[callee as usize]));
            }
        }
        all.into_iter().map(|(process, (both, _))| (process, both)).collect()
    }
}

impl Butterfly {
    /// Returns the peaks of callers and of callees. Cost: a pass over the events of the interval.
    pub fn peaks(&self, index: &Index, totals: &Totals, mask: &Mask, cancel: &Cancel) -> Result<[Vec<u64>; 2], Cancelled> {
        Ok(butterfly_peaks(&[self], index, totals, mask, cancel)?.pop().unwrap_or_default())
    }
}

/// Computes the peaks of several butterflies, of any functions and processes, in one pass. Each of their lines is a
/// line of its own; a change at a site is passed on to all lines that contain the site.
pub(super) fn butterfly_peaks(
    of: &[&Butterfly],
    index: &Index,
    totals: &Totals,
    mask: &Mask,
    cancel: &Cancel,
) -> Result<Vec<[Vec<u64>; 2]>, Cancelled> {
    let lines = of.iter().flat_map(|both| both.callers.iter().chain(&both.callees));
    let now: Vec<u64> = lines.map(|neighbour| neighbour.sums.numbers().outstanding_from).collect();
    let mut steps = Steps::default();
    let mut step_of = vec![NOBODY; index.trace().sites.len()];
    let mut first = 0;
    for both in of {
        let callees = first + both.callers.len() as u32;
        for &(site, caller, callee) in &both.sites {
            let step = &mut step_of[site.0 as usize];
            *step = steps.step(first + caller, *step);
            *step = steps.step(callees + callee, *step);
        }
        first = callees + both.callees.len() as u32;
    }
    let by_class = |(site, &step): (u32, &u32)| match step {
        NOBODY => [NOBODY; 4],
        step => LifetimeClass::ALL.map(|class| if mask.has(SiteId(site), class) { step } else { NOBODY }),
    };
    let of_site: Vec<ByClassLines> = (0..).zip(&step_of).map(by_class).collect();
    let line_tree = LineTree::shared(now.len(), steps.above, steps.line);
    let peaks = line_tree_peaks(index, totals.interval, &now, &of_site, &line_tree, cancel)?;
    let mut peaks = peaks.into_iter();
    let mut take = |list: &[Neighbour]| peaks.by_ref().take(list.len()).collect();
    Ok(of.iter().map(|both| [take(&both.callers), take(&both.callees)]).collect())
}

/// Steps that stand for lines, each with the next step that receives its changes.
#[derive(Default)]
struct Steps {
    above: Vec<u32>,
    line: Vec<u32>,
    known: KeyedMap<(u32, u32), u32>,
}

impl Steps {
    fn step(&mut self, line: u32, above: u32) -> u32 {
        *self.known.entry((line, above)).or_insert_with(|| {
            self.above.push(above);
            self.line.push(line);
            self.line.len() as u32 - 1
        })
    }
}

/// Returns all sites below a function, cut where its caller or callee changes. For a recursive function the caller is
/// that of the outermost occurrence, the callee that of the innermost.
fn pieces(forest: &Forest, function: FunctionId, nodes: &[u32], cancel: &Cancel) -> Result<Vec<Piece>, Cancelled> {
    let key = NodeKey::Function(function);
    let is_it = |&node: &u32| forest.key(node) == key;
    let function_of = |node: u32| match forest.key(node) {
        NodeKey::Function(function) => Some(function),
        _ => None,
    };
    let start = |node: u32| forest.places_under(node).start;
    let behind = |node: u32| forest.places_under(node).end;
    let mut pieces: Vec<Piece> = Vec::new();
    // The end of the last outermost occurrence, and its caller.
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
            // Sites below another occurrence of the function belong to that occurrence.
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

/// Callers or callees while they are being collected.
#[derive(Default)]
struct List {
    list: Vec<Neighbour>,
    index: KeyedMap<Option<FunctionId>, u32>,
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

    /// Returns the sorted list, and for each old index the new one.
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

/// Sort key: |impacting size|, then size, largest first.
pub(super) fn by_size(sums: &ByClass) -> Reverse<(u64, u64)> {
    let numbers = sums.numbers();
    Reverse((numbers.impacting.unsigned_abs(), numbers.size))
}
