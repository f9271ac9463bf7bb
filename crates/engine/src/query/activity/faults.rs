//! Page faults of an interval: by process, over time, and by place in the code.
//!
//! Cost: a look at each fault of the interval.

use crate::events::FaultKind;
use crate::model::{Fault, ProcessId, Trace};
use crate::query::series::Series;
use crate::query::{Cancel, Cancelled};
use crate::units::Interval;

/// Numbers of page faults, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultNumbers {
    counts: [u64; FaultKind::ALL.len()],
    /// Bytes read for hard faults.
    pub read_bytes: u64,
    /// Ticks that threads waited for these reads.
    pub waited: u64,
}

impl FaultNumbers {
    /// Returns the number of faults of a kind.
    pub fn of(&self, kind: FaultKind) -> u64 {
        self.counts[kind as usize]
    }

    /// Returns the number of all faults. A hard fault is often reported twice, as [`FaultKind::Hard`] and as
    /// [`FaultKind::HardPage`].
    pub fn all(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Returns whether a trace has page faults.
pub fn has_faults(trace: &Trace) -> bool {
    !trace.activity.faults.list.is_empty()
}

/// Returns the process of a fault, if known.
pub(in crate::query) fn process_of_fault(trace: &Trace, fault: &Fault) -> Option<ProcessId> {
    let site = trace.activity.samples.sites.get(fault.site.0 as usize)?;
    Some(site.caller).filter(|process| (process.0 as usize) < trace.processes.len())
}

/// Counts the page faults of an interval by process, in the order of their numbers; last, without a process, those of threads
/// whose process is unknown. Processes without faults are left out.
pub fn process_faults(
    trace: &Trace,
    interval: Interval,
    cancel: &Cancel,
) -> Result<Vec<(Option<ProcessId>, FaultNumbers)>, Cancelled> {
    let faults = &trace.activity.faults;
    let unknown = trace.processes.len();
    let place = |fault: &Fault| process_of_fault(trace, fault).map_or(unknown, |process| process.0 as usize);
    let mut all = vec![FaultNumbers::default(); unknown + 1];
    let places = faults.during(interval);
    for run in faults.list.runs(places.clone()) {
        cancel.check()?;
        run.iter().for_each(|fault| all[place(fault)].counts[fault.kind() as usize] += 1);
    }
    for (fault, read) in faults.reads_of(places) {
        let numbers = &mut all[place(fault)];
        numbers.read_bytes = numbers.read_bytes.saturating_add(read.bytes.into());
        numbers.waited = numbers.waited.saturating_add(read.waited);
    }
    let process = |place: usize| (place < unknown).then_some(ProcessId(place as u32));
    Ok(all.into_iter().enumerate().filter(|(_, of)| of.all() > 0).map(|(of, numbers)| (process(of), numbers)).collect())
}

/// Counts the page faults of an interval that `counts` accepts by site of [`Samples::sites`](crate::model::Samples::sites);
/// `None` stands for threads without a known process.
pub fn fault_sums(
    trace: &Trace,
    interval: Interval,
    counts: impl Fn(Option<ProcessId>, FaultKind) -> bool,
    cancel: &Cancel,
) -> Result<Vec<u32>, Cancelled> {
    let faults = &trace.activity.faults;
    let mut sums = vec![0; trace.activity.samples.sites.len()];
    for run in faults.list.runs(faults.during(interval)) {
        cancel.check()?;
        for fault in run.iter().filter(|fault| counts(process_of_fault(trace, fault), fault.kind())) {
            sums[fault.site.0 as usize] += 1;
        }
    }
    Ok(sums)
}

/// Returns the number of page faults of some kinds over time, as a step for each of `bins` equal parts of an interval.
pub fn fault_series(
    trace: &Trace,
    process: Option<ProcessId>,
    kinds: &[FaultKind],
    (interval, bins): (Interval, usize),
    cancel: &Cancel,
) -> Result<Series, Cancelled> {
    let faults = &trace.activity.faults;
    let bins = bins.clamp(1, interval.len().clamp(1, 1 << 16) as usize);
    let width = interval.len().max(1) as f64 / bins as f64;
    let mut counts = vec![0u64; bins];
    let is_meant = |fault: &&Fault| {
        kinds.contains(&fault.kind()) && process.is_none_or(|process| process_of_fault(trace, fault) == Some(process))
    };
    for run in faults.list.runs(faults.during(interval)) {
        cancel.check()?;
        for fault in run.iter().filter(is_meant) {
            let bin = fault.at.0.saturating_sub(interval.from.0) as f64 / width;
            counts[(bin as usize).min(bins - 1)] += 1;
        }
    }
    Ok(Series::steps(interval, counts.into_iter()))
}
