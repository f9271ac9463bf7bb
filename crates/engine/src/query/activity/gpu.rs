//! GPU memory of processes in an interval, in the form of the machine interface.
//!
//! It is a step function: each number holds until the next change. At an edge it is that of the last change before the edge,
//! as with outstanding bytes; before a process began it is 0. Nothing here is part of a layer.
//!
//! Cost: a binary search for each edge, and a look at each change in the interval.

use std::cmp::Reverse;

use serde::Serialize;

use crate::events::SegmentGroup;
use crate::model::{Counter, CounterId, GpuSeries, ProcessId, Trace, unknown_label};
use crate::units::{Interval, Ticks};

/// Bytes at the edges of an interval, and their peak in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct StepNumbers {
    pub from: u64,
    pub to: u64,
    /// Largest value, both edges included.
    pub peak: u64,
}

impl StepNumbers {
    /// Reads a counter that reports each change.
    fn of(counter: &Counter, interval: Interval) -> Self {
        let (first, from) = last_before(counter, interval.from);
        let (last, to) = last_before(counter, interval.to);
        let (from, to) = (from.unwrap_or(0), to.unwrap_or(0));
        let inside = counter.samples.get(first..last).unwrap_or_default();
        Self { from, to, peak: inside.iter().fold(from, |peak, (_, bytes)| peak.max(*bytes)) }
    }
}

/// Returns the number of changes before a moment, and the value since the last of them, if there is one.
pub(super) fn last_before(counter: &Counter, at: Ticks) -> (usize, Option<u64>) {
    let changes = counter.samples.partition_point(|(t, _)| *t < at);
    let last = changes.checked_sub(1).and_then(|place| counter.samples.get(place));
    (changes, last.map(|(_, value)| *value))
}

/// Returns the bytes at the edges of an interval, of a counter that reports each change. Cost: two binary searches.
pub fn bytes_at_edges(counter: &Counter, interval: Interval) -> (u64, u64) {
    let bytes = |at: Ticks| last_before(counter, at).1.unwrap_or(0);
    (bytes(interval.from), bytes(interval.to))
}

/// GPU memory of a process on one adapter, in one segment group.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct GpuEntry {
    pub process: String,
    pub pid: u32,
    pub process_start_s: Option<f64>,
    pub adapter: String,
    pub adapter_number: u16,
    pub segment_group: &'static str,
    pub usage: Option<StepNumbers>,
    pub budget: Option<StepNumbers>,
    pub commitment: Option<StepNumbers>,
}

/// Returns the name of a segment group in the machine interface.
fn segment_group_name(group: SegmentGroup) -> &'static str {
    match group {
        SegmentGroup::Local => "local",
        SegmentGroup::NonLocal => "non_local",
    }
}

fn counter(trace: &Trace, id: CounterId) -> Option<&Counter> {
    trace.counters.get(id.0 as usize)
}

/// Returns the GPU memory of processes with a name or id, those with the largest usage first; those without any in the
/// interval are left out.
pub fn gpu_entries(trace: &Trace, interval: Interval, process: Option<&str>) -> Vec<GpuEntry> {
    let is_meant =
        |series: &&GpuSeries| process.is_none_or(|wanted| trace.is_process_called((series.pid, series.process), wanted));
    let entry = |series: &GpuSeries| {
        let numbers = |id: Option<CounterId>| Some(StepNumbers::of(counter(trace, id?)?, interval));
        let (usage, budget, commitment) = (numbers(series.usage), numbers(series.budget), numbers(series.commitment));
        let has_any = [usage, commitment].into_iter().flatten().any(|numbers| numbers.peak > 0);
        let process = series.process.map(|id| trace.process(id));
        has_any.then(|| GpuEntry {
            process: process.map_or_else(|| unknown_label(series.pid), |process| process.label()),
            pid: series.pid.0,
            process_start_s: process.and_then(|process| process.start).map(|at| trace.clock.seconds(at)),
            adapter: format!("{:#x}", series.adapter.address),
            adapter_number: series.adapter.number,
            segment_group: segment_group_name(series.group),
            usage,
            budget,
            commitment,
        })
    };
    let mut all: Vec<GpuEntry> = trace.activity.gpu.iter().filter(is_meant).filter_map(entry).collect();
    let peak = |numbers: Option<StepNumbers>| Reverse(numbers.map_or(0, |numbers| numbers.peak));
    all.sort_by_key(|entry| (peak(entry.usage), peak(entry.commitment)));
    all
}

/// Returns the place of the series to draw for a segment group in [`Activity::gpu`](crate::model::Activity): the one with the
/// largest usage, of one process or of all.
pub fn main_gpu(trace: &Trace, group: SegmentGroup, process: Option<ProcessId>) -> Option<usize> {
    let peak = |id: Option<CounterId>| id.and_then(|id| counter(trace, id)).map_or(0, |counter| counter.peak);
    let all = trace.activity.gpu.iter().enumerate();
    let meant = all.filter(|(_, series)| series.group == group && process.is_none_or(|process| series.process == Some(process)));
    let ranked = meant.map(|(place, series)| ((peak(series.usage), peak(series.commitment)), place));
    ranked.filter(|(peaks, _)| *peaks > (0, 0)).max_by_key(|&(peaks, place)| (peaks, Reverse(place))).map(|(_, place)| place)
}
