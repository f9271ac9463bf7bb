//! Finds the event of a stack that comes behind it, and the event's rows: by raw time and thread,
//! mostly a little later, the user part perhaps much later, sometimes before the event at the same
//! tick. A user part also completes the thread's other events in the kernel ([`KernelFragments`]).
//!
//! [`KernelFragments`]: super::fragments::KernelFragments

use super::{Attach, Ended, Origin, Rooms, SiteKey, Waiting};
use crate::events::{CallStack, Event, Frames, Record, StackPart};
use crate::model::RowId;
use crate::model::allocations::EndedRow;
use crate::model::pairing::{completes_samples, may_be_early, of_user_mode, owner_and_part};
use crate::model::rows::Row;
use crate::model::stack::StackRef;
use crate::units::Ticks;

impl Attach {
    /// Whether the event of a stack without an owner may still come: stack and event have the same
    /// tick, and the thread has written nothing at that tick. If it has, the stack belongs to an event
    /// without rows, for example a release of pages that were only reserved.
    fn is_early(&self, owner: i64, stack: Origin) -> bool {
        may_be_early(owner, stack.raw) && !self.tick.has(owner, stack.tid)
    }

    /// Makes an event's rows, and the rows that it ended, wait for its stack.
    pub(in crate::model) fn await_stack(&mut self, rooms: &mut Rooms<'_>, from: Origin, waiting: Waiting) {
        if waiting.is_empty() {
            return;
        }
        if !self.reads && from.tid.is_known() {
            return; // the stack would give nothing but the thread
        }
        self.pending.add(from.raw, from.tid, waiting);
        self.take_early(rooms, from);
    }

    /// Gives an event that waits for its stack the one that came before it, if any did.
    #[inline(always)]
    pub(super) fn take_early(&mut self, rooms: &mut Rooms<'_>, from: Origin) {
        if !self.early.is_empty() {
            self.take_early_ones(rooms, from);
        }
    }

    #[inline(never)]
    fn take_early_ones(&mut self, rooms: &mut Rooms<'_>, from: Origin) {
        for (record, frames) in self.early.take(from.raw) {
            let origin = Origin { raw: record.time, pid: record.pid, tid: record.tid, ..from };
            self.stack_came(rooms, origin, &record, Frames::new(&frames));
        }
    }

    /// Takes a stack, or a part of one, for an event that was replayed before.
    pub(in crate::model) fn stack_came(&mut self, rooms: &mut Rooms<'_>, from: Origin, record: &Record, frames: Frames<'_>) {
        let Some((owner, part)) = owner_and_part(&record.event) else { return };
        let stack = stack_in(record, frames);
        if !self.owed.is_empty() && self.owed.has_come(record, stack) {
            return;
        }
        let (stacks, reads) = (&mut self.stacks, self.reads);
        let mut intern = || if reads { stacks.reference(part, stack) } else { StackRef::NONE };
        let at = Ticks::from_raw(owner, self.trace_start);
        // The stack of a block is written in user mode; the user part of other stacks is written by the
        // kernel.
        let mut is_of_block = false;
        if let Some((event, waiting)) = self.pending.give(owner, from.tid, part, &mut intern) {
            is_of_block = !waiting.two_parts;
            if part == StackPart::Kernel && waiting.user.is_none() && reads {
                self.fragments.add(from.pid, from.tid, event);
            }
            self.tell_rows(rooms, from, waiting, at);
        } else if part == StackPart::User
            && let Some(ended) = self.frees.take_owner(owner, from.tid)
        {
            let stack = intern();
            self.tell_freed(rooms, ended, stack, from.pid, at);
            is_of_block = true;
        } else if !self.give_sample(rooms, from, (owner, part), stack) && self.is_early(owner, from) {
            self.early.add(record, frames);
            is_of_block = true; // perhaps; that is decided when its event comes
        }
        if part == StackPart::User {
            self.complete_fragments(rooms, from, stack);
            if completes_samples(part, is_of_block) {
                self.complete_samples(rooms, from, stack);
            }
        }
    }

    /// Takes the stack of a block that stands before it, if all else is known of the block; returns
    /// whether it did. Then that is all that the stack tells.
    pub(super) fn stack_of_block_came(&mut self, record: &Record, frames: Frames<'_>) -> bool {
        let (tid, stack) = (record.tid, stack_in(record, frames));
        let Some((owner, StackPart::User)) = owner_and_part(&record.event) else { return false };
        let is_told = || matches!(self.frees.owner(owner, tid), Some(Ended { row: EndedRow::In(_), .. }));
        let is_of_block = self.pending.is_of_plain_block(owner, tid).unwrap_or_else(is_told);
        if !is_of_block || !self.owed.is_empty() || !self.fragments.is_empty() {
            return false;
        }
        let at = Ticks::from_raw(owner, self.trace_start);
        let (stacks, reads) = (&mut self.stacks, self.reads);
        let mut intern = || if reads { stacks.reference(StackPart::User, stack) } else { StackRef::NONE };
        if let Some((_, waiting)) = self.pending.give(owner, tid, StackPart::User, &mut intern) {
            let (whole, birth) = (self.whole(&waiting), waiting.born.unwrap_or(at));
            waiting.freed.iter().flatten().for_each(|&ended| self.tell_freed_block(ended, whole, at));
            for row in waiting.rows.map(RowId) {
                let SiteKey { heap, caller, .. } = self.sites.key(self.row_sites.of(row));
                let site = self.site(heap, whole, caller, birth);
                self.row_sites.set(row, site);
            }
        } else if let Some(ended) = self.frees.take_owner(owner, tid) {
            let stack = intern();
            self.tell_freed_block(ended, stack, at);
        }
        true
    }

    /// Completes the events of a thread of which only the kernel part is known, with the thread's
    /// user-mode stack; which event that came with does not matter.
    #[inline(always)]
    pub(in crate::model) fn complete_fragments(&mut self, rooms: &mut Rooms<'_>, from: Origin, user: CallStack<'_>) {
        if !self.fragments.is_empty() {
            self.complete_fragments_of_thread(rooms, from, user);
        }
    }

    #[inline(never)]
    fn complete_fragments_of_thread(&mut self, rooms: &mut Rooms<'_>, from: Origin, user: CallStack<'_>) {
        let Some(user) = of_user_mode(user) else { return };
        let mut known = None;
        for event in self.fragments.take(from.pid, from.tid) {
            let stacks = &mut self.stacks;
            let user = || *known.get_or_insert_with(|| stacks.reference(StackPart::User, user));
            if let Some(waiting) = self.pending.share(event, user) {
                self.tell_rows(rooms, from, waiting, from.time);
            }
        }
    }

    /// The stack of an event, as far as its parts are known.
    pub(super) fn whole(&mut self, waiting: &Waiting) -> StackRef {
        match (waiting.kernel, waiting.user) {
            (Some(kernel), Some(user)) => self.stacks.join(kernel, user),
            (one, other) => one.or(other).unwrap_or(StackRef::NONE),
        }
    }

    /// Gives the rows of an event at about `at` the stack that is known of it by now.
    fn tell_rows(&mut self, rooms: &mut Rooms<'_>, from: Origin, waiting: Waiting, at: Ticks) {
        let whole = self.whole(&waiting);
        for ended in waiting.freed.iter().flatten() {
            self.tell_freed(rooms, *ended, whole, from.pid, at);
        }
        for row in waiting.rows.map(RowId) {
            self.give_stack(rooms, row, whole, from);
            if waiting.two_parts {
                for piece in self.pieces.of(row) {
                    self.give_stack(rooms, piece, whole, from);
                }
            }
        }
    }

    fn give_stack(&mut self, rooms: &mut Rooms<'_>, row: RowId, stack: StackRef, from: Origin) {
        let Row { birth, thread, .. } = rooms.allocations.rows.get(row);
        let SiteKey { heap, mut caller, .. } = self.sites.key(self.row_sites.of(row));
        if !thread.is_known() {
            rooms.allocations.rows.set_thread(row, from.tid);
            caller = rooms.world.processes.find_or_add(from.pid, from.time);
        }
        let site = self.site(heap, stack, caller, birth);
        self.row_sites.set(row, site);
    }
}

/// The stack that a record is; `frames` are those that came with it.
pub(super) fn stack_in<'a>(record: &Record, frames: Frames<'a>) -> CallStack<'a> {
    match record.event {
        Event::StackRef { key, .. } => CallStack::Key { key, time: record.time },
        _ => CallStack::Frames(frames),
    }
}
