//! Counters for the graph: names, groups, and lines at the level of detail that a screen can show.
//!
//! A line begins at a counter's first sample and ends where its value is no longer known. For each bin it has at most
//! entry, minimum, maximum and exit, so a peak or dip is never lost. Cost: the samples in the interval.

use super::series::Series;
use super::{Cancel, Cancelled};
use crate::events::{Adapter, GpuKind, SegmentGroup};
use crate::model::{Counter, CounterId, CounterKind, CounterOwner, Trace};
use crate::units::{Interval, Pid, Ticks};

/// Returns what a counter counts, in the terms of Windows' own tools.
pub fn counter_kind(kind: CounterKind) -> &'static str {
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
    }
}

/// Returns the name of a counter within its owner's group.
pub fn counter_label(counter: &Counter) -> String {
    let kind = counter_kind(counter.kind);
    match counter.owner {
        CounterOwner::System | CounterOwner::Process(_) => kind.to_owned(),
        CounterOwner::Heap(_, handle) => format!("{kind}, heap {handle:#x}"),
        CounterOwner::Gpu(_, adapter) => format!("{kind}, {}", adapter_label(adapter)),
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
        (None, Some(pid)) => format!("Unknown ({pid})"),
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
    ids.sort_by_key(|id| (owner(id), counter(id).kind, counter(id).owner, *id));
    let mut groups: Vec<(u64, CounterGroup)> = ids
        .chunk_by(|a, b| owner(a) == owner(b))
        .map(|ids| {
            let first = counter(&ids[0]);
            let is_managed = ids.iter().any(|id| counter(id).kind == CounterKind::ManagedHeap);
            let has_heaps = first.process.is_some_and(|id| has_heaps[id.0 as usize]);
            let is_main = first.owner == CounterOwner::System || has_heaps || is_managed;
            // Reserved address space says little about memory use.
            let size = |id: &&CounterId| counter(id).kind != CounterKind::VirtualSize;
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
        CounterKind::ProcessesCommit => 3,
        CounterKind::Commit => 2,
        CounterKind::HeapCommitted | CounterKind::HeapReserved => 1,
        _ => 0,
    };
    let best = (0..).zip(&trace.counters).max_by_key(|(i, c)| (rank(c), c.peak, std::cmp::Reverse(*i)));
    best.map(|(i, _)| CounterId(i))
}

/// Returns the lines of some counters, drawn in `bins` bins.
pub fn counter_series(
    trace: &Trace,
    ids: &[CounterId],
    view: Interval,
    bins: usize,
    cancel: &Cancel,
) -> Result<Vec<Series>, Cancelled> {
    let line = |id: &CounterId| {
        cancel.check()?;
        Ok(trace.counters.get(id.0 as usize).map(|counter| line(counter, view, bins)).unwrap_or_default())
    };
    ids.iter().map(line).collect()
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
        Counter { kind, owner, process: None, life: 0, samples: Arc::new(samples), until: Ticks(until), peak }
    }

    fn points(counter: &Counter, from: i64, to: i64, bins: usize) -> Vec<(i64, u64)> {
        let view = Interval { from: Ticks(from), to: Ticks(to) };
        line(counter, view, bins).points.into_iter().map(|(t, v)| (t.0, v)).collect()
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
