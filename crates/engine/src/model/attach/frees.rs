//! Who freed each row: finds the rows for the stacks of frees.
//!
//! Which row a free of a block ends is known when the matching gets to it. Until then the free's slot
//! in the order of deaths stands for the row, and sites of frees are kept by slot in a log. Before
//! slots are released, all that still waits for a stack gets the row in place of the slot.
//!
//! Stacks come as those of allocations do: with the free, by a key that is defined later
//! ([`keyed`](super::keyed)), or behind it. In heaps a stack is one part and comes soon, so that few
//! frees wait, in a list of their own; frees of pages wait together with allocations.
//!
//! Cost: a place in the list for a free without a stack; for one with a stack a hash operation and some
//! bytes in the log. Nothing is kept by row until the first freeing stack of its chunk.

use std::collections::VecDeque;

use super::sites::SiteTable;
use crate::model::allocations::{DeathSlot, Ended, EndedRow};
use crate::model::origin::Origin;
use crate::model::pairing::threads_of_owner;
use crate::model::stack::StackRef;
use crate::model::{RowId, SiteId};
use crate::units::Tid;

/// Most frees that a stack may still find; when there are more, the older half is dropped.
const RECENT: usize = 1 << 12;

/// Most entries of the log before the matching is waited for.
const MOST_LOGGED: usize = 1 << 16;

/// Raw time, thread, and the row that was ended.
pub(super) type RecentFree = (i64, Tid, Ended);

/// The frees whose stacks are known or may come.
#[derive(Debug, Default)]
pub(in crate::model) struct Frees {
    /// Sites of frees.
    pub(in crate::model) sites: SiteTable,
    /// Sites by slot, until the rows are known.
    pub(super) log: Vec<(DeathSlot, SiteId)>,
    /// Stacks of frees of something unknown, by their numbers, until these are told.
    pub(super) unmatched: Vec<(u32, StackRef)>,
    /// The latest frees of blocks without a stack.
    recent: VecDeque<RecentFree>,
    /// Whether the trace has any freeing stack.
    pub(in crate::model) any: bool,
}

impl Frees {
    #[inline(always)]
    pub(super) fn await_stack(&mut self, from: Origin, freed: Ended) {
        if self.recent.back().is_some_and(|(raw, ..)| *raw > from.raw) {
            return; // out of order: could not be found again
        }
        if self.recent.len() >= RECENT {
            self.recent.drain(..RECENT / 2);
        }
        self.recent.push_back((from.raw, from.tid, freed));
    }

    /// Like `await_stack` for many frees in order of time; `free` converts one.
    pub(super) fn await_stacks<F>(&mut self, frees: &[F], free: impl Fn(&F) -> RecentFree) {
        let passed = self.recent.back().map_or(i64::MIN, |(raw, ..)| *raw);
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

    /// Whether the log is so long that it is time to wait for the matching.
    pub(super) fn is_long(log: usize) -> bool {
        log >= MOST_LOGGED
    }

    /// Number of sites and stacks that are kept until it is known what they belong to.
    pub(in crate::model) fn logged(&self) -> usize {
        self.log.len() + self.unmatched.len()
    }

    /// The place of the free that a user-mode stack belongs to, if there is one.
    fn find(&self, owner: i64, tid: Tid) -> Option<usize> {
        let first = self.recent.partition_point(|(raw, ..)| *raw < owner);
        let at_once = || self.recent.range(first..).take_while(|(raw, ..)| *raw == owner);
        let by = |tid: Tid| at_once().position(|(_, thread, _)| *thread == tid);
        Some(first + threads_of_owner(tid).into_iter().find_map(by)?)
    }

    /// The free that a user-mode stack belongs to, if any.
    pub(super) fn owner(&self, owner: i64, tid: Tid) -> Option<Ended> {
        Some(self.recent[self.find(owner, tid)?].2)
    }

    /// The free that a user-mode stack belongs to, if any. The free waits for no other stack
    /// afterwards.
    pub(super) fn take_owner(&mut self, owner: i64, tid: Tid) -> Option<Ended> {
        self.recent.remove(self.find(owner, tid)?).map(|(.., ended)| ended)
    }

    /// The rows or slots of frees that wait for a stack.
    pub(super) fn waiting(&mut self) -> impl Iterator<Item = &mut EndedRow> {
        self.recent.iter_mut().map(|(.., freed)| &mut freed.row)
    }

    /// Gives rows their new numbers; what waits for a row without one is dropped.
    pub(super) fn renumber(&mut self, number: impl Fn(RowId) -> Option<RowId>) {
        self.recent.retain_mut(|(.., freed)| freed.row.renumber(&number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HeapId;
    use crate::units::{Pid, Ticks};

    #[test]
    fn a_free_that_does_not_say_its_thread_gets_the_stack_of_its_time() {
        let mut frees = Frees::default();
        let mut free = |row: u32, tid| {
            let ended = Ended { heap: HeapId(1), row: EndedRow::Known(RowId(row)) };
            frees.await_stack(Origin { raw: 5, time: Ticks(5), pid: Pid(1), tid }, ended);
        };
        free(1, Tid::NONE);
        free(2, Tid(70));
        let mut owner = |time| frees.take_owner(time, Tid(70)).map(|ended| ended.row);
        let row = |row| Some(EndedRow::Known(RowId(row)));
        assert_eq!([owner(4), owner(5), owner(5), owner(5)], [None, row(2), row(1), None]);
    }

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
