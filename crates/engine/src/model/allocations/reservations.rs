//! Address ranges that processes reserved, with the time of each. A range that is committed without being reserved is
//! reserved by that.
//!
//! Ranges of one process never overlap: one that overlaps others is joined with them, and becomes a new range at that
//! moment; a release of a part leaves new ranges, too.
//!
//! Cost: a search for each event, and a step for each range that it changes; 40 bytes for each range that ended.

use crate::model::ranges::RangeMap;
use crate::model::{Chunked, ProcessId};
use crate::stored::stored;
use crate::tables::KeyedMap;
use crate::units::Ticks;

/// An address range that a process had reserved for some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// The process.
    pub process: ProcessId,
    /// First byte.
    pub from: u64,
    /// The byte behind the last.
    pub to: u64,
    /// When it was reserved; [`Ticks::BEFORE_TRACE`] if a rundown reported it.
    pub since: Ticks,
    /// When it was released, joined or split; [`Ticks::NEVER`] if it was not.
    pub until: Ticks,
}

stored!(struct Reservation { process, from, to, since, until });

impl Reservation {
    /// Whether it was reserved at a moment, by the rule for outstanding rows.
    pub fn is_at(&self, at: Ticks) -> bool {
        self.since < at && self.until >= at
    }
}

/// The address ranges that were reserved at some time. Publications share those that ended.
#[derive(Clone, Debug, Default)]
pub struct Reservations {
    /// Those that ended, in the order in which they did.
    ended: Chunked<Reservation>,
    /// Those that are still reserved.
    now: Vec<Reservation>,
}

stored!(struct Reservations { ended, now });

impl Reservations {
    /// All ranges.
    pub fn iter(&self) -> impl Iterator<Item = &Reservation> {
        self.ended.iter().chain(&self.now)
    }
}

/// The reserved ranges of all processes, while a trace is built.
#[derive(Debug, Default)]
pub(super) struct ReservationTable {
    ended: Chunked<Reservation>,
    /// Those that are reserved now, each with its time.
    now: KeyedMap<ProcessId, RangeMap<Ticks>>,
}

impl ReservationTable {
    /// Notes that `[from, to)` is reserved from a moment on.
    pub(super) fn reserve(&mut self, process: ProcessId, (mut from, mut to): (u64, u64), at: Ticks) {
        if from >= to {
            return;
        }
        let Self { ended, now } = self;
        let ranges = now.entry(process).or_default();
        let touched = ranges.overlapping(from, to);
        if let [(start, end, _)] = touched[..]
            && start <= from
            && to <= end
        {
            return;
        }
        for (start, end, since) in touched {
            ranges.remove(start);
            end_range(ended, Reservation { process, from: start, to: end, since, until: at });
            (from, to) = (from.min(start), to.max(end));
        }
        ranges.insert(from, to, at);
    }

    /// Notes that `[from, to)` is released, and returns whether anything of it was reserved.
    pub(super) fn release(&mut self, process: ProcessId, (from, to): (u64, u64), at: Ticks) -> bool {
        let Self { ended, now } = self;
        let Some(ranges) = now.get_mut(&process) else { return false };
        let touched = ranges.overlapping(from, to);
        for &(start, end, since) in &touched {
            ranges.remove(start);
            end_range(ended, Reservation { process, from: start, to: end, since, until: at });
            for (from, to) in [(start, from), (to, end)].into_iter().filter(|(from, to)| from < to) {
                ranges.insert(from, to, at);
            }
        }
        !touched.is_empty()
    }

    /// Notes that a process is over.
    pub(super) fn exit(&mut self, process: ProcessId, at: Ticks) {
        let Some(ranges) = self.now.remove(&process) else { return };
        for (from, to, since) in ranges.overlapping(0, u64::MAX) {
            end_range(&mut self.ended, Reservation { process, from, to, since, until: at });
        }
    }

    /// Whether anything of `[from, to)` is reserved.
    pub(super) fn touches(&self, process: ProcessId, (from, to): (u64, u64)) -> bool {
        self.now.get(&process).is_some_and(|ranges| ranges.touches(from, to))
    }

    /// The end of the range that begins at `base`.
    pub(super) fn end_of(&self, process: ProcessId, base: u64) -> Option<u64> {
        self.now.get(&process)?.starting_at(base).map(|(end, _)| end)
    }

    /// Number of ranges that ended.
    pub(super) fn ended(&self) -> usize {
        self.ended.len()
    }

    /// All ranges, for a publication. Cost: a step for each that is reserved now.
    pub(super) fn published(&self) -> Reservations {
        let of_process = |(&process, ranges): (&ProcessId, &RangeMap<Ticks>)| {
            let range = move |(from, to, since)| Reservation { process, from, to, since, until: Ticks::NEVER };
            ranges.overlapping(0, u64::MAX).into_iter().map(range)
        };
        let mut now: Vec<Reservation> = self.now.iter().flat_map(of_process).collect();
        now.sort_unstable_by_key(|range| (range.process.0, range.from));
        Reservations { ended: self.ended.clone(), now }
    }

    /// Drops ranges that ended before a moment.
    pub(super) fn forget(&mut self, until: Ticks) {
        let mut kept = Chunked::default();
        self.ended.iter().filter(|range| range.until >= until).for_each(|range| kept.push(*range));
        self.ended = kept;
    }
}

/// Keeps a range that ended, unless it was reserved at no moment.
fn end_range(ended: &mut Chunked<Reservation>, range: Reservation) {
    if range.since < range.until {
        ended.push(range);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PROCESS: ProcessId = ProcessId(3);

    fn at(table: &ReservationTable, t: i64) -> Vec<(u64, u64)> {
        let published = table.published();
        let mut ranges: Vec<(u64, u64)> =
            published.iter().filter(|range| range.is_at(Ticks(t))).map(|range| (range.from, range.to)).collect();
        ranges.sort_unstable();
        ranges
    }

    #[test]
    fn the_past_is_kept_and_parts_become_ranges() {
        let mut ranges = ReservationTable::default();
        ranges.reserve(PROCESS, (10, 50), Ticks(1));
        ranges.reserve(PROCESS, (20, 30), Ticks(2));
        assert!(ranges.release(PROCESS, (20, 30), Ticks(3)));
        assert!(!ranges.release(PROCESS, (20, 30), Ticks(4)));
        ranges.reserve(PROCESS, (25, 35), Ticks(5));
        ranges.exit(PROCESS, Ticks(7));
        assert_eq!(at(&ranges, 1), []);
        assert_eq!(at(&ranges, 2), [(10, 50)]);
        assert_eq!(at(&ranges, 3), [(10, 50)], "released at this moment");
        assert_eq!(at(&ranges, 5), [(10, 20), (30, 50)]);
        assert_eq!(at(&ranges, 7), [(10, 20), (25, 50)]);
        assert_eq!(at(&ranges, 8), []);
    }

    proptest! {
        /// Against a bit for each address, at each moment.
        #[test]
        fn ranges_are_the_addresses_that_were_reserved(
            steps in prop::collection::vec((any::<bool>(), 0u64..24, 0u64..12), 1..40),
            forgotten in 0i64..40,
        ) {
            let mut ranges = ReservationTable::default();
            let mut bits = vec![[false; 40]];
            for (i, &(reserves, from, len)) in steps.iter().enumerate() {
                let (to, now) = (from + len, Ticks(i as i64));
                match reserves {
                    true => ranges.reserve(PROCESS, (from, to), now),
                    false => _ = ranges.release(PROCESS, (from, to), now),
                }
                let mut next = *bits.last().unwrap();
                next[from as usize..to as usize].fill(reserves);
                bits.push(next);
                if now.0 == forgotten {
                    ranges.forget(now);
                }
                prop_assert_eq!(ranges.touches(PROCESS, (from, to)), reserves && from < to);
            }
            for (t, bits) in bits.iter().enumerate().filter(|(t, _)| forgotten >= steps.len() as i64 || *t as i64 >= forgotten) {
                let found = at(&ranges, t as i64);
                prop_assert!(found.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{:?}", found);
                for (address, &is_reserved) in bits.iter().enumerate() {
                    let is_in = found.iter().any(|(from, to)| (*from..*to).contains(&(address as u64)));
                    prop_assert_eq!(is_in, is_reserved, "address {} at {}", address, t);
                }
            }
        }
    }
}
