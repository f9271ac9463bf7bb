//! Bytes alive per site at equally spaced moments of an interval, from which growth and steps are detected. The sum of
//! any sites is the sum of their lines.
//!
//! Cost: one parallel pass over the rows into one table of at most some tens of MB; blocks that are allocated and freed
//! between two moments do not touch it.

use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};

use rayon::prelude::*;

use crate::query::{Cancel, Cancelled, Index};
use crate::units::{Interval, Ticks};

/// The table of live bytes. The caller assigns line numbers.
pub(super) struct Levels {
    /// The moments, including both edges of the interval.
    pub(super) moments: Vec<Ticks>,
    /// Prefix sums: by line, then by moment, the bytes alive in all lines before it.
    alive: Vec<i64>,
}

/// Largest number of cells in the table, unless there are very many lines.
const CELLS: usize = 4 << 20; // 32 MB
/// Largest and smallest number of steps between moments.
const MOST: usize = 128;
const LEAST: usize = 16;

/// Marks a site whose rows count for no line.
pub(super) const NO_LINE: u32 = u32::MAX;

impl Levels {
    /// Builds the table for the lines that `line_of` assigns to sites.
    pub(super) fn new(
        index: &Index,
        interval: Interval,
        line_of: &[u32],
        lines: usize,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let steps = (CELLS / lines.max(1)).clamp(LEAST, MOST);
        let scale = Scale::new(interval, steps);
        let width = steps + 1;
        // The first line comes before all others and stays 0.
        let table: Vec<AtomicI64> = (0..(lines + 1) * width).into_par_iter().map(|_| AtomicI64::new(0)).collect();
        let none = || ();
        index.fold(cancel, none, |(), visited| {
            let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
            // Rows are sorted by birth, and most die before the next moment.
            let mut first = 0;
            visited.each(|at| {
                let (birth, death) = (chunk.birth(at), chunk.death(at));
                if !scale.is_behind(birth, first) {
                    first = scale.behind(birth);
                }
                if scale.is_behind(death, first) {
                    return;
                }
                let (line, end) = (line_of[sites[at].0 as usize], scale.behind(death));
                if line != NO_LINE && first < end {
                    let size = i64::try_from(chunk.size(at)).unwrap_or(i64::MAX);
                    let cells = &table[(line as usize + 1) * width..][..width];
                    cells[first].fetch_add(size, Ordering::Relaxed);
                    if let Some(cell) = cells.get(end) {
                        cell.fetch_sub(size, Ordering::Relaxed);
                    }
                }
            });
        })?;
        let mut alive: Vec<i64> = table.into_iter().map(AtomicI64::into_inner).collect();
        alive.par_chunks_mut(width).for_each(|line| {
            for k in 1..width {
                line[k] = line[k].wrapping_add(line[k - 1]);
            }
        });
        for i in width..alive.len() {
            alive[i] = alive[i].wrapping_add(alive[i - width]);
        }
        Ok(Self { moments: scale.moments, alive })
    }

    /// Returns the bytes alive in a range of lines at some of the moments.
    pub(super) fn sum(&self, lines: Range<usize>, moments: Range<usize>) -> Vec<f64> {
        let width = self.moments.len();
        let before = |line: usize| &self.alive[line * width..][moments.clone()];
        before(lines.end).iter().zip(before(lines.start)).map(|(end, start)| end.wrapping_sub(*start) as f64).collect()
    }
}

/// Maps ticks to the moments around them.
struct Scale {
    moments: Vec<Ticks>,
    a_tick: f64,
}

impl Scale {
    fn new(interval: Interval, steps: usize) -> Self {
        let (from, length) = (i128::from(interval.from.0), i128::from(interval.to.0) - i128::from(interval.from.0));
        let moment = |k: usize| from + (length * k as i128) / steps as i128;
        let moments = (0..=steps).map(|k| Ticks(i64::try_from(moment(k)).unwrap_or(i64::MAX))).collect();
        Self { moments, a_tick: steps as f64 / (length.max(1) as f64) }
    }

    /// Returns whether [`Scale::behind`] of `t` is `k`.
    #[inline]
    fn is_behind(&self, t: Ticks, k: usize) -> bool {
        (k == 0 || self.moments[k - 1] <= t) && self.moments.get(k).is_none_or(|&moment| t < moment)
    }

    /// Returns the first moment that an event at `t` affects: the first one after it.
    #[inline]
    fn behind(&self, t: Ticks) -> usize {
        let last = self.moments.len() - 1;
        if t < self.moments[0] {
            return 0;
        }
        if t >= self.moments[last] {
            return last + 1;
        }
        // The estimate can be off by one due to rounding.
        let since = t.0.wrapping_sub(self.moments[0].0) as u64; // not before it
        let mut k = ((since as f64 * self.a_tick) as usize).min(last);
        while k > 0 && self.moments[k] > t {
            k -= 1;
        }
        while self.moments[k] <= t {
            k += 1;
        }
        k
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_found_by_guessing() {
        for (from, to, steps) in [(0, 1000, 7), (-50, 3, 128), (5, 5, 16), (i64::MIN + 1, i64::MAX - 1, 64), (0, 17, 16)] {
            let scale = Scale::new(Interval { from: Ticks(from), to: Ticks(to) }, steps);
            let near = scale.moments.iter().flat_map(|t| [t.0.saturating_sub(1), t.0, t.0.saturating_add(1)]);
            for t in near.chain([i64::MIN, i64::MAX]).map(Ticks) {
                let expected = scale.moments.partition_point(|&moment| moment <= t);
                assert_eq!(scale.behind(t), expected, "{t:?}");
                let found: Vec<usize> = (0..=scale.moments.len()).filter(|&k| scale.is_behind(t, k)).collect();
                assert_eq!(found, [expected], "{t:?}");
            }
        }
    }
}
