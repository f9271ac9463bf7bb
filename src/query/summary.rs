//! What a line of the graph does in a stretch of time, in few numbers: enough to
//! draw it, to find its peak, and to be put together with the next stretch.

use std::ops::{Add, AddAssign, Sub};

use crate::units::Ticks;

/// Numbers that values are counted in: narrow ones where no sum can overflow.
pub(super) trait Value: Copy + Ord + Default + Add<Output = Self> + Sub<Output = Self> + AddAssign {}
impl Value for i64 {}
impl Value for i128 {}

/// The steps of a value in a stretch of time, relative to its value before. Changes
/// at one tick are one step; if they cancel each other, none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Summary<N> {
    /// Number of steps, as far as [`Summary::MANY`].
    pub(super) steps: u8,
    /// Value behind the last step.
    pub(super) sum: N,
    /// Lowest and highest value behind a step, and when it was first reached.
    pub(super) low: N,
    pub(super) low_at: Ticks,
    pub(super) high: N,
    pub(super) high_at: Ticks,
    /// First and last step.
    pub(super) first: Ticks,
    pub(super) last: Ticks,
}

impl<N: Value> Summary<N> {
    /// More steps need not be told apart.
    pub(super) const MANY: u8 = 3;

    /// Adds a step to the value `to`.
    #[inline]
    pub(super) fn step(&mut self, at: Ticks, to: N) {
        if self.steps == 0 {
            (self.first, self.low, self.low_at, self.high, self.high_at) = (at, to, at, to, at);
        }
        if to < self.low {
            (self.low, self.low_at) = (to, at);
        }
        if to > self.high {
            (self.high, self.high_at) = (to, at);
        }
        (self.last, self.sum) = (at, to);
        self.steps = Self::MANY.min(self.steps + 1);
    }

    /// Adds the stretch that follows.
    pub(super) fn append(&mut self, next: &Self) {
        if next.steps == 0 {
            return;
        }
        if self.steps == 0 {
            *self = *next;
            return;
        }
        let (low, high) = (self.sum + next.low, self.sum + next.high);
        if low < self.low {
            (self.low, self.low_at) = (low, next.low_at);
        }
        if high > self.high {
            (self.high, self.high_at) = (high, next.high_at);
        }
        (self.last, self.sum) = (next.last, self.sum + next.sum);
        self.steps = Self::MANY.min(self.steps + next.steps);
    }

    /// The same in wider numbers.
    pub(super) fn widen<M: Value + From<N>>(&self) -> Summary<M> {
        let &Self { steps, sum, low, low_at, high, high_at, first, last } = self;
        Summary { steps, sum: sum.into(), low: low.into(), low_at, high: high.into(), high_at, first, last }
    }
}

/// Sums changes up, tick by tick, into a [`Summary`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sketch<N> {
    pub(super) summary: Summary<N>,
    now: N,
    at: Ticks,
}

impl<N: Value> Sketch<N> {
    /// Adds a change; ticks do not fall.
    #[inline]
    pub(super) fn change(&mut self, at: Ticks, delta: N) {
        if self.at != at {
            self.end_tick();
            self.at = at;
        }
        self.now += delta;
    }

    /// Makes the tick's changes one step, if they are one.
    #[inline]
    pub(super) fn end_tick(&mut self) {
        if self.now != self.summary.sum {
            self.summary.step(self.at, self.now);
        }
    }

    /// What happened before the tick at `at`; the sketch begins anew with that tick, if
    /// it has begun, which the second value tells.
    pub(super) fn split(&mut self, at: Ticks) -> (Summary<N>, bool) {
        if self.at != at {
            return (self.take(), false);
        }
        let before = std::mem::take(&mut self.summary);
        self.now = self.now - before.sum;
        (before, true)
    }

    /// What happened, tick included; the sketch begins anew.
    #[inline]
    pub(super) fn take(&mut self) -> Summary<N> {
        self.end_tick();
        let summary = self.summary;
        *self = Self { at: self.at, ..Self::default() };
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of one line, cut into two stretches at each place in turn.
    #[test]
    fn two_stretches_say_the_same_as_one() {
        let changes = [(1, 5), (1, -5), (2, 7), (3, -9), (3, 1), (4, 0), (5, 12), (9, -12), (9, 12), (10, -3)];
        let sketch = |changes: &[(i64, i64)]| {
            let mut sketch = Sketch::default();
            changes.iter().for_each(|&(at, delta)| sketch.change(Ticks(at), delta));
            sketch.take()
        };
        let whole = sketch(&changes);
        assert_eq!((whole.steps, whole.sum, whole.low, whole.high), (3, 8, -1, 11));
        assert_eq!((whole.first, whole.last, whole.low_at, whole.high_at), (Ticks(2), Ticks(10), Ticks(3), Ticks(5)));
        for cut in [0, 2, 3, 5, 6, 7, 9, 10] {
            let mut joined = sketch(&changes[..cut]);
            joined.append(&sketch(&changes[cut..]));
            assert_eq!(joined, whole, "cut at {cut}");
        }
    }
}
