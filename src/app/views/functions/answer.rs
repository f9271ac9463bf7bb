//! How the worker makes the table. Cost: a pass over the sites, then what is open; a search
//! takes some over the nodes.

use std::sync::Arc;

use super::opened::{Finder, Way};
use super::search::search;
use super::{CallTable, Request, butterfly, magnitude};
use crate::app::jobs::Ground;
use crate::query::{
    Cancelled, Column, Forest, ForestSums, Functions, NodeKey, call_tree, call_tree_peaks, heaviest_path, node_name,
    sort_call_tree_by_peak,
};

/// Nodes that are opened at once on the way to the heaviest: deeper stacks go on from there.
const DEEPEST: usize = 2000;

/// The open lines, and the butterfly, without peaks.
pub fn call_table(request: &Request, ground: &mut Ground<'_>) -> Result<CallTable, Cancelled> {
    let Request { wish, layer } = request;
    let (totals, functions) = (ground.totals()?, ground.folded_functions()?);
    let forest = ground.forest(wish.kind)?;
    let (trace, cancel) = (Arc::clone(ground.trace()), ground.cancel);
    let mut sums = forest.sums(&trace, &totals, &ground.mask, *layer);
    cancel.check()?;
    let mut toggled = search(&functions, &mut sums, &wish.search, cancel)?;
    let finder = Finder::new(&forest, &functions, wish.opened(), wish.selected.as_ref());
    toggled.extend(finder.toggled(wish.opened()));
    let mut selected = wish.selected.as_ref().and_then(|way| finder.node(way));
    let mut fulfilled = wish.clone();
    if std::mem::take(&mut fulfilled.expand) {
        let path = heaviest(&sums, wish.sort.column, selected.unwrap_or(0));
        toggled.extend(path.iter().map(|&node| (node, true)));
        if let Some(&node) = path.last().filter(|&&node| node != 0) {
            let way = way(&forest, &functions, node);
            fulfilled.opened_mut().open_way(&way);
            fulfilled.middle = match forest.key(node) {
                NodeKey::Function(_) => way.last().cloned(),
                _ => None,
            };
            (fulfilled.selected, selected) = (Some(way), Some(node));
        }
    }
    let lines = call_tree(&functions, &sums, wish.sort, &toggled, cancel)?;
    let selected = selected.and_then(|node| lines.iter().position(|line| line.node == node));
    let whole = sums.numbers(0);
    // Of changes a part can be more than the whole.
    let sizes = lines.iter().map(|line| &line.numbers).chain([&whole]);
    let scale = sizes.map(|numbers| magnitude(wish.sort.column, numbers)).max().unwrap_or(0);
    let asked = butterfly::Asked { middle: fulfilled.middle.as_ref(), process: fulfilled.process, layer: *layer };
    let butterfly = butterfly::of(&asked, &functions, &totals, ground)?;
    Ok(CallTable {
        asked: wish.clone(),
        fulfilled,
        layer: *layer,
        interval: ground.interval(),
        trace,
        whole,
        scale,
        functions,
        forest,
        lines,
        peaks: None,
        selected,
        butterfly,
    })
}

/// Adds the peaks of all lines, and puts those into their order if it is wished.
pub fn add_peaks(table: &mut CallTable, ground: &mut Ground<'_>) -> Result<(), Cancelled> {
    let totals = ground.totals()?;
    let tree = (&*table.forest, table.lines.as_slice());
    let mut peaks = call_tree_peaks(&ground.index, &totals, &ground.mask, table.layer, tree, ground.cancel)?;
    let sort = table.asked.sort;
    if sort.column == Column::Peak {
        table.scale = peaks.iter().copied().max().unwrap_or(0);
        let selected = table.selected.map(|index| table.lines[index].node);
        (table.lines, peaks) = sort_call_tree_by_peak(&table.lines, &peaks, sort.descending);
        table.selected = selected.and_then(|node| table.lines.iter().position(|line| line.node == node));
    }
    table.peaks = Some(peaks);
    Ok(())
}

fn way(forest: &Forest, functions: &Functions, node: u32) -> Way {
    forest.way(node).into_iter().map(|key| node_name(functions, key).into()).collect()
}

/// The way from a node to what is heaviest under it. Where nothing has changed, by size; where
/// no child has half of all, one step to the largest and on from there.
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
