//! Bins of a graph.

use crate::units::{Interval, Ticks};

/// The bins of a graph: the interval divided into about equal lengths.
pub(super) struct Bins {
    /// Start of each bin, and the end of the last; never decreasing.
    edges: Vec<Ticks>,
}

impl Bins {
    /// Creates bins of the same length, as far as ticks allow.
    pub(super) fn new(interval: Interval, count: usize) -> Self {
        let (from, to) = (i128::from(interval.from.0), i128::from(interval.to.0));
        let (length, count) = ((to - from).max(0), count.max(1) as i128);
        let edge = |k: i128| Ticks(i64::try_from(from + (k * length + count - 1) / count).unwrap_or(i64::MAX));
        Self { edges: (0..=count).map(edge).collect() }
    }

    /// Moves edges to ticks at which a bin is cheap to start, by less than half a bin. A bin is drawn exactly wherever
    /// it starts, so this is invisible.
    pub(super) fn move_edges(&mut self, cheap: impl Fn(Ticks) -> Option<Ticks>) {
        let last = self.edges.len() - 1;
        let length = i128::from(self.edges[last].0) - i128::from(self.edges[0].0);
        for edge in &mut self.edges[1..last] {
            let near = |to: &Ticks| 2 * last as i128 * (i128::from(to.0) - i128::from(edge.0)).abs() < length;
            if let Some(to) = cheap(*edge).filter(near) {
                *edge = to;
            }
        }
    }

    pub(super) fn count(&self) -> usize {
        self.edges.len() - 1
    }

    /// Returns the first tick of a bin; for the index after the last bin, the end.
    pub(super) fn start(&self, bin: usize) -> Ticks {
        self.edges[bin]
    }

    /// Returns the end of the bin that contains a tick of the interval.
    pub(super) fn end(&self, t: Ticks) -> Ticks {
        let behind = self.edges.partition_point(|&edge| edge <= t);
        self.edges.get(behind).copied().unwrap_or(Ticks::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Start and end of an interval, and a number of bins.
    const INTERVALS: [(i64, i64, usize); 5] =
        [(0, 10, 3), (-7, 1000, 50), (0, 5, 40), (0, 0, 3), (i64::MIN + 1, i64::MAX - 1, 7)];

    #[test]
    fn bins_are_of_the_same_length_and_fill_the_interval() {
        for (from, to, count) in INTERVALS {
            let bins = Bins::new(Interval { from: Ticks(from), to: Ticks(to) }, count);
            assert_eq!((bins.count(), bins.start(0), bins.start(count)), (count, Ticks(from), Ticks(to)));
            let length = |bin: usize| i128::from(bins.start(bin + 1).0) - i128::from(bins.start(bin).0);
            let lengths = (0..count).map(length);
            assert!(lengths.clone().max().unwrap_or(0) - lengths.min().unwrap_or(0) <= 1, "{from} {to} {count}");
        }
    }

    #[test]
    fn every_tick_is_in_the_bin_that_ends_behind_it() {
        let bins = Bins::new(Interval { from: Ticks(0), to: Ticks(5) }, 40);
        for t in 0..5 {
            assert_eq!(bins.end(Ticks(t)), Ticks(t + 1));
        }
    }

    #[test]
    fn edges_move_by_less_than_half_a_bin_and_stay_in_order() {
        for (from, to, count) in INTERVALS {
            let interval = Interval { from: Ticks(from), to: Ticks(to) };
            for grid in [1, 3, 7, 11, 1 << 40] {
                let (plain, mut moved) = (Bins::new(interval, count), Bins::new(interval, count));
                moved.move_edges(|edge| Some(Ticks(edge.0 / grid * grid)));
                let length = i128::from(to) - i128::from(from);
                let far = |(a, b): (&Ticks, &Ticks)| 2 * (i128::from(a.0) - i128::from(b.0)).abs() * count as i128;
                assert!(plain.edges.iter().zip(&moved.edges).all(|edges| far(edges) < length.max(1)));
                assert!(moved.edges.is_sorted(), "{from} {to} {count} {grid}");
                assert_eq!((moved.start(0), moved.start(count)), (Ticks(from), Ticks(to)));
            }
        }
    }
}
