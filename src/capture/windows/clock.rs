//! Both clocks of the machine at one moment, and times of one as times of the other.
//!
//! ferrisetw asks ETW for times as FILETIME, and all our files tell the performance
//! counter. [`Clocks`] takes a pair of both each second and maps by the newest.
//!
//! Error: what a pair itself is wrong by (the time between its two looks at the counter)
//! and what the system time moves away from the counter within a second; both are measured,
//! see [`Clocks::error`]. A correction of the system time by the user is such a move.
#![allow(unsafe_code, reason = "the clocks are C functions that fill in a number")]

use std::sync::{Mutex, PoisonError};

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
use windows_sys::Win32::System::SystemInformation::GetSystemTimePreciseAsFileTime;

/// Both clocks at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    /// The performance counter.
    pub(super) ticks: i64,
    /// FILETIME: 100 ns since 1601, UTC.
    pub(super) time: i64,
    /// Ticks by which the moment is uncertain.
    pub(super) width: i64,
}

impl Pair {
    /// Now: the best of a few tries, so that a switch of threads does not come in between.
    pub(super) fn now() -> Self {
        const TRIES: u32 = 5;
        let tries = (0..TRIES).map(|_| {
            let before = ticks();
            let time = system_time();
            let width = ticks() - before;
            Self { ticks: before + width / 2, time, width }
        });
        // There is at least one try.
        tries.min_by_key(|pair| pair.width).unwrap_or(Self { ticks: 0, time: 0, width: 0 })
    }

    /// The counter at a system time.
    fn ticks_at(&self, time: i64, frequency: u64) -> i64 {
        const SECOND: i128 = 10_000_000;
        let since = (i128::from(time) - i128::from(self.time)).saturating_mul(frequency.into()) / SECOND;
        (i128::from(self.ticks) + since).clamp(0, i64::MAX.into()) as i64
    }
}

/// Maps system times to the counter.
#[derive(Debug)]
pub(super) struct Clocks {
    frequency: u64,
    now: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    pair: Pair,
    /// The largest step from the map of one pair to that of the next, in ticks.
    step: i64,
    /// The latest time that was mapped: steps back are not passed on.
    latest: i64,
}

impl Clocks {
    pub(super) fn new(frequency: u64, pair: Pair) -> Self {
        Self { frequency, now: Mutex::new(State { pair, step: 0, latest: i64::MIN }) }
    }

    /// Takes the next pair.
    pub(super) fn renew(&self, pair: Pair) {
        let mut now = self.lock();
        let step = now.pair.ticks_at(pair.time, self.frequency) - pair.ticks;
        now.step = now.step.max(step.abs());
        now.pair = pair;
    }

    /// The counter at a system time. The answers to one session's events, which come in the
    /// order of their times, do not fall either.
    pub(super) fn ticks_at(&self, time: i64) -> i64 {
        let mut now = self.lock();
        let mapped = now.pair.ticks_at(time, self.frequency);
        // Only as far as the map itself may have stepped back: events that come late stay late.
        let mapped = if mapped < now.latest && now.latest - mapped <= now.step { now.latest } else { mapped };
        now.latest = now.latest.max(mapped);
        mapped
    }

    /// Nanoseconds by which mapped times were wrong at most.
    pub(super) fn error(&self) -> u64 {
        let now = self.lock();
        let ticks = now.step.saturating_add(now.pair.width).max(0) as u128;
        u64::try_from(ticks * 1_000_000_000 / u128::from(self.frequency.max(1))).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ticks of the performance counter in a second.
pub(super) fn frequency() -> u64 {
    let mut frequency = 0;
    // SAFETY: the function writes one number, which is ours.
    unsafe { QueryPerformanceFrequency(&raw mut frequency) };
    frequency.max(1) as u64
}

/// The performance counter now.
pub(super) fn ticks() -> i64 {
    let mut ticks = 0;
    // SAFETY: the function writes one number, which is ours.
    unsafe { QueryPerformanceCounter(&raw mut ticks) };
    ticks
}

fn system_time() -> i64 {
    let mut time = FILETIME::default();
    // SAFETY: the function writes one structure, which is ours.
    unsafe { GetSystemTimePreciseAsFileTime(&raw mut time) };
    i64::from(time.dwHighDateTime) << 32 | i64::from(time.dwLowDateTime)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREQUENCY: u64 = 3_579_545;

    fn pair(ticks: i64, time: i64) -> Pair {
        Pair { ticks, time, width: 10 }
    }

    #[test]
    fn times_are_mapped_by_the_newest_pair_and_the_error_is_the_step_between_pairs() {
        let clocks = Clocks::new(FREQUENCY, pair(1_000_000, 500_000_000));
        assert_eq!(clocks.ticks_at(500_000_000), 1_000_000);
        assert_eq!(clocks.ticks_at(510_000_000), 1_000_000 + FREQUENCY as i64);
        assert_eq!(clocks.error(), 10 * 1_000_000_000 / FREQUENCY);
        // A second later the system time has gone 100 ticks too far.
        clocks.renew(pair(1_000_000 + FREQUENCY as i64 - 100, 510_000_000));
        assert_eq!(clocks.ticks_at(520_000_000), 1_000_000 + 2 * FREQUENCY as i64 - 100);
        assert_eq!(clocks.error(), 110 * 1_000_000_000 / FREQUENCY);
    }

    #[test]
    fn a_step_of_the_map_does_not_put_events_out_of_order() {
        let clocks = Clocks::new(FREQUENCY, pair(1_000_000, 500_000_000));
        let before = clocks.ticks_at(510_000_000);
        clocks.renew(pair(before - 100, 510_000_000));
        assert_eq!(clocks.ticks_at(510_000_001), before);
        // An event that comes late by itself stays where it was.
        assert!(clocks.ticks_at(505_000_000) < before - 1000);
    }

    #[test]
    fn impossible_times_are_cut_off() {
        let clocks = Clocks::new(u64::MAX, pair(i64::MAX, i64::MIN));
        assert_eq!(clocks.ticks_at(i64::MAX), i64::MAX);
        assert_eq!(Clocks::new(10, pair(0, i64::MAX)).ticks_at(i64::MIN), 0);
    }

    #[test]
    fn this_machine_has_both_clocks() {
        let (a, b) = (Pair::now(), Pair::now());
        assert!(a.ticks <= b.ticks && a.time <= b.time && a.width >= 0 && frequency() > 1000);
    }
}
