//! An event that waits for the stack that tells its process, or stands behind one.

use crate::events::{CallStack, Record};

/// A record with its stack, in memory of its own.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) record: Record,
    frames: Vec<u64>,
    key: Option<(u64, i64)>,
    has_frames: bool,
}

impl Held {
    pub(super) fn new(record: &Record, stack: CallStack<'_>) -> Self {
        let key = match stack {
            CallStack::Key { key, time } => Some((key, time)),
            _ => None,
        };
        let has_frames = matches!(stack, CallStack::Frames(_));
        Self { record: record.clone(), frames: stack.frames().to_vec(), key, has_frames }
    }

    pub(super) fn stack(&self) -> CallStack<'_> {
        match self.key {
            Some((key, time)) => CallStack::Key { key, time },
            None if self.has_frames => CallStack::Frames(&self.frames),
            None => CallStack::Nothing,
        }
    }
}
