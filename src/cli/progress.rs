//! Progress of a command, for those who wait at a terminal.

use std::time::{Duration, Instant};

use clap::Args;

use super::output;
use crate::format::plain;
use crate::load::Watch;
use crate::model::Trace;

/// Whether a command speaks of what it does.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(super) struct Quiet {
    /// Print only errors and machine-readable output
    #[arg(long)]
    quiet: bool,
}

impl Quiet {
    /// Applies the option; must be called before anything is printed.
    pub(super) fn apply(self) {
        if self.quiet {
            output::be_quiet();
        }
    }
}

/// Time between two updates of the line.
const EVERY: Duration = Duration::from_millis(200);

/// A line that shows the progress of some work, and is removed in the end.
#[derive(Debug)]
pub(super) struct Progress {
    what: String,
    next: Option<Instant>,
    is_shown: bool,
}

impl Progress {
    /// The progress of work with this name, such as `Reading game.etl`.
    pub(super) fn new(what: impl Into<String>) -> Self {
        let next = output::shows_progress().then(|| Instant::now() + EVERY);
        Self { what: what.into(), next, is_shown: false }
    }

    /// Shows that `done` of `total` is done.
    pub(super) fn at(&mut self, done: u64, total: u64) {
        self.at_with(done, total, String::new);
    }

    /// Shows that `done` of `total` is done, and the current step.
    pub(super) fn at_with(&mut self, done: u64, total: u64, detail: impl FnOnce() -> String) {
        let Some(next) = &mut self.next else { return };
        let now = Instant::now();
        if now < *next {
            return;
        }
        *next = now + EVERY;
        self.is_shown = true;
        let percent = (u128::from(done) * 100).checked_div(total.into()).unwrap_or(0).min(100);
        let detail = match detail() {
            detail if detail.is_empty() => detail,
            detail => format!(", {}", plain(&detail)),
        };
        output::progress(&format!("{} {} {percent} %{detail}", self.what, bar(percent as usize)));
    }
}

/// A bar of twenty characters for a number of per cent.
fn bar(percent: usize) -> String {
    let full = percent / 5;
    "\u{2588}".repeat(full) + &"\u{2591}".repeat(20 - full)
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            output::progress("");
        }
    }
}

impl Watch for Progress {
    fn progress(&mut self, done: u64, total: u64) -> bool {
        self.at(done, total);
        true
    }

    fn publish(&mut self, _trace: Trace) {}

    fn wants_trace(&self) -> bool {
        false
    }
}
