//! Pages that one process allocated or freed in another. Their stacks say only who called, and
//! with this whose pages they are about.
//!
//! Most callers call for themselves, so this is nearly always nearly empty.

use std::collections::VecDeque;

use crate::etl::write::NewEvent;
use crate::tables::KeyedMap;
use crate::units::{Pid, Tid};

/// So many are remembered; a stack that comes later is taken for one of its caller's own.
const MOST: usize = 8192;

/// A thread at a time.
type Moment = (i64, Tid);

/// The newest of those events, and whose pages they were about.
#[derive(Debug, Default)]
pub(super) struct Callers {
    owners: KeyedMap<Moment, Pid>,
    /// The oldest first.
    order: VecDeque<Moment>,
}

impl Callers {
    /// Events that are remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.owners.len().max(self.order.len())
    }

    /// Takes note of an event about pages. Of several events of one thread at one time, the last
    /// counts: a stack follows its event.
    pub(super) fn note(&mut self, event: &NewEvent<'_>, owner: Pid) {
        let moment = (event.time, event.tid);
        if !event.tid.is_known() {
            // Rundowns, which have no stacks.
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

    /// Whose pages the event of a thread at a time was about, if it is known to have been another's.
    pub(super) fn owner_of_pages(&self, time: i64, tid: Tid) -> Option<Pid> {
        if self.owners.is_empty() { None } else { self.owners.get(&(time, tid)).copied() }
    }
}
