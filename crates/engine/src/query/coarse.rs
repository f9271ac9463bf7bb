//! Graph lines from a single pass over the rows: exact at the edges of bins, without peaks inside a bin. Shown while
//! the exact lines are computed, if that takes long.
//!
//! Cost: a parallel pass over the rows born before the end; the events need not be sorted.

use super::bins::Bins;
use super::series::{Series, draw};
use super::series_of::SeriesOf;
use super::summary::Summary;
use super::{Cancel, Cancelled, Index, LifetimeClass, Totals};
use crate::units::Ticks;

/// Largest number of sums (lines times bins) for each part of the rows.
const MOST: usize = 1 << 17;

/// Returns the lines over the interval of `totals`, at the edges of `bins` bins. `None` if the index has no prepared
/// data (sums could overflow), or if there are too many lines.
pub fn coarse_series(
    index: &Index,
    totals: &Totals,
    of: &SeriesOf,
    bins: usize,
    cancel: &Cancel,
) -> Result<Option<Vec<Series>>, Cancelled> {
    use LifetimeClass::{Aifi, Aifo, Aofi};
    let interval = totals.interval;
    let bins = Bins::new(interval, bins);
    let count = bins.count();
    if !index.is_drawn_at_all() || of.count.saturating_mul(count) > MOST {
        return Ok(None);
    }
    let visit = index.visit();
    let finder = Finder::new(&bins);
    let parts = visit.fold_evenly(
        &visit.born_before(interval.to),
        cancel,
        || vec![0i64; of.count * count],
        |changes, visited| {
            let (chunk, sites) = (visited.chunk, visited.chunk.sites());
            visited.each_in(interval, |at, class| {
                let Some(series) = of.site[sites[at].0 as usize] else { return };
                let (line, size) = (series as usize * count, chunk.size(at) as i64);
                if matches!(class, Aifi | Aifo) {
                    changes[line + finder.bin(chunk.birth(at))] += size;
                }
                if matches!(class, Aifi | Aofi) {
                    changes[line + finder.bin(chunk.death(at))] -= size;
                }
            });
        },
    )?;
    let mut changes = vec![0i64; of.count * count];
    parts.iter().for_each(|part| changes.iter_mut().zip(part).for_each(|(sum, more)| *sum += more));
    if of.is_stacked {
        // Each line includes the lines below it.
        (count..changes.len()).for_each(|i| changes[i] += changes[i - count]);
    }
    let base = totals.by_series(of, |numbers| numbers.outstanding_from);
    let line = |(changes, &value): (&[i64], &u64)| {
        // A bin's change is a step at its last tick, so that the next bin starts from the new value.
        let step = |(bin, &sum): (usize, &i64)| {
            let (at, sum) = (Ticks(bins.start(bin + 1).0.saturating_sub(1)), i128::from(sum));
            let steps = u8::from(sum != 0);
            Summary { steps, sum, low: sum, low_at: at, high: sum, high_at: at, first: at, last: at }
        };
        draw(interval, value, changes.iter().enumerate().map(step))
    };
    Ok(Some(changes.chunks(count).zip(&base).map(line).collect()))
}

/// Maps ticks to bins without a search.
struct Finder<'a> {
    bins: &'a Bins,
    from: Ticks,
    /// Bins per tick.
    scale: f64,
}

impl<'a> Finder<'a> {
    fn new(bins: &'a Bins) -> Self {
        let (from, to) = (bins.start(0), bins.start(bins.count()));
        Self { bins, from, scale: bins.count() as f64 / (to.0 as f64 - from.0 as f64).max(1.0) }
    }

    /// Returns the bin of a tick inside the interval.
    #[inline]
    fn bin(&self, t: Ticks) -> usize {
        let near = (t.0.wrapping_sub(self.from.0) as u64 as f64 * self.scale) as usize;
        let mut bin = near.min(self.bins.count() - 1);
        while self.bins.start(bin) > t {
            bin -= 1;
        }
        while self.bins.start(bin + 1) <= t {
            bin += 1;
        }
        bin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Interval;

    #[test]
    fn every_tick_is_found_in_the_bin_that_has_it() {
        for (from, to, count) in [(0, 10, 3), (-7, 1000, 50), (0, 5, 40), (i64::MIN + 1, i64::MAX - 1, 7)] {
            let bins = Bins::new(Interval { from: Ticks(from), to: Ticks(to) }, count);
            let finder = Finder::new(&bins);
            let step = ((i128::from(to) - i128::from(from)) / 97).max(1);
            for t in (0..).map(|i| i128::from(from) + i * step).take_while(|t| *t < i128::from(to)) {
                let t = Ticks(t as i64);
                let bin = finder.bin(t);
                assert!(bins.start(bin) <= t && t < bins.start(bin + 1), "{t:?} of {from} to {to} in {count}");
            }
        }
    }
}
