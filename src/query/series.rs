//! Outstanding size over time for the graph, at the level of detail that a
//! screen can show: exact steps where changes are few, else entry, minimum,
//! maximum and exit of each bin. At most about four points a bin and series, and
//! no peak or dip is lost, however short.
//!
//! Cost: prepared traces put the lines together from blocks, so that it grows with
//! the bins; others sort the changes inside the interval.

use super::changes::changes;
use super::summary::{Sketch, Summary};
use super::{Cancel, Cancelled, Index, Totals};
use crate::model::{SiteId, Trace};
use crate::units::{Interval, Ticks};

/// Which series each site belongs to.
#[derive(Clone, Debug, Default)]
pub struct SeriesOf {
    /// By site.
    pub site: Vec<Option<u32>>,
    /// Number of series.
    pub count: usize,
}

impl SeriesOf {
    /// From a function of the site.
    pub fn new(trace: &Trace, count: usize, of: impl Fn(SiteId) -> Option<u32>) -> Self {
        Self { site: (0..trace.sites.len()).map(|i| of(SiteId(i as u32))).collect(), count }
    }
}

/// One line of the graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Series {
    /// Corners of the line, by time; two points at one time are a step.
    pub points: Vec<(Ticks, u64)>,
    /// Largest outstanding size, both edges included.
    pub peak: u64,
    /// When it was reached first.
    pub peak_at: Ticks,
    /// Outstanding size at the right edge.
    pub last: u64,
}

impl Series {
    /// Outstanding size at `t`, as far as the points tell.
    pub fn value_at(&self, t: Ticks) -> u64 {
        let after = self.points.partition_point(|(at, _)| *at < t);
        after.checked_sub(1).and_then(|i| self.points.get(i)).or(self.points.first()).map_or(0, |(_, v)| *v)
    }
}

/// The series of the interval of `totals`, drawn in `bins` bins.
pub fn series(index: &Index, totals: &Totals, of: &SeriesOf, bins: usize, cancel: &Cancel) -> Result<Vec<Series>, Cancelled> {
    let interval = totals.interval;
    let mut base = vec![0u64; of.count];
    for (site, buckets) in totals.sites() {
        if let Some(i) = of.site[site.0 as usize] {
            let sum = &mut base[i as usize];
            *sum = sum.saturating_add(buckets.numbers().outstanding_from);
        }
    }
    let scale = Bins::new(interval, bins);
    let series = match index.lines(interval, of, &scale, cancel)? {
        Some(lines) => {
            let lines = lines.into_iter().map(|line| line.into_iter().map(|bin| bin.widen::<i128>()));
            let series: Vec<Series> = base.iter().zip(lines).map(|(&value, line)| draw(interval, value, line)).collect();
            debug_assert!(
                index.trace().rows.len() > SMALL
                    || scan(index, interval, of, &base, &scale, &Cancel::default()).as_ref() == Ok(&series),
                "the graph contradicts the sorted changes of {interval:?}"
            );
            series
        }
        None => scan(index, interval, of, &base, &scale, cancel)?,
    };
    debug_assert!(ends_agree(totals, of, &series), "the graph of {interval:?} does not end where its totals do");
    Ok(series)
}

/// Rows of traces whose graphs debug builds draw a second time.
const SMALL: usize = 4096;

/// Whether the lines end at what is outstanding at the right edge.
fn ends_agree(totals: &Totals, of: &SeriesOf, series: &[Series]) -> bool {
    let mut ends = vec![0u64; of.count];
    for (site, buckets) in totals.sites() {
        if let Some(i) = of.site[site.0 as usize] {
            ends[i as usize] = ends[i as usize].saturating_add(buckets.numbers().outstanding_to);
        }
    }
    // Saturated sums have no exact change.
    ends.iter().zip(series).all(|(&end, line)| line.last == end || end == u64::MAX || line.peak == u64::MAX)
}

/// By sorting the changes.
fn scan(
    index: &Index,
    interval: Interval,
    of: &SeriesOf,
    base: &[u64],
    scale: &Bins,
    cancel: &Cancel,
) -> Result<Vec<Series>, Cancelled> {
    let changes = changes(index.trace(), interval, cancel, |row, _| of.site[row.site.0 as usize])?;
    let mut pens: Vec<Pen> = base.iter().map(|_| Pen::default()).collect();
    for change in &changes {
        pens[change.of as usize].change(change.at, change.delta(), scale);
    }
    Ok(pens.into_iter().zip(base).map(|(pen, &value)| draw(interval, value, pen.finish())).collect())
}

/// The bins of a graph.
pub(super) struct Bins {
    from: i128,
    length: i128,
    count: usize,
}

impl Bins {
    pub(super) fn new(interval: Interval, count: usize) -> Self {
        let from = i128::from(interval.from.0);
        Self { from, length: (i128::from(interval.to.0) - from).max(1), count: count.max(1) }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The bin of a tick.
    pub(super) fn of(&self, t: Ticks) -> usize {
        ((i128::from(t.0) - self.from) * self.count as i128 / self.length) as usize
    }

    /// The first tick of a bin; of the one behind the last, the end.
    pub(super) fn start(&self, bin: usize) -> Ticks {
        let count = self.count as i128;
        let at = self.from + (bin as i128 * self.length + count - 1) / count;
        Ticks(i64::try_from(at).unwrap_or(i64::MAX))
    }
}

/// Sums the changes of one series up by bins.
#[derive(Default)]
struct Pen {
    bins: Vec<Summary<i128>>,
    sketch: Sketch<i128>,
    /// End of the present bin, once there is one.
    bin_end: Option<Ticks>,
}

impl Pen {
    fn change(&mut self, at: Ticks, delta: i128, scale: &Bins) {
        if self.bin_end.is_none_or(|end| at >= end) {
            self.bins.push(self.sketch.take());
            self.bin_end = Some(scale.start(scale.of(at) + 1));
        }
        self.sketch.change(at, delta);
    }

    fn finish(mut self) -> Vec<Summary<i128>> {
        self.bins.push(self.sketch.take());
        self.bins
    }
}

/// Draws each bin: its steps if they are few, else its outline.
fn draw(interval: Interval, value: u64, bins: impl IntoIterator<Item = Summary<i128>>) -> Series {
    let mut points = vec![(interval.from, value)];
    let (mut now, mut peak, mut peak_at) = (i128::from(value), value, interval.from);
    for bin in bins.into_iter().filter(|bin| bin.steps > 0) {
        let mut put = |at: Ticks, change: i128| points.push((at, clamp(now + change)));
        let (low, high) = ((bin.low_at, bin.low), (bin.high_at, bin.high));
        let (earlier, later) = if low.0 <= high.0 { (low, high) } else { (high, low) };
        put(bin.first, 0);
        match bin.steps {
            1 => {}
            // Of two steps one goes to the lowest value, and the other to the highest.
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

    #[test]
    fn bins_begin_at_their_first_tick() {
        for (from, to, count) in [(0, 10, 3), (-7, 1000, 50), (0, 5, 40), (i64::MIN + 1, i64::MAX - 1, 7)] {
            let bins = Bins::new(Interval { from: Ticks(from), to: Ticks(to) }, count);
            assert_eq!((bins.start(0), bins.start(count)), (Ticks(from), Ticks(to)));
            for bin in 0..=count {
                let start = bins.start(bin);
                assert!(bins.of(start) >= bin && (start.0 == from || bins.of(Ticks(start.0 - 1)) < bin), "bin {bin} of {count}");
            }
        }
    }
}
