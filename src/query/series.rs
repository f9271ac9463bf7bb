//! Outstanding size over time for the graph, at the level of detail that a
//! screen can show: exact steps where changes are few, else entry, minimum,
//! maximum and exit of each bin. At most about four points a bin and series, and
//! no peak or dip is lost, however short.

use super::changes::{Change, changes};
use super::{Cancel, Cancelled, Totals};
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
pub fn series(trace: &Trace, totals: &Totals, of: &SeriesOf, bins: usize, cancel: &Cancel) -> Result<Vec<Series>, Cancelled> {
    let interval = totals.interval;
    let mut base = vec![0u64; of.count];
    for (site, buckets) in totals.sites() {
        if let Some(i) = of.site[site.0 as usize] {
            let sum = &mut base[i as usize];
            *sum = sum.saturating_add(buckets.numbers().outstanding_from);
        }
    }
    let changes = changes(trace, interval, cancel, |row, _| of.site[row.site.0 as usize])?;
    let mut pens: Vec<Pen> = base.into_iter().map(|value| Pen::new(interval, value)).collect();
    let scale = Bins::new(interval, bins);
    for tick in changes.chunk_by(|a, b| a.at == b.at) {
        for change in tick {
            pens[change.of as usize].change(change, &scale);
        }
    }
    Ok(pens.into_iter().map(|pen| pen.finish(interval, &scale)).collect())
}

struct Bins {
    from: i128,
    length: i128,
    count: i128,
}

impl Bins {
    fn new(interval: Interval, count: usize) -> Self {
        let from = i128::from(interval.from.0);
        Self { from, length: (i128::from(interval.to.0) - from).max(1), count: count.max(1) as i128 }
    }

    fn of(&self, t: Ticks) -> i128 {
        (i128::from(t.0) - self.from) * self.count / self.length
    }
}

/// Changes at one tick.
#[derive(Clone, Copy)]
struct Step {
    at: Ticks,
    before: i128,
    after: i128,
}

/// Draws one series.
struct Pen {
    out: Series,
    now: i128,
    /// The tick that is being summed up.
    step: Option<Step>,
    bin: i128,
    steps_in_bin: usize,
    first: Option<Step>,
    last: Option<Step>,
    low: (i128, Ticks),
    high: (i128, Ticks),
}

impl Pen {
    fn new(interval: Interval, value: u64) -> Self {
        Self {
            out: Series { points: vec![(interval.from, value)], peak: value, peak_at: interval.from, last: value },
            now: value.into(),
            step: None,
            bin: -1,
            steps_in_bin: 0,
            first: None,
            last: None,
            low: (0, interval.from),
            high: (0, interval.from),
        }
    }

    fn change(&mut self, change: &Change, bins: &Bins) {
        if self.step.is_none_or(|step| step.at != change.at) {
            self.end_step(bins);
            self.step = Some(Step { at: change.at, before: self.now, after: self.now });
        }
        self.now += change.delta();
        if let Some(step) = &mut self.step {
            step.after = self.now;
        }
    }

    /// Adds the finished tick to its bin.
    fn end_step(&mut self, bins: &Bins) {
        let Some(step) = self.step.take().filter(|step| step.before != step.after) else { return };
        if clamp(step.after) > self.out.peak {
            (self.out.peak, self.out.peak_at) = (clamp(step.after), step.at);
        }
        let bin = bins.of(step.at);
        if bin != self.bin {
            self.end_bin();
            self.bin = bin;
        }
        if self.first.is_none() {
            self.first = Some(step);
            (self.low, self.high) = ((step.after, step.at), (step.after, step.at));
        }
        if step.after < self.low.0 {
            self.low = (step.after, step.at);
        }
        if step.after > self.high.0 {
            self.high = (step.after, step.at);
        }
        self.last = Some(step);
        self.steps_in_bin += 1;
    }

    /// Draws the finished bin: its steps if they are few, else its outline.
    fn end_bin(&mut self) {
        let (Some(first), Some(last)) = (self.first.take(), self.last.take()) else { return };
        let steps = std::mem::take(&mut self.steps_in_bin);
        let mut put = |at: Ticks, value: i128| self.out.points.push((at, clamp(value)));
        put(first.at, first.before);
        if steps == 1 {
            put(first.at, first.after);
            return;
        }
        if steps == 2 {
            put(first.at, first.after);
        } else {
            let (a, b) = if self.low.1 <= self.high.1 { (self.low, self.high) } else { (self.high, self.low) };
            put(a.1, a.0);
            put(b.1, b.0);
        }
        if steps == 2 {
            put(last.at, last.before);
        }
        put(last.at, last.after);
    }

    fn finish(mut self, interval: Interval, bins: &Bins) -> Series {
        self.end_step(bins);
        self.end_bin();
        let last = clamp(self.now);
        self.out.points.push((interval.to, last));
        self.out.last = last;
        self.out
    }
}

fn clamp(value: i128) -> u64 {
    u64::try_from(value.max(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(steps: &[(i64, i64)], bins: usize) -> Series {
        let interval = Interval { from: Ticks(0), to: Ticks(1000) };
        let scale = Bins::new(interval, bins);
        let mut pen = Pen::new(interval, 100);
        for &(at, delta) in steps {
            pen.change(&Change::new(Ticks(at), 0, delta), &scale);
        }
        pen.finish(interval, &scale)
    }

    #[test]
    fn few_changes_are_drawn_as_they_are() {
        let line = draw(&[(10, 5), (10, 5), (500, -30)], 100);
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
        let line = draw(&steps, 4);
        assert!(line.points.len() <= 2 + 4 * 4);
        assert_eq!(line.peak, 5101);
        assert!(line.points.contains(&(Ticks(300), 5101)));
    }

    #[test]
    fn what_comes_and_goes_at_one_tick_is_no_peak() {
        assert_eq!(draw(&[(10, 50), (10, -50)], 10).peak, 100);
    }
}
