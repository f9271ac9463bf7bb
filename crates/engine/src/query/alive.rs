//! The blocks alive at a moment, which can be different for each site: at a peak, or when a process ended. Cost: one
//! parallel pass over the rows born before the last moment, for all sites; rows that died before the first are skipped.

use std::sync::atomic::{AtomicU64, Ordering};

use super::fold::Visit;
use super::{Bucket, Cancel, Cancelled, Index};
use crate::model::{Heap, Trace};
use crate::units::{Interval, Layer, Ticks};

/// Returns for each site the blocks alive at its moment; none for [`Ticks::BEFORE_TRACE`].
pub(super) fn alive_at(index: &Index, moments: &[Ticks], cancel: &Cancel) -> Result<Vec<Bucket>, Cancelled> {
    let sums: Vec<(AtomicU64, AtomicU64)> = moments.iter().map(|_| Default::default()).collect();
    let Some((first, last)) = first_and_last(moments.iter().copied()) else { return Ok(vec![Bucket::default(); moments.len()]) };
    let (rows, deaths, none) = (index.visit(), index.trace().last_deaths(), || ());
    // Most blocks that are alive were allocated not long before.
    rows.fold_chunks(&Visit::mixed(rows.born_before(last)), cancel, none, |(), visited| {
        let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
        visited.each_alive(deaths, first, |at| {
            let site = sites[at].0 as usize;
            let moment = moments[site];
            if chunk.birth(at) < moment && chunk.death(at) >= moment {
                let (count, size) = &sums[site];
                count.fetch_add(1, Ordering::Relaxed);
                // Saturating, like all sums.
                let _ = size.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| Some(sum.saturating_add(chunk.size(at))));
            }
        });
    })?;
    Ok(sums.into_iter().map(|(count, size)| Bucket { count: count.into_inner(), size: size.into_inner() }).collect())
}

/// Returns the first and the last of some moments, without [`Ticks::BEFORE_TRACE`], at which nothing is alive.
pub(super) fn first_and_last(moments: impl Iterator<Item = Ticks> + Clone) -> Option<(Ticks, Ticks)> {
    let asked = moments.filter(|&moment| moment > Ticks::BEFORE_TRACE);
    asked.clone().min().zip(asked.max())
}

/// Returns for each heap the end of its process, if it is inside the interval. Commit has none: Windows reclaims it at
/// exit.
pub(super) fn exits(trace: &Trace, interval: Interval) -> Vec<Option<Ticks>> {
    let end = |heap: &Heap| trace.process(heap.process).end.filter(|&end| interval.contains(end));
    trace.heaps.iter().map(|heap| end(heap).filter(|_| heap.layer != Layer::Commit)).collect()
}
