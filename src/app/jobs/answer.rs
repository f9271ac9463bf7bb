//! How a query is answered: part by part, with what is kept of the ones before.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use eframe::egui;

use super::{Answer, Part, Query};
use crate::model::{CounterId, HeapId, Trace};
use crate::panics;
use crate::query::{
    Cancel, Cancelled, Column, Filter, Index, IndexOptions, SeriesOf, Totals, Tree, by_heap, counter_series, peaks, series,
    sort_by_peak, spans, totals, tree, unmatched_groups,
};
use crate::units::Interval;

/// Results that the next query may use again.
#[derive(Default)]
pub(super) struct Kept {
    /// Answers by scans until the prepared one is there.
    index: Option<Arc<Index>>,
    preparing: Option<Preparing>,
    totals: Vec<Arc<Totals>>,
    overview_done: bool,
    graph: Option<(Interval, Vec<HeapId>, usize, Filter)>,
    counters: Option<(Interval, Vec<CounterId>, usize)>,
}

/// The index of a complete trace on its way. Dropping it stops the work.
struct Preparing {
    cancel: Cancel,
    done: Receiver<Index>,
}

impl Preparing {
    fn start(trace: Arc<Trace>) -> Self {
        let (send, done) = channel();
        let cancel = Cancel::default();
        let theirs = cancel.clone();
        std::thread::spawn(move || {
            match panics::catch(|| Index::build(trace, &IndexOptions::default(), &theirs)) {
                Ok(Ok(index)) => drop(send.send(index)), // nobody waits any more for that of a closed document
                Ok(Err(Cancelled)) => {}
                Err(fault) => log::error!("no index, queries go on by scans: {fault}"),
            }
        });
        Self { cancel, done }
    }
}

impl Drop for Preparing {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Totals of this many intervals are kept.
const KEPT_TOTALS: usize = 4;

/// How often a query that waits for the index looks whether it is stale.
const PATIENCE: Duration = Duration::from_millis(4);

impl Kept {
    /// What there is to answer questions about `trace`.
    fn index(&mut self, trace: &Arc<Trace>) -> Arc<Index> {
        let known = self.index.take().filter(|index| Arc::ptr_eq(index.shared_trace(), trace));
        let index = known.unwrap_or_else(|| {
            let preparing = trace.complete.then(|| Preparing::start(Arc::clone(trace)));
            *self = Self { preparing, ..Self::default() };
            Arc::new(Index::scan(Arc::clone(trace)))
        });
        let ready = self.preparing.as_ref().and_then(|preparing| preparing.done.try_recv().ok());
        self.keep(ready.map_or(index, Arc::new))
    }

    /// The same with all that is being prepared: to wait for it is faster than to sort
    /// all changes of a large trace.
    fn prepared(&mut self, index: Arc<Index>, cancel: &Cancel) -> Result<Arc<Index>, Cancelled> {
        while let Some(preparing) = &self.preparing {
            match preparing.done.recv_timeout(PATIENCE) {
                Ok(ready) => return Ok(self.keep(Arc::new(ready))),
                Err(RecvTimeoutError::Timeout) => cancel.check()?,
                Err(RecvTimeoutError::Disconnected) => self.preparing = None,
            }
        }
        Ok(index)
    }

    fn keep(&mut self, index: Arc<Index>) -> Arc<Index> {
        if index.is_prepared() {
            self.preparing = None;
        }
        self.index = Some(Arc::clone(&index));
        index
    }

    fn totals(&mut self, index: &Index, interval: Interval, cancel: &Cancel) -> Result<Arc<Totals>, Cancelled> {
        if let Some(known) = self.totals.iter().find(|t| t.interval == interval) {
            return Ok(Arc::clone(known));
        }
        let new = Arc::new(totals(index, interval, cancel)?);
        self.totals.insert(0, Arc::clone(&new));
        self.totals.truncate(KEPT_TOTALS);
        Ok(new)
    }
}

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
    let index = kept.index(&query.trace);
    let tell = |part| {
        let _ = send.send(Answer { document: query.document, part });
        ctx.request_repaint();
    };

    let sums = kept.totals(&index, query.interval, cancel)?;
    let tree = Arc::new(tree(trace, &sums, &query.tree, cancel)?);
    let table =
        |tree: &Arc<Tree>| Part::Table { interval: query.interval, trace: Arc::clone(&query.trace), tree: Arc::clone(tree) };
    tell(table(&tree));

    let index = kept.prepared(index, cancel)?;
    if !kept.overview_done {
        let all = kept.totals(&index, trace.span, cancel)?;
        let of = SeriesOf::new(trace, trace.heaps.len(), |site| Some(trace.site(site).heap.0));
        tell(Part::Overview(series(&index, &all, &of, OVERVIEW_BINS, cancel)?));
        let (groups, all) = unmatched_groups(trace, UNMATCHED_GROUPS);
        tell(Part::Unmatched(groups, all));
        kept.overview_done = true;
    }
    let graph = (query.view, query.heaps.clone(), query.bins, query.tree.filter.clone());
    if kept.graph.as_ref() != Some(&graph) {
        let sums = kept.totals(&index, query.view, cancel)?;
        let mut line_of = vec![None; trace.heaps.len()];
        query.heaps.iter().enumerate().for_each(|(i, heap)| line_of[heap.0 as usize] = Some(i as u32));
        let of = SeriesOf::new(trace, query.heaps.len(), |site| {
            line_of[trace.site(site).heap.0 as usize].filter(|_| tree.mask().classes(site) != 0)
        });
        let lines = series(&index, &sums, &of, query.bins, cancel)?;
        tell(Part::Graph { view: query.view, heaps: query.heaps.clone(), lines });
        kept.graph = Some(graph);
    }
    let counters = (query.view, query.counters.clone(), query.bins);
    if kept.counters.as_ref() != Some(&counters) {
        let lines = counter_series(trace, &query.counters, query.view, query.bins, cancel)?;
        tell(Part::Counters { view: query.view, ids: query.counters.clone(), lines });
        kept.counters = Some(counters);
    }
    if let Some(interval) = query.pins {
        let sums = kept.totals(&index, interval, cancel)?;
        tell(Part::Pins { interval, by_heap: by_heap(trace, &sums, tree.mask(), cancel)? });
    }
    if query.growing {
        return Ok(()); // what costs most would be stale at once
    }
    let lives = match &query.highlight {
        Some(filter) => spans(trace, query.interval, &filter.mask(trace), query.bins, cancel)?,
        None => Vec::new(),
    };
    tell(Part::Spans(lives));
    let (mut tree, mut peaks) = (Arc::clone(&tree), peaks(&index, query.interval, &tree, cancel)?);
    if query.tree.sort.column == Column::Peak {
        let (sorted, moved) = sort_by_peak(&tree, &peaks, query.tree.sort.descending);
        (tree, peaks) = (Arc::new(sorted), moved);
        tell(table(&tree));
    }
    tell(Part::Peaks { peaks, tree });
    Ok(())
}
