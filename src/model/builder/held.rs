//! An event that waits for the stack that tells its process, or stands behind one.

use crate::events::{CallStack, Frames, Record};

/// A record with its stack, in memory of its own.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) record: Record,
    stack: HeldStack,
}

#[derive(Clone, Debug)]
enum HeldStack {
    Nothing,
    Frames(Vec<u64>),
    Key { key: u64, time: i64 },
}

impl Held {
    pub(super) fn new(record: &Record, stack: CallStack<'_>) -> Self {
        let stack = match stack {
            CallStack::Nothing => HeldStack::Nothing,
            CallStack::Frames(frames) => HeldStack::Frames(frames.addresses().to_vec()),
            CallStack::Key { key, time } => HeldStack::Key { key, time },
        };
        Self { record: record.clone(), stack }
    }

    pub(super) fn stack(&self) -> CallStack<'_> {
        match &self.stack {
            HeldStack::Nothing => CallStack::Nothing,
            HeldStack::Frames(frames) => CallStack::Frames(Frames::new(frames)),
            &HeldStack::Key { key, time } => CallStack::Key { key, time },
        }
    }
}
