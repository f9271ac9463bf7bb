//! Peaks of lines that contain all rows of some heaps, or all that are born and die in the interval: for example a process, a heap,
//! or its transient allocations. The graph's data says how the bytes of a heap rise and fall. What such a line lacks of its heaps
//! are rows that an edge of the interval cuts, of which there are few: only they are read one by one.
//!
//! Both are combined by bin of time, and bins that could hold the peak are walked event by event ([`Search`]). A line for which this
//! would be many is left to a pass over all events.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::{ByClassLines, class_of, has_own_node};
use crate::model::{RowId, SiteId, Trace};
use crate::query::bins::Bins;
use crate::query::changes::Change;
use crate::query::index::Surveys;
use crate::query::line_tree::{LineTree, NOBODY};
use crate::query::sum_peaks::Search;
use crate::query::summary::{Sketch, Summary};
use crate::query::{Cancel, Cancelled, Index, LifetimeClass, SeriesOf};
use crate::tables::KeyedMap;
use crate::units::{Interval, Ticks};

/// Most bins of a search, and most bins of all heaps together.
const BINS: usize = 1 << 12;
const BINS_OF_ALL: usize = 1 << 18;

/// Most nodes that are searched.
const NODES: usize = 1 << 8;

/// A search pays if at most one in this many bins has to be walked.
const WALKED: usize = 16;

/// A node that contains whole heaps.
struct Whole {
    node: u32,
    /// The heaps, ascending.
    heaps: Vec<u32>,
}

/// Returns the highest rise of each node inside `interval`, see [`Index::node_rises`]; `None` if no node contains whole heaps, or
/// if it does not pay.
pub(super) fn rises(
    index: &Index,
    interval: Interval,
    nodes_of: &[ByClassLines],
    line_tree: &LineTree,
    cancel: &Cancel,
) -> Result<Option<Vec<i128>>, Cancelled> {
    if !index.splits(interval) {
        return Ok(None);
    }
    let must_pay = index.surveys() != Surveys::Always;
    let trace = index.trace();
    let whole = whole_nodes(trace, nodes_of, line_tree);
    if whole.is_empty() || whole.len() > NODES || must_pay && !many_are_whole(index, nodes_of, line_tree, &whole) {
        return Ok(None);
    }
    let bins = index.bins(interval, (BINS_OF_ALL / trace.heaps.len().max(1)).clamp(1, BINS));
    let Some(heaps) = heap_lines(index, interval, &whole, &bins, cancel)? else { return Ok(None) };
    let cut = CutRows::new(trace, nodes_of, line_tree, &whole);
    let wants = |site: SiteId, class: LifetimeClass| cut.counts(site, class) || has_own_node(&nodes_of[site.0 as usize], class);
    let Some(changes) = index.edge_changes(interval, wants, cancel)? else { return Ok(None) };
    let rests = cut.lines(&changes, &bins, whole.len());
    let pick = index.picker(interval, nodes_of);
    let found: Result<Vec<Option<i128>>, Cancelled> = (whole.par_iter().zip(&rests))
        .map(|(whole, rest)| {
            let of_heaps = whole.heaps.iter().filter_map(|&heap| heaps.get(heap as usize));
            let mut search = Search::new(0, &bins, of_heaps.chain([rest]));
            if must_pay && search.open() * WALKED > bins.count() {
                return Ok(None);
            }
            let has = line_tree.below(whole.node);
            let pick = |row: RowId, site: SiteId, is_birth: bool| {
                let node = pick(row, site, is_birth);
                if node != NOBODY && has[node as usize] { 0 } else { NOBODY }
            };
            search.finish(|parts| index.walk(parts, &pick, cancel))?;
            Ok(Some(search.best()))
        })
        .collect();
    let found: Vec<(u32, i128)> = whole.iter().zip(found?).filter_map(|(whole, rise)| Some((whole.node, rise?))).collect();
    let is_found = all_above(line_tree, found.iter().map(|(node, _)| *node));
    let mut rises = others(index, interval, nodes_of, (line_tree, &is_found), &changes, cancel)?;
    found.into_iter().for_each(|(node, rise)| {
        if let Some(rises) = &mut rises {
            rises[node as usize] = rise;
        }
    });
    Ok(rises)
}

/// Returns whether a quarter of the rows are of heaps whose rows are in nodes with nothing but whole heaps. If not, nearly all events
/// are visited for the others.
fn many_are_whole(index: &Index, nodes_of: &[ByClassLines], line_tree: &LineTree, whole: &[Whole]) -> bool {
    let is_whole = all_above(line_tree, whole.iter().map(|whole| whole.node));
    let trace = index.trace();
    let (mut rows, mut is_parted) = (vec![0; trace.heaps.len()], vec![false; trace.heaps.len()]);
    for ((site, nodes), sum) in trace.sites.iter().zip(nodes_of).zip(index.by_site().into_iter().flatten()) {
        let (heap, node) = (site.heap.0 as usize, nodes[LifetimeClass::Aifi as usize]);
        rows[heap] += if node != NOBODY { sum.count } else { 0 };
        is_parted[heap] |= node != NOBODY && !is_whole[node as usize];
    }
    let parted: u64 = rows.iter().zip(is_parted).filter(|(_, is_parted)| *is_parted).map(|(rows, _)| rows).sum();
    parted * 4 <= rows.iter().sum::<u64>() * 3
}

/// Returns by node whether it and all nodes above it are among these.
fn all_above(line_tree: &LineTree, nodes: impl Iterator<Item = u32>) -> Vec<bool> {
    let mut is_one = vec![false; line_tree.len()];
    nodes.for_each(|node| is_one[node as usize] = true);
    (0..line_tree.nodes() as u32).map(|node| line_tree.up(node).all(|node| is_one[node as usize])).collect()
}

/// Returns the rises of the nodes that were not found; those of the others have no meaning. `is_found` says by node whether it and
/// all nodes above it were.
fn others(
    index: &Index,
    interval: Interval,
    nodes_of: &[ByClassLines],
    (line_tree, is_found): (&LineTree, &[bool]),
    changes: &[Change],
    cancel: &Cancel,
) -> Result<Option<Vec<i128>>, Cancelled> {
    let mut left = nodes_of.to_vec();
    for nodes in &mut left {
        let transient = &mut nodes[LifetimeClass::Aifi as usize];
        if *transient != NOBODY && is_found[*transient as usize] {
            *transient = NOBODY;
        }
    }
    index.rises_with(interval, &left, changes, line_tree, cancel)
}

/// Returns the nodes that contain, of each heap of which they contain a row that is born and dies in the interval, all such rows.
fn whole_nodes(trace: &Trace, nodes_of: &[ByClassLines], line_tree: &LineTree) -> Vec<Whole> {
    let mut sites = vec![0u32; trace.heaps.len()];
    let mut own: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    // Node and number of the latest sites of each heap: most have the same.
    let mut latest = vec![(NOBODY, 0); trace.heaps.len()];
    for (site, nodes) in trace.sites.iter().zip(nodes_of) {
        let (heap, node) = (site.heap.0, nodes[LifetimeClass::Aifi as usize]);
        sites[heap as usize] += 1;
        let (of, count) = &mut latest[heap as usize];
        if *of != node {
            *own.entry((*of, heap)).or_default() += std::mem::take(count);
            *of = node;
        }
        *count += 1;
    }
    for (heap, (node, count)) in (0..).zip(latest) {
        *own.entry((node, heap)).or_default() += count;
    }
    let mut contained: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for (&(node, heap), count) in &own {
        line_tree.up(node).for_each(|node| *contained.entry((node, heap)).or_default() += count);
    }
    let contained: Vec<((u32, u32), u32)> = contained.into_iter().collect();
    let nodes = contained.chunk_by(|((a, _), _), ((b, _), _)| a == b);
    let whole = nodes.filter(|heaps| heaps.iter().all(|((_, heap), count)| *count == sites[*heap as usize]));
    whole.map(|heaps| Whole { node: heaps[0].0.0, heaps: heaps.iter().map(|((_, heap), _)| *heap).collect() }).collect()
}

/// Returns the line of each heap that a node contains; `None` if they are not known by block.
fn heap_lines(
    index: &Index,
    interval: Interval,
    whole: &[Whole],
    bins: &Bins,
    cancel: &Cancel,
) -> Result<Option<Vec<Vec<Summary<i64>>>>, Cancelled> {
    let trace = index.trace();
    let mut wanted = vec![false; trace.heaps.len()];
    whole.iter().flat_map(|whole| &whole.heaps).for_each(|&heap| wanted[heap as usize] = true);
    let heap = |site| Some(trace.site(site).heap.0).filter(|&heap| wanted[heap as usize]);
    let of = SeriesOf::new(trace, trace.heaps.len(), heap);
    if !index.knows(&of) || index.is_slow(interval, &of) {
        return Ok(None);
    }
    index.lines(interval, &of, bins, cancel)
}

/// How rows that an edge of the interval cuts count for the whole nodes: those that are in a node but not in its heaps are added,
/// those that are in its heaps but not in the node are subtracted.
struct CutRows {
    /// The kind of the rows of each site, by class; only of the two classes that an edge cuts. Rows of one kind count alike.
    kinds_of: Vec<ByClassLines>,
    /// By kind, the whole nodes for which its rows count, and whether they are subtracted.
    effects: Vec<Vec<(u32, bool)>>,
}

impl CutRows {
    fn new(trace: &Trace, nodes_of: &[ByClassLines], line_tree: &LineTree, whole: &[Whole]) -> Self {
        let mut numbers: KeyedMap<(u32, u32), u32> = KeyedMap::default();
        let mut all_effects = Vec::new();
        let mut kind = |node: u32, heap: u32| {
            *numbers.entry((node, heap)).or_insert_with(|| {
                let mut effects = Vec::new();
                for (i, whole) in (0..).zip(whole) {
                    let is_in_node = line_tree.up(node).any(|node| node == whole.node);
                    let is_in_heaps = whole.heaps.binary_search(&heap).is_ok();
                    if is_in_node != is_in_heaps {
                        effects.push((i, is_in_heaps));
                    }
                }
                if effects.is_empty() {
                    return NOBODY;
                }
                all_effects.push(effects);
                all_effects.len() as u32 - 1
            })
        };
        let kinds_of = trace.sites.iter().zip(nodes_of).map(|(site, nodes)| {
            let mut kinds = [NOBODY; 4];
            for class in [LifetimeClass::Aifo as usize, LifetimeClass::Aofi as usize] {
                kinds[class] = kind(nodes[class], site.heap.0);
            }
            kinds
        });
        Self { kinds_of: kinds_of.collect(), effects: all_effects }
    }

    /// Returns whether rows of a site and class count for any whole node.
    fn counts(&self, site: SiteId, class: LifetimeClass) -> bool {
        self.kinds_of[site.0 as usize][class as usize] != NOBODY
    }

    /// Returns what each whole node has in addition to its heaps, by bin.
    fn lines(&self, changes: &[Change], bins: &Bins, count: usize) -> Vec<Vec<Summary<i64>>> {
        let mut sketches = vec![Sketch::<i64>::default(); count];
        let mut lines = vec![Vec::new(); count];
        let mut end = Ticks::BEFORE_TRACE;
        let end_bin = |sketches: &mut [Sketch<i64>], lines: &mut [Vec<Summary<i64>>]| {
            for (sketch, line) in sketches.iter_mut().zip(lines) {
                line.extend(Some(sketch.take()).filter(|steps| steps.steps > 0));
            }
        };
        for change in changes {
            if change.at >= end {
                end_bin(&mut sketches, &mut lines);
                end = bins.end(change.at);
            }
            let delta = change.delta() as i64; // sums of an index do not overflow
            let kind = self.kinds_of[change.of as usize][class_of(change) as usize];
            for &(whole, is_subtracted) in self.effects.get(kind as usize).into_iter().flatten() {
                sketches[whole as usize].change(change.at, if is_subtracted { -delta } else { delta });
            }
        }
        end_bin(&mut sketches, &mut lines);
        lines
    }
}
