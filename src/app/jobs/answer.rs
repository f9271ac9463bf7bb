//! How a query is answered: part by part, with what is kept of the ones before. The view in
//! sight comes first.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use eframe::egui;

use super::kept::{GraphKey, Kept};
use super::lines::Lines;
use super::{Answer, Ground, Part, Query};
use crate::app::graph::Split;
use crate::panics;
use crate::query::{Cancel, Cancelled, Mask, SeriesOf, by_heap, counter_series, series, spans, unmatched_groups};

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
    let lives = match &query.highlight {
        Some(filter) => {
            let mut mask = filter.mask(trace);
            mask.and(&ground.mask);
            spans(&ground.index, query.interval, &mask, query.bins, cancel)?
        }
        None => Vec::new(),
    };
    tell(Part::Spans(lives));
    for ask in &query.asks {
        ask.complete(&mut ground, &mut |answer| tell(Part::View(ask.view(), answer)))?;
    }
    Ok(())
}

/// What each heap has, and by how much it has changed.
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
    let changes = all.as_ref().unwrap_or(&left).iter().map(|sums| sums.numbers().impacting).collect();
    tell(Part::Sources { trace: Arc::clone(trace), by_heap: left, changes });
    ground.kept.sources = Some(key);
    Ok(())
}

/// Overview, graph and counters, as far as they are not what they were.
fn pictures(query: &Query, ground: &mut Ground<'_>, tell: &dyn Fn(Part)) -> Result<(), Cancelled> {
    let trace = query.trace.as_ref();
    if !ground.kept.overview_done {
        let all = ground.all_totals_of(trace.span)?;
        let of = SeriesOf::new(trace, trace.heaps.len(), |site| Some(trace.site(site).heap.0));
        tell(Part::Overview(series(ground.all_rows(), &all, &of, OVERVIEW_BINS, ground.cancel)?));
        let (groups, all) = unmatched_groups(trace, UNMATCHED_GROUPS);
        tell(Part::Unmatched(groups, all));
        ground.kept.overview_done = true;
    }
    let by_type = query.split != Split::Heaps;
    let types = by_type.then(|| ground.types()).transpose()?;
    let needs_names = by_type || query.filters.need_names();
    let graph = GraphKey {
        view: query.view,
        heaps: query.heaps.clone(),
        bins: query.bins,
        filters: query.filters.clone(),
        split: query.split,
        names: needs_names.then(|| ground.kept.names_turn(&query.names)),
    };
    if ground.kept.graph.as_ref() != Some(&graph) {
        let sums = ground.totals_of(query.view)?;
        let lines = Lines { index: &ground.index, sums: &sums, mask: &ground.mask, bins: query.bins, cancel: ground.cancel };
        if let Some(coarse) = lines.coarse(query)? {
            tell(Part::Graph(query.split, coarse));
        }
        tell(Part::Graph(query.split, lines.of(query, types.as_deref())?));
        ground.kept.graph = Some(graph);
    }
    let counters = (query.view, query.counters.clone(), query.bins);
    if ground.kept.counters.as_ref() != Some(&counters) {
        let lines = counter_series(trace, &query.counters, query.view, query.bins, ground.cancel)?;
        tell(Part::Counters { view: query.view, ids: query.counters.clone(), lines });
        ground.kept.counters = Some(counters);
    }
    Ok(())
}
