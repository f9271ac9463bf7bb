//! What is prepared once for a complete trace, so that every further interval and
//! filter costs milliseconds, however many events there are:
//!
//! - [`table`]: sums of all sites at checkpoints and at pairs of them, for totals;
//! - [`pyramid`]: what each heap does in each block of events, for graphs and peaks,
//!   and the same for the filters that were asked last.
//!
//! Both lean on [`order`], the order of births and deaths that complete traces have.
//! While a trace grows, and where sizes are so large that sums could overflow,
//! there is nothing prepared and queries scan the rows: [`Index`] is both.

mod bits;
mod checkpoints;
mod draft;
mod edges;
mod feed;
mod groups;
mod lines;
mod order;
mod pyramid;
mod sweep;
mod table;
mod words;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::series::{Bins, SeriesOf};
use super::{Bucket, ByClass, Cancel, Cancelled};
use crate::model::{HeapId, SiteId, Trace};
use crate::units::Interval;
use bits::Bits;
use edges::{Changes, Walk};
use feed::NOBODY;
use groups::Groups;
pub(super) use lines::Line;
use lines::Source;
use order::Order;
use pyramid::{Blocks, Pyramid};
use table::Table;

/// How much is prepared.
#[derive(Clone, Copy, Debug)]
pub struct IndexOptions {
    /// Bytes for the sums at checkpoints, for each row of the trace.
    pub bytes_a_row: usize,
    /// So many checkpoints whatever they cost; for tests.
    pub checkpoints: Option<usize>,
    /// Events of a block; by default as many as keep an entry for each heap cheap.
    pub block: Option<usize>,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self { bytes_a_row: 3, checkpoints: None, block: None }
    }
}

/// Blocks as small as this are quick to walk through, those as large still are.
const BLOCK: std::ops::RangeInclusive<usize> = 256..=4096;

/// With as many events for each heap, the entries of blocks take at most some 1 byte a row.
const BLOCK_A_HEAP: usize = 96;

/// Sums at checkpoints may always take so much.
const LEAST_TABLE: usize = 24 << 20;

/// So many filters keep their pyramids.
const KEPT_FILTERS: usize = 4;

/// A trace and what is prepared to answer questions about it.
#[derive(Debug)]
pub struct Index {
    trace: Arc<Trace>,
    ordered: Option<Ordered>,
    prepared: Option<Prepared>,
}

/// What a complete trace whose sums cannot overflow has without much work.
#[derive(Debug)]
struct Ordered {
    order: Order,
    /// All rows of each site.
    by_site: Vec<Bucket>,
}

#[derive(Debug)]
struct Prepared {
    table: Table,
    blocks: Blocks,
    heaps: Pyramid,
    /// The last filters of series, the newest first.
    filters: Mutex<Vec<Arc<Filtered>>>,
    /// Changes of workers, all 0: to make new ones costs more than many a query.
    scratch: Mutex<Vec<Changes>>,
}

/// The pyramid of one choice of series.
#[derive(Debug)]
struct Filtered {
    of_site: Groups,
    /// The number of series if they are stacked: the upper ones have what the lower ones have.
    stacked: Option<usize>,
    pyramid: Pyramid,
}

impl Index {
    /// Nothing prepared: questions are answered by scans of the rows.
    pub fn scan(trace: Arc<Trace>) -> Self {
        Self { trace, ordered: None, prepared: None }
    }

    /// What one question about a trace is worth: no sums, but the order of events if
    /// the trace is complete. Cost: a pass over the sizes.
    pub fn for_one_question(trace: Arc<Trace>, cancel: &Cancel) -> Result<Self, Cancelled> {
        let mut ordered = None;
        if let Some(order) = Order::new(&trace.rows) {
            ordered = table::whole_sites(&trace, cancel)?.map(|by_site| Ordered { order, by_site });
        }
        Ok(Self { trace, ordered, prepared: None })
    }

    /// Prepares everything, if the trace is complete. Cost: three passes over the
    /// rows and one over the deaths, parallel.
    pub fn build(trace: Arc<Trace>, options: &IndexOptions, cancel: &Cancel) -> Result<Self, Cancelled> {
        let Self { trace, ordered, .. } = Self::for_one_question(trace, cancel)?;
        let Some(Ordered { order, by_site }) = ordered else { return Ok(Self::scan(trace)) };
        let budget = trace.rows.len().saturating_mul(options.bytes_a_row).max(LEAST_TABLE);
        let table = Table::build(&trace, &order, &by_site, budget, options.checkpoints, cancel)?;
        let heap_of = Groups::new(trace.sites.iter().map(|site| Some(site.heap.0)), trace.heaps.len());
        let usual = || BLOCK_A_HEAP.saturating_mul(trace.heaps.len()).clamp(*BLOCK.start(), *BLOCK.end());
        let block = options.block.unwrap_or_else(usual).max(1);
        let (blocks, heaps) = pyramid::cut(&trace, &order, block, &heap_of, trace.heaps.len(), cancel)?;
        let prepared = Prepared { table, blocks, heaps, filters: Mutex::default(), scratch: Mutex::default() };
        Ok(Self { trace, ordered: Some(Ordered { order, by_site }), prepared: Some(prepared) })
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The trace, to be kept.
    pub fn shared_trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Whether questions are answered without scanning the rows.
    pub fn is_prepared(&self) -> bool {
        self.prepared.is_some()
    }

    /// Bytes of the sums at checkpoints, and of everything else.
    pub fn heap_bytes(&self) -> (usize, usize) {
        let ordered = self.ordered.as_ref().map_or(0, |o| o.order.heap_bytes() + o.by_site.capacity() * size_of::<Bucket>());
        let Some(prepared) = &self.prepared else { return (0, ordered) };
        let filters = lock(&prepared.filters).iter().map(|f| f.pyramid.heap_bytes() + f.of_site.heap_bytes()).sum::<usize>();
        let scratch = lock(&prepared.scratch).iter().map(Changes::heap_bytes).sum::<usize>();
        let blocks = prepared.blocks.bytes_with(&prepared.heaps);
        (prepared.table.heap_bytes(), ordered + blocks + filters + scratch)
    }
}

/// A panic elsewhere cannot leave these lists half-changed.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fewer events than this are not worth a second worker, nor fewer than the sites
/// whose changes it would keep.
const WORTH_A_WORKER: usize = 1 << 13;

/// Totals.
impl Index {
    /// The classes of all sites, from the nearest checkpoints; `None` without them.
    pub(super) fn totals(&self, interval: Interval, cancel: &Cancel) -> Result<Option<Vec<ByClass>>, Cancelled> {
        let (Some(Ordered { order, .. }), Some(prepared)) = (&self.ordered, &self.prepared) else { return Ok(None) };
        let moment = |t| (t, order.place(&self.trace.rows, t));
        let walk = Walk::new(&prepared.table, moment(interval.from), moment(interval.to));
        let worth = WORTH_A_WORKER.max(self.trace.sites.len()) as u64;
        let workers = rayon::current_num_threads().min((walk.events() / worth) as usize + 1);
        let next = AtomicUsize::new(0);
        let parts: Result<Vec<Changes>, Cancelled> = (0..workers)
            .into_par_iter()
            .map(|_| {
                let kept = lock(&prepared.scratch).pop();
                let mut changes = kept.unwrap_or_else(|| prepared.table.no_changes());
                while let Some(piece) = walk.pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                    cancel.check()?; // what is half done is dropped
                    piece.add_to(&self.trace, order, &mut changes);
                }
                Ok(changes)
            })
            .collect();
        let mut parts = parts?;
        let by_site = prepared.table.classes(&walk.base, &parts);
        parts.par_iter_mut().for_each(Changes::clear);
        lock(&prepared.scratch).append(&mut parts);
        Ok(Some(by_site))
    }

    /// Numbers of births and deaths inside an interval, and of rows alive at its
    /// left edge, by counting places instead of rows.
    pub(super) fn counts(&self, interval: Interval) -> Option<(u64, u64, u64)> {
        let order = &self.ordered.as_ref()?.order;
        let place = |t| order.place(&self.trace.rows, t);
        let (from, to) = (place(interval.from), place(interval.to));
        let born = order.born(to) - order.born(from);
        Some((born, u64::from(to.death - from.death), order.born(from) - u64::from(from.death)))
    }
}

/// Series.
impl Index {
    /// The bins of a graph, cut where no block has to be looked into.
    pub(super) fn bins(&self, interval: Interval, count: usize) -> Bins {
        let mut bins = Bins::new(interval, count);
        if let Some(prepared) = &self.prepared {
            bins.move_edges(|edge| prepared.blocks.nearest_start(edge));
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
        let (Some(Ordered { order, .. }), Some(prepared)) = (&self.ordered, &self.prepared) else { return Ok(None) };
        if of.count > pyramid::MOST_GROUPS {
            return Ok(None);
        }
        let (trace, blocks) = (self.trace.as_ref(), &prepared.blocks);
        let of_site = Groups::new(of.site.iter().copied(), of.count);
        let source = |pyramid, of_site, of_group| Source { trace, order, blocks, pyramid, of_site, of_group, of };
        if let Some(of_heap) = self.heaps_of_series(&of_site, of) {
            return source(&prepared.heaps, &of_site, &of_heap).lines(interval, bins, cancel).map(Some);
        }
        let filtered = self.filtered(order, prepared, of_site, of, cancel)?;
        let same: Vec<u32> = (0..of.count as u32).collect();
        source(&filtered.pyramid, &filtered.of_site, &same).lines(interval, bins, cancel).map(Some)
    }

    /// Whether every series is one whole heap and nothing prepared is missing.
    pub(super) fn knows(&self, of: &SeriesOf) -> bool {
        self.is_prepared() && self.heaps_of_series(&Groups::new(of.site.iter().copied(), of.count), of).is_some()
    }

    /// The series of each heap, if every series is one whole heap.
    fn heaps_of_series(&self, of_site: &Groups, of: &SeriesOf) -> Option<Vec<u32>> {
        const UNKNOWN: u32 = NOBODY - 1;
        if of.is_stacked {
            return None;
        }
        let mut of_heap = vec![UNKNOWN; self.trace.heaps.len()];
        for (id, site) in (0..).map(SiteId).zip(&self.trace.sites) {
            let of = of_site.of(id);
            let known = &mut of_heap[site.heap.0 as usize];
            if *known == UNKNOWN {
                *known = of;
            } else if *known != of {
                return None;
            }
        }
        let mut heap_of = vec![None; of.count];
        for (heap, series) in of_heap.iter_mut().enumerate() {
            if *series == UNKNOWN {
                *series = NOBODY; // a heap without sites
            }
            if *series != NOBODY && heap_of[*series as usize].replace(HeapId(heap as u32)).is_some() {
                return None;
            }
        }
        Some(of_heap)
    }

    /// The pyramid of a choice of series, made when it is asked for the first time.
    fn filtered(
        &self,
        order: &Order,
        prepared: &Prepared,
        of_site: Groups,
        of: &SeriesOf,
        cancel: &Cancel,
    ) -> Result<Arc<Filtered>, Cancelled> {
        let stacked = of.is_stacked.then_some(of.count);
        let known = |kept: &[Arc<Filtered>]| kept.iter().position(|f| f.of_site == of_site && f.stacked == stacked);
        {
            let mut kept = lock(&prepared.filters);
            if let Some(at) = known(&kept) {
                kept[..=at].rotate_right(1);
                return Ok(Arc::clone(&kept[0]));
            }
        }
        let wanted = Bits::filled(&self.trace.rows, |chunk, at| of_site.of(chunk.sites()[at]) != NOBODY);
        cancel.check()?;
        let pyramid = pyramid::regroup(&self.trace, order, &prepared.blocks, &of_site, of, Some(&wanted), cancel)?;
        let new = Arc::new(Filtered { of_site, stacked, pyramid });
        let mut kept = lock(&prepared.filters);
        kept.insert(0, Arc::clone(&new));
        kept.truncate(KEPT_FILTERS);
        Ok(new)
    }
}
