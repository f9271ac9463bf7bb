//! Rows that wait for the stack with which they began, and rows that wait for that of their free. A
//! stack names its owner by raw time and thread; it comes a little later, the user part perhaps much
//! later and from another processor. (Most heap events do not wait: their stack comes with them.)
//!
//! Bounded: an event that saw [`MOST_WAITING`] newer ones without its stack is dropped. Cost: a binary search a
//! stack.

use std::collections::VecDeque;
use std::ops::Range;

use crate::events::StackPart;
use crate::model::RowId;
use crate::model::allocations::{Ended, EndedRow};
use crate::model::pairing::{MOST_WAITING, threads_of_owner};
use crate::model::renumbering::Renumbering;
use crate::model::stack::StackRef;
use crate::units::{Ticks, Tid};

/// Most events of one tick that are searched for the owner of a stack.
const MOST_AT_ONCE: usize = 1 << 12;

/// Number of an event among all that ever waited.
pub(super) type EventNumber = u64;

/// The rows of one event, and the parts of its stack that are known.
#[derive(Clone, Debug)]
pub(in crate::model) struct Waiting {
    /// Rows that the event made.
    pub(super) rows: Range<u32>,
    /// Rows or slots that it ended, if any.
    pub(super) freed: Option<Box<[Ended]>>,
    /// Kernel part, if it came already.
    pub(super) kernel: Option<StackRef>,
    /// User part, if it came already.
    pub(super) user: Option<StackRef>,
    /// Whether the user part came under another event of the same return to user mode.
    is_shared: bool,
    /// Whether the kernel wrote the event, so that the stack can have two parts.
    pub(super) two_parts: bool,
    /// When its row began, if that is a block whose thread is known.
    pub(super) born: Option<Ticks>,
}

impl Waiting {
    /// For rows of which nothing is known yet.
    pub(in crate::model) fn new(rows: Range<u32>, two_parts: bool) -> Self {
        Self { rows, freed: None, kernel: None, user: None, is_shared: false, two_parts, born: None }
    }

    /// For the row of a block that a thread begins at a moment.
    pub(super) fn of_block(row: RowId, at: Ticks, tid: Tid) -> Self {
        Self { born: tid.is_known().then_some(at), ..Self::new(row.0..row.0 + 1, false) }
    }

    /// Whether it is a block, of which all is known but its stack and the rows that it ended.
    fn is_plain(&self) -> bool {
        let mut freed = self.freed.iter().flatten();
        self.born.is_some() && freed.all(|ended| matches!(ended.row, EndedRow::In(_)))
    }

    /// Adds the rows or slots that the event ended.
    pub(in crate::model) fn freeing(self, freed: Vec<Ended>) -> Self {
        Self { freed: (!freed.is_empty()).then(|| freed.into()), ..self }
    }

    fn ended(&self) -> usize {
        self.freed.as_ref().map_or(0, |freed| freed.len())
    }

    /// Whether no row waits.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.freed.is_none()
    }

    fn wants(&self, part: StackPart) -> bool {
        match part {
            StackPart::Kernel => self.kernel.is_none() && self.two_parts,
            StackPart::User => self.user.is_none() || self.is_shared,
        }
    }
}

/// Waiting events in the order of their times.
#[derive(Debug, Default)]
pub(super) struct Pending {
    events: VecDeque<(i64, Tid, Waiting)>,
    /// Number of the first of them, which is how many were dropped.
    first: EventNumber,
    /// Number of the first event that [`Pending::newly_freed`] has not returned yet.
    asked: EventNumber,
    /// Number of rows and slots that they ended.
    ended: usize,
    /// Raw time of the latest event whose stack can have two parts.
    latest_in_kernel: Option<i64>,
}

impl Pending {
    /// Adds an event that waits from now on, unless it is earlier than the latest.
    pub(super) fn add(&mut self, time: i64, tid: Tid, waiting: Waiting) {
        if self.events.back().is_some_and(|(last, ..)| *last > time) {
            return;
        }
        if self.events.len() >= MOST_WAITING
            && let Some((_, _, given_up)) = self.events.pop_front()
        {
            self.first += 1;
            self.ended -= given_up.ended();
        }
        self.ended += waiting.ended();
        if waiting.two_parts {
            self.latest_in_kernel = Some(time);
        }
        self.events.push_back((time, tid, waiting));
    }

    /// Raw time of the latest event that the kernel wrote: none later waits for the kernel part of a
    /// stack.
    pub(super) fn latest_in_kernel(&self) -> Option<i64> {
        self.latest_in_kernel
    }

    /// Gives rows their new numbers; those without one are dropped.
    pub(super) fn renumber(&mut self, numbers: &Renumbering) {
        for (_, _, waiting) in &mut self.events {
            waiting.rows = numbers.first_from(waiting.rows.start)..numbers.first_from(waiting.rows.end);
            if let Some(freed) = waiting.freed.take() {
                let mut left = freed.into_vec();
                left.retain_mut(|freed| freed.row.renumber(|row| numbers.of(row)));
                waiting.freed = (!left.is_empty()).then(|| left.into());
            }
        }
        self.ended = self.events.iter().map(|(_, _, waiting)| waiting.ended()).sum();
    }

    /// Bytes of the lists of ended rows: one event can end very many.
    pub(super) fn bytes(&self) -> u64 {
        (self.ended * size_of::<Ended>()) as u64
    }

    /// Rows and slots that were ended by events since the last call.
    pub(super) fn newly_freed(&mut self) -> impl Iterator<Item = &mut EndedRow> {
        let end = self.first + self.events.len() as EventNumber;
        let since = std::mem::replace(&mut self.asked, end).saturating_sub(self.first) as usize;
        let freed = self.events.iter_mut().skip(since).filter_map(|(_, _, waiting)| waiting.freed.as_mut());
        freed.flat_map(|freed| freed.iter_mut().map(|freed| &mut freed.row))
    }

    /// All stacks that are known so far.
    pub(super) fn stacks(&mut self) -> impl Iterator<Item = &mut StackRef> {
        self.events.iter_mut().flat_map(|(_, _, waiting)| waiting.kernel.iter_mut().chain(&mut waiting.user))
    }

    /// The place of the first event at `time` by `tid`, or by an unknown thread, that lacks a part of its
    /// stack.
    fn find(&self, time: i64, tid: Tid, part: StackPart) -> Option<usize> {
        let first = first_from(&self.events, |(t, ..)| *t < time);
        let at_once = || self.events.range(first..).take(MOST_AT_ONCE).take_while(|(t, ..)| *t == time);
        let by = |tid: Tid| at_once().position(|(_, owner, waiting)| *owner == tid && waiting.wants(part));
        Some(first + threads_of_owner(tid).into_iter().find_map(by)?)
    }

    /// Whether the event to which [`Pending::give`] would give the user part of a stack is a block, of
    /// which all else is known; `None` if there is no such event.
    pub(super) fn is_of_plain_block(&self, time: i64, tid: Tid) -> Option<bool> {
        Some(self.events[self.find(time, tid, StackPart::User)?].2.is_plain())
    }

    /// Gives a part of a stack to the first event at `time` by `tid`, or by an unknown thread, that
    /// lacks it. Returns the event as it is then, and its number. `None` if the stack belongs to
    /// another event.
    pub(super) fn give(
        &mut self,
        time: i64,
        tid: Tid,
        part: StackPart,
        stack: impl FnOnce() -> StackRef,
    ) -> Option<(EventNumber, Waiting)> {
        let at = self.find(time, tid, part)?;
        let (_, _, waiting) = self.events.get_mut(at)?;
        match part {
            StackPart::Kernel => waiting.kernel = Some(stack()),
            StackPart::User => (waiting.user, waiting.is_shared) = (Some(stack()), false),
        }
        Some((self.first + at as EventNumber, waiting.clone()))
    }

    /// Gives an event the user part that came under another one. If the event's own still comes, it
    /// replaces that. `None` if the event has a user part, or was dropped.
    pub(super) fn share(&mut self, event: EventNumber, user: impl FnOnce() -> StackRef) -> Option<Waiting> {
        let at = usize::try_from(event.checked_sub(self.first)?).ok()?;
        let (_, _, waiting) = self.events.get_mut(at)?;
        if waiting.user.is_some() {
            return None;
        }
        (waiting.user, waiting.is_shared) = (Some(user()), true);
        Some(waiting.clone())
    }
}

/// Index of the first entry that is not earlier. Looks near the end first: stacks come soon after their
/// owners.
fn first_from<T>(queue: &VecDeque<T>, is_earlier: impl Fn(&T) -> bool) -> usize {
    let (mut low, mut high) = (queue.len(), queue.len());
    let mut step = 1;
    while let Some(entry) = low.checked_sub(1).and_then(|last| queue.get(last)) {
        if is_earlier(entry) {
            break;
        }
        high = low - 1;
        low = low.saturating_sub(step);
        step *= 2;
    }
    while low < high {
        let middle = low.midpoint(high);
        if is_earlier(&queue[middle]) { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_from_the_end_finds_what_a_search_of_all_finds() {
        let queue: VecDeque<i64> = [1, 1, 2, 4, 4, 4, 4, 7, 9, 9, 12].into();
        for len in 0..=queue.len() {
            let queue: VecDeque<i64> = queue.iter().take(len).copied().collect();
            for time in 0..14 {
                assert_eq!(first_from(&queue, |t| *t < time), queue.partition_point(|t| *t < time), "{time} in {len}");
            }
        }
    }
}
