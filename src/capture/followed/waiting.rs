//! Events of processes of which nothing is known yet.
//!
//! Each process has a queue. Where memory runs out, or time, the queue that began first is given up
//! as a whole: its process seems not to be one that will be announced.

use std::collections::VecDeque;

use crate::etl::write::{Descriptor, NewEvent};
use crate::etl::{EventId, ExtendedItem, HeaderKind};
use crate::tables::KeyedMap;
use crate::units::{Pid, PointerSize, Tid};

/// Bytes of all events that wait.
pub(super) const MOST_BYTES: usize = 4 << 20;
/// Seconds of a queue: rundowns are done and processes announced long before.
pub(super) const PATIENCE: i64 = 10;

/// Events that wait.
#[derive(Debug)]
pub(super) struct Waiting {
    queues: KeyedMap<u32, Queue>,
    /// Processes that have a queue; the one that began first is first.
    order: VecDeque<u32>,
    bytes: usize,
    /// Ticks of [`PATIENCE`].
    patience: i64,
}

#[derive(Debug)]
struct Queue {
    since: i64,
    events: Vec<Held>,
}

/// An event with memory of its own.
#[derive(Debug)]
pub(super) struct Held {
    /// When its process had to live.
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
    /// `frequency`: ticks a second.
    pub(super) fn new(frequency: u64) -> Self {
        let patience = i64::try_from(frequency).unwrap_or(i64::MAX).saturating_mul(PATIENCE);
        Self { queues: KeyedMap::default(), order: VecDeque::new(), bytes: 0, patience }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Processes with a queue of whose newest event `is_known` says so.
    pub(super) fn whose(&self, is_known: impl Fn(u32, i64) -> bool) -> Vec<u32> {
        let newest =
            |pid: &u32| self.queues.get(pid).and_then(|queue| queue.events.last()).is_some_and(|held| is_known(*pid, held.at));
        self.order.iter().copied().filter(newest).collect()
    }

    /// Bytes of what waits.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Keeps an event that is to be judged by what a process was at a time.
    pub(super) fn push(&mut self, pid: u32, at: i64, event: &NewEvent<'_>) {
        let held = Held::new(at, event);
        self.bytes += held.bytes();
        let queue = self.queues.entry(pid).or_insert_with(|| {
            self.order.push_back(pid);
            Queue { since: event.time, events: Vec::new() }
        });
        queue.events.push(held);
    }

    /// Passes on or drops what waits for a process, in order, as `is_wanted` says of its time; `None`
    /// lets it wait on. Tells the number of those dropped.
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

    /// Takes what waits for somebody, in order, each with when its process had to live.
    pub(super) fn take(&mut self, whose: u32) -> Vec<(i64, Held)> {
        let Some(queue) = self.queues.remove(&whose) else { return Vec::new() };
        self.order.retain(|&of| of != whose);
        self.bytes -= queue.events.iter().map(Held::bytes).sum::<usize>();
        queue.events.into_iter().map(|held| (held.at, held)).collect()
    }

    /// Gives up the queue that began first, if memory or its time has run out. Tells its process
    /// and its number of events.
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
    fn new(at: i64, event: &NewEvent<'_>) -> Self {
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
