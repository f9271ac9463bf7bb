//! What is prepared once for a trace, so that every further interval and filter costs
//! milliseconds, however many events there are:
//!
//! - [`table`]: sums of all sites at checkpoints and at pairs of them, for totals;
//! - [`drawn`]: what each heap does in each block of events, for graphs and peaks,
//!   and the same for the filters that were asked last.
//!
//! Both lean on [`order`], the order of births and deaths. Of a trace that grows there
//! are the blocks, and instead of the table the sums that were asked for ([`carried`]),
//! each publication's from those of the one before. Where sizes are so large that sums could overflow nothing is, and queries scan the rows:
//! [`Index`] is all of that.

mod blocks;
mod carried;
mod checkpoints;
mod cut;
mod draft;
mod drawn;
mod edges;
mod feed;
mod groups;
mod lines;
mod order;
mod pyramid;
mod sweep;
mod table;
mod words;

use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::fold::{Visit, VisitedChunk};
use super::series::{Bins, SeriesOf};
use super::{Bucket, ByClass, Cancel, Cancelled, RowSet};
use crate::model::{BLOCKS_A_ROW, SUMS_A_ROW, Trace};
use crate::units::Interval;
use carried::Carried;
use drawn::Drawn;
use edges::SumChanges;
pub(super) use lines::Line;
use order::EventOrder;
use table::SumTable;

/// How much is prepared.
#[derive(Clone, Copy, Debug)]
pub struct IndexOptions {
    /// Bytes for the sums at checkpoints, for each row of the trace.
    pub bytes_a_row: usize,
    /// So many checkpoints whatever they cost; for tests.
    pub checkpoints: Option<usize>,
    /// Events of a block; by default as many as keep an entry for each heap cheap.
    pub block: Option<usize>,
    /// Events of a stretch of blocks, which is the same in all publications; for tests.
    pub stretch: Option<usize>,
    /// Bytes for what heaps do in blocks, for each row of the trace, and for what the series
    /// that were asked before the last do; those of the last have as much for themselves.
    pub block_bytes_a_row: usize,
    /// More events than this take long to sum up when a graph is asked for.
    pub slow: u64,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self {
            bytes_a_row: SUMS_A_ROW,
            checkpoints: None,
            block: None,
            stretch: None,
            block_bytes_a_row: BLOCKS_A_ROW,
            slow: 1 << 22,
        }
    }
}

/// Sums at checkpoints may always take so much.
const LEAST_TABLE: usize = 24 << 20;

/// A trace, what is prepared to answer questions about it, and which of its rows they are
/// about. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Index {
    trace: Arc<Trace>,
    prepared: Arc<Prepared>,
    /// `None`: all rows.
    chosen: Option<Arc<RowSet>>,
}

#[derive(Default, Debug)]
struct Prepared {
    ordered: Option<Ordered>,
    drawn: Option<Drawn>,
    summed: Option<Summed>,
    /// Of a growing trace.
    carried: Option<Carried>,
}

/// What is prepared for chosen rows.
static NOTHING: Prepared = Prepared { ordered: None, drawn: None, summed: None, carried: None };

/// What a trace whose sums cannot overflow has without much work.
#[derive(Debug)]
struct Ordered {
    order: EventOrder,
    /// Bytes of all rows, at most.
    size: u128,
    /// All rows of each site, if the trace does not grow.
    by_site: Option<Vec<Bucket>>,
}

impl Ordered {
    /// `None` if sums could overflow.
    fn new(trace: &Trace, size: u128, by_site: Option<Vec<Bucket>>) -> Option<Self> {
        (size <= i64::MAX as u128).then(|| Self { order: EventOrder::new(&trace.rows), size, by_site })
    }

    fn heap_bytes(&self) -> usize {
        self.order.heap_bytes() + self.by_site.as_ref().map_or(0, Vec::capacity) * size_of::<Bucket>()
    }
}

#[derive(Debug)]
struct Summed {
    table: SumTable,
    /// Changes of workers, all 0: to make new ones costs more than many a query.
    scratch: Mutex<Vec<SumChanges>>,
}

impl Index {
    /// Nothing prepared: questions are answered by scans of the rows.
    pub fn scan(trace: Arc<Trace>) -> Self {
        Self::new(trace, Prepared::default())
    }

    fn new(trace: Arc<Trace>, prepared: Prepared) -> Self {
        Self { trace, prepared: Arc::new(prepared), chosen: None }
    }

    /// What one question about a trace is worth: no sums, but the order of events.
    /// Cost: a pass over the sizes.
    pub fn for_one_question(trace: Arc<Trace>, cancel: &Cancel) -> Result<Self, Cancelled> {
        let (by_site, size) = table::whole_sites(&trace, cancel)?;
        let ordered = Ordered::new(&trace, size, Some(by_site));
        Ok(Self::new(trace, Prepared { ordered, ..Prepared::default() }))
    }

    /// Prepares everything. Cost: three passes over the rows and one over the deaths,
    /// parallel.
    pub fn build(trace: Arc<Trace>, options: &IndexOptions, cancel: &Cancel) -> Result<Self, Cancelled> {
        let (by_site, size) = table::whole_sites(&trace, cancel)?;
        let mut prepared = Prepared { ordered: Ordered::new(&trace, size, Some(by_site)), ..Prepared::default() };
        if let Some(Ordered { order, by_site: Some(by_site), .. }) = &prepared.ordered {
            let budget = trace.rows.len().saturating_mul(options.bytes_a_row).max(LEAST_TABLE);
            let table = SumTable::build(&trace, order, by_site, budget, options.checkpoints, cancel)?;
            prepared.drawn = Some(Drawn::new(&trace, order, options, None, cancel)?);
            prepared.summed = Some(Summed { table, scratch: Mutex::default() });
        }
        Ok(Self::new(trace, prepared))
    }

    /// Prepares what questions about a growing trace need, from what there is of `earlier`,
    /// a publication before it, which loses its sums. Cost: a pass over the events since, and
    /// those of the last stretch.
    pub fn grown(trace: Arc<Trace>, earlier: Option<&Self>, options: &IndexOptions, cancel: &Cancel) -> Result<Self, Cancelled> {
        let earlier = earlier.filter(|earlier| trace.continues(&earlier.trace));
        let known = earlier.and_then(|earlier| Some((earlier, earlier.prepared.ordered.as_ref()?)));
        let (first, size) = known.map_or((0, 0), |(earlier, ordered)| (earlier.trace.rows.len(), ordered.size));
        let Some(ordered) = Ordered::new(&trace, size + table::size_from(&trace.rows, first), None) else {
            return Ok(Self::scan(trace));
        };
        let drawn = known.and_then(|(earlier, _)| earlier.prepared.drawn.as_ref());
        let drawn = Drawn::new(&trace, &ordered.order, options, drawn, cancel)?;
        let carried = known.and_then(|(earlier, _)| Some(earlier.prepared.carried.as_ref()?.on(&earlier.trace.rows, &trace)));
        let carried = Some(carried.unwrap_or_default());
        Ok(Self::new(trace, Prepared { ordered: Some(ordered), drawn: Some(drawn), carried, summed: None }))
    }

    /// The same trace, of which every question sees only these rows: sums come from scans,
    /// graphs and peaks from what is known of the order of events; or all of them again, with
    /// what is prepared. Cost: nothing.
    pub fn choosing(&self, rows: Option<Arc<RowSet>>) -> Self {
        Self { chosen: rows, ..self.clone() }
    }

    /// The rows that questions are about, `None` if that is all.
    pub fn chosen(&self) -> Option<&Arc<RowSet>> {
        self.chosen.as_ref()
    }

    /// Those rows, to go through them.
    pub(super) fn visit(&self) -> Visit<'_> {
        Visit { rows: &self.trace.rows, chosen: self.chosen.as_deref() }
    }

    /// Tells `each` those rows, chunk by chunk, on all workers; see [`Visit::fold`].
    pub(super) fn fold<'a, S: Send>(
        &'a self,
        cancel: &Cancel,
        new: impl Fn() -> S + Sync,
        each: impl Fn(&mut S, &VisitedChunk<'a>) + Sync,
    ) -> Result<Vec<S>, Cancelled> {
        self.visit().fold(cancel, new, each)
    }

    /// What is prepared for these rows.
    fn prepared(&self) -> &Prepared {
        if self.chosen.is_some() { &NOTHING } else { &self.prepared }
    }

    fn ordered(&self) -> Option<&Ordered> {
        self.prepared().ordered.as_ref()
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Whether debug builds work out a second time, by scans, what they got from what is prepared.
    pub(super) fn is_checked(&self) -> bool {
        self.trace.rows.len() <= 4096
    }

    /// The trace, to be kept.
    pub fn shared_trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Whether questions are answered without scanning the rows.
    pub fn is_prepared(&self) -> bool {
        self.prepared().summed.is_some()
    }

    /// Whether graphs are.
    pub fn is_drawn(&self) -> bool {
        self.prepared().drawn.is_some()
    }

    /// Whether those of chosen rows are too.
    pub(super) fn is_drawn_at_all(&self) -> bool {
        self.prepared.drawn.is_some()
    }

    /// How many rows and events were looked at for the totals of a growing trace.
    pub fn looks(&self) -> u64 {
        self.prepared.carried.as_ref().map_or(0, Carried::looks)
    }

    /// Bytes of the sums at checkpoints, and of everything else.
    pub fn heap_bytes(&self) -> (usize, usize) {
        let Prepared { ordered, drawn, summed, carried } = &*self.prepared;
        let ordered = ordered.as_ref().map_or(0, Ordered::heap_bytes);
        let drawn = drawn.as_ref().map_or(0, Drawn::heap_bytes);
        let carried = carried.as_ref().map_or(0, Carried::heap_bytes);
        let Some(Summed { table, scratch }) = summed else { return (0, ordered + drawn + carried) };
        let scratch = lock(scratch).iter().map(SumChanges::heap_bytes).sum::<usize>();
        (table.heap_bytes(), ordered + drawn + scratch)
    }
}

/// A panic elsewhere cannot leave these lists half-changed.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Totals.
impl Index {
    /// The classes of all sites, from the nearest checkpoints, or of a growing trace from
    /// what was asked before; `None` if nothing is prepared.
    pub(super) fn totals(&self, interval: Interval, cancel: &Cancel) -> Result<Option<Arc<Vec<ByClass>>>, Cancelled> {
        let Some(Ordered { order, .. }) = self.ordered() else { return Ok(None) };
        if let Some(carried) = &self.prepared().carried {
            return carried.totals(&self.trace, order, interval, cancel).map(Some);
        }
        let Some(Summed { table, scratch }) = &self.prepared().summed else { return Ok(None) };
        let moment = |t| (t, order.place(&self.trace.rows, t));
        let (from, to) = (moment(interval.from), moment(interval.to));
        let base = table.nearest(from.1, to.1);
        let no_changes = || {
            let kept = lock(scratch).pop();
            kept.unwrap_or_else(|| table.no_changes())
        };
        let mut parts = table.walk(&base, from, to).run(&self.trace, no_changes, cancel)?;
        let by_site = table.classes(&base, &parts);
        parts.par_iter_mut().for_each(SumChanges::clear);
        lock(scratch).append(&mut parts);
        Ok(Some(Arc::new(by_site)))
    }

    /// Numbers of births and deaths inside an interval, and of rows alive at its
    /// left edge, by counting places instead of rows.
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
    /// The bins of a graph, cut where no block has to be looked into.
    pub(super) fn bins(&self, interval: Interval, count: usize) -> Bins {
        let mut bins = Bins::new(interval, count);
        if let Some(drawn) = &self.prepared.drawn {
            bins.move_edges(|edge| drawn.nearest_start(edge));
        }
        bins
    }

    /// The steps of each series by bin; `None` if nothing is prepared.
    pub(super) fn lines(
        &self,
        interval: Interval,
        of: &SeriesOf,
        bins: &Bins,
        cancel: &Cancel,
    ) -> Result<Option<Vec<Line>>, Cancelled> {
        let (Some(Ordered { order, .. }), Some(drawn)) = (&self.prepared.ordered, &self.prepared.drawn) else { return Ok(None) };
        drawn.lines(&self.trace, order, (interval, of, bins), self.chosen.as_ref(), cancel)
    }

    /// Whether the lines of a graph take long, as nobody asked for these series of these rows
    /// before.
    pub fn is_slow(&self, interval: Interval, of: &SeriesOf) -> bool {
        let Some(drawn) = &self.prepared.drawn else { return false };
        drawn.is_slow(&self.trace, interval, of, self.chosen.as_ref())
    }

    /// Whether every series is one whole heap and nothing prepared is missing.
    pub(super) fn knows(&self, of: &SeriesOf) -> bool {
        self.prepared().drawn.is_some() && drawn::is_of_heaps(&self.trace, of)
    }
}
