//! The playback speed of a capture that is replayed as if it were being recorded: the window sets it,
//! and the loading thread reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The pace at which a capture is loaded.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// As fast as it can be read.
    AtOnce,
    /// As if it were being recorded, at this multiple of real time.
    Played(f64),
    /// While it is being recorded.
    Followed,
}

/// Speeds to choose from.
pub const SPEEDS: [f64; 8] = [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 200.0];

/// A change to a player.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PlayerChange {
    /// Pause, or resume.
    Pause(bool),
    /// The speed: seconds of the capture per second.
    Speed(f64),
    /// Load the rest as fast as possible.
    ToTheEnd,
}

/// The window's side of a capture that is being replayed.
#[derive(Debug)]
pub struct Player {
    speed: f64,
    is_paused: bool,
    shared: SharedSpeed,
}

/// The speed, shared with the loading thread.
#[derive(Clone, Debug)]
pub struct SharedSpeed(Arc<AtomicU64>);

/// As fast as possible; a value that the user cannot choose.
const ALL_AT_ONCE: f64 = f64::INFINITY;

impl SharedSpeed {
    fn new(speed: f64) -> Self {
        Self(Arc::new(AtomicU64::new(speed.to_bits())))
    }

    fn set(&self, speed: f64) {
        self.0.store(speed.to_bits(), Ordering::Relaxed);
    }

    /// The speed for [`crate::load::Watch::speed`].
    pub fn get(&self) -> Option<f64> {
        Some(f64::from_bits(self.0.load(Ordering::Relaxed))).filter(|&speed| speed != ALL_AT_ONCE)
    }
}

impl Player {
    pub fn new(speed: f64) -> Self {
        Self { speed, is_paused: false, shared: SharedSpeed::new(speed) }
    }

    /// The speed for the loading thread.
    pub fn shared(&self) -> SharedSpeed {
        self.shared.clone()
    }

    /// Seconds of the capture per second, also while it is paused.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Whether the rest is loaded as fast as possible.
    pub fn hurries(&self) -> bool {
        self.speed == ALL_AT_ONCE
    }

    pub fn change(&mut self, change: PlayerChange) {
        match change {
            PlayerChange::Pause(paused) => self.is_paused = paused,
            PlayerChange::Speed(speed) => self.speed = speed,
            PlayerChange::ToTheEnd => (self.speed, self.is_paused) = (ALL_AT_ONCE, false),
        }
        self.shared.set(if self.is_paused { 0.0 } else { self.speed });
    }
}

/// A speed in words.
pub fn speed_label(speed: f64) -> String {
    format!("{speed}\u{d7}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_keeps_the_speed_for_later() {
        let mut player = Player::new(10.0);
        let shared = player.shared();
        player.change(PlayerChange::Pause(true));
        player.change(PlayerChange::Speed(2.0));
        assert_eq!((shared.get(), player.speed(), player.is_paused()), (Some(0.0), 2.0, true));
        player.change(PlayerChange::Pause(false));
        assert_eq!(shared.get(), Some(2.0));
        player.change(PlayerChange::ToTheEnd);
        assert!(shared.get().is_none() && player.hurries());
    }
}
