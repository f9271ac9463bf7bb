//! The common basis of all views: a trace, an interval, the filtered rows, and data prepared for them.
//! Data that several views need is made once.

use std::sync::Arc;

use super::ahead::PartKey;
use super::answer::AnswerTo;
use super::query_cache::{Asked, ForestKind, FunctionsOf, GroupsOf, QueryCache};
use super::{Part, Query};
use crate::app::state::filters::{Chip, Filters, Known};
use crate::model::Trace;
use crate::query::{
    By, Cancel, Cancelled, CommonGroups, DiffSide, Fold, Forest, Functions, Index, Mask, RowSet, SiteNames, Totals, Trimmed,
    Types, owners, tags, totals,
};
use crate::symbols::Names;
use crate::units::Interval;

/// Another trace and its names.
type OtherTrace<'a> = (&'a Arc<Trace>, &'a Arc<Names>);

/// The data with which views answer a query.
pub struct QueryContext<'a> {
    /// Covers only the rows that pass the filters.
    pub index: Arc<Index>,
    /// The sites that pass the filters.
    pub mask: Arc<Mask>,
    pub cancel: &'a Cancel,
    query: &'a Query,
    /// Covers all rows.
    all: Arc<Index>,
    rows: Option<Arc<RowSet>>,
    known: Known,
    /// The window, if it has asked.
    pub(super) to: Option<&'a AnswerTo<'a>>,
    pub(super) cache: &'a mut QueryCache,
}

impl<'a> QueryContext<'a> {
    pub(super) fn new(
        query: &'a Query,
        cache: &'a mut QueryCache,
        cancel: &'a Cancel,
        to: Option<&'a AnswerTo<'a>>,
    ) -> Result<Self, Cancelled> {
        let filters = query.filters.about_rows();
        let scope = filters.scope(query.interval);
        if to.is_none() && !(cache.is_about(query) && cache.admits_rows(&scope, &query.trace)) {
            return Err(Cancelled);
        }
        let all = cache.index(&query.trace, query.growing, cancel)?;
        cache.follow(&query.names);
        let rows = cache.rows.get(scope, Asked::by(to), || filters.rows(&query.trace, query.interval, cancel))?;
        let mut context = Self {
            index: Arc::clone(&all),
            mask: Arc::new(Mask::all(&query.trace)),
            cancel,
            query,
            all,
            rows,
            known: Known::default(),
            to,
            cache,
        };
        context.choose();
        let types = query.filters.need_types().then(|| context.types()).transpose()?;
        let functions = query.filters.need_functions().then(|| context.functions()).transpose()?;
        let tags = query.filters.need_tags().then(|| context.tags()).transpose()?;
        let owners = query.filters.need_owners().then(|| context.owners()).transpose()?;
        context.known = Known { types, functions, tags, owners };
        context.mask = Arc::new(query.filters.mask(&query.trace, &context.known, |_| true));
        Ok(context)
    }

    fn choose(&mut self) {
        self.index = match &self.rows {
            Some(rows) => Arc::new(self.all.choosing(Some(Arc::clone(rows)))),
            None => Arc::clone(&self.all),
        };
    }

    /// Waits for an index for graphs.
    pub(super) fn prepare_graphs(&mut self) -> Result<(), Cancelled> {
        self.all = self.cache.index.drawn(Arc::clone(&self.all), self.cancel)?;
        self.choose();
        Ok(())
    }

    /// Waits for the index of a complete trace.
    pub(super) fn prepare(&mut self) -> Result<(), Cancelled> {
        self.all = self.cache.index.prepared(Arc::clone(&self.all), self.cancel)?;
        self.choose();
        Ok(())
    }

    /// Whether the window has asked, or is expected to ask.
    pub(super) fn asked(&self) -> Asked {
        Asked::by(self.to)
    }

    /// Sends parts of the answer: those that were made ahead from the same inputs, else new ones. Before the window asks,
    /// they are kept for it.
    pub(super) fn part(
        &mut self,
        key: PartKey,
        make: impl FnOnce(&mut Self, &mut dyn FnMut(Part)) -> Result<(), Cancelled>,
    ) -> Result<(), Cancelled> {
        let query = self.query;
        let Some(to) = self.to else {
            if self.cache.ahead.has(&key) {
                return Ok(());
            }
            let mut parts = Vec::new();
            make(self, &mut |part| parts.push(part))?;
            return if self.cache.keep_ahead(key, parts) { Ok(()) } else { Err(Cancelled) };
        };
        let made = self.cache.ahead.take(&key);
        to.count(made.is_some());
        match made {
            Some(parts) => parts.into_iter().for_each(|part| to.tell(query.answer(part))),
            None => make(self, &mut |part| to.tell(query.answer(part)))?,
        }
        if key.stays() {
            self.cache.sent.note(key);
        }
        Ok(())
    }

    /// Sends parts of the answer that the window keeps, unless it has them.
    pub(super) fn picture(
        &mut self,
        key: PartKey,
        make: impl FnOnce(&mut Self, &mut dyn FnMut(Part)) -> Result<(), Cancelled>,
    ) -> Result<(), Cancelled> {
        if self.cache.sent.has(&key) { Ok(()) } else { self.part(key, make) }
    }

    pub(super) fn query(&self) -> &'a Query {
        self.query
    }

    pub fn trace(&self) -> &'a Arc<Trace> {
        &self.query.trace
    }

    /// The interval of the query.
    pub fn interval(&self) -> Interval {
        self.query.interval
    }

    pub fn filters(&self) -> &'a Filters {
        &self.query.filters
    }

    /// Whether the trace still grows, so that costly results would be stale at once.
    pub fn grows(&self) -> bool {
        self.query.growing
    }

    /// The names known so far.
    pub fn names(&self) -> &'a Arc<Names> {
        &self.query.names
    }

    /// Which frames are folded away.
    pub fn folds(&self) -> Fold {
        self.query.fold
    }

    /// The data derived from names that the filters need.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// An index of the rows that pass the chips for which `counts` is true. Takes a pass over the rows
    /// unless that is the same as for all chips.
    pub fn index_of(&self, counts: impl Fn(&Chip) -> bool) -> Result<Arc<Index>, Cancelled> {
        let filters = self.filters().only(counts).about_rows();
        if filters == self.filters().about_rows() {
            return Ok(Arc::clone(&self.index));
        }
        Ok(Arc::new(self.all.choosing(filters.rows(self.trace(), self.interval(), self.cancel)?)))
    }

    /// An index of all rows, without filters.
    pub fn all_rows(&self) -> &Arc<Index> {
        &self.all
    }

    /// The totals of the interval.
    pub fn totals(&mut self) -> Result<Arc<Totals>, Cancelled> {
        self.totals_of(self.query.interval)
    }

    /// The totals of another interval.
    pub fn totals_of(&mut self, interval: Interval) -> Result<Arc<Totals>, Cancelled> {
        self.totals_over(&Arc::clone(&self.index), interval)
    }

    /// The totals of an interval over all rows.
    pub fn all_totals_of(&mut self, interval: Interval) -> Result<Arc<Totals>, Cancelled> {
        self.totals_over(&Arc::clone(&self.all), interval)
    }

    fn totals_over(&mut self, index: &Index, interval: Interval) -> Result<Arc<Totals>, Cancelled> {
        let of = (interval, index.chosen().map(Arc::as_ptr));
        let asked = self.asked();
        if asked == Asked::Ahead && !self.cache.admits_totals(&of, &self.query.trace) {
            return Err(Cancelled);
        }
        self.cache.totals.get(of, asked, || totals(index, interval, self.cancel).map(Arc::new))
    }

    /// The groups that two sides have in common; one side is another trace if there is one. `ours` is
    /// the side of the open trace.
    pub fn common_groups(
        &mut self,
        sides: &[DiffSide<'_>; 2],
        (theirs, ours): (Option<OtherTrace<'_>>, usize),
        by: &'static [By],
    ) -> Result<Arc<CommonGroups>, Cancelled> {
        let theirs = theirs.map(|(trace, names)| (Arc::downgrade(trace), Arc::downgrade(names)));
        let fold = self.folds();
        let of = GroupsOf { theirs, ours, mask: sides[ours].mask.clone(), by, fold };
        self.cache.named.groups.get(of, self.asked(), || CommonGroups::of(sides, by, fold, self.cancel).map(Arc::new))
    }

    /// The owners of all sites, as far as names are known.
    pub fn owners(&mut self) -> Result<Arc<SiteNames>, Cancelled> {
        let Query { trace, names, .. } = self.query;
        self.cache.named.owners.get((), self.asked(), || owners(trace, names, self.cancel).map(Arc::new))
    }

    /// The types of all sites, as far as names are known.
    pub fn types(&mut self) -> Result<Arc<Types>, Cancelled> {
        let Query { trace, names, .. } = self.query;
        self.cache.named.types.get((), self.asked(), || Types::of(trace, names, self.cancel).map(Arc::new))
    }

    /// The sites in the order that folding gives them, if the user wants folding.
    pub fn trimmed(&mut self) -> Result<Option<Arc<Trimmed>>, Cancelled> {
        let Query { trace, names, fold, .. } = self.query;
        let make = || Trimmed::of(trace, names, *fold, self.cancel).map(Arc::new);
        fold.is_any().then(|| self.cache.named.trimmed.get(*fold, self.asked(), make)).transpose()
    }

    /// The functions of all sites, without folding.
    pub fn functions(&mut self) -> Result<Arc<Functions>, Cancelled> {
        self.functions_of(FunctionsOf::Allocations(Fold::Nothing))
    }

    /// The functions of all sites, folded as the user wants.
    pub fn folded_functions(&mut self) -> Result<Arc<Functions>, Cancelled> {
        self.functions_of(FunctionsOf::Allocations(self.folds()))
    }

    fn functions_of(&mut self, of: FunctionsOf) -> Result<Arc<Functions>, Cancelled> {
        let Query { trace, names, .. } = self.query;
        let make = || match of {
            FunctionsOf::Allocations(fold) => Functions::of(trace, names, fold, self.cancel),
            FunctionsOf::Frees(fold) => Functions::of_frees(trace, names, fold, self.cancel),
            FunctionsOf::Samples => Functions::of_samples(trace, names, Fold::Nothing, self.cancel),
        };
        self.cache.named.functions.get(of, self.asked(), || make().map(Arc::new))
    }

    /// The names that rules give to the stacks of all sites.
    pub fn tags(&mut self) -> Result<Arc<SiteNames>, Cancelled> {
        let functions = self.functions()?;
        self.cache.named.tags.get((), self.asked(), || tags(&functions, self.cancel).map(Arc::new))
    }

    /// A tree over [`QueryContext::folded_functions`].
    pub fn forest(&mut self, kind: ForestKind) -> Result<Arc<Forest>, Cancelled> {
        Ok(self.forest_of(FunctionsOf::Allocations(self.folds()), kind)?.1)
    }

    /// The functions that freed memory, folded like [`QueryContext::folded_functions`], and a tree over them.
    pub fn freeing(&mut self, kind: ForestKind) -> Result<(Arc<Functions>, Arc<Forest>), Cancelled> {
        self.forest_of(FunctionsOf::Frees(self.folds()), kind)
    }

    /// The functions of CPU samples, without folding, and a tree over them.
    pub fn sampled(&mut self, kind: ForestKind) -> Result<(Arc<Functions>, Arc<Forest>), Cancelled> {
        self.forest_of(FunctionsOf::Samples, kind)
    }

    fn forest_of(&mut self, of: FunctionsOf, kind: ForestKind) -> Result<(Arc<Functions>, Arc<Forest>), Cancelled> {
        let functions = self.functions_of(of)?;
        let make = || match kind {
            ForestKind::TopDown => Ok(Forest::top_down(&functions)),
            ForestKind::Inverted => Forest::inverted(&functions, self.cancel),
            ForestKind::ByFunction => Ok(Forest::by_function(&functions)),
            ForestKind::ByModule => Ok(Forest::by_module(&functions)),
        };
        let forest = self.cache.named.forests.get((of, kind), self.asked(), || make().map(Arc::new))?;
        Ok((functions, forest))
    }
}
