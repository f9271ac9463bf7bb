//! Positions of the checkpoints of a trace, and the layout of the layers of sums.
//!
//! Checkpoints are numbered from 0, "before everything", where all sums are 0, to the last, "after everything". Each
//! [`COARSE`]th of them is a coarse one, and so is the last.

use super::order::{EventOrder, EventPosition};
use crate::model::Trace;
use crate::units::Ticks;

/// A tick, and its position in the order of events.
pub(super) type Moment = (Ticks, EventPosition);

/// The checkpoints of a trace.
#[derive(Debug)]
pub(super) struct Checkpoints {
    moments: Vec<Moment>,
}

/// Number of steps from one coarse checkpoint to the next.
const COARSE: usize = 4;

/// Largest useful number of checkpoints.
const MOST: usize = 256;

impl Checkpoints {
    /// Picks at most `count` checkpoints between both ends.
    pub(super) fn new(trace: &Trace, order: &EventOrder, count: usize) -> Self {
        let mut moments = vec![(Ticks::BEFORE_TRACE, EventPosition::default())];
        moments.extend(pick(trace, order, count));
        moments.push((Ticks::NEVER, EventOrder::end(&trace.rows)));
        Self { moments }
    }

    /// Returns the largest number of checkpoints that need at most so many layers.
    pub(super) fn affordable(layers: usize) -> usize {
        let needed = |count: usize| Self { moments: vec![Default::default(); count + 2] }.layers();
        (0..=MOST).rev().find(|&count| needed(count) <= layers).unwrap_or(0)
    }

    /// Returns tick and position of a checkpoint.
    pub(super) fn at(&self, k: usize) -> Moment {
        self.moments[k]
    }

    /// Returns the last checkpoint at or before the birth of a row, by row number.
    pub(super) fn strip_of_birth(&self, row: u32) -> usize {
        self.moments.partition_point(|(_, place)| place.birth <= row).saturating_sub(1)
    }

    /// Returns the last checkpoint at or before a death, by its place in the order of deaths.
    pub(super) fn strip_of_death(&self, death: u32) -> usize {
        self.moments.partition_point(|(_, place)| place.death <= death).saturating_sub(1)
    }

    /// Returns the number of the last checkpoint.
    pub(super) fn last(&self) -> usize {
        self.moments.len() - 1
    }

    /// Returns the number of the last checkpoint among the coarse ones.
    fn last_coarse(&self) -> usize {
        self.last().div_ceil(COARSE)
    }

    /// Returns the number, among the coarse ones, of the last coarse checkpoint at or before `k`.
    fn coarse(&self, k: usize) -> usize {
        if k == self.last() { self.last_coarse() } else { k / COARSE }
    }

    /// Returns the next coarse checkpoint after the strip from `k` to its neighbour.
    pub(super) fn coarse_behind(&self, k: usize) -> usize {
        ((k / COARSE + 1) * COARSE).min(self.last())
    }

    /// Returns the last coarse checkpoint at or before `k`.
    pub(super) fn coarse_before(&self, k: usize) -> usize {
        (self.coarse(k) * COARSE).min(self.last())
    }

    /// Returns the last checkpoint at or before `t`, searching from `from` on.
    pub(super) fn before(&self, t: Ticks, from: usize) -> usize {
        match t {
            Ticks::NEVER => self.last(),
            _ => from + self.moments[from + 1..].iter().take_while(|(at, _)| *at <= t).count(),
        }
    }

    /// Returns the checkpoint nearest to a position.
    pub(super) fn nearest(&self, place: EventPosition) -> usize {
        self.nearest_of(0..=self.last(), place)
    }

    /// Returns the coarse checkpoint nearest to a position, starting with the coarse one `first`.
    pub(super) fn nearest_coarse(&self, place: EventPosition, first: usize) -> usize {
        self.nearest_of((first..=self.last()).filter(|&k| self.coarse_before(k) == k), place)
    }

    fn nearest_of(&self, mut among: impl Iterator<Item = usize>, place: EventPosition) -> usize {
        among.by_ref().min_by_key(|&k| self.moments[k].1.distance(place)).unwrap_or(0)
    }

    /// Returns the number of layers for rows born.
    pub(super) fn born_layers(&self) -> usize {
        self.last()
    }

    /// Returns the number of layers for lasting rows.
    pub(super) fn lasting_layers(&self) -> usize {
        let coarse = self.last_coarse();
        self.last() + coarse * (coarse - 1) / 2
    }

    fn layers(&self) -> usize {
        self.born_layers() + self.lasting_layers()
    }

    /// Returns the layer of rows born before `k`; the first checkpoint has none.
    pub(super) fn born(&self, k: usize) -> Option<usize> {
        k.checked_sub(1)
    }

    /// Returns the layer of rows born before `i` that are alive at `j`. Either `i == j`, or both are coarse and `i <
    /// j`.
    pub(super) fn lasting(&self, i: usize, j: usize) -> Option<usize> {
        if i == j || i == 0 {
            return i.checked_sub(1);
        }
        let (i, j) = (self.coarse(i), self.coarse(j));
        // After the layers of single checkpoints and of coarse pairs with smaller `i`.
        let before = (i - 1) * self.last_coarse() - i * (i - 1) / 2;
        Some(self.last() + before + j - i - 1)
    }

    /// Returns all pairs of coarse checkpoints except the first one, ordered by the earlier one.
    pub(super) fn coarse_pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let last = self.last_coarse();
        let fine = move |c: usize| (c * COARSE).min(self.last());
        (1..last).flat_map(move |i| (i + 1..=last).map(move |j| (fine(i), fine(j))))
    }
}

/// Picks at most `count` moments with about equal numbers of events between them.
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
