//! Where the checkpoints of a trace are, and which layer of sums holds what.
//!
//! Checkpoints are numbered from 0, "before everything", where all sums are 0, to
//! the last, "behind everything". Each [`COARSE`]th of them is a coarse one, and
//! so is the last.

use super::order::{EventOrder, EventPosition};
use crate::model::Trace;
use crate::units::Ticks;

/// A moment, and what lies before it.
pub(super) type Moment = (Ticks, EventPosition);

/// The checkpoints of a trace.
#[derive(Debug)]
pub(super) struct Checkpoints {
    moments: Vec<Moment>,
}

/// Steps from one coarse checkpoint to the next.
const COARSE: usize = 4;

/// More checkpoints than this are of no use.
const MOST: usize = 256;

impl Checkpoints {
    /// At most `count` between both ends.
    pub(super) fn new(trace: &Trace, order: &EventOrder, count: usize) -> Self {
        let mut moments = vec![(Ticks::BEFORE_TRACE, EventPosition::default())];
        moments.extend(pick(trace, order, count));
        moments.push((Ticks::NEVER, EventOrder::end(&trace.rows)));
        Self { moments }
    }

    /// How many have no more than so many layers.
    pub(super) fn affordable(layers: usize) -> usize {
        let needed = |count: usize| Self { moments: vec![Default::default(); count + 2] }.layers();
        (0..=MOST).rev().find(|&count| needed(count) <= layers).unwrap_or(0)
    }

    /// Tick and place of a checkpoint.
    pub(super) fn at(&self, k: usize) -> Moment {
        self.moments[k]
    }

    /// The number of the last.
    pub(super) fn last(&self) -> usize {
        self.moments.len() - 1
    }

    /// The number of the last among the coarse ones.
    fn last_coarse(&self) -> usize {
        self.last().div_ceil(COARSE)
    }

    /// How many coarse ones lie before `k`, but for the first.
    fn coarse(&self, k: usize) -> usize {
        if k == self.last() { self.last_coarse() } else { k / COARSE }
    }

    /// The next coarse one behind the strip from `k` to its neighbour.
    pub(super) fn coarse_behind(&self, k: usize) -> usize {
        ((k / COARSE + 1) * COARSE).min(self.last())
    }

    /// The last coarse one at or before `k`.
    pub(super) fn coarse_before(&self, k: usize) -> usize {
        (self.coarse(k) * COARSE).min(self.last())
    }

    /// The last at or before `t`, if that is `from` or a later one.
    pub(super) fn before(&self, t: Ticks, from: usize) -> usize {
        match t {
            Ticks::NEVER => self.last(),
            _ => from + self.moments[from + 1..].iter().take_while(|(at, _)| *at <= t).count(),
        }
    }

    /// The one next to a place.
    pub(super) fn nearest(&self, place: EventPosition) -> usize {
        self.nearest_of(0..=self.last(), place)
    }

    /// The coarse one next to a place, from the coarse one `first` on.
    pub(super) fn nearest_coarse(&self, place: EventPosition, first: usize) -> usize {
        self.nearest_of((first..=self.last()).filter(|&k| self.coarse_before(k) == k), place)
    }

    fn nearest_of(&self, mut among: impl Iterator<Item = usize>, place: EventPosition) -> usize {
        among.by_ref().min_by_key(|&k| self.moments[k].1.distance(place)).unwrap_or(0)
    }

    /// Layers of rows born.
    pub(super) fn born_layers(&self) -> usize {
        self.last()
    }

    /// Layers of rows that last.
    pub(super) fn lasting_layers(&self) -> usize {
        let coarse = self.last_coarse();
        self.last() + coarse * (coarse - 1) / 2
    }

    fn layers(&self) -> usize {
        self.born_layers() + self.lasting_layers()
    }

    /// The layer of rows born before `k`; the first checkpoint has none.
    pub(super) fn born(&self, k: usize) -> Option<usize> {
        k.checked_sub(1)
    }

    /// The layer of rows born before `i` that last until `j`: either both are the
    /// same or both are coarse, `i < j`.
    pub(super) fn lasting(&self, i: usize, j: usize) -> Option<usize> {
        if i == j || i == 0 {
            return i.checked_sub(1);
        }
        let (i, j) = (self.coarse(i), self.coarse(j));
        // Behind those of single checkpoints and those of coarse ones before i.
        let before = (i - 1) * self.last_coarse() - i * (i - 1) / 2;
        Some(self.last() + before + j - i - 1)
    }

    /// All pairs of coarse checkpoints but the first, the earlier ones before the later.
    pub(super) fn coarse_pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let last = self.last_coarse();
        let fine = move |c: usize| (c * COARSE).min(self.last());
        (1..last).flat_map(move |i| (i + 1..=last).map(move |j| (fine(i), fine(j))))
    }
}

/// At most `count` moments with about equal numbers of events between them.
fn pick(trace: &Trace, order: &EventOrder, count: usize) -> Vec<Moment> {
    if count == 0 {
        return Vec::new();
    }
    let cuts = order.cuts(&trace.rows, EventPosition::default(), EventOrder::end(&trace.rows), (8 * count).max(256));
    let all = EventOrder::end(&trace.rows).events();
    let wanted = |k: usize| all * k as u64 / (count as u64 + 1);
    let nearest = |k: usize| cuts.iter().copied().min_by_key(|(_, place)| place.events().abs_diff(wanted(k)));
    let mut picked: Vec<Moment> = (1..=count).filter_map(nearest).collect();
    picked.dedup_by_key(|(t, _)| *t);
    picked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sum_has_a_layer_of_its_own() {
        for count in 0..20 {
            let checkpoints = Checkpoints { moments: vec![Default::default(); count + 2] };
            let single = (1..=checkpoints.last()).map(|k| checkpoints.lasting(k, k));
            let pairs = checkpoints.coarse_pairs().map(|(i, j)| checkpoints.lasting(i, j));
            let layers: Vec<_> = single.chain(pairs).collect();
            assert_eq!(layers, (0..checkpoints.lasting_layers()).map(Some).collect::<Vec<_>>());
            assert!((1..=checkpoints.last()).all(|k| checkpoints.lasting(0, k).is_none()));
        }
    }

    #[test]
    fn as_many_checkpoints_as_layers_allow() {
        for layers in 0..200 {
            let count = Checkpoints::affordable(layers);
            let needed = |count: usize| Checkpoints { moments: vec![Default::default(); count + 2] }.layers();
            assert!(count == 0 || needed(count) <= layers);
            assert!(needed(count + 1) > layers);
        }
    }
}
