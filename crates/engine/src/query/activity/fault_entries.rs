//! Page faults, and committed memory with its touched part, in the form of the machine interface.
//!
//! Cost: a look at each fault up to the end of the interval, that of [`first_touches`] and of [`touched_sites`], and for each of
//! their sites a look-up of the frames up to the responsible caller.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;

use super::{FaultNumbers, has_faults, process_faults};
use crate::events::{FaultKind, PAGE};
use crate::model::{NodeId, ProcessId, Site, SiteId, Trace};
use crate::names::{FrameKind, Names};
use crate::query::callers::{CallerFrame, callers};
use crate::query::touched::{TouchedBytes, first_touches, touched_sites};
use crate::query::{Cancel, Cancelled, Index, NO_STACK_KEY, Recorded};
use crate::units::Interval;

/// Page faults of an interval.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct FaultEntries {
    pub processes: Vec<FaultEntry>,
    /// Faults of threads without a known process.
    pub unknown: u64,
    /// First touches by responsible caller.
    pub first_touches: Vec<CallerTouches>,
    /// Bytes that were committed in the trace and are at the end of the interval, by responsible caller of the commit; `None` if
    /// the trace does not show which were touched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<Vec<CommitTouches>>,
}

impl FaultEntries {
    /// Returns whether there is nothing to list.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty() && self.unknown == 0
    }
}

/// Page faults of a process.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct FaultEntry {
    pub process: String,
    pub pid: u32,
    pub process_start_s: Option<f64>,
    pub hard: u64,
    pub hard_bytes: u64,
    pub hard_wait_s: f64,
    pub demand_zero: u64,
    pub copy_on_write: u64,
    pub transition: u64,
    pub guard_page: u64,
    pub hard_page: u64,
    pub access_violation: u64,
    pub first_touches: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub committed_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub touched_bytes: Option<u64>,
}

/// First touches by one responsible caller.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct CallerTouches {
    pub process: String,
    pub pid: u32,
    pub process_start_s: Option<f64>,
    pub responsible: String,
    pub count: u64,
    pub bytes: u64,
}

/// Bytes that one responsible caller committed, and the touched part of them.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct CommitTouches {
    pub process: String,
    pub pid: u32,
    pub process_start_s: Option<f64>,
    pub responsible: String,
    pub committed_bytes: u64,
    pub touched_bytes: u64,
}

/// Returns the page faults of processes with a name or id, those with most faults first; `None` if the trace has none.
pub fn fault_entries(
    index: &Index,
    names: &Names,
    interval: Interval,
    process: Option<&str>,
    cancel: &Cancel,
) -> Result<Option<FaultEntries>, Cancelled> {
    let trace = index.trace();
    if !has_faults(trace) {
        return Ok(None);
    }
    let is_meant = |id: ProcessId| process.is_none_or(|wanted| trace.process(id).is_called(wanted));
    let counted = process_faults(trace, interval, cancel)?;
    let touching = touching_sites(trace, first_touches(index, interval, cancel)?, is_meant);
    let commit = touched_sites(index, interval.to, is_meant, cancel)?;
    let mut sums: BTreeMap<ProcessId, Sums> = BTreeMap::new();
    for (id, numbers) in counted.iter().filter_map(|&(id, numbers)| Some((id?, numbers))).filter(|(id, _)| is_meant(*id)) {
        sums.entry(id).or_default().faults = numbers;
    }
    for (site, count) in &touching {
        sums.entry(site.caller).or_default().first_touches += count;
    }
    for (site, bytes) in commit.iter().flatten() {
        sums.entry(owner(trace, *site)).or_default().commit.get_or_insert_default().add(*bytes);
    }
    let mut processes: Vec<(u64, FaultEntry)> = sums.iter().map(|(id, of)| (of.faults.all(), of.entry(trace, *id))).collect();
    // The order of processes with equal numbers is that in the trace.
    processes.sort_by_key(|(all, _)| Reverse(*all));
    Ok(Some(FaultEntries {
        processes: processes.into_iter().map(|(_, entry)| entry).collect(),
        unknown: counted.iter().filter(|(id, _)| id.is_none()).map(|(_, numbers)| numbers.all()).sum(),
        first_touches: caller_touches((trace, names), &touching, cancel)?,
        commit: commit.map(|commit| commit_touches((trace, names), &commit, cancel)).transpose()?,
    }))
}

/// All numbers of a process.
#[derive(Clone, Copy, Default)]
struct Sums {
    faults: FaultNumbers,
    first_touches: u64,
    commit: Option<TouchedBytes>,
}

impl Sums {
    fn entry(&self, trace: &Trace, id: ProcessId) -> FaultEntry {
        let (process, faults) = (trace.process(id), &self.faults);
        FaultEntry {
            process: process.label(),
            pid: process.pid.0,
            process_start_s: process.start.map(|at| trace.clock.seconds(at)),
            hard: faults.of(FaultKind::Hard),
            hard_bytes: faults.read_bytes,
            hard_wait_s: faults.waited as f64 / trace.clock.frequency as f64,
            demand_zero: faults.of(FaultKind::DemandZero),
            copy_on_write: faults.of(FaultKind::CopyOnWrite),
            transition: faults.of(FaultKind::Transition),
            guard_page: faults.of(FaultKind::GuardPage),
            hard_page: faults.of(FaultKind::HardPage),
            access_violation: faults.of(FaultKind::AccessViolation),
            first_touches: self.first_touches,
            committed_bytes: self.commit.map(|of| of.committed),
            touched_bytes: self.commit.map(|of| of.touched),
        }
    }
}

/// Returns the process whose memory a site of commit is.
fn owner(trace: &Trace, site: SiteId) -> ProcessId {
    trace.heap(trace.site(site).heap).process
}

/// Returns the sites with a count, of the processes that are meant.
fn touching_sites(trace: &Trace, counts: Vec<u32>, is_meant: impl Fn(ProcessId) -> bool) -> Vec<(Site, u64)> {
    let sites = trace.activity.samples.sites.iter().zip(counts).filter(|(_, count)| *count > 0);
    sites.filter(|(site, _)| is_meant(site.caller)).map(|(site, count)| (*site, count.into())).collect()
}

/// Returns first touches by responsible caller, most first.
fn caller_touches(
    (trace, names): (&Trace, &Names),
    touching: &[(Site, u64)],
    cancel: &Cancel,
) -> Result<Vec<CallerTouches>, Cancelled> {
    let sites: Vec<Site> = touching.iter().map(|(site, _)| *site).collect();
    let mut sums: BTreeMap<(ProcessId, String), u64> = BTreeMap::new();
    for ((site, count), name) in touching.iter().zip(responsible((trace, names), &sites, FrameKind::Sampled, cancel)?) {
        *sums.entry((site.caller, name)).or_default() += count;
    }
    let entry = |((id, responsible), count): ((ProcessId, String), u64)| {
        let process = trace.process(id);
        let process_start_s = process.start.map(|at| trace.clock.seconds(at));
        let bytes = count.saturating_mul(PAGE);
        CallerTouches { process: process.label(), pid: process.pid.0, process_start_s, responsible, count, bytes }
    };
    let mut all: Vec<CallerTouches> = sums.into_iter().map(entry).collect();
    all.sort_by_key(|of| Reverse(of.count));
    Ok(all)
}

/// Returns commit by responsible caller, most untouched bytes first.
fn commit_touches(
    (trace, names): (&Trace, &Names),
    commit: &BTreeMap<SiteId, TouchedBytes>,
    cancel: &Cancel,
) -> Result<Vec<CommitTouches>, Cancelled> {
    let sites: Vec<Site> = commit.keys().map(|site| *trace.site(*site)).collect();
    let mut sums: BTreeMap<(ProcessId, String), TouchedBytes> = BTreeMap::new();
    for ((site, bytes), name) in commit.iter().zip(responsible((trace, names), &sites, FrameKind::Innermost, cancel)?) {
        sums.entry((owner(trace, *site), name)).or_default().add(*bytes);
    }
    let entry = |((id, responsible), of): ((ProcessId, String), TouchedBytes)| {
        let process = trace.process(id);
        let process_start_s = process.start.map(|at| trace.clock.seconds(at));
        let (process, pid) = (process.label(), process.pid.0);
        let TouchedBytes { committed: committed_bytes, touched: touched_bytes } = of;
        CommitTouches { process, pid, process_start_s, responsible, committed_bytes, touched_bytes }
    };
    let mut all: Vec<CommitTouches> = sums.into_iter().map(entry).collect();
    all.sort_by_key(|of| Reverse((of.committed_bytes - of.touched_bytes, of.committed_bytes)));
    Ok(all)
}

/// Returns the names of the responsible callers of some sites; `innermost` is the kind of their innermost addresses.
fn responsible(
    (trace, names): (&Trace, &Names),
    sites: &[Site],
    innermost: FrameKind,
    cancel: &Cancel,
) -> Result<Vec<String>, Cancelled> {
    let found = callers(trace, sites.par_iter(), names, innermost, cancel)?;
    let name = |(site, CallerFrame { node, level }): (&Site, CallerFrame)| {
        if site.stack == NodeId::ROOT {
            return NO_STACK_KEY.to_owned();
        }
        let kind = if node == site.stack { innermost } else { FrameKind::Caller };
        let frame = Recorded::of_kind(trace, names, node, (site.caller, site.first), kind);
        // An innermost frame that includes all that is inlined there has no level of its own.
        let shown = frame.shown(false).last().map_or(0, |last| last.min(level));
        frame.name(shown).to_string()
    };
    Ok(sites.iter().zip(found).map(|(site, caller)| name((site, caller.responsible))).collect())
}
