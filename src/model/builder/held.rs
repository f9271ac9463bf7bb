//! An event that waits for the stack that tells its process, or stands behind one.

use crate::events::{BlockEvent, CallStack, Frames, Record};
use crate::units::Layer;

/// A record with its stack, in memory of its own.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) record: Record,
    stack: HeldStack,
    /// Its time, or that of a later one before it: no event that is late for its time is found by it.
    pub(super) order: i64,
}

#[derive(Clone, Debug)]
enum HeldStack {
    Nothing,
    Frames(Vec<u64>),
    Key { key: u64, time: i64 },
}

impl Held {
    /// An event that stands behind one with this order.
    pub(super) fn new(record: &Record, stack: CallStack<'_>, after: i64) -> Self {
        let stack = match stack {
            CallStack::Nothing => HeldStack::Nothing,
            CallStack::Frames(frames) => HeldStack::Frames(frames.addresses().to_vec()),
            CallStack::Key { key, time } => HeldStack::Key { key, time },
        };
        Self { record: record.clone(), stack, order: record.time.max(after) }
    }

    /// The free of a block in an NT heap of which nothing told the process.
    pub(super) fn unclaimed_free(&self) -> Option<BlockEvent> {
        let block = BlockEvent::of(&self.record).filter(|_| matches!(self.stack, HeldStack::Nothing))?;
        (block.layer == Layer::Heap && block.size.is_none() && !block.pid.is_known()).then_some(block)
    }

    pub(super) fn stack(&self) -> CallStack<'_> {
        match &self.stack {
            HeldStack::Nothing => CallStack::Nothing,
            HeldStack::Frames(frames) => CallStack::Frames(Frames::new(frames)),
            &HeldStack::Key { key, time } => CallStack::Key { key, time },
        }
    }
}
