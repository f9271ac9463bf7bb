//! Fragmentation: nearly empty pages of a heap or tracker at the end of its process's life in the interval, which few
//! live bytes keep in use. Named is who pins most of them alone.
//!
//! Cost: one parallel pass over the rows, and a sort of the pages in which blocks begin or end.

use super::claim::Claim;
use super::function_groups::{FunctionGroup, FunctionGroups};
use super::kind::FindingKind;
use super::question::Question;
use super::source::{Source, Sources};
use crate::model::SiteId;
use crate::query::pages::{FoundHeap, PinnedPages, Scan, unused_bytes};
use crate::query::{Cancelled, LifetimeClass};
use crate::units::{Interval, Layer, Ticks};

/// Least nearly empty pages, as a share of those touched, and the least bytes that are not in use on them.
const LEAST_SHARE: f64 = 0.02;
const LEAST_BYTES: u64 = 256 << 10;

/// Largest number of live blocks of which pages are looked at: if each lies on a page of its own, a table of 256 MB.
const MOST_BLOCKS: u64 = 1 << 23;

pub(super) fn find(question: &Question<'_>, sources: &Sources, groups: &FunctionGroups) -> Result<Vec<Claim>, Cancelled> {
    let trace = question.index.trace();
    let mut moments = vec![question.interval.to; trace.processes.len()];
    sources.list.iter().for_each(|source| moments[source.process.0 as usize] = source.life.to);
    let FunctionGroups { list: groups, of_site } = groups;
    let alive = |site: usize| {
        let sums = question.totals.of(SiteId(site as u32));
        sums.get(LifetimeClass::Aifo).count + sums.get(LifetimeClass::Aofo).count
    };
    let alive: u64 = (0..of_site.len()).filter(|&site| of_site[site].is_some()).map(alive).sum();
    if groups.is_empty() || alive > MOST_BLOCKS {
        return Ok(Vec::new());
    }
    let scan = Scan { index: question.index, moments: &moments, of_site, row_keys: None };
    let found = scan.run(groups.len(), question.cancel)?;
    let claim = |(number, source): (usize, &Source)| {
        let heap = found.heaps.iter().find(|heap| heap.heap == source.heap && source.layer != Layer::Commit)?;
        let its = groups.iter().zip(&found.pinned).filter(|(group, pinned)| group.source == number && pinned.pages > 0);
        let most = its.max_by_key(|(group, pinned)| (pinned.pages, std::cmp::Reverse(group.places[0])));
        claim(question, (source, heap), most)
    };
    Ok(sources.list.iter().enumerate().filter_map(claim).collect())
}

/// The claim about a heap, if enough of its pages are nearly empty; `most` is the group that pins most of them.
fn claim(
    question: &Question<'_>,
    (source, heap): (&Source, &FoundHeap),
    most: Option<(&FunctionGroup, &PinnedPages)>,
) -> Option<Claim> {
    let pages = heap.pages;
    let bytes = unused_bytes(pages.sparse, pages.sparse_bytes);
    if bytes < LEAST_BYTES || (pages.sparse as f64) < LEAST_SHARE * pages.touched as f64 {
        return None;
    }
    let held = |place: &usize| -> u64 {
        let sites = source.places.own(*place).iter();
        sites.map(|&site| question.totals.of(site).numbers().outstanding_to).fold(0, u64::saturating_add)
    };
    // Of the ways to the function the one with most bytes.
    let place = most.and_then(|(group, _)| group.places.iter().copied().max_by_key(held)).unwrap_or(0);
    let interval = Interval { from: Ticks(source.life.to.0.saturating_sub(1)), to: source.life.to };
    let (count, part) = (pages.sparse, Some(pages.sparse_bytes));
    let repeats = most.map(|(_, pinned)| pinned.pages);
    Some(Claim { bytes, count, part, repeats, interval, ..Claim::at(FindingKind::Fragmentation, source, place) })
}
