//! The births and deaths of a trace in time order: the position of a tick in it, and its division into parts of about
//! equal work.
//!
//! Only one tick per chunk is stored. Finding the position of a tick takes some seventy row accesses.

use crate::model::{CHUNK, RowId, Rows};
use crate::units::Ticks;

/// Position in the event order, as numbers of events before a tick: rows born (by row number, ignoring those out of
/// order), rows out of order, and deaths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct EventPosition {
    pub(super) birth: u32,
    pub(super) late: u32,
    pub(super) death: u32,
}

impl EventPosition {
    /// Returns the approximate number of events before it.
    pub(super) fn events(self) -> u64 {
        u64::from(self.birth) + u64::from(self.death)
    }

    /// Returns whether it is before another position.
    pub(super) fn is_before(self, other: Self) -> bool {
        self.birth < other.birth || self.late < other.late || self.death < other.death
    }

    /// Returns whether it is after `from` and before `to`.
    fn is_between(self, from: Self, to: Self) -> bool {
        let inside = |at: u32, from: u32, to: u32| from <= at && at <= to;
        let is_inside = inside(self.birth, from.birth, to.birth)
            && inside(self.late, from.late, to.late)
            && inside(self.death, from.death, to.death);
        is_inside && self != from && self != to
    }

    /// Returns the approximate number of events between two positions.
    pub(super) fn distance(self, other: Self) -> u64 {
        self.events().abs_diff(other.events()) + u64::from(self.late.abs_diff(other.late))
    }
}

/// The order of a trace's events.
#[derive(Debug)]
pub(super) struct EventOrder {
    /// The last birth before each chunk and before the end, ignoring rows out of order.
    floors: Vec<Ticks>,
}

impl EventOrder {
    pub(super) fn new(rows: &Rows) -> Self {
        let mut floors = vec![Ticks::BEFORE_TRACE];
        let mut floor = Ticks::BEFORE_TRACE;
        for chunk in rows.chunks() {
            if let Some(last) = chunk.last_in_order(chunk.len()) {
                floor = chunk.birth(last);
            }
            floors.push(floor);
        }
        Self { floors }
    }

    /// Returns the position of `t`.
    pub(super) fn place(&self, rows: &Rows, t: Ticks) -> EventPosition {
        EventPosition {
            birth: self.births_before(rows, t),
            late: late_before(rows, t),
            death: rows.by_death().partition_point(|id| rows.death(id) < t),
        }
    }

    /// Returns the position after all events.
    pub(super) fn end(rows: &Rows) -> EventPosition {
        EventPosition { birth: rows.len() as u32, late: rows.out_of_order().len() as u32, death: rows.by_death().len() as u32 }
    }

    fn births_before(&self, rows: &Rows, t: Ticks) -> u32 {
        // The first chunk with a birth at `t` or later.
        let Some(index) = self.floors.partition_point(|&floor| floor < t).checked_sub(1) else { return 0 };
        if index + 1 == self.floors.len() {
            return rows.len() as u32;
        }
        let chunk = rows.chunk(index);
        let first = chunk.first().0;
        let (mut low, mut high) = (0, chunk.len() as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            let known = chunk.last_in_order(middle as usize + 1);
            if known.map_or(self.floors[index], |at| chunk.birth(at)) < t {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        first + low
    }

    /// Returns the exact number of rows born before a position.
    pub(super) fn born(rows: &Rows, place: EventPosition) -> u64 {
        let chunks = rows.chunks().take((place.birth as usize).div_ceil(CHUNK));
        let late: u64 = chunks.map(|chunk| chunk.out_of_order_before((place.birth - chunk.first().0) as usize)).sum();
        u64::from(place.birth) - late + u64::from(place.late)
    }

    /// Returns different ticks and positions, in order, that divide the events between two positions into about `parts`
    /// parts.
    pub(super) fn cuts(&self, rows: &Rows, from: EventPosition, to: EventPosition, parts: usize) -> Vec<(Ticks, EventPosition)> {
        let deaths = rows.by_death();
        let samples = |from: u32, to: u32| {
            let length = u64::from(to - from);
            let places = (1..parts).map(move |k| length * k as u64 / parts as u64).filter(move |&i| i < length);
            places.map(move |i| from + i as u32)
        };
        let births = samples(from.birth, to.birth).map(|i| rows.birth(RowId(i)));
        let dead = samples(from.death, to.death).map(|i| rows.death(deaths.get(i)));
        let mut ticks: Vec<Ticks> = births.chain(dead).collect();
        ticks.sort_unstable();
        ticks.dedup();
        let mut cuts: Vec<(Ticks, EventPosition)> = ticks.into_iter().map(|t| (t, self.place(rows, t))).collect();
        cuts.dedup_by_key(|(_, place)| *place);
        cuts.retain(|(_, place)| place.is_between(from, to));
        cuts
    }

    /// Returns the bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        self.floors.capacity() * 8
    }
}

/// Returns the number of rows out of order that were born before `t`.
pub(super) fn late_before(rows: &Rows, t: Ticks) -> u32 {
    rows.out_of_order().partition_point(|id| rows.birth(id) < t)
}

/// Smallest number of rows that are worth sorting.
const WORTH_ORDER: usize = 1 << 10;

/// Returns rows with their indices in a list, roughly sorted so that rows stored close together are adjacent: random
/// access to rows all over memory costs several times as much.
pub(super) fn in_row_order(ids: impl ExactSizeIterator<Item = RowId> + Clone) -> Vec<(RowId, u32)> {
    let count = ids.len();
    if count < WORTH_ORDER {
        return ids.zip(0..).collect();
    }
    let (low, high) = ids.clone().fold((u32::MAX, 0), |(low, high), id| (low.min(id.0), high.max(id.0)));
    // About four rows per bucket.
    let width = ((high - low) as usize / (count / 4)).checked_ilog2().map_or(0, |bits| bits + 1);
    let bucket = |id: RowId| ((id.0 - low) >> width) as usize;
    let mut next = vec![0u32; bucket(RowId(high)) + 2];
    ids.clone().for_each(|id| next[bucket(id) + 1] += 1);
    for i in 1..next.len() {
        next[i] += next[i - 1];
    }
    let mut ordered = vec![(RowId(0), 0); count];
    for (id, i) in ids.zip(0..) {
        let place = &mut next[bucket(id)];
        ordered[*place as usize] = (id, i);
        *place += 1;
    }
    ordered
}

/// Splits a range of row numbers at chunk boundaries.
pub(super) fn by_chunk(from: u32, to: u32) -> impl Iterator<Item = std::ops::Range<u32>> {
    let size = CHUNK as u64;
    (u64::from(from) / size..u64::from(to).div_ceil(size))
        .map(move |i| (i * size).max(from.into()) as u32..((i + 1) * size).min(to.into()) as u32)
        .filter(|range| !range.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_side_by_side_are_all_rows_with_their_places() {
        for (count, factor) in [(0u32, 1u32), (5, 7), (5000, 1), (5000, 48_271), (5000, u32::MAX / 5000)] {
            let ids: Vec<RowId> = (0..count).map(|i| RowId((i * 2377 % count).wrapping_mul(factor))).collect();
            let near = in_row_order(ids.iter().copied());
            assert!(near.iter().all(|&(id, i)| ids[i as usize] == id), "{count} {factor}");
            let mut places: Vec<u32> = near.iter().map(|&(_, i)| i).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..count));
            // Rows of one bucket come in any order.
            let is_near = |two: &[(RowId, u32)]| u64::from(two[0].0.0) < u64::from(two[1].0.0) + 8 * u64::from(factor);
            assert!(ids.len() < WORTH_ORDER || near.windows(2).all(is_near), "{count} {factor}");
        }
    }
}
