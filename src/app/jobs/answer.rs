//! Answers a query part by part, reusing results kept from earlier queries. The active view comes first.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Instant;

use eframe::egui;

use super::ahead::{BandKey, PartKey, ViewKey};
use super::ask::{Ask, Request};
use super::inbox::Inbox;
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
    send: &'a Sender<Answer>,
    ctx: &'a egui::Context,
    inbox: &'a Inbox,
    /// When only what takes longer was left.
    pub(super) shown: Cell<Option<Instant>>,
}

impl<'a> AnswerTo<'a> {
    pub(super) fn new(send: &'a Sender<Answer>, ctx: &'a egui::Context, inbox: &'a Inbox) -> Self {
        Self { send, ctx, inbox, shown: Cell::new(None) }
    }

    pub(super) fn tell(&self, answer: Answer) {
        let _ = self.send.send(answer); // the receiver is gone once the trace is closed
        self.ctx.request_repaint();
    }

    /// Notes whether some parts had been made ahead.
    pub(super) fn count(&self, is_made: bool) {
        self.inbox.parts[usize::from(!is_made)].fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that only what takes longer is left.
    fn complete(&self) {
        self.shown.set(Some(Instant::now()));
        self.inbox.completing.store(true, Ordering::Release);
        self.ctx.request_repaint();
    }
}

/// Answers a request; without a receiver, keeps the answer for the window that will probably ask for it.
pub(super) fn answer(
    Request { query, asks }: &Request,
    cancel: &Cancel,
    cache: &mut QueryCache,
    to: Option<&AnswerTo<'_>>,
) -> Result<(), Cancelled> {
    panics::reach(if to.is_some() { "query" } else { "query ahead" });
    let mut context = QueryContext::new(query, cache, cancel, to)?;
    if to.is_none() {
        // The next request in the same state needs them, also if all parts are there.
        context.totals()?;
        context.totals_of(query.view)?;
    }
    views(asks, false, &mut context)?;
    sources(query, &mut context)?;
    context.prepare_graphs()?;
    pictures(query, &mut context)?;
    if let (Some(interval), Some(to)) = (query.pins, to) {
        let sums = context.totals_of(interval)?;
        let by_heap = by_heap(&query.trace, &sums, &context.mask, cancel)?;
        to.tell(query.answer(Part::Pins { interval, by_heap }));
    }
    if query.growing {
        return Ok(()); // the costly parts would be stale at once
    }
    if let Some(to) = to {
        to.complete();
    }
    context.prepare()?;
    band(query, &mut context)?;
    views(asks, true, &mut context)?;
    committed::picture(query, &mut context)
}

/// Sends the answers of views: those before the graph, or those that take longer.
fn views(asks: &[Arc<dyn Ask>], is_complete: bool, context: &mut QueryContext<'_>) -> Result<(), Cancelled> {
    let is_asked = context.to.is_some();
    for ask in asks.iter().filter(|ask| is_asked || ask.is_made_ahead()) {
        let key = PartKey::View(ViewKey::new(ask, is_complete, context.query()));
        context.part(key, |context, tell| {
            let tell = &mut |answer| tell(Part::View(ask.view(), answer));
            if is_complete { ask.complete(context, tell) } else { ask.answer(context, tell) }
        })?;
    }
    Ok(())
}

/// Sends the times when the highlighted node was alive.
fn band(query: &Query, context: &mut QueryContext<'_>) -> Result<(), Cancelled> {
    let (rows, node) = (context.cache.rows_of(query), query.highlight.clone());
    let key = BandKey { interval: query.interval, view: query.view, bins: query.bins, rows, node };
    context.part(PartKey::LifetimeBand(key), |context, tell| {
        tell(Part::LifetimeBand(query.highlight.as_ref().map(|path| lifetime_band(query, path, context)).transpose()?));
        Ok(())
    })
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
fn sources(query: &Query, context: &mut QueryContext<'_>) -> Result<(), Cancelled> {
    let key = PartKey::Sources(query.interval, context.cache.rows_of(query));
    context.picture(key, |context, tell| {
        let trace = Arc::clone(&query.trace);
        let by_heap = by_heap(&trace, &*context.totals()?, &context.mask, context.cancel)?;
        tell(Part::Sources { trace, by_heap });
        Ok(())
    })
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
fn pictures(query: &Query, context: &mut QueryContext<'_>) -> Result<(), Cancelled> {
    let all = match (&context.cache.overview, context.to) {
        (Some(all), _) => Arc::clone(all),
        (None, None) => return Err(Cancelled), // the window has not asked for anything yet
        (None, Some(to)) => {
            let all = Arc::new(overview(context, true)?);
            to.tell(query.answer(Part::Overview(Arc::clone(&all))));
            Arc::clone(context.cache.overview.insert(all))
        }
    };
    graph(query, context)?;
    context.picture(PartKey::Left(context.cache.rows_of(query)), |context, tell| {
        let left = if query.filters.is_all() { all } else { Arc::new(overview(context, false)?) };
        tell(Part::Left(query.filters.clone(), left));
        Ok(())
    })?;
    context.picture(PartKey::Counters(query.view, query.counters.clone(), query.bins), |context, tell| {
        let lines = counter_series(&query.trace, &query.counters, query.view, query.bins, context.cancel)?;
        tell(Part::Counters { view: query.view, ids: query.counters.clone(), lines });
        Ok(())
    })?;
    overlays::picture(query, context)?;
    laid::picture(query, context)
}

/// Sends the graph's lines, unless they are unchanged.
fn graph(query: &Query, context: &mut QueryContext<'_>) -> Result<(), Cancelled> {
    let grouped = Grouped::for_query(query, context)?;
    let key = GraphKey {
        view: query.view,
        heaps: query.heaps.clone(),
        lanes: query.lanes.clone(),
        bins: query.bins,
        rows: context.cache.rows_of(query),
        split: query.split,
        arrangement: query.arrangement,
        names: grouped.need_names().then(|| context.cache.names_turn()),
    };
    context.picture(PartKey::Graph(key), |context, tell| {
        let sums = context.totals_of(query.view)?;
        let lines = Lines { index: &context.index, sums: &sums, mask: &context.mask, bins: query.bins, cancel: context.cancel };
        // Nobody waits for lines that are made ahead.
        if let Some(coarse) = context.to.and_then(|_| lines.coarse(query).transpose()).transpose()? {
            tell(Part::Graph(query.split, coarse));
        }
        tell(Part::Graph(query.split, lines.of(query, &grouped)?));
        Ok(())
    })
}
