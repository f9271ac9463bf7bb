//! Answers a query part by part, reusing results kept from earlier queries. The active view comes first.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use eframe::egui;

use super::ask::Request;
use super::lines::{Grouped, Lines};
use super::query::{Answer, Part, Query};
use super::query_cache::{GraphKey, QueryCache};
use super::query_context::QueryContext;
use super::{committed, laid, overlays};
use crate::app::state::answers::{LayerOf, LifetimeBand, Overview};
use crate::app::state::graph::{GraphLine, LineOf};
use crate::model::{HeapId, SiteId};
use crate::panics;
use crate::query::{
    Cancel, Cancelled, Filter, Key, Path, SeriesOf, by_heap, counter_series, layer_of, line_of_rows, series, spans,
};

/// Bins of the small lines.
const OVERVIEW_BINS: usize = 240;

/// The receiver of answers.
pub(super) struct AnswerTo<'a> {
    pub(super) send: &'a Sender<Answer>,
    pub(super) ctx: &'a egui::Context,
    /// Set once only what takes longer is left.
    pub(super) completing: &'a AtomicBool,
}

pub(super) fn answer(
    Request { query, asks }: &Request,
    cancel: &Cancel,
    cache: &mut QueryCache,
    to: &AnswerTo<'_>,
) -> Result<(), Cancelled> {
    panics::reach("query");
    let trace = query.trace.as_ref();
    let tell = |part| {
        let _ = to.send.send(query.answer(part)); // the receiver is gone once the trace is closed
        to.ctx.request_repaint();
    };
    let mut context = QueryContext::new(query, cache, cancel)?;
    for ask in asks {
        ask.answer(&mut context, &mut |answer| tell(Part::View(ask.view(), answer)))?;
    }
    sources(query, &mut context, &tell)?;
    context.prepare()?;
    pictures(query, &mut context, &tell)?;
    if let Some(interval) = query.pins {
        let sums = context.totals_of(interval)?;
        tell(Part::Pins { interval, by_heap: by_heap(trace, &sums, &context.mask, cancel)? });
    }
    if query.growing {
        return Ok(()); // the costly parts would be stale at once
    }
    to.completing.store(true, Ordering::Release);
    to.ctx.request_repaint();
    tell(Part::LifetimeBand(query.highlight.as_ref().map(|path| lifetime_band(query, path, &context)).transpose()?));
    for ask in asks {
        ask.complete(&mut context, &mut |answer| tell(Part::View(ask.view(), answer)))?;
    }
    committed::picture(query, &mut context, &tell)
}

/// When a node of the tree was alive, and its own line.
fn lifetime_band(query: &Query, path: &Path, context: &QueryContext<'_>) -> Result<LifetimeBand, Cancelled> {
    let (trace, index, cancel) = (context.trace(), &context.index, context.cancel);
    let mut mask = Filter::under(Arc::clone(path)).mask(trace);
    mask.and(&context.mask);
    let spans = spans(index, query.interval, &mask, query.bins, cancel)?;
    let line = match (path.first(), layer_of(trace, path)) {
        (Some(&Key::Process(process)), Some(layer)) => {
            let line = line_of_rows(index, (query.interval, query.view), &mask, layer, query.bins, cancel)?;
            Some(((process, layer), GraphLine::new(trace.clock, LineOf::Layer(process, layer), line)))
        }
        _ => None,
    };
    Ok(LifetimeBand { spans, line })
}

/// Sends the filtered numbers of each source in the interval, unless they are unchanged.
fn sources(query: &Query, context: &mut QueryContext<'_>, tell: &dyn Fn(Part)) -> Result<(), Cancelled> {
    let key = (query.interval, context.cache.rows_of(query));
    if context.cache.sources.as_ref() == Some(&key) {
        return Ok(());
    }
    let trace = &query.trace;
    let by_heap = by_heap(trace, &*context.totals()?, &context.mask, context.cancel)?;
    tell(Part::Sources { trace: Arc::clone(trace), by_heap });
    context.cache.sources = Some(key);
    Ok(())
}

/// Small lines of all heaps and layers: of all rows, or of those that pass the filters.
fn overview(context: &mut QueryContext<'_>, of_all: bool) -> Result<Overview, Cancelled> {
    let trace = context.trace();
    let (index, all) = match of_all {
        true => (Arc::clone(context.all_rows()), context.all_totals_of(trace.span)?),
        false => (Arc::clone(&context.index), context.totals_of(trace.span)?),
    };
    let mask = (!of_all).then(|| Arc::clone(&context.mask));
    let counts = |site: SiteId| mask.as_ref().is_none_or(|mask| mask.classes(site) != 0);
    let draw = |of: &SeriesOf| series(&index, &all, of, OVERVIEW_BINS, context.cancel);
    let heap = |site: SiteId| counts(site).then(|| trace.site(site).heap.0);
    let heaps = draw(&SeriesOf::new(trace, trace.heaps.len(), heap))?;
    let mut heaps_of: BTreeMap<LayerOf, Vec<HeapId>> = BTreeMap::new();
    for (id, heap) in (0..).map(HeapId).zip(&trace.heaps) {
        heaps_of.entry((heap.process, heap.layer)).or_default().push(id);
    }
    // A layer with one heap uses that heap's line.
    let several: Vec<(LayerOf, &Vec<HeapId>)> =
        heaps_of.iter().map(|(&of, heaps)| (of, heaps)).filter(|(_, heaps)| heaps.len() > 1).collect();
    let mut line_of = vec![None; trace.heaps.len()];
    for (line, (_, heaps)) in (0..).zip(&several) {
        heaps.iter().for_each(|heap| line_of[heap.0 as usize] = Some(line));
    }
    let layers = draw(&SeriesOf::new(trace, several.len(), |site| line_of[heap(site)? as usize]))?;
    let layers = several.iter().map(|&(of, _)| of).zip(layers).collect();
    let only = heaps_of.iter().filter(|(_, heaps)| heaps.len() == 1).map(|(&of, heaps)| (of, heaps[0])).collect();
    Ok(Overview { heaps, layers, only })
}

/// Sends overview, graph and counters, as far as they have changed.
fn pictures(query: &Query, context: &mut QueryContext<'_>, tell: &dyn Fn(Part)) -> Result<(), Cancelled> {
    let trace = query.trace.as_ref();
    let all = match &context.cache.overview {
        Some(all) => Arc::clone(all),
        None => {
            let all = Arc::new(overview(context, true)?);
            tell(Part::Overview(Arc::clone(&all)));
            Arc::clone(context.cache.overview.insert(all))
        }
    };
    let grouped = Grouped::for_query(query, context)?;
    let graph = GraphKey {
        view: query.view,
        heaps: query.heaps.clone(),
        lanes: query.lanes.clone(),
        bins: query.bins,
        rows: context.cache.rows_of(query),
        split: query.split,
        arrangement: query.arrangement,
        names: grouped.need_names().then(|| context.cache.names_turn()),
    };
    if context.cache.graph.as_ref() != Some(&graph) {
        let sums = context.totals_of(query.view)?;
        let lines = Lines { index: &context.index, sums: &sums, mask: &context.mask, bins: query.bins, cancel: context.cancel };
        let tell = |lines| tell(Part::Graph(query.split, lines));
        if let Some(coarse) = lines.coarse(query)? {
            tell(coarse);
        }
        tell(lines.of(query, &grouped)?);
        context.cache.graph = Some(graph);
    }
    let rows = context.cache.rows_of(query);
    if context.cache.left.as_ref() != Some(&rows) {
        let left = if query.filters.is_all() { all } else { Arc::new(overview(context, false)?) };
        tell(Part::Left(query.filters.clone(), left));
        context.cache.left = Some(rows);
    }
    let counters = (query.view, query.counters.clone(), query.bins);
    if context.cache.counters.as_ref() != Some(&counters) {
        let lines = counter_series(trace, &query.counters, query.view, query.bins, context.cancel)?;
        tell(Part::Counters { view: query.view, ids: query.counters.clone(), lines });
        context.cache.counters = Some(counters);
    }
    overlays::picture(query, context, tell)?;
    laid::picture(query, context, tell)
}
