//! The program that records for the window.

use std::time::Duration;

/// Its file name; it is in the folder of the window's program.
pub(super) const RECORDER: &str = "highwater-recorder.exe";

/// Maximum time between the start of the recorder and its first message, on a slow machine.
pub(super) const START: Duration = Duration::from_secs(60);
