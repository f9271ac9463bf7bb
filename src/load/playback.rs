//! A capture played as if it were being recorded: what happened in a second of it
//! takes a second, or a tenth of one.
//!
//! The merge is held at a moment that goes on with the clock on the wall, so the
//! model meets the same records in the same order as when the files are opened, and
//! ends as the same trace. Speed may change at any time.

use std::time::{Duration, Instant};

/// While nothing is due, the player looks so often whether something is.
const NAP: Duration = Duration::from_millis(5);

/// Faster than this is as fast as possible.
const FASTEST: f64 = 1e9;

/// Where the player is.
#[derive(Debug)]
pub(super) struct Playback {
    /// Raw ticks in a second.
    frequency: f64,
    /// Raw time of the beginning, and ticks since then.
    start: i64,
    played: f64,
    /// When it was there.
    seen: Instant,
}

impl Playback {
    /// At the raw time `start` of a clock with so many ticks a second.
    pub(super) fn new(start: i64, frequency: u64) -> Self {
        Self { frequency: frequency as f64, start, played: 0.0, seen: Instant::now() }
    }

    /// Goes on at `speed` seconds of the capture a second, or to the end without one.
    /// Returns up to which raw time it has been played.
    #[expect(clippy::manual_clamp, reason = "no number at all counts as 0 here")]
    pub(super) fn advance(&mut self, speed: Option<f64>, now: Instant) -> i64 {
        let passed = now.saturating_duration_since(std::mem::replace(&mut self.seen, now));
        match speed {
            Some(speed) => {
                self.played += passed.as_secs_f64() * speed.max(0.0).min(FASTEST) * self.frequency;
                self.start.saturating_add(self.played as i64) // the cast saturates
            }
            None => i64::MAX,
        }
    }
}

/// Lets time pass where nothing is due.
pub(super) fn nap() {
    std::thread::sleep(NAP);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_at_the_speed_of_the_moment() {
        let mut playback = Playback::new(1000, 100);
        let begin = playback.seen;
        let at = |seconds| begin + Duration::from_secs(seconds);
        assert_eq!(playback.advance(Some(1.0), at(2)), 1200);
        assert_eq!(playback.advance(Some(0.0), at(60)), 1200, "paused");
        assert_eq!(playback.advance(Some(10.0), at(61)), 2200);
        assert_eq!(playback.advance(Some(10.0), at(5)), 2200, "clocks do not go back");
        assert_eq!(playback.advance(Some(f64::NAN), at(61)), 2200);
        assert_eq!(playback.advance(None, at(61)), i64::MAX);
        assert_eq!(playback.advance(Some(f64::INFINITY), at(61)), 2200, "no time, no way");
    }
}
