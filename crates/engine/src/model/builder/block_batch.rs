//! Applies many blocks at once: puts in place what a worker gathered from a slice of the records.
//!
//! That is done only if no block can touch anything that waits, or a limit, before the others; else
//! they are replayed one by one, with the same result.
//!
//! Rows and steps of the matching get their numbers here; stacks are found by a worker meanwhile ([`LentAttach`]).
//!
//! [`LentAttach`]: crate::model::attach::LentAttach

use std::sync::Arc;

use super::Builder;
use crate::events::{Place, Slice};
use crate::model::HeapId;
use crate::model::attach::NumberedBatch;
use crate::model::block_batches::{BlockBatch, SliceBlocks};
use crate::model::rows::PlacedThread;
use crate::units::Ticks;

/// The meaning of a slice's numbers, as far as it is known.
#[derive(Debug)]
struct SliceNames {
    /// Heaps by number, and when they were looked up; [`NO_HEAP`] for those that are not known.
    heaps: Arc<[HeapId]>,
    generation: u64,
    /// Threads, by number.
    threads: Vec<PlacedThread>,
}

const NO_HEAP: HeapId = HeapId(u32::MAX);

impl Builder {
    /// Gathers in workers what [`Builder::apply_slice`] needs of slices of the records.
    pub fn gatherer(&self) -> SliceBlocks {
        SliceBlocks::new(self.trace_start, self.allocations.shard_hash())
    }

    /// Applies the records of the next slice in time order.
    pub fn apply_slice(&mut self, slice: &Arc<Slice<SliceBlocks>>) {
        if !slice.owed().is_empty() {
            self.take_back();
            self.attach.owed.expect(slice.owed());
        }
        let order = slice.order();
        let mut names = SliceNames { heaps: Arc::default(), generation: self.world.generation(), threads: Vec::new() };
        let mut next = 0;
        for (number, block_batch) in slice.made().block_batches().iter().enumerate() {
            let blocks = block_batch.order();
            self.apply_each(slice, &order[next..blocks.start]);
            next = blocks.end;
            if !self.apply_batch(slice, number, &mut names) {
                self.apply_each(slice, &order[blocks]);
            }
        }
        self.apply_each(slice, &order[next..]);
    }

    /// Takes back stacks and sites, if they are away. Slices that were applied are not needed any more
    /// then.
    #[inline(always)]
    pub fn take_back(&mut self) {
        if self.attach.is_away() {
            self.follow_to_end();
        }
    }

    #[inline(never)]
    fn follow_to_end(&mut self) {
        let left = self.attach.take_back();
        let (attach, mut rooms) = self.attach();
        left.into_iter().for_each(|mut batch| _ = attach.follow(&mut batch, Some(&mut rooms)));
    }

    fn apply_each(&mut self, slice: &Slice<SliceBlocks>, places: &[Place]) {
        for &place in places {
            let (item, stack) = slice.item(place);
            self.apply_item(item, stack);
        }
    }

    /// Applies all blocks of a batch, if that can be done at once; returns whether it was done.
    fn apply_batch(&mut self, slice: &Arc<Slice<SliceBlocks>>, number: usize, names: &mut SliceNames) -> bool {
        let blocks = slice.made();
        let block_batch = &blocks.block_batches()[number];
        if block_batch.has_samples {
            self.take_back(); // only here can all of it be followed
        }
        let is_usual = block_batch.first >= self.now
            && self.attach.waits_for_none(block_batch)
            && self.allocations.takes_batches(block_batch.first)
            && self.admits_batch(block_batch.len());
        if !is_usual || !self.find_names(blocks, block_batch, names) {
            return false;
        }
        let steps = (blocks.steps(), std::array::from_fn(|shard| block_batch.steps(shard)));
        let rows = (&blocks.rows, block_batch.begun());
        let numbering = self.allocations.follow_batch(rows, &names.threads, block_batch.freed(), steps, &names.heaps);
        for latest in blocks.latest(block_batch) {
            let (heap, thread) = (names.heaps[usize::from(latest.actor)], blocks.threads()[usize::from(latest.thread)]);
            self.allocations.latest.set(heap, thread, numbering.row_of(latest.rank));
        }
        self.follow(NumberedBatch::new(slice, number, numbering));
        self.now = Ticks::from_raw(block_batch.last, self.trace_start);
        self.admitted(block_batch.len());
        true
    }

    /// Has the stacks of a batch found: here if other rooms are needed, else by a worker.
    fn follow(&mut self, mut batch: NumberedBatch) {
        if batch.has_samples() {
            let (attach, mut rooms) = self.attach();
            attach.follow(&mut batch, Some(&mut rooms));
            return;
        }
        if !self.attach.is_away() {
            self.attach.know(self.world.heaps());
        }
        self.attach.send(batch);
    }

    /// Finds the meaning of a batch's numbers that did not occur before in its slice; `false` if one
    /// is not known.
    fn find_names(&mut self, blocks: &SliceBlocks, block_batch: &BlockBatch, names: &mut SliceNames) -> bool {
        let threads = &blocks.threads()[names.threads.len()..block_batch.threads as usize];
        for thread in threads {
            let Some(placed) = self.allocations.rows.placed_thread(*thread) else { return false };
            names.threads.push(placed);
        }
        if names.generation != self.world.generation() {
            (names.heaps, names.generation) = (Arc::default(), self.world.generation());
        }
        let actors = &blocks.actors()[..block_batch.actors as usize];
        let is_unknown = |number: usize| names.heaps.get(number).is_none_or(|&heap| heap == NO_HEAP);
        if (0..actors.len()).any(is_unknown) {
            let find = |(number, &(pid, layer, handle)): (usize, &_)| match is_unknown(number) {
                true => self.world.find_heap(pid, layer, handle).unwrap_or(NO_HEAP),
                false => names.heaps[number],
            };
            names.heaps = actors.iter().enumerate().map(find).collect();
        }
        names.heaps.iter().enumerate().all(|(number, &heap)| heap != NO_HEAP || !block_batch.has(number))
    }
}
