//! What views stand on: a trace, an interval, the rows that the filters leave, and what is
//! prepared for them. What several views want is made once.

use std::sync::Arc;

use super::Query;
use super::kept::Kept;
use crate::app::filters::Filters;
use crate::model::Trace;
use crate::query::{Cancel, Cancelled, Index, Mask, Totals, Types};
use crate::units::Interval;

/// See the module.
pub struct Ground<'a> {
    pub index: Arc<Index>,
    /// Sites and classes that the filters leave.
    pub mask: Arc<Mask>,
    pub cancel: &'a Cancel,
    query: &'a Query,
    pub(super) kept: &'a mut Kept,
}

impl<'a> Ground<'a> {
    pub(super) fn new(query: &'a Query, kept: &'a mut Kept, cancel: &'a Cancel) -> Result<Self, Cancelled> {
        let index = kept.index(&query.trace, query.growing, cancel)?;
        let types = query.filters.need_types().then(|| kept.types(&query.trace, &query.tree.names, cancel)).transpose()?;
        let mask = Arc::new(query.filters.mask(&query.trace, types.as_deref(), |_| true));
        Ok(Self { index, mask, cancel, query, kept })
    }

    /// Waits for all that is being prepared.
    pub(super) fn prepare(&mut self) -> Result<(), Cancelled> {
        self.index = self.kept.prepared(Arc::clone(&self.index), self.cancel)?;
        Ok(())
    }

    pub fn trace(&self) -> &'a Trace {
        &self.query.trace
    }

    /// What the views are about.
    pub fn interval(&self) -> Interval {
        self.query.interval
    }

    pub fn filters(&self) -> &'a Filters {
        &self.query.filters
    }

    /// The sums of the interval.
    pub fn totals(&mut self) -> Result<Arc<Totals>, Cancelled> {
        self.totals_of(self.query.interval)
    }

    /// The sums of another interval.
    pub fn totals_of(&mut self, interval: Interval) -> Result<Arc<Totals>, Cancelled> {
        self.kept.totals(&self.index, interval, self.cancel)
    }

    /// The types of all sites, as far as names are known.
    pub fn types(&mut self) -> Result<Arc<Types>, Cancelled> {
        self.kept.types(&self.query.trace, &self.query.tree.names, self.cancel)
    }
}
