//! Growth rate of outstanding bytes: the slope of the least-squares line over a whole span of time, not over samples of
//! it.
//!
//! With x the time since the middle of a span of length L and y the outstanding bytes, the slope is ∫xy dx / (L³/12). A
//! block of `size` bytes that is alive from `b` to `d` adds `size · (d² − b²) / 2` to the integral, so one parallel
//! pass over the rows is enough, and integers make the sum independent of the order in which workers add.

use super::{Cancel, Cancelled, Index};
use crate::units::{Interval, Ticks};

/// Number of bits for times relative to the middle of a span, so that their squares times sizes fit: spans of more than
/// 2^40 ticks (a day at 10 MHz) are measured in multiples of a tick.
const TIME_BITS: u32 = 40;

/// A span of time; times are relative to its middle, in half ticks.
#[derive(Clone, Copy)]
struct Centred {
    span: Interval,
    shift: u32,
}

impl Centred {
    fn new(span: Interval) -> Self {
        let length = u64::try_from(i128::from(span.to.0) - i128::from(span.from.0)).unwrap_or(0);
        Self { span, shift: (u64::BITS - length.leading_zeros()).saturating_sub(TIME_BITS) }
    }

    fn x(self, t: Ticks) -> i128 {
        (2 * i128::from(t.0) - i128::from(self.span.from.0) - i128::from(self.span.to.0)) >> self.shift
    }

    /// Returns eight times a block's part of the integral, saturating.
    fn moment(self, birth: Ticks, death: Ticks, size: u64) -> i128 {
        let (b, d) = (birth.max(self.span.from), death.min(self.span.to));
        if b >= d {
            return 0;
        }
        let (b, d) = (self.x(b), self.x(d));
        (d * d - b * b).saturating_mul(i128::from(size))
    }

    /// Returns bytes per tick; `None` for an empty span.
    fn slope(self, sum: i128) -> Option<f64> {
        let length = (i128::from(self.span.to.0) - i128::from(self.span.from.0)) as f64;
        let unit = f64::from(self.shift).exp2();
        (length > 0.0).then(|| 1.5 * sum as f64 * unit * unit / (length * length * length))
    }
}

/// Returns the growth of each line in its span, in bytes per second; `None` for an empty span. `line_of` has the line
/// of each site.
pub(super) fn slopes(
    index: &Index,
    line_of: &[Option<u32>],
    spans: &[Interval],
    cancel: &Cancel,
) -> Result<Vec<Option<f64>>, Cancelled> {
    let centred: Vec<Centred> = spans.iter().map(|&span| Centred::new(span)).collect();
    let parts = index.fold(
        cancel,
        || vec![0i128; spans.len()],
        |sums, visited| {
            let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
            visited.each(|at| {
                let Some(line) = line_of[sites[at].0 as usize] else { return };
                let moment = centred[line as usize].moment(chunk.birth(at), chunk.death(at), chunk.size(at));
                let sum = &mut sums[line as usize];
                *sum = sum.saturating_add(moment);
            });
        },
    )?;
    let mut sums = vec![0i128; spans.len()];
    for part in parts {
        sums.iter_mut().zip(part).for_each(|(sum, part)| *sum = sum.saturating_add(part));
    }
    let frequency = index.trace().clock.frequency as f64;
    Ok(centred.iter().zip(sums).map(|(centred, sum)| Some(centred.slope(sum)? * frequency)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slope(span: Interval, lives: &[(i64, i64, u64)]) -> f64 {
        known_slope(span, lives).unwrap()
    }

    fn known_slope(span: Interval, lives: &[(i64, i64, u64)]) -> Option<f64> {
        let centred = Centred::new(span);
        let moments = lives.iter().map(|&(b, d, size)| centred.moment(Ticks(b), Ticks(d), size));
        centred.slope(moments.fold(0, i128::saturating_add))
    }

    fn span(from: i64, to: i64) -> Interval {
        Interval { from: Ticks(from), to: Ticks(to) }
    }

    #[test]
    fn a_ramp_has_its_slope_and_a_level_none() {
        let ramp: Vec<(i64, i64, u64)> = (0..1000).map(|t| (t, i64::MAX, 7)).collect();
        let found = slope(span(0, 1000), &ramp);
        assert!((found - 7.0).abs() < 1e-3, "{found}");
        assert_eq!(slope(span(0, 1000), &[(-5, i64::MAX, 100), (i64::MIN, 2000, 3)]), 0.0);
        let down: Vec<(i64, i64, u64)> = (0..1000).map(|t| (i64::MIN, t, 7)).collect();
        assert!((slope(span(0, 1000), &down) + 7.0).abs() < 1e-3);
        assert_eq!(known_slope(span(5, 5), &ramp), None, "no time, and nothing to be said of it");
        assert_eq!(known_slope(span(9, 5), &ramp), None);
        assert_eq!(slope(span(2000, 3000), &ramp), 0.0, "what came before is a level");
    }

    #[test]
    fn the_longest_spans_have_room() {
        let all = span(i64::MIN + 1, i64::MAX - 1);
        let half = slope(all, &[(0, i64::MAX, 1 << 40)]);
        // A step in the middle has a slope of 1.5 times its height divided by the length.
        let expected = 1.5 * 2f64.powi(40 - 64);
        assert!((half / expected - 1.0).abs() < 1e-6, "{half} {expected}");
        assert!(slope(all, &[(0, i64::MAX, u64::MAX); 3]) > half, "what is too much for all bits is still much");
    }

    proptest! {
        /// Compares with sums over small time steps.
        #[test]
        fn slopes_are_those_of_least_squares(lives in prop::collection::vec((-20i64..120, 0i64..140, 0u64..1000), 0..20)) {
            let (mut xx, mut xy) = (0.0, 0.0);
            const PARTS: i64 = 40;
            for k in 0..100 * PARTS {
                let t = (k as f64 + 0.5) / PARTS as f64;
                let alive = |&&(b, life, _): &&(i64, i64, u64)| (b as f64) < t && t < (b + life) as f64;
                let y: u64 = lives.iter().filter(alive).map(|life| life.2).sum();
                xx += (t - 50.0) * (t - 50.0);
                xy += (t - 50.0) * y as f64;
            }
            let lives: Vec<_> = lives.iter().map(|&(b, life, size)| (b, b + life, size)).collect();
            let found = slope(span(0, 100), &lives);
            prop_assert!((found - xy / xx).abs() < 1e-4 * (1.0 + found.abs()), "{} {}", found, xy / xx);
        }
    }
}
