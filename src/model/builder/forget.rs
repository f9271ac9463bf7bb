//! A trace that grows beyond its memory forgets what is over: the rows that ended first
//! go, and those that stay have new numbers wherever somebody knows them.
//!
//! From the moment on before which all of them ended, every number is that of the whole
//! capture. What was published before keeps its rows.
//!
//! Cost: a pass over all rows each time, which makes room for half of them, or an eighth
//! at least; so a few steps for each row that comes.

use super::Builder;
use super::limit::{BLOCKS_A_ROW, FREED_AT, SUMS_A_ROW};
use crate::units::Ticks;

/// Bytes of a row that ended, its slot in the order of deaths and what is prepared for it
/// included.
const ROW: u64 = 28 + (SUMS_A_ROW + BLOCKS_A_ROW) as u64;

impl Builder {
    /// Drops the rows that ended first until half of the budget is free, or all that
    /// ended; `false` if that would not be worth it. After all was matched.
    pub(super) fn forget(&mut self, used: u64, budget: u64) -> bool {
        let row = ROW + if self.attach.frees.any { FREED_AT } else { 0 };
        let (wanted, least) = (used.saturating_sub(budget / 2) / row, used.saturating_sub(budget / 8 * 7) / row);
        self.settle_framed();
        let mut deaths = self.lives.rows.deaths_before(self.now);
        if (deaths.len() as u64) < least.max(1) {
            return false;
        }
        let nth = (wanted as usize).clamp(1, deaths.len()) - 1;
        let until = deaths.select_nth_unstable(nth).1.next().min(self.now);
        drop(deaths);
        self.attach.leave_slots(&mut self.lives);
        let numbers = self.lives.forget(until, self.now);
        self.attach.renumber(&numbers);
        self.limit.forgotten = Some(until);
        self.tidy();
        self.lineage.past += 1;
        true
    }

    /// All rows that ended before this moment were dropped for want of room.
    pub fn forgotten(&self) -> Option<Ticks> {
        self.limit.forgotten
    }
}
