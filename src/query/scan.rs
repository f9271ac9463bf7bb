//! The sums of an interval by a look at every row born before its end. Cost: some 5 ns a row and worker.

use rayon::prelude::*;

use super::fold::Visit;
use super::{Bucket, ByClass, Cancel, Cancelled, LifetimeClass};
use crate::units::Interval;

/// Classifies these rows. Parallel; each worker keeps sums of its own for all `sites`.
pub(super) fn scan(rows: Visit<'_>, sites: usize, interval: Interval, cancel: &Cancel) -> Result<Vec<ByClass>, Cancelled> {
    // Chunks inside the interval are more work than those long before it: each worker has some of both.
    let mut chunks = rows.born_before(interval.to);
    chunks.sort_by_key(|chunk| chunk % rayon::current_num_threads());
    let parts = rows.fold_chunks(
        &chunks,
        cancel,
        || SiteSums::new(sites),
        |sums, visited| {
            let (chunk, sites) = (visited.chunk, visited.chunk.sites());
            visited.each_in(interval, |at, class| sums.add_row(sites[at].0, class, chunk.size(at)));
        },
    )?;
    Ok(SiteSums::added(sites, &parts))
}

/// What one worker adds up by site. Each class is apart: nearly all rows are of one, whose sums
/// alone fit near the processor.
pub(super) struct SiteSums {
    sites: usize,
    /// Empty as long as no row is of the class.
    by_class: [Vec<Bucket>; 4],
}

impl SiteSums {
    pub(super) fn new(sites: usize) -> Self {
        Self { sites, by_class: Default::default() }
    }

    #[inline]
    pub(super) fn add_row(&mut self, site: u32, class: LifetimeClass, size: u64) {
        let sums = &mut self.by_class[class as usize];
        if sums.is_empty() {
            sums.resize(self.sites, Bucket::default());
        }
        sums[site as usize].add_row(size);
    }

    /// The sums of all workers.
    pub(super) fn added(sites: usize, parts: &[Self]) -> Vec<ByClass> {
        let mut sums = vec![ByClass::default(); sites];
        sums.par_chunks_mut(GRAIN).enumerate().for_each(|(i, sums)| {
            for part in parts {
                for (class, buckets) in LifetimeClass::ALL.into_iter().zip(&part.by_class) {
                    let buckets = buckets.iter().skip(i * GRAIN);
                    sums.iter_mut().zip(buckets).for_each(|(sum, bucket)| sum.get_mut(class).add(*bucket));
                }
            }
        });
        sums
    }
}

/// Sites that one worker adds up at a time.
const GRAIN: usize = 1 << 12;
