//! Page faults whose events name no thread. The stack of such a fault, which comes behind it with its time, names its process.
//!
//! Cost: a binary search for a stack while any fault waits. Memory: at most [`MOST`] small events.

use std::collections::VecDeque;

use super::waiting::Held;
use crate::etl::write::NewEvent;

/// Most faults that wait; a stack comes within a few events.
const MOST: usize = 4096;

/// The waiting faults, by time.
#[derive(Debug, Default)]
pub(super) struct ThreadlessFaults(VecDeque<(i64, Held)>);

impl ThreadlessFaults {
    /// Adds a fault. Returns whether another was given up for it.
    pub(super) fn push(&mut self, event: &NewEvent<'_>) -> bool {
        let place = self.0.partition_point(|(time, _)| *time <= event.time);
        self.0.insert(place, (event.time, Held::new(event.time, event)));
        self.0.len() > MOST && self.0.pop_front().is_some()
    }

    /// Removes and returns the first fault of a time.
    pub(super) fn take(&mut self, time: i64) -> Option<Held> {
        let place = self.0.partition_point(|(of, _)| *of < time);
        self.0.get(place).filter(|(of, _)| *of == time)?;
        self.0.remove(place).map(|(_, held)| held)
    }

    /// Number of waiting faults.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
