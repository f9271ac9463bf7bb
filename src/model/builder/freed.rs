//! Who freed what ended: the stacks of frees find the rows.
//!
//! Which row a free of a block ends is known when the matching gets to it. Until then the
//! free's place in the order of deaths stands for the row, and what is told of it is kept
//! in a log. Before places are let go, whoever still waits for a stack is told the row.
//!
//! Stacks come as those of allocations do: with the free, by a key that is defined later
//! ([`keyed`](super::keyed)), or behind it. In heaps that is one part and comes soon, so
//! that few frees wait in a list of their own; those of pages wait with what allocates.
//!
//! Cost: a place in the list for a free without a stack; with one a hash operation and some
//! bytes in the log. Nothing is kept by row until the first freeing stack of its chunk.

use super::super::pending::{Ended, Freed};
use super::super::stack::StackRef;
use super::sites::{SiteKey, SiteTable};
use super::{Builder, Origin};
use crate::events::CallStack;
use crate::model::{RowId, SiteId};
use crate::units::{Layer, Pid, Ticks, Tid};

/// Frees that a stack may still find, at most; the older half of them goes at once.
const RECENT: usize = 1 << 12;

/// What is told at most before the matching is waited for.
const LOG: usize = 1 << 16;

/// The frees whose stacks are known or may come.
#[derive(Debug, Default)]
pub(super) struct Frees {
    /// Who freed where.
    pub(super) sites: SiteTable,
    /// What was told of places.
    log: Vec<(u32, SiteId)>,
    /// The latest frees of blocks without a stack: raw time, thread and what they ended.
    recent: Vec<(i64, Tid, Freed)>,
    /// Whether the trace has any.
    pub(super) any: bool,
}

impl Frees {
    #[inline(always)]
    fn await_stack(&mut self, from: Origin, freed: Freed) {
        if self.recent.last().is_some_and(|(raw, ..)| *raw > from.raw) {
            return; // out of order: could not be found again
        }
        if self.recent.len() >= RECENT {
            self.recent.drain(..RECENT / 2);
        }
        self.recent.push((from.raw, from.tid, freed));
    }

    /// The free that a user's stack belongs to, if it is one's. It waits for no other.
    pub(super) fn owner_of(&mut self, owner: i64, tid: Tid) -> Option<Freed> {
        let first = self.recent.partition_point(|(raw, ..)| *raw < owner);
        let at_once = self.recent[first..].iter().take_while(|(raw, ..)| *raw == owner);
        let at = at_once.map(|(_, thread, _)| *thread).position(|thread| thread == tid)?;
        Some(self.recent.remove(first + at).2)
    }

    /// What those ended that wait for a stack.
    pub(super) fn waiting(&mut self) -> impl Iterator<Item = &mut Ended> {
        self.recent.iter_mut().map(|(.., freed)| &mut freed.ended)
    }

    /// Rows have new numbers, or none.
    pub(super) fn renumber(&mut self, number: impl Fn(RowId) -> Option<RowId>) {
        self.recent.retain_mut(|(.., freed)| freed.ended.renumber(&number));
    }
}

impl Builder {
    /// A free of a block, and the stack that came with it, if one did.
    #[inline(always)]
    pub(super) fn freed_by(&mut self, from: Origin, freed: Freed, stack: CallStack<'_>) {
        match stack {
            CallStack::Nothing => self.await_freeing_stack(from, freed),
            CallStack::Frames(frames) => {
                let stack = self.stacks.frames(frames);
                self.tell_freed(freed, stack, from.pid, from.time);
            }
            CallStack::Key { key, time } => self.await_freeing_key(from, freed, key, time),
        }
    }

    #[inline(always)]
    fn await_freeing_stack(&mut self, from: Origin, freed: Freed) {
        if self.limit.reads_stacks() {
            self.frees.await_stack(from, freed);
            self.take_early(from);
        }
    }

    /// Somebody of process `pid` freed with this stack, as far as it is known by now.
    #[inline(never)]
    pub(super) fn tell_freed(&mut self, Freed { heap, ended }: Freed, stack: StackRef, pid: Pid, at: Ticks) {
        if stack == StackRef::NONE {
            return;
        }
        let owner = &self.heaps.list[heap.0 as usize];
        // Pages can be another process's.
        let caller = if owner.layer == Layer::Commit { self.processes.find(pid) } else { None };
        let key = SiteKey { heap, stack, caller: caller.unwrap_or(owner.process) };
        let at = if let Ended::Row(row) = ended { self.rows.death(row) } else { at };
        let site = self.frees.sites.intern(key, at);
        self.frees.any = true;
        match ended {
            Ended::Row(row) => self.rows.set_freed_at(row, site),
            Ended::Place(place) => {
                self.frees.log.push((place, site));
                if self.frees.log.len() >= LOG {
                    self.matcher.settle();
                    self.settle_freed();
                }
            }
        }
    }

    /// Tells rows, and frees that ended none, what is known of their stacks. After
    /// [`Matcher::settle`](super::Matcher::settle).
    pub(super) fn settle_freed(&mut self) {
        let Self { frees: Frees { log, sites, .. }, matcher, rows, .. } = self;
        for (place, site) in log.drain(..) {
            match matcher.ended_at(place) {
                Some(row) => rows.set_freed_at(row, site),
                None => matcher.tell_unmatched(place, sites.key(site).stack),
            }
        }
    }

    /// Places are about to be let go: who waits for a stack is told the row, if the free
    /// ended one. After [`Matcher::settle`](super::Matcher::settle).
    pub(super) fn leave_places(&mut self) {
        self.settle_freed();
        let Self { frees, pending, keyed, matcher, .. } = self;
        for ended in frees.waiting().chain(pending.newly_freed()).chain(keyed.freed()) {
            if let Ended::Place(place) = *ended
                && let Some(row) = matcher.ended_at(place)
            {
                *ended = Ended::Row(row);
            }
        }
    }
}
