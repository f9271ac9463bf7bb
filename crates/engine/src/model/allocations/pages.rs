//! Committed pages of each process: which row owns which range now, and which
//! ranges are known to be reserved ([`ReservationTable`]).
//!
//! Cost: a search for each event, and a step for each range that it adds or removes; ranges that are
//! already as the event wants them cost nothing, however many there are.

use super::reservations::{ReservationTable, Reservations};
use crate::model::ranges::RangeMap;
use crate::model::{ProcessId, RowId};
use crate::tables::KeyedMap;
use crate::units::Ticks;

/// The pages of one process.
#[derive(Debug, Default)]
pub(in crate::model) struct Pages {
    committed: RangeMap<RowId>,
    /// Committed ranges without owners, joined where they touch, to find gaps.
    covered: RangeMap<()>,
}

/// A committed range that a free touches: the row, its whole range, and the part that ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::model) struct TouchedRange {
    pub(in crate::model) row: RowId,
    pub(in crate::model) whole: (u64, u64),
    pub(in crate::model) part: (u64, u64),
}

impl Pages {
    /// The parts of `[from, to)` that are not committed yet.
    pub(in crate::model) fn uncommitted(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        self.covered.gaps(from, to)
    }

    /// Notes that `row` owns `[from, to)`, which no row owned.
    pub(in crate::model) fn own(&mut self, (from, to): (u64, u64), row: RowId) {
        self.committed.insert(from, to, row);
        self.covered.merge(from, to);
    }

    /// Takes committed ranges out of `[from, to)`; the caller splits the rows and
    /// gives the remaining pieces back by [`Pages::own`].
    pub(in crate::model) fn decommit(&mut self, from: u64, to: u64) -> Vec<TouchedRange> {
        let touched = self.committed.overlapping(from, to);
        if let (Some((first, ..)), Some((_, end, _))) = (touched.first(), touched.last()) {
            self.covered.uncover(*first, *end);
        }
        touched
            .into_iter()
            .map(|(start, end, row)| {
                self.committed.remove(start);
                TouchedRange { row, whole: (start, end), part: (start.max(from), end.min(to)) }
            })
            .collect()
    }
}

/// Pages of all processes.
#[derive(Debug, Default)]
pub(in crate::model) struct PageTable {
    processes: KeyedMap<ProcessId, Pages>,
    /// Reserved or committed at some time and not released since, and what was so before.
    reservations: ReservationTable,
    /// Rows that ended because their range was reserved again.
    pub(in crate::model) superseded: u64,
}

impl PageTable {
    /// Number of committed ranges of all processes. Cost: a step a process.
    pub(in crate::model) fn ranges(&self) -> u64 {
        self.processes.values().map(|pages| pages.committed.len() as u64).sum()
    }

    /// Gives rows their new numbers; those that own pages have one.
    pub(in crate::model) fn renumber(&mut self, number: impl Fn(RowId) -> Option<RowId>) {
        let rows = self.processes.values_mut().flat_map(|pages| pages.committed.values_mut());
        rows.for_each(|row| *row = number(*row).unwrap_or(*row));
    }

    pub(in crate::model) fn of(&mut self, process: ProcessId) -> &mut Pages {
        self.processes.entry(process).or_default()
    }

    /// Takes out all rows that have pages in `[from, to)`, as a whole, because it is reserved anew.
    pub(in crate::model) fn supersede(&mut self, process: ProcessId, from: u64, to: u64) -> Vec<RowId> {
        let Some(pages) = self.processes.get_mut(&process) else { return Vec::new() };
        let rows: Vec<RowId> = pages.decommit(from, to).into_iter().map(|cut| cut.row).collect();
        self.superseded += rows.len() as u64;
        rows
    }

    /// Notes that a process reserves `[from, to)`.
    pub(in crate::model) fn reserve(&mut self, process: ProcessId, from: u64, to: u64, at: Ticks) {
        self.reservations.reserve(process, (from, to), at);
    }

    /// Whether anything of `[from, to)` is known to be reserved.
    pub(in crate::model) fn is_reserved(&self, process: ProcessId, from: u64, to: u64) -> bool {
        self.reservations.touches(process, (from, to))
    }

    /// Notes that a process releases `[from, to)`, and returns whether anything of it was reserved.
    pub(in crate::model) fn release(&mut self, process: ProcessId, from: u64, to: u64, at: Ticks) -> bool {
        self.reservations.release(process, (from, to), at)
    }

    /// The end of the reservation that begins at `base`: freeing with size 0 means all of it.
    pub(in crate::model) fn reservation_end(&self, process: ProcessId, base: u64) -> Option<u64> {
        self.reservations.end_of(process, base)
    }

    /// Number of reservations that ended.
    pub(in crate::model) fn ended_reservations(&self) -> usize {
        self.reservations.ended()
    }

    /// All reservations, those of the past included, for a publication.
    pub(in crate::model) fn reservations(&self) -> Reservations {
        self.reservations.published()
    }

    /// Drops reservations that ended before a moment.
    pub(in crate::model) fn forget(&mut self, until: Ticks) {
        self.reservations.forget(until);
    }

    /// Removes a process that is over, with its memory; returns the rows that were alive.
    pub(in crate::model) fn take_all(&mut self, process: ProcessId, at: Ticks) -> Vec<RowId> {
        self.reservations.exit(process, at);
        self.processes.remove(&process).map(|pages| pages.committed.values().collect()).unwrap_or_default()
    }
}
