//! Generations: marks divide time into repetitions of the same work. Memory that a repetition allocated and that is
//! still alive at the end was left behind. A place that leaves memory behind in every repetition leaks; one that does
//! so once is only initialization.
//!
//! Cost: one parallel pass over the rows born between the marks, and one over the sites; one lookup for each surviving
//! row.

use std::cmp::Reverse;

use rayon::prelude::*;

use super::{Bucket, Cancel, Cancelled, FunctionId, Functions, Index, LifetimeClass, Mask};
use crate::model::SiteId;
use crate::tables::KeyedMap;
use crate::units::{Interval, Layer, Ticks};

/// A query for generations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GenerationsRequest {
    /// Starts of the generations in order, and the end of the last.
    pub edges: Vec<Ticks>,
    /// Memory alive at this moment was left behind; must not be before the last edge.
    pub end: Ticks,
    /// The layer; layers nest, so each is queried separately.
    pub layer: Layer,
}

/// The memory that one place left behind.
#[derive(Clone, PartialEq, Debug)]
pub struct GenerationGroup {
    /// The responsible caller; `None` if no stack was recorded.
    pub function: Option<FunctionId>,
    /// Blocks left behind, by generation.
    pub left: Vec<Bucket>,
    /// Blocks left behind in all generations.
    pub all: Bucket,
    /// Number of generations in which it left memory behind.
    pub repeats: usize,
}

/// Returns the places that left memory behind, those with most generations first, then those with most bytes.
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
    // For each site, whether it counts, and its responsible caller.
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
