//! Counters for the graph: names, groups, and lines at the level of detail that a screen can show.
//!
//! A line begins at a counter's first sample and ends where its value is no longer known. For each bin it has at most
//! entry, minimum, maximum and exit, so a peak or dip is never lost. Cost: the samples in the interval.

use super::series::Series;
use super::{Cancel, Cancelled};
use crate::events::{Adapter, GpuKind, SegmentGroup};
use crate::format;
use crate::model::{Counter, CounterId, CounterKind, CounterOwner, ProcessId, Trace, reported_number, unknown_label};
use crate::units::{Interval, Pid, Ticks};

/// Returns what a counter counts, in the terms of Windows' own tools.
pub(crate) fn counter_kind(kind: CounterKind) -> &'static str {
    match kind {
        CounterKind::ProcessesCommit => "Commit charge of all processes",
        CounterKind::Available => "Available memory",
        CounterKind::Free => "Free and zeroed",
        CounterKind::Standby => "Standby",
        CounterKind::Modified => "Modified",
        CounterKind::Commit => "Commit charge",
        CounterKind::WorkingSet => "Working set",
        CounterKind::PrivateWorkingSet => "Private working set",
        CounterKind::VirtualSize => "Virtual size",
        CounterKind::HeapReserved => "Reserved",
        CounterKind::HeapCommitted => "Committed",
        CounterKind::ManagedHeap => ".NET heaps",
        CounterKind::ManagedGeneration(0) => ".NET generation 0",
        CounterKind::ManagedGeneration(1) => ".NET generation 1",
        CounterKind::ManagedGeneration(2) => ".NET generation 2",
        CounterKind::ManagedGeneration(3) => ".NET large objects",
        CounterKind::ManagedGeneration(_) => ".NET pinned objects",
        CounterKind::Gpu(GpuKind::Usage, SegmentGroup::Local) => "GPU memory, local",
        CounterKind::Gpu(GpuKind::Usage, SegmentGroup::NonLocal) => "GPU memory, non-local",
        CounterKind::Gpu(GpuKind::Budget, SegmentGroup::Local) => "GPU budget, local",
        CounterKind::Gpu(GpuKind::Budget, SegmentGroup::NonLocal) => "GPU budget, non-local",
        CounterKind::Gpu(GpuKind::Commitment, SegmentGroup::Local) => "GPU commitment, local",
        CounterKind::Gpu(GpuKind::Commitment, SegmentGroup::NonLocal) => "GPU commitment, non-local",
        CounterKind::Reported => "Counter of the program",
    }
}

/// Returns the name of a counter within its owner's group.
pub fn counter_label(counter: &Counter) -> String {
    let kind = counter_kind(counter.kind);
    match counter.owner {
        CounterOwner::System | CounterOwner::Process(_) => kind.to_owned(),
        CounterOwner::Heap(_, handle) => format!("{kind}, heap {handle:#x}"),
        CounterOwner::Gpu(_, adapter) => format!("{kind}, {}", adapter_label(adapter)),
        CounterOwner::Named(..) => counter.name.as_deref().unwrap_or(kind).to_owned(),
    }
}

/// Returns the name of a graphics adapter: its address in the kernel, and its number if it is linked to others.
pub fn adapter_label(adapter: Adapter) -> String {
    let number = if adapter.number == 0 { String::new() } else { format!(" ({})", adapter.number) };
    format!("adapter {:#x}{number}", adapter.address)
}

/// Returns the owner of a counter: `System`, or a process with its id.
pub fn counter_owner(trace: &Trace, counter: &Counter) -> String {
    match (counter.process, counter.owner.pid()) {
        (_, None) => "System".to_owned(),
        (Some(id), Some(pid)) => format!("{} ({pid})", trace.process(id).label()),
        (None, Some(Pid(0))) => "Idle (0)".to_owned(),
        (None, Some(pid)) => unknown_label(pid),
    }
}

/// The counters of one owner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CounterGroup {
    /// Name of the owner.
    pub owner: String,
    /// Whether the owner is the system, or has allocations or .NET heaps in the trace.
    pub is_main: bool,
    /// Counters of the owner.
    pub counters: Vec<CounterId>,
}

/// Returns all counters by owner: the system, then processes with allocations or .NET heaps, then others; within each,
/// by peak, largest first.
pub fn counter_groups(trace: &Trace) -> Vec<CounterGroup> {
    let mut has_heaps = vec![false; trace.processes.len()];
    trace.heaps.iter().for_each(|heap| has_heaps[heap.process.0 as usize] = true);
    let mut ids: Vec<CounterId> = (0..trace.counters.len() as u32).map(CounterId).collect();
    let counter = |id: &CounterId| &trace.counters[id.0 as usize];
    let owner = |id: &CounterId| (counter(id).owner.pid(), counter(id).process);
    ids.sort_by_key(|id| (owner(id), counter(id).kind, counter(id).name.clone(), counter(id).owner, *id));
    let mut groups: Vec<(u64, CounterGroup)> = ids
        .chunk_by(|a, b| owner(a) == owner(b))
        .map(|ids| {
            let first = counter(&ids[0]);
            let is_managed = ids.iter().any(|id| counter(id).kind == CounterKind::ManagedHeap);
            let has_heaps = first.process.is_some_and(|id| has_heaps[id.0 as usize]);
            let is_main = first.owner == CounterOwner::System || has_heaps || is_managed;
            // Reserved address space says little about memory use, and numbers of other kinds nothing.
            let size = |id: &&CounterId| counter(id).kind != CounterKind::VirtualSize && counter(id).kind.is_of_bytes();
            let peak = ids.iter().filter(size).map(|id| counter(id).peak).max().unwrap_or(0);
            (peak, CounterGroup { owner: counter_owner(trace, first), is_main, counters: ids.to_vec() })
        })
        .collect();
    groups.sort_by_key(|(peak, group)| {
        let is_system = counter(&group.counters[0]).owner == CounterOwner::System;
        (std::cmp::Reverse((is_system, group.is_main)), std::cmp::Reverse(*peak))
    });
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Returns the counter to draw if there is nothing else: commit charge, of all processes or of the largest.
pub fn default_counter(trace: &Trace) -> Option<CounterId> {
    let rank = |counter: &Counter| match counter.kind {
        CounterKind::ProcessesCommit => 4,
        CounterKind::Commit => 3,
        CounterKind::HeapCommitted | CounterKind::HeapReserved => 2,
        CounterKind::Reported => 0,
        _ => 1,
    };
    let best = (0..).zip(&trace.counters).max_by_key(|(i, c)| (rank(c), c.peak, std::cmp::Reverse(*i)));
    best.map(|(i, _)| CounterId(i))
}

/// The counters that say how much memory the system gave a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessCounters {
    /// Its commit charge, which other tools call its private bytes.
    pub commit: CounterId,
    /// Its working set.
    pub working_set: Option<CounterId>,
    /// The part of the working set that no other process shares.
    pub private_working_set: Option<CounterId>,
}

/// Returns the counters of a process; `None` if its commit charge was not sampled.
pub fn process_counters(trace: &Trace, process: ProcessId) -> Option<ProcessCounters> {
    let of_kind = |kind: CounterKind| {
        let is_it = |counter: &Counter| counter.kind == kind && counter.process == Some(process) && !counter.samples.is_empty();
        trace.counters.iter().position(is_it).map(|at| CounterId(at as u32))
    };
    Some(ProcessCounters {
        commit: of_kind(CounterKind::Commit)?,
        working_set: of_kind(CounterKind::WorkingSet),
        private_working_set: of_kind(CounterKind::PrivateWorkingSet),
    })
}

/// Returns the lines of some counters, drawn in `bins` bins. That of a reported counter is no size but a height between 0 and
/// [`HEIGHT`]: zero or its smallest number, and its largest.
pub fn counter_series(
    trace: &Trace,
    ids: &[CounterId],
    view: Interval,
    bins: usize,
    cancel: &Cancel,
) -> Result<Vec<Series>, Cancelled> {
    let line = |id: &CounterId| {
        cancel.check()?;
        let shown =
            |counter: &Counter| if counter.kind.is_of_bytes() { line(counter, view, bins) } else { height(counter, view, bins) };
        Ok(trace.counters.get(id.0 as usize).map(shown).unwrap_or_default())
    };
    ids.iter().map(line).collect()
}

/// Height of the largest number of a reported counter.
pub const HEIGHT: u64 = 1 << 20;

/// Returns the smallest and the largest number of a reported counter, and zero if that is beyond them.
pub fn reported_range(counter: &Counter) -> (f32, f32) {
    let numbers = || counter.samples.iter().map(|(_, value)| reported_number(*value));
    (numbers().fold(0.0, f32::min), numbers().fold(0.0, f32::max))
}

/// Returns the value of a counter at a moment, as it is stored; `None` before the first and after the last.
pub fn counter_at(counter: &Counter, at: Ticks) -> Option<u64> {
    let last = counter.samples.partition_point(|(t, _)| *t <= at).checked_sub(1)?;
    (at <= counter.until).then(|| counter.samples.get(last).map(|(_, value)| *value))?
}

/// Returns a value of a counter as text: bytes, or the number that it stands for.
pub fn counter_text(counter: &Counter, value: u64) -> String {
    if counter.kind.is_of_bytes() { format::bytes(value) } else { number_text(reported_number(value)) }
}

/// Returns a number that a program reported with about four digits.
pub fn number_text(number: f32) -> String {
    let before = number.abs().max(f32::MIN_POSITIVE).log10().floor() as i32;
    let behind = usize::try_from(3 - before).unwrap_or(0).min(6);
    let text = format!("{number:.behind$}");
    if behind > 0 { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn height(counter: &Counter, view: Interval, bins: usize) -> Series {
    let (low, high) = reported_range(counter);
    let (low, range) = (f64::from(low), f64::from(high) - f64::from(low));
    let of = |value: u64| match range > 0.0 {
        true => ((f64::from(reported_number(value)) - low) / range * HEIGHT as f64).round() as u64,
        false => 0,
    };
    let line = line(counter, view, bins);
    let points = line.points.into_iter().map(|(t, value)| (t, of(value))).collect();
    Series { points, peak: of(line.peak), last: of(line.last), ..line }
}

fn line(counter: &Counter, view: Interval, bins: usize) -> Series {
    let samples = counter.samples.as_slice();
    let end = counter.until.min(view.to);
    let first = samples.partition_point(|(t, _)| *t <= view.from);
    let last = samples.partition_point(|(t, _)| *t < view.to);
    let Some(from) = samples.first().map(|(t, _)| (*t).max(view.from)).filter(|from| *from <= end) else {
        return Series::default();
    };
    // The value at the left edge, or the first known one.
    let (mut value, inside) = match first {
        0 => (samples[0].1, samples.get(1..last).unwrap_or_default()),
        n => (samples[n - 1].1, samples.get(n..last).unwrap_or_default()),
    };
    let mut out = Series { points: vec![(from, value)], peak: value, peak_at: from, last: value };
    let start = i128::from(view.from.0);
    let length = (i128::from(view.to.0) - start).max(1);
    let bin = |t: Ticks| (i128::from(t.0) - start) * bins.max(1) as i128 / length;
    for bin in inside.chunk_by(|a, b| bin(a.0) == bin(b.0)) {
        let exit = bin[bin.len() - 1];
        put(&mut out, bin[0].0, value);
        if bin.len() <= 2 {
            for &(t, next) in bin {
                if t != bin[0].0 {
                    put(&mut out, t, value);
                }
                put(&mut out, t, next);
                value = next;
            }
            continue;
        }
        let low = bin.iter().copied().min_by_key(|s| (s.1, s.0)).unwrap_or(exit);
        let high = bin.iter().copied().max_by_key(|s| (s.1, std::cmp::Reverse(s.0))).unwrap_or(exit);
        let (a, b) = if low.0 <= high.0 { (low, high) } else { (high, low) };
        for (t, next) in [a, b, exit] {
            put(&mut out, t, next);
        }
        value = exit.1;
    }
    put(&mut out, end, value);
    out.last = value;
    out
}

fn put(out: &mut Series, at: Ticks, value: u64) {
    if value > out.peak {
        (out.peak, out.peak_at) = (value, at);
    }
    if out.points.last() != Some(&(at, value)) {
        out.points.push((at, value));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn counter(samples: &[(i64, u64)], until: i64) -> Counter {
        let samples: Vec<(Ticks, u64)> = samples.iter().map(|&(t, v)| (Ticks(t), v)).collect();
        let peak = samples.iter().map(|s| s.1).max().unwrap_or(0);
        let (kind, owner) = (CounterKind::Commit, CounterOwner::Process(Pid(7)));
        Counter { kind, owner, process: None, life: 0, name: None, samples: Arc::new(samples), until: Ticks(until), peak }
    }

    fn points(counter: &Counter, from: i64, to: i64, bins: usize) -> Vec<(i64, u64)> {
        let view = Interval { from: Ticks(from), to: Ticks(to) };
        line(counter, view, bins).points.into_iter().map(|(t, v)| (t.0, v)).collect()
    }

    #[test]
    fn numbers_have_about_four_digits() {
        let numbers = [0.0, 59.940_06, -0.721_420_3, 123_456.7, 1e-4, 1e-9, 60.0, 1000.5];
        let texts = ["0", "59.94", "-0.7214", "123457", "0.0001", "0", "60", "1000"];
        assert_eq!(numbers.map(number_text), texts);
    }

    #[test]
    fn few_samples_are_drawn_as_steps_from_the_first_to_the_last() {
        let counter = counter(&[(100, 5), (200, 9), (300, 4)], 400);
        let whole = [(100, 5), (200, 5), (200, 9), (300, 9), (300, 4), (400, 4)];
        assert_eq!(points(&counter, 0, 1000, 100), whole);
        assert_eq!(points(&counter, 150, 250, 100), [(150, 5), (200, 5), (200, 9), (250, 9)]);
        assert_eq!(points(&counter, 300, 350, 100), [(300, 4), (350, 4)], "a sample at the left edge");
        assert_eq!(points(&counter, 0, 100, 100), [(100, 5)]);
        assert_eq!(points(&counter, 0, 50, 100), [], "nothing is known yet");
        assert_eq!(points(&counter, 500, 600, 100), [], "nor any more");
    }

    #[test]
    fn crowded_bins_keep_every_peak_and_dip() {
        let mut samples: Vec<(i64, u64)> = (0..10_000).map(|t| (t, 1000 + (t as u64 * 7) % 10)).collect();
        samples[5003].1 = 90_000;
        samples[5005].1 = 1;
        let counter = counter(&samples, 9_999);
        let line = line(&counter, Interval { from: Ticks(0), to: Ticks(10_000) }, 10);
        assert!(line.points.len() <= 2 + 4 * 10, "{}", line.points.len());
        assert!(line.points.contains(&(Ticks(5003), 90_000)) && line.points.contains(&(Ticks(5005), 1)));
        assert_eq!((line.peak, line.peak_at, line.last), (90_000, Ticks(5003), 1000 + (9_999 * 7) % 10));
        assert!(line.points.is_sorted_by_key(|(t, _)| *t));
    }
}
