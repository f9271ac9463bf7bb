//! CPU samples of an interval: by process, over time, and by place in the code. A sample represents the time until the
//! next one of its CPU.
//!
//! Cost: a look at each sample of the interval, in parallel for sums.

use rayon::prelude::*;
use serde::Serialize;

use crate::model::{NodeId, ProcessId, Samples, Site, SiteId, Trace};
use crate::query::series::Series;
use crate::query::{Cancel, Cancelled};
use crate::tables::KeyedMap;
use crate::units::Interval;

/// A number of CPU samples, and the CPU time it represents.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct SampleNumbers {
    pub samples: u64,
    pub seconds: f64,
    /// Share of one CPU.
    pub share: f64,
}

impl SampleNumbers {
    /// Converts a number of samples of an interval to time and share.
    pub fn of(trace: &Trace, interval: Interval, samples: u64) -> Self {
        let seconds = samples as f64 * trace.activity.samples.interval / trace.clock.frequency as f64;
        let length = interval.len() as f64 / trace.clock.frequency as f64;
        Self { samples, seconds, share: if length > 0.0 { seconds / length } else { 0.0 } }
    }
}

/// CPU samples of one process.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProcessSamples {
    /// The process; `None` for threads whose process is unknown.
    pub process: Option<ProcessId>,
    /// Number of samples.
    pub count: u64,
    /// Seconds of CPU time that they represent, over all CPUs.
    pub seconds: f64,
    /// Share of one CPU: more than 1 if the process ran on several.
    pub share: f64,
}

/// Counts samples by process, most first.
pub fn process_samples(trace: &Trace, interval: Interval) -> Vec<ProcessSamples> {
    let samples = &trace.activity.samples;
    let mut counts = vec![0u64; trace.processes.len() + 1];
    let unknown = trace.processes.len();
    for (site, count) in (0..).zip(site_counts(samples, interval)) {
        let process = samples.sites.get(site as usize).map_or(unknown, |site: &Site| site.caller.0 as usize);
        counts[process.min(unknown)] += u64::from(count);
    }
    let of = |(process, count): (usize, u64)| {
        let SampleNumbers { seconds, share, .. } = SampleNumbers::of(trace, interval, count);
        ProcessSamples { process: (process < unknown).then_some(ProcessId(process as u32)), count, seconds, share }
    };
    let mut all: Vec<_> = counts.into_iter().enumerate().filter(|(_, count)| *count > 0).map(of).collect();
    all.sort_by_key(|samples| (std::cmp::Reverse(samples.count), samples.process));
    all
}

/// Counts samples by site in [`Samples::sites`].
fn site_counts(samples: &Samples, interval: Interval) -> Vec<u32> {
    let runs: Vec<_> = samples.list.runs(samples.during(interval)).collect();
    let sites = samples.sites.len();
    let none = || vec![0u32; sites];
    // One list of counts per thread, not per run.
    let grain = runs.len().div_ceil(rayon::current_num_threads()).max(1);
    let parts = runs.par_chunks(grain).map(|runs| {
        let mut counts = none();
        runs.iter().copied().flatten().for_each(|sample| counts[sample.site.0 as usize] += 1);
        counts
    });
    parts.reduce(none, |mut a, b| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    })
}

/// Counts samples by site, for one process or for all, as input of the CPU flame graph.
pub fn sample_sums(trace: &Trace, interval: Interval, process: Option<ProcessId>) -> Vec<u32> {
    sample_sums_where(trace, interval, |of| process.is_none_or(|process| of == Some(process)))
}

/// Counts samples by site, for the processes that `counts` accepts; `None` stands for threads without a known process.
pub fn sample_sums_where(trace: &Trace, interval: Interval, counts: impl Fn(Option<ProcessId>) -> bool) -> Vec<u32> {
    let samples = &trace.activity.samples;
    let mut sums = site_counts(samples, interval);
    let is_known = |process: &ProcessId| (process.0 as usize) < trace.processes.len();
    for (sum, site) in sums.iter_mut().zip(&samples.sites) {
        if *sum > 0 && !counts(Some(site.caller).filter(is_known)) {
            *sum = 0;
        }
    }
    sums
}

/// Counts samples by site, for processes with a name or id, or for all known processes.
pub fn sample_counts(trace: &Trace, interval: Interval, process: Option<&str>) -> Vec<u32> {
    let meant: Vec<bool> = trace.processes.iter().map(|of| process.is_none_or(|wanted| of.is_called(wanted))).collect();
    sample_sums_where(trace, interval, |of| of.is_some_and(|of| meant[of.0 as usize]))
}

/// Adds up samples by process and stack, most first, each with the first site that has the stack.
pub fn sampled_stacks(trace: &Trace, counts: &[u32]) -> Vec<(u64, SiteId)> {
    let mut sums: KeyedMap<(ProcessId, NodeId), (u64, SiteId)> = KeyedMap::default();
    let sites = (0..).map(SiteId).zip(&trace.activity.samples.sites).zip(counts);
    for ((id, site), &count) in sites.filter(|(_, count)| **count > 0) {
        sums.entry((site.caller, site.stack)).or_insert((0, id)).0 += u64::from(count);
    }
    let mut all: Vec<(u64, SiteId)> = sums.into_values().collect();
    all.sort_unstable_by_key(|&(count, site)| (std::cmp::Reverse(count), site));
    all
}

/// Returns the CPU share of a process over time, in thousandths of one CPU, as a step for each of `bins` equal parts of
/// an interval.
pub fn processor_series(
    trace: &Trace,
    process: Option<ProcessId>,
    interval: Interval,
    bins: usize,
    cancel: &Cancel,
) -> Result<Series, Cancelled> {
    let samples = &trace.activity.samples;
    let bins = bins.clamp(1, interval.len().clamp(1, 1 << 16) as usize);
    let width = interval.len().max(1) as f64 / bins as f64;
    let mut counts = vec![0u64; bins];
    for run in samples.list.runs(samples.during(interval)) {
        cancel.check()?;
        for sample in run.iter().filter(|sample| process.is_none_or(|process| samples.process(sample) == process)) {
            let bin = sample.at.0.saturating_sub(interval.from.0) as f64 / width;
            counts[(bin as usize).min(bins - 1)] += 1;
        }
    }
    Ok(Series::steps(interval, counts.into_iter().map(|count| (count as f64 * samples.interval / width * 1000.0).round() as u64)))
}
