//! Memory layout of summaries: those of blocks are packed, and those of a level are contiguous.

use crate::query::summary::Summary;
use crate::units::Ticks;

/// The summary of a block; times are relative to the block's first tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedSummary {
    sum: i64,
    low: i64,
    high: i64,
    first: u32,
    last: u32,
    low_at: u32,
    high_at: u32,
    /// Group; the two upper bits are the number of steps.
    group: u32,
}

const GROUP_BITS: u32 = 30;

/// Largest number of groups that entries can number.
pub(in crate::query::index) const MOST_GROUPS: usize = 1 << GROUP_BITS;

/// Bytes of a block's entry.
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

/// The entries of blocks, or of nodes above them, stored contiguously.
#[derive(Debug)]
pub(super) struct Level<E> {
    pub(super) entries: Vec<E>,
    /// Start of each node's entries, and the end of the last.
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

    /// Returns the bytes of the contents.
    pub(super) fn bytes(&self) -> usize {
        self.entries.len() * size_of::<E>() + self.starts.len() * 4
    }

    pub(super) fn shrink(&mut self) {
        self.entries.shrink_to_fit();
        self.starts.shrink_to_fit();
    }
}
