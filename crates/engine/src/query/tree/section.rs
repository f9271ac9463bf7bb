//! The sites of a heap that have rows of one lifetime class, sorted by the innermost frame that is left of their
//! stacks, with prefix sums, so that the sum below a frame is a difference of two.

use std::cell::OnceCell;
use std::ops::Range;

use rayon::prelude::*;

use super::question::Question;
use crate::model::{HeapId, SiteId};
use crate::query::{Bucket, Cancelled, LifetimeClass};

/// Number of sites in one piece of work.
pub(super) const PIECE: usize = 1 << 14;

/// The sites of one heap that have rows of one class.
#[derive(Default)]
pub(super) struct Section {
    /// Place of the innermost frame that is left of each site's stack.
    pub(super) places: Vec<u32>,
    /// Place of each site's whole stack, once lines below folded frames need it.
    pub(super) whole: OnceCell<Vec<u32>>,
    pub(super) sites: Vec<SiteId>,
    /// Prefix sums: before each site, and over all sites.
    counts: Vec<u64>,
    sizes: Vec<u128>,
}

/// A site of a section, with its place and rows.
type SiteSum = (u32, SiteId, Bucket);

/// Collects the sites of heaps with open types; returns one section for each of `open`.
pub(super) fn gather(question: &Question<'_>, open: &[(HeapId, LifetimeClass)]) -> Result<Vec<Section>, Cancelled> {
    // The types of one heap are adjacent, so its sites are read once for all of them.
    let outline = question.trace.outline();
    let mut pieces = Vec::new();
    for of_heap in open.chunk_by(|a, b| a.0 == b.0) {
        let bits = of_heap.iter().fold(0, |bits, (_, class)| bits | 1 << *class as u8);
        let sites = outline.heap(of_heap[0].0);
        pieces.extend(sites.clone().step_by(PIECE).map(|first| (first..(first + PIECE).min(sites.end), bits)));
        pieces.push((0..0, 0)); // the end of the heap
    }
    let parts: Result<Vec<[Vec<SiteSum>; 4]>, Cancelled> = pieces
        .par_iter()
        .map(|(piece, bits)| question.cancel.check().map(|()| entries(question, piece.clone(), *bits)))
        .collect();
    let parts = parts?;
    let by_heap = pieces.split(|(_, bits)| *bits == 0).scan(0, |at, pieces| {
        let first = *at;
        *at += pieces.len() + 1;
        Some(&parts[first..first + pieces.len()])
    });
    let by_heap: Vec<&[[Vec<SiteSum>; 4]]> = by_heap.collect();
    let wanted: Vec<_> = open.chunk_by(|a, b| a.0 == b.0).zip(by_heap).collect();
    let jobs: Vec<_> = wanted.iter().flat_map(|(types, parts)| types.iter().map(|(_, class)| (*parts, *class))).collect();
    Ok(jobs.into_par_iter().map(|(parts, class)| Section::of(parts.iter().map(|part| &part[class as usize]))).collect())
}

/// Returns the rows of some sites, by class.
fn entries(question: &Question<'_>, sites: Range<usize>, open: u8) -> [Vec<SiteSum>; 4] {
    let outline = question.trace.outline();
    let (by_place, places) = match question.trimmed {
        Some(trimmed) => (trimmed.sites(), trimmed.places()),
        None => (outline.sites(), outline.places()),
    };
    let mut lists = [const { Vec::new() }; 4];
    for (&site, &place) in by_place[sites.clone()].iter().zip(&places[sites]) {
        let bits = question.mask.classes(site) & open;
        if bits == 0 {
            continue;
        }
        let buckets = question.totals.of(site).only(bits);
        if buckets.is_empty() {
            continue;
        }
        for class in classes(bits) {
            let bucket = buckets.get(class);
            if bucket.count > 0 {
                lists[class as usize].push((place, site, bucket));
            }
        }
    }
    lists
}

impl Section {
    fn of<'a>(parts: impl Iterator<Item = &'a Vec<SiteSum>> + Clone) -> Self {
        let count = parts.clone().map(Vec::len).sum();
        let mut section = Self {
            places: Vec::with_capacity(count),
            whole: OnceCell::new(),
            sites: Vec::with_capacity(count),
            counts: Vec::with_capacity(count + 1),
            sizes: Vec::with_capacity(count + 1),
        };
        let (mut rows, mut bytes) = (0u64, 0u128);
        for &(place, site, bucket) in parts.flatten() {
            section.places.push(place);
            section.sites.push(site);
            section.counts.push(rows);
            section.sizes.push(bytes);
            rows = rows.saturating_add(bucket.count);
            bytes += u128::from(bucket.size);
        }
        section.counts.push(rows);
        section.sizes.push(bytes);
        section
    }

    /// Returns the sum of the sites in a range.
    pub(super) fn bucket(&self, range: &Range<usize>) -> Bucket {
        let bytes = self.sizes[range.end] - self.sizes[range.start];
        Bucket { count: self.counts[range.end] - self.counts[range.start], size: u64::try_from(bytes).unwrap_or(u64::MAX) }
    }
}

/// Returns how many of the sorted places are less than `place`. The result is usually small, so the search starts at
/// the beginning with growing steps.
pub(super) fn gallop(places: &[u32], place: u32) -> usize {
    let (mut from, mut step) = (0, 1);
    while from + step < places.len() && places[from + step] < place {
        from += step;
        step *= 2;
    }
    let to = (from + step).min(places.len());
    from + places[from..to].partition_point(|&p| p < place)
}

/// Returns the classes of a mask's bits.
fn classes(bits: u8) -> impl Iterator<Item = LifetimeClass> {
    LifetimeClass::ALL.into_iter().filter(move |&class| bits >> class as u8 & 1 != 0)
}
