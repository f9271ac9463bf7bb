//! Buckets of sizes (powers of two) and of lifetimes (decades of seconds), for grouping rows and for drawing
//! histograms.

use serde::Serialize;

use crate::model::Clock;
use crate::units::Ticks;

use super::row_set::lifetime_of;
use super::{Bounds, RowCondition};

/// Sizes in `[2^k, 2^(k+1))`; size 0 has a bucket of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SizeBucket(u8);

impl SizeBucket {
    /// Number of buckets.
    pub const COUNT: usize = 65;

    /// Returns the bucket of a size.
    #[inline]
    pub fn of(size: u64) -> Self {
        Self((u64::BITS - size.leading_zeros()) as u8)
    }

    /// Returns all buckets, smallest sizes first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }

    /// Returns its index among all buckets.
    #[inline]
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// Returns the smallest size in it, and the smallest of the next bucket (for the last one `u64::MAX`).
    pub fn bounds(self) -> [u64; 2] {
        let power = |k: u8| 1u64.checked_shl(k.into()).unwrap_or(u64::MAX);
        match self.0 {
            0 => [0, 1],
            k => [power(k - 1), power(k)],
        }
    }

    /// Returns the condition that exactly its sizes meet.
    pub fn condition(self) -> RowCondition {
        let [from, to] = self.bounds();
        let is_last = self.index() + 1 == Self::COUNT;
        RowCondition::Size(Bounds { from: Some(from), to: (!is_last).then_some(to) })
    }
}

/// Lifetimes in `[10^k, 10^(k+1))` seconds. Lifetimes below a microsecond share one bucket; so do unknown lifetimes, of
/// blocks that were never freed or that existed before the trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LifetimeBucket(u8);

/// The power of ten at which the second bucket begins.
const FIRST_DECADE: i32 = -6;

/// Number of decades of 2^63 ticks with a clock of one tick per second, plus the decades below a second.
const DECADES: usize = 19 + 6;

impl LifetimeBucket {
    /// Number of buckets.
    pub const COUNT: usize = DECADES + 2;

    /// The bucket of unknown lifetimes.
    pub const ENDLESS: Self = Self(Self::COUNT as u8 - 1);

    /// Returns all buckets, shortest lifetimes first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }

    /// Returns its index among all buckets.
    #[inline]
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// Returns its bounds in seconds.
    pub fn bounds(self) -> LifetimeBounds {
        let power = |k: i32| if k < 0 { 1.0 / 10f64.powi(-k) } else { 10f64.powi(k) };
        let first = FIRST_DECADE + i32::from(self.0) - 1;
        match self {
            Self::ENDLESS => LifetimeBounds(0.0, None),
            Self(0) => LifetimeBounds(0.0, Some(power(FIRST_DECADE))),
            Self(_) => LifetimeBounds(power(first), Some(power(first + 1))),
        }
    }

    /// Returns the condition that exactly its lifetimes meet, on one clock.
    pub fn condition(self, clock: &Clock) -> RowCondition {
        let starts = Decades::new(clock).starts;
        // No known lifetime reaches the largest number.
        let start = |i: usize| starts.get(i).copied().unwrap_or(i64::MAX);
        RowCondition::Lifetime(match self {
            Self::ENDLESS => Bounds { from: Some(i64::MAX), to: None },
            Self(0) => Bounds { from: None, to: Some(start(0)) },
            Self(_) => Bounds::new(start(self.index() - 1), start(self.index())),
        })
    }
}

/// Lower and upper bound in seconds; no upper bound for unknown lifetimes.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Serialize)]
pub struct LifetimeBounds(pub f64, pub Option<f64>);

/// Maps lifetimes to buckets, for one clock.
#[derive(Clone, Debug)]
pub(super) struct Decades {
    /// The first tick of each bucket except the first.
    starts: [i64; DECADES],
    /// For each bit length, the number of starts at or below the shortest lifetime of that length. Distinct starts
    /// differ by more than one bit, so another lifetime of that length has reached at most one more.
    reached: [u8; 65],
}

impl Decades {
    pub(super) fn new(clock: &Clock) -> Self {
        let ticks = |decade: u32| 10u128.pow(decade).saturating_mul(clock.frequency.into()).div_ceil(1_000_000);
        let starts: [i64; DECADES] = std::array::from_fn(|decade| i64::try_from(ticks(decade as u32)).unwrap_or(i64::MAX));
        let shortest = |bits: usize| if bits == 0 { 0 } else { 1u64 << (bits - 1) };
        let reached = |bits| starts.partition_point(|&start| start as u64 <= shortest(bits)) as u8;
        Self { starts, reached: std::array::from_fn(reached) }
    }

    /// Returns the bucket of a lifetime.
    #[inline]
    pub(super) fn of(&self, birth: Ticks, death: Ticks) -> LifetimeBucket {
        match lifetime_of(birth, death) {
            None => LifetimeBucket::ENDLESS,
            // Out-of-order records can end before they begin.
            Some(..0) => LifetimeBucket(0),
            Some(ticks) => {
                let reached = self.reached[(u64::BITS - ticks.leading_zeros()) as usize];
                LifetimeBucket(reached + u8::from(self.starts.get(usize::from(reached)).is_some_and(|&start| start <= ticks)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_the_bucket_whose_bounds_hold_them() {
        for (size, bounds) in [(0, [0, 1]), (1, [1, 2]), (15, [8, 16]), (16, [16, 32]), (u64::MAX, [1 << 63, u64::MAX])] {
            assert_eq!(SizeBucket::of(size).bounds(), bounds, "{size}");
        }
        assert!(SizeBucket::all().all(|bucket| SizeBucket::of(bucket.bounds()[0]) == bucket));
    }

    #[test]
    fn lifetimes_are_in_decades_of_seconds_whatever_the_clock() {
        let bounds = |frequency, ticks| {
            let decades = Decades::new(&Clock { frequency, start_time: 0 });
            decades.of(Ticks(5), Ticks(5 + ticks)).bounds()
        };
        let is = |from, to| LifetimeBounds(from, Some(to));
        assert_eq!(bounds(10_000_000, 0), is(0.0, 0.000001));
        assert_eq!(bounds(10_000_000, 9), is(0.0, 0.000001));
        assert_eq!(bounds(10_000_000, 10), is(0.000001, 0.00001));
        assert_eq!(bounds(10_000_000, 9_999), is(0.0001, 0.001));
        assert_eq!(bounds(10_000_000, 10_000), is(0.001, 0.01));
        assert_eq!(bounds(10_000_000, 10_000_000), is(1.0, 10.0));
        assert_eq!(bounds(3, 1), is(0.1, 1.0), "a third of a second");
        assert_eq!(bounds(3, 3), is(1.0, 10.0));
        assert_eq!(bounds(1, i64::MAX - 6), is(1e18, 1e19));
        for frequency in [1, 2, 3, 7, 999, 1_000_000, 3_579_545, 10_000_000, u64::MAX] {
            let decades = Decades::new(&Clock { frequency, start_time: 0 });
            let near = decades.starts.iter().flat_map(|&start| (-2..3).map(move |by| start.saturating_add(by)));
            for ticks in near.chain((0..63).map(|bit| 1 << bit)).map(|ticks: i64| ticks.clamp(-2, i64::MAX - 1)) {
                let reached = decades.starts.partition_point(|&start| start <= ticks);
                assert_eq!(decades.of(Ticks(0), Ticks(ticks)).index(), reached, "{frequency} {ticks}");
            }
        }
        let decades = Decades::new(&Clock { frequency: 1, start_time: 0 });
        for (birth, death) in [(Ticks(0), Ticks::NEVER), (Ticks::BEFORE_TRACE, Ticks(0))] {
            assert_eq!(decades.of(birth, death).bounds(), LifetimeBounds(0.0, None));
        }
    }
}
