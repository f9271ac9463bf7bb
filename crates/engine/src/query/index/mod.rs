//! The index: data that is prepared once for a trace, so that every further interval and filter costs milliseconds,
//! however many events there are:
//!
//! - [`table`]: sums of all sites at checkpoints and at pairs of them, for totals;
//! - [`site_parts`]: where the rows of each site are, for lists of single allocations;
//! - [`drawn`]: the activity of each heap in each block of events, and of each layer of a process, for graphs and peaks; and that of
//!   the filters queried last.
//!
//! Both use [`order`], the order of births and deaths. For a growing trace there are the blocks, and instead of the
//! table the sums that were queried ([`incremental_totals`]), which each publication derives from the previous one. If sizes are
//! so large that sums could overflow, nothing is prepared and queries scan the rows. [`Index`] covers all these cases.

mod blocks;
mod checkpoints;
mod climb;
mod cut;
mod draft;
mod drawn;
mod edge_rows;
mod edges;
mod feed;
mod groups;
mod incremental_totals;
mod layers;
mod lines;
mod lock;
mod options;
mod order;
mod outliving;
mod pyramid;
mod site_parts;
mod spare;
mod sweep;
mod table;
mod words;

use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::bins::Bins;
use super::fold::{Visit, VisitedChunk};
use super::series_of::SeriesOf;
use super::{Bucket, ByClass, Cancel, Cancelled, RowSet};
use crate::model::Trace;
use crate::units::Interval;
use drawn::Drawn;
use edges::SumChanges;
use incremental_totals::IncrementalTotals;
use layers::Layers;
pub(super) use lines::Line;
use lock::lock;
pub use options::IndexOptions;
pub(super) use options::Surveys;
use order::EventOrder;
use site_parts::AwaitedParts;
pub(super) use site_parts::SiteParts;
pub(super) use spare::SpareSums;
use table::SumTable;

/// Memory that sums at checkpoints may always use.
const LEAST_TABLE: usize = 24 << 20;

/// Rows of a trace from which on data for graphs pays for a single query.
const LARGE: usize = 1 << 18;

/// A trace with its prepared data, and the selection of rows that queries see. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Index {
    trace: Arc<Trace>,
    prepared: Arc<Prepared>,
    /// The selected rows; `None` for all.
    chosen: Option<Arc<RowSet>>,
}

#[derive(Default, Debug)]
struct Prepared {
    ordered: Option<Arc<Ordered>>,
    drawn: Option<Arc<Drawn>>,
    summed: Option<Summed>,
    /// Only in large traces: others are scanned quickly.
    parts: Option<AwaitedParts>,
    /// Only for a growing trace.
    incremental: Option<IncrementalTotals>,
    surveys: Surveys,
}

/// The prepared data for selected rows: none.
static NOTHING: Prepared =
    Prepared { ordered: None, drawn: None, summed: None, parts: None, incremental: None, surveys: Surveys::Never };

/// Data that is quickly prepared if sums cannot overflow.
#[derive(Debug)]
struct Ordered {
    order: EventOrder,
    /// Upper bound of the bytes of all rows together.
    size: u128,
    /// Sums of all rows of each site, unless the trace grows.
    by_site: Option<Vec<Bucket>>,
}

impl Ordered {
    /// Returns `None` if sums could overflow.
    fn new(trace: &Trace, size: u128, by_site: Option<Vec<Bucket>>) -> Option<Arc<Self>> {
        (size <= i64::MAX as u128).then(|| Arc::new(Self { order: EventOrder::new(&trace.rows), size, by_site }))
    }

    fn heap_bytes(&self) -> usize {
        self.order.heap_bytes() + self.by_site.as_ref().map_or(0, Vec::capacity) * size_of::<Bucket>()
    }
}

#[derive(Debug)]
struct Summed {
    table: SumTable,
    /// Buffers for the changes of workers, all 0; a new buffer costs more than many queries.
    scratch: Mutex<Vec<SumChanges>>,
    spare: Arc<SpareSums>,
}

impl Index {
    /// Creates an index without prepared data: queries scan the rows.
    pub fn scan(trace: Arc<Trace>) -> Self {
        Self::new(trace, Prepared::default())
    }

    fn new(trace: Arc<Trace>, prepared: Prepared) -> Self {
        Self { trace, prepared: Arc::new(prepared), chosen: None }
    }

    /// Prepares only what pays for a single query: no sums, but the order of events. Cost: a pass over the sizes.
    pub fn for_one_question(trace: Arc<Trace>, cancel: &Cancel) -> Result<Self, Cancelled> {
        let (by_site, size) = table::whole_sites(&trace, cancel)?;
        let ordered = Ordered::new(&trace, size, Some(by_site));
        Ok(Self::new(trace, Prepared { ordered, ..Prepared::default() }))
    }

    /// Prepares what pays for a query that draws graphs: in large traces also the activity of heaps by block, since sorting all
    /// events takes longer. Cost: a pass over the sizes, and in large traces one over the rows and one over the deaths.
    pub fn for_graphs(trace: Arc<Trace>, cancel: &Cancel) -> Result<Self, Cancelled> {
        let index = Self::for_one_question(trace, cancel)?;
        if index.trace.rows.len() < LARGE { Ok(index) } else { index.with_graphs(&IndexOptions::default(), (None, None), cancel) }
    }

    /// Prepares everything: [`Index::begin`], then [`Index::finish`].
    pub fn build(trace: Arc<Trace>, options: &IndexOptions, cancel: &Cancel) -> Result<Self, Cancelled> {
        Self::begin(trace, None, options, cancel)?.finish(options, cancel)
    }

    /// Prepares what all graphs of a complete trace need, reusing the blocks of `earlier`, a publication. Cost: a pass over the
    /// sizes, one over the rows and one over the deaths, parallel; the last two only over the events after those blocks.
    pub fn begin(trace: Arc<Trace>, earlier: Option<&Self>, options: &IndexOptions, cancel: &Cancel) -> Result<Self, Cancelled> {
        let earlier = earlier.filter(|earlier| trace.continues(&earlier.trace));
        let drawn = earlier.and_then(|earlier| earlier.prepared.drawn.as_deref());
        let layers = Some(Layers::of(&trace)).filter(Layers::differ_from_heaps);
        Self::for_one_question(trace, cancel)?.with_graphs(options, (drawn, layers), cancel)
    }

    /// Adds to what [`Index::begin`] has prepared all that other queries need. Cost: two passes over the rows and one over the
    /// deaths, parallel; and one over the sites of large traces, which goes on afterwards.
    pub fn finish(&self, options: &IndexOptions, cancel: &Cancel) -> Result<Self, Cancelled> {
        let Self { trace, prepared, .. } = self;
        let (ordered, drawn) = (prepared.ordered.clone(), prepared.drawn.clone());
        let mut prepared = Prepared { drawn, ..Prepared::default() };
        if let Some(Ordered { order, by_site: Some(by_site), .. }) = ordered.as_deref() {
            let budget = trace.rows.len().saturating_mul(options.bytes_a_row).max(LEAST_TABLE);
            let table = SumTable::build(trace, order, by_site, budget, options.checkpoints, cancel)?;
            prepared.summed = Some(Summed { table, scratch: Mutex::default(), spare: Arc::default() });
            prepared.parts = match options.parts {
                Some(true) => Some(AwaitedParts::of(SiteParts::of(trace, by_site, cancel)?)),
                None if trace.rows.len() >= LARGE => Some(AwaitedParts::search(trace, by_site)),
                Some(false) | None => None,
            };
            prepared.surveys = Surveys::of(options.surveys);
        }
        Ok(Self::new(Arc::clone(trace), Prepared { ordered, ..prepared }))
    }

    /// Adds the activity of heaps by block, and of layers; see [`Drawn::new`].
    fn with_graphs(
        self,
        options: &IndexOptions,
        known: (Option<&Drawn>, Option<Layers>),
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let ordered = self.prepared.ordered.clone();
        let drawn = |ordered: &Arc<Ordered>| Drawn::new(&self.trace, &ordered.order, options, known, cancel);
        let drawn = ordered.as_ref().map(drawn).transpose()?.map(Arc::new);
        Ok(Self::new(Arc::clone(&self.trace), Prepared { ordered, drawn, ..Prepared::default() }))
    }

    /// Prepares the data for a growing trace, reusing that of `earlier`, a previous publication, which loses its sums.
    /// Cost: a pass over the new events and those of the last stretch.
    pub fn grown(trace: Arc<Trace>, earlier: Option<&Self>, options: &IndexOptions, cancel: &Cancel) -> Result<Self, Cancelled> {
        let earlier = earlier.filter(|earlier| trace.continues_sites(&earlier.trace));
        let known = earlier.and_then(|earlier| Some((earlier, earlier.prepared.ordered.as_deref()?)));
        let (first, size) = known.map_or((0, 0), |(earlier, ordered)| (earlier.trace.rows.len(), ordered.size));
        let Some(ordered) = Ordered::new(&trace, size + table::size_from(&trace.rows, first), None) else {
            return Ok(Self::scan(trace));
        };
        let drawn = known.and_then(|(earlier, _)| earlier.prepared.drawn.as_deref());
        let drawn = Drawn::new(&trace, &ordered.order, options, (drawn, Some(Layers::of(&trace))), cancel)?;
        let incremental =
            known.and_then(|(earlier, _)| Some(earlier.prepared.incremental.as_ref()?.on(&earlier.trace.rows, &trace)));
        let (incremental, drawn) = (Some(incremental.unwrap_or_default()), Some(Arc::new(drawn)));
        Ok(Self::new(trace, Prepared { ordered: Some(ordered), drawn, incremental, ..Prepared::default() }))
    }

    /// Returns an index of the same trace whose queries see only these rows: sums come from scans, graphs and peaks
    /// from the order of events. `None` selects all rows again, with the prepared data. Cost: nothing.
    pub fn choosing(&self, rows: Option<Arc<RowSet>>) -> Self {
        Self { chosen: rows, ..self.clone() }
    }

    /// Returns the selected rows; `None` for all.
    pub fn chosen(&self) -> Option<&Arc<RowSet>> {
        self.chosen.as_ref()
    }

    /// Returns the selected rows for scanning.
    pub(super) fn visit(&self) -> Visit<'_> {
        Visit { rows: &self.trace.rows, chosen: self.chosen.as_deref() }
    }

    /// Calls `each` with the selected rows, chunk by chunk, on all workers; see [`Visit::fold`].
    pub(super) fn fold<'a, S: Send>(
        &'a self,
        cancel: &Cancel,
        new: impl Fn() -> S + Sync,
        each: impl Fn(&mut S, &VisitedChunk<'a>) + Sync,
    ) -> Result<Vec<S>, Cancelled> {
        self.visit().fold(cancel, new, each)
    }

    /// Returns the data prepared for the selected rows.
    fn prepared(&self) -> &Prepared {
        if self.chosen.is_some() { &NOTHING } else { &self.prepared }
    }

    fn ordered(&self) -> Option<&Ordered> {
        self.prepared().ordered.as_deref()
    }

    /// Returns the trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns whether debug builds check results from prepared data against scans.
    pub(super) fn is_checked(&self) -> bool {
        self.trace.rows.len() <= 4096
    }

    /// Returns the trace for sharing.
    pub fn shared_trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Returns whether totals are computed without scanning the rows.
    pub fn is_prepared(&self) -> bool {
        self.prepared().summed.is_some()
    }

    /// Returns whether graphs are drawn from prepared data.
    pub fn is_drawn(&self) -> bool {
        self.prepared().drawn.is_some()
    }

    /// Returns whether graphs are drawn from prepared data even for selected rows.
    pub(super) fn is_drawn_at_all(&self) -> bool {
        self.prepared.drawn.is_some()
    }

    /// Returns the number of rows and events visited for the totals of a growing trace.
    pub fn looks(&self) -> u64 {
        self.prepared.incremental.as_ref().map_or(0, IncrementalTotals::looks)
    }

    /// Returns whether both have some blocks in common, because one was made from the other.
    pub fn shares_blocks(&self, other: &Self) -> bool {
        let drawn = |index: &Self| index.prepared.drawn.clone();
        drawn(self).zip(drawn(other)).is_some_and(|(ours, theirs)| ours.shares_stretches(&theirs))
    }

    /// Returns the bytes of what is kept for each site (sums at checkpoints, parts of the rows), and of everything else.
    pub fn heap_bytes(&self) -> (usize, usize) {
        let Prepared { ordered, drawn, summed, parts, incremental, .. } = &*self.prepared;
        let ordered = ordered.as_deref().map_or(0, Ordered::heap_bytes);
        let drawn = drawn.as_deref().map_or(0, Drawn::heap_bytes);
        let incremental = incremental.as_ref().map_or(0, IncrementalTotals::heap_bytes);
        let parts = parts.as_ref().and_then(AwaitedParts::get).map_or(0, |parts| parts.heap_bytes());
        let Some(Summed { table, scratch, spare }) = summed else { return (0, ordered + drawn + incremental) };
        let scratch = lock(scratch).iter().map(SumChanges::heap_bytes).sum::<usize>();
        (table.heap_bytes() + parts, ordered + drawn + scratch + spare.heap_bytes())
    }
}

/// Totals.
impl Index {
    /// Returns the sums of all sites by lifetime class, from the nearest checkpoints, or for a growing trace from
    /// earlier queries; `None` without prepared data.
    pub(super) fn totals(&self, interval: Interval, cancel: &Cancel) -> Result<Option<Arc<Vec<ByClass>>>, Cancelled> {
        let Some(Ordered { order, .. }) = self.ordered() else { return Ok(None) };
        if let Some(incremental) = &self.prepared().incremental {
            return incremental.totals(&self.trace, order, interval, cancel).map(Some);
        }
        let Some(Summed { table, scratch, spare }) = &self.prepared().summed else { return Ok(None) };
        let moment = |t| (t, order.place(&self.trace.rows, t));
        let (from, to) = (moment(interval.from), moment(interval.to));
        let base = table.base(from, to);
        let no_changes = || {
            let kept = lock(scratch).pop();
            kept.unwrap_or_else(|| table.no_changes())
        };
        let mut parts = table.walk(&base, from, to).run(&self.trace, no_changes, cancel)?;
        let by_site = table.classes(&base, &parts, spare.take(self.trace.sites.len()));
        parts.par_iter_mut().for_each(SumChanges::clear);
        lock(scratch).append(&mut parts);
        Ok(Some(Arc::new(by_site)))
    }

    /// Returns the place for sums that are no longer used, if [`Index::totals`] takes them from there.
    pub(super) fn spare_sums(&self) -> Option<&Arc<SpareSums>> {
        self.prepared().summed.as_ref().map(|summed| &summed.spare)
    }

    /// Returns the parts of the rows in which each site occurs, if they are known.
    pub(super) fn site_parts(&self) -> Option<&Arc<SiteParts>> {
        self.prepared.parts.as_ref()?.get()
    }

    /// Returns count and size of all rows of each site, if they are known.
    pub(super) fn by_site(&self) -> Option<&[Bucket]> {
        self.ordered()?.by_site.as_deref()
    }

    /// Returns the numbers of births and deaths inside an interval, and of rows alive at its left edge, from positions
    /// in the event order and without visiting rows.
    pub(super) fn counts(&self, interval: Interval) -> Option<(u64, u64, u64)> {
        let order = &self.ordered()?.order;
        let place = |t| order.place(&self.trace.rows, t);
        let (from, to) = (place(interval.from), place(interval.to));
        let born = |place| EventOrder::born(&self.trace.rows, place);
        Some((born(to) - born(from), u64::from(to.death - from.death), born(from) - u64::from(from.death)))
    }
}

/// Series.
impl Index {
    /// Returns the bins of a graph, with edges moved to block starts so that no block has to be split.
    pub(super) fn bins(&self, interval: Interval, count: usize) -> Bins {
        let mut bins = Bins::new(interval, count);
        if let Some(drawn) = &self.prepared.drawn {
            bins.move_edges(|edge| drawn.nearest_start(edge));
        }
        bins
    }

    /// Returns the steps of each series by bin; `None` without prepared data.
    pub(super) fn lines(
        &self,
        interval: Interval,
        of: &SeriesOf,
        bins: &Bins,
        cancel: &Cancel,
    ) -> Result<Option<Vec<Line>>, Cancelled> {
        let Prepared { ordered: Some(ordered), drawn: Some(drawn), .. } = &*self.prepared else { return Ok(None) };
        drawn.lines(&self.trace, &ordered.order, (interval, of, bins), self.chosen.as_ref(), cancel)
    }

    /// Returns whether the lines of a graph take long, because these series of these rows were not queried before.
    pub fn is_slow(&self, interval: Interval, of: &SeriesOf) -> bool {
        let Some(drawn) = &self.prepared.drawn else { return false };
        drawn.is_slow(&self.trace, interval, of, self.chosen.as_ref())
    }

    /// Returns how peaks of many rows are computed.
    pub(super) fn surveys(&self) -> Surveys {
        self.prepared().surveys
    }

    /// Returns whether every series is one whole heap and the prepared data applies.
    pub(super) fn knows(&self, of: &SeriesOf) -> bool {
        self.prepared().drawn.is_some() && drawn::is_of_heaps(&self.trace, of)
    }
}
