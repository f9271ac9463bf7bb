//! What was alive at a moment of each heap's own: at the peak of its layer, or when its
//! process ended. Cost: one parallel pass over the rows for all of them.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Question;
use crate::query::{Bucket, Cancelled};
use crate::units::Ticks;

/// By site, what was alive at the moment of its heap; nothing where there is none.
pub(super) fn held(question: &Question<'_>, moments: &[Option<Ticks>]) -> Result<Vec<Bucket>, Cancelled> {
    let trace = question.index.trace();
    let moment_of = |i: usize, heap: usize| moments[heap].filter(|_| question.mask.classes(crate::model::SiteId(i as u32)) != 0);
    // A moment before everything has nothing alive.
    let of_site: Vec<Ticks> = trace
        .sites
        .iter()
        .enumerate()
        .map(|(i, site)| moment_of(i, site.heap.0 as usize).unwrap_or(Ticks::BEFORE_TRACE))
        .collect();
    let sums: Vec<(AtomicU64, AtomicU64)> = of_site.iter().map(|_| Default::default()).collect();
    let none = || ();
    question.index.fold(question.cancel, none, |(), visited| {
        let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
        visited.each(|at| {
            let site = sites[at].0 as usize;
            let moment = of_site[site];
            if chunk.birth(at) < moment && chunk.death(at) >= moment {
                let (count, size) = &sums[site];
                count.fetch_add(1, Ordering::Relaxed);
                // Sums saturate, as all do.
                let _ = size.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| Some(sum.saturating_add(chunk.size(at))));
            }
        });
    })?;
    Ok(sums.into_iter().map(|(count, size)| Bucket { count: count.into_inner(), size: size.into_inner() }).collect())
}
