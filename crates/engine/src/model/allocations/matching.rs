//! Matches frees to their allocations: keeps the live blocks, in shards by address.
//!
//! One thread gives the steps of all blocks in order of time ([`Matcher`]); the shards follow, each in
//! its own order, on the workers of the thread pool or, if these are busy, on the thread that gives the
//! steps. Results depend on neither.
//!
//! A shard writes deaths into the rows' shared columns and into the order of deaths.
//! Cost: two cache misses for a free, one for an allocation, overlapped.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use super::deaths::{DeathLog, DeathSlot, SlotsView};
use super::shard::{BlockAct, BlockStep, Mismatches, Shard, Shared, StretchSteps, Work};
use super::shard_hash::{SHARDS, ShardHash};
use super::steps::{Numbering, SliceSteps};
use crate::model::rows::DeathColumn;
use crate::model::stack::StackRef;
use crate::model::work_queue::WorkQueue;
use crate::model::{HeapId, RowId, RowList};
use crate::units::{Ticks, Tid};

/// Steps that are sent to a shard at a time: few at first, so that small captures take the same path.
const FIRST_SEND: usize = 16;
const SEND: usize = 4096;

/// A shard with this many steps to do is helped by the thread that sends them.
const MAX_QUEUED: usize = 8 * SEND;

/// Sends the steps of blocks to the shards.
#[derive(Debug)]
pub(in crate::model) struct Matcher {
    shard_hash: ShardHash,
    shared: Arc<Shared>,
    cells: Vec<Arc<WorkQueue<Shard>>>,
    /// Steps that were not sent yet, by shard.
    steps: Vec<Vec<BlockStep>>,
    /// Steps of batches that were not sent yet; only for shards without other unsent steps.
    block_batches: [Option<StretchSteps>; SHARDS],
    /// Number of steps at which they are sent next, by shard.
    send_at: [usize; SHARDS],
    next_slot: u32,
    /// Bytes of slots that are no longer kept.
    forgotten: u64,
    /// Slots for deaths that need no matching.
    slots: SlotsView,
    /// The deaths that are in their final order.
    log: DeathLog,
}

impl Matcher {
    pub(super) fn new() -> Self {
        let (shard_hash, shared) = (ShardHash::default(), Arc::new(Shared::default()));
        let cell = |number| Arc::new(WorkQueue::new(Shard::new(number, shard_hash, Arc::clone(&shared))));
        Self {
            shard_hash,
            cells: (0..SHARDS).map(cell).collect(),
            shared,
            steps: vec![Vec::new(); SHARDS],
            block_batches: Default::default(),
            send_at: [FIRST_SEND; SHARDS],
            next_slot: 0,
            forgotten: 0,
            slots: SlotsView::default(),
            log: DeathLog::default(),
        }
    }

    /// How blocks are distributed over shards.
    pub(super) fn shard_hash(&self) -> ShardHash {
        self.shard_hash
    }

    /// Adds the column of deaths of the next chunk of rows.
    pub(super) fn add_column(&mut self, column: DeathColumn) {
        self.shared.deaths.write().unwrap_or_else(PoisonError::into_inner).push(column);
    }

    #[inline(always)]
    pub(super) fn begin(&mut self, time: Ticks, heap: HeapId, address: u64, row: RowId) {
        self.step(BlockStep { address, time, heap, act: BlockAct::Begin(row), by: Tid::NONE });
    }

    /// Frees a block by a thread; returns the free's slot in the order of deaths.
    #[inline(always)]
    pub(super) fn free(&mut self, (time, by): (Ticks, Tid), heap: HeapId, address: u64) -> DeathSlot {
        let slot = self.slot();
        self.step(BlockStep { address, time, heap, act: BlockAct::Free(slot), by });
        slot
    }

    /// Ends a block like [`Matcher::free`], but without an unmatched free if the block is not alive.
    pub(super) fn end(&mut self, (time, by): (Ticks, Tid), heap: HeapId, address: u64) -> DeathSlot {
        let slot = self.slot();
        self.step(BlockStep { address, time, heap, act: BlockAct::End(slot), by });
        slot
    }

    /// Ends all blocks of a heap.
    pub(super) fn close(&mut self, time: Ticks, heap: HeapId) {
        for shard in 0..SHARDS {
            self.push(shard, BlockStep { address: 0, time, heap, act: BlockAct::Close, by: Tid::NONE });
        }
    }

    /// Notes the death of a row that the caller ended.
    pub(super) fn note_death(&mut self, row: RowId) {
        let slot = self.slot();
        self.slots.refresh(&self.shared.slots);
        self.slots.set(slot, row);
    }

    /// The row that ended at a slot, after [`Matcher::settle`]. Nothing is known any more of slots that
    /// [`Matcher::deaths_before`] has taken over.
    pub(in crate::model) fn ended_at(&mut self, slot: DeathSlot) -> Option<RowId> {
        self.slots.get(&self.shared.slots, slot)
    }

    /// Sets the stacks of frees that ended nothing, as far as these are kept; after
    /// [`Matcher::settle`]. Cost: a step for each of them and for each that is kept since the first, a shard.
    pub(in crate::model) fn tell_unmatched(&self, mut stacks: Vec<(DeathSlot, StackRef)>) {
        stacks.sort_by_key(|(slot, _)| *slot);
        let Some((first, _)) = stacks.first() else { return };
        for cell in &self.cells {
            let kept = &mut cell.lock().mismatches.kept;
            let since = kept.partition_point(|free| free.slot < *first);
            let mut stack = stacks.iter().peekable();
            for free in &mut kept[since..] {
                while stack.next_if(|(slot, _)| *slot < free.slot).is_some() {}
                // Of two stacks of one free the later one is longer.
                while let Some((_, told)) = stack.next_if(|(slot, _)| *slot == free.slot) {
                    free.stack = *told;
                }
            }
        }
    }

    /// The row that is alive at an address now.
    pub(in crate::model) fn alive(&mut self, heap: HeapId, address: u64) -> Option<RowId> {
        const LOOK_BACK: usize = 64;
        let shard = self.shard_hash.shard(address);
        for step in self.steps[shard].iter().rev().take(LOOK_BACK) {
            if step.heap == heap && (step.address == address || step.act == BlockAct::Close) {
                return match step.act {
                    BlockAct::Begin(row) => Some(row),
                    _ => None,
                };
            }
        }
        self.hand_on(shard);
        let cell = &self.cells[shard];
        let mut shard = cell.lock();
        cell.work_off(&mut shard);
        shard.heaps.get(heap.0 as usize)?.get(self.shard_hash.hash(address), address)
    }

    /// Waits until all steps have been done.
    pub(in crate::model) fn settle(&mut self) {
        for shard in 0..SHARDS {
            self.hand_on(shard);
        }
        for cell in &self.cells {
            cell.work_off(&mut cell.lock());
        }
    }

    /// Number of live blocks, after [`Matcher::settle`].
    pub(in crate::model) fn alive_count(&self) -> u64 {
        self.cells.iter().map(|cell| cell.lock().heaps.iter().map(|blocks| blocks.len() as u64).sum::<u64>()).sum()
    }

    /// Calls `each` with all live blocks, after [`Matcher::settle`].
    pub(super) fn each_alive(&self, mut each: impl FnMut(HeapId, u64)) {
        for cell in &self.cells {
            for (heap, blocks) in cell.lock().heaps.iter().enumerate() {
                blocks.addresses().for_each(|address| each(HeapId(heap as u32), address));
            }
        }
    }

    /// Number of slots in the order of deaths that were given out.
    pub(in crate::model) fn numbered(&self) -> u64 {
        self.next_slot.into()
    }

    /// Bytes of the order of deaths.
    pub(in crate::model) fn slots_bytes(&self) -> u64 {
        (u64::from(self.next_slot) * 4).saturating_sub(self.forgotten)
    }

    /// Gives rows their new numbers, if they have one, and new columns of deaths. To be called after
    /// [`Matcher::deaths_before`] for the present time, so that what is left does not depend on
    /// publications.
    pub(super) fn renumber(&mut self, columns: Vec<DeathColumn>, number: impl Fn(RowId) -> Option<RowId>) {
        *self.shared.deaths.write().unwrap_or_else(PoisonError::into_inner) = columns;
        let (done, left) = self.log.renumber(&self.shared.slots, &number);
        self.forgotten = (u64::from(done) * 4).saturating_sub(left as u64 * 4);
        self.slots = SlotsView::default();
        for cell in &self.cells {
            let mut shard = cell.lock();
            shard.heaps.iter_mut().for_each(|blocks| blocks.renumber(&number));
            (shard.deaths, shard.slots) = Default::default();
            shard.refresh();
        }
    }

    /// Calls `each` with all stacks.
    pub(super) fn each_stack(&mut self, each: &mut dyn FnMut(&mut StackRef)) {
        self.settle();
        for cell in &self.cells {
            cell.lock().mismatches.kept.iter_mut().for_each(|free| each(&mut free.stack));
        }
    }

    /// The mismatches found so far; complete after [`Matcher::settle`].
    pub(super) fn mismatches(&self) -> Mismatches {
        let mut all = Mismatches::default();
        for cell in &self.cells {
            let shard = cell.lock();
            all.unmatched += shard.mismatches.unmatched;
            all.superseded += shard.mismatches.superseded;
            all.kept.extend(&shard.mismatches.kept);
        }
        all
    }

    /// The order of all deaths, after [`Matcher::settle`]. Forgets the live blocks.
    pub(super) fn finish(&mut self, death: impl Fn(RowId) -> Ticks + Sync) -> RowList {
        self.cells.iter().for_each(|cell| cell.lock().heaps = Vec::new());
        self.deaths_before(Ticks::NEVER, death)
    }

    /// The order of the deaths before a moment, when all steps up to it have been sent and done
    /// ([`Matcher::settle`]). A later order begins with the same rows.
    pub(super) fn deaths_before(&mut self, horizon: Ticks, death: impl Fn(RowId) -> Ticks + Sync) -> RowList {
        let mut extra = Vec::new();
        self.slots = SlotsView::default();
        for cell in &self.cells {
            let mut shard = cell.lock();
            extra.append(&mut shard.extra);
            shard.slots = SlotsView::default();
        }
        self.log.take(&self.shared.slots, self.next_slot, extra, horizon, death);
        self.log.list()
    }

    /// Begins and frees the blocks of a batch: `ranges` of `steps`, one for each shard; `numbering`
    /// has the meaning of their numbers.
    pub(super) fn follow_batch(&mut self, steps: &Arc<SliceSteps>, ranges: [Range<usize>; SHARDS], numbering: &Numbering) {
        for (shard, range) in ranges.into_iter().enumerate().filter(|(_, range)| !range.is_empty()) {
            if let Some(before) = &mut self.block_batches[shard]
                && before.goes_on(steps, &range, numbering)
            {
                before.range.end = range.end;
                continue;
            }
            self.send(shard);
            self.block_batches[shard] = Some(StretchSteps { steps: Arc::clone(steps), range, numbering: numbering.clone() });
        }
    }

    /// Gives out `count` slots, one behind the other, as [`Matcher::free`] does; returns the first.
    pub(super) fn slots(&mut self, count: u32) -> DeathSlot {
        let first = DeathSlot(self.next_slot);
        for slot in (first.0..).take(count as usize) {
            self.shared.slots.make_room(DeathSlot(slot));
        }
        self.next_slot = first.0.saturating_add(count);
        first
    }

    /// The next slot; the replay ends the trace before there is none.
    #[inline(always)]
    fn slot(&mut self) -> DeathSlot {
        let slot = DeathSlot(self.next_slot);
        debug_assert!(slot.0 < u32::MAX, "no slots are left");
        self.next_slot = slot.0.saturating_add(1);
        self.shared.slots.make_room(slot);
        slot
    }

    #[inline(always)]
    fn step(&mut self, step: BlockStep) {
        self.push(self.shard_hash.shard(step.address), step);
    }

    #[inline(always)]
    fn push(&mut self, shard: usize, step: BlockStep) {
        if self.block_batches[shard].is_some() {
            self.send(shard);
        }
        let steps = &mut self.steps[shard];
        steps.push(step);
        if steps.len() >= self.send_at[shard] {
            self.send_at[shard] = (self.send_at[shard] * 2).min(SEND);
            self.send(shard);
        }
    }

    /// Queues the unsent steps of a shard, and calls a worker for them.
    #[inline(never)]
    fn send(&mut self, shard: usize) {
        let Some(queued) = self.hand_on(shard) else { return };
        let cell = &self.cells[shard];
        if queued >= MAX_QUEUED {
            cell.work_off(&mut cell.lock());
        } else {
            cell.call();
        }
    }

    /// Queues the unsent steps of a shard, if there are any; returns how many it has to do then.
    fn hand_on(&mut self, shard: usize) -> Option<usize> {
        let cell = &self.cells[shard];
        if let Some(block_batch) = self.block_batches[shard].take() {
            return Some(cell.add(Work::BlockBatch(block_batch)));
        }
        if self.steps[shard].is_empty() {
            return None;
        }
        let spare = self.shared.spare();
        Some(cell.add(Work::Steps(std::mem::replace(&mut self.steps[shard], spare))))
    }
}
