//! Stacks that will come once more, for an event that got its stack with a copy.
//!
//! Whether a stack comes with its event or behind it depends on where buffers end, which differs from
//! file to file. The event that is kept gets its stack from whichever file. A stack that comes behind
//! is then the same stack once more, and must not go to another event of the same thread and tick. (If
//! that other event has exactly the same stack, and one of the two stacks lies in another file than its
//! event, the other event can lose it.)

use std::collections::BTreeMap;

use super::call_stack::CallStack;
use super::run::{Place, Run};
use crate::events::{Attached, Event, Record, StackHash, StackPart};
use crate::units::Tid;

/// Most stacks that are waited for.
const MOST: usize = 1 << 12;

/// Identity of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum KnownStack {
    Frames(StackHash),
    Key { key: u64, time: i64 },
}

/// A stack that will come once more.
#[derive(Clone, Copy, Debug)]
pub struct OwedStack {
    /// Raw time and thread of its event.
    owner: (i64, Tid),
    stack: KnownStack,
}

impl OwedStack {
    /// The stack of an entry, if it came with the entry.
    pub(super) fn of(runs: &[Run], place: Place) -> Option<Self> {
        let batch = &runs[place.run as usize].batch;
        let entry = &batch.entries[place.at as usize];
        let stack = match entry.stack() {
            Attached::Nothing => return None,
            Attached::Frames(frames) => KnownStack::Frames(batch.frames.get(frames).stack_hash()),
            Attached::Key { delay, key } => KnownStack::Key { key, time: entry.time.wrapping_add(delay.into()) },
        };
        Some(Self { owner: (entry.time, entry.tid), stack })
    }
}

/// All stacks that are waited for; the oldest are given up.
#[derive(Debug, Default)]
pub struct OwedStacks {
    waiting: BTreeMap<(i64, Tid), Vec<KnownStack>>,
    count: usize,
}

impl OwedStacks {
    /// Whether no stack is waited for.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Waits for these stacks, too.
    pub fn expect(&mut self, owed: &[OwedStack]) {
        for OwedStack { owner, stack } in owed {
            self.waiting.entry(*owner).or_default().push(*stack);
            self.count += 1;
        }
        while self.count > MOST
            && let Some((_, oldest)) = self.waiting.pop_first()
        {
            self.count -= oldest.len();
        }
    }

    /// Whether a record is one of these stacks, which is then no longer waited for.
    pub(crate) fn has_come(&mut self, record: &Record, stack: CallStack<'_>) -> bool {
        let (owner, stack) = match record.event {
            Event::Stack { owner, part: StackPart::User, .. } => (owner, KnownStack::Frames(stack.frames().stack_hash())),
            Event::StackRef { owner, part: StackPart::User, key } => (owner, KnownStack::Key { key, time: record.time }),
            _ => return false,
        };
        let Some(waiting) = self.waiting.get_mut(&(owner, record.tid)) else { return false };
        let Some(at) = waiting.iter().position(|one| *one == stack) else { return false };
        waiting.swap_remove(at);
        self.count -= 1;
        if waiting.is_empty() {
            self.waiting.remove(&(owner, record.tid));
        }
        true
    }
}
