//! The rows of allocations: their begin, their end, and which are alive.
//!
//! Blocks of heaps are matched by address on other threads ([`Matcher`]); ranges of pages are split and
//! ended at once ([`PageTable`]). Both write into the columns of the same rows. Who allocated is found
//! elsewhere ([`attach`](super::attach)).

mod deaths;
mod latest;
mod live_blocks;
mod matching;
mod owners;
mod pages;
mod reservations;
mod shard;
mod shard_hash;
mod shared;
mod steps;
mod unmatched;

use std::ops::Range;
use std::sync::Arc;

use crate::events::BlockEvent;
use crate::units::{Layer, Ticks, Tid};

use super::origin::Origin;
use super::renumbering::Renumbering;
use super::rows::{NewRows, PlacedThread, Row, RowSites, RowWriter, Rows};
use super::stack::{Interner, StackRef};
use super::trace::UnmatchedFree;
use super::world::World;
use super::{HeapId, ProcessId, RowId};
pub(super) use deaths::DeathSlot;
use latest::LatestBlocks;
use matching::Matcher;
use owners::BlockOwners;
use pages::PageTable;
pub(super) use pages::TouchedRange;
pub use reservations::{Reservation, Reservations};
pub(super) use shard_hash::{SHARDS, ShardHash};
use shared::SharedBlocks;
pub(super) use steps::{BatchStep, BlockChange, Numbering, RankedBlock, SliceSteps};
use unmatched::UnmatchedFrees;

/// The row that a free ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EndedRow {
    /// It is known.
    Known(RowId),
    /// The row in this slot of the order of deaths, if there is one: known when the matching gets to
    /// it.
    In(DeathSlot),
    /// None: a free in a heap of which nothing is known, or of unknown pages, by its number among those.
    Unmatched(u32),
}

impl EndedRow {
    /// Gives the row its new number; `false` if it has none.
    pub(super) fn renumber(&mut self, number: impl Fn(RowId) -> Option<RowId>) -> bool {
        match self {
            Self::In(_) | Self::Unmatched(_) => true,
            Self::Known(row) => number(*row).map(|new| *row = new).is_some(),
        }
    }
}

/// The row that a free ended, with its heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) heap: HeapId,
    pub(super) row: EndedRow,
}

/// All rows, and which of them are alive.
#[derive(Debug)]
pub(super) struct AllocationTable {
    pub(super) rows: RowWriter,
    pub(super) matcher: Matcher,
    pub(super) pages: PageTable,
    pub(super) latest: LatestBlocks,
    pub(super) shared: SharedBlocks,
    owners: BlockOwners,
    unmatched: UnmatchedFrees,
}

impl AllocationTable {
    pub(super) fn new() -> Self {
        let (rows, deaths) = RowWriter::new();
        let mut matcher = Matcher::new();
        matcher.add_column(deaths);
        let (pages, latest, shared, owners, unmatched) = Default::default();
        Self { rows, matcher, pages, latest, shared, owners, unmatched }
    }

    /// Appends a row without its sites; `None` when no more can be numbered.
    #[inline(always)]
    pub(super) fn push(&mut self, row: &Row) -> Option<RowId> {
        let matcher = &mut self.matcher;
        self.rows.push(row, |deaths| matcher.add_column(deaths))
    }

    /// How blocks are distributed over the shards of the matching.
    pub(super) fn shard_hash(&self) -> ShardHash {
        self.matcher.shard_hash()
    }

    /// Whether a batch can be followed at once: rows come in order, and no owner of a single block is
    /// asked for.
    pub(super) fn takes_batches(&self, first: Ticks) -> bool {
        self.rows.is_in_order(first) && !self.owners.are_asked()
    }

    /// Begins and frees the blocks of a batch: the range `begun` of `rows`, whose threads are these by
    /// number, the range `freed` of its frees, and the `steps` of both.
    pub(super) fn follow_batch(
        &mut self,
        (rows, begun): (&NewRows, Range<usize>),
        threads: &[PlacedThread],
        freed: Range<usize>,
        (steps, ranges): (&Arc<SliceSteps>, [Range<usize>; SHARDS]),
        heaps: &Arc<[HeapId]>,
    ) -> Numbering {
        let matcher = &mut self.matcher;
        let first = self.rows.append(rows, begun.clone(), threads, |deaths| matcher.add_column(deaths));
        let slot = matcher.slots(freed.len() as u32);
        let numbering = Numbering {
            first_row: first.0.wrapping_sub(begun.start as u32),
            first_slot: slot.number().wrapping_sub(freed.start as u32),
            heaps: Arc::clone(heaps),
        };
        matcher.follow_batch(steps, ranges, &numbering);
        numbering
    }

    /// Makes a row a live block.
    #[inline(always)]
    pub(super) fn begin(&mut self, world: &World, at: Ticks, heap: HeapId, address: u64, row: RowId) {
        self.matcher.begin(at, heap, address, row);
        self.owners.begins(world.heaps(), heap, address);
    }

    /// Frees a block.
    #[inline(always)]
    pub(super) fn free(&mut self, world: &World, from: Origin, heap: HeapId, address: u64) -> Ended {
        let slot = self.matcher.free((from.time, from.tid), heap, address);
        self.ended(world, heap, address, slot)
    }

    /// Ends a block like [`Self::free`], but without an unmatched free if the block is not alive.
    pub(super) fn end(&mut self, world: &World, from: Origin, heap: HeapId, address: u64) -> Ended {
        let slot = self.matcher.end((from.time, from.tid), heap, address);
        self.ended(world, heap, address, slot)
    }

    #[inline(always)]
    fn ended(&mut self, world: &World, heap: HeapId, address: u64, slot: DeathSlot) -> Ended {
        self.owners.ends(world.heaps(), heap, address);
        Ended { heap, row: EndedRow::In(slot) }
    }

    /// The block that a thread allocated last in a heap, if it is alive, has this address and this size.
    pub(super) fn just_allocated(&mut self, heap: HeapId, thread: Tid, address: u64, size: u64) -> Option<RowId> {
        let latest = self.latest.of(heap, thread)?;
        let row = self.rows.get(latest);
        if (row.address, row.size) != (address, size) {
            return None;
        }
        self.matcher.alive(heap, address).filter(|&alive| alive == latest)
    }

    /// Ends a heap with all its blocks.
    pub(super) fn close_heap(&mut self, world: &World, at: Ticks, heap: HeapId) {
        self.matcher.close(at, heap);
        self.owners.closes(world.heaps(), heap);
    }

    /// Ends the pages of a process that is over. Its blocks stay alive: nobody freed them.
    pub(super) fn exit(&mut self, world: &World, at: Ticks, process: ProcessId) {
        self.owners.exits(world.heaps(), process);
        for row in self.pages.take_all(process, at) {
            self.kill(row, at);
        }
    }

    /// Ends a row of committed pages.
    pub(super) fn kill(&mut self, row: RowId, at: Ticks) {
        self.rows.kill(row, at);
        self.matcher.note_death(row);
    }

    /// The row that a free ended, if it is known by now that it ended one; to be called after
    /// [`Matcher::settle`].
    pub(super) fn ended_row(&mut self, row: EndedRow) -> Option<RowId> {
        match row {
            EndedRow::Known(row) => Some(row),
            EndedRow::In(slot) => self.matcher.ended_at(slot),
            EndedRow::Unmatched(_) => None,
        }
    }

    /// Frees a block of which neither the header nor a stack gave the process. `is_read` tells whether
    /// all processes are read: if not, the free may be that of another process.
    pub(super) fn free_unclaimed(&mut self, world: &World, from: Origin, free: &BlockEvent, is_read: bool) {
        let Self { owners, matcher, .. } = self;
        if let Some(heap) = owners.claim(world, matcher, free.heap, free.address) {
            matcher.free((from.time, from.tid), heap, free.address);
        } else if is_read {
            self.free_unknown(from, (free.layer, free.heap, free.address), None);
        }
    }

    /// Notes a free of something unknown: layer, heap and address, and for pages their bytes. Returns what a stack can
    /// be given to, if the free is kept with its details.
    pub(super) fn free_unknown(&mut self, from: Origin, block: (Layer, u64, u64), size: Option<u64>) -> Option<Ended> {
        let number = self.unmatched.add(from, block, size)?;
        Some(Ended { heap: HeapId::UNKNOWN, row: EndedRow::Unmatched(number) })
    }

    /// Sets the stack of a free of something unknown.
    pub(super) fn set_unmatched_stack(&mut self, number: u32, stack: StackRef) {
        self.unmatched.set_stack(number, stack);
    }

    /// Frees that matched nothing, by time, as far as they are kept.
    pub(super) fn unmatched(&self, world: &World, stacks: &mut Interner) -> Vec<UnmatchedFree> {
        self.unmatched.all(&self.matcher.mismatches().kept, world, stacks)
    }

    /// Numbers of frees that matched nothing, of allocations and ranges of pages that replaced others
    /// that were not freed, and of frees whose process was found by the address alone.
    pub(super) fn mismatches(&self) -> (u64, u64, u64) {
        let found = self.matcher.mismatches();
        (self.unmatched.count + found.unmatched, found.superseded + self.pages.superseded, self.owners.inferred)
    }

    /// Calls `each` with the stacks of all frees that matched nothing.
    pub(super) fn each_stack(&mut self, mut each: impl FnMut(&mut StackRef)) {
        self.unmatched.stacks().for_each(&mut each);
        self.matcher.each_stack(&mut each);
    }

    /// Drops all rows that died before a moment, and gives the others new numbers. To be called after
    /// [`Matcher::settle`], and when nothing refers to a slot any more.
    pub(super) fn forget(&mut self, until: Ticks, now: Ticks) -> Renumbering {
        let Self { rows, matcher, pages, latest, .. } = self;
        matcher.deaths_before(now, |row| rows.death(row));
        let mut columns = Vec::new();
        let numbers = rows.forget(until, &mut columns);
        matcher.renumber(columns, |row| numbers.of(row));
        pages.renumber(|row| numbers.of(row));
        pages.forget(until);
        latest.renumber(|row| numbers.of(row));
        numbers
    }

    /// The rows as they are, with these sites: with all deaths if the trace is `complete`, else with those before `now`.
    /// To be called after [`Matcher::settle`].
    pub(super) fn publish(&mut self, sites: &RowSites, now: Ticks, complete: bool) -> Rows {
        let Self { rows, matcher, .. } = self;
        let death = |row| rows.death(row);
        let (horizon, by_death) = match complete {
            false => (now, matcher.deaths_before(now, death)),
            true => (Ticks::NEVER, matcher.finish(death)),
        };
        rows.publish(sites, horizon, by_death)
    }

    /// Bytes of the tables of the owners of blocks, of the latest blocks of threads, and of frees in unknown heaps.
    pub(super) fn owners_bytes(&self) -> u64 {
        self.owners.bytes() + self.latest.bytes() + self.shared.bytes() + self.unmatched.bytes()
    }
}
