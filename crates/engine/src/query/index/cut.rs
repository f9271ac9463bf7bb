//! Division of events into stretches and blocks, with sums of what groups of sites do in them.
//!
//! Cost: a pass over the births and one over the deaths, parallel over the stretches.

use std::sync::Arc;

use rayon::prelude::*;

use super::blocks::EventBlocks;
use super::feed::{Feed, Item, Kind};
use super::groups::Groups;
use super::layers::Layers;
use super::order::{EventOrder, EventPosition};
use super::pyramid::{Pyramid, PyramidWriter};
use crate::model::{RowId, SiteId, Trace};
use crate::query::series_of::SeriesOf;
use crate::query::{Cancel, Cancelled, RowSet};
use crate::units::Ticks;

/// Some events in blocks, and the activity of each heap in them.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) blocks: EventBlocks,
    pub(super) heaps: Pyramid,
    /// The activity of each of the layers, if they were given.
    pub(super) layers: Option<Pyramid>,
}

/// Parameters of the division.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Number of events in a block.
    pub(super) block: usize,
    /// Approximate number of events in a stretch.
    pub(super) stretch: usize,
    /// Bytes that the entries of groups may use per event.
    pub(super) granted: usize,
}

/// Divides all events and sums them up by heap, and by layer if there are `layers`. `known` are the stretches of an earlier
/// publication of the trace: all of them are reused except the last, whose last tick may have been incomplete.
pub(super) fn cut(
    trace: &Trace,
    order: &EventOrder,
    how: Cut,
    (known, layers): (&[Arc<Stretch>], Option<&Layers>),
    cancel: &Cancel,
) -> Result<Vec<Arc<Stretch>>, Cancelled> {
    let rows = &trace.rows;
    let (last, known) = known.split_last().map_or((None, known), |(last, known)| (Some(last), known));
    let start = last.map_or_else(EventPosition::default, |last| last.blocks.place(rows, 0));
    let end = EventOrder::end(rows);
    let parts = end.distance(start).div_ceil(how.stretch as u64).max(1);
    let cuts = order.cuts(rows, start, end, usize::try_from(parts).unwrap_or(usize::MAX));
    let mut edges = vec![(Ticks::BEFORE_TRACE, start)];
    edges.extend(cuts);
    edges.push((Ticks::NEVER, end));
    let heap_of = Groups::new(trace.sites.iter().map(|site| Some(site.heap.0)), trace.heaps.len());
    let pick = |_: RowId, site: SiteId, _: bool| heap_of.of(site);
    let new: Result<Vec<Option<Stretch>>, Cancelled> = edges
        .par_windows(2)
        .map(|edges| {
            let (from, to) = (edges[0].1, edges[1]);
            let mut cutter = Cutter::new(how, from, to.1, trace.heaps.len(), layers);
            Feed::new(rows, &pick, None).run((from, to.1), cancel, |item| cutter.add(item))?;
            Ok(cutter.finish(to))
        })
        .collect();
    let new = new?.into_iter().flatten().map(Arc::new);
    Ok(known.iter().cloned().chain(new).collect())
}

/// Divides one stretch into blocks.
struct Cutter<'a> {
    /// Number of events in a block.
    size: usize,
    ticks: Vec<(Ticks, Ticks)>,
    starts: Vec<EventPosition>,
    writer: PyramidWriter,
    /// The layer of each heap, and the pyramid of the layers.
    layers: Option<(&'a [u32], PyramidWriter)>,
    /// Number of events in the current block, and of those at its last tick.
    events: usize,
    at_tick: usize,
    /// Position where that tick begins, and position of the next item.
    tick: EventPosition,
    next: EventPosition,
}

impl<'a> Cutter<'a> {
    fn new(how: Cut, from: EventPosition, to: EventPosition, groups: usize, layers: Option<&'a Layers>) -> Self {
        let granted = usize::try_from(to.distance(from)).unwrap_or(usize::MAX).saturating_mul(how.granted);
        Self {
            size: how.block,
            ticks: Vec::new(),
            starts: Vec::new(),
            writer: PyramidWriter::new(groups, granted),
            layers: layers.map(|layers| (layers.of_heap(), PyramidWriter::new(groups, granted))),
            events: 0,
            at_tick: 0,
            tick: from,
            next: from,
        }
    }

    #[inline]
    fn add(&mut self, item: &Item) {
        match self.ticks.last_mut() {
            Some((_, last)) if *last == item.at => {
                if self.at_tick == self.size && self.events > self.size {
                    self.end_before_tick(item.at);
                }
            }
            Some((first, last)) => {
                // Times within a block count from its first tick in 32 bits.
                let is_far = item.at.0.wrapping_sub(first.0) as u64 > u32::MAX.into();
                (self.tick, self.at_tick) = (self.next, 0);
                if self.events >= self.size || is_far {
                    let first = *first;
                    self.writers().for_each(|writer| writer.end_block(first));
                    self.begin(item.at);
                } else {
                    *last = item.at;
                }
            }
            None => self.begin(item.at),
        }
        self.events += 1;
        self.at_tick += 1;
        self.writer.add(item.of, item);
        if let Some((of_heap, writer)) = &mut self.layers {
            writer.add(of_heap[item.of as usize], item);
        }
        match item.kind {
            Kind::Birth => self.next.birth = item.place + 1,
            Kind::Late => self.next.late = item.place + 1,
            Kind::Death => self.next.death = item.place + 1,
        }
    }

    fn writers(&mut self) -> impl Iterator<Item = &mut PyramidWriter> {
        [&mut self.writer].into_iter().chain(self.layers.as_mut().map(|(_, writer)| writer))
    }

    fn begin(&mut self, at: Ticks) {
        self.ticks.push((at, at));
        self.starts.push(self.tick);
        self.events = 0;
    }

    /// Makes the current tick a block of its own, so that an edge before or after it need not look at all its events.
    #[cold]
    fn end_before_tick(&mut self, at: Ticks) {
        let Some((first, last)) = self.ticks.last_mut() else { return };
        // The previous last tick is not known any more, but it was before this one.
        *last = Ticks(at.0 - 1);
        let first = *first;
        self.writers().for_each(|writer| writer.end_block_before(at, first));
        self.begin(at);
        self.events = self.at_tick;
    }

    /// Returns the stretch; `None` if there were no events.
    fn finish(mut self, end: (Ticks, EventPosition)) -> Option<Stretch> {
        let &(first, _) = self.ticks.last()?;
        self.writers().for_each(|writer| writer.end_block(first));
        self.ticks.shrink_to_fit();
        let layers = self.layers.map(|(_, writer)| writer.finish());
        Some(Stretch { blocks: EventBlocks::new(self.ticks, &self.starts, end), heaps: self.writer.finish(), layers })
    }
}

/// Sums up the same stretches for the series of `of`; `group_of` has their groups. If `wanted` is given, only these
/// rows count.
pub(super) fn regroup(
    trace: &Trace,
    stretches: &[&Stretch],
    group_of: &Groups,
    of: &SeriesOf,
    granted: usize,
    wanted: Option<&RowSet>,
    cancel: &Cancel,
) -> Result<Vec<Pyramid>, Cancelled> {
    let pick = |_: RowId, site: SiteId, _: bool| group_of.of(site);
    let pyramid = |stretch: &&Stretch| {
        let blocks = &stretch.blocks;
        let (from, to) = (blocks.place(&trace.rows, 0), blocks.place(&trace.rows, blocks.len()));
        let granted = usize::try_from(to.distance(from)).unwrap_or(usize::MAX).saturating_mul(granted);
        let mut writer = PyramidWriter::new(of.count, granted);
        let mut block = 0;
        Feed::new(&trace.rows, &pick, wanted).run((from, to), cancel, |item| {
            while item.at > blocks.ticks(block).1 {
                writer.end_block(blocks.ticks(block).0);
                block += 1;
            }
            of.reach(item.of).for_each(|series| writer.add(series, item));
        })?;
        (block..blocks.len()).for_each(|block| writer.end_block(blocks.ticks(block).0));
        Ok(writer.finish())
    };
    stretches.par_iter().map(pyramid).collect()
}
