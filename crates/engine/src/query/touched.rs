//! Committed memory, and the part of it that was touched.
//!
//! A committed page gets memory when it is touched first, which is a page fault of one of the kinds that
//! [touch](FaultKind::touches). So the touched part of a committed range is the pages with such a fault since the range was
//! committed. That is known only of ranges that were committed in the trace, if demand-zero faults were recorded. Pages that
//! cause no fault are missing: large pages, and pages that the kernel fills itself.
//!
//! Cost: a look at each fault before the moment, a sort of those that touch, a parallel pass over the rows. First touches: also
//! a sort of all committed ranges, and a search for each fault.

use std::collections::BTreeMap;

use super::activity::process_of_fault;
use super::{Cancel, Cancelled, Index};
use crate::events::{FaultKind, PAGE};
use crate::model::{ProcessId, Row, SiteId, Trace};
use crate::tables::KeyedMap;
use crate::units::{Interval, Layer, Ticks};

/// Bytes that were committed in the trace and are at a moment, and the touched part of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TouchedBytes {
    /// Committed bytes.
    pub committed: u64,
    /// Touched bytes of them.
    pub touched: u64,
}

impl TouchedBytes {
    /// Adds other bytes.
    pub fn add(&mut self, other: Self) {
        self.committed = self.committed.saturating_add(other.committed);
        self.touched = self.touched.saturating_add(other.touched);
    }
}

/// Returns whether the trace shows which committed pages were touched: demand-zero faults were recorded, and none was left out for
/// want of memory.
pub fn shows_touches(trace: &Trace) -> bool {
    trace.counts.demand_zero_fault > 0 && trace.activity.faults.cut.is_none()
}

/// Returns what the touched bytes do not include, if the trace shows any.
pub fn touched_doubt(trace: &Trace) -> Option<&'static str> {
    shows_touches(trace).then_some(
        "Touched bytes are those whose first touch was recorded: large pages and pages that Windows fills itself are not among them",
    )
}

/// Returns the sites of commit with bytes that were committed in the trace by then and are still, by number, of the processes that
/// `counts` accepts; `None` if the trace does not [show](shows_touches) what was touched.
pub fn touched_sites(
    index: &Index,
    at: Ticks,
    counts: impl Fn(ProcessId) -> bool + Sync,
    cancel: &Cancel,
) -> Result<Option<BTreeMap<SiteId, TouchedBytes>>, Cancelled> {
    let trace = index.trace();
    let Some(pages) = TouchedPages::before(trace, at, cancel)? else { return Ok(None) };
    let site = |row: &Row| counts(trace.heap(trace.site(row.site).heap).process).then_some(row.site.0);
    let sums = pages.by_group(index, site, cancel)?;
    Ok(Some(sums.into_iter().map(|(site, bytes)| (SiteId(site), bytes)).collect()))
}

/// A page of a process, and the last time before a moment at which it was touched.
type TouchedPage = (ProcessId, u64, Ticks);

/// The pages that were touched before a moment, each once, sorted.
pub(super) struct TouchedPages {
    at: Ticks,
    pages: Vec<TouchedPage>,
}

impl TouchedPages {
    /// Finds the pages; `None` if the trace does not [show](shows_touches) what was touched.
    pub(super) fn before(trace: &Trace, at: Ticks, cancel: &Cancel) -> Result<Option<Self>, Cancelled> {
        if !shows_touches(trace) {
            return Ok(None);
        }
        let faults = &trace.activity.faults;
        let mut all = Vec::new();
        for run in faults.list.runs(faults.during(Interval { from: Ticks::BEFORE_TRACE, to: at })) {
            cancel.check()?;
            let touches = run.iter().filter(|fault| fault.kind().touches());
            all.extend(touches.filter_map(|fault| Some((process_of_fault(trace, fault)?, fault.page(), fault.at))));
        }
        all.sort_unstable();
        cancel.check()?;
        // Of equal pages the last is kept.
        let mut pages: Vec<TouchedPage> = Vec::with_capacity(all.len());
        for page in all {
            match pages.last_mut() {
                Some(last) if (last.0, last.1) == (page.0, page.1) => *last = page,
                _ => pages.push(page),
            }
        }
        Ok(Some(Self { at, pages }))
    }

    /// Adds up the rows of commit that were committed in the trace and are at the moment, by the number of their group.
    pub(super) fn by_group(
        &self,
        index: &Index,
        group_of: impl Fn(&Row) -> Option<u32> + Sync,
        cancel: &Cancel,
    ) -> Result<BTreeMap<u32, TouchedBytes>, Cancelled> {
        let trace = index.trace();
        let visit = index.visit();
        let parts =
            visit.fold_chunks(&visit.born_before(self.at), cancel, KeyedMap::<u32, TouchedBytes>::default, |sums, visited| {
                let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
                visited.each(|i| {
                    if trace.layer_of(trace.site(sites[i])) != Layer::Commit {
                        return;
                    }
                    let row = chunk.row(i);
                    if let Some(bytes) = self.of_row(trace, &row)
                        && let Some(group) = group_of(&row)
                    {
                        sums.entry(group).or_default().add(bytes);
                    }
                });
            })?;
        let mut all: BTreeMap<u32, TouchedBytes> = BTreeMap::new();
        for part in parts {
            #[allow(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
            for (group, bytes) in part {
                all.entry(group).or_default().add(bytes);
            }
        }
        Ok(all)
    }

    /// Returns the bytes of a row; `None` if it is not commit, was not committed in the trace, or is not there at the moment.
    pub(super) fn of_row(&self, trace: &Trace, row: &Row) -> Option<TouchedBytes> {
        let heap = trace.heap(trace.site(row.site).heap);
        let is_there = row.birth < self.at && row.death >= self.at && row.birth != Ticks::BEFORE_TRACE;
        if heap.layer != Layer::Commit || !is_there {
            return None;
        }
        let range = (row.address, row.address.saturating_add(row.size));
        Some(TouchedBytes { committed: row.size, touched: self.within(heap.process, range, row.birth) })
    }

    /// Returns the bytes of a range that lie in pages which were touched since a moment.
    fn within(&self, process: ProcessId, (from, to): (u64, u64), since: Ticks) -> u64 {
        let first = from & !(PAGE - 1);
        let begin = self.pages.partition_point(|&(of, page, _)| (of, page) < (process, first));
        let in_range = self.pages[begin..].iter().take_while(|&&(of, page, _)| of == process && page < to);
        let bytes =
            in_range.filter(|&&(_, _, at)| at >= since).map(|&(_, page, _)| to.min(page.saturating_add(PAGE)) - from.max(page));
        bytes.sum()
    }
}

/// Adds the bytes of lines to their parents, which must have smaller numbers.
pub(super) fn add_up(lines: &mut [TouchedBytes], parent: impl Fn(usize) -> Option<u32>) {
    for line in (0..lines.len()).rev() {
        if let Some(parent) = parent(line) {
            let bytes = lines[line];
            lines[parent as usize].add(bytes);
        }
    }
}

/// Returns the bytes of groups that are numbered from 0.
pub(super) fn dense(count: usize, sums: BTreeMap<u32, TouchedBytes>) -> Vec<TouchedBytes> {
    let mut all = vec![TouchedBytes::default(); count];
    sums.into_iter().for_each(|(group, bytes)| all[group as usize] = bytes);
    all
}

/// A change of a process's committed ranges: the time, whether a range begins, and the range. At one time ends come first.
type RangeChange = (Ticks, bool, u64, u64);

/// Counts first touches by site of [`Samples::sites`](crate::model::Samples::sites): demand-zero faults of an interval whose page
/// is committed at the time.
pub fn first_touches(index: &Index, interval: Interval, cancel: &Cancel) -> Result<Vec<u32>, Cancelled> {
    let trace = index.trace();
    let faults = &trace.activity.faults;
    let mut counts = vec![0; trace.activity.samples.sites.len()];
    let mut of_process: BTreeMap<ProcessId, Vec<(Ticks, u64, SiteId)>> = BTreeMap::new();
    for run in faults.list.runs(faults.during(interval)) {
        cancel.check()?;
        for fault in run.iter().filter(|fault| fault.kind() == FaultKind::DemandZero) {
            if let Some(process) = process_of_fault(trace, fault) {
                of_process.entry(process).or_default().push((fault.at, fault.page(), fault.site));
            }
        }
    }
    if of_process.is_empty() {
        return Ok(counts);
    }
    let mut ranges = committed_ranges(index, interval, cancel)?;
    for (process, faults) in of_process {
        cancel.check()?;
        let Some(mut changes) = ranges.remove(&process) else { continue };
        changes.sort_unstable();
        let mut changes = changes.into_iter().peekable();
        let mut committed: BTreeMap<u64, u64> = BTreeMap::new();
        for (at, page, site) in faults {
            while let Some((_, begins, from, to)) = changes.next_if(|change| change.0 <= at) {
                if begins {
                    committed.insert(from, to);
                } else {
                    committed.remove(&from);
                }
            }
            let last = committed.range(..page.saturating_add(PAGE)).next_back();
            if last.is_some_and(|(_, to)| *to > page) {
                counts[site.0 as usize] += 1;
            }
        }
    }
    Ok(counts)
}

/// Returns the beginnings and ends of the committed ranges of each process that exist in an interval.
fn committed_ranges(
    index: &Index,
    interval: Interval,
    cancel: &Cancel,
) -> Result<BTreeMap<ProcessId, Vec<RangeChange>>, Cancelled> {
    let trace = index.trace();
    let visit = index.visit();
    let parts = visit.fold_chunks(&visit.born_before(interval.to), cancel, Vec::new, |all, visited| {
        let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
        visited.each(|i| {
            let heap = trace.heap(trace.site(sites[i]).heap);
            let (birth, death) = (chunk.birth(i), chunk.death(i));
            if heap.layer == Layer::Commit && birth < interval.to && death >= interval.from && death > birth {
                let (from, to) = (chunk.address(i), chunk.address(i).saturating_add(chunk.size(i)));
                all.push((heap.process, (birth, true, from, to)));
                all.push((heap.process, (death, false, from, to)));
            }
        });
    })?;
    let mut of_process: BTreeMap<ProcessId, Vec<RangeChange>> = BTreeMap::new();
    for (process, change) in parts.into_iter().flatten() {
        of_process.entry(process).or_default().push(change);
    }
    Ok(of_process)
}
