//! A summary of a graph line in a stretch of time: a few numbers that suffice to draw it, to find its peak, and to
//! combine it with the next stretch.

use std::ops::{Add, AddAssign, Sub};

use crate::units::Ticks;

/// The number type of values: 64 bits if no sum can overflow.
pub(super) trait Value: Copy + Ord + Default + Add<Output = Self> + Sub<Output = Self> + AddAssign {}
impl Value for i64 {}
impl Value for i128 {}

/// The steps of a value in a stretch of time, relative to its value before. Changes at one tick are one step, or none
/// if they cancel each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Summary<N> {
    /// Number of steps, at most [`Summary::MANY`].
    pub(super) steps: u8,
    /// Value after the last step.
    pub(super) sum: N,
    /// Lowest and highest value after a step, and when each was first reached.
    pub(super) low: N,
    pub(super) low_at: Ticks,
    pub(super) high: N,
    pub(super) high_at: Ticks,
    /// Time of the first and of the last step.
    pub(super) first: Ticks,
    pub(super) last: Ticks,
}

impl<N: Value> Summary<N> {
    /// Step counts of this many or more are not distinguished.
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

    /// Appends the stretch that follows.
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

    /// Converts to a wider number type.
    pub(super) fn widen<M: Value + From<N>>(&self) -> Summary<M> {
        let &Self { steps, sum, low, low_at, high, high_at, first, last } = self;
        Summary { steps, sum: sum.into(), low: low.into(), low_at, high: high.into(), high_at, first, last }
    }
}

/// Adds up changes, tick by tick, into a [`Summary`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sketch<N> {
    pub(super) summary: Summary<N>,
    now: N,
    at: Ticks,
}

impl<N: Value> Sketch<N> {
    /// Adds a change; ticks must not decrease.
    #[inline]
    pub(super) fn change(&mut self, at: Ticks, delta: N) {
        if self.at != at {
            self.end_tick();
            self.at = at;
        }
        self.now += delta;
    }

    /// Turns the changes of the current tick into a step, unless they cancel each other.
    #[inline]
    pub(super) fn end_tick(&mut self) {
        if self.now != self.summary.sum {
            self.summary.step(self.at, self.now);
        }
    }

    /// Returns the summary before the tick at `at`, and whether that tick has begun. The sketch restarts, with that
    /// tick if it has begun.
    pub(super) fn split(&mut self, at: Ticks) -> (Summary<N>, bool) {
        if self.at != at {
            return (self.take(), false);
        }
        let before = std::mem::take(&mut self.summary);
        self.now = self.now - before.sum;
        (before, true)
    }

    /// Returns the summary including the current tick; the sketch restarts.
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

    /// Splits the steps of one line into two stretches, at each position in turn.
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
