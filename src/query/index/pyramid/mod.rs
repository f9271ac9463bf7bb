//! What each group of sites does in each block of a stretch of events, and in each
//! sixteen blocks, and so on up to all of them: the graph of any view is put together from
//! the largest pieces that fit into its bins.
//!
//! Groups without a step in a block take no room there. An entry takes 48 bytes, one of an
//! upper level 72. Where so many groups are active that the entries of all levels would
//! take more than is granted, the lower levels are left out, and their blocks have to be
//! walked through ([`super::lines`]).
//!
//! Here is what a pyramid answers; [`storage`] is how it lies in memory, [`writer`] how it is made.

mod active;
mod storage;
mod writer;

use super::blocks::EventBlocks;
use crate::query::summary::Summary;
pub(super) use storage::{ENTRY, MOST_GROUPS};
use storage::{Level, PackedSummary};
pub(super) use writer::PyramidWriter;

/// Blocks, or nodes, under one node above.
const FAN: usize = 16;

/// What some groups of sites do in each block of a stretch.
#[derive(Debug, Default)]
pub(super) struct Pyramid {
    blocks: Level<PackedSummary>,
    upper: Vec<Level<(u32, Summary<i64>)>>,
    /// Levels from the blocks up that are left out.
    missing: usize,
    /// Number of blocks.
    count: usize,
}

impl Pyramid {
    /// Number of blocks under a node of a level; level 0 are the blocks.
    fn width(level: usize) -> usize {
        FAN.saturating_pow(level as u32)
    }

    /// Whether even single blocks are known.
    pub(super) fn is_whole(&self) -> bool {
        self.missing == 0
    }

    /// The highest level of which a whole node begins at `block` and ends at `end` at
    /// the latest, and fits into what `fits` says of its last block.
    pub(super) fn largest(&self, block: usize, end: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let is_one = |&level: &usize| {
            let behind = self.behind(level, block);
            block.is_multiple_of(Self::width(level)) && behind <= end && fits(behind - 1)
        };
        (self.missing..=self.upper.len()).take_while(is_one).last()
    }

    /// Behind the node of `level` at `block`.
    fn behind(&self, level: usize, block: usize) -> usize {
        block.saturating_add(Self::width(level)).min(self.count)
    }

    /// The entries of the node of `level` at `block`, and the block behind it.
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

    /// Bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        self.blocks.bytes() + self.upper.iter().map(Level::bytes).sum::<usize>()
    }
}
