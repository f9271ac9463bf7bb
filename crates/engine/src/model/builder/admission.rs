//! Limits what is read: the scope, and the memory that may be used.
//!
//! A trace that outgrows its budget is cut: from one record on no event about memory is replayed,
//! neither allocations nor frees, so that all up to that moment is as exact as if the recording had
//! ended there, and no free is unmatched because its block was refused. Names of processes, images and
//! heaps and the meaning of stack keys, which mostly come last, are still read.
//!
//! A trace that is followed forgets rows that ended before it is cut ([`WhenFull::Forget`]). It does so
//! at three eighths of its budget already, because publications, and whoever looks at them, keep the
//! rows as they were.
//!
//! Sizes are calculated from counts and capacities, not asked of the allocator, so the same files and
//! the same budget give the same cut. Cost: a few additions for every [`EVERY`] records.

use super::limit::{Alive, EVERY, FREED_AT, Limit, PREPARED_A_ROW};
use super::{Builder, Origin};
use crate::events::{Event, Memory, Record};
use crate::model::attach::MOST_A_RECORD;
use crate::model::scope::{CutReason, Scope, WhenFull};
use crate::model::{Cut, Reservation};
use crate::units::Ticks;

/// Bytes of a live block in the tables of the matching: 12.8 a place, 70 % full.
const BLOCK: u64 = 19;
/// Bytes of a heap with its tables, approximately.
const HEAP: u64 = 448;
/// Bytes of a process without its modules, approximately.
const PROCESS: u64 = 256;
/// Bytes of a committed range in the tables of pages, approximately.
const RANGE: u64 = 96;
/// Bytes of a reserved range that ended.
const RESERVATION: u64 = size_of::<Reservation>() as u64;

/// Stacks of events before the cut may take an eighth more, or at least this.
const MORE_STACKS: u64 = 1 << 18;

impl Builder {
    /// Reads only `scope`, and stops where about `budget` bytes are used.
    #[must_use]
    pub fn limited(mut self, scope: Scope, budget: u64) -> Self {
        self.attach.reads = scope.stacks;
        self.activity.samples.limit(budget / 8);
        self.activity.faults.limit(budget / 8);
        self.limit = Limit { reads_all: scope.is_all(), scope, budget, ..Limit::default() };
        self
    }

    /// Sets what to do when the budget is used up.
    #[must_use]
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.limit.forget_at = match when_full {
            WhenFull::Forget => self.limit.budget / 8 * 3,
            WhenFull::Cut => u64::MAX,
        };
        self
    }

    /// Where reading stopped for want of room, if it did.
    pub fn cut(&self) -> Option<Cut> {
        self.limit.cut
    }

    /// Adds no more rows from now on.
    pub(super) fn cut_now(&mut self, reason: CutReason) {
        self.limit.cut.get_or_insert(Cut { at: self.now, reason, stacks_missing: false });
    }

    /// Whether everything is replayed for now; to be asked once for each record.
    #[inline(always)]
    pub(super) fn admits_all(&mut self) -> bool {
        self.limit.countdown -= 1;
        if self.limit.countdown == 0 {
            self.look_around();
        }
        self.limit.reads_all && self.limit.cut.is_none()
    }

    #[inline(never)]
    fn look_around(&mut self) {
        self.limit.countdown = EVERY;
        if self.attach.is_away() {
            if self.is_small() && !self.is_untidy() && !self.attach.may_have_long_log() {
                return;
            }
            self.take_back();
        }
        if self.attach.may_have_long_log() {
            self.allocations.matcher.settle();
            self.attach.settle_freed(&mut self.allocations);
        }
        self.tidy_now_and_then();
        self.look_at_budget();
    }

    /// Whether `count` blocks can be replayed at once, because no check of the memory in use would cut
    /// the trace or forget anything before the last of them.
    pub(super) fn admits_batch(&mut self, count: u32) -> bool {
        if self.attach.is_away() && !self.has_room_for(count) {
            self.take_back();
        }
        self.limit.reads_all
            && self.limit.cut.is_none()
            && self.has_room_for(count)
            && self.has_numbers_for(count, self.limit.alive)
    }

    /// Whether there is room for `count` more blocks.
    fn has_room_for(&self, count: u32) -> bool {
        // Lists that are full grow to twice their size.
        let most = self.used(self.limit.alive) + self.attach.bytes() + u64::from(count) * MOST_A_RECORD;
        most <= self.limit.budget.min(self.limit.forget_at)
    }

    /// Whether the memory in use is far from all limits.
    fn is_small(&self) -> bool {
        let is_small = self.used(self.limit.alive) <= self.limit.budget.min(self.limit.forget_at);
        is_small && self.has_numbers(self.limit.alive)
    }

    /// Notes that `count` blocks were replayed at once.
    pub(super) fn admitted(&mut self, count: u32) {
        if count < self.limit.countdown {
            self.limit.countdown -= count;
            return;
        }
        let left = EVERY - (count - self.limit.countdown) % EVERY;
        self.look_around();
        self.limit.countdown = left;
    }

    /// Whether a record is replayed when not everything is.
    #[inline(never)]
    pub(super) fn admits(&mut self, from: Origin, record: &Record) -> bool {
        match &record.event {
            Event::Stack { .. } | Event::StackRef { .. } => self.limit.has_room_for_stacks(),
            Event::StackDefinition { .. } => self.limit.scope.stacks && self.limit.has_room_for_stacks(),
            Event::Counter(_) | Event::Sample { .. } | Event::Fault(_) => self.limit.cut.is_none(),
            event => match record.memory() {
                None => true,
                Some(Memory { pid, layer, .. }) if !self.limit.scope.has(pid, layer) => false,
                Some(_) if self.limit.cut.is_none() => true,
                Some(_) => {
                    self.name_heap(from, event);
                    false
                }
            },
        }
    }

    /// Gives a tracker the name from an event after the cut.
    fn name_heap(&mut self, from: Origin, event: &Event) {
        let (Event::HeapOpen { layer, heap, name } | Event::HeapClose { layer, heap, name }) = event else { return };
        self.world.name_heap_late(from.pid, *layer, *heap, name.as_deref());
    }

    fn look_at_budget(&mut self) {
        if self.is_small() {
            return;
        }
        let more = (self.limit.budget / 8).max(MORE_STACKS);
        let is_over = self.used(self.limit.alive) > self.limit.budget.saturating_add(more);
        if let Some(cut) = &mut self.limit.cut {
            cut.stacks_missing |= is_over;
            return;
        }
        // Only now it is known how many of the new blocks are still alive.
        self.allocations.matcher.settle();
        self.limit.alive = self.alive_now();
        let used = self.used(self.limit.alive);
        if used > self.limit.forget_at {
            match self.forget(used, self.limit.forget_at) {
                true => self.limit.alive = self.alive_now(),
                // Hardly anything has ended yet: tries again when there is more of it.
                false => self.limit.forget_at = self.limit.forget_at.saturating_add(self.limit.budget / 8).min(self.limit.budget),
            }
        }
        if self.used(self.limit.alive) > self.limit.budget {
            self.cut_now(CutReason::Memory);
        } else if !self.has_numbers(self.limit.alive) {
            self.cut_now(CutReason::Numbers);
        }
    }

    /// Whether rows and deaths can be numbered until the next check, if all rows since `alive` was
    /// counted are still alive.
    fn has_numbers(&self, alive: Alive) -> bool {
        self.has_numbers_for(EVERY, alive)
    }

    /// Whether `count` more blocks can be numbered, likewise.
    fn has_numbers_for(&self, count: u32, Alive { ranges, rows, .. }: Alive) -> bool {
        // One event can end all ranges of pages, or begin one in each gap between them; it adds one gap
        // at most. Any other event begins and ends one row.
        let ranges = ranges + (self.allocations.rows.len() - rows) as u64;
        let needed = 2 * ranges + 8 * u64::from(count);
        let numbered = self.allocations.matcher.numbered().max(self.allocations.rows.len() as u64);
        numbered.saturating_add(needed) <= self.limit.numbers
    }

    /// Bytes in use now; to be called after all was matched. Where the trace is cut does not depend on
    /// when this is called.
    pub(super) fn bytes(&self) -> u64 {
        self.used(self.alive_now())
    }

    fn alive_now(&self) -> Alive {
        Alive {
            blocks: self.limit.alive.blocks.max(self.allocations.matcher.alive_count()),
            ranges: self.allocations.pages.ranges(),
            rows: self.allocations.rows.len(),
        }
    }

    /// Most bytes in use, and those that queries will need, as if all rows since `alive` was counted
    /// were still alive.
    fn used(&self, Alive { blocks, ranges, rows }: Alive) -> u64 {
        let begun = self.allocations.rows.len() - rows;
        // Not the size of the columns: when they are made depends on publications.
        let freed = if self.attach.may_have_freeing_stack() { self.allocations.rows.len() as u64 * FREED_AT } else { 0 };
        self.allocations.rows.bytes(self.now)
            + freed
            + self.allocations.rows.len() as u64 * PREPARED_A_ROW as u64
            + self.allocations.matcher.slots_bytes()
            + blocks * BLOCK
            + (ranges + begun as u64) * RANGE
            + self.allocations.pages.ended_reservations() as u64 * RESERVATION
            + self.attach.bytes()
            + self.world.heaps().len() as u64 * HEAP
            + self.world.processes.list.len() as u64 * PROCESS
            + self.world.told_bytes()
            + self.counters.bytes()
            + self.activity.bytes()
            + self.allocations.owners_bytes()
    }

    /// The end of what was read, if that is before the end of the files.
    pub(super) fn end_of_read(&self, from: Ticks, to: Ticks) -> Ticks {
        self.limit.cut.map_or(to, |cut| cut.at.max(from.next()).min(to))
    }
}

#[cfg(test)]
mod tests;
