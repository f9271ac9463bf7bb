//! How a query is answered: part by part, with what is kept of the ones before. The view in
//! sight comes first.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use eframe::egui;

use super::happenings;
use super::kept::{GraphKey, Kept};
use super::lines::{Grouped, Lines};
use super::{Answer, Ground, Part, Query};
use crate::app::answers::{LayerOf, Lives, Overview, SourceNumbers};
use crate::app::graph::{GraphLine, LineOf};
use crate::model::HeapId;
use crate::panics;
use crate::query::{
    ByClass, Cancel, Cancelled, Filter, Key, Mask, Path, SeriesOf, by_heap, counter_series, layer_of, line_of_rows, series,
    spans, unmatched_groups,
};

/// Places of unmatched frees that are listed.
const UNMATCHED_GROUPS: usize = 32;

/// Bins of the small lines.
const OVERVIEW_BINS: usize = 240;

pub(super) fn answer(
    query: &Query,
    cancel: &Cancel,
    kept: &mut Kept,
    send: &Sender<Answer>,
    ctx: &egui::Context,
) -> Result<(), Cancelled> {
    panics::reach("query");
    let trace = query.trace.as_ref();
    let tell = |part| {
        let _ = send.send(query.answer(part));
        ctx.request_repaint();
    };
    let mut ground = Ground::new(query, kept, cancel)?;
    for ask in &query.asks {
        ask.answer(&mut ground, &mut |answer| tell(Part::View(ask.view(), answer)))?;
    }
    sources(query, &mut ground, &tell)?;
    ground.prepare()?;
    pictures(query, &mut ground, &tell)?;
    if let Some(interval) = query.pins {
        let sums = ground.totals_of(interval)?;
        tell(Part::Pins { interval, by_heap: by_heap(trace, &sums, &ground.mask, cancel)? });
    }
    if query.growing {
        return Ok(()); // what costs most would be stale at once
    }
    tell(Part::Lives(query.highlight.as_ref().map(|path| lives(query, path, &ground)).transpose()?));
    for ask in &query.asks {
        ask.complete(&mut ground, &mut |answer| tell(Part::View(ask.view(), answer)))?;
    }
    Ok(())
}

/// When a node of the tree was alive, and its own line.
fn lives(query: &Query, path: &Path, ground: &Ground<'_>) -> Result<Lives, Cancelled> {
    let (trace, index, cancel) = (ground.trace(), &ground.index, ground.cancel);
    let mut mask = Filter::under(Arc::clone(path)).mask(trace);
    mask.and(&ground.mask);
    let spans = spans(index, query.interval, &mask, query.bins, cancel)?;
    let line = match (path.first(), layer_of(trace, path)) {
        (Some(&Key::Process(process)), Some(layer)) => {
            let line = line_of_rows(index, (query.interval, query.view), &mask, layer, query.bins, cancel)?;
            Some(((process, layer), GraphLine::new(trace.clock, LineOf::Layer(process, layer), line)))
        }
        _ => None,
    };
    Ok(Lives { spans, line })
}

/// What each source has in the interval, and what the filters leave of it.
fn sources(query: &Query, ground: &mut Ground<'_>, tell: &dyn Fn(Part)) -> Result<(), Cancelled> {
    let needs_names = query.filters.need_names();
    let key = (query.interval, query.filters.clone(), needs_names.then(|| ground.kept.names_turn(&query.names)));
    if ground.kept.sources.as_ref() == Some(&key) {
        return Ok(());
    }
    let trace = &query.trace;
    let left = by_heap(trace, &*ground.totals()?, &ground.mask, ground.cancel)?;
    let all = match query.filters.is_all() {
        true => None,
        false => {
            let sums = ground.all_totals_of(query.interval)?;
            Some(by_heap(trace, &sums, &Mask::all(trace), ground.cancel)?)
        }
    };
    let numbers = |sums: &ByClass| {
        let sums = sums.numbers();
        SourceNumbers { at_end: sums.outstanding_to, change: sums.impacting }
    };
    let numbers = all.as_ref().unwrap_or(&left).iter().map(numbers).collect();
    tell(Part::Sources { trace: Arc::clone(trace), by_heap: left, numbers });
    ground.kept.sources = Some(key);
    Ok(())
}

/// Small lines of all heaps, and of all layers.
fn overview(ground: &mut Ground<'_>) -> Result<Overview, Cancelled> {
    let trace = ground.trace();
    let all = ground.all_totals_of(trace.span)?;
    let draw = |of: &SeriesOf| series(ground.all_rows(), &all, of, OVERVIEW_BINS, ground.cancel);
    let heaps = draw(&SeriesOf::new(trace, trace.heaps.len(), |site| Some(trace.site(site).heap.0)))?;
    let mut heaps_of: BTreeMap<LayerOf, Vec<HeapId>> = BTreeMap::new();
    for (id, heap) in (0..).map(HeapId).zip(&trace.heaps) {
        heaps_of.entry((heap.process, heap.layer)).or_default().push(id);
    }
    // Of the others it is that of their heap.
    let several: Vec<(LayerOf, &Vec<HeapId>)> =
        heaps_of.iter().map(|(&of, heaps)| (of, heaps)).filter(|(_, heaps)| heaps.len() > 1).collect();
    let mut line_of = vec![None; trace.heaps.len()];
    for (line, (_, heaps)) in (0..).zip(&several) {
        heaps.iter().for_each(|heap| line_of[heap.0 as usize] = Some(line));
    }
    let layers = draw(&SeriesOf::new(trace, several.len(), |site| line_of[trace.site(site).heap.0 as usize]))?;
    let layers = several.iter().map(|&(of, _)| of).zip(layers).collect();
    let only = heaps_of.iter().filter(|(_, heaps)| heaps.len() == 1).map(|(&of, heaps)| (of, heaps[0])).collect();
    Ok(Overview { heaps, layers, only })
}

/// Overview, graph and counters, as far as they are not what they were.
fn pictures(query: &Query, ground: &mut Ground<'_>, tell: &dyn Fn(Part)) -> Result<(), Cancelled> {
    let trace = query.trace.as_ref();
    if !ground.kept.overview_done {
        tell(Part::Overview(overview(ground)?));
        let (groups, all) = unmatched_groups(trace, UNMATCHED_GROUPS);
        tell(Part::Unmatched(groups, all));
        ground.kept.overview_done = true;
    }
    let grouped = Grouped::for_query(query, ground)?;
    let needs_names = grouped.need_names() || query.filters.need_names();
    let graph = GraphKey {
        view: query.view,
        heaps: query.heaps.clone(),
        lanes: query.lanes.clone(),
        bins: query.bins,
        filters: query.filters.clone(),
        split: query.split,
        arrangement: query.arrangement,
        names: needs_names.then(|| ground.kept.names_turn(&query.names)),
    };
    if ground.kept.graph.as_ref() != Some(&graph) {
        let sums = ground.totals_of(query.view)?;
        let lines = Lines { index: &ground.index, sums: &sums, mask: &ground.mask, bins: query.bins, cancel: ground.cancel };
        let tell = |lines| tell(Part::Graph(query.split, lines));
        if let Some(coarse) = lines.coarse(query)? {
            tell(coarse);
        }
        tell(lines.of(query, &grouped)?);
        ground.kept.graph = Some(graph);
    }
    let counters = (query.view, query.counters.clone(), query.bins);
    if ground.kept.counters.as_ref() != Some(&counters) {
        let lines = counter_series(trace, &query.counters, query.view, query.bins, ground.cancel)?;
        tell(Part::Counters { view: query.view, ids: query.counters.clone(), lines });
        ground.kept.counters = Some(counters);
    }
    happenings::picture(query, ground, tell)
}
