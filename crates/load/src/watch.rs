//! Observers of a load.

use std::time::Duration;

use crate::model::Trace;

/// An observer of a load.
pub trait Watch {
    /// Reports progress; called often. Returns whether to go on.
    fn progress(&mut self, done: u64, total: u64) -> bool;

    /// Receives the trace so far; called from time to time if [`Watch::wants_trace`].
    fn publish(&mut self, trace: Trace);

    /// Whether unfinished traces are wanted.
    fn wants_trace(&self) -> bool {
        true
    }

    /// The raw time up to which a trace of these files is shown already: none that reaches less far is published.
    fn shown_to(&self) -> i64 {
        i64::MIN
    }

    /// The speed of playing the capture as if it were being recorded, in seconds of the capture per second; 0 pauses,
    /// `None` loads at full speed. Asked again and again.
    fn speed(&self) -> Option<f64> {
        None
    }

    /// Whether to go on following a capture that is still being recorded; otherwise it ends with the data so far. Asked
    /// again and again.
    fn follows(&self) -> bool {
        true
    }

    /// Waits until the files of a followed capture are checked again; returns how long it waited.
    fn rest(&mut self) -> Duration {
        std::thread::sleep(LOOK_EVERY);
        LOOK_EVERY
    }
}

/// The interval at which the files of a followed capture are checked.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(120);

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn progress(&mut self, _done: u64, _total: u64) -> bool {
        true
    }

    fn publish(&mut self, _trace: Trace) {}

    fn wants_trace(&self) -> bool {
        false
    }
}

/// The user cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;
