//! Data gathered from the blocks of a slice while it is put into order, on the thread that does that,
//! so that the replay has little left to do for each block.
//!
//! A *batch* is many records about blocks, and *batch events*: stacks behind their events, definitions of
//! stack keys, CPU samples and page faults with their stacks; without anything else in between. The single events of a
//! batch matter only to [`AllocationTable`] and [`Attach`], and neither needs them in one order: rows are
//! numbered as they come, blocks are matched by address, stacks are looked up by hash or key. So this
//! room makes columns of new rows, the steps of the matching by shard, and lists of blocks by the way
//! in which their stacks came; numbers of rows and death slots count from the first of the slice. The
//! replay adds where these begin now.
//!
//! A record that is not ordinary (sizes and addresses that do not fit into columns, blocks without a
//! process or perhaps without their tracker) is no part of a batch and is replayed by itself, and so are records between two such in
//! groups of fewer than [`LEAST`]. A batch with an unknown actor is replayed one by one, too.
//!
//! Cost: some 100 instructions a block. Memory: 70 to 100 bytes a block of the few slices that are in
//! work.
//!
//! [`AllocationTable`]: super::allocations::AllocationTable
//! [`Attach`]: super::attach::Attach

mod dictionary;
mod latest;
mod lists;
mod realloc;

use std::ops::Range;
use std::sync::Arc;

use super::allocations::{BatchStep, BlockChange, RankedBlock, SHARDS, ShardHash, SliceSteps};
use super::pairing::{is_behind, threads_of_owner};
use super::rows::{NewRows, is_plain};
use crate::events::{Attached, Batch, BlockEvent, Entry, Event, Gather, Item, Record, StackPart, shared_handle};
use crate::units::{Layer, Pid, Ticks, Tid};
use dictionary::{Dictionary, Numbered};
pub(super) use latest::LatestBlock;
use latest::LatestOfSlice;
pub(super) use lists::{BareBlock, BatchEvent, FramedBlock, KeyedBlock, ListEnds, ListedBlock};

/// Least records of a batch.
const LEAST: usize = 4;

/// Most samples and page faults that are searched for the owner of a stack.
const LATEST_SAMPLES: usize = 64;

/// Process, layer and handle of a heap, as events name it.
pub(super) type ActorKey = (Pid, Layer, u64);

impl Numbered for ActorKey {
    #[inline(always)]
    fn bits(self) -> u64 {
        let (pid, layer, handle) = self;
        handle ^ u64::from(pid.0) << 32 ^ layer as u64
    }
}

impl Numbered for Tid {
    #[inline(always)]
    fn bits(self) -> u64 {
        self.0.into()
    }
}

/// The stack that came with a record, and the record's raw time and thread.
#[derive(Clone, Copy)]
struct StackOf<'a> {
    time: i64,
    tid: Tid,
    stack: Attached,
    /// The batch that has its frames.
    batch: &'a Batch,
}

/// Where the parts of a batch end in the lists of its slice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    order: u32,
    begun: u32,
    freed: u32,
    steps: [u32; SHARDS],
    pub(super) lists: ListEnds,
    batch_events: u32,
    latest: u32,
    frames: u32,
}

/// A run of records that the replay can apply at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockBatch {
    pub(super) from: Ends,
    pub(super) to: Ends,
    pub(super) first: Ticks,
    /// Raw time of the last record.
    pub(super) last: i64,
    /// Numbers of actors and threads that were known when it ended.
    pub(super) actors: u32,
    pub(super) threads: u32,
    /// Whether CPU samples or page faults are among its events.
    pub(super) has_samples: bool,
    /// Whether kernel parts of stacks are among its events.
    pub(super) has_kernel_parts: bool,
    /// A bit for each of the first actors that acts in it; the last bit stands for all other actors.
    acting: u64,
}

impl BlockBatch {
    /// Whether an actor may act in it.
    pub(super) fn has(&self, actor: usize) -> bool {
        self.acting >> actor.min(63) & 1 != 0
    }

    /// Number of its records.
    pub(super) fn len(&self) -> u32 {
        self.to.order - self.from.order
    }

    /// Number of frames of its stacks.
    pub(super) fn frames(&self) -> u32 {
        self.to.frames - self.from.frames
    }

    /// The steps of a shard.
    pub(super) fn steps(&self, shard: usize) -> Range<usize> {
        self.from.steps[shard] as usize..self.to.steps[shard] as usize
    }

    pub(super) fn order(&self) -> Range<usize> {
        self.from.order as usize..self.to.order as usize
    }

    pub(super) fn begun(&self) -> Range<usize> {
        self.from.begun as usize..self.to.begun as usize
    }

    pub(super) fn freed(&self) -> Range<usize> {
        self.from.freed as usize..self.to.freed as usize
    }
}

/// The blocks of a slice, in batches.
#[derive(Clone, Debug, Default)]
pub struct SliceBlocks {
    trace_start: i64,
    shard_hash: ShardHash,
    actors: Dictionary<ActorKey>,
    threads: Dictionary<Tid>,
    block_batches: Vec<BlockBatch>,
    pub(super) rows: NewRows,
    freed: u32,
    /// The steps while they are added; then they are in `shared_steps`.
    steps: SliceSteps,
    shared_steps: Arc<SliceSteps>,
    keyed: Vec<KeyedBlock>,
    framed: Vec<FramedBlock>,
    bare: Vec<BareBlock>,
    freed_bare: Vec<BareBlock>,
    batch_events: Vec<BatchEvent>,
    /// Number of frames of all stacks.
    frames: u32,
    latest: LatestOfSlice,
    /// Raw times and threads of samples and page faults in the open batch.
    sampled: Vec<(i64, Tid)>,
    /// Whether all times of the slice are ordinary ones; if not, it has no batches.
    is_ordinary: bool,
    /// Number of entries so far.
    seen: u32,
    /// The open batch, if there is one.
    open: Option<BlockBatch>,
}

impl SliceBlocks {
    /// For no slice yet, in a trace that starts at a raw time; `shard_hash` distributes blocks over shards.
    pub(super) fn new(trace_start: i64, shard_hash: ShardHash) -> Self {
        Self { trace_start, shard_hash, is_ordinary: true, ..Self::default() }
    }

    /// The batches in their order.
    pub(super) fn block_batches(&self) -> &[BlockBatch] {
        &self.block_batches
    }

    /// Actors, by number.
    pub(super) fn actors(&self) -> &[ActorKey] {
        self.actors.list()
    }

    /// Threads that allocate, by number.
    pub(super) fn threads(&self) -> &[Tid] {
        self.threads.list()
    }

    /// Steps of the matching, by shard.
    pub(super) fn steps(&self) -> &Arc<SliceSteps> {
        &self.shared_steps
    }

    /// The events of a batch beside its blocks, in their order.
    pub(super) fn batch_events(&self, block_batch: &BlockBatch) -> &[BatchEvent] {
        &self.batch_events[block_batch.from.batch_events as usize..block_batch.to.batch_events as usize]
    }

    /// The latest blocks of threads, one or several for each thread and heap: the last one counts.
    pub(super) fn latest(&self, block_batch: &BlockBatch) -> &[LatestBlock] {
        &self.latest.list()[block_batch.from.latest as usize..block_batch.to.latest as usize]
    }

    pub(super) fn keyed(&self, range: Range<u32>) -> &[KeyedBlock] {
        &self.keyed[range.start as usize..range.end as usize]
    }

    pub(super) fn framed(&self, range: Range<u32>) -> &[FramedBlock] {
        &self.framed[range.start as usize..range.end as usize]
    }

    /// Blocks that begin.
    pub(super) fn bare(&self, range: Range<u32>) -> &[BareBlock] {
        &self.bare[range.start as usize..range.end as usize]
    }

    /// Blocks that are freed.
    pub(super) fn freed_bare(&self, range: Range<u32>) -> &[BareBlock] {
        &self.freed_bare[range.start as usize..range.end as usize]
    }

    fn list_ends(&self) -> ListEnds {
        ListEnds {
            keyed: self.keyed.len() as u32,
            framed: self.framed.len() as u32,
            bare: self.bare.len() as u32,
            freed_bare: self.freed_bare.len() as u32,
        }
    }

    fn ends(&self) -> Ends {
        Ends {
            order: self.seen,
            begun: self.rows.len() as u32,
            freed: self.freed,
            steps: self.steps.lens(),
            lists: self.list_ends(),
            batch_events: self.batch_events.len() as u32,
            latest: self.latest.len(),
            frames: self.frames,
        }
    }

    /// Adds a block to the open batch, if it is an ordinary one; returns whether it is.
    #[inline(always)]
    fn add(&mut self, block: &BlockEvent, stack: StackOf<'_>) -> bool {
        let &BlockEvent { time: raw, pid, tid, layer, heap, address, size } = block;
        if !pid.is_known() || size.is_some_and(|size| !is_plain(address, size)) || shared_handle(layer, heap).is_some() {
            return false;
        }
        let Some(actor) = self.actors.number((pid, layer, heap)) else { return false };
        match size {
            Some(size) => {
                let Some(thread) = self.threads.number(tid) else { return false };
                let time = self.go_on(raw, actor);
                let block = self.begins(time, (actor, layer), (address, size as u32), thread);
                self.list(stack, block, None);
            }
            None => {
                let time = self.go_on(raw, actor);
                let block = self.ends_with((time, tid), actor, address, BlockChange::IsFreed);
                self.list(stack, block, None);
            }
        }
        true
    }

    /// Continues a batch with a record of an actor.
    #[inline(always)]
    fn go_on(&mut self, raw: i64, actor: u16) -> Ticks {
        let time = self.time(raw);
        let open = self.open(time);
        open.last = raw;
        open.acting |= 1 << actor.min(63);
        time
    }

    /// The moment of a raw time of the slice.
    #[inline(always)]
    fn time(&self, raw: i64) -> Ticks {
        Ticks(raw.wrapping_sub(self.trace_start))
    }

    #[inline(always)]
    fn begins(&mut self, time: Ticks, (actor, layer): (u16, Layer), (address, size): (u64, u32), thread: u16) -> RankedBlock {
        let block = RankedBlock { rank: self.rows.push(time, (address, size), thread), actor, change: BlockChange::Begins };
        if layer == Layer::Heap {
            self.latest.set(LatestBlock { actor, thread, rank: block.rank });
        }
        self.steps.push(self.shard_hash, BatchStep { address, time, block, by: Tid::NONE });
        block
    }

    #[inline(always)]
    fn ends_with(&mut self, (time, by): (Ticks, Tid), actor: u16, address: u64, change: BlockChange) -> RankedBlock {
        let block = RankedBlock { rank: self.freed, actor, change };
        self.freed += 1;
        self.steps.push(self.shard_hash, BatchStep { address, time, block, by });
        block
    }

    /// Puts a block that begins, or ends, into the list for its stack.
    #[inline(always)]
    fn list(&mut self, StackOf { time, tid, stack, batch }: StackOf<'_>, ranked: RankedBlock, freed: Option<u32>) {
        let block = ListedBlock { ranked, order: self.seen };
        match stack {
            Attached::Key { delay, key } => self.keyed.push(KeyedBlock { key, given: time.wrapping_add(delay.into()), block }),
            Attached::Frames(frames) => {
                self.frames += frames.len();
                self.framed.push(FramedBlock { frames, stack_hash: batch.frames.get(frames).stack_hash(), block });
            }
            Attached::Nothing => {
                let list = if ranked.change == BlockChange::Begins { &mut self.bare } else { &mut self.freed_bare };
                list.push(BareBlock { ranked, time, tid, freed });
            }
        }
    }

    #[inline(never)]
    fn add_record(&mut self, record: &Record, stack: StackOf<'_>) -> bool {
        if let Event::StackDefinition { frames, .. } | Event::Stack { frames, .. } = record.event {
            self.frames += frames.len();
        }
        match &record.event {
            Event::StackDefinition { .. } => self.add_batch_event(record.time),
            &(Event::Stack { owner, part, .. } | Event::StackRef { owner, part, .. }) if is_behind(owner, record.time) => {
                match part {
                    StackPart::User => self.add_batch_event(record.time),
                    StackPart::Kernel => self.add_kernel_part(record.time, (owner, record.tid)),
                }
            }
            Event::Sample { .. } | Event::Fault(_) => {
                self.add_batch_event(record.time);
                self.open.iter_mut().for_each(|open| open.has_samples = true);
                self.sampled.push((record.time, record.tid));
                true
            }
            &Event::Realloc { layer, heap, .. } if shared_handle(layer, heap).is_some() => false,
            &Event::Realloc { layer, heap, old, new, size } => self.add_realloc(record, (layer, heap), old, (new, size), stack),
            _ => false,
        }
    }

    fn add_batch_event(&mut self, raw: i64) -> bool {
        self.open(self.time(raw)).last = raw;
        self.batch_events.push(BatchEvent { order: self.seen, before: self.list_ends() });
        true
    }

    /// Adds the kernel part of a stack if it is that of a sample or page fault, which has nothing to do with rows as others
    /// have.
    fn add_kernel_part(&mut self, raw: i64, (owner, tid): (i64, Tid)) -> bool {
        let is_its = |&(time, thread): &(i64, Tid)| time == owner && threads_of_owner(tid).contains(&thread);
        let is_of_sample = self.open.is_some() && self.sampled.iter().rev().take(LATEST_SAMPLES).any(is_its);
        if is_of_sample {
            self.add_batch_event(raw);
            self.open.iter_mut().for_each(|open| open.has_kernel_parts = true);
        }
        is_of_sample
    }

    /// The open batch, begun now if there is none.
    #[inline(always)]
    fn open(&mut self, first: Ticks) -> &mut BlockBatch {
        if self.open.is_none() {
            self.begin_batch(first);
        }
        self.open.as_mut().unwrap_or_else(|| unreachable!("it was begun"))
    }

    #[inline(never)]
    fn begin_batch(&mut self, first: Ticks) {
        let ends = self.ends();
        self.sampled.clear();
        let (last, actors, threads, acting) = Default::default();
        let (has_samples, has_kernel_parts) = Default::default();
        self.open =
            Some(BlockBatch { from: ends, to: ends, first, last, actors, threads, has_samples, has_kernel_parts, acting });
    }

    /// Ends the batch, because something else comes.
    #[inline(always)]
    fn end(&mut self) {
        if let Some(open) = self.open.take() {
            self.close(open);
        }
    }

    #[inline(never)]
    fn close(&mut self, open: BlockBatch) {
        self.latest.end_batch();
        let (actors, threads) = (self.actors.list().len() as u32, self.threads.list().len() as u32);
        let block_batch = BlockBatch { to: self.ends(), actors, threads, ..open };
        if block_batch.len() as usize >= LEAST {
            self.block_batches.push(block_batch);
        } else {
            self.take_back(&block_batch.from);
        }
    }

    /// Removes all blocks behind an end.
    fn take_back(&mut self, to: &Ends) {
        self.rows.truncate(to.begun as usize);
        self.freed = to.freed;
        self.steps.truncate(to.steps);
        self.keyed.truncate(to.lists.keyed as usize);
        self.framed.truncate(to.lists.framed as usize);
        self.bare.truncate(to.lists.bare as usize);
        self.freed_bare.truncate(to.lists.freed_bare as usize);
        self.batch_events.truncate(to.batch_events as usize);
        self.latest.truncate(to.latest);
        self.frames = to.frames;
    }
}

impl Gather for SliceBlocks {
    fn begin(&mut self, (first, last): (i64, i64)) {
        self.is_ordinary = [first, last].iter().all(|&raw| Ticks::from_raw(raw, self.trace_start) == self.time(raw));
        self.actors.clear();
        self.threads.clear();
        self.block_batches.clear();
        self.steps = match Arc::get_mut(&mut self.shared_steps) {
            Some(steps) => std::mem::take(steps),
            None => self.shared_steps.room_for_as_many(), // others still have these
        };
        self.take_back(&Ends::default());
        self.seen = 0;
        self.open = None;
    }

    #[inline(always)]
    fn visit(&mut self, entry: &Entry, batch: &Batch) {
        let is_added = match batch.item(entry) {
            _ if !self.is_ordinary => false,
            Item::Block(block) => self.add(&block, StackOf { time: block.time, tid: block.tid, stack: entry.stack(), batch }),
            Item::Record(record) => {
                self.add_record(record, StackOf { time: record.time, tid: record.tid, stack: entry.stack(), batch })
            }
        };
        if !is_added {
            self.end();
        }
        self.seen += 1;
    }

    fn finish(&mut self) {
        self.end();
        self.rows.finish();
        self.shared_steps = Arc::new(std::mem::take(&mut self.steps));
    }
}
