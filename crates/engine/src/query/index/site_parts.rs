//! The parts of a trace's rows in which each site occurs, so that the rows of few sites are found without a scan of all rows.
//!
//! Cost: at most 2 bytes per row, and 8 per site. To build it takes a pass over the sites of all rows, on a thread of its own: until
//! then, all rows are scanned.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::thread;

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
    /// Numbers of parts, without duplicates in the range of a site, in ascending order.
    parts: Vec<u16>,
}

/// The parts, once they are found.
#[derive(Debug, Default)]
pub(super) struct AwaitedParts {
    found: Arc<OnceLock<Arc<SiteParts>>>,
    /// Ends the search.
    cancel: Cancel,
}

impl AwaitedParts {
    /// Parts that were found.
    pub(super) fn of(parts: SiteParts) -> Self {
        Self { found: Arc::new(OnceLock::from(Arc::new(parts))), cancel: Cancel::default() }
    }

    /// Has a thread find the parts. `by_site` has the number of rows of each site. If no thread starts, they are never found.
    pub(super) fn search(trace: &Arc<Trace>, by_site: &[Bucket]) -> Self {
        let awaited = Self::default();
        let (trace, by_site) = (Arc::clone(trace), by_site.to_vec());
        let (found, cancel) = (Arc::clone(&awaited.found), awaited.cancel.clone());
        let search = move || SiteParts::of(&trace, &by_site, &cancel).map(|parts| found.set(Arc::new(parts)));
        let _ = thread::Builder::new().name("site parts".to_owned()).spawn(search);
        awaited
    }

    /// Returns the parts if they are found.
    pub(super) fn get(&self) -> Option<&Arc<SiteParts>> {
        self.found.get()
    }
}

impl Drop for AwaitedParts {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
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
        let (mut parts, mut ends) = (vec![0; end as usize], starts.clone());
        // For each site the number of the last part in which it was found, plus 1.
        let mut found = vec![0u32; by_site.len()];
        for (i, chunk) in trace.rows.chunks().enumerate() {
            cancel.check()?;
            for (at, sites) in chunk.sites().chunks(size).enumerate() {
                let part = (i * CHUNK / size + at) as u32;
                for site in sites.iter().map(|site| site.0 as usize) {
                    if found[site] != part + 1 {
                        found[site] = part + 1;
                        parts[ends[site] as usize] = part as u16;
                        ends[site] += 1;
                    }
                }
            }
        }
        let ranges = starts.into_iter().zip(ends).map(|(start, end)| start..end).collect();
        Ok(Self { size, rows, ranges, parts })
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

    /// Parts of 4 rows.
    fn parts() -> SiteParts {
        SiteParts { size: 4, rows: 10, ranges: vec![0..3, 3..3, 3..4, 4..5], parts: vec![0, 1, 2, 2, 0] }
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
