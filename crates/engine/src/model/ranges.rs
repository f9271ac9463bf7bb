//! Sets of address ranges `[from, to)`; ranges that only touch stay apart.

use std::collections::BTreeMap;

/// Disjoint ranges with a value each.
#[derive(Debug, Clone)]
pub(super) struct RangeMap<V> {
    /// Start → end and value.
    map: BTreeMap<u64, (u64, V)>,
}

impl<V> Default for RangeMap<V> {
    fn default() -> Self {
        Self { map: BTreeMap::new() }
    }
}

impl<V: Copy> RangeMap<V> {
    /// All ranges that overlap `[from, to)`, in order, whole.
    pub(super) fn overlapping(&self, from: u64, to: u64) -> Vec<(u64, u64, V)> {
        let first = self.map.range(..=from).next_back().map_or(from, |(&start, _)| start);
        if from >= to {
            return Vec::new();
        }
        self.map.range(first..to).filter(|(_, (end, _))| *end > from).map(|(&start, &(end, v))| (start, end, v)).collect()
    }

    /// Whether any range overlaps `[from, to)`. Cost: one search.
    pub(super) fn touches(&self, from: u64, to: u64) -> bool {
        // Of disjoint ranges the last one that begins before `to` ends last.
        from < to && self.map.range(..to).next_back().is_some_and(|(_, (end, _))| *end > from)
    }

    /// The parts of `[from, to)` that no range covers, in order.
    pub(super) fn gaps(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut at = from;
        for (start, end, _) in self.overlapping(from, to) {
            if start > at {
                gaps.push((at, start));
            }
            at = at.max(end);
        }
        if at < to {
            gaps.push((at, to));
        }
        gaps
    }

    /// Adds a range that is known to overlap none.
    pub(super) fn insert(&mut self, from: u64, to: u64, value: V) {
        self.map.insert(from, (to, value));
    }

    /// Removes the range that starts at `from`.
    pub(super) fn remove(&mut self, from: u64) {
        self.map.remove(&from);
    }

    /// The range that starts at `from`.
    pub(super) fn starting_at(&self, from: u64) -> Option<(u64, V)> {
        self.map.get(&from).copied()
    }

    /// All values.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.map.values_mut().map(|(_, value)| value)
    }

    /// Number of ranges.
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// All values, in order of address.
    pub(super) fn values(&self) -> impl Iterator<Item = V> + '_ {
        self.map.values().map(|&(_, v)| v)
    }
}

impl RangeMap<()> {
    /// Adds a range and joins it with those it overlaps.
    pub(super) fn cover(&mut self, mut from: u64, mut to: u64) {
        for (start, end, ()) in self.overlapping(from, to) {
            self.remove(start);
            (from, to) = (from.min(start), to.max(end));
        }
        self.insert(from, to, ());
    }

    /// Adds a range and joins it with those it overlaps or touches, so that few ranges stand for many.
    pub(super) fn merge(&mut self, mut from: u64, mut to: u64) {
        if from >= to {
            return;
        }
        for (start, end, ()) in self.overlapping(from.saturating_sub(1), to.saturating_add(1)) {
            self.remove(start);
            (from, to) = (from.min(start), to.max(end));
        }
        self.insert(from, to, ());
    }

    /// Removes `[from, to)`, and returns whether anything of it was there.
    pub(super) fn uncover(&mut self, from: u64, to: u64) -> bool {
        let touched = self.overlapping(from, to);
        for &(start, end, ()) in &touched {
            self.remove(start);
            if start < from {
                self.insert(start, from, ());
            }
            if end > to {
                self.insert(to, end, ());
            }
        }
        !touched.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_overlaps_are_complements() {
        let mut set = RangeMap::default();
        set.insert(10, 20, 'a');
        set.insert(20, 30, 'b');
        set.insert(40, 50, 'c');
        assert_eq!(set.gaps(0, 60), [(0, 10), (30, 40), (50, 60)]);
        assert_eq!(set.gaps(12, 45), [(30, 40)]);
        assert_eq!(set.overlapping(19, 21).len(), 2);
        assert_eq!(set.overlapping(30, 40), []);
        assert_eq!(set.overlapping(5, 5), []);
        for (from, to) in (0..60).flat_map(|from| (0..60).map(move |to| (from, to))) {
            assert_eq!(set.touches(from, to), !set.overlapping(from, to).is_empty(), "{from}..{to}");
        }
    }

    #[test]
    fn covering_joins_and_uncovering_splits() {
        let mut set = RangeMap::default();
        set.cover(0, 10);
        set.cover(10, 20); // touches only
        assert_eq!(set.starting_at(0), Some((10, ())));
        set.cover(5, 15);
        assert_eq!(set.starting_at(0), Some((20, ())));
        assert!(set.uncover(8, 12));
        assert!(!set.uncover(8, 12));
        assert_eq!(set.gaps(0, 20), [(8, 12)]);
    }

    #[test]
    fn merging_joins_what_touches() {
        let mut set = RangeMap::default();
        for (from, to) in [(10, 20), (30, 40), (20, 30), (0, 5), (50, 50)] {
            set.merge(from, to);
        }
        assert_eq!((set.len(), set.starting_at(10), set.starting_at(0)), (2, Some((40, ())), Some((5, ()))));
        set.merge(5, 10);
        assert_eq!((set.len(), set.starting_at(0)), (1, Some((40, ()))));
        set.merge(u64::MAX - 1, u64::MAX);
        assert_eq!(set.gaps(0, u64::MAX), [(40, u64::MAX - 1)]);
    }
}
