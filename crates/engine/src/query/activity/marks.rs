//! Search for marks, and for the moment of a mark that is given by its text.
//!
//! Cost: a look at each mark of the interval.

use crate::model::{Mark, Marks, ProcessId, Trace};
use crate::query::{Cancel, Cancelled};
use crate::units::{Interval, Ticks};

/// A search for marks.
#[derive(Clone, PartialEq, Debug)]
pub struct MarkRequest<'a> {
    /// Interval in which the marks were written.
    pub interval: Interval,
    /// Process that wrote them; marks without a process match, too.
    pub process: Option<ProcessId>,
    /// Part of their text or of their provider's name, in any case; an empty text matches all marks.
    pub text: &'a str,
}

/// Returns the matching marks, by time.
pub fn marks<'a>(trace: &'a Trace, request: &MarkRequest<'_>) -> Vec<&'a Mark> {
    found(&trace.activity.marks, request).map(|(_, mark)| mark).collect()
}

/// Returns the matching marks as indices into [`Marks::list`].
pub fn mark_places(marks: &Marks, request: &MarkRequest<'_>) -> Vec<u32> {
    found(marks, request).map(|(place, _)| place).collect()
}

fn found<'a>(all: &'a Marks, request: &MarkRequest<'_>) -> impl Iterator<Item = (u32, &'a Mark)> + use<'a> {
    let wanted = request.text.to_lowercase();
    let of_providers: Vec<bool> =
        all.providers.iter().map(|provider| provider.label().to_lowercase().contains(&wanted)).collect();
    let process = request.process;
    let fits = move |mark: &Mark| {
        let is_its = process.is_none_or(|process| mark.process.is_none_or(|its| its == process));
        is_its && (of_providers[usize::from(mark.provider)] || mark.text.to_lowercase().contains(&wanted))
    };
    // A trace keeps fewer than 2^32 marks.
    let first = first_at(all, request.interval.from) as u32;
    (first..).zip(all.during(request.interval)).filter(move |(_, mark)| fits(mark))
}

/// Returns the index of the first mark written at or after a moment.
fn first_at(marks: &Marks, at: Ticks) -> usize {
    marks.list.partition_point(|mark| mark.at < at)
}

/// A group of marks that are drawn at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarkSpot {
    /// From the first mark to the last; for marks with a duration, the union of their durations.
    pub during: Interval,
    /// Index of the first mark in [`Marks::list`].
    pub first: usize,
    /// Number of marks.
    pub count: usize,
    /// Whether the marks last long enough to be drawn with their duration.
    pub lasts: bool,
}

/// Groups the marks of an interval for drawing, with about `bins` time slices in the interval. Short marks in the same
/// slice form one spot. Marks that last longer than a slice form separate spots, one for those that begin in the same
/// slice. Slices stay in place when the interval moves.
///
/// Cost: a look at each mark.
pub fn mark_spots(marks: &Marks, interval: Interval, bins: usize, cancel: &Cancel) -> Result<Vec<MarkSpot>, Cancelled> {
    let width = (interval.len() / bins.max(1) as i64).max(1);
    let bin = |at: Ticks| at.0.div_euclid(width);
    let lasts = |mark: &Mark| mark.to.0.saturating_sub(mark.from.0) > width;
    let mut spots: Vec<MarkSpot> = Vec::new();
    let first = first_at(marks, interval.from);
    for (place, mark) in (first..).zip(marks.during(interval)).filter(|(_, mark)| !lasts(mark)) {
        match spots.last_mut().filter(|spot| bin(spot.during.from) == bin(mark.at)) {
            Some(spot) => {
                spot.during.to = mark.at;
                spot.count += 1;
            }
            None => {
                let during = Interval { from: mark.at, to: mark.at };
                spots.push(MarkSpot { during, first: place, count: 1, lasts: false });
            }
        }
    }
    cancel.check()?;
    let is_seen = |mark: &Mark| lasts(mark) && mark.from < interval.to && mark.to > interval.from;
    let mut long: Vec<(Ticks, Ticks, usize)> =
        (0..).zip(marks.list.iter()).filter(|(_, mark)| is_seen(mark)).map(|(at, mark)| (mark.from, mark.to, at)).collect();
    long.sort_unstable();
    cancel.check()?;
    let mut bars: Vec<MarkSpot> = Vec::new();
    for (from, to, place) in long {
        // Marks that began before the interval are drawn at its edge.
        let begin = |from: Ticks| bin(from.max(interval.from));
        match bars.last_mut().filter(|bar| begin(bar.during.from) == begin(from)) {
            Some(bar) => {
                bar.during.to = bar.during.to.max(to);
                bar.count += 1;
            }
            None => bars.push(MarkSpot { during: Interval { from, to }, first: place, count: 1, lasts: true }),
        }
    }
    spots.extend(bars);
    spots.sort_by_key(|spot| (spot.during.from, spot.first));
    Ok(spots)
}

/// Returns the moment of the mark that a text refers to: the first mark with exactly this text, else with this text in
/// any case, else the first that begins with it, else the first that contains it.
pub fn find_mark(trace: &Trace, text: &str) -> Option<Ticks> {
    let wanted = text.to_lowercase();
    let rank = |mark: &Mark| {
        if &*mark.text == text {
            return Some(0);
        }
        let lower = mark.text.to_lowercase();
        match () {
            () if lower == wanted => Some(1),
            () if lower.starts_with(&wanted) => Some(2),
            () if lower.contains(&wanted) => Some(3),
            () => None,
        }
    };
    let ranked = trace.activity.marks.list.iter().filter_map(|mark| Some((rank(mark)?, mark.at)));
    ranked.min_by_key(|&(rank, _)| rank).map(|(_, at)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::Guid;
    use crate::model::MarkProvider;
    use crate::units::Tid;
    use proptest::prelude::*;

    fn marks_at(marks: &[(i64, i64)]) -> Marks {
        let mut all = Marks::default();
        let mut sorted = marks.to_vec();
        sorted.sort_unstable();
        for (n, (at, lasted)) in sorted.into_iter().enumerate() {
            let (from, to, text) = (Ticks(at - lasted), Ticks(at), format!("mark {n}").into());
            all.list.push(Mark { at: to, from, to, provider: 0, process: None, tid: Tid(1), text });
        }
        all.providers.push(MarkProvider { guid: Guid::from_bytes([7; 16]), name: Some("Game".into()) });
        all
    }

    fn interval(from: i64, to: i64) -> Interval {
        Interval { from: Ticks(from), to: Ticks(to) }
    }

    #[test]
    fn places_are_those_of_the_marks_that_are_found() {
        let marks = marks_at(&[(5, 0), (10, 0), (11, 0), (20, 0)]);
        let request = |text| MarkRequest { interval: interval(6, 20), process: None, text };
        assert_eq!(mark_places(&marks, &request("")), [1, 2]);
        assert_eq!(mark_places(&marks, &request("MARK 2")), [2]);
        assert_eq!(mark_places(&marks, &request("game")), [1, 2], "by who wrote them");
    }

    #[test]
    fn what_lasts_is_drawn_as_long_as_it_is_even_if_it_was_written_later() {
        let marks = marks_at(&[(50, 0), (51, 0), (200, 150), (90, 3)]);
        let spots = mark_spots(&marks, interval(40, 140), 10, &Cancel::default()).unwrap();
        let told: Vec<_> = spots.iter().map(|spot| (spot.during.from.0, spot.during.to.0, spot.count, spot.lasts)).collect();
        assert_eq!(told, [(50, 51, 2, false), (50, 200, 1, true), (90, 90, 1, false)]);
    }

    proptest! {
        #[test]
        fn each_mark_in_sight_is_in_one_spot_and_there_are_few_spots(
            all in prop::collection::vec((0i64..500, prop_oneof![Just(0i64), 0i64..300]), 0..80),
            from in -50i64..500, len in 1i64..600, bins in 1usize..60,
        ) {
            let marks = marks_at(&all);
            let view = interval(from, from + len);
            let width = (len / bins as i64).max(1);
            let spots = mark_spots(&marks, view, bins, &Cancel::default()).unwrap();
            let lasts = |mark: &&Mark| mark.to.0 - mark.from.0 > width;
            let moments = marks.during(view).filter(|mark| !lasts(mark)).count();
            let long = marks.list.iter().filter(lasts);
            let long = long.filter(|mark| mark.from < view.to && mark.to > view.from).count();
            let count = |lasts: bool| spots.iter().filter(|spot| spot.lasts == lasts).map(|spot| spot.count).sum::<usize>();
            prop_assert_eq!((count(false), count(true)), (moments, long));
            prop_assert!(spots.len() <= 2 * (2 * bins + 2), "{} spots in {} bins", spots.len(), bins);
            prop_assert!(spots.windows(2).all(|pair| pair[0].during.from <= pair[1].during.from));
        }
    }
}
