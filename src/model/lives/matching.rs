//! Frees find their allocations: the blocks that are alive, in shards by address.
//!
//! One thread says in order of time what happens to which block ([`Matcher`]); the
//! shards follow, each in its own order, on the workers of the thread pool or, if
//! these are busy, on the thread that says. Results depend on neither.
//!
//! A shard writes deaths into the rows' shared columns and into the order of deaths.
//! Cost: two cache misses for a free, one for an allocation, overlapped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};

use super::deaths::{DeathLog, DeathSlot, DeathSlots, Extra, SlotsView};
use super::live_blocks::{LiveBlocks, Spread};
use crate::model::rows::{CHUNK, DeathColumn};
use crate::model::stack::StackRef;
use crate::model::{HeapId, RowId, RowList};
use crate::units::Ticks;

const SHARD_BITS: u32 = 2;
const SHARDS: usize = 1 << SHARD_BITS;

/// Steps that are sent to a shard at a time: few at first, so that small captures
/// go the same way.
const FIRST_SEND: usize = 16;
const SEND: usize = 4096;

/// A shard with so many steps to do is helped by the thread that makes them.
const MAX_QUEUED: usize = 8 * SEND;

/// Unmatched frees that are kept with their stacks, of each shard; all are counted.
const MAX_KEPT: usize = 1 << 14;

/// What happens to the block at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BlockAct {
    /// It begins, as this row.
    Begin(RowId),
    /// It is freed; the slot in the order of deaths.
    Free(DeathSlot),
    /// It ends if it is alive; the slot in the order of deaths.
    End(DeathSlot),
    /// All blocks of the heap end.
    Close,
}

#[derive(Clone, Copy, Debug)]
struct BlockStep {
    address: u64,
    time: Ticks,
    heap: HeapId,
    act: BlockAct,
}

/// A free of a block that was not alive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unmatched {
    pub(super) time: Ticks,
    pub(super) heap: HeapId,
    pub(super) address: u64,
    pub(super) stack: StackRef,
    /// Its slot in the order of deaths, where nobody died. They stand in its order.
    pub(super) slot: DeathSlot,
}

/// What did not match.
#[derive(Clone, Debug, Default)]
pub(super) struct Mismatches {
    pub(super) unmatched: u64,
    pub(super) superseded: u64,
    /// The first of each shard.
    pub(super) kept: Vec<Unmatched>,
}

/// Columns that all shards write to.
#[derive(Debug, Default)]
struct Shared {
    deaths: RwLock<Vec<DeathColumn>>,
    slots: DeathSlots,
}

/// The blocks of some addresses.
#[derive(Debug)]
struct Shard {
    spread: Spread,
    heaps: Vec<LiveBlocks>,
    deaths: Vec<DeathColumn>,
    slots: SlotsView,
    /// Since they were asked for.
    extra: Vec<Extra>,
    mismatches: Mismatches,
}

/// A shard and what it has still to do.
#[derive(Debug)]
struct ShardCell {
    shared: Arc<Shared>,
    shard: Mutex<Shard>,
    queue: Mutex<Vec<Vec<BlockStep>>>,
    /// Memory for steps to come.
    spare: Mutex<Vec<Vec<BlockStep>>>,
    /// Whether a worker is on its way.
    called: AtomicBool,
}

/// Says what happens to blocks.
#[derive(Debug)]
pub(in crate::model) struct Matcher {
    spread: Spread,
    shared: Arc<Shared>,
    cells: Vec<Arc<ShardCell>>,
    /// Steps that were not sent yet, by shard.
    steps: Vec<Vec<BlockStep>>,
    /// How many steps are sent next, by shard.
    send_at: [usize; SHARDS],
    next_slot: u32,
    /// Bytes of slots that are not kept any more.
    forgotten: u64,
    /// For deaths that need no matching.
    slots: SlotsView,
    /// What is over.
    log: DeathLog,
}

impl Matcher {
    pub(super) fn new() -> Self {
        let (spread, shared) = (Spread::new(), Arc::new(Shared::default()));
        let cell = |_| Arc::new(ShardCell::new(spread, Arc::clone(&shared)));
        Self {
            spread,
            cells: (0..SHARDS).map(cell).collect(),
            shared,
            steps: vec![Vec::new(); SHARDS],
            send_at: [FIRST_SEND; SHARDS],
            next_slot: 0,
            forgotten: 0,
            slots: SlotsView::default(),
            log: DeathLog::default(),
        }
    }

    /// Tells the column of deaths of the next chunk of rows.
    pub(super) fn add_column(&mut self, column: DeathColumn) {
        self.shared.deaths.write().unwrap_or_else(PoisonError::into_inner).push(column);
    }

    #[inline(always)]
    pub(super) fn begin(&mut self, time: Ticks, heap: HeapId, address: u64, row: RowId) {
        self.step(BlockStep { address, time, heap, act: BlockAct::Begin(row) });
    }

    /// Frees a block; returns the free's slot in the order of deaths.
    #[inline(always)]
    pub(super) fn free(&mut self, time: Ticks, heap: HeapId, address: u64) -> DeathSlot {
        let slot = self.slot();
        self.step(BlockStep { address, time, heap, act: BlockAct::Free(slot) });
        slot
    }

    /// The same, but it is no unmatched free if the block is not alive.
    pub(super) fn end(&mut self, time: Ticks, heap: HeapId, address: u64) -> DeathSlot {
        let slot = self.slot();
        self.step(BlockStep { address, time, heap, act: BlockAct::End(slot) });
        slot
    }

    /// Ends all blocks of a heap.
    pub(super) fn close(&mut self, time: Ticks, heap: HeapId) {
        for shard in 0..SHARDS {
            self.push(shard, BlockStep { address: 0, time, heap, act: BlockAct::Close });
        }
    }

    /// Notes the death of a row that the caller ended.
    pub(super) fn note_death(&mut self, row: RowId) {
        let slot = self.slot();
        self.slots.refresh(&self.shared.slots);
        self.slots.set(slot, row);
    }

    /// Who ended at a slot, after [`Matcher::settle`]; of slots before those that
    /// [`Matcher::deaths_before`] took nothing is known any more.
    pub(in crate::model) fn ended_at(&mut self, slot: DeathSlot) -> Option<RowId> {
        self.slots.get(&self.shared.slots, slot)
    }

    /// The stack of a free that ended nothing, if it is one that is kept; after [`Matcher::settle`].
    pub(in crate::model) fn tell_unmatched(&self, slot: DeathSlot, stack: StackRef) {
        for cell in &self.cells {
            let kept = &mut cell.lock().mismatches.kept;
            if let Ok(at) = kept.binary_search_by_key(&slot, |free| free.slot) {
                kept[at].stack = stack;
            }
        }
    }

    /// The row that is alive at an address now, if it began at `since` or later;
    /// it may also be told if it is older.
    pub(in crate::model) fn alive(&mut self, heap: HeapId, address: u64, since: Ticks) -> Option<RowId> {
        const LOOK_BACK: usize = 64;
        let shard = self.shard_of(address);
        for step in self.steps[shard].iter().rev().take(LOOK_BACK) {
            if step.time < since {
                return None;
            }
            if step.heap == heap && (step.address == address || step.act == BlockAct::Close) {
                return match step.act {
                    BlockAct::Begin(row) => Some(row),
                    _ => None,
                };
            }
        }
        self.send(shard, false);
        let cell = &self.cells[shard];
        let mut shard = cell.lock();
        cell.work_off(&mut shard);
        shard.heaps.get(heap.0 as usize)?.get(self.spread.hash(address), address)
    }

    /// Waits until everything that was said has been done.
    pub(in crate::model) fn settle(&mut self) {
        for shard in 0..SHARDS {
            self.send(shard, false);
        }
        for cell in &self.cells {
            cell.work_off(&mut cell.lock());
        }
    }

    /// Blocks that are alive, after [`Matcher::settle`].
    pub(in crate::model) fn alive_count(&self) -> u64 {
        self.cells.iter().map(|cell| cell.lock().heaps.iter().map(|blocks| blocks.len() as u64).sum::<u64>()).sum()
    }

    /// Calls `each` with all blocks that are alive, after [`Matcher::settle`].
    pub(super) fn each_alive(&self, mut each: impl FnMut(HeapId, u64)) {
        for cell in &self.cells {
            for (heap, blocks) in cell.lock().heaps.iter().enumerate() {
                blocks.addresses().for_each(|address| each(HeapId(heap as u32), address));
            }
        }
    }

    /// DeathSlots in the order of deaths that were given out.
    pub(in crate::model) fn numbered(&self) -> u64 {
        self.next_slot.into()
    }

    /// Bytes of the order of deaths.
    pub(in crate::model) fn slots_bytes(&self) -> u64 {
        (u64::from(self.next_slot) * 4).saturating_sub(self.forgotten)
    }

    /// Rows have new numbers, or none, and new columns of deaths; after
    /// [`Matcher::deaths_before`] now, so that what is left does not depend on publications.
    pub(super) fn renumber(&mut self, columns: Vec<DeathColumn>, number: impl Fn(RowId) -> Option<RowId>) {
        *self.shared.deaths.write().unwrap_or_else(PoisonError::into_inner) = columns;
        let (done, left) = self.log.renumber(&self.shared.slots, &number);
        self.forgotten = (u64::from(done) * 4).saturating_sub(left as u64 * 4);
        self.slots = SlotsView::default();
        for cell in &self.cells {
            let mut shard = cell.lock();
            shard.heaps.iter_mut().for_each(|blocks| blocks.renumber(&number));
            (shard.deaths, shard.slots) = Default::default();
            shard.refresh(&self.shared);
        }
    }

    /// Tells `each` all stacks.
    pub(super) fn each_stack(&mut self, each: &mut dyn FnMut(&mut StackRef)) {
        self.settle();
        for cell in &self.cells {
            cell.lock().mismatches.kept.iter_mut().for_each(|free| each(&mut free.stack));
        }
    }

    /// What was found until now; complete after [`Matcher::settle`].
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

    /// The order of all deaths, after [`Matcher::settle`]. Forgets what is alive.
    pub(super) fn finish(&mut self, death: impl Fn(RowId) -> Ticks + Sync) -> RowList {
        self.cells.iter().for_each(|cell| cell.lock().heaps = Vec::new());
        self.deaths_before(Ticks::NEVER, death)
    }

    /// The order of the deaths before a moment, when everything up to it has been said and
    /// done ([`Matcher::settle`]). A later one begins with the same rows.
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

    /// The next slot; whoever replays ends the trace before there is none.
    #[inline(always)]
    fn slot(&mut self) -> DeathSlot {
        let slot = DeathSlot(self.next_slot);
        debug_assert!(slot.0 < u32::MAX, "no slots are left");
        self.next_slot = slot.0.saturating_add(1);
        self.shared.slots.make_room(slot);
        slot
    }

    #[inline(always)]
    fn shard_of(&self, address: u64) -> usize {
        // Other bits than those that choose the bucket.
        (self.spread.hash(address) >> 24) as usize % SHARDS
    }

    #[inline(always)]
    fn step(&mut self, step: BlockStep) {
        self.push(self.shard_of(step.address), step);
    }

    #[inline(always)]
    fn push(&mut self, shard: usize, step: BlockStep) {
        let steps = &mut self.steps[shard];
        steps.push(step);
        if steps.len() >= self.send_at[shard] {
            self.send_at[shard] = (self.send_at[shard] * 2).min(SEND);
            self.send(shard, true);
        }
    }

    /// Hands the steps of a shard on, and calls a worker for them.
    #[inline(never)]
    fn send(&mut self, shard: usize, call: bool) {
        let cell = &self.cells[shard];
        if self.steps[shard].is_empty() {
            return;
        }
        let spare = cell.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let steps = std::mem::replace(&mut self.steps[shard], spare.unwrap_or_default());
        let mut queue = cell.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.push(steps);
        let queued = queue.iter().map(Vec::len).sum::<usize>();
        drop(queue);
        if !call {
            return;
        }
        if queued >= MAX_QUEUED {
            cell.work_off(&mut cell.lock());
        } else if !cell.called.swap(true, Ordering::AcqRel) {
            let cell = Arc::clone(cell);
            rayon::spawn(move || {
                cell.called.store(false, Ordering::Release);
                // A panic poisons the lock, and the thread that waits for the shard finds it.
                let work = || match cell.shard.try_lock() {
                    Ok(mut shard) => cell.work_off(&mut shard),
                    Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => {}
                };
                let _ = catch_unwind(AssertUnwindSafe(work));
            });
        }
    }
}

impl ShardCell {
    fn new(spread: Spread, shared: Arc<Shared>) -> Self {
        let shard = Shard {
            spread,
            heaps: Vec::new(),
            deaths: Vec::new(),
            slots: SlotsView::default(),
            extra: Vec::new(),
            mismatches: Mismatches::default(),
        };
        Self {
            shared,
            shard: Mutex::new(shard),
            queue: Mutex::default(),
            spare: Mutex::default(),
            called: AtomicBool::new(false),
        }
    }

    /// Waits for a worker that is at it. A worker's panic goes on here.
    fn lock(&self) -> MutexGuard<'_, Shard> {
        match self.shard.lock() {
            Ok(shard) => shard,
            Err(_) => panic!("a worker that matches frees to allocations failed"),
        }
    }

    /// Does all that was sent. Whoever holds the shard takes the steps, so their order stays.
    fn work_off(&self, shard: &mut Shard) {
        loop {
            let queue = std::mem::take(&mut *self.queue.lock().unwrap_or_else(PoisonError::into_inner));
            if queue.is_empty() {
                return;
            }
            shard.refresh(&self.shared);
            for mut steps in queue {
                shard.follow(&steps);
                steps.clear();
                self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(steps);
            }
        }
    }
}

impl Shard {
    fn refresh(&mut self, shared: &Shared) {
        let deaths = shared.deaths.read().unwrap_or_else(PoisonError::into_inner);
        self.deaths.extend(deaths[self.deaths.len()..].iter().cloned());
        self.slots.refresh(&shared.slots);
    }

    fn follow(&mut self, steps: &[BlockStep]) {
        /// So many look-ups are started before the first is needed.
        const TOGETHER: usize = 16;
        for steps in steps.chunks(TOGETHER) {
            let mut hashes = [0; TOGETHER];
            let mut touched = 0;
            for (hash, step) in hashes.iter_mut().zip(steps) {
                *hash = self.spread.hash(step.address);
                touched ^= self.heaps.get(step.heap.0 as usize).map_or(0, |blocks| blocks.touch(*hash));
            }
            std::hint::black_box(touched);
            for (hash, step) in hashes.iter().zip(steps) {
                self.follow_one(*hash, step);
            }
        }
    }

    fn follow_one(&mut self, hash: u64, step: &BlockStep) {
        let index = step.heap.0 as usize;
        if index >= self.heaps.len() {
            self.heaps.resize_with(index + 1, LiveBlocks::default);
        }
        let blocks = &mut self.heaps[index];
        match step.act {
            BlockAct::Begin(row) => {
                if let Some(older) = blocks.insert(self.spread, hash, step.address, row) {
                    self.mismatches.superseded += 1;
                    self.kill(older, step.time);
                    self.extra.push((step.time, older));
                }
            }
            BlockAct::Free(slot) | BlockAct::End(slot) => match blocks.remove(hash, step.address) {
                Some(row) => {
                    self.kill(row, step.time);
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

    fn kill(&self, row: RowId, at: Ticks) {
        self.deaths[row.0 as usize / CHUNK][row.0 as usize % CHUNK].store(at.0, Ordering::Relaxed);
    }

    fn note_unmatched(&mut self, &BlockStep { time, heap, address, .. }: &BlockStep, slot: DeathSlot) {
        self.mismatches.unmatched += 1;
        if self.mismatches.kept.len() < MAX_KEPT {
            self.mismatches.kept.push(Unmatched { time, heap, address, stack: StackRef::NONE, slot });
        }
    }
}
