//! Numbers that programs report under names (PIX's counters), in an interval.
//!
//! A number holds until the next report. Cost: the changes in the interval.

use serde::Serialize;

use super::gpu::last_before;
use crate::model::{Counter, CounterKind, Trace, reported_number, unknown_label};
use crate::query::counter_label;
use crate::units::{Interval, Pid};

/// A counter of a program in an interval.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct ReportedEntry {
    pub counter: String,
    pub process: String,
    pub pid: u32,
    pub process_start_s: Option<f64>,
    /// The latest number at the begin of the interval, if there is one.
    pub from: Option<f32>,
    /// The latest number at its end.
    pub to: Option<f32>,
    pub min: f32,
    pub max: f32,
}

/// Returns whether programs report any numbers in a trace.
pub(super) fn has_reported(trace: &Trace) -> bool {
    trace.counters.iter().any(|counter| counter.kind == CounterKind::Reported)
}

/// Returns the numbers of processes with a name or id, by process and name; those that nothing says of the interval are left
/// out.
pub fn reported_entries(trace: &Trace, interval: Interval, process: Option<&str>) -> Vec<ReportedEntry> {
    let entry = |counter: &Counter| {
        let pid = counter.owner.pid().unwrap_or(Pid::NONE);
        let is_meant = process.is_none_or(|wanted| trace.is_process_called((pid, counter.process), wanted));
        if counter.kind != CounterKind::Reported || !is_meant {
            return None;
        }
        let [(first, from), (behind, to)] = [interval.from, interval.to].map(|at| last_before(counter, at));
        let inside = counter.samples.get(first..behind).unwrap_or_default();
        let (from, to) = (from.map(reported_number), to.map(reported_number));
        let numbers = || from.into_iter().chain(inside.iter().map(|(_, value)| reported_number(*value)));
        let process = counter.process.map(|id| trace.process(id));
        Some(ReportedEntry {
            counter: counter_label(counter),
            process: process.map_or_else(|| unknown_label(pid), |process| process.label()),
            pid: pid.0,
            process_start_s: process.and_then(|process| process.start).map(|at| trace.clock.seconds(at)),
            from,
            to,
            min: numbers().reduce(f32::min)?,
            max: numbers().reduce(f32::max)?,
        })
    };
    let mut all: Vec<ReportedEntry> = trace.counters.iter().filter_map(entry).collect();
    all.sort_by(|a, b| (a.pid, &a.counter).cmp(&(b.pid, &b.counter)));
    all
}
