//! The groups of a report with additional numbers for limits: the growth of each group, the blocks alive when its
//! processes ended, and the pages of its heaps.
//!
//! Cost: a report; a pass over the rows for growth, for blocks at exit and for pages, if they are requested; over the sites and counters for
//! the unknown part of commit.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::alive::{alive_at, exits};
use super::commit_parts::total_at;
use super::growth::slopes;
use super::pages::{HeapPages, PagesWanted, PinnedPages, pages_of, unused_bytes};
use super::report::list_of_sites;
use super::top_contributors::{Measure, TopContributor};
use super::{Bucket, By, Cancel, Cancelled, Fold, Group, Index, Mask, NO_STACK_KEY, ReportFilter, ReportRequest, Totals};
use crate::model::{ProcessId, Trace};
use crate::names::Names;
use crate::tables::KeyedMap;
use crate::units::{Interval, Layer, Ticks};

/// A query for measured groups.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredRequest<'a> {
    /// The interval.
    pub interval: Interval,
    /// Keys of the groups, besides the layer. Keys that depend on single rows (thread, size, lifetime, freeing stack)
    /// are not supported.
    pub by: &'a [By],
    /// The sites to count, with all classes of each.
    pub mask: &'a Mask,
    /// With groups by function or module, which frames are folded away.
    pub fold: Fold,
    /// Whether growth is requested.
    pub growth: bool,
    /// Whether blocks at exit are requested.
    pub at_exit: bool,
    /// Whether pages are requested; then the keys may be process and heap only.
    pub pages: bool,
    /// Whether the unknown part of the commit charge is requested; then the keys may be process and heap only.
    pub unknown: bool,
    /// The totals of the interval.
    pub totals: &'a Arc<Totals>,
}

/// The measured groups; `growth`, `at_exit` and `pages` are by group.
#[derive(Debug)]
pub struct Measured {
    /// The groups as in a report.
    pub groups: Vec<Group>,
    /// Bytes per second, by least squares over the time in which the group's processes lived; `None` if none of them
    /// lived in the interval. Empty if not requested.
    pub growth: Vec<Option<f64>>,
    /// Blocks alive when the group's processes ended; `None` if none of them ended in the interval, and for commit.
    /// Empty if not requested.
    pub at_exit: Vec<Option<Bucket>>,
    /// Pages at the end of the interval; `None` without live blocks of heaps or trackers. Empty if not requested.
    pub pages: Vec<Option<PageSums>>,
    /// Bytes of the commit charge at the end of the interval that no committed range accounts for, of the processes of each
    /// group of commit that live then; `None` if one was not sampled, and for heaps and trackers. Empty if not requested.
    pub unknown: Vec<Option<u64>>,
    /// Group of each site.
    pub(super) of_site: Vec<Option<u32>>,
    /// The time over which each group's growth is measured.
    pub(super) spans: Vec<Interval>,
    /// Blocks alive at exit, by site.
    pub(super) left: Vec<Bucket>,
    /// The keys and the end of the interval.
    asked: (Vec<By>, Ticks),
}

/// Pages of the heaps of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageSums {
    /// Touched pages.
    pub touched: u64,
    /// Bytes of these pages in which no live block lies.
    pub waste: u64,
}

impl Measured {
    /// Measures the groups of a request.
    pub fn of(index: &Index, asked: MeasuredRequest<'_>, names: &Names, cancel: &Cancel) -> Result<Self, Cancelled> {
        let MeasuredRequest { interval, by, mask, fold, totals, .. } = asked;
        let request =
            ReportRequest { interval, by: by.to_vec(), filter: ReportFilter::default(), top: None, fold, sources: false };
        let list = list_of_sites(index, &request, (mask, totals), names, cancel)?;
        let (groups, of_site) = (list.groups, list.of_site);
        let spans = lives(index, interval, &of_site, groups.len());
        let growth = if asked.growth { slopes(index, &of_site, &spans, cancel)? } else { Vec::new() };
        let asked_of = (by.to_vec(), interval.to);
        let (at_exit, pages, unknown, left) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut measured = Self { groups, growth, at_exit, pages, unknown, of_site, spans, left, asked: asked_of };
        if asked.at_exit {
            measured.add_exits(index, interval, cancel)?;
        }
        if asked.pages {
            measured.add_pages(index, mask, cancel)?;
        }
        if asked.unknown {
            measured.add_unknown(index.trace());
        }
        Ok(measured)
    }

    fn add_pages(&mut self, index: &Index, mask: &Mask, cancel: &Cancel) -> Result<(), Cancelled> {
        let (by, at) = &self.asked;
        let wanted = PagesWanted { at: *at, by: &[], mask, top: None };
        let found = pages_of(index, &Names::default(), wanted, cancel)?;
        let groups = self.groups.iter().enumerate();
        let number: KeyedMap<HeapKey<'_>, usize> = groups.map(|(i, group)| (HeapKey::of_group(group), i)).collect();
        self.pages = vec![None; self.groups.len()];
        for heap in &found.heaps {
            if let Some(group) = number.get(&HeapKey::of_heap(heap, by)) {
                let sums = self.pages[*group].get_or_insert_default();
                sums.touched = sums.touched.saturating_add(heap.touched_pages);
                sums.waste = sums.waste.saturating_add(heap.waste());
            }
        }
        Ok(())
    }

    fn add_unknown(&mut self, trace: &Trace) {
        let at = self.asked.1;
        let mut processes = vec![BTreeSet::new(); self.groups.len()];
        for (site, group) in trace.sites.iter().zip(&self.of_site) {
            let process = trace.process_of(site);
            let is_meant = trace.layer_of(site) == Layer::Commit && trace.process(process).end.is_none_or(|end| at <= end);
            if let Some(group) = group.filter(|_| is_meant) {
                processes[group as usize].insert(process);
            }
        }
        let charge = |&process: &ProcessId| total_at(trace, process, at);
        let unknown = |(group, processes): (&Group, &BTreeSet<ProcessId>)| {
            let charges: Option<Vec<u64>> = processes.iter().map(charge).collect();
            let charge = charges.filter(|all| !all.is_empty())?.into_iter().fold(0u64, u64::saturating_add);
            // Less than is known: pages were committed since the sample.
            Some(charge.saturating_sub(group.numbers.outstanding_to))
        };
        self.unknown = self.groups.iter().zip(&processes).map(unknown).collect();
    }

    /// Returns for each group in `wanted` the function whose blocks alone keep most of its sparse pages in use.
    pub(super) fn most_pinning(
        &self,
        index: &Index,
        measure: Measure,
        wanted: &[usize],
        names: &Names,
        cancel: &Cancel,
    ) -> Result<Vec<Option<TopContributor>>, Cancelled> {
        let (by, at) = &self.asked;
        let mask = Mask::of_sites(index.trace(), |id, _| self.of_site[id.0 as usize].is_some());
        let keys: Vec<By> = by.iter().copied().chain([By::Responsible]).collect();
        let found = pages_of(index, names, PagesWanted { at: *at, by: &keys, mask: &mask, top: None }, cancel)?;
        let mut most: KeyedMap<HeapKey<'_>, TopContributor> = KeyedMap::default();
        // The first of a group pins most.
        for pinned in found.pinning.iter().filter(|pinned| pinned.responsible.as_deref() != Some(NO_STACK_KEY)) {
            let PinnedPages { pages, live_bytes } = pinned.numbers;
            let amount = if measure == Measure::Touched { pages } else { unused_bytes(pages, live_bytes) };
            let function = pinned.responsible.clone().unwrap_or_default();
            let contributor = TopContributor { function, source: pinned.source.clone(), amount: amount as f64 };
            most.entry(HeapKey::of_group(pinned)).or_insert(contributor);
        }
        Ok(wanted.iter().map(|&group| most.get(&HeapKey::of_group(&self.groups[group])).cloned()).collect())
    }

    fn add_exits(&mut self, index: &Index, interval: Interval, cancel: &Cancel) -> Result<(), Cancelled> {
        let trace = index.trace();
        let ends = exits(trace, interval);
        let end_of = |i: usize| ends[trace.sites[i].heap.0 as usize];
        let moments: Vec<Ticks> =
            (0..self.of_site.len()).map(|i| self.of_site[i].and_then(|_| end_of(i)).unwrap_or(Ticks::BEFORE_TRACE)).collect();
        self.at_exit = vec![None; self.groups.len()];
        if moments.iter().all(|&moment| moment == Ticks::BEFORE_TRACE) {
            self.left = vec![Bucket::default(); moments.len()];
            return Ok(());
        }
        self.left = alive_at(index, &moments, cancel)?;
        for (i, group) in self.of_site.iter().enumerate() {
            if let Some(group) = group.filter(|_| end_of(i).is_some()) {
                self.at_exit[group as usize].get_or_insert_default().add(self.left[i]);
            }
        }
        Ok(())
    }
}

/// Process and heap of a group, as far as they are keys.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct HeapKey<'a> {
    process: Option<(&'a str, u32, Option<u64>)>,
    layer: &'static str,
    heap: Option<&'a str>,
}

impl<'a> HeapKey<'a> {
    fn of_group<N>(group: &'a Group<N>) -> Self {
        let process = group.process.as_deref().zip(group.pid);
        let process = process.map(|(name, pid)| (name, pid, group.process_start_s.map(f64::to_bits)));
        Self { process, layer: group.layer, heap: group.heap.as_deref() }
    }

    fn of_heap(heap: &'a HeapPages, by: &[By]) -> Self {
        let process = (&*heap.process, heap.pid, heap.process_start_s.map(f64::to_bits));
        Self {
            process: by.contains(&By::Process).then_some(process),
            layer: heap.layer,
            heap: heap.heap.as_deref().filter(|_| by.contains(&By::Heap)),
        }
    }
}

/// Returns for each group the part of an interval from the first start of its processes to their last end. It ends
/// before it begins if none of them lived then (their unfreed memory still counts).
fn lives(index: &Index, interval: Interval, of_site: &[Option<u32>], groups: usize) -> Vec<Interval> {
    let trace = index.trace();
    let none = Interval { from: interval.to, to: interval.from };
    let mut spans = vec![none; groups];
    for (site, group) in trace.sites.iter().zip(of_site) {
        let Some(group) = group else { continue };
        let process = trace.process(trace.process_of(site));
        let from = process.start.map_or(interval.from, |start| start.max(interval.from));
        let to = process.end.map_or(interval.to, |end| end.min(interval.to));
        if from >= to {
            continue;
        }
        let span = &mut spans[*group as usize];
        *span = Interval { from: span.from.min(from), to: span.to.max(to) };
    }
    spans
}
