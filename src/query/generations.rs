//! Generations: marks cut time into repetitions of the same work, and what a repetition
//! allocated and is still there at the end is what it left behind. A place that leaves
//! something in every repetition leaks; one that does so once was only setting up.
//!
//! Cost: one parallel pass over the rows born between the marks, and one over the sites; what
//! survived is looked up once each.

use std::cmp::Reverse;

use rayon::prelude::*;

use super::{Bucket, Cancel, Cancelled, FunctionId, Functions, Index, LifetimeClass, Mask};
use crate::model::SiteId;
use crate::tables::KeyedMap;
use crate::units::{Interval, Layer, Ticks};

/// What is asked.
#[derive(Clone, Debug)]
pub struct GenerationsRequest {
    /// Where generations begin, in order, and the end of the last.
    pub edges: Vec<Ticks>,
    /// What is alive at this moment was left behind; not before the last edge.
    pub end: Ticks,
    /// Layers nest, so each is asked about alone.
    pub layer: Layer,
}

/// What one place left behind.
#[derive(Clone, PartialEq, Debug)]
pub struct GenerationGroup {
    /// The function that wanted the memory, allocators apart; `None` where no stack was
    /// recorded.
    pub function: Option<FunctionId>,
    /// By generation.
    pub left: Vec<Bucket>,
    /// Of all generations.
    pub all: Bucket,
    /// In how many generations it left anything.
    pub repeats: usize,
}

/// The places that left something behind: those that did so most often first, then those
/// that left most.
pub fn generations(
    index: &Index,
    request: &GenerationsRequest,
    mask: &Mask,
    functions: &Functions,
    cancel: &Cancel,
) -> Result<Vec<GenerationGroup>, Cancelled> {
    let (edges, trace) = (&request.edges, index.trace());
    let (Some(&first), Some(&last)) = (edges.first(), edges.last()) else { return Ok(Vec::new()) };
    let marked = Interval { from: first, to: last };
    // Of each site whether it counts, and where.
    let place = |i: usize| {
        let (id, site) = (SiteId(i as u32), &trace.sites[i]);
        let counts = trace.layer_of(site) == request.layer && mask.has(id, LifetimeClass::Aifo);
        counts.then(|| functions.function(functions.responsible(id)))
    };
    let places: Vec<Option<Option<FunctionId>>> = (0..trace.sites.len()).into_par_iter().map(place).collect();
    type Left = KeyedMap<(Option<FunctionId>, u32), Bucket>;
    let visit = index.visit();
    let parts = visit.fold_evenly(&visit.born_in(marked), cancel, Left::default, |left, visited| {
        let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
        visited.each(|at| {
            let birth = chunk.birth(at);
            if !marked.contains(birth) || chunk.death(at) < request.end {
                return;
            }
            if let Some(function) = places[sites[at].0 as usize] {
                let generation = edges.partition_point(|&edge| edge <= birth) as u32 - 1;
                left.entry((function, generation)).or_default().add_row(chunk.size(at));
            }
        });
    })?;
    let (mut groups, mut place_of) = (Vec::<GenerationGroup>::new(), KeyedMap::default());
    let mut all: Vec<_> = parts.into_iter().flatten().collect();
    all.sort_unstable_by_key(|(key, _)| *key);
    for ((function, generation), bucket) in all {
        let at = *place_of.entry(function).or_insert_with(|| {
            let left = vec![Bucket::default(); edges.len() - 1];
            groups.push(GenerationGroup { function, left, all: Bucket::default(), repeats: 0 });
            groups.len() - 1
        });
        groups[at].left[generation as usize].add(bucket);
        groups[at].all.add(bucket);
    }
    cancel.check()?;
    for group in &mut groups {
        group.repeats = group.left.iter().filter(|left| left.count > 0).count();
    }
    let name = |group: &GenerationGroup| group.function.map(|function| functions.name(function));
    groups.sort_by(|a, b| {
        let rank = |group: &GenerationGroup| Reverse((group.repeats, group.all.size, group.all.count));
        rank(a).cmp(&rank(b)).then_with(|| name(a).cmp(&name(b)))
    });
    Ok(groups)
}
