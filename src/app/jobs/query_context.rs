//! The common basis of all views: a trace, an interval, the filtered rows, and data prepared for them.
//! Data that several views need is made once.

use std::sync::Arc;

use super::Query;
use super::query_cache::{ForestKind, GroupsOf, QueryCache};
use crate::app::state::filters::{Chip, Filters, Known};
use crate::model::Trace;
use crate::query::{
    By, Cancel, Cancelled, CommonGroups, DiffSide, Fold, Forest, Functions, Index, Mask, RowSet, SiteNames, Totals, Trimmed,
    Types,
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
    pub(super) cache: &'a mut QueryCache,
}

impl<'a> QueryContext<'a> {
    pub(super) fn new(query: &'a Query, cache: &'a mut QueryCache, cancel: &'a Cancel) -> Result<Self, Cancelled> {
        let all = cache.index(&query.trace, query.growing, cancel)?;
        let rows = cache.rows(&query.trace, (&query.filters, query.interval), cancel)?;
        let mut context = Self {
            index: Arc::clone(&all),
            mask: Arc::new(Mask::all(&query.trace)),
            cancel,
            query,
            all,
            rows,
            known: Known::default(),
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

    /// Waits for the index that is being prepared.
    pub(super) fn prepare(&mut self) -> Result<(), Cancelled> {
        self.all = self.cache.prepared(Arc::clone(&self.all), self.cancel)?;
        self.choose();
        Ok(())
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
        self.cache.totals(&self.index, interval, self.cancel)
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
        let mask = sides[ours].mask.clone();
        let of = GroupsOf { names: Arc::clone(self.names()), theirs, ours, mask, by, fold: self.folds() };
        self.cache.common_groups(of, sides, self.cancel)
    }

    /// The totals of an interval over all rows.
    pub fn all_totals_of(&mut self, interval: Interval) -> Result<Arc<Totals>, Cancelled> {
        self.cache.totals(&self.all, interval, self.cancel)
    }

    /// The owners of all sites, as far as names are known.
    pub fn owners(&mut self) -> Result<Arc<SiteNames>, Cancelled> {
        self.cache.owners(&self.query.trace, &self.query.names, self.cancel)
    }

    /// The types of all sites, as far as names are known.
    pub fn types(&mut self) -> Result<Arc<Types>, Cancelled> {
        self.cache.types(&self.query.trace, &self.query.names, self.cancel)
    }

    /// The sites in the order that folding gives them, if the user wants folding.
    pub fn trimmed(&mut self) -> Result<Option<Arc<Trimmed>>, Cancelled> {
        let fold = self.folds();
        let wants = fold.is_any().then(|| self.cache.trimmed(&self.query.trace, &self.query.names, fold, self.cancel));
        wants.transpose()
    }

    /// The functions of all sites, without folding.
    pub fn functions(&mut self) -> Result<Arc<Functions>, Cancelled> {
        self.cache.functions(&self.query.trace, &self.query.names, Fold::Nothing, self.cancel)
    }

    /// The functions of all sites, folded as the user wants.
    pub fn folded_functions(&mut self) -> Result<Arc<Functions>, Cancelled> {
        self.cache.functions(&self.query.trace, &self.query.names, self.folds(), self.cancel)
    }

    /// The names that rules give to the stacks of all sites.
    pub fn tags(&mut self) -> Result<Arc<SiteNames>, Cancelled> {
        self.cache.tags(&self.query.trace, &self.query.names, self.cancel)
    }

    /// A tree over [`QueryContext::folded_functions`].
    pub fn forest(&mut self, kind: ForestKind) -> Result<Arc<Forest>, Cancelled> {
        let functions = self.folded_functions()?;
        self.cache.forest(&functions, kind, self.cancel)
    }

    /// The functions that freed memory, folded like [`QueryContext::folded_functions`], and a tree over them.
    pub fn freeing(&mut self, kind: ForestKind) -> Result<(Arc<Functions>, Arc<Forest>), Cancelled> {
        let (trace, names) = (&self.query.trace, &self.query.names);
        let functions = self.cache.freeing_functions(trace, names, self.folds(), self.cancel)?;
        let forest = self.cache.forest(&functions, kind, self.cancel)?;
        Ok((functions, forest))
    }

    /// The functions of CPU samples, without folding, and a tree over them.
    pub fn sampled(&mut self, kind: ForestKind) -> Result<(Arc<Functions>, Arc<Forest>), Cancelled> {
        let (trace, names) = (&self.query.trace, &self.query.names);
        let functions = self.cache.sampled_functions(trace, names, self.cancel)?;
        let forest = self.cache.forest(&functions, kind, self.cancel)?;
        Ok((functions, forest))
    }
}
