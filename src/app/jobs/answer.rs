//! How a query is answered: part by part, with what is kept of the ones before.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use eframe::egui;

use super::lines::Lines;
use super::{Answer, Part, Query};
use crate::app::answers::Table;
use crate::app::graph::Split;
use crate::app::types::TypeTable;
use crate::model::{CounterId, HeapId, Trace};
use crate::panics;
use crate::query::{
    Cancel, Cancelled, Column, Filter, Index, IndexOptions, Mask, SeriesOf, Totals, Tree, TreeRequest, TypeGroup, TypeKey, Types,
    by_heap, counter_series, peaks, series, sort_by_peak, spans, totals, tree, unmatched_groups,
};
use crate::symbols::Names;
use crate::units::Interval;

/// Results that the next query may use again.
#[derive(Default)]
pub(super) struct Kept {
    /// Answers by scans until the prepared one is there.
    index: Option<Arc<Index>>,
    /// That of a growing trace, for its next publication.
    grown: Option<Arc<Index>>,
    preparing: Option<Preparing>,
    /// Whether it was prepared, or could not be.
    was_prepared: bool,
    totals: Vec<Arc<Totals>>,
    overview_done: bool,
    graph: Option<GraphKey>,
    /// Types, and the names that they follow from.
    types: Option<(Arc<Names>, Arc<Types>)>,
    /// Counts how often types were made.
    types_turn: u64,
    counters: Option<(Interval, Vec<CounterId>, usize)>,
    /// The interval of the sources' changes.
    sources: Option<Interval>,
}

/// What the lines of a graph follow from.
#[derive(PartialEq)]
struct GraphKey {
    view: Interval,
    heaps: Vec<HeapId>,
    bins: usize,
    filter: Filter,
    chosen: Option<TypeKey>,
    split: Split,
    /// The turn of the types, if they count.
    types: Option<u64>,
}

/// The index of a trace that does not grow on its way. Dropping it stops the work.
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
    /// What there is to answer questions about `trace`; of a growing one, all that is kept up
    /// from publication to publication.
    fn index(&mut self, trace: &Arc<Trace>, growing: bool, cancel: &Cancel) -> Result<Arc<Index>, Cancelled> {
        let known = self.index.take().filter(|index| Arc::ptr_eq(index.shared_trace(), trace));
        let index = match known {
            Some(index) => index,
            None => {
                let grown = self.grown.take().filter(|grown| trace.continues(grown.trace()));
                *self = Self { grown, ..Self::default() };
                if growing {
                    let grown = Index::grown(Arc::clone(trace), self.grown.as_deref(), &IndexOptions::default(), cancel)?;
                    Arc::clone(self.grown.insert(Arc::new(grown)))
                } else {
                    Arc::new(Index::scan(Arc::clone(trace)))
                }
            }
        };
        if !growing && !std::mem::replace(&mut self.was_prepared, true) {
            self.preparing = Some(Preparing::start(Arc::clone(trace)));
        }
        let ready = self.preparing.as_ref().and_then(|preparing| preparing.done.try_recv().ok());
        Ok(self.keep(ready.map_or(index, Arc::new)))
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

    /// The types of all sites, as far as the names go.
    fn types(&mut self, trace: &Trace, names: &Arc<Names>, cancel: &Cancel) -> Result<Arc<Types>, Cancelled> {
        if let Some((of, types)) = &self.types
            && Arc::ptr_eq(of, names)
        {
            return Ok(Arc::clone(types));
        }
        let types = Arc::new(Types::of(trace, names, cancel)?);
        self.types = Some((Arc::clone(names), Arc::clone(&types)));
        self.types_turn += 1;
        Ok(types)
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
    let index = kept.index(&query.trace, query.growing, cancel)?;
    let tell = |part| {
        let _ = send.send(query.answer(part));
        ctx.request_repaint();
    };

    let sums = kept.totals(&index, query.interval, cancel)?;
    let by_type = query.types.chosen.is_some() || query.types.is_listed || query.split != Split::Heaps;
    let types = by_type.then(|| kept.types(trace, &query.tree.names, cancel)).transpose()?;
    let chosen = query.types.chosen.as_ref().zip(types.as_ref());
    let only = chosen.map(|(chosen, types)| Arc::new(types.mask(trace, chosen)));
    let request = TreeRequest { only: only.clone(), ..query.tree.clone() };
    let tree = Arc::new(tree(trace, &sums, &request, cancel)?);
    tell(table(query, &tree, cancel)?);
    if kept.sources != Some(query.interval) {
        let is_all = query.tree.filter.is_all() && only.is_none();
        let all = (!is_all).then(|| by_heap(trace, &sums, &Mask::all(trace), cancel)).transpose()?;
        let changes = all.as_deref().unwrap_or(tree.by_heap()).iter().map(|sums| sums.numbers().impacting);
        tell(Part::Sources(changes.collect()));
        kept.sources = Some(query.interval);
    }
    let listed = types.as_deref().filter(|_| query.types.is_listed).map(|types| Listed::of(types, query, &sums));
    listed.iter().for_each(|listed| tell(listed.part(query, None)));

    let index = kept.prepared(index, cancel)?;
    if !kept.overview_done {
        let all = kept.totals(&index, trace.span, cancel)?;
        let of = SeriesOf::new(trace, trace.heaps.len(), |site| Some(trace.site(site).heap.0));
        tell(Part::Overview(series(&index, &all, &of, OVERVIEW_BINS, cancel)?));
        let (groups, all) = unmatched_groups(trace, UNMATCHED_GROUPS);
        tell(Part::Unmatched(groups, all));
        kept.overview_done = true;
    }
    let graph = GraphKey {
        view: query.view,
        heaps: query.heaps.clone(),
        bins: query.bins,
        filter: query.tree.filter.clone(),
        chosen: query.types.chosen.clone(),
        split: query.split,
        types: types.as_ref().filter(|_| only.is_some() || query.split != Split::Heaps).map(|_| kept.types_turn),
    };
    if kept.graph.as_ref() != Some(&graph) {
        let sums = kept.totals(&index, query.view, cancel)?;
        let lines = Lines { index: &index, sums: &sums, mask: tree.mask(), bins: query.bins, cancel };
        tell(Part::Graph(query.split, lines.of(query, types.as_deref())?));
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
        Some(filter) => {
            let mut mask = filter.mask(trace);
            only.iter().for_each(|only| mask.and(only));
            spans(trace, query.interval, &mask, query.bins, cancel)?
        }
        None => Vec::new(),
    };
    tell(Part::Spans(lives));
    if let Some(listed) = listed {
        let peaks = listed.types.peaks(&index, &sums, &listed.groups, &listed.mask, cancel)?;
        tell(listed.part(query, Some(peaks)));
    }
    let (mut tree, mut peaks) = (Arc::clone(&tree), peaks(&index, query.interval, &tree, cancel)?);
    if query.tree.sort.column == Column::Peak {
        let (sorted, moved) = sort_by_peak(&tree, &peaks, query.tree.sort.descending);
        (tree, peaks) = (Arc::new(sorted), moved);
        tell(table(query, &tree, cancel)?);
    }
    tell(Part::Peaks { peaks, tree });
    Ok(())
}

fn table(query: &Query, tree: &Arc<Tree>, cancel: &Cancel) -> Result<Part, Cancelled> {
    let (interval, trace, tree, search) = (query.interval, Arc::clone(&query.trace), Arc::clone(tree), query.tree.search.clone());
    let found = tree.first_found(&trace, &search, cancel)?;
    Ok(Part::Table(Table { interval, trace, tree, search, found }))
}

/// The table of types. It goes on showing the others if one is chosen.
struct Listed<'a> {
    types: &'a Types,
    mask: Mask,
    groups: Vec<TypeGroup>,
}

impl<'a> Listed<'a> {
    fn of(types: &'a Types, query: &Query, sums: &Totals) -> Self {
        let mask = query.tree.filter.mask(&query.trace);
        let mut groups = types.groups(sums, &mask, query.types.sort);
        let wanted = query.types.search.to_lowercase();
        groups.retain(|group| group.key.name.to_lowercase().contains(&wanted));
        Self { types, groups, mask }
    }

    fn part(&self, query: &Query, peaks: Option<Vec<u64>>) -> Part {
        let sort = query.types.sort;
        let (groups, peaks) = match peaks {
            Some(peaks) if sort.column == Column::Peak => {
                let mut both: Vec<_> = self.groups.iter().cloned().zip(peaks).collect();
                both.sort_by_key(|(_, peak)| if sort.descending { !peak } else { *peak });
                let (groups, peaks): (Vec<_>, Vec<_>) = both.into_iter().unzip();
                (groups, Some(peaks))
            }
            peaks => (self.groups.clone(), peaks),
        };
        Part::Types(TypeTable { interval: query.interval, groups, peaks })
    }
}
