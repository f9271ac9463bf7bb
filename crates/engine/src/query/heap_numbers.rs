//! Numbers of each heap in an interval, and the bytes that it held at chosen moments: for exports to programs that have
//! no index.
//!
//! Cost: the totals and a pass over the events for numbers and peaks; for the moments one parallel scan of the rows,
//! with a number per heap, moment and worker.

use super::line_tree::NOBODY;
use super::peaks::line_peaks;
use super::{ByClass, Cancel, Cancelled, Index, LifetimeClass, Mask, Numbers, totals};
use crate::model::SiteId;
use crate::units::{Interval, Ticks};

/// Numbers of one heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeapNumbers {
    /// Numbers as in the table.
    pub numbers: Numbers,
    /// Peak of outstanding bytes, both edges included.
    pub peak: u64,
}

/// Returns the numbers of all heaps, by [`HeapId`](crate::model::HeapId).
pub fn heap_numbers(index: &Index, interval: Interval, mask: &Mask, cancel: &Cancel) -> Result<Vec<HeapNumbers>, Cancelled> {
    let trace = index.trace();
    let mut sums = vec![ByClass::default(); trace.heaps.len()];
    for (site, buckets) in totals(index, interval, cancel)?.sites() {
        sums[trace.site(site).heap.0 as usize].add(&buckets.only(mask.classes(site)));
    }
    let numbers: Vec<Numbers> = sums.iter().map(ByClass::numbers).collect();
    let now: Vec<u64> = numbers.iter().map(|numbers| numbers.outstanding_from).collect();
    let line = |(site, heap): (SiteId, u32)| LifetimeClass::ALL.map(|class| if mask.has(site, class) { heap } else { NOBODY });
    let lines_of = (0..).map(SiteId).zip(trace.sites.iter().map(|site| site.heap.0)).map(line).collect();
    let peaks = line_peaks(index, interval, &now, lines_of, |_| None, cancel)?;
    Ok(numbers.into_iter().zip(peaks).map(|(numbers, peak)| HeapNumbers { numbers, peak }).collect())
}

/// Returns for each heap the bytes that it held at some moments of an interval, which must be in time order. The index
/// and the mask select the rows.
pub fn heap_series(
    index: &Index,
    interval: Interval,
    mask: &Mask,
    moments: &[Ticks],
    cancel: &Cancel,
) -> Result<Vec<Vec<u64>>, Cancelled> {
    let trace = index.trace();
    // Changes by heap and moment, modulo 2^64; the sums wrap, too.
    let width = moments.len() + 1;
    let parts = index.fold(
        cancel,
        || vec![0u64; trace.heaps.len() * width],
        |changes, visited| {
            let (chunk, sites) = (visited.chunk, visited.chunk.sites());
            visited.each_in(interval, |at, class| {
                let site = sites[at];
                if !mask.has(site, class) {
                    return;
                }
                let line = &mut changes[trace.site(site).heap.0 as usize * width..][..width];
                // A block is alive at t if it was born before t and did not die before t.
                let behind = |t: Ticks| moments.partition_point(|&moment| moment <= t);
                let (born, died, size) = (behind(chunk.birth(at)), behind(chunk.death(at)), chunk.size(at));
                line[born] = line[born].wrapping_add(size);
                line[died] = line[died].wrapping_sub(size);
            });
        },
    )?;
    let series = |heap: usize| {
        let mut now = 0u64;
        let change = |moment: usize| parts.iter().fold(0u64, |sum, part| sum.wrapping_add(part[heap * width + moment]));
        let held = |moment: usize| {
            now = now.wrapping_add(change(moment));
            now
        };
        (0..moments.len()).map(held).collect()
    };
    Ok((0..trace.heaps.len()).map(series).collect())
}
