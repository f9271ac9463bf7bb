//! CPU samples.
//!
//! A sample names its thread. The thread's process follows from the sample's stack, or from earlier
//! events about threads, or, at the end, from later ones. The process and stack of a sample are a site,
//! in a table that they share with page faults; stacks find samples as they find rows (`attach`).
//!
//! Samples of idle processors are counted and not kept: a trace of a quiet machine holds nothing else.
//!
//! Memory: 16 bytes a sample, in an eighth of the budget; once that is full, samples are counted and
//! left out. Cost: a hash operation a sample.

use serde::Serialize;

use super::Chunked;
use super::placed::PlacedEvent;
use crate::events::{SampleInterval, TIMER};
use crate::model::{HeapId, ProcessId, Site, SiteId};
use crate::stored::stored;
use crate::tables::KeyedMap;
use crate::units::{Interval, Pid, Ticks, Tid};

/// Usual interval between samples, in 100 ns.
const USUAL_INTERVAL: u32 = 10_000;

/// Process of threads whose process is not known.
pub(in crate::model) const NOBODY: ProcessId = ProcessId(u32::MAX);

/// Heap of all sites of samples; it has no meaning.
pub(in crate::model) const NO_HEAP: HeapId = HeapId(0);

/// A sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Its time.
    pub at: Ticks,
    /// Its process and stack: a site of [`Samples::sites`].
    pub site: SiteId,
    /// Its thread.
    pub tid: Tid,
}

stored!(struct Sample { at, site, tid });

/// How the interval between samples is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IntervalOrigin {
    /// The trace does not give it; it is the usual one.
    #[default]
    Assumed,
    /// The trace gives it.
    Told,
    /// The trace gives several; it is the last.
    Changed,
}

stored!(enum IntervalOrigin { 0 = Assumed, 1 = Told, 2 = Changed });

/// All samples of a trace.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// The samples, by time.
    pub list: Chunked<Sample>,
    /// Process and stack of samples and of page faults, by [`SiteId`]; the heaps of these sites mean nothing.
    pub sites: Vec<Site>,
    /// Samples of idle processors.
    pub idle: u64,
    /// Samples of threads whose process is not known.
    pub unknown: u64,
    /// Interval between samples of one processor, in ticks.
    pub interval: f64,
    /// How the interval is known.
    pub interval_origin: IntervalOrigin,
    /// Time from which on samples were left out for want of room.
    pub cut: Option<Ticks>,
}

stored!(struct Samples { list, sites, idle, unknown, interval, interval_origin, cut });

impl Samples {
    /// Places of the samples in an interval.
    pub fn during(&self, interval: Interval) -> std::ops::Range<usize> {
        let place = |at: Ticks| self.list.partition_point(|sample| sample.at < at);
        place(interval.from)..place(interval.to)
    }

    /// The process of a sample.
    pub fn process(&self, sample: &Sample) -> ProcessId {
        self.sites[sample.site.0 as usize].caller
    }
}

/// Collects samples.
#[derive(Debug, Default)]
pub(in crate::model) struct SampleTable {
    list: Chunked<Sample>,
    /// Process of each thread.
    threads: KeyedMap<Tid, Pid>,
    interval: Option<u32>,
    /// Whether there are samples of another interval.
    has_changed: bool,
    idle: u64,
    /// Most samples that may be kept.
    most: Option<usize>,
    refused: u64,
    cut: Option<Ticks>,
}

impl SampleTable {
    /// Limits the bytes that samples may take.
    pub(in crate::model) fn limit(&mut self, bytes: u64) {
        self.most = Some(usize::try_from(bytes / size_of::<Sample>() as u64).unwrap_or(usize::MAX));
    }

    pub(super) fn set_interval(&mut self, interval: SampleInterval) {
        if interval.source == TIMER && interval.interval > 0 {
            let has_samples = !self.list.is_empty() || self.idle > 0;
            let before = self.interval.replace(interval.interval).unwrap_or(USUAL_INTERVAL);
            self.has_changed |= has_samples && before != interval.interval;
        }
    }

    /// Notes that a thread belongs to a process from now on.
    pub(in crate::model) fn thread_is_of(&mut self, tid: Tid, pid: Pid) {
        self.threads.insert(tid, pid);
    }

    /// The process of a thread.
    pub(in crate::model) fn pid_of(&self, tid: Tid) -> Option<Pid> {
        self.threads.get(&tid).copied()
    }

    /// Counts samples of an idle processor.
    pub(in crate::model) fn idle(&mut self, count: u16) {
        self.idle += u64::from(count);
    }

    /// Adds `count` samples of one moment. Returns the place of the first, if there is room.
    pub(in crate::model) fn push(&mut self, sample: Sample, count: u16) -> Option<u32> {
        let place = self.list.len();
        let is_full = self.most.is_some_and(|most| place >= most) || place >= PlacedEvent::MOST;
        if is_full {
            self.refused += u64::from(count);
            self.cut.get_or_insert(sample.at);
            return None;
        }
        // A sample that comes late gets the time of the latest.
        let at = self.list.last().map_or(sample.at, |last| sample.at.max(last.at));
        (0..count).for_each(|_| self.list.push(Sample { at, ..sample }));
        Some(place as u32)
    }

    /// Number of samples.
    pub(in crate::model) fn len(&self) -> usize {
        self.list.len()
    }

    /// One sample.
    pub(in crate::model) fn get(&self, place: u32) -> Option<Sample> {
        self.list.get(place as usize).copied()
    }

    /// Changes the site of a sample.
    pub(in crate::model) fn set_site(&mut self, place: u32, site: SiteId) {
        if self.list.get(place as usize).is_some_and(|sample| sample.site != site)
            && let Some(sample) = self.list.get_mut(place as usize)
        {
            sample.site = site;
        }
    }

    /// Gives sites their new numbers.
    pub(in crate::model) fn renumber(&mut self, number: &[SiteId]) {
        self.list.iter_mut().for_each(|sample| sample.site = number[sample.site.0 as usize]);
    }

    /// Places of samples whose process is not known, with the process of their thread if that is known
    /// by now.
    pub(in crate::model) fn found_later(&self, is_unknown: impl Fn(SiteId) -> bool) -> Vec<(u32, Pid)> {
        let found = |(place, sample): (u32, &Sample)| {
            let pid = if is_unknown(sample.site) { self.pid_of(sample.tid) } else { None };
            Some((place, pid?))
        };
        (0..).zip(self.list.iter()).filter_map(found).collect()
    }

    /// The samples, with the sites as they are known now.
    pub(super) fn publish(&self, frequency: u64, sites: Vec<Site>) -> Samples {
        let unknown_sites: Vec<bool> = sites.iter().map(|site| site.caller == NOBODY).collect();
        let has_unknown = unknown_sites.contains(&true);
        let is_unknown = |sample: &&Sample| unknown_sites[sample.site.0 as usize];
        let interval_origin = match self.interval {
            None => IntervalOrigin::Assumed,
            Some(_) if self.has_changed => IntervalOrigin::Changed,
            Some(_) => IntervalOrigin::Told,
        };
        Samples {
            interval_origin,
            unknown: if has_unknown { self.list.iter().filter(is_unknown).count() as u64 } else { 0 },
            list: self.list.clone(),
            sites,
            idle: self.idle,
            interval: f64::from(self.interval.unwrap_or(USUAL_INTERVAL)) / 1e7 * frequency as f64,
            cut: self.cut,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.list.len() * size_of::<Sample>() + self.threads.len() * 16) as u64
    }

    pub(super) fn left_out(&self) -> Option<String> {
        let told = "CPU samples did not fit into an eighth of the memory limit; they were left out";
        (self.refused > 0).then(|| format!("{} {told}", self.refused))
    }
}
