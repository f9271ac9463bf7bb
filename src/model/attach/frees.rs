//! Who freed what ended: the stacks of frees find the rows.
//!
//! Which row a free of a block ends is known when the matching gets to it. Until then the
//! free's slot in the order of deaths stands for the row, and what is told of it is kept
//! in a log. Before slots are let go, whoever still waits for a stack is told the row.
//!
//! Stacks come as those of allocations do: with the free, by a key that is defined later
//! ([`keyed`](super::keyed)), or behind it. In heaps that is one part and comes soon, so
//! that few frees wait in a list of their own; those of pages wait with what allocates.
//!
//! Cost: a place in the list for a free without a stack; with one a hash operation and some
//! bytes in the log. Nothing is kept by row until the first freeing stack of its chunk.

use super::{Attach, Ended, Origin, Rooms, SiteKey, SiteTable};
use crate::model::lives::{DeathSlot, EndedRow, Lives};
use crate::model::stack::StackRef;
use crate::model::{RowId, SiteId};
use crate::units::{Layer, Pid, Ticks, Tid};

/// Frees that a stack may still find, at most; the older half of them goes at once.
const RECENT: usize = 1 << 12;

/// What is told at most before the matching is waited for.
const LOG: usize = 1 << 16;

/// Raw time, thread, and what was ended.
pub(super) type RecentFree = (i64, Tid, Ended);

/// The frees whose stacks are known or may come.
#[derive(Debug, Default)]
pub(in crate::model) struct Frees {
    /// Who freed where.
    pub(in crate::model) sites: SiteTable,
    /// What was told of slots.
    log: Vec<(DeathSlot, SiteId)>,
    /// The latest frees of blocks without a stack.
    recent: Vec<RecentFree>,
    /// Whether the trace has any.
    pub(in crate::model) any: bool,
}

impl Frees {
    #[inline(always)]
    fn await_stack(&mut self, from: Origin, freed: Ended) {
        if self.recent.last().is_some_and(|(raw, ..)| *raw > from.raw) {
            return; // out of order: could not be found again
        }
        if self.recent.len() >= RECENT {
            self.recent.drain(..RECENT / 2);
        }
        self.recent.push((from.raw, from.tid, freed));
    }

    /// The same for many, in order of time, which `free` tells.
    pub(super) fn await_stacks<F>(&mut self, frees: &[F], free: impl Fn(&F) -> RecentFree) {
        let passed = self.recent.last().map_or(i64::MIN, |(raw, ..)| *raw);
        let frees = &frees[frees.partition_point(|one| free(one).0 < passed)..];
        let (before, all) = (self.recent.len(), self.recent.len() + frees.len());
        let stay = match all.checked_sub(RECENT + 1) {
            Some(more) => RECENT / 2 + more % (RECENT / 2) + 1,
            None => all,
        };
        let gone = all - stay;
        self.recent.drain(..gone.min(before));
        self.recent.extend(frees[gone.saturating_sub(before)..].iter().map(free));
    }

    /// The free that a user's stack belongs to, if it is one's. It waits for no other.
    pub(super) fn owner_of(&mut self, owner: i64, tid: Tid) -> Option<Ended> {
        let first = self.recent.partition_point(|(raw, ..)| *raw < owner);
        let at_once = self.recent[first..].iter().take_while(|(raw, ..)| *raw == owner);
        let at = at_once.map(|(_, thread, _)| *thread).position(|thread| thread == tid)?;
        Some(self.recent.remove(first + at).2)
    }

    /// What those ended that wait for a stack.
    pub(super) fn waiting(&mut self) -> impl Iterator<Item = &mut EndedRow> {
        self.recent.iter_mut().map(|(.., freed)| &mut freed.row)
    }

    /// Rows have new numbers, or none.
    pub(super) fn renumber(&mut self, number: impl Fn(RowId) -> Option<RowId>) {
        self.recent.retain_mut(|(.., freed)| freed.row.renumber(&number));
    }
}

impl Attach {
    #[inline(always)]
    pub(super) fn await_freeing_stack(&mut self, rooms: &mut Rooms<'_>, from: Origin, ended: Ended) {
        if self.reads {
            self.frees.await_stack(from, ended);
            self.take_early(rooms, from);
        }
    }

    /// Somebody of process `pid` freed with this stack, as far as it is known by now.
    #[inline(never)]
    pub(super) fn tell_freed(&mut self, rooms: &mut Rooms<'_>, ended: Ended, stack: StackRef, pid: Pid, at: Ticks) {
        if stack == StackRef::NONE {
            return;
        }
        let Ended { heap, row } = ended;
        let owner = rooms.world.heap(heap);
        // Pages can be another process's.
        let caller = if owner.layer == Layer::Commit { rooms.world.processes.find(pid) } else { None };
        let key = SiteKey { heap, stack, caller: caller.unwrap_or(owner.process) };
        let at = if let EndedRow::Known(row) = row { rooms.lives.rows.death(row) } else { at };
        let site = self.frees.sites.intern(key, at);
        self.tell_freeing_site(rooms, row, site);
    }

    /// The site of a free is known.
    pub(super) fn tell_freeing_site(&mut self, rooms: &mut Rooms<'_>, row: EndedRow, site: SiteId) {
        self.frees.any = true;
        match row {
            EndedRow::Known(row) => rooms.lives.rows.set_freed_at(row, site),
            EndedRow::In(slot) => {
                self.frees.log.push((slot, site));
                if self.frees.log.len() >= LOG {
                    rooms.lives.matcher.settle();
                    self.settle_freed(rooms.lives);
                }
            }
        }
    }

    /// Tells rows, and frees that ended none, what is known of their stacks. After
    /// [`Matcher::settle`](crate::model::lives::Matcher::settle).
    pub(in crate::model) fn settle_freed(&mut self, lives: &mut Lives) {
        let Frees { log, sites, .. } = &mut self.frees;
        let mut unmatched = Vec::new();
        for (slot, site) in log.drain(..) {
            match lives.matcher.ended_at(slot) {
                Some(row) => lives.rows.set_freed_at(row, site),
                None => unmatched.push((slot, sites.key(site).stack)),
            }
        }
        lives.matcher.tell_unmatched(&unmatched);
    }

    /// Slots are about to be let go: who waits for a stack is told the row, if the free
    /// ended one. After [`Matcher::settle`](crate::model::lives::Matcher::settle).
    pub(in crate::model) fn leave_slots(&mut self, lives: &mut Lives) {
        self.settle_freed(lives);
        let Self { frees, pending, keyed, .. } = self;
        for ended in frees.waiting().chain(pending.newly_freed()).chain(keyed.freed()) {
            if let Some(row) = lives.ended_row(*ended) {
                *ended = EndedRow::Known(row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HeapId;

    #[test]
    fn many_frees_wait_as_they_do_one_by_one() {
        let free = |&raw: &i64| {
            let row = EndedRow::Known(RowId(raw as u32));
            (raw, Tid(raw as u32 % 3), Ended { heap: HeapId(1), row })
        };
        let (mut many, mut single) = (Frees::default(), Frees::default());
        let sizes = [1, RECENT - 2, 1, 1, RECENT / 2, 3 * RECENT + 7, 0, RECENT, RECENT + 1, 5];
        let mut first = 0;
        for size in sizes {
            let times: Vec<i64> = (first..first + size as i64).map(|raw| raw / 2).collect();
            first += size as i64 - 3; // some are out of order
            many.await_stacks(&times, free);
            for raw in &times {
                let (raw, tid, ended) = free(raw);
                single.await_stack(Origin { raw, time: Ticks(raw), pid: Pid(1), tid }, ended);
            }
            let shown = |frees: &Frees| frees.recent.iter().map(|(raw, tid, ended)| (*raw, *tid, ended.row)).collect::<Vec<_>>();
            assert_eq!(shown(&many), shown(&single), "{size}");
        }
    }
}
