//! The lives of each process id in the order in which they came, to find the one at a moment.
//!
//! Cost: a step a process to make it, then a search; how many lives an id had does not matter.

use std::sync::Arc;

use super::{Process, ProcessId};
use crate::tables::KeyedMap;
use crate::units::{Pid, Ticks};

/// The lives of all process ids.
#[derive(Clone, Debug, Default)]
pub(super) struct PidLives(KeyedMap<Pid, Vec<Life>>);

#[derive(Clone, Copy, Debug)]
struct Life {
    process: ProcessId,
    /// The latest end up to this life: lives follow each other, but late events can give their ends in
    /// another order.
    ended: Ticks,
}

impl PidLives {
    pub(super) fn of(processes: &[Arc<Process>]) -> Self {
        let mut all: KeyedMap<Pid, Vec<Life>> = KeyedMap::default();
        for (id, process) in (0..).map(ProcessId).zip(processes) {
            let lives = all.entry(process.pid).or_default();
            let before = lives.last().map_or(Ticks::BEFORE_TRACE, |life| life.ended);
            lives.push(Life { process: id, ended: process.end.unwrap_or(Ticks::NEVER).max(before) });
        }
        Self(all)
    }

    /// The first life that had not ended before a moment.
    pub(super) fn going_on(&self, pid: Pid, at: Ticks) -> Option<ProcessId> {
        let lives = self.0.get(&pid)?;
        Some(lives.get(lives.partition_point(|life| life.ended < at))?.process)
    }

    /// The first life.
    pub(super) fn first(&self, pid: Pid) -> Option<ProcessId> {
        self.0.get(&pid)?.first().map(|life| life.process)
    }
}

#[cfg(test)]
mod tests {
    use super::super::world::ProcessTable;
    use super::*;
    use crate::events::{ProcessChange, ProcessInfo};

    #[test]
    fn the_life_at_a_moment_is_found_as_by_a_look_at_all() {
        let mut table = ProcessTable::default();
        let mut life = |pid, end: Option<i64>| {
            let before = table.find(Pid(pid));
            assert_eq!(before, None, "one after the other");
            table.find_or_add(Pid(pid), Ticks(0));
            if let Some(end) = end {
                table.change(Pid(pid), ProcessChange::End, &ProcessInfo::default(), Ticks(end), 1);
            }
        };
        for (pid, end) in [(8, Some(3)), (8, Some(3)), (4, Some(9)), (8, Some(5)), (8, Some(7)), (8, None)] {
            life(pid, end);
        }
        let lives = PidLives::of(&table.list);
        for (pid, at) in [4, 8, 12].into_iter().flat_map(|pid| (0..12).map(move |at| (Pid(pid), Ticks(at)))) {
            let of_pid = || (0..).map(ProcessId).zip(&table.list).filter(|(_, process)| process.pid == pid);
            let expected = of_pid().find(|(_, process)| process.end.is_none_or(|end| at <= end));
            assert_eq!(lives.going_on(pid, at), expected.map(|(id, _)| id), "{pid} at {at:?}");
            assert_eq!(lives.first(pid), of_pid().next().map(|(id, _)| id));
        }
    }
}
