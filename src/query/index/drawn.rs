//! What graphs are drawn from: the blocks of a trace, what each heap does in them, and
//! the same for the series that were asked last.
//!
//! Cost: a pass over the rows and one over the deaths, parallel; of a trace that grew
//! only over what came; for series that are no whole heaps another such pass when they
//! are asked for the first time.

use std::sync::{Arc, Mutex};

use super::bits::Bits;
use super::feed::NOBODY;
use super::groups::Groups;
use super::lines::{Line, Source};
use super::lock;
use super::order::Order;
use super::pyramid::{self, Blocks, Pyramid};
use crate::model::{HeapId, SiteId, Trace};
use crate::query::series::{Bins, SeriesOf};
use crate::query::{Cancel, Cancelled};
use crate::units::{Interval, Ticks};

/// Blocks as small as this are quick to walk through, those as large still are.
const BLOCK: std::ops::RangeInclusive<usize> = 256..=4096;

/// With as many events for each heap, the entries of blocks take at most some 1 byte a row.
const BLOCK_A_HEAP: usize = 96;

/// So many filters keep their pyramids.
const KEPT_FILTERS: usize = 4;

/// The blocks of a trace and what happens in them.
#[derive(Debug)]
pub(super) struct Drawn {
    /// Events of a block.
    size: usize,
    blocks: Blocks,
    heaps: Pyramid,
    /// The last filters of series, the newest first.
    filters: Mutex<Vec<Arc<Filtered>>>,
}

/// The pyramid of one choice of series.
#[derive(Debug)]
struct Filtered {
    of_site: Groups,
    /// The number of series if they are stacked: the upper ones have what the lower ones have.
    stacked: Option<usize>,
    pyramid: Pyramid,
}

impl Drawn {
    /// Of all events, in blocks of about `size` if that is given.
    pub(super) fn new(trace: &Trace, order: &Order, size: Option<usize>, cancel: &Cancel) -> Result<Self, Cancelled> {
        let usual = || BLOCK_A_HEAP.saturating_mul(trace.heaps.len()).clamp(*BLOCK.start(), *BLOCK.end());
        Self::cut(trace, order, size.unwrap_or_else(usual).max(1), None, cancel)
    }

    /// The same of a trace that [continues](Trace::continues) the one that this is about.
    pub(super) fn extended(&self, trace: &Trace, order: &Order, cancel: &Cancel) -> Result<Self, Cancelled> {
        Self::cut(trace, order, self.size, Some((&self.blocks, &self.heaps)), cancel)
    }

    fn cut(
        trace: &Trace,
        order: &Order,
        size: usize,
        known: Option<(&Blocks, &Pyramid)>,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let heap_of = Groups::new(trace.sites.iter().map(|site| Some(site.heap.0)), trace.heaps.len());
        let (blocks, heaps) = pyramid::cut(trace, order, size, (&heap_of, trace.heaps.len()), known, cancel)?;
        Ok(Self { size, blocks, heaps, filters: Mutex::default() })
    }

    /// The first tick of the block that begins next to `t`.
    pub(super) fn nearest_start(&self, t: Ticks) -> Option<Ticks> {
        self.blocks.nearest_start(t)
    }

    /// The steps of each series inside an interval by bin; `None` if there are too many.
    pub(super) fn lines(
        &self,
        trace: &Trace,
        order: &Order,
        (interval, of, bins): (Interval, &SeriesOf, &Bins),
        cancel: &Cancel,
    ) -> Result<Option<Vec<Line>>, Cancelled> {
        if of.count > pyramid::MOST_GROUPS {
            return Ok(None);
        }
        let blocks = &self.blocks;
        let of_site = Groups::new(of.site.iter().copied(), of.count);
        let source = |pyramid, of_site, of_group| Source { trace, order, blocks, pyramid, of_site, of_group, of };
        if let Some(of_heap) = heaps_of_series(trace, &of_site, of) {
            return source(&self.heaps, &of_site, &of_heap).lines(interval, bins, cancel).map(Some);
        }
        let filtered = self.filtered(trace, order, of_site, of, cancel)?;
        let same: Vec<u32> = (0..of.count as u32).collect();
        source(&filtered.pyramid, &filtered.of_site, &same).lines(interval, bins, cancel).map(Some)
    }

    /// The pyramid of a choice of series, made when it is asked for the first time.
    fn filtered(
        &self,
        trace: &Trace,
        order: &Order,
        of_site: Groups,
        of: &SeriesOf,
        cancel: &Cancel,
    ) -> Result<Arc<Filtered>, Cancelled> {
        let stacked = of.is_stacked.then_some(of.count);
        let known = |kept: &[Arc<Filtered>]| kept.iter().position(|f| f.of_site == of_site && f.stacked == stacked);
        {
            let mut kept = lock(&self.filters);
            if let Some(at) = known(&kept) {
                kept[..=at].rotate_right(1);
                return Ok(Arc::clone(&kept[0]));
            }
        }
        let wanted = Bits::filled(&trace.rows, |chunk, at| of_site.of(chunk.sites()[at]) != NOBODY);
        cancel.check()?;
        let pyramid = pyramid::regroup(trace, order, &self.blocks, &of_site, of, Some(&wanted), cancel)?;
        let new = Arc::new(Filtered { of_site, stacked, pyramid });
        let mut kept = lock(&self.filters);
        kept.insert(0, Arc::clone(&new));
        kept.truncate(KEPT_FILTERS);
        Ok(new)
    }

    /// Bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        let filters = lock(&self.filters).iter().map(|f| f.pyramid.heap_bytes() + f.of_site.heap_bytes()).sum::<usize>();
        self.blocks.bytes_with(&self.heaps) + filters
    }
}

/// Whether every series is one whole heap.
pub(super) fn is_of_heaps(trace: &Trace, of: &SeriesOf) -> bool {
    heaps_of_series(trace, &Groups::new(of.site.iter().copied(), of.count), of).is_some()
}

/// The series of each heap, if every series is one whole heap.
fn heaps_of_series(trace: &Trace, of_site: &Groups, of: &SeriesOf) -> Option<Vec<u32>> {
    const UNKNOWN: u32 = NOBODY - 1;
    if of.is_stacked {
        return None;
    }
    let mut of_heap = vec![UNKNOWN; trace.heaps.len()];
    for (id, site) in (0..).map(SiteId).zip(&trace.sites) {
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
