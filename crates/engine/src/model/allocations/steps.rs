//! Steps of the blocks of a slice, sorted into the shards of the matching before any row has a number:
//! a block is known by its rank among those that begin, or those that are freed, in the slice.

use std::ops::Range;
use std::sync::Arc;

use super::deaths::DeathSlot;
use super::shard_hash::{SHARDS, ShardHash};
use crate::model::{HeapId, RowId};
use crate::units::{Ticks, Tid};

/// A change of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::model) enum BlockChange {
    Begins,
    IsFreed,
    /// It ends if it is alive.
    Ends,
}

/// Identity of a block within a slice.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct RankedBlock {
    /// Number of blocks that begin, or that are freed, before it in the slice.
    pub(in crate::model) rank: u32,
    /// Number of its actor in the slice.
    pub(in crate::model) actor: u16,
    pub(in crate::model) change: BlockChange,
}

/// A change of the block at an address.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct BatchStep {
    pub(in crate::model) address: u64,
    pub(in crate::model) time: Ticks,
    pub(in crate::model) block: RankedBlock,
    /// Thread that frees it; [`Tid::NONE`] if it begins.
    pub(in crate::model) by: Tid,
}

/// The steps of one slice, by shard.
#[derive(Clone, Debug, Default)]
pub(in crate::model) struct SliceSteps([Vec<BatchStep>; SHARDS]);

/// The meaning of the ranks and actors of a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::model) struct Numbering {
    /// Row of rank 0, modulo 2^32.
    pub(in crate::model) first_row: u32,
    /// Slot of rank 0, modulo 2^32.
    pub(in crate::model) first_slot: u32,
    /// Heaps, by number of the actor.
    pub(in crate::model) heaps: Arc<[HeapId]>,
}

impl SliceSteps {
    #[inline(always)]
    pub(in crate::model) fn push(&mut self, shard_hash: ShardHash, step: BatchStep) {
        self.0[shard_hash.shard(step.address)].push(step);
    }

    /// No steps, and memory for as many.
    pub(in crate::model) fn room_for_as_many(&self) -> Self {
        Self(self.0.each_ref().map(|steps| Vec::with_capacity(steps.len())))
    }

    /// Number of steps, by shard.
    pub(in crate::model) fn lens(&self) -> [u32; SHARDS] {
        self.0.each_ref().map(|steps| steps.len() as u32)
    }

    pub(in crate::model) fn truncate(&mut self, lens: [u32; SHARDS]) {
        self.0.iter_mut().zip(lens).for_each(|(steps, len)| steps.truncate(len as usize));
    }

    /// The steps of a shard behind the first `from` of them.
    pub(in crate::model) fn behind(&self, shard: usize, from: u32) -> &[BatchStep] {
        &self.0[shard][from as usize..]
    }

    pub(super) fn of(&self, shard: usize, range: Range<usize>) -> &[BatchStep] {
        &self.0[shard][range]
    }
}

impl Numbering {
    #[inline(always)]
    pub(in crate::model) fn row(&self, block: RankedBlock) -> RowId {
        self.row_of(block.rank)
    }

    #[inline(always)]
    pub(in crate::model) fn row_of(&self, rank: u32) -> RowId {
        RowId(self.first_row.wrapping_add(rank))
    }

    #[inline(always)]
    pub(in crate::model) fn slot(&self, block: RankedBlock) -> DeathSlot {
        self.slot_of(block.rank)
    }

    #[inline(always)]
    pub(in crate::model) fn slot_of(&self, rank: u32) -> DeathSlot {
        DeathSlot(self.first_slot.wrapping_add(rank))
    }

    #[inline(always)]
    pub(in crate::model) fn heap(&self, block: RankedBlock) -> HeapId {
        self.heaps[usize::from(block.actor)]
    }
}
