//! What speaks against the numbers of a trace, whatever is asked of it: losses, a cut, what was
//! forgotten, a part of the capture only.

use crate::format;
use crate::model::Trace;
use crate::problem::{Problem, ProblemKind};
use crate::units::Ticks;

/// Files that are missing which are named.
const MOST_FILES: usize = 3;

/// Why sums can be too low, and changes unknown.
pub const SATURATED: &str =
    "Sizes add up to more than 64 bits hold: sums stop at 2^64 \u{2212} 1, and changes that do not fit are unknown";

/// A sentence for each reason why numbers up to `to` can be other than they were.
pub fn doubts(trace: &Trace, to: Ticks) -> Vec<String> {
    let mut doubts = Vec::new();
    let moment = |at: Ticks| short(trace.clock.seconds(at));
    if let Some(until) = trace.exact_until().filter(|&until| until < to) {
        let quality = trace.quality;
        let lost = match (quality.events_lost, quality.buffers_lost) {
            (0, 0) => "Events were lost".to_owned(),
            (events, buffers) => format!("{} events and {} buffers were lost", format::count(events), format::count(buffers)),
        };
        doubts.push(format!("{lost}: after {} sizes can be too high or too low", moment(until)));
    }
    if let Some(cut) = trace.cut {
        doubts.push(format!("Only the trace up to {} was read, for want of memory", moment(cut.at)));
    }
    if let Some(since) = trace.forgotten {
        doubts.push(format!("What was freed before {} was dropped for want of memory", moment(since)));
    }
    if trace.quality.sums_saturate {
        doubts.push(SATURATED.to_owned());
    }
    if !trace.complete {
        doubts.push("The trace is still being loaded".to_owned());
    }
    if !trace.scope.is_all() {
        doubts.push("Only a part of the capture was read".to_owned());
    }
    let is_left_out = |problem: &&Problem| matches!(problem.kind, ProblemKind::UnreadableFile | ProblemKind::ClockMismatch);
    let left_out = trace.problems.iter().filter(is_left_out).take(MOST_FILES);
    doubts.extend(left_out.map(|problem| format!("A part of the capture is missing: {}", problem.detail)));
    doubts
}

/// Seconds with three digits or so.
pub(super) fn short(seconds: f64) -> String {
    match seconds.abs() {
        s if s >= 100.0 => format!("{seconds:.0} s"),
        s if s >= 10.0 => format!("{seconds:.1} s"),
        s if s >= 1.0 => format!("{seconds:.2} s"),
        _ => format::duration(seconds),
    }
}
