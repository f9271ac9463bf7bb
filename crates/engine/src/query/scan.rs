//! Totals of an interval from a scan of all rows born before its end. Cost: about 5 ns per row and worker.

use std::sync::atomic::{AtomicU64, Ordering};

use super::fold::Visit;
use super::{Bucket, ByClass, Cancel, Cancelled};
use crate::units::Interval;

/// Adds up these rows by site and lifetime class. Parallel, into one table.
pub(super) fn scan(rows: Visit<'_>, sites: usize, interval: Interval, cancel: &Cancel) -> Result<Vec<ByClass>, Cancelled> {
    // Chunks inside the interval take longer than those long before it.
    let chunks = Visit::mixed(rows.born_before(interval.to));
    let all = SiteSums::<4>::new(sites);
    let parts = rows.fold_chunks(
        &chunks,
        cancel,
        || all.worker(),
        |sums, visited| {
            let (chunk, sites) = (visited.chunk, visited.chunk.sites());
            visited.each_in(interval, |at, class| sums.add_row(sites[at].0, class as usize, chunk.size(at)));
        },
    )?;
    parts.into_iter().for_each(WorkerSums::finish);
    Ok(all.by_class())
}

/// Sums of all workers by site and class; there are `N` classes. A table per worker would multiply the memory, which
/// matters with very many sites.
pub(super) struct SiteSums<const N: usize>(Vec<[SharedBucket; N]>);

/// A bucket that many workers add to. Saturating, like all sums.
#[derive(Default)]
struct SharedBucket {
    count: AtomicU64,
    size: AtomicU64,
}

impl SharedBucket {
    fn add(&self, bucket: Bucket) {
        self.count.fetch_add(bucket.count, Ordering::Relaxed); // of less than 2^32 rows
        let _ = self.size.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| Some(sum.saturating_add(bucket.size)));
    }

    fn into_bucket(self) -> Bucket {
        Bucket { count: self.count.into_inner(), size: self.size.into_inner() }
    }
}

impl<const N: usize> SiteSums<N> {
    pub(super) fn new(sites: usize) -> Self {
        Self(std::iter::repeat_with(|| std::array::from_fn(|_| SharedBucket::default())).take(sites).collect())
    }

    /// Creates the buffer of one worker.
    pub(super) fn worker(&self) -> WorkerSums<'_, N> {
        let kept = (N * self.0.len()).next_power_of_two().min(MOST_KEPT);
        WorkerSums { all: self, kept: vec![Kept::NOTHING; kept] }
    }

    fn add(&self, kept: &Kept) {
        if let Some(sums) = self.0.get(kept.place / N) {
            sums[kept.place % N].add(kept.sums);
        }
    }

    /// Returns the sums, once all workers have finished.
    pub(super) fn into_buckets(self) -> Vec<[Bucket; N]> {
        // Reuses the memory, since both types have the same size.
        self.0.into_iter().map(|sums| sums.map(SharedBucket::into_bucket)).collect()
    }
}

impl SiteSums<4> {
    /// Returns the sums by lifetime class, once all workers have finished.
    pub(super) fn by_class(self) -> Vec<ByClass> {
        self.into_buckets().into_iter().map(ByClass::of).collect()
    }
}

/// Largest number of sums that a worker buffers: few enough to fit into the cache.
const MOST_KEPT: usize = 1 << 15;

/// A worker's buffer of recent sums, which it has not added to the shared table yet. If there are more sums than slots,
/// several share a slot. The buffer avoids contention on sites with many rows, which all workers encounter.
pub(super) struct WorkerSums<'a, const N: usize> {
    all: &'a SiteSums<N>,
    kept: Vec<Kept>,
}

#[derive(Clone, Copy)]
struct Kept {
    /// Index of site and class.
    place: usize,
    sums: Bucket,
}

impl Kept {
    const NOTHING: Self = Self { place: usize::MAX, sums: Bucket { count: 0, size: 0 } };
}

impl<const N: usize> WorkerSums<'_, N> {
    #[inline]
    pub(super) fn add_row(&mut self, site: u32, class: usize, size: u64) {
        let place = N * site as usize + class;
        let at = place & (self.kept.len() - 1);
        let kept = &mut self.kept[at];
        if kept.place != place {
            self.all.add(kept);
            *kept = Kept { place, ..Kept::NOTHING };
        }
        kept.sums.add_row(size);
    }

    /// Adds everything that is left to the shared table.
    pub(super) fn finish(self) {
        self.kept.iter().for_each(|kept| self.all.add(kept));
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    /// Numbers that look random (splitmix64).
    fn scattered(seed: u64) -> impl Iterator<Item = u64> {
        (seed..).map(|n| {
            let n = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let n = (n ^ (n >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let n = (n ^ (n >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            n ^ (n >> 31)
        })
    }

    #[test]
    fn workers_add_up_what_one_would_however_many_sites_share_a_place() {
        for sites in [1, 7, 1000, MOST_KEPT, 5 * MOST_KEPT + 3] {
            let rows = |worker: u64| {
                let row = move |n: u64| ((n % sites as u64) as u32, (n >> 32) as usize % 4, n >> 2);
                scattered(worker << 32).map(row).take(40_000)
            };
            let all = SiteSums::<4>::new(sites);
            (0..8).into_par_iter().for_each(|worker| {
                let mut sums = all.worker();
                rows(worker).for_each(|(site, class, size)| sums.add_row(site, class, size));
                sums.finish();
            });
            let mut expected = vec![[Bucket::default(); 4]; sites];
            (0..8).flat_map(rows).for_each(|(site, class, size)| expected[site as usize][class].add_row(size));
            assert!(all.into_buckets() == expected, "{sites} sites");
        }
    }
}
