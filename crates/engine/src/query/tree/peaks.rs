//! Peaks of the visible lines: the only number of the table that depends on the order of changes. It is therefore
//! computed after the others, and sorting by it is a separate step. While a trace grows, only peaks that follow from
//! the graph's data are computed: those of heaps, layers and processes.

use std::sync::Arc;

use super::lines::{Line, Listing, NONE, Section, Tree};
use crate::model::{ProcessId, SiteId, Trace};
use crate::query::peaks::{ByClassLines, line_peaks};
use crate::query::{Cancel, Cancelled, Index, Key, LifetimeClass, SeriesOf, Totals, series};
use crate::units::{Interval, Layer};

/// Returns the peaks of the nodes of `tree`, which must be of the same trace and interval; [`Tree::peak`] maps lines to
/// them. Cost: a pass over the events of the interval, in which each event takes one step per branching of the tree
/// above its line.
pub fn peaks(index: &Index, interval: Interval, tree: &Tree, cancel: &Cancel) -> Result<Vec<u64>, Cancelled> {
    let now: Vec<u64> = tree.lines.iter().map(|line| line.numbers.outstanding_from).collect();
    let deepest = deepest(index.trace(), tree);
    let parent = |line: u32| Some(tree.lines[line as usize].parent).filter(|&line| line != NONE);
    line_peaks(index, interval, &now, deepest, parent, cancel)
}

/// Returns for each site and class the line of the deepest visible node that contains it.
pub(super) fn deepest(trace: &Trace, tree: &Tree) -> Vec<ByClassLines> {
    let mut lines: Vec<ByClassLines> = Vec::with_capacity(trace.sites.len());
    lines.extend((0..).map(SiteId).zip(&trace.sites).map(|(id, site)| {
        let mut lines = tree.deepest[site.heap.0 as usize];
        for class in LifetimeClass::ALL.into_iter().filter(|&class| !tree.wanted.has(id, class)) {
            lines[class as usize] = NONE;
        }
        lines
    }));
    for section in &tree.sections {
        for (site, &line) in section.sites.iter().zip(&section.deepest) {
            lines[site.0 as usize][section.class as usize] = line;
        }
    }
    lines
}

/// Returns the peaks of the lines of heaps, layers, and processes with one layer, and of nodes that share a line with
/// them. Other lines have `None`; so have all lines if the peaks would need a pass over many events. Cost: a graph with
/// one bin of the heaps, and one of the layers.
pub fn upper_peaks(index: &Index, totals: &Totals, tree: &Tree, cancel: &Cancel) -> Result<Vec<Option<u64>>, Cancelled> {
    let trace = index.trace();
    let none = vec![None; tree.lines.len()];
    let all = LifetimeClass::ALL.into_iter().fold(0, |bits, class| bits | 1 << class as u8);
    let is_whole = |site| [0, all].contains(&tree.wanted.classes(site));
    if !(0..trace.sites.len() as u32).map(SiteId).all(is_whole) {
        return Ok(none); // series consist of whole sites, of all classes
    }
    let draw = |count: usize, of_heap: &[Option<u32>]| {
        let wanted = |site| tree.wanted.classes(site) != 0;
        let of = SeriesOf::new(trace, count, |site| of_heap[trace.site(site).heap.0 as usize].filter(|_| wanted(site)));
        let is_slow = index.is_slow(totals.interval, &of);
        (!is_slow).then(|| series(index, totals, &of, 1, cancel)).transpose()
    };
    let each: Vec<Option<u32>> = (0..trace.heaps.len() as u32).map(Some).collect();
    let Some(heaps) = draw(each.len(), &each)? else { return Ok(none) };
    let mut layers: Vec<(ProcessId, Layer)> = trace.heaps.iter().map(|heap| (heap.process, heap.layer)).collect();
    layers.sort_unstable();
    layers.dedup();
    let layer_of = |of: &(ProcessId, Layer)| layers.binary_search(of).ok().map(|at| at as u32);
    let of_heap: Vec<Option<u32>> = trace.heaps.iter().map(|heap| layer_of(&(heap.process, heap.layer))).collect();
    let Some(sums) = draw(layers.len(), &of_heap)? else { return Ok(none) };
    let layer_peak = |of: (ProcessId, Layer)| sums.get(layer_of(&of)? as usize).map(|line| line.peak);
    let peak = |(number, line): (u32, &Line)| {
        let path = tree.path_of(number);
        match (line.head, path.first()?) {
            (Key::Heap(heap), _) => heaps.get(heap.0 as usize).map(|line| line.peak),
            (Key::Layer(layer), &Key::Process(process)) => layer_peak((process, layer)),
            (Key::Process(process), _) if !line.mixes_layers => {
                let own = layers.iter().filter(|(of, layer)| *of == process && layer_peak((*of, *layer)) > Some(0));
                let mut own = own.copied();
                own.next().filter(|_| own.next().is_none()).and_then(layer_peak)
            }
            _ => None,
        }
    };
    Ok((0..).zip(&tree.lines).map(peak).collect())
}

/// Sorts the nodes below each node by a number; equal ones keep their order, and so do single allocations. Also returns the
/// former number of each node.
pub fn sort_nodes(tree: Tree, numbers: &[u64], descending: bool) -> (Tree, Vec<u32>) {
    let lines = &tree.lines;
    let count = lines.len();
    let mut sorted: Vec<u32> = (0..count as u32).collect();
    let rank = |line: u32| if descending { u64::MAX - numbers[line as usize] } else { numbers[line as usize] };
    sorted.sort_by_key(|&line| (lines[line as usize].parent, rank(line)));
    // The children of each line are a range of `sorted` now; lines without parent come last.
    let children = |parent: u32| {
        let start = sorted.partition_point(|&line| lines[line as usize].parent < parent);
        sorted[start..].iter().copied().take_while(move |&line| lines[line as usize].parent == parent)
    };
    let mut listing_of = vec![NONE; count];
    (0..).zip(&tree.listings).for_each(|(i, listing)| listing_of[listing.line as usize] = i);

    enum Step {
        Line(u32),
        /// All nodes below this line are placed; its allocations follow.
        End(u32),
    }
    let mut order = Vec::with_capacity(count);
    let mut moved_to = vec![NONE; count];
    let mut listings = Vec::with_capacity(tree.listings.len());
    let mut todo = Vec::new();
    let push_children = |todo: &mut Vec<Step>, parent| {
        let first = todo.len();
        todo.extend(children(parent).map(Step::Line));
        todo[first..].reverse();
    };
    push_children(&mut todo, NONE);
    let mut before = 0;
    while let Some(step) = todo.pop() {
        match step {
            Step::Line(line) => {
                moved_to[line as usize] = order.len() as u32;
                order.push(line);
                todo.push(Step::End(line));
                push_children(&mut todo, line);
            }
            Step::End(line) => {
                let Some(listing) = tree.listings.get(listing_of[line as usize] as usize) else { continue };
                let (line, after) = (moved_to[line as usize], order.len() as u32);
                listings.push(Listing { line, after, before, rows: Arc::clone(&listing.rows) });
                before += listing.rows.len();
            }
        }
    }
    let moved = |line: u32| if line == NONE { NONE } else { moved_to[line as usize] };
    let section = |section: &Section| Section {
        class: section.class,
        sites: Arc::clone(&section.sites),
        deepest: section.deepest.iter().copied().map(moved).collect(),
    };
    let line = |&line: &u32| {
        let line = tree.lines[line as usize];
        let group = if line.key.frame().is_some() { moved(line.group) } else { NONE };
        Line { parent: moved(line.parent), group, ..line }
    };
    let lines = order.iter().map(line).collect();
    let deepest = tree.deepest.iter().map(|lines| lines.map(moved)).collect();
    let sections = tree.sections.iter().map(section).collect();
    (Tree { lines, listings, deepest, sections, ..tree }, order)
}
