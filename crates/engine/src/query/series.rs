//! Outstanding bytes over time for the graph, at the level of detail that a screen can show: exact steps where changes
//! are few, else entry, minimum, maximum and exit of each bin. At most about four points per bin and series, and no
//! peak or dip is lost, however short.
//!
//! Cost: with prepared data the lines are combined from blocks, so the cost grows with the bins; otherwise the changes
//! inside the interval are sorted.

use std::cmp::Reverse;

use super::bins::Bins;
use super::changes::changes;
use super::summary::{Sketch, Summary};
use super::{Cancel, Cancelled, Index, SeriesOf, Totals};
use crate::units::{Interval, Ticks};

/// A line of the graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Series {
    /// Points of the line, by time; two points at one time are a step.
    pub points: Vec<(Ticks, u64)>,
    /// Peak of outstanding bytes, both edges included.
    pub peak: u64,
    /// When the peak was first reached.
    pub peak_at: Ticks,
    /// Outstanding bytes at the right edge.
    pub last: u64,
}

impl Series {
    /// Returns the bytes that its points take.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.points[..])
    }

    /// Returns a line with these points, which are in the order of time.
    pub fn of_points(points: Vec<(Ticks, u64)>) -> Self {
        let (peak_at, peak) = points.iter().copied().max_by_key(|&(at, value)| (value, Reverse(at))).unwrap_or_default();
        let last = points.last().map_or(0, |(_, value)| *value);
        Self { points, peak, peak_at, last }
    }

    /// Returns a line with one step for each of some equal parts of an interval.
    pub(super) fn steps(interval: Interval, values: impl ExactSizeIterator<Item = u64>) -> Self {
        let (count, length) = (values.len().max(1) as i128, i128::from(interval.len()));
        let edge = |n: i128| Ticks((i128::from(interval.from.0) + length * n / count) as i64);
        let mut out = Self { peak_at: interval.from, ..Self::default() };
        for (n, value) in (0..).zip(values) {
            if out.points.is_empty() || value != out.last {
                if !out.points.is_empty() {
                    out.points.push((edge(n), out.last));
                }
                out.points.push((edge(n), value));
            }
            if value > out.peak {
                (out.peak, out.peak_at) = (value, edge(n));
            }
            out.last = value;
        }
        out.points.push((interval.to, out.last));
        out
    }

    /// Returns whether `t` lies between the first and the last point.
    pub fn is_known_at(&self, t: Ticks) -> bool {
        self.points.first().zip(self.points.last()).is_some_and(|(first, last)| first.0 <= t && t <= last.0)
    }

    /// Returns the outstanding bytes at `t`, as far as the points contain them.
    pub fn value_at(&self, t: Ticks) -> u64 {
        let after = self.points.partition_point(|(at, _)| *at < t);
        after.checked_sub(1).and_then(|i| self.points.get(i)).or(self.points.first()).map_or(0, |(_, v)| *v)
    }
}

/// Returns the series over the interval of `totals`, drawn in `bins` bins.
pub fn series(index: &Index, totals: &Totals, of: &SeriesOf, bins: usize, cancel: &Cancel) -> Result<Vec<Series>, Cancelled> {
    let interval = totals.interval;
    let base = totals.by_series(of, |numbers| numbers.outstanding_from);
    let scale = index.bins(interval, bins);
    let series = match index.lines(interval, of, &scale, cancel)? {
        Some(lines) => {
            let lines = lines.into_iter().map(|line| line.into_iter().map(|bin| bin.widen::<i128>()));
            let series: Vec<Series> = base.iter().zip(lines).map(|(&value, line)| draw(interval, value, line)).collect();
            debug_assert!(
                !index.is_checked() || scan(index, interval, of, &base, &scale, &Cancel::default()).as_ref() == Ok(&series),
                "the graph contradicts the sorted changes of {interval:?}"
            );
            series
        }
        None => scan(index, interval, of, &base, &scale, cancel)?,
    };
    debug_assert!(ends_agree(totals, of, &series), "the graph of {interval:?} does not end where its totals do");
    Ok(series)
}

/// Returns whether the lines end at the outstanding bytes at the right edge.
fn ends_agree(totals: &Totals, of: &SeriesOf, series: &[Series]) -> bool {
    let ends = totals.by_series(of, |numbers| numbers.outstanding_to);
    // Saturated sums have no exact change.
    ends.iter().zip(series).all(|(&end, line)| line.last == end || end == u64::MAX || line.peak == u64::MAX)
}

/// Computes the series by sorting the changes.
fn scan(
    index: &Index,
    interval: Interval,
    of: &SeriesOf,
    base: &[u64],
    scale: &Bins,
    cancel: &Cancel,
) -> Result<Vec<Series>, Cancelled> {
    let changes = changes(index, interval, cancel, |row, _| of.site[row.site.0 as usize])?;
    let mut pens: Vec<Pen> = base.iter().map(|_| Pen::default()).collect();
    for change in &changes {
        for series in of.reach(change.of) {
            pens[series as usize].change(change.at, change.delta(), scale);
        }
    }
    Ok(pens.into_iter().zip(base).map(|(pen, &value)| draw(interval, value, pen.finish())).collect())
}

/// Summarizes the changes of one series by bin.
#[derive(Default)]
struct Pen {
    bins: Vec<Summary<i128>>,
    sketch: Sketch<i128>,
    /// End of the current bin, once there is one.
    bin_end: Option<Ticks>,
}

impl Pen {
    fn change(&mut self, at: Ticks, delta: i128, scale: &Bins) {
        if self.bin_end.is_none_or(|end| at >= end) {
            self.bins.push(self.sketch.take());
            self.bin_end = Some(scale.end(at));
        }
        self.sketch.change(at, delta);
    }

    fn finish(mut self) -> Vec<Summary<i128>> {
        self.bins.push(self.sketch.take());
        self.bins
    }
}

/// Draws each bin: its steps if they are few, else its outline.
pub(super) fn draw(interval: Interval, value: u64, bins: impl IntoIterator<Item = Summary<i128>>) -> Series {
    let mut points = vec![(interval.from, value)];
    let (mut now, mut peak, mut peak_at) = (i128::from(value), value, interval.from);
    for bin in bins.into_iter().filter(|bin| bin.steps > 0) {
        let mut put = |at: Ticks, change: i128| points.push((at, clamp(now + change)));
        let (low, high) = ((bin.low_at, bin.low), (bin.high_at, bin.high));
        let (earlier, later) = if low.0 <= high.0 { (low, high) } else { (high, low) };
        put(bin.first, 0);
        match bin.steps {
            1 => {}
            // Of two steps, one leads to the lowest value and the other to the highest.
            2 => [bin.first, bin.last].into_iter().for_each(|at| put(at, earlier.1)),
            _ => [earlier, later].into_iter().for_each(|(at, change)| put(at, change)),
        }
        put(bin.last, bin.sum);
        if clamp(now + bin.high) > peak {
            (peak, peak_at) = (clamp(now + bin.high), bin.high_at);
        }
        now += bin.sum;
    }
    points.push((interval.to, clamp(now)));
    Series { points, peak, peak_at, last: clamp(now) }
}

fn clamp(value: i128) -> u64 {
    u64::try_from(value.max(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(steps: &[(i64, i64)], bins: usize) -> Series {
        let interval = Interval { from: Ticks(0), to: Ticks(1000) };
        let scale = Bins::new(interval, bins);
        let mut pen = Pen::default();
        for &(at, delta) in steps {
            pen.change(Ticks(at), delta.into(), &scale);
        }
        draw(interval, 100, pen.finish())
    }

    #[test]
    fn few_changes_are_drawn_as_they_are() {
        let line = sketch(&[(10, 5), (10, 5), (500, -30)], 100);
        let expected = [(0, 100), (10, 100), (10, 110), (500, 110), (500, 80), (1000, 80)];
        assert_eq!(line.points, expected.map(|(t, v)| (Ticks(t), v)));
        assert_eq!((line.peak, line.peak_at, line.last), (110, Ticks(10), 80));
        assert_eq!(line.value_at(Ticks(10)), 100, "a change counts from the next tick on");
        assert_eq!(line.value_at(Ticks(11)), 110);
    }

    #[test]
    fn a_short_spike_in_a_crowded_bin_is_not_lost() {
        let mut steps: Vec<(i64, i64)> = (0..900).map(|t| (t, if t % 2 == 0 { 1 } else { -1 })).collect();
        steps.insert(301, (300, 5000));
        steps.insert(303, (301, -5000));
        let line = sketch(&steps, 4);
        assert!(line.points.len() <= 2 + 4 * 4);
        assert_eq!(line.peak, 5101);
        assert!(line.points.contains(&(Ticks(300), 5101)));
    }

    #[test]
    fn what_comes_and_goes_at_one_tick_is_no_peak() {
        assert_eq!(sketch(&[(10, 50), (10, -50)], 10).peak, 100);
    }
}
