//! Events that wait because their process is not known yet.
//!
//! Each process has a queue. When memory or time runs out, the oldest queue is dropped as a whole: its process will
//! probably never be announced.

use std::collections::VecDeque;

use crate::etl::write::{Descriptor, NewEvent};
use crate::etl::{EventId, ExtendedItem, HeaderKind};
use crate::tables::KeyedMap;
use crate::units::{Pid, PointerSize, Tid};

/// Maximum size of all waiting events, in bytes.
pub(super) const MOST_BYTES: usize = 4 << 20;
/// Maximum age of a queue, in seconds. Rundowns end and processes are announced long before.
pub(super) const PATIENCE: i64 = 10;

/// The waiting events.
#[derive(Debug)]
pub(super) struct Waiting {
    queues: KeyedMap<u32, Queue>,
    /// Processes that have a queue, the oldest queue first.
    order: VecDeque<u32>,
    bytes: usize,
    /// [`PATIENCE`] in ticks.
    patience: i64,
}

#[derive(Debug)]
struct Queue {
    since: i64,
    events: Vec<Held>,
}

/// An event that owns its data.
#[derive(Debug)]
pub(super) struct Held {
    /// The time at which its process must have run.
    at: i64,
    processor: u16,
    time: i64,
    kind: HeaderKind,
    pointer: PointerSize,
    pid: Pid,
    tid: Tid,
    id: EventId,
    version: u16,
    descriptor: Descriptor,
    items: Vec<(u16, Box<[u8]>)>,
    payload: Box<[u8]>,
}

impl Waiting {
    /// `frequency` is the number of ticks in a second.
    pub(super) fn new(frequency: u64) -> Self {
        let patience = i64::try_from(frequency).unwrap_or(i64::MAX).saturating_mul(PATIENCE);
        Self { queues: KeyedMap::default(), order: VecDeque::new(), bytes: 0, patience }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The processes whose newest queued event satisfies `is_known`.
    pub(super) fn whose(&self, is_known: impl Fn(u32, i64) -> bool) -> Vec<u32> {
        let newest =
            |pid: &u32| self.queues.get(pid).and_then(|queue| queue.events.last()).is_some_and(|held| is_known(*pid, held.at));
        self.order.iter().copied().filter(newest).collect()
    }

    /// Size of the waiting events, in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Queues an event. Whether it is passed on depends on the state of the process at the time `at`.
    pub(super) fn push(&mut self, pid: u32, at: i64, event: &NewEvent<'_>) {
        let held = Held::new(at, event);
        self.bytes += held.bytes();
        let queue = self.queues.entry(pid).or_insert_with(|| {
            self.order.push_back(pid);
            Queue { since: event.time, events: Vec::new() }
        });
        queue.events.push(held);
    }

    /// Passes on or drops the queued events of a process, in order. `is_wanted` decides by the time of the event; with
    /// `None` it keeps waiting. Returns the number of dropped events.
    pub(super) fn settle(
        &mut self,
        pid: u32,
        is_wanted: impl Fn(i64) -> Option<bool>,
        pass: &mut dyn FnMut(&NewEvent<'_>),
    ) -> u64 {
        let Some(queue) = self.queues.get_mut(&pid) else { return 0 };
        let mut dropped = 0;
        let bytes = &mut self.bytes;
        queue.events.retain(|held| {
            let Some(is_wanted) = is_wanted(held.at) else { return true };
            *bytes -= held.bytes();
            if is_wanted {
                held.give(pass);
            } else {
                dropped += 1;
            }
            false
        });
        if queue.events.is_empty() {
            self.queues.remove(&pid);
            self.order.retain(|&of| of != pid);
        }
        dropped
    }

    /// Removes and returns the queue with this key, in order, each event with the time at which its process must have run.
    pub(super) fn take(&mut self, whose: u32) -> Vec<(i64, Held)> {
        let Some(queue) = self.queues.remove(&whose) else { return Vec::new() };
        self.order.retain(|&of| of != whose);
        self.bytes -= queue.events.iter().map(Held::bytes).sum::<usize>();
        queue.events.into_iter().map(|held| (held.at, held)).collect()
    }

    /// Drops the oldest queue if memory or its time has run out. Returns its process and its number of events.
    pub(super) fn expire(&mut self, now: i64) -> Option<(u32, u64)> {
        let &pid = self.order.front()?;
        let is_old = |queue: &Queue| now.saturating_sub(queue.since) > self.patience;
        if self.bytes <= MOST_BYTES && !self.queues.get(&pid).is_some_and(is_old) {
            return None;
        }
        self.order.pop_front();
        let events = self.queues.remove(&pid).map(|queue| queue.events).unwrap_or_default();
        self.bytes -= events.iter().map(Held::bytes).sum::<usize>();
        Some((pid, events.len() as u64))
    }
}

impl Held {
    pub(super) fn new(at: i64, event: &NewEvent<'_>) -> Self {
        let NewEvent { processor, time, kind, pointer, pid, tid, id, version, descriptor, extended, payload } = *event;
        let items = extended.iter().map(|item| (item.kind, item.data.into())).collect();
        Self { at, processor, time, kind, pointer, pid, tid, id, version, descriptor, items, payload: payload.into() }
    }

    fn bytes(&self) -> usize {
        let items: usize = self.items.iter().map(|(_, data)| data.len() + size_of::<(u16, Box<[u8]>)>()).sum();
        size_of::<Self>() + self.payload.len() + items
    }

    pub(super) fn give(&self, pass: &mut dyn FnMut(&NewEvent<'_>)) {
        let extended: Vec<_> = self.items.iter().map(|(kind, data)| ExtendedItem { kind: *kind, data }).collect();
        let Self { processor, time, kind, pointer, pid, tid, id, version, descriptor, .. } = *self;
        let (extended, payload) = (&*extended, &*self.payload);
        pass(&NewEvent { processor, time, kind, pointer, pid, tid, id, version, descriptor, extended, payload });
    }
}
