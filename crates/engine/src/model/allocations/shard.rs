//! One shard of the matching: the live blocks of some addresses, and their steps.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::deaths::{DeathSlot, DeathSlots, Extra, SlotsView};
use super::live_blocks::LiveBlocks;
use super::shard_hash::ShardHash;
use super::steps::{BatchStep, BlockChange, Numbering, SliceSteps};
use crate::model::rows::{CHUNK, DeathColumn};
use crate::model::stack::StackRef;
use crate::model::work_queue::Worker;
use crate::model::{HeapId, RowId};
use crate::units::{Ticks, Tid};

/// Most unmatched frees that each shard keeps with their stacks; all are counted.
pub(super) const MAX_KEPT: usize = 1 << 16;

/// A change of the block at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockAct {
    /// It begins, as this row.
    Begin(RowId),
    /// It is freed; with its slot in the order of deaths.
    Free(DeathSlot),
    /// It ends if it is alive; with its slot in the order of deaths.
    End(DeathSlot),
    /// All blocks of the heap end.
    Close,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct BlockStep {
    pub(super) address: u64,
    pub(super) time: Ticks,
    pub(super) heap: HeapId,
    pub(super) act: BlockAct,
    /// Thread that frees the block; [`Tid::NONE`] for other acts.
    pub(super) by: Tid,
}

/// Steps that are done one after the other.
#[derive(Debug)]
pub(super) enum Work {
    Steps(Vec<BlockStep>),
    BlockBatch(StretchSteps),
}

/// Some of the steps of a slice.
#[derive(Debug)]
pub(super) struct StretchSteps {
    pub(super) steps: Arc<SliceSteps>,
    pub(super) range: Range<usize>,
    pub(super) numbering: Numbering,
}

impl StretchSteps {
    /// Whether some steps come right behind these, and their numbers have the same meaning.
    pub(super) fn goes_on(&self, steps: &Arc<SliceSteps>, range: &Range<usize>, numbering: &Numbering) -> bool {
        Arc::ptr_eq(&self.steps, steps) && self.range.end == range.start && self.numbering == *numbering
    }
}

/// A free of a block that was not alive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unmatched {
    pub(super) time: Ticks,
    pub(super) heap: HeapId,
    pub(super) address: u64,
    pub(super) stack: StackRef,
    /// Its slot in the order of deaths, at which no row ended. The unmatched frees of a shard are in
    /// the order of their slots.
    pub(super) slot: DeathSlot,
}

/// Frees and allocations that did not match.
#[derive(Clone, Debug, Default)]
pub(super) struct Mismatches {
    pub(super) unmatched: u64,
    pub(super) superseded: u64,
    /// The first unmatched frees of each shard.
    pub(super) kept: Vec<Unmatched>,
}

/// Columns that all shards write to.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) deaths: RwLock<Vec<DeathColumn>>,
    pub(super) slots: DeathSlots,
    /// Memory for steps to come.
    spare: Mutex<Vec<Vec<BlockStep>>>,
}

impl Shared {
    /// Memory for steps to come.
    pub(super) fn spare(&self) -> Vec<BlockStep> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give_back(&self, steps: Vec<BlockStep>) {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(steps);
    }
}

/// The blocks of some addresses.
#[derive(Debug)]
pub(super) struct Shard {
    number: usize,
    shared: Arc<Shared>,
    shard_hash: ShardHash,
    pub(super) heaps: Vec<LiveBlocks>,
    pub(super) deaths: Vec<DeathColumn>,
    pub(super) slots: SlotsView,
    /// Rows that ended without a slot, since they were asked for.
    pub(super) extra: Vec<Extra>,
    pub(super) mismatches: Mismatches,
}

impl Worker for Shard {
    type Work = Work;

    fn steps(work: &Work) -> usize {
        match work {
            Work::Steps(steps) => steps.len(),
            Work::BlockBatch(block_batch) => block_batch.range.len(),
        }
    }

    fn begin(&mut self) {
        self.refresh();
    }

    fn work(&mut self, work: Work) {
        match work {
            Work::Steps(mut steps) => {
                self.follow(&steps, |step| (step.address, step.heap), |step, _| *step);
                steps.clear();
                self.shared.give_back(steps);
            }
            Work::BlockBatch(StretchSteps { steps, range, numbering }) => {
                self.follow_batch(steps.of(self.number, range), &numbering);
            }
        }
    }
}

impl Shard {
    pub(super) fn new(number: usize, shard_hash: ShardHash, shared: Arc<Shared>) -> Self {
        let (heaps, deaths, extra) = Default::default();
        let (slots, mismatches) = Default::default();
        Self { number, shard_hash, shared, heaps, deaths, slots, extra, mismatches }
    }

    /// Sees the columns that were added.
    pub(super) fn refresh(&mut self) {
        let deaths = self.shared.deaths.read().unwrap_or_else(PoisonError::into_inner);
        self.deaths.extend(deaths[self.deaths.len()..].iter().cloned());
        self.slots.refresh(&self.shared.slots);
    }

    /// Does the steps of a batch.
    fn follow_batch(&mut self, steps: &[BatchStep], numbering: &Numbering) {
        self.follow(
            steps,
            |step| (step.address, numbering.heap(step.block)),
            |step, heap| {
                let &BatchStep { address, time, block, by } = step;
                let act = match block.change {
                    BlockChange::Begins => BlockAct::Begin(numbering.row(block)),
                    BlockChange::IsFreed => BlockAct::Free(numbering.slot(block)),
                    BlockChange::Ends => BlockAct::End(numbering.slot(block)),
                };
                BlockStep { address, time, heap, act, by }
            },
        );
    }

    /// Does some steps: `place` gives the address and heap of one, and `step` what it does.
    #[inline(always)]
    fn follow<S>(&mut self, steps: &[S], place: impl Fn(&S) -> (u64, HeapId), step: impl Fn(&S, HeapId) -> BlockStep) {
        /// Number of look-ups that are started before the first result is needed.
        const TOGETHER: usize = 16;
        for steps in steps.chunks(TOGETHER) {
            let mut places = [(0, HeapId(0)); TOGETHER];
            let mut touched = 0;
            for (found, (address, heap)) in places.iter_mut().zip(steps.iter().map(&place)) {
                *found = (self.shard_hash.hash(address), heap);
                touched ^= self.heaps.get(heap.0 as usize).map_or(0, |blocks| blocks.touch(found.0));
            }
            std::hint::black_box(touched);
            for (&(hash, heap), one) in places.iter().zip(steps) {
                self.follow_one(hash, &step(one, heap));
            }
        }
    }

    #[inline(always)]
    fn follow_one(&mut self, hash: u64, step: &BlockStep) {
        let index = step.heap.0 as usize;
        if index >= self.heaps.len() {
            self.heaps.resize_with(index + 1, LiveBlocks::default);
        }
        let blocks = &mut self.heaps[index];
        match step.act {
            BlockAct::Begin(row) => {
                if let Some(older) = blocks.insert(self.shard_hash, hash, step.address, row) {
                    self.mismatches.superseded += 1;
                    self.kill(older, step.time);
                    self.extra.push((step.time, older));
                }
            }
            BlockAct::Free(slot) | BlockAct::End(slot) => match blocks.remove(hash, step.address) {
                Some(row) => {
                    self.deaths[row.0 as usize / CHUNK].end(row.0 as usize % CHUNK, step.time, step.by);
                    self.slots.set(slot, row);
                }
                None if step.act == BlockAct::Free(slot) => self.note_unmatched(step, slot),
                None => {}
            },
            BlockAct::Close => {
                for row in blocks.take_all() {
                    self.kill(row, step.time);
                    self.extra.push((step.time, row));
                }
            }
        }
    }

    /// Ends a row that no thread frees.
    fn kill(&self, row: RowId, at: Ticks) {
        self.deaths[row.0 as usize / CHUNK].set(row.0 as usize % CHUNK, at);
    }

    fn note_unmatched(&mut self, &BlockStep { time, heap, address, .. }: &BlockStep, slot: DeathSlot) {
        self.mismatches.unmatched += 1;
        if self.mismatches.kept.len() < MAX_KEPT {
            self.mismatches.kept.push(Unmatched { time, heap, address, stack: StackRef::NONE, slot });
        }
    }
}
