//! Events that are known by raw time and thread, as their stacks name them: the latest so many.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use crate::events::{Event, Record};
use crate::model::pairing::{MOST_WAITING, threads_of_owner};
use crate::tables::KeyedMap;
use crate::units::Tid;

/// The latest events, by raw time and thread.
#[derive(Debug, Default)]
pub(super) struct Owners {
    order: VecDeque<(i64, Tid)>,
    /// With whether all events of a time and thread are blocks that begin or end.
    known: KeyedMap<(i64, Tid), bool>,
}

impl Owners {
    /// Adds an event.
    pub(super) fn add(&mut self, record: &Record) {
        let moment = (record.time, record.tid);
        let is_block = matches!(record.event, Event::Alloc { .. } | Event::Free { .. } | Event::Realloc { .. });
        match self.known.entry(moment) {
            Entry::Occupied(mut are_blocks) => *are_blocks.get_mut() &= is_block,
            Entry::Vacant(place) => {
                place.insert(is_block);
                self.order.push_back(moment);
            }
        }
        if self.order.len() > MOST_WAITING
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Whether a stack can be that of one of them.
    pub(super) fn has(&self, time: i64, tid: Tid) -> bool {
        threads_of_owner(tid).into_iter().any(|tid| self.known.contains_key(&(time, tid)))
    }

    /// Whether a stack is that of a block.
    pub(super) fn is_of_block(&self, time: i64, tid: Tid) -> bool {
        threads_of_owner(tid).into_iter().find_map(|tid| self.known.get(&(time, tid)).copied()).unwrap_or(false)
    }
}
