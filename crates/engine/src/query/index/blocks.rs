//! The events of a trace in blocks, and the blocks in *stretches*. A stretch is built once, and later publications of a
//! growing trace share it.
//!
//! A block holds some thousand events and never ends inside a tick; a tick with more events than that is a block of its
//! own. 24 bytes per block.

use super::order::{EventPosition, late_before};
use crate::model::Rows;
use crate::units::Ticks;

/// The blocks of a stretch; there is at least one.
#[derive(Debug)]
pub(super) struct EventBlocks {
    /// First and last tick of each block.
    ticks: Vec<(Ticks, Ticks)>,
    /// Number of births and deaths before each block, and before the end.
    before: Vec<[u32; 2]>,
    /// The first tick after the stretch.
    end: Ticks,
}

impl EventBlocks {
    /// Creates the blocks that begin at `starts`, up to `end`.
    pub(super) fn new(ticks: Vec<(Ticks, Ticks)>, starts: &[EventPosition], (end, end_place): (Ticks, EventPosition)) -> Self {
        let before = starts.iter().chain([&end_place]).map(|place| [place.birth, place.death]).collect();
        Self { ticks, before, end }
    }

    pub(super) fn len(&self) -> usize {
        self.ticks.len()
    }

    /// Returns the first and last tick of a block.
    #[inline]
    pub(super) fn ticks(&self, block: usize) -> (Ticks, Ticks) {
        self.ticks[block]
    }

    /// Returns the first tick of the stretch.
    pub(super) fn first(&self) -> Ticks {
        self.ticks[0].0
    }

    /// Returns the last tick of the stretch.
    pub(super) fn last(&self) -> Ticks {
        self.ticks[self.ticks.len() - 1].1
    }

    /// Returns the first block that ends at `t` or later.
    pub(super) fn first_reaching(&self, t: Ticks) -> usize {
        self.ticks.partition_point(|&(_, last)| last < t)
    }

    /// Returns the first block that begins at `t` or later.
    pub(super) fn first_from(&self, t: Ticks) -> usize {
        self.ticks.partition_point(|&(first, _)| first < t)
    }

    /// Returns where a block begins, or after the last one the end, in any publication. Rows may have been split since,
    /// which increases the number of rows out of order.
    pub(super) fn place(&self, rows: &Rows, block: usize) -> EventPosition {
        let tick = self.ticks.get(block).map_or(self.end, |&(first, _)| first);
        let [birth, death] = self.before[block];
        EventPosition { birth, late: late_before(rows, tick), death }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.ticks.capacity() * 16 + self.before.capacity() * 8
    }
}
