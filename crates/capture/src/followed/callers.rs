//! Page events that one process caused in another. Their stack events name only the calling thread; this table finds
//! the process that owns the pages.
//!
//! Most processes allocate for themselves, so the table is nearly always almost empty.

use std::collections::VecDeque;

use crate::etl::write::NewEvent;
use crate::tables::KeyedMap;
use crate::units::{Pid, Tid};

/// Maximum number of events in the table. A stack that comes after its event was removed counts as its caller's own.
const MOST: usize = 8192;

/// The time and thread of an event.
type Moment = (i64, Tid);

/// The newest of these events, with the owners of the pages.
#[derive(Debug, Default)]
pub(super) struct Callers {
    owners: KeyedMap<Moment, Pid>,
    /// Keys of the table, oldest first.
    order: VecDeque<Moment>,
}

impl Callers {
    /// Number of events in the table.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.owners.len().max(self.order.len())
    }

    /// Notes a page event. If a thread has several events at one time, the last one counts: a stack follows its event.
    pub(super) fn note(&mut self, event: &NewEvent<'_>, owner: Pid) {
        let moment = (event.time, event.tid);
        if !event.tid.is_known() {
            // A rundown event, which has no stack.
            return;
        }
        if event.pid == owner {
            if !self.owners.is_empty()
                && let Some(noted) = self.owners.get_mut(&moment)
            {
                *noted = owner;
            }
            return;
        }
        if self.owners.insert(moment, owner).is_some() {
            return;
        }
        self.order.push_back(moment);
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.owners.remove(&oldest);
        }
    }

    /// The owner of the pages of the event that a thread wrote at a time, if it is known to be another process.
    pub(super) fn owner_of_pages(&self, time: i64, tid: Tid) -> Option<Pid> {
        if self.owners.is_empty() { None } else { self.owners.get(&(time, tid)).copied() }
    }
}
