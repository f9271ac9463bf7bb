//! The data that graphs are drawn from: the blocks of a trace, the activity of each heap in them, and that of the
//! series that were queried last.
//!
//! Cost: a pass over the rows and one over the deaths, parallel; for a trace that grew only over the last stretch and
//! the new events. Series that are not one whole heap each, or a whole layer of a process, need another such pass over each stretch,
//! the first time it is queried; so do single heaps if there are so many that some blocks have no entries.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::cut::{Cut, Stretch, cut, regroup};
use super::feed::NOBODY;
use super::groups::Groups;
use super::layers::Layers;
use super::lines::{Line, Source};
use super::lock::lock;
use super::options::IndexOptions;
use super::order::EventOrder;
use super::pyramid::{ENTRY, MOST_GROUPS, Pyramid};

use crate::model::{Chunk, SiteId, Trace};
use crate::query::bins::Bins;
use crate::query::series_of::SeriesOf;
use crate::query::{Cancel, Cancelled, RowSet};
use crate::units::{Interval, Ticks};

/// Smallest and largest block, in events; even the largest is quick to walk.
const BLOCK: std::ops::RangeInclusive<usize> = 256..=4096;

/// With this many events per heap in a block, the entries of blocks take at most about 1 byte per row.
const BLOCK_A_HEAP: usize = 96;

/// Smallest and largest stretch, in events; the smallest are quick to rebuild with each publication. With
/// `STRETCH_A_HEAP` events per heap, the entry for a whole stretch takes less memory than granted.
const STRETCH: std::ops::RangeInclusive<usize> = 1 << 16..=1 << 21;
const STRETCH_A_HEAP: usize = 128;

/// A row has a birth and a death.
const EVENTS_A_ROW: usize = 2;

/// Number of filters whose pyramids are kept, memory permitting.
const KEPT_FILTERS: usize = 4;

/// One in this many blocks may have to be walked.
const WALKED: usize = 64;

/// The blocks of a trace with summaries of their events.
#[derive(Debug)]
pub(super) struct Drawn {
    how: Cut,
    /// Number of events above which summing up is slow.
    slow: u64,
    stretches: Vec<Arc<Stretch>>,
    /// The layers whose activity the stretches have.
    layers: Option<Layers>,
    /// The latest filters of series, the newest first.
    filters: Mutex<Vec<Arc<Filtered>>>,
}

/// The mapping of sites to series.
#[derive(PartialEq, Eq, Debug)]
enum Choice {
    /// The series of each heap (a series can contain several heaps), up to the last heap that has one. Remains valid
    /// while a trace grows.
    Heaps(Vec<u32>),
    Sites(Groups),
}

/// The pyramids for one mapping of sites to series.
#[derive(Debug)]
struct Filtered {
    choice: Choice,
    /// The selected rows; `None` for all.
    chosen: Option<Arc<RowSet>>,
    /// The number of series if they are stacked: each upper series includes the lower ones.
    stacked: Option<usize>,
    /// The rows of all series, if some rows belong to none and the set is worth building.
    wanted: Option<Arc<RowSet>>,
    /// Pyramids by stretch, as far as they were queried.
    pyramids: Vec<(Arc<Stretch>, Option<Arc<Pyramid>>)>,
}

/// The data that lines are computed from.
enum Means {
    /// The pyramids of the heaps, with the series of each heap.
    Heaps(Vec<u32>),
    /// The pyramids of the layers, with the series of each layer.
    Layers(Vec<u32>),
    /// Pyramids for these series, which are not built yet.
    Filter(Filtered),
}

impl Drawn {
    /// Builds the data from all events, with that of `layers`. If the trace [continues](Trace::continues) the one of `known`, everything that
    /// is still valid is reused.
    pub(super) fn new(
        trace: &Trace,
        order: &EventOrder,
        options: &IndexOptions,
        (known, layers): (Option<&Self>, Option<Layers>),
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let usual = |a_heap: usize, range: std::ops::RangeInclusive<usize>| {
            a_heap.saturating_mul(trace.heaps.len()).clamp(*range.start(), *range.end())
        };
        let how = Cut {
            block: options.block.unwrap_or_else(|| usual(BLOCK_A_HEAP, BLOCK)).max(1),
            stretch: options.stretch.unwrap_or_else(|| usual(STRETCH_A_HEAP, STRETCH)).max(1),
            granted: options.block_bytes_a_row / EVENTS_A_ROW,
        };
        let known_stretches = known.map_or(&[][..], |known| &known.stretches);
        let stretches = cut(trace, order, how, (known_stretches, layers.as_ref()), cancel)?;
        let mut filters = known.map_or_else(Vec::new, |known| lock(&known.filters).clone());
        filters.retain(|filter| matches!(filter.choice, Choice::Heaps(_)) && filter.chosen.is_none());
        let mut drawn = Self { how, slow: options.slow, stretches, layers, filters: Mutex::new(filters) };
        drawn.limit_layers(trace.rows.len());
        Ok(drawn)
    }

    /// Drops the activity of the layers if it and that of the heaps take more memory than is granted.
    fn limit_layers(&mut self, rows: usize) {
        if self.blocks_bytes() > self.granted(rows) {
            self.layers = None;
            self.stretches.iter_mut().filter_map(Arc::get_mut).for_each(|stretch| stretch.layers = None);
        }
    }

    /// Returns the bytes that all that is kept may take.
    fn granted(&self, rows: usize) -> usize {
        rows.saturating_mul(EVENTS_A_ROW * self.how.granted)
    }

    /// Returns the first tick of the block that starts nearest to `t`.
    pub(super) fn nearest_start(&self, t: Ticks) -> Option<Ticks> {
        let stretch = self.stretches.partition_point(|stretch| stretch.blocks.last() < t);
        let before = stretch.checked_sub(1).map(|before| &self.stretches[before].blocks);
        let of = self.stretches.get(stretch).map(|stretch| &stretch.blocks);
        let before = before.map(|blocks| blocks.ticks(blocks.len() - 1).0);
        let inside = of.into_iter().flat_map(|blocks| {
            let behind = blocks.first_from(t);
            (behind.saturating_sub(1)..=behind).filter(|&block| block < blocks.len()).map(|block| blocks.ticks(block).0)
        });
        let next = self.stretches.get(stretch + 1).map(|stretch| stretch.blocks.first());
        before.into_iter().chain(inside).chain(next).min_by_key(|first| first.0.abs_diff(t.0))
    }

    /// Returns the steps of each series in an interval by bin, of all rows or of the selected ones; `None` if there are
    /// too many series.
    pub(super) fn lines(
        &self,
        trace: &Trace,
        order: &EventOrder,
        (interval, of, bins): (Interval, &SeriesOf, &Bins),
        chosen: Option<&Arc<RowSet>>,
        cancel: &Cancel,
    ) -> Result<Option<Vec<Line>>, Cancelled> {
        if of.count > MOST_GROUPS {
            return Ok(None);
        }
        let of_site = Groups::new(of.site.iter().copied(), of.count);
        let lines = |pyramids: &mut dyn Iterator<Item = (&Stretch, &Pyramid)>, of_group: &[u32]| {
            let stretches = pyramids.map(|(stretch, pyramid)| (&stretch.blocks, pyramid)).collect();
            let chosen = chosen.map(|chosen| &**chosen);
            Source { trace, order, stretches, of_site: &of_site, of_group, of, chosen }.lines(interval, bins, cancel).map(Some)
        };
        let filter = match self.filter(trace, &of_site, of, chosen) {
            Means::Filter(filter) => filter,
            Means::Heaps(of_heap) => {
                return lines(&mut self.stretches.iter().map(|stretch| (&**stretch, &stretch.heaps)), &of_heap);
            }
            Means::Layers(of_layer) => {
                let mut known = self.stretches.iter().filter_map(|stretch| Some((&**stretch, stretch.layers.as_ref()?)));
                return lines(&mut known, &of_layer);
            }
        };
        let asked = self.touched(interval);
        let filtered = self.filtered(trace, filter, (&of_site, of, asked.clone()), cancel)?;
        let same: Vec<u32> = (0..of.count as u32).collect();
        let known = filtered.pyramids[asked].iter();
        lines(&mut known.filter_map(|(stretch, pyramid)| Some((&**stretch, pyramid.as_deref()?))), &same)
    }

    /// Returns whether the lines of an interval need many events to be summed up, because they were not queried before.
    pub(super) fn is_slow(&self, trace: &Trace, interval: Interval, of: &SeriesOf, chosen: Option<&Arc<RowSet>>) -> bool {
        let of_site = Groups::new(of.site.iter().copied(), of.count);
        let Means::Filter(filter) = self.filter(trace, &of_site, of, chosen) else { return false };
        let known = lock(&self.filters).iter().find(|kept| kept.is_of_same(&filter)).cloned();
        let is_unknown = |stretch: &usize| self.pyramid_of(known.as_deref(), *stretch).is_none();
        let blocks = |stretch: usize| self.stretches[stretch].blocks.len() as u64;
        let unknown: u64 = self.touched(interval).filter(is_unknown).map(blocks).sum();
        unknown * self.how.block as u64 > self.slow
    }

    /// Returns the data that lines of these series are computed from.
    fn filter(&self, trace: &Trace, of_site: &Groups, of: &SeriesOf, chosen: Option<&Arc<RowSet>>) -> Means {
        let choice = match series_of_heaps(trace, of_site, of) {
            Some(of_heap)
                if chosen.is_none() && have_one_heap(&of_heap, of) && (self.knows_heaps() || !self.has_room_for(of)) =>
            {
                return Means::Heaps(of_heap);
            }
            Some(mut of_heap) => {
                let layers = self.layers.as_ref().filter(|_| chosen.is_none() && self.knows_layers());
                if let Some(of_layer) = layers.and_then(|layers| layers.series(&of_heap, of.count)) {
                    return Means::Layers(of_layer);
                }
                of_heap.truncate(of_heap.iter().rposition(|series| *series != NOBODY).map_or(0, |last| last + 1));
                Choice::Heaps(of_heap)
            }
            None => Choice::Sites(of_site.clone()),
        };
        let stacked = of.is_stacked.then_some(of.count);
        Means::Filter(Filtered { choice, chosen: chosen.cloned(), stacked, wanted: None, pyramids: Vec::new() })
    }

    /// Returns the pyramid that a filter has for a stretch, if any.
    fn pyramid_of<'a>(&self, known: Option<&'a Filtered>, stretch: usize) -> Option<&'a Arc<Pyramid>> {
        let (of, pyramid) = known?.pyramids.get(stretch)?;
        pyramid.as_ref().filter(|_| Arc::ptr_eq(of, &self.stretches[stretch]))
    }

    /// Returns the stretches that overlap an interval.
    fn touched(&self, interval: Interval) -> Range<usize> {
        let first = self.stretches.partition_point(|stretch| stretch.blocks.last() < interval.from);
        let end = self.stretches.partition_point(|stretch| stretch.blocks.first() < interval.to);
        first..end.max(first)
    }

    /// Returns whether nearly all blocks have summaries of the heaps. Walking the others costs less than building new
    /// pyramids.
    fn knows_heaps(&self) -> bool {
        self.knows_blocks(|stretch| stretch.heaps.is_whole())
    }

    /// Returns whether all stretches have the activity of the layers, and nearly all blocks summaries of it.
    fn knows_layers(&self) -> bool {
        let layers = |stretch: &Arc<Stretch>| stretch.layers.is_some();
        self.stretches.iter().all(layers) && self.knows_blocks(|stretch| stretch.layers.as_ref().is_some_and(Pyramid::is_whole))
    }

    fn knows_blocks(&self, is_whole: impl Fn(&Stretch) -> bool) -> bool {
        let (mut all, mut unknown) = (0, 0);
        for stretch in &self.stretches {
            let blocks = stretch.blocks.len();
            all += blocks;
            unknown += if is_whole(stretch) { 0 } else { blocks };
        }
        unknown * WALKED <= all
    }

    /// Returns whether every block has room for an entry of each series.
    fn has_room_for(&self, of: &SeriesOf) -> bool {
        of.count.saturating_mul(ENTRY) <= self.how.block.saturating_mul(self.how.granted)
    }

    /// Returns a filter with the pyramids of all stretches in `asked`; missing ones are built now.
    fn filtered(
        &self,
        trace: &Trace,
        mut new: Filtered,
        (of_site, of, asked): (&Groups, &SeriesOf, Range<usize>),
        cancel: &Cancel,
    ) -> Result<Arc<Filtered>, Cancelled> {
        let known = self.known(&new);
        let stretches = self.stretches.iter().enumerate();
        let pyramid = |(i, stretch)| (Arc::clone(stretch), self.pyramid_of(known.as_deref(), i).cloned());
        new.pyramids = stretches.map(pyramid).collect();
        let missing: Vec<usize> = asked.filter(|&i| new.pyramids[i].1.is_none()).collect();
        let is_current = |known: &&Arc<Filtered>| {
            let of = known.pyramids.iter().map(|(of, _)| Arc::as_ptr(of));
            of.eq(self.stretches.iter().map(Arc::as_ptr))
        };
        let current = known.as_ref().filter(is_current);
        if let Some(current) = current.filter(|_| missing.is_empty()) {
            return Ok(Arc::clone(current));
        }
        new.wanted = match current.and_then(|current| current.wanted.clone()) {
            Some(wanted) => Some(wanted),
            // This takes a pass over all rows, which pays if most of them are needed.
            None if missing.len() * 2 > self.stretches.len() && !of.has_all() => {
                let chosen = new.chosen.as_deref();
                let of_group = |chunk: &Chunk<'_>, at: usize| {
                    chosen.is_none_or(|chosen| chosen.has(chunk.id(at))) && of_site.of(chunk.sites()[at]) != NOBODY
                };
                Some(Arc::new(RowSet::filled(&trace.rows, cancel, of_group)?))
            }
            None => None,
        };
        let stretches: Vec<&Stretch> = missing.iter().map(|&i| &*self.stretches[i]).collect();
        let rows = new.wanted.as_deref().or(new.chosen.as_deref());
        let made = regroup(trace, &stretches, of_site, of, self.how.granted, rows, cancel)?;
        missing.into_iter().zip(made).for_each(|(i, pyramid)| new.pyramids[i].1 = Some(Arc::new(pyramid)));
        let new = Arc::new(new);
        self.keep(&new, trace.rows.len());
        Ok(new)
    }

    /// Returns the kept filter that equals `wanted`, if any, and makes it the newest.
    fn known(&self, wanted: &Filtered) -> Option<Arc<Filtered>> {
        let mut kept = lock(&self.filters);
        let at = kept.iter().position(|kept| kept.is_of_same(wanted))?;
        kept[..=at].rotate_right(1);
        Some(Arc::clone(&kept[0]))
    }

    /// Keeps a filter in place of its earlier state, and earlier filters as far as memory permits.
    fn keep(&self, new: &Arc<Filtered>, rows: usize) {
        let mut kept = lock(&self.filters);
        kept.retain(|kept| !kept.is_of_same(new));
        kept.insert(0, Arc::clone(new));
        kept.truncate(KEPT_FILTERS);
        let granted = self.granted(rows);
        let mut taken = self.blocks_bytes();
        kept.retain(|filter| {
            taken += filter.heap_bytes();
            Arc::ptr_eq(filter, new) || taken <= granted
        });
    }

    /// Returns whether both have a stretch in common.
    pub(super) fn shares_stretches(&self, other: &Self) -> bool {
        self.stretches.iter().zip(&other.stretches).any(|(ours, theirs)| Arc::ptr_eq(ours, theirs))
    }

    fn blocks_bytes(&self) -> usize {
        let layers = |stretch: &Stretch| stretch.layers.as_ref().map_or(0, Pyramid::heap_bytes);
        let bytes = |stretch: &Arc<Stretch>| stretch.blocks.heap_bytes() + stretch.heaps.heap_bytes() + layers(stretch);
        self.stretches.iter().map(bytes).sum()
    }

    /// Returns the bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        self.blocks_bytes() + lock(&self.filters).iter().map(|filter| filter.heap_bytes()).sum::<usize>()
    }
}

impl Filtered {
    /// Returns whether both have the same series of the same rows.
    fn is_of_same(&self, other: &Self) -> bool {
        let rows = |filter: &Self| filter.chosen.as_ref().map(Arc::as_ptr);
        self.choice == other.choice && self.stacked == other.stacked && rows(self) == rows(other)
    }

    fn heap_bytes(&self) -> usize {
        let choice = match &self.choice {
            Choice::Heaps(of_heap) => of_heap.capacity() * 4,
            Choice::Sites(of_site) => of_site.heap_bytes(),
        };
        let pyramids = self.pyramids.iter().filter_map(|(_, pyramid)| pyramid.as_ref());
        let wanted = self.wanted.as_ref().map_or(0, |rows| rows.heap_bytes());
        choice + wanted + pyramids.map(|pyramid| pyramid.heap_bytes()).sum::<usize>()
    }
}

/// Returns whether every series is one whole heap.
pub(super) fn is_of_heaps(trace: &Trace, of: &SeriesOf) -> bool {
    series_of_heaps(trace, &Groups::new(of.site.iter().copied(), of.count), of).is_some_and(|of_heap| have_one_heap(&of_heap, of))
}

/// Returns whether no series has two heaps.
fn have_one_heap(of_heap: &[u32], of: &SeriesOf) -> bool {
    let mut has_heap = vec![false; of.count];
    of_heap.iter().all(|&series| series == NOBODY || !std::mem::replace(&mut has_heap[series as usize], true))
}

/// Returns the series of each heap, if every series consists of whole heaps.
fn series_of_heaps(trace: &Trace, of_site: &Groups, of: &SeriesOf) -> Option<Vec<u32>> {
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
    // Heaps without sites have no series.
    of_heap.iter_mut().filter(|series| **series == UNKNOWN).for_each(|series| *series = NOBODY);
    Some(of_heap)
}
