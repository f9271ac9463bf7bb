//! Pages that the live blocks of heaps and trackers touch at a moment, and who keeps nearly empty ones in use: the rules
//! are those of the machine interface (*Pages*).
//!
//! Cost: a parallel scan of the rows with a look at a table for the pages in which a block begins or ends, not for those
//! that it covers; then a sort of these pages.

mod committed;
mod over_time;
mod scan;
mod touched;

use std::cmp::Reverse;

use serde::Serialize;

use super::grouping::RowKeys;
use super::report::{AskedReport, describe, first};
use super::{By, Cancel, Cancelled, Fold, Group, Index, Mask, ReportFilter, ReportRequest};
use crate::model::{SiteId, Trace};
use crate::names::Names;
use crate::units::{Interval, Layer, Ticks};
pub(super) use committed::ReservedRanges;
pub use over_time::{MOST_MOMENTS, committed_over_time};
pub(super) use scan::{FoundHeap, Scan};
pub use touched::PinnedPages;
pub(super) use touched::{Block, TouchedPages};

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// A question about pages.
#[derive(Clone, Debug)]
pub struct PagesRequest {
    /// The moment.
    pub at: Ticks,
    /// Keys of the groups that pin pages; the layer is always one.
    pub by: Vec<By>,
    /// Conditions on process, layer and heap.
    pub filter: ReportFilter,
    /// Largest number of groups to return.
    pub top: Option<usize>,
}

/// The pages of a heap or tracker.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct HeapPages {
    pub process: String,
    pub pid: u32,
    pub process_start_s: Option<f64>,
    pub layer: &'static str,
    pub heap: Option<String>,
    pub live_blocks: u64,
    pub live_bytes: u64,
    /// Pages in which a live block has a byte, or begins.
    pub touched_pages: u64,
    /// Touched pages with live bytes for less than a tenth.
    pub sparse_pages: u64,
    /// Bytes committed in the reservations that hold a live block; `None` if none is known.
    pub committed_bytes: Option<u64>,
}

impl HeapPages {
    /// Bytes of the touched pages in which no live block lies.
    pub fn waste(&self) -> u64 {
        unused_bytes(self.touched_pages, self.live_bytes)
    }
}

/// Bytes of some pages in which no live block lies.
pub(super) fn unused_bytes(pages: u64, live_bytes: u64) -> u64 {
    pages.saturating_mul(PAGE).saturating_sub(live_bytes)
}

/// The answer.
#[derive(Clone, Debug)]
pub struct PagesAnswer {
    /// Heaps and trackers with live blocks, by touched pages, then live bytes, both falling, then by key.
    pub heaps: Vec<HeapPages>,
    /// Who pins pages, by pages, then live bytes, both falling, then by key.
    pub pinning: Vec<Group<PinnedPages>>,
    /// Number of all groups that pin pages, including those not returned.
    pub pinning_count: usize,
    /// Live blocks outside of all known reservations, of heaps of which a reservation is known.
    pub unreserved_blocks: u64,
}

/// Returns the pages that are touched at a moment.
pub fn pages(index: &Index, names: &Names, request: &PagesRequest, cancel: &Cancel) -> Result<PagesAnswer, Cancelled> {
    let PagesRequest { at, by, filter, top } = request;
    let mask = filter.mask(index.trace());
    pages_of(index, names, PagesWanted { at: *at, by, mask: &mask, top: *top }, cancel)
}

/// A question about the pages of blocks at some sites; those of commit are left out.
#[derive(Clone, Copy)]
pub(super) struct PagesWanted<'a> {
    pub(super) at: Ticks,
    pub(super) by: &'a [By],
    pub(super) mask: &'a Mask,
    pub(super) top: Option<usize>,
}

/// Answers [`pages`] for the blocks at some sites.
pub(super) fn pages_of(index: &Index, names: &Names, wanted: PagesWanted<'_>, cancel: &Cancel) -> Result<PagesAnswer, Cancelled> {
    let trace = index.trace();
    let PagesWanted { at, by, mask, top } = wanted;
    let mask = Mask::of_sites(trace, |id, site| mask.classes(id) != 0 && trace.layer_of(site) != Layer::Commit);
    let (interval, filter) = (Interval { from: at, to: at }, ReportFilter::default());
    let grouped = ReportRequest { interval, by: by.to_vec(), filter, top, fold: Fold::Nothing, sources: false };
    let asked = AskedReport { index, request: &grouped, mask: &mask, totals: None, names, cancel };
    asked.site_groups(|named, sites, count| {
        let moments = vec![at; trace.processes.len()];
        let row_keys = RowKeys::new(named.by, sites.freed.as_ref(), &trace.clock);
        let found = Scan { index, moments: &moments, of_site: &sites.of_site, row_keys }.run(count, cancel)?;
        let mut heaps: Vec<HeapPages> = found.heaps.iter().map(|heap| HeapPages::of(trace, heap)).collect();
        heaps.sort_by(HeapPages::compare);
        let rank = |pinned: &PinnedPages| (pinned.pages > 0).then_some(Reverse((pinned.pages, pinned.live_bytes)));
        let ranks: Vec<_> = found.pinned.iter().map(rank).collect();
        let pinning = first(&ranks, top.unwrap_or(usize::MAX), |i| {
            let (group, row) = found.groups[i];
            // Every group of sites has a first site.
            describe(named, sites.first[group as usize].unwrap_or(SiteId(0)), row, found.pinned[i])
        });
        let in_part = found.heaps.iter().filter(|heap| heap.committed_bytes.is_some());
        Ok(PagesAnswer {
            heaps,
            pinning: pinning.into_iter().map(|(_, group)| group).collect(),
            pinning_count: ranks.iter().flatten().count(),
            unreserved_blocks: in_part.map(|heap| heap.unreserved_blocks).sum(),
        })
    })
}

impl HeapPages {
    fn of(trace: &Trace, found: &FoundHeap) -> Self {
        let heap = trace.heap(found.heap);
        let process = trace.process(heap.process);
        Self {
            process: process.label(),
            pid: process.pid.0,
            process_start_s: process.start.map(|start| trace.clock.seconds(start)),
            layer: heap.layer.name(),
            heap: heap.key(),
            live_blocks: found.live_blocks,
            live_bytes: found.live_bytes,
            touched_pages: found.pages.touched,
            sparse_pages: found.pages.sparse,
            committed_bytes: found.committed_bytes,
        }
    }

    /// Compares heaps for the order of an answer.
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        let numbers = |heap: &Self| Reverse((heap.touched_pages, heap.live_bytes));
        let start = |heap: &Self| heap.process_start_s.unwrap_or(f64::NEG_INFINITY);
        numbers(self)
            .cmp(&numbers(other))
            .then_with(|| (&self.process, self.pid).cmp(&(&other.process, other.pid)))
            .then_with(|| start(self).total_cmp(&start(other)))
            .then_with(|| (self.layer, &self.heap).cmp(&(other.layer, &other.heap)))
    }
}
