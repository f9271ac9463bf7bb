//! Commit that no heap or tracker accounts for: ranges that contain no block, at the moment of most commit. Decided by
//! address, since layers nest and are never subtracted from each other. Adjacent ranges count as one, because a heap
//! commits its pages piece by piece; the result is therefore a lower bound.
//!
//! Cost: two parallel passes over the rows, and a sort of the ranges.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::claim::Claim;
use super::kind::FindingKind;
use super::peak::Top;
use super::question::Question;
use super::source::{Source, Sources};
use crate::model::{ProcessId, SiteId};
use crate::query::Cancelled;
use crate::query::commit_parts::total_at;
use crate::query::owners::OwnerFinder;
use crate::tables::KeyedMap;
use crate::units::{Layer, Ticks};

/// Smallest unexplained part: as a share of the commit, and in bytes.
const LEAST_SHARE: f64 = 0.1;
const LEAST_BYTES: u64 = 1 << 20;

/// A run of adjacent committed ranges.
struct Region {
    process: ProcessId,
    start: u64,
    end: u64,
    has_block: AtomicBool,
}

struct Range {
    process: ProcessId,
    start: u64,
    size: u64,
    site: SiteId,
}

pub(super) fn find(question: &Question<'_>, sources: &Sources, tops: &[Top]) -> Result<Vec<Claim>, Cancelled> {
    let trace = question.index.trace();
    // Commit and heaps must both be recorded from the start of the process.
    let has_blocks = |process| sources.list.iter().any(|source| source.process == process && source.layer != Layer::Commit);
    let is_seen = |process: ProcessId| trace.process(process).start.is_some_and(|start| start >= question.interval.from);
    let wanted = |top: &&Top| top.layer == Layer::Commit && has_blocks(top.process) && is_seen(top.process);
    let wanted: Vec<&Top> = tops.iter().filter(wanted).collect();
    if wanted.is_empty() || !trace.scope.is_all() || !question.is_everything {
        return Ok(Vec::new());
    }
    let mut moment_of = vec![None; trace.processes.len()];
    wanted.iter().for_each(|top| moment_of[top.process.0 as usize] = Some(top.moment));
    let mut ranges = committed(question, &moment_of)?;
    ranges.par_sort_by_key(|range| (range.process, range.start));
    let mut regions: Vec<Region> = Vec::new();
    for range in &ranges {
        let end = range.start.saturating_add(range.size);
        match regions.last_mut() {
            Some(last) if last.process == range.process && range.start <= last.end => last.end = last.end.max(end),
            _ => regions.push(Region { process: range.process, start: range.start, end, has_block: AtomicBool::new(false) }),
        }
    }
    mark(question, &moment_of, &regions)?;
    let mut claims = Vec::new();
    for top in wanted {
        let source = sources.list.iter().find(|source| (source.process, source.layer) == (top.process, Layer::Commit));
        claims.extend(source.and_then(|source| claim(question, source, (top, &ranges, &regions))));
    }
    Ok(claims)
}

/// Returns the ranges committed at the moment of their process.
fn committed(question: &Question<'_>, moment_of: &[Option<Ticks>]) -> Result<Vec<Range>, Cancelled> {
    let trace = question.index.trace();
    let parts = question.index.fold(question.cancel, Vec::new, |ranges: &mut Vec<Range>, visited| {
        let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
        visited.each(|at| {
            let site = sites[at];
            let heap = trace.heap(trace.site(site).heap);
            if heap.layer == Layer::Commit
                && let Some(moment) = moment_of[heap.process.0 as usize]
                && chunk.birth(at) < moment
                && chunk.death(at) >= moment
            {
                ranges.push(Range { process: heap.process, start: chunk.address(at), size: chunk.size(at), site });
            }
        });
    })?;
    Ok(parts.into_iter().flatten().collect())
}

/// Marks the regions that contain a block at any time.
fn mark(question: &Question<'_>, moment_of: &[Option<Ticks>], regions: &[Region]) -> Result<(), Cancelled> {
    let trace = question.index.trace();
    let none = || ();
    question.index.fold(question.cancel, none, |(), visited| {
        let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
        visited.each(|at| {
            let heap = trace.heap(trace.site(sites[at]).heap);
            if heap.layer == Layer::Commit || moment_of[heap.process.0 as usize].is_none() {
                return;
            }
            let address = chunk.address(at);
            let behind = regions.partition_point(|region| (region.process, region.start) <= (heap.process, address));
            if let Some(region) = behind.checked_sub(1).map(|i| &regions[i])
                && region.process == heap.process
                && address < region.end
                && !region.has_block.load(Ordering::Relaxed)
            {
                region.has_block.store(true, Ordering::Relaxed);
            }
        });
    })?;
    Ok(())
}

fn claim(question: &Question<'_>, source: &Source, (top, ranges, regions): (&Top, &[Range], &[Region])) -> Option<Claim> {
    let region_of = |range: &Range| {
        let behind = regions.partition_point(|region| (region.process, region.start) <= (range.process, range.start));
        behind.checked_sub(1).map(|i| &regions[i])
    };
    let is_unexplained = |range: &&Range| region_of(range).is_some_and(|region| !region.has_block.load(Ordering::Relaxed));
    let mut by_site: KeyedMap<SiteId, u64> = KeyedMap::default();
    let (mut bytes, mut count, mut explained) = (0u64, 0, 0u64);
    for range in ranges.iter().filter(|range| range.process == source.process) {
        if is_unexplained(&range) {
            bytes = bytes.saturating_add(range.size);
            count += 1;
            *by_site.entry(range.site).or_default() += range.size;
        } else {
            explained = explained.saturating_add(range.size);
        }
    }
    // If no region contains a block, blocks and commit are probably not from the same address space.
    if explained == 0 || bytes < LEAST_BYTES || (bytes as f64) < LEAST_SHARE * top.bytes as f64 {
        return None;
    }
    let amounts: Vec<f64> = source.places.sites.iter().map(|site| by_site.get(site).copied().unwrap_or(0) as f64).collect();
    let own = source.places.own_amounts(&amounts);
    let (place, _) = own.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let interval = crate::units::Interval { from: Ticks(top.moment.0.saturating_sub(1)), to: top.moment };
    let owners = owners(question, &by_site);
    let sampled = total_at(question.index.trace(), source.process, top.moment);
    // Less than is known: pages were committed since the sample.
    let charge = sampled.filter(|charge| *charge >= top.bytes).map(|charge| (top.bytes, charge));
    Some(Claim { bytes, count, interval, owners, charge, ..Claim::at(FindingKind::UnexplainedCommit, source, place) })
}

/// Largest number of owners listed.
const OWNERS: usize = 3;

/// Returns the owners of the commit at these sites, the largest first.
fn owners(question: &Question<'_>, by_site: &KeyedMap<SiteId, u64>) -> Vec<(String, u64)> {
    let trace = question.index.trace();
    let mut finder = OwnerFinder::new(trace, question.names);
    let mut of_owner: KeyedMap<&str, u64> = KeyedMap::default();
    by_site.iter().for_each(|(&site, &bytes)| *of_owner.entry(finder.owner(trace.site(site))).or_default() += bytes);
    let mut owners: Vec<(String, u64)> = of_owner.into_iter().map(|(owner, bytes)| (owner.to_owned(), bytes)).collect();
    owners.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    owners.truncate(OWNERS);
    owners
}
