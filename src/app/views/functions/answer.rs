//! The table, as the worker computes it. Cost: a pass over the sites, then over the open nodes; a search adds
//! passes over all nodes.

use std::sync::Arc;

use super::opened::{Finder, Way};
use super::search::search;
use super::{CallTable, Choices, Grouping, Request, Tree, butterfly, name_of};
use crate::app::jobs::{ForestKind, QueryContext};
use crate::app::widgets::columns::Wholes;
use crate::model::SiteId;
use crate::query::{
    CallLine, Cancelled, Column, Forest, ForestSums, Functions, NodeKey, RowGroup, RowGrouping, RowsAsked, SiteLabels, Sort,
    TouchedBytes, by_heap, call_tree, call_tree_peaks, call_tree_touched, freed_sums, heaviest_path, magnitude, node_name,
    row_groups, sort_call_lines, source_lines,
};
use crate::units::Layer;

/// Most nodes that are opened at once on the heaviest path; in deeper stacks the user continues from there.
const DEEPEST: usize = 2000;

/// The open rows, and the butterfly, without peaks.
pub fn call_table(request: &Request, query: &mut QueryContext<'_>) -> Result<CallTable, Cancelled> {
    match request.wish.grouping {
        Grouping::Sites(kind) => of_sites(request, kind, query),
        Grouping::Rows(by) => of_rows(request, by, false, query),
    }
}

/// The open rows, and the butterfly, with source lines, peaks and touched bytes of all rows, sorted by these if the wish says so.
pub fn whole_call_table(request: &Request, query: &mut QueryContext<'_>) -> Result<CallTable, Cancelled> {
    match request.wish.grouping {
        Grouping::Sites(kind) => {
            let mut table = of_sites(request, kind, query)?;
            add_late(&mut table, query)?;
            add_sources(&mut table, query)?;
            Ok(table)
        }
        Grouping::Rows(by) => of_rows(request, by, true, query),
    }
}

/// Rows by heap, type, or another key of the allocations themselves. Cost: see [`row_groups`].
fn of_rows(request: &Request, by: RowGrouping, with_late: bool, query: &mut QueryContext<'_>) -> Result<CallTable, Cancelled> {
    let Request { wish, layer, .. } = request;
    let (functions, trace) = (query.folded_functions()?, Arc::clone(query.trace()));
    let (totals, labels) = match by {
        RowGrouping::Heap => (Some(query.totals()?), None),
        RowGrouping::Type => (Some(query.totals()?), Some(SiteLabels::Types(query.types()?))),
        RowGrouping::Owner => (Some(query.totals()?), Some(SiteLabels::Names(query.owners()?))),
        RowGrouping::Tag => (Some(query.totals()?), Some(SiteLabels::Names(query.tags()?))),
        RowGrouping::Thread | RowGrouping::Size | RowGrouping::Lifetime => (None, None),
    };
    let (index, interval, mask) = (&*query.index, query.interval(), &*query.mask);
    let asked = RowsAsked { index, interval, mask, layer: *layer, totals: totals.as_ref(), labels: labels.as_ref() };
    let name = |group: &RowGroup| name_of(&trace, &functions, labels.as_ref(), group.key);
    let (mut groups, whole) = row_groups(asked, by, wish.sort.in_interval(query.interval()), with_late, query.cancel)?;
    let text = wish.search.trim().to_lowercase();
    groups.retain(|group| text.is_empty() || name(group).to_lowercase().contains(&text));
    let Sort { column, descending } = wish.sort.in_interval(query.interval());
    if let Some(late) = late_number(column).filter(|_| with_late) {
        let number = |group: &RowGroup| late(group.peak, group.touched);
        groups.sort_by_key(|group| if descending { !number(group) } else { number(group) });
    }
    let line = |(node, group): (u32, &RowGroup)| CallLine {
        node,
        head: node,
        parent: None,
        depth: 0,
        numbers: group.numbers,
        has_children: false,
        is_open: false,
    };
    let lines: Vec<CallLine> = (0..).zip(&groups).map(line).collect();
    let peaks: Option<Vec<u64>> = groups.iter().map(|group| group.peak).collect();
    let touched: Option<Vec<TouchedBytes>> = groups.iter().map(|group| group.touched).collect();
    let selected = wish.selected.as_ref().and_then(|way| way.first());
    let is_selected = |group: &RowGroup| selected.is_some_and(|selected| **selected == *name(group));
    let scale = match (column, &peaks) {
        (Column::Peak, Some(peaks)) => peaks.iter().copied().max().unwrap_or(0),
        (column, _) => lines.iter().map(|line| magnitude(column, &line.numbers)).max().unwrap_or(0),
    };
    let butterfly = butterfly::of(&butterfly_of(wish, *layer), &functions, query)?;
    Ok(CallTable {
        sources: None,
        asked: wish.clone(),
        fulfilled: wish.clone(),
        layer: *layer,
        interval: query.interval(),
        frames: query.frame_count(),
        selected: groups.iter().position(is_selected),
        labels: labels.clone(),
        tree: Tree::Rows(groups.iter().map(|group| group.key).collect()),
        trace,
        whole,
        all_change: all_change(*layer, query)?,
        scale,
        functions,
        lines,
        peaks: peaks.filter(|_| with_late),
        touched: touched.filter(|_| with_late),
        butterfly,
    })
}

fn butterfly_of(wish: &Choices, layer: Layer) -> butterfly::Asked<'_> {
    butterfly::Asked { middle: wish.middle.as_ref(), process: wish.process, layer }
}

/// Rows by function, or by another key that follows from the stack.
fn of_sites(request: &Request, kind: ForestKind, query: &mut QueryContext<'_>) -> Result<CallTable, Cancelled> {
    let Request { wish, layer, .. } = request;
    let (functions, forest) = if wish.frees { query.freeing(kind)? } else { (query.folded_functions()?, query.forest(kind)?) };
    let (trace, cancel) = (Arc::clone(query.trace()), query.cancel);
    let sort = wish.sort.in_interval(query.interval());
    let mut sums = match wish.frees {
        true => forest.sums_of(&freed_sums(&query.index, query.interval(), &query.mask, *layer, cancel)?),
        false => forest.sums(&trace, &*query.totals()?, &query.mask, *layer),
    };
    cancel.check()?;
    let mut toggled = search(&functions, &mut sums, &wish.search, cancel)?;
    let finder = Finder::new(&forest, &functions, wish.opened(), wish.selected.as_ref());
    toggled.extend(finder.toggled(wish.opened()));
    let mut selected = wish.selected.as_ref().and_then(|way| finder.node(way));
    let mut fulfilled = wish.clone();
    if std::mem::take(&mut fulfilled.expand) {
        let path = heaviest(&sums, sort.column, selected.unwrap_or(0));
        toggled.extend(path.iter().map(|&node| (node, true)));
        if let Some(&node) = path.last().filter(|&&node| node != 0) {
            let way = way(&forest, &functions, node);
            fulfilled.opened_mut().open_way(&way);
            fulfilled.middle = match forest.key(node) {
                NodeKey::Function(_) if !wish.frees => way.last().cloned(),
                _ => None,
            };
            (fulfilled.selected, selected) = (Some(way), Some(node));
        }
    }
    let lines = call_tree(&functions, &sums, sort, &toggled, request.chains, cancel)?;
    let selected = selected.and_then(|node| lines.iter().position(|line| line.has(node, &forest)));
    let whole = sums.numbers(0);
    // A part can have changed more than the whole.
    let sizes = lines.iter().map(|line| &line.numbers).chain([&whole]);
    let scale = sizes.map(|numbers| magnitude(sort.column, numbers)).max().unwrap_or(0);
    let butterfly = butterfly::of(&butterfly_of(&fulfilled, *layer), &functions, query)?;
    Ok(CallTable {
        sources: None,
        asked: wish.clone(),
        fulfilled,
        layer: *layer,
        interval: query.interval(),
        frames: query.frame_count(),
        trace,
        whole,
        all_change: all_change(*layer, query)?,
        scale,
        functions,
        labels: None,
        tree: Tree::Forest(forest),
        lines,
        peaks: None,
        touched: None,
        selected,
        butterfly,
    })
}

/// The whole of the layer's change, of which the change of a row is a share.
fn all_change(layer: Layer, query: &mut QueryContext<'_>) -> Result<u64, Cancelled> {
    let totals = query.totals()?;
    let by_heap = by_heap(query.trace(), &totals, &query.mask, query.cancel)?;
    let mut wholes = Wholes::default();
    let heaps = query.trace().heaps.iter().zip(&by_heap);
    heaps.for_each(|(heap, sums)| wholes.add_change(heap.layer, sums));
    Ok(wholes.of(layer))
}

/// Adds, for a grouping by function, the source line that requested most of each function's memory.
fn add_sources(table: &mut CallTable, query: &mut QueryContext<'_>) -> Result<(), Cancelled> {
    let (totals, Tree::Forest(forest)) = (query.totals()?, &table.tree) else { return Ok(()) };
    if !table.has_sources() {
        return Ok(());
    }
    let of_site: Vec<Option<u32>> =
        (0..query.trace().sites.len() as u32).map(|site| Some(forest.node_of(SiteId(site)))).collect();
    let (of, held) = ((&**query.trace(), &**query.names()), (&*totals, &*query.mask));
    table.sources = Some(source_lines(of, held, &of_site, forest.len(), query.cancel)?);
    Ok(())
}

/// A number of a row, from its peak and touched bytes.
type LateNumber = fn(Option<u64>, Option<TouchedBytes>) -> u64;

/// Returns the number by which rows are sorted, from their peaks and touched bytes, if the column shows one of these.
fn late_number(column: Column) -> Option<LateNumber> {
    match column {
        Column::Peak => Some(|peak, _| peak.unwrap_or(0)),
        Column::Touched => Some(|_, bytes| bytes.map_or(0, |bytes| bytes.touched)),
        _ => None,
    }
}

/// Adds peaks and touched bytes of all rows, and sorts the rows if one of these is the sort column.
fn add_late(table: &mut CallTable, query: &mut QueryContext<'_>) -> Result<(), Cancelled> {
    let (totals, Tree::Forest(forest)) = (query.totals()?, &table.tree) else { return Ok(()) };
    let tree = (&**forest, table.lines.as_slice());
    let mut peaks = call_tree_peaks(&query.index, &totals, &query.mask, table.layer, tree, query.cancel)?;
    let mut touched = match table.layer {
        Layer::Commit => call_tree_touched(&query.index, query.interval(), &query.mask, tree, query.cancel)?,
        _ => None,
    };
    let sort = table.sort();
    if let Some(late) = late_number(sort.column) {
        let bytes = |line: usize| touched.as_ref().map(|touched| touched[line]);
        let numbers: Vec<u64> = peaks.iter().enumerate().map(|(line, &peak)| late(Some(peak), bytes(line))).collect();
        table.scale = numbers.iter().copied().max().unwrap_or(0);
        let selected = table.selected.map(|index| table.lines[index].node);
        let (lines, order) = sort_call_lines(&table.lines, &numbers, sort.descending);
        table.selected = selected.and_then(|node| lines.iter().position(|line| line.node == node));
        table.lines = lines;
        peaks = order.iter().map(|&line| peaks[line as usize]).collect();
        touched = touched.map(|touched| order.iter().map(|&line| touched[line as usize]).collect());
    }
    (table.peaks, table.touched) = (Some(peaks), touched);
    Ok(())
}

fn way(forest: &Forest, functions: &Functions, node: u32) -> Way {
    forest.way(node).into_iter().map(|key| node_name(functions, key).into()).collect()
}

/// The path from a node to the heaviest one below it; by size if the column is zero at the node. If no child
/// has half of the total, it takes one step to the largest child and goes on from there.
fn heaviest(sums: &ForestSums<'_>, column: Column, from: u32) -> Vec<u32> {
    let measure = |column: Column, node: u32| magnitude(column, &sums.numbers(node));
    let column = if measure(column, from) == 0 { Column::Size } else { column };
    let mut path = heaviest_path(sums, column, from);
    if path.len() == 1
        && let Some(largest) = sums.forest().children(from).iter().copied().max_by_key(|&child| measure(column, child))
        && measure(column, largest) > 0
    {
        path.extend(heaviest_path(sums, column, largest));
    }
    path.truncate(DEEPEST);
    path
}
