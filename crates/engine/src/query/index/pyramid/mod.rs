//! Pyramid of summaries: the activity of each group of sites in each block of a stretch of events, in each sixteen
//! blocks, and so on up to all of them. The graph of any view is combined from the largest nodes that fit into its
//! bins.
//!
//! Groups without a step in a block have no entry there. An entry takes 48 bytes, one of an upper level 72. If so many
//! groups are active that the entries of all levels would take more memory than granted, the lower levels are omitted,
//! and their blocks have to be walked ([`super::lines`]).
//!
//! This module has the queries; [`storage`] has the memory layout, and [`writer`] builds pyramids.

mod active;
mod storage;
mod writer;

use super::blocks::EventBlocks;
use crate::query::summary::Summary;
pub(super) use storage::{ENTRY, MOST_GROUPS};
use storage::{Level, PackedSummary};
pub(super) use writer::PyramidWriter;

/// Number of blocks, or nodes, below one node of the next level.
const FAN: usize = 16;

/// The activity of some groups of sites in each block of a stretch.
#[derive(Debug, Default)]
pub(super) struct Pyramid {
    blocks: Level<PackedSummary>,
    upper: Vec<Level<(u32, Summary<i64>)>>,
    /// Number of omitted levels, counted from the blocks up.
    missing: usize,
    /// Number of blocks.
    count: usize,
}

impl Pyramid {
    /// Returns the number of blocks below a node of a level; level 0 is the blocks.
    fn width(level: usize) -> usize {
        FAN.saturating_pow(level as u32)
    }

    /// Returns whether no level is omitted.
    pub(super) fn is_whole(&self) -> bool {
        self.missing == 0
    }

    /// Returns the highest level with a node that begins at `block`, ends at `end` or before, and whose last block
    /// satisfies `fits`.
    pub(super) fn largest(&self, block: usize, end: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let is_one = |&level: &usize| {
            let behind = self.behind(level, block);
            block.is_multiple_of(Self::width(level)) && behind <= end && fits(behind - 1)
        };
        (self.missing..=self.upper.len()).take_while(is_one).last()
    }

    /// Returns the end (exclusive) of the node of `level` at `block`.
    fn behind(&self, level: usize, block: usize) -> usize {
        block.saturating_add(Self::width(level)).min(self.count)
    }

    /// Calls `take` with the entries of the node of `level` at `block`, and returns the end of the node.
    pub(super) fn node(
        &self,
        blocks: &EventBlocks,
        level: usize,
        block: usize,
        mut take: impl FnMut(u32, &Summary<i64>),
    ) -> usize {
        match level.checked_sub(1) {
            None => {
                let base = blocks.ticks(block).0;
                for (group, summary) in self.blocks.of(block).iter().map(|entry| entry.unpack(base)) {
                    take(group, &summary);
                }
            }
            Some(upper) => {
                let entries = self.upper[upper].of(block / Self::width(level));
                entries.iter().for_each(|(group, summary)| take(*group, summary));
            }
        }
        self.behind(level, block)
    }

    /// Returns the bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        self.blocks.bytes() + self.upper.iter().map(Level::bytes).sum::<usize>()
    }
}
