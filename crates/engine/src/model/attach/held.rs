//! Events whose process only their stack can give, and all events behind the first of them.

use std::collections::VecDeque;

use crate::events::{BlockEvent, CallStack, Event, Frames, Record};
use crate::model::pairing::owner_and_part;
use crate::units::Layer;

/// An event with its stack, in memory of its own.
#[derive(Clone, Debug)]
pub(in crate::model) struct Held {
    pub(in crate::model) record: Record,
    stack: HeldStack,
    /// Its time, or that of a later event before it: an event that comes too late for its time is not
    /// found by its time.
    order: i64,
}

#[derive(Clone, Debug)]
enum HeldStack {
    Nothing,
    Frames(Vec<u64>),
    Key { key: u64, time: i64 },
}

impl Held {
    /// The block of a free in an NT heap for which nothing gave the process.
    pub(in crate::model) fn unclaimed_free(&self) -> Option<BlockEvent> {
        let block = BlockEvent::of(&self.record).filter(|_| matches!(self.stack, HeldStack::Nothing))?;
        (block.layer == Layer::Heap && block.size.is_none() && !block.pid.is_known()).then_some(block)
    }

    pub(in crate::model) fn stack(&self) -> CallStack<'_> {
        match &self.stack {
            HeldStack::Nothing => CallStack::Nothing,
            HeldStack::Frames(frames) => CallStack::Frames(Frames::new(frames)),
            &HeldStack::Key { key, time } => CallStack::Key { key, time },
        }
    }
}

/// Events that wait, in the order of the replay.
#[derive(Debug, Default)]
pub(in crate::model) struct HeldEvents(VecDeque<Held>);

impl HeldEvents {
    #[inline(always)]
    pub(in crate::model) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Raw time of the first event.
    pub(in crate::model) fn since(&self) -> Option<i64> {
        self.0.front().map(|held| held.record.time)
    }

    /// Adds an event behind all that wait.
    pub(in crate::model) fn push(&mut self, record: &Record, stack: CallStack<'_>) {
        let stack = match stack {
            CallStack::Nothing => HeldStack::Nothing,
            CallStack::Frames(frames) => HeldStack::Frames(frames.addresses().to_vec()),
            CallStack::Key { key, time } => HeldStack::Key { key, time },
        };
        let after = self.0.back().map_or(i64::MIN, |held| held.order);
        self.0.push_back(Held { record: record.clone(), stack, order: record.time.max(after) });
    }

    /// Gives a stack's process and thread to the first event at its owner's time that lacks a process.
    pub(in crate::model) fn claim(&mut self, stack: &Record) {
        let Some((owner, _)) = owner_and_part(&stack.event) else { return };
        let first = self.0.partition_point(|held| held.order < owner);
        let mut at_once = self.0.range_mut(first..).take_while(|held| held.order == owner).map(|held| &mut held.record);
        let claimed = at_once.find(|r| r.time == owner && is_homeless(r));
        if let Some(record) = claimed {
            record.pid = stack.pid;
            record.tid = stack.tid;
        }
    }

    /// Takes out the next event that need not wait: its process is known, or it waited for `keep`
    /// events or `patience` ticks.
    pub(in crate::model) fn next(&mut self, keep: usize, patience: i64) -> Option<Held> {
        let first = &self.0.front()?.record;
        let newest = self.0.back().map_or(first.time, |held| held.record.time);
        let waits = is_homeless(first) && self.0.len() <= keep && newest.saturating_sub(first.time) <= patience;
        if waits { None } else { self.0.pop_front() }
    }
}

/// Whether only its stack can give the process of an event.
pub(in crate::model) fn is_homeless(record: &Record) -> bool {
    !record.pid.is_known() && is_of_heap(&record.event)
}

/// Whether an event is about heaps or trackers.
fn is_of_heap(event: &Event) -> bool {
    matches!(
        event,
        Event::Alloc { .. } | Event::Free { .. } | Event::Realloc { .. } | Event::HeapOpen { .. } | Event::HeapClose { .. }
    )
}
