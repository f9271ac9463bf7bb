//! The clocks of the machine. All recorded times are raw values of the performance counter, as sessions stamp them;
//! changes of the system time do not affect them (Microsoft's WNODE_HEADER). The system time is read once, at the start
//! of a recording.
#![allow(unsafe_code, reason = "the clocks are C functions that fill in a number")]

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
use windows_sys::Win32::System::SystemInformation::GetSystemTimePreciseAsFileTime;

/// Both clocks at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    /// The performance counter.
    pub(super) ticks: i64,
    /// The system time as FILETIME: 100 ns since 1601, UTC.
    pub(super) time: i64,
    /// Uncertainty of the moment in ticks.
    pub(super) width: i64,
}

impl Pair {
    /// Reads both clocks now: the best of a few tries, so that a thread switch in between does not matter.
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

    #[test]
    fn this_machine_has_both_clocks() {
        let (a, b) = (Pair::now(), Pair::now());
        assert!(a.ticks <= b.ticks && a.time <= b.time && a.width >= 0 && frequency() > 1000);
    }
}
