//! The memory budget that captures of one export share: who does not fit beside the others waits.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::cli::Failure;

/// The memory budget of the export. One capture is always admitted, however much it needs: only as much of it is
/// loaded as there is room for.
pub(super) struct Room {
    budget: u64,
    used: Mutex<u64>,
    freed: Condvar,
}

/// The part of the budget that a capture holds.
pub(super) struct Seat<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Room {
    pub(super) fn new(budget: u64) -> Self {
        Self { budget, used: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits until there is room for so many bytes.
    fn take(&self, bytes: u64) -> Seat<'_> {
        let bytes = bytes.min(self.budget);
        let is_full = |used: &mut u64| *used > 0 && used.saturating_add(bytes) > self.budget;
        let mut used = self.freed.wait_while(locked(&self.used), is_full).unwrap_or_else(PoisonError::into_inner);
        *used += bytes;
        Seat { room: self, bytes }
    }

    /// Runs `work` beside others, with the estimated need as its budget. If that was too little, runs it again, alone
    /// and with the whole budget: so the result does not depend on the others.
    pub(super) fn within<T>(
        &self,
        need: u64,
        mut work: impl FnMut(u64) -> Result<T, Failure>,
        was_too_little: impl Fn(&T) -> bool,
    ) -> Result<(T, Seat<'_>), Failure> {
        let seat = self.take(need);
        let done = work(seat.bytes)?;
        if seat.bytes == self.budget || !was_too_little(&done) {
            return Ok((done, seat));
        }
        drop((done, seat));
        let seat = self.take(self.budget);
        Ok((work(seat.bytes)?, seat))
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        *locked(&self.room.used) -= self.bytes;
        self.room.freed.notify_all();
    }
}

/// Locks a mutex even after a panic of another worker: each change is one step, so the value is intact.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn captures_that_do_not_fit_beside_others_wait_and_none_waits_forever() {
        let room = Room::new(100);
        let (most, now) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for bytes in [60, 60, 30, 1000, 10, 0, 90] {
                let (room, most, now) = (&room, &most, &now);
                scope.spawn(move || {
                    let seat = room.take(bytes);
                    most.fetch_max(now.fetch_add(seat.bytes, Ordering::SeqCst) + seat.bytes, Ordering::SeqCst);
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    now.fetch_sub(seat.bytes, Ordering::SeqCst);
                });
            }
        });
        assert!(most.into_inner() <= 100 && *locked(&room.used) == 0);
    }

    #[test]
    fn what_needs_more_than_it_was_taken_to_is_done_again_alone_with_all_there_is() {
        // The estimated need, the real need, and the budgets that the work is given.
        let cases: [(u64, u64, &[u64]); 4] = [(30, 20, &[30]), (30, 40, &[30, 100]), (30, 200, &[30, 100]), (1000, 200, &[100])];
        for (need, needs, given) in cases {
            let room = Room::new(100);
            let mut budgets = Vec::new();
            let work = |budget: u64| {
                budgets.push(budget);
                Ok(budget)
            };
            let done = room.within(need, work, |budget: &u64| *budget < needs).ok();
            assert!(done.is_some_and(|(budget, seat)| budget == seat.bytes && *locked(&room.used) == budget));
            assert_eq!((budgets.as_slice(), *locked(&room.used)), (given, 0));
        }
    }
}
