//! Fragmentation: nearly empty pages of a heap or tracker at the end of its process's life in the interval, which few
//! live bytes keep in use. Named is who pins most of them alone.
//!
//! Cost: one parallel pass over the rows, and a sort of the pages in which blocks begin or end.

use super::claim::Claim;
use super::kind::FindingKind;
use super::question::Question;
use super::source::{Source, Sources};
use crate::model::SiteId;
use crate::names::FrameKind;
use crate::query::callers::CallerFinder;
use crate::query::pages::{FoundHeap, PinnedPages, Scan, unused_bytes};
use crate::query::{Cancelled, LifetimeClass};
use crate::tables::KeyedMap;
use crate::units::{Interval, Layer, Ticks};

/// Least nearly empty pages, as a share of those touched, and the least bytes that are not in use on them.
const LEAST_SHARE: f64 = 0.02;
const LEAST_BYTES: u64 = 256 << 10;

/// Largest number of live blocks of which pages are looked at: if each lies on a page of its own, a table of 256 MB.
const MOST_BLOCKS: u64 = 1 << 23;

/// The blocks of one function in one source.
struct FunctionGroup {
    source: usize,
    /// Places in the source at which the function is the responsible caller.
    places: Vec<usize>,
}

pub(super) fn find(question: &Question<'_>, sources: &Sources) -> Result<Vec<Claim>, Cancelled> {
    let trace = question.index.trace();
    let mut moments = vec![question.interval.to; trace.processes.len()];
    sources.list.iter().for_each(|source| moments[source.process.0 as usize] = source.life.to);
    let (groups, of_site) = groups(question, sources)?;
    let alive = |site: usize| {
        let sums = question.totals.of(SiteId(site as u32));
        sums.get(LifetimeClass::Aifo).count + sums.get(LifetimeClass::Aofo).count
    };
    let alive: u64 = (0..of_site.len()).filter(|&site| of_site[site].is_some()).map(alive).sum();
    if groups.is_empty() || alive > MOST_BLOCKS {
        return Ok(Vec::new());
    }
    let scan = Scan { index: question.index, moments: &moments, of_site: &of_site, row_keys: None };
    let found = scan.run(groups.len(), question.cancel)?;
    let claim = |(number, source): (usize, &Source)| {
        let heap = found.heaps.iter().find(|heap| heap.heap == source.heap && source.layer != Layer::Commit)?;
        let its = groups.iter().zip(&found.pinned).filter(|(group, pinned)| group.source == number && pinned.pages > 0);
        let most = its.max_by_key(|(group, pinned)| (pinned.pages, std::cmp::Reverse(group.places[0])));
        claim(question, (source, heap), most)
    };
    Ok(sources.list.iter().enumerate().filter_map(claim).collect())
}

/// Returns the groups of blocks by source and responsible caller, and the group of each site.
fn groups(question: &Question<'_>, sources: &Sources) -> Result<(Vec<FunctionGroup>, Vec<Option<u32>>), Cancelled> {
    let trace = question.index.trace();
    let mut finder = CallerFinder::new(trace, question.names, FrameKind::Innermost);
    let mut groups: Vec<FunctionGroup> = Vec::new();
    let mut of_site = vec![None; trace.sites.len()];
    let blocks = sources.list.iter().enumerate().filter(|(_, source)| source.layer != Layer::Commit);
    for (number, source) in blocks {
        question.cancel.check()?;
        let mut known: KeyedMap<String, usize> = KeyedMap::default();
        for place in 0..source.places.list.len() {
            let own = source.places.own(place);
            let Some(site) = own.first().map(|&site| trace.site(site)) else { continue };
            let caller = finder.caller(site).responsible;
            let name = caller.recorded(trace, question.names, site).name(caller.level).to_string();
            let group = *known.entry(name).or_insert_with(|| {
                groups.push(FunctionGroup { source: number, places: Vec::new() });
                groups.len() - 1
            });
            groups[group].places.push(place);
            own.iter().for_each(|site| of_site[site.0 as usize] = Some(group as u32));
        }
    }
    Ok((groups, of_site))
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
