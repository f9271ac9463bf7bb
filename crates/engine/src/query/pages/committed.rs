//! Reserved and committed address ranges at a moment.

use rayon::prelude::*;

use crate::model::{ProcessId, Trace};
use crate::units::Ticks;

/// The ranges that are reserved at a moment, by process and address. Those of one process do not overlap.
#[derive(Debug)]
pub(in crate::query) struct ReservedRanges(Vec<Vec<(u64, u64)>>);

impl ReservedRanges {
    /// The ranges at a moment of each process.
    pub(in crate::query) fn at(trace: &Trace, moments: &[Ticks]) -> Self {
        let mut of_process = vec![Vec::new(); trace.processes.len()];
        for range in trace.reservations.iter().filter(|range| range.is_at(moments[range.process.0 as usize])) {
            of_process[range.process.0 as usize].push((range.from, range.to));
        }
        of_process.iter_mut().for_each(|ranges| ranges.sort_unstable());
        Self(of_process)
    }

    /// The ranges of a process, first and last byte.
    pub(in crate::query) fn of(&self, process: ProcessId) -> impl Iterator<Item = (u64, u64)> {
        let ranges = self.0.get(process.0 as usize).into_iter().flatten();
        ranges.filter(|(from, to)| from < to).map(|(from, to)| (*from, to - 1))
    }

    /// The number of the range of a process that has an address.
    pub(super) fn find(&self, process: ProcessId, address: u64) -> Option<u32> {
        let ranges = &self.0[process.0 as usize];
        let place = ranges.partition_point(|(from, _)| *from <= address).checked_sub(1)?;
        (address < ranges[place].1).then_some(place as u32)
    }

    pub(super) fn holds(&self, process: ProcessId, place: u32, address: u64) -> bool {
        let (from, to) = self.range(process, place);
        (from..to).contains(&address)
    }

    pub(super) fn range(&self, process: ProcessId, place: u32) -> (u64, u64) {
        self.0[process.0 as usize][place as usize]
    }
}

/// The ranges that are committed at a moment. Those of one process do not overlap.
#[derive(Debug, Default)]
pub(super) struct CommittedRanges(Vec<(ProcessId, u64, u64)>);

impl CommittedRanges {
    pub(super) fn add(&mut self, process: ProcessId, address: u64, size: u64) {
        self.0.push((process, address, address.saturating_add(size)));
    }

    pub(super) fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(super) fn sorted(mut self) -> Self {
        self.0.par_sort_unstable_by_key(|(process, from, _)| (process.0, *from));
        self
    }

    /// Bytes of sorted ranges of a process that lie in `[from, to)`.
    pub(super) fn bytes(&self, process: ProcessId, (from, to): (u64, u64)) -> u64 {
        let first = self.0.partition_point(|(of, _, end)| (of.0, *end) <= (process.0, from));
        let ranges = self.0[first..].iter().take_while(|(of, start, _)| *of == process && *start < to);
        ranges.map(|(_, start, end)| (*end).min(to) - (*start).max(from)).fold(0, u64::saturating_add)
    }
}
