//! Stacks find the rows of their events, those that began and those that ended: by raw time and thread, mostly a little
//! later, the user part perhaps much later, sometimes at the same tick before. A user
//! part is also that of the thread's other events in the kernel
//! ([`KernelFragments`](super::super::fragments::KernelFragments)).

use std::collections::HashSet;

use super::super::RowId;
use super::super::pending::Waiting;
use super::super::rows::Row;
use super::super::stack::{Interner, StackRef};
use super::{Builder, Origin, SiteKey};
use crate::events::{CallStack, Event, Frames, Record, StackPart};
use crate::units::{Ticks, Tid};

/// Stacks of one tick that are kept for an owner that comes after them.
const MAX_EARLY: usize = 256;

/// Threads of one tick that are compared one by one; more are hashed.
const FEW_THREADS: usize = 32;

/// Raw time of the latest event that can have a stack, and the threads of all at that time:
/// their stacks of this tick cannot be early any more.
#[derive(Debug, Default)]
pub(super) struct LatestTick {
    raw: i64,
    first: Option<Tid>,
    others: Vec<Tid>,
    /// Those for which there is no room among the others. Keyed, since files choose them.
    more: HashSet<Tid>,
}

impl LatestTick {
    #[inline(always)]
    pub(super) fn note(&mut self, raw: i64, tid: Tid) {
        if self.raw != raw || self.first.is_none() {
            (self.raw, self.first) = (raw, Some(tid));
            self.others.clear();
        } else if self.first != Some(tid) {
            self.note_other(tid);
        }
    }

    #[inline(never)]
    fn note_other(&mut self, tid: Tid) {
        if self.others.is_empty() && !self.more.is_empty() {
            self.more = HashSet::new(); // of an earlier tick; emptying it takes as long as it was large
        }
        if self.others.contains(&tid) {
            return;
        }
        if self.others.len() < FEW_THREADS {
            self.others.push(tid);
        } else {
            self.more.insert(tid);
        }
    }

    fn has(&self, raw: i64, tid: Tid) -> bool {
        let is_full = self.others.len() == FEW_THREADS;
        self.raw == raw && (self.first == Some(tid) || self.others.contains(&tid) || (is_full && self.more.contains(&tid)))
    }
}

impl Builder {
    /// Whether the event of a stack that belongs to nothing may still come: stack
    /// and event stand at one tick, and the thread has written nothing at it. If it
    /// has, the stack is that of an event without rows, a release of what was only reserved for example.
    fn is_early(&self, owner: i64, stack: Origin) -> bool {
        owner == stack.raw && !self.tick.has(owner, stack.tid)
    }

    pub(super) fn await_stack(&mut self, from: Origin, waiting: Waiting) {
        if waiting.is_empty() {
            return;
        }
        if !self.limit.reads_stacks() && from.tid.is_known() {
            return; // the stack would tell nothing but the thread
        }
        self.pending.add(from.raw, from.tid, waiting);
        self.take_early(from);
    }

    /// An event waits for its stack: perhaps it came already.
    #[inline(always)]
    pub(super) fn take_early(&mut self, from: Origin) {
        if !self.early.is_empty() {
            self.take_early_ones(from);
        }
    }

    #[inline(never)]
    fn take_early_ones(&mut self, from: Origin) {
        if self.early[0].0.time != from.raw {
            self.early.clear();
            return;
        }
        for (record, frames) in std::mem::take(&mut self.early) {
            let origin = Origin { raw: record.time, pid: record.pid, tid: record.tid, ..from };
            self.stack(origin, &record, Frames::new(&frames));
        }
    }

    /// A stack, or a part of one, for an event that was replayed before.
    pub(super) fn stack(&mut self, from: Origin, record: &Record, frames: Frames<'_>) {
        let (owner, part, stack) = match record.event {
            Event::Stack { owner, part, .. } => (owner, part, CallStack::Frames(frames)),
            Event::StackRef { owner, part, key } => (owner, part, CallStack::Key { key, time: from.raw }),
            _ => return,
        };
        let (stacks, reads_stacks) = (&mut self.stacks, self.limit.reads_stacks());
        let mut intern = || if reads_stacks { reference(stacks, part, stack) } else { StackRef::NONE };
        let at = Ticks::from_raw(owner, self.trace_start);
        if let Some((event, waiting)) = self.pending.give(owner, from.tid, part, &mut intern) {
            if part == StackPart::Kernel && waiting.user.is_none() && reads_stacks {
                self.fragments.add(from.pid, from.tid, event);
            }
            self.tell_rows(from, waiting, at);
        } else if part == StackPart::User
            && let Some(freed) = self.frees.owner_of(owner, from.tid)
        {
            let stack = intern();
            self.tell_freed(freed, stack, from.pid, at);
        } else if self.is_early(owner, from) && self.early.len() < MAX_EARLY {
            if self.early.first().is_some_and(|(first, _)| first.time != from.raw) {
                self.early.clear();
            }
            self.early.push((record.clone(), frames.addresses().to_vec()));
        }
        if part == StackPart::User {
            self.complete_fragments(from, stack);
        }
    }

    /// The user's stack of a thread, whatever event it came with, is also that of all its
    /// events of which only the kernel part is known.
    #[inline(always)]
    pub(super) fn complete_fragments(&mut self, from: Origin, user: CallStack<'_>) {
        if !self.fragments.is_empty() {
            self.complete_fragments_of_thread(from, user);
        }
    }

    #[inline(never)]
    fn complete_fragments_of_thread(&mut self, from: Origin, user: CallStack<'_>) {
        let user = match user {
            CallStack::Nothing => return,
            CallStack::Frames(frames) => CallStack::Frames(frames.of_user_mode()),
            CallStack::Key { .. } => user,
        };
        let is_empty = matches!(user, CallStack::Frames(frames) if frames.addresses().is_empty());
        if is_empty || self.cut().is_some_and(|cut| cut.stacks_missing) {
            return;
        }
        let mut known = None;
        for event in self.fragments.take(from.pid, from.tid) {
            let stacks = &mut self.stacks;
            let user = || *known.get_or_insert_with(|| reference(stacks, StackPart::User, user));
            if let Some(waiting) = self.pending.share(event, user) {
                self.tell_rows(from, waiting, from.time);
            }
        }
    }

    /// The rows of an event at about `at` have the stack that is known of it by now.
    fn tell_rows(&mut self, from: Origin, waiting: Waiting, at: Ticks) {
        let whole = match (waiting.kernel, waiting.user) {
            (Some(kernel), Some(user)) => self.stacks.join(kernel, user),
            (one, other) => one.or(other).unwrap_or(StackRef::NONE),
        };
        for freed in waiting.freed.iter().flatten() {
            self.tell_freed(*freed, whole, from.pid, at);
        }
        for row in waiting.rows.map(RowId) {
            self.give_stack(row, whole, from);
            if waiting.two_parts {
                for piece in self.pieces.of(row) {
                    self.give_stack(piece, whole, from);
                }
            }
        }
    }

    fn give_stack(&mut self, row: RowId, stack: StackRef, from: Origin) {
        let Row { site, birth, thread, .. } = self.rows.get(row);
        let SiteKey { heap, mut caller, .. } = self.sites.key(site);
        if !thread.is_known() {
            self.rows.set_thread(row, from.tid);
            caller = self.processes.find_or_add(from.pid, from.time);
        }
        let site = self.site(heap, stack, caller, birth);
        self.rows.set_site(row, site);
    }
}

/// What stands for the part of a stack that came.
pub(super) fn reference(stacks: &mut Interner, part: StackPart, stack: CallStack<'_>) -> StackRef {
    match stack {
        CallStack::Nothing => StackRef::NONE,
        CallStack::Frames(frames) => stacks.frames(frames),
        CallStack::Key { key, time } => stacks.key(part, key, time),
    }
}
