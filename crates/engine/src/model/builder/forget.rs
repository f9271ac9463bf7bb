//! A trace that grows beyond its memory forgets rows that ended: those that ended first go, and the
//! others get new numbers in all places that refer to rows.
//!
//! From the moment before which all dropped rows ended, every number is that of the whole capture.
//! Earlier publications keep their rows.
//!
//! Cost: a pass over all rows each time, which frees half of the budget, or an eighth at least; so a
//! few steps for each row that comes.

use super::Builder;
use super::limit::{FREED_AT, PREPARED_A_ROW};
use crate::units::Ticks;

/// Bytes of a row that ended, including its slot in the order of deaths and what is prepared for
/// queries.
const ROW: u64 = 28 + PREPARED_A_ROW as u64;

impl Builder {
    /// Drops the rows that ended first until half of the budget is free, or all that ended; `false` if
    /// that would free too little. To be called after all was matched.
    pub(super) fn forget(&mut self, used: u64, budget: u64) -> bool {
        let row = ROW + if self.attach.frees.any { FREED_AT } else { 0 };
        let (wanted, least) = (used.saturating_sub(budget / 2) / row, used.saturating_sub(budget / 8 * 7) / row);
        self.attach.settle_framed();
        let mut deaths = self.allocations.rows.deaths_before(self.now);
        if (deaths.len() as u64) < least.max(1) {
            return false;
        }
        let nth = (wanted as usize).clamp(1, deaths.len()) - 1;
        let until = deaths.select_nth_unstable(nth).1.next().min(self.now);
        drop(deaths);
        self.attach.leave_slots(&mut self.allocations);
        let numbers = self.allocations.forget(until, self.now);
        self.attach.renumber(&numbers);
        self.limit.forgotten = Some(until);
        self.tidy();
        self.lineage.past += 1;
        true
    }

    /// The moment before which all ended rows were dropped for want of room, if any were.
    pub fn forgotten(&self) -> Option<Ticks> {
        self.limit.forgotten
    }
}
