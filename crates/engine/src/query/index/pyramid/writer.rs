//! Builds the pyramid of a stretch while its events are processed: entries are made per block and combined upwards.
//!
//! A level that alone would take more memory than granted is dropped immediately.

use super::active::Active;
use super::storage::{Level, PackedSummary};
use super::{FAN, Pyramid};
use crate::query::index::feed::Item;
use crate::query::summary::{Sketch, Summary};
use crate::units::Ticks;

/// Builds the pyramid of a stretch from its events.
pub(in crate::query::index) struct PyramidWriter {
    /// Bytes that all levels may take together.
    granted: usize,
    groups: usize,
    sketches: Active<Sketch<i64>>,
    blocks: Option<Level<PackedSummary>>,
    upper: Vec<UpperLevel>,
    count: usize,
}

/// A level above the blocks.
struct UpperLevel {
    /// Summaries of the current node.
    sums: Active<Summary<i64>>,
    /// Number of lower nodes in the current node, and number of complete nodes of this level.
    below: usize,
    nodes: usize,
    level: Option<Level<(u32, Summary<i64>)>>,
}

impl PyramidWriter {
    pub(in crate::query::index) fn new(groups: usize, granted: usize) -> Self {
        let blocks = Some(Level::default());
        Self { granted, groups, sketches: Active::new(groups), blocks, upper: Vec::new(), count: 0 }
    }

    #[inline]
    pub(in crate::query::index) fn add(&mut self, group: u32, item: &Item) {
        self.sketches.of(group).change(item.at, item.delta);
    }

    /// Ends a block that began at `base`.
    pub(in crate::query::index) fn end_block(&mut self, base: Ticks) {
        let mut sketches = std::mem::take(&mut self.sketches);
        sketches.drain().for_each(|(group, mut sketch)| self.put(group, base, &sketch.take()));
        self.sketches = sketches;
        self.end_node();
    }

    /// Ends a block before the tick at `at`, some of whose events were already added; they stay for the next block.
    pub(in crate::query::index) fn end_block_before(&mut self, at: Ticks, base: Ticks) {
        let sketches: Vec<_> = self.sketches.drain().collect();
        for (group, mut sketch) in sketches {
            let (summary, has_more) = sketch.split(at);
            self.put(group, base, &summary);
            if has_more {
                *self.sketches.of(group) = sketch;
            }
        }
        self.end_node();
    }

    fn put(&mut self, group: u32, base: Ticks, summary: &Summary<i64>) {
        if summary.steps > 0 {
            self.blocks.iter_mut().for_each(|level| level.entries.push(PackedSummary::new(group, base, summary)));
            self.upper(0).sums.of(group).append(summary);
        }
    }

    fn end_node(&mut self) {
        self.count += 1;
        end(&mut self.blocks, self.granted);
        self.upper(0).below += 1;
        let mut level = 0;
        while self.upper[level].below == FAN {
            self.end_upper(level);
            level += 1;
        }
    }

    /// Returns a level, creating it if all lower levels exist.
    fn upper(&mut self, level: usize) -> &mut UpperLevel {
        if self.upper.len() == level {
            let sums = Active::new(self.groups);
            self.upper.push(UpperLevel { sums, below: 0, nodes: 0, level: Some(Level::default()) });
        }
        &mut self.upper[level]
    }

    /// Ends the current node of a level.
    fn end_upper(&mut self, level: usize) {
        self.upper(level + 1);
        let (lower, upper) = self.upper.split_at_mut(level + 1);
        let (own, above) = (&mut lower[level], &mut upper[0]);
        for (group, summary) in own.sums.drain() {
            above.sums.of(group).append(&summary);
            own.level.iter_mut().for_each(|level| level.entries.push((group, summary)));
        }
        (own.below, own.nodes) = (0, own.nodes + 1);
        above.below += 1;
        end(&mut own.level, self.granted);
    }

    /// Returns the pyramid; the last node of a level may be smaller than the others.
    pub(in crate::query::index) fn finish(mut self) -> Pyramid {
        let mut levels = 0;
        if self.count > 1 {
            loop {
                if self.upper[levels].below > 0 {
                    self.end_upper(levels);
                }
                levels += 1;
                if self.upper[levels - 1].nodes == 1 {
                    break;
                }
            }
        }
        self.upper.truncate(levels);
        let upper: Vec<Option<Level<_>>> = self.upper.into_iter().map(|upper| upper.level).collect();
        let bytes = |level: usize| match level.checked_sub(1) {
            None => self.blocks.as_ref().map(Level::bytes),
            Some(above) => upper[above].as_ref().map(Level::bytes),
        };
        // Keep levels from the top down as far as memory permits.
        let (mut room, mut missing) = (self.granted, levels + 1);
        while let Some(left) = missing.checked_sub(1).and_then(bytes).and_then(|bytes| room.checked_sub(bytes)) {
            (room, missing) = (left, missing - 1);
        }
        let blocks = self.blocks.filter(|_| missing == 0).unwrap_or_default();
        let kept = |(level, of): (usize, Option<Level<_>>)| of.filter(|_| level >= missing).unwrap_or_default();
        let mut pyramid = Pyramid { blocks, upper: (1..).zip(upper).map(kept).collect(), missing, count: self.count };
        pyramid.blocks.shrink();
        pyramid.upper.iter_mut().for_each(Level::shrink);
        pyramid
    }
}

/// Ends the current node of a level, and drops the level if it alone takes too much memory.
fn end<E>(level: &mut Option<Level<E>>, granted: usize) {
    if let Some(entries) = level {
        entries.end_node();
        if entries.bytes() > granted {
            *level = None;
        }
    }
}
