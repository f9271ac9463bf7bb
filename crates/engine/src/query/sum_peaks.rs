//! Peaks of sums of series, and when they were first reached: for example the bytes of a process in all its heaps
//! together, derived from the activity of each heap in each bin of time.
//!
//! In a bin in which several series change, only an upper bound of their sum is known. Such bins are walked event by
//! event, those with the highest bounds first, until no other bin can exceed the peak found so far: few bins, unless
//! the sum stays close to its peak all the time. Cost: a graph of the series, and a pass over the events of those bins;
//! for growing traces a graph of the sums.

use std::cmp::Reverse;

use super::bins::Bins;
use super::line_tree::NOBODY;
use super::series::series;
use super::series_of::SeriesOf;
use super::summary::Summary;
use super::{Cancel, Cancelled, Index, Totals};
use crate::model::SiteId;
use crate::units::{Interval, Ticks};

/// The peak of a sum inside an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SumPeak {
    pub(super) bytes: u64,
    /// The tick whose changes first led to it; `None` if the sum starts at its peak.
    pub(super) at: Option<Ticks>,
}

/// Sums of series.
pub(super) struct SumsOf<'a> {
    /// The series to add up; they must not be stacked.
    pub(super) series: &'a SeriesOf,
    /// The sum that each series belongs to.
    pub(super) sum: &'a [u32],
    pub(super) count: usize,
}

impl SumsOf<'_> {
    /// Returns the sums as series.
    fn merged(&self) -> SeriesOf {
        let of = |series: &Option<u32>| series.map(|series| self.sum[series as usize]);
        SeriesOf { site: self.series.site.iter().map(of).collect(), count: self.count, is_stacked: false }
    }
}

/// Returns the peaks of all sums over the interval of `totals`, using `bins` bins.
pub(super) fn sum_peaks(
    index: &Index,
    totals: &Totals,
    of: &SumsOf<'_>,
    bins: usize,
    cancel: &Cancel,
) -> Result<Vec<SumPeak>, Cancelled> {
    let interval = totals.interval;
    let scale = index.bins(interval, bins);
    let merged = of.merged();
    let found = match index.lines(interval, of.series, &scale, cancel)? {
        Some(lines) => {
            let base = totals.by_series(&merged, |numbers| numbers.outstanding_from);
            let mut found = Vec::with_capacity(of.count);
            for (sum, &base) in (0..).zip(&base) {
                let members = of.sum.iter().zip(&lines).filter(|(of, _)| **of == sum).map(|(_, line)| line);
                let mut search = Search::new(base, &scale, members);
                let pick = |_, site: SiteId, _| if merged.site[site.0 as usize] == Some(sum) { 0 } else { NOBODY };
                search.finish(|parts| index.walk(parts, &pick, cancel))?;
                found.push(search.sum_peak());
            }
            debug_assert!(
                !index.is_checked() || by_graph(index, totals, &merged, &Cancel::default()).as_ref() == Ok(&found),
                "summits contradict the graph of {interval:?}"
            );
            found
        }
        None => by_graph(index, totals, &merged, cancel)?,
    };
    Ok(found)
}

/// Computes the peaks from a graph of the sums.
fn by_graph(index: &Index, totals: &Totals, merged: &SeriesOf, cancel: &Cancel) -> Result<Vec<SumPeak>, Cancelled> {
    let sum_peak = |line: super::Series| {
        let is_at_edge = line.points.first().is_some_and(|point| point.1 == line.peak);
        SumPeak { bytes: line.peak, at: (!is_at_edge).then_some(line.peak_at) }
    };
    Ok(series(index, totals, merged, 1, cancel)?.into_iter().map(sum_peak).collect())
}

/// A part of time in which several series change.
#[derive(Clone, Copy)]
struct Pending {
    interval: Interval,
    /// The sum before it.
    before: i128,
    /// Upper bound of the sum inside it.
    bound: i128,
}

/// The search for one peak.
pub(super) struct Search {
    /// The largest known value, and when it was first reached.
    best: i128,
    at: Option<Ticks>,
    /// A value that the sum certainly reaches.
    floor: i128,
    pending: Vec<Pending>,
}

impl Search {
    /// Starts a search with the lines of the sum's series.
    pub(super) fn new<'a>(base: u64, scale: &Bins, lines: impl Iterator<Item = &'a Vec<Summary<i64>>>) -> Self {
        let mut steps: Vec<&Summary<i64>> = lines.flatten().collect();
        steps.sort_by_key(|step| step.first);
        let base = i128::from(base);
        let mut search = Self { best: base, at: None, floor: base, pending: Vec::new() };
        let mut now = base;
        for bin in steps.chunk_by(|a, b| b.first < scale.end(a.first)) {
            let before = now;
            now += bin.iter().map(|step| i128::from(step.sum)).sum::<i128>();
            search.floor = search.floor.max(now);
            if let [step] = bin {
                search.offer(before + i128::from(step.high), step.high_at);
                continue;
            }
            let bound = before + bin.iter().map(|step| i128::from(step.high.max(0))).sum::<i128>();
            let interval = Interval { from: bin[0].first, to: scale.end(bin[0].first) };
            search.pending.push(Pending { interval, before, bound });
        }
        search
    }

    fn offer(&mut self, value: i128, at: Ticks) {
        let is_earlier = value == self.best && self.at.is_some_and(|known| at < known);
        if value > self.best || is_earlier {
            (self.best, self.at) = (value, Some(at));
        }
        self.floor = self.floor.max(value);
    }

    /// Returns whether a part can change the result.
    fn is_open(&self, part: &Pending) -> bool {
        let is_first = self.at.is_some_and(|at| part.interval.from < at);
        part.bound >= self.floor && (part.bound > self.best || (part.bound == self.best && is_first))
    }

    /// Returns the number of parts that can change the result.
    pub(super) fn open(&self) -> usize {
        self.pending.iter().filter(|part| self.is_open(part)).count()
    }

    /// Returns the largest value found.
    pub(super) fn best(&self) -> i128 {
        self.best
    }

    /// Walks parts until no remaining one can change the result.
    pub(super) fn finish(&mut self, walk: impl Fn(&[Interval]) -> Result<Vec<Summary<i64>>, Cancelled>) -> Result<(), Cancelled> {
        let mut pending = std::mem::take(&mut self.pending);
        pending.sort_by_key(|part| (Reverse(part.bound), part.interval.from));
        let at_once = 2 * rayon::current_num_threads();
        let mut rest = pending.into_iter().peekable();
        while rest.peek().is_some_and(|part| part.bound >= self.best) {
            let some: Vec<Pending> = rest.by_ref().filter(|part| self.is_open(part)).take(at_once).collect();
            let intervals: Vec<Interval> = some.iter().map(|part| part.interval).collect();
            for (part, steps) in some.iter().zip(walk(&intervals)?) {
                if steps.steps > 0 {
                    self.offer(part.before + i128::from(steps.high), steps.high_at);
                }
            }
        }
        Ok(())
    }

    fn sum_peak(&self) -> SumPeak {
        SumPeak { bytes: u64::try_from(self.best.max(0)).unwrap_or(u64::MAX), at: self.at }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::query::summary::Sketch;

    /// Changes by time.
    type Changes = [(i64, i64)];

    fn summary(changes: impl Iterator<Item = (i64, i64)>) -> Summary<i64> {
        let mut sketch = Sketch::default();
        changes.for_each(|(at, delta)| sketch.change(Ticks(at), delta));
        sketch.take()
    }

    /// Returns the peak of some series in ten bins of ten ticks, and the bins that were walked.
    fn search(base: u64, series: &[&Changes]) -> (SumPeak, Vec<i64>) {
        let scale = Bins::new(Interval { from: Ticks(0), to: Ticks(100) }, 10);
        let line = |changes: &&Changes| {
            let bins = (0..10).map(|bin| summary(changes.iter().copied().filter(|(at, _)| at / 10 == bin)));
            bins.filter(|bin| bin.steps > 0).collect::<Vec<_>>()
        };
        let lines: Vec<_> = series.iter().map(line).collect();
        let walked = RefCell::new(Vec::new());
        let mut all: Vec<(i64, i64)> = series.iter().flat_map(|changes| changes.iter().copied()).collect();
        all.sort_by_key(|change| change.0);
        let mut search = Search::new(base, &scale, lines.iter());
        let walk = |parts: &[Interval]| {
            let one = |part: &Interval| {
                walked.borrow_mut().push(part.to.0 / 10 - 1);
                summary(all.iter().copied().filter(|(at, _)| part.contains(Ticks(*at))))
            };
            Ok(parts.iter().map(one).collect())
        };
        assert!(search.finish(walk).is_ok());
        (search.sum_peak(), walked.into_inner())
    }

    #[test]
    fn where_one_series_moves_nothing_is_walked_through() {
        let (sum_peak, walked) = search(5, &[&[(3, 10), (4, -10)], &[(15, 20), (16, -20)]]);
        assert_eq!(sum_peak, SumPeak { bytes: 25, at: Some(Ticks(15)) });
        assert!(walked.is_empty());
    }

    #[test]
    fn two_peaks_at_two_times_of_a_bin_are_no_common_one() {
        let (sum_peak, _) = search(0, &[&[(1, 10), (2, -10)], &[(5, 8), (6, -8)]]);
        assert_eq!(sum_peak, SumPeak { bytes: 10, at: Some(Ticks(1)) });
    }

    #[test]
    fn bins_that_cannot_reach_what_is_known_are_left_out() {
        let low: Vec<(i64, i64)> = (0..90).map(|at| (at, if at % 2 == 0 { 1 } else { -1 })).collect();
        let high = [(95, 1000), (97, -1000)];
        let both: Vec<(i64, i64)> = low.iter().copied().chain([(96, 5)]).collect();
        let (sum_peak, walked) = search(0, &[&low, &both, &high]);
        assert_eq!(sum_peak, SumPeak { bytes: 1005, at: Some(Ticks(96)) });
        assert_eq!(walked[0], 9);
    }

    #[test]
    fn of_equal_tops_the_first_counts() {
        let a = [(2, 10), (3, -10), (52, 10), (53, -10)];
        let b = [(2, 1), (4, -1), (52, 1), (54, -1)];
        assert_eq!(search(0, &[&a, &b]).0, SumPeak { bytes: 11, at: Some(Ticks(2)) });
        assert_eq!(search(50, &[&[(2, -10), (5, 10)], &[(3, -1), (4, 1)]]).0, SumPeak { bytes: 50, at: None });
    }
}
