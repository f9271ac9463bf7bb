//! How summaries lie in memory: those of blocks packed, all of a level side by side.

use crate::query::summary::Summary;
use crate::units::Ticks;

/// A summary in a block: times count from its first tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedSummary {
    sum: i64,
    low: i64,
    high: i64,
    first: u32,
    last: u32,
    low_at: u32,
    high_at: u32,
    /// Group; the number of steps is in the two bits above.
    group: u32,
}

const GROUP_BITS: u32 = 30;

/// The most groups that entries can number.
pub(in crate::query::index) const MOST_GROUPS: usize = 1 << GROUP_BITS;

/// Bytes of an entry of a block.
pub(in crate::query::index) const ENTRY: usize = size_of::<PackedSummary>();

impl PackedSummary {
    pub(super) fn new(group: u32, base: Ticks, s: &Summary<i64>) -> Self {
        let offset = |t: Ticks| t.0.wrapping_sub(base.0) as u32;
        Self {
            sum: s.sum,
            low: s.low,
            high: s.high,
            first: offset(s.first),
            last: offset(s.last),
            low_at: offset(s.low_at),
            high_at: offset(s.high_at),
            group: u32::from(s.steps) << GROUP_BITS | group,
        }
    }

    pub(super) fn unpack(&self, base: Ticks) -> (u32, Summary<i64>) {
        let tick = |offset: u32| Ticks(base.0.wrapping_add(offset.into()));
        let summary = Summary {
            steps: (self.group >> GROUP_BITS) as u8,
            sum: self.sum,
            low: self.low,
            low_at: tick(self.low_at),
            high: self.high,
            high_at: tick(self.high_at),
            first: tick(self.first),
            last: tick(self.last),
        };
        (self.group & ((1 << GROUP_BITS) - 1), summary)
    }
}

/// Entries of blocks, or of nodes above them, side by side.
#[derive(Debug)]
pub(super) struct Level<E> {
    pub(super) entries: Vec<E>,
    /// Where each node's entries begin, and where the last one's end.
    starts: Vec<u32>,
}

impl<E> Default for Level<E> {
    fn default() -> Self {
        Self { entries: Vec::new(), starts: vec![0] }
    }
}

impl<E> Level<E> {
    pub(super) fn of(&self, node: usize) -> &[E] {
        &self.entries[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    pub(super) fn end_node(&mut self) {
        self.starts.push(self.entries.len() as u32);
    }

    /// Bytes of what is in it.
    pub(super) fn bytes(&self) -> usize {
        self.entries.len() * size_of::<E>() + self.starts.len() * 4
    }

    pub(super) fn shrink(&mut self) {
        self.entries.shrink_to_fit();
        self.starts.shrink_to_fit();
    }
}
