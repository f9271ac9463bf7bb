//! Plays a capture as if it were being recorded: a second of the capture takes a second, or a tenth of one.
//!
//! The merge is held at a moment that advances with the wall clock, so the model sees the same records in the same
//! order as when the files are opened, and the resulting trace is the same. The speed may change at any time.

use std::time::{Duration, Instant};

/// Interval at which the player checks whether events are due.
const NAP: Duration = Duration::from_millis(5);

/// Maximum speed; beyond it, speed makes no difference.
const FASTEST: f64 = 1e9;

/// The position of the player.
#[derive(Debug)]
pub(super) struct Playback {
    /// Raw ticks in a second.
    frequency: f64,
    /// Raw time of the start; `played` counts ticks since then.
    start: i64,
    played: f64,
    /// The wall clock at the last advance.
    seen: Instant,
}

impl Playback {
    /// Starts at the raw time `start` of a clock with `frequency` ticks a second.
    pub(super) fn new(start: i64, frequency: u64) -> Self {
        Self { frequency: frequency as f64, start, played: 0.0, seen: Instant::now() }
    }

    /// Advances at `speed` seconds of the capture per second, or to the end if it is `None`. Returns the raw time until
    /// which the capture has been played.
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

/// Waits a moment when no events are due.
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
