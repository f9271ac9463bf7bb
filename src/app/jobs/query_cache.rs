//! Results that one query keeps for the next: the index, totals of intervals, types.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Query;
use super::overlays::{FramesKey, PictureKey};
use crate::app::state::answers::Overview;
use crate::app::state::filters::{Filters, Scope};
use crate::app::state::graph::{Arrangement, Split};
use crate::app::state::lanes::Lane;
use crate::model::{CounterId, HeapId, Trace};
use crate::panics;
use crate::query::{
    By, Cancel, Cancelled, CommonGroups, DiffSide, Fold, Forest, FrameLine, Functions, Index, IndexOptions, Mask, RowSet,
    SiteNames, Totals, Trimmed, Types, owners, tags, totals,
};
use crate::symbols::Names;
use crate::units::Interval;

/// Results that the next query may reuse.
#[derive(Default)]
pub struct QueryCache {
    /// Answers by scanning the rows until the prepared index is ready.
    index: Option<Arc<Index>>,
    /// The index of a growing trace, for its next publication.
    grown: Option<Arc<Index>>,
    preparing: Option<Preparing>,
    /// Whether the index was prepared, or preparing it failed.
    was_prepared: bool,
    totals: Vec<Arc<Totals>>,
    /// Small lines of all rows; and the filters of the small lines that were sent last.
    pub(super) overview: Option<Arc<Overview>>,
    pub(super) left: Option<Rows>,
    pub(super) graph: Option<GraphKey>,
    /// Types, and the names they were made from.
    types: Follows<Names, Types>,
    owners: Follows<Names, SiteNames>,
    /// Sites in the order of folding, and the names they were made from.
    trimmed: Follows<Names, Trimmed>,
    /// Functions, with and without folding, and the names they were made from.
    functions: ByFold,
    /// Tags, and the functions they were made from.
    tags: Follows<Functions, SiteNames>,
    /// Functions that freed memory.
    freeing: ByFold,
    /// Functions of CPU samples.
    sampled: Follows<Names, Functions>,
    /// Groups of a comparison, and their inputs.
    groups: Option<(GroupsOf, Arc<CommonGroups>)>,
    /// Trees over some of these functions.
    forests: Vec<(Arc<Functions>, ForestKind, Arc<Forest>)>,
    /// The rows that pass the filters.
    rows: Option<(Scope, Option<Arc<RowSet>>)>,
    /// The names of the latest query, and how often they have changed.
    named: (Option<Arc<Names>>, u64),
    pub(super) counters: Option<(Interval, Vec<CounterId>, usize)>,
    pub(super) sources: Option<(Interval, Rows)>,
    pub(super) happened: Option<PictureKey>,
    /// Frames of a swap chain with their sums.
    pub(super) frames: Option<(FramesKey, Arc<Vec<FrameLine>>)>,
}

/// The latest result made from something, kept as long as that stays the same.
struct Follows<Of, Made>(Option<(Arc<Of>, Arc<Made>)>);

impl<Of, Made> Default for Follows<Of, Made> {
    fn default() -> Self {
        Self(None)
    }
}

impl<Of, Made> Follows<Of, Made> {
    fn get(&mut self, of: &Arc<Of>, make: impl FnOnce() -> Result<Made, Cancelled>) -> Result<Arc<Made>, Cancelled> {
        if let Some((known, made)) = &self.0
            && Arc::ptr_eq(known, of)
        {
            return Ok(Arc::clone(made));
        }
        let made = Arc::new(make()?);
        self.0 = Some((Arc::clone(of), Arc::clone(&made)));
        Ok(made)
    }
}

/// Functions, with and without folding, and the names they were made from.
#[derive(Default)]
struct ByFold(Vec<(Arc<Names>, Fold, Arc<Functions>)>);

impl ByFold {
    fn get(
        &mut self,
        names: &Arc<Names>,
        fold: Fold,
        make: impl FnOnce() -> Result<Functions, Cancelled>,
    ) -> Result<Arc<Functions>, Cancelled> {
        self.0.retain(|(of, ..)| Arc::ptr_eq(of, names));
        if let Some((.., functions)) = self.0.iter().find(|(_, folded, _)| *folded == fold) {
            return Ok(Arc::clone(functions));
        }
        let functions = Arc::new(make()?);
        self.0.push((Arc::clone(names), fold, Arc::clone(&functions)));
        Ok(functions)
    }
}

/// Kinds of trees that views show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ForestKind {
    /// Outermost callers at the top.
    #[default]
    TopDown,
    /// Innermost functions at the top.
    Inverted,
    /// One level: the function that allocates.
    ByFunction,
    /// One level: the module of that function.
    ByModule,
}

/// The inputs of the groups of a comparison.
pub struct GroupsOf {
    pub names: Arc<Names>,
    /// The other trace and its names, which are freed when the user closes them.
    pub theirs: Option<(Weak<Trace>, Weak<Names>)>,
    /// The side of the open trace.
    pub ours: usize,
    pub mask: Mask,
    pub by: &'static [By],
    pub fold: Fold,
}

impl GroupsOf {
    /// Whether the other trace has been closed.
    fn is_closed(&self) -> bool {
        self.theirs.as_ref().is_some_and(|(trace, _)| trace.strong_count() == 0)
    }
}

impl PartialEq for GroupsOf {
    fn eq(&self, other: &Self) -> bool {
        let theirs = |of: &Self| of.theirs.as_ref().map(|(trace, names)| (Weak::as_ptr(trace), Weak::as_ptr(names)));
        let is_named_alike = Arc::ptr_eq(&self.names, &other.names) && theirs(self) == theirs(other);
        is_named_alike && (self.by, self.fold, self.ours) == (other.by, other.fold, other.ours) && self.mask == other.mask
    }
}

/// Number of trees kept for one state of the names.
const KEPT_FORESTS: usize = 6;

/// The inputs of the graph's lines.
#[derive(PartialEq)]
pub(super) struct GraphKey {
    pub(super) view: Interval,
    pub(super) heaps: Vec<HeapId>,
    pub(super) lanes: Vec<Lane>,
    pub(super) bins: usize,
    pub(super) rows: Rows,
    pub(super) split: Split,
    pub(super) arrangement: Arrangement,
    /// The number of the names' state, if the lines depend on names.
    pub(super) names: Option<u64>,
}

/// The rows that count: the input of every filtered result.
#[derive(Clone, PartialEq)]
pub(super) struct Rows {
    scope: Scope,
    /// The number of the names' state, if the filters need names.
    names: Option<u64>,
}

/// The index of a complete trace while it is being prepared. Dropping it stops the work.
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
                Ok(Ok(index)) => drop(send.send(index)), // the receiver is gone if the work is no longer needed
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

/// Number of intervals whose totals are kept.
const KEPT_TOTALS: usize = 6;

/// How often a query that waits for the index checks whether it was cancelled.
const PATIENCE: Duration = Duration::from_millis(4);

impl QueryCache {
    /// The index that answers queries about `trace`. While the trace grows, it is extended from
    /// publication to publication.
    pub(super) fn index(&mut self, trace: &Arc<Trace>, growing: bool, cancel: &Cancel) -> Result<Arc<Index>, Cancelled> {
        self.groups.take_if(|(of, _)| of.is_closed());
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

    /// The index, once it is prepared. Waiting for it is faster than sorting all changes of a large trace.
    pub(super) fn prepared(&mut self, index: Arc<Index>, cancel: &Cancel) -> Result<Arc<Index>, Cancelled> {
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

    /// The owners of all sites, as far as the names go.
    pub(super) fn owners(&mut self, trace: &Trace, names: &Arc<Names>, cancel: &Cancel) -> Result<Arc<SiteNames>, Cancelled> {
        self.owners.get(names, || owners(trace, names, cancel))
    }

    /// The types of all sites, as far as the names go.
    pub(super) fn types(&mut self, trace: &Trace, names: &Arc<Names>, cancel: &Cancel) -> Result<Arc<Types>, Cancelled> {
        self.types.get(names, || Types::of(trace, names, cancel))
    }

    /// The sites in the order of folding, as far as the names go. A document uses one kind of folding, or none.
    pub(super) fn trimmed(
        &mut self,
        trace: &Trace,
        names: &Arc<Names>,
        fold: Fold,
        cancel: &Cancel,
    ) -> Result<Arc<Trimmed>, Cancelled> {
        self.trimmed.get(names, || Trimmed::of(trace, names, fold, cancel))
    }

    /// A number that changes whenever the names change.
    pub(super) fn names_turn(&mut self, names: &Arc<Names>) -> u64 {
        let (known, turn) = &mut self.named;
        if known.as_ref().is_none_or(|known| !Arc::ptr_eq(known, names)) {
            *known = Some(Arc::clone(names));
            *turn += 1;
        }
        *turn
    }

    /// The functions of all sites, as far as the names go.
    pub(super) fn functions(
        &mut self,
        trace: &Trace,
        names: &Arc<Names>,
        fold: Fold,
        cancel: &Cancel,
    ) -> Result<Arc<Functions>, Cancelled> {
        self.functions.get(names, fold, || Functions::of(trace, names, fold, cancel))
    }

    /// The names that rules give to the stacks of all sites.
    pub(super) fn tags(&mut self, trace: &Trace, names: &Arc<Names>, cancel: &Cancel) -> Result<Arc<SiteNames>, Cancelled> {
        let functions = self.functions(trace, names, Fold::Nothing, cancel)?;
        self.tags.get(&functions, || tags(&functions, cancel))
    }

    /// The functions that freed memory.
    pub(super) fn freeing_functions(
        &mut self,
        trace: &Trace,
        names: &Arc<Names>,
        fold: Fold,
        cancel: &Cancel,
    ) -> Result<Arc<Functions>, Cancelled> {
        self.freeing.get(names, fold, || Functions::of_frees(trace, names, fold, cancel))
    }

    /// The functions of CPU samples.
    pub(super) fn sampled_functions(
        &mut self,
        trace: &Trace,
        names: &Arc<Names>,
        cancel: &Cancel,
    ) -> Result<Arc<Functions>, Cancelled> {
        self.sampled.get(names, || Functions::of_samples(trace, names, Fold::Nothing, cancel))
    }

    /// The groups that two sides have in common.
    pub(super) fn common_groups(
        &mut self,
        of: GroupsOf,
        sides: &[DiffSide<'_>; 2],
        cancel: &Cancel,
    ) -> Result<Arc<CommonGroups>, Cancelled> {
        if let Some((known, groups)) = &self.groups
            && *known == of
        {
            return Ok(Arc::clone(groups));
        }
        let groups = Arc::new(CommonGroups::of(sides, of.by, of.fold, cancel)?);
        self.groups = Some((of, Arc::clone(&groups)));
        Ok(groups)
    }

    /// A tree over the functions that allocated, that freed, or of samples.
    pub(super) fn forest(
        &mut self,
        functions: &Arc<Functions>,
        kind: ForestKind,
        cancel: &Cancel,
    ) -> Result<Arc<Forest>, Cancelled> {
        let is_it = |(of, known, _): &&(Arc<Functions>, ForestKind, Arc<Forest>)| Arc::ptr_eq(of, functions) && *known == kind;
        if let Some((.., forest)) = self.forests.iter().find(is_it) {
            return Ok(Arc::clone(forest));
        }
        let forest = Arc::new(match kind {
            ForestKind::TopDown => Forest::top_down(functions),
            ForestKind::Inverted => Forest::inverted(functions, cancel)?,
            ForestKind::ByFunction => Forest::by_function(functions),
            ForestKind::ByModule => Forest::by_module(functions),
        });
        self.forests.insert(0, (Arc::clone(functions), kind, Arc::clone(&forest)));
        self.forests.truncate(KEPT_FORESTS);
        Ok(forest)
    }

    /// The rows that pass the filters; `None` if all do.
    pub(super) fn rows(
        &mut self,
        trace: &Trace,
        (filters, interval): (&Filters, Interval),
        cancel: &Cancel,
    ) -> Result<Option<Arc<RowSet>>, Cancelled> {
        let filters = filters.about_rows();
        let scope = filters.scope(interval);
        if let Some((known, rows)) = &self.rows
            && *known == scope
        {
            return Ok(rows.clone());
        }
        let rows = filters.rows(trace, interval, cancel)?;
        self.rows = Some((scope, rows.clone()));
        Ok(rows)
    }

    /// The rows that a query is about.
    pub(super) fn rows_of(&mut self, query: &Query) -> Rows {
        let names = query.filters.need_names().then(|| self.names_turn(&query.names));
        Rows { scope: query.filters.scope(query.interval), names }
    }

    pub(super) fn totals(&mut self, index: &Index, interval: Interval, cancel: &Cancel) -> Result<Arc<Totals>, Cancelled> {
        let rows = |chosen: Option<&Arc<RowSet>>| chosen.map(Arc::as_ptr);
        let is_it = |known: &&Arc<Totals>| known.interval == interval && rows(known.chosen()) == rows(index.chosen());
        if let Some(known) = self.totals.iter().find(is_it) {
            return Ok(Arc::clone(known));
        }
        let new = Arc::new(totals(index, interval, cancel)?);
        self.totals.insert(0, Arc::clone(&new));
        self.totals.truncate(KEPT_TOTALS);
        Ok(new)
    }
}
