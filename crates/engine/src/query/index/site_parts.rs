//! The parts of a trace's rows in which each site occurs, so that the rows of few sites are found without a scan of all rows.
//!
//! Cost: at most 2 bytes per row, and 8 per site. To build it takes a parallel pass over the sites of all rows.

use std::ops::Range;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use rayon::prelude::*;

use crate::model::{CHUNK, SiteId, Trace};
use crate::query::{Bucket, Cancel, Cancelled};

/// Smallest number of rows in a part: they are scanned in microseconds.
const PART: usize = 1 << 12;

/// A part has a number of 16 bits.
const MOST_PARTS: usize = 1 << 16;

/// If sites occur this many times as often as there are parts, they are taken to be everywhere.
const EVERYWHERE: usize = 4;

/// The parts in which each site occurs.
#[derive(Debug)]
pub(in crate::query) struct SiteParts {
    /// Number of rows in a part: a power of two, so that a part is inside one chunk.
    size: usize,
    /// Number of rows of the trace.
    rows: usize,
    /// For each site, the range of its parts in `parts`.
    ranges: Vec<Range<u32>>,
    /// Numbers of parts, without duplicates in the range of a site, in no order.
    parts: Vec<u16>,
}

impl SiteParts {
    /// Finds the parts. `by_site` has the number of rows of each site.
    pub(super) fn of(trace: &Trace, by_site: &[Bucket], cancel: &Cancel) -> Result<Self, Cancelled> {
        let rows = trace.rows.len();
        let size = rows.div_ceil(MOST_PARTS).next_power_of_two().max(PART);
        let count = rows.div_ceil(size);
        // A site cannot occur in more parts than it has rows.
        let mut end = 0;
        let mut starts = Vec::with_capacity(by_site.len());
        for sum in by_site {
            starts.push(end);
            end += sum.count.min(count as u64) as u32; // at most the number of rows, which has 32 bits
        }
        let parts: Vec<AtomicU16> = std::iter::repeat_with(AtomicU16::default).take(end as usize).collect();
        let ends: Vec<AtomicU32> = starts.iter().map(|&start| AtomicU32::new(start)).collect();
        let chunks: Vec<usize> = (0..trace.rows.chunks().len()).collect();
        let per_worker = chunks.len().div_ceil(rayon::current_num_threads()).max(1);
        chunks.par_chunks(per_worker).try_for_each(|chunks| {
            // For each site the number of the last part in which it was found, plus 1.
            let mut found = vec![0u32; by_site.len()];
            for &i in chunks {
                cancel.check()?;
                for (at, sites) in trace.rows.chunk(i).sites().chunks(size).enumerate() {
                    let part = (i * CHUNK / size + at) as u32;
                    for site in sites.iter().map(|site| site.0 as usize) {
                        if found[site] != part + 1 {
                            found[site] = part + 1;
                            let place = ends[site].fetch_add(1, Ordering::Relaxed);
                            parts[place as usize].store(part as u16, Ordering::Relaxed);
                        }
                    }
                }
            }
            Ok(())
        })?;
        let ranges = starts.into_iter().zip(ends).map(|(start, end)| start..end.into_inner()).collect();
        Ok(Self { size, rows, ranges, parts: parts.into_iter().map(AtomicU16::into_inner).collect() })
    }

    /// Returns the rows in which some sites occur, as ranges in ascending order, each inside one chunk; `None` if these could
    /// be most rows.
    pub(in crate::query) fn rows_of(&self, sites: impl Iterator<Item = SiteId>) -> Option<Vec<Range<usize>>> {
        let count = self.rows.div_ceil(self.size);
        let mut has = vec![false; count];
        let mut looks = 0;
        for site in sites {
            let range = &self.ranges[site.0 as usize];
            looks += range.len();
            if looks > EVERYWHERE * count {
                return None;
            }
            let parts = &self.parts[range.start as usize..range.end as usize];
            parts.iter().for_each(|&part| has[usize::from(part)] = true);
        }
        let rows = |part: usize| part * self.size..((part + 1) * self.size).min(self.rows);
        Some((0..count).filter(|&part| has[part]).map(rows).collect())
    }

    /// Returns the bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        self.ranges.capacity() * size_of::<Range<u32>>() + self.parts.capacity() * size_of::<u16>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of 4 rows, in the order in which workers may have found them.
    fn parts() -> SiteParts {
        SiteParts { size: 4, rows: 10, ranges: vec![0..3, 3..3, 3..4, 4..5], parts: vec![2, 0, 1, 2, 0] }
    }

    #[test]
    fn rows_of_sites_are_ranges_in_ascending_order_that_end_with_the_trace() {
        let rows = |sites: &[u32]| parts().rows_of(sites.iter().copied().map(SiteId));
        assert_eq!(rows(&[]), Some(vec![]));
        assert_eq!(rows(&[1]), Some(vec![]));
        assert_eq!(rows(&[2, 3]), Some(vec![0..4, 8..10]));
        assert_eq!(rows(&[0]), Some(vec![0..4, 4..8, 8..10]));
    }

    #[test]
    fn sites_that_occur_nearly_everywhere_have_no_list() {
        assert_eq!(parts().rows_of([SiteId(0); 4].into_iter()).map(|rows| rows.len()), Some(3));
        assert_eq!(parts().rows_of([SiteId(0); 5].into_iter()), None);
    }
}
