//! State of a callback of Windows' reader: the number of events so far, and whether the work for one panicked. A panic that
//! leaves such a callback ends the process, so none does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// State of a callback, shared with whoever waits for it.
#[derive(Debug, Default)]
pub struct CallbackState {
    events: AtomicU64,
    has_panicked: AtomicBool,
}

impl CallbackState {
    /// Counts an event and does some work for it. After a panic, events are only counted.
    pub fn on_event(&self, work: impl FnOnce()) {
        self.events.fetch_add(1, Ordering::Relaxed);
        // What the work left behind is looked at by nobody after a panic, but for complete answers.
        if !self.has_panicked() && catch_unwind(AssertUnwindSafe(work)).is_err() {
            self.has_panicked.store(true, Ordering::Relaxed);
        }
    }

    /// Number of events so far.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Whether the work for an event panicked.
    pub fn has_panicked(&self) -> bool {
        self.has_panicked.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_stays_inside_and_ends_the_work() {
        let (state, mut done) = (CallbackState::default(), 0);
        for event in 0..5 {
            state.on_event(|| {
                assert!(event != 2, "on purpose");
                done += 1;
            });
        }
        assert_eq!((state.events(), state.has_panicked(), done), (5, true, 2));
    }
}
