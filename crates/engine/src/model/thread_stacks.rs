//! Where the user stacks of threads lie, as the events of threads say: one address of each, at the time of the event.
//!
//! Cost: 24 bytes for each event of a thread, at most [`MOST`] of them.

use super::{Chunked, ProcessId};
use crate::events::ThreadStack;
use crate::stored::stored;
use crate::units::Ticks;

/// Largest number of events kept.
const MOST: usize = 1 << 18;

/// The user stack of a thread at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackSeen {
    /// The process.
    pub process: ProcessId,
    /// The last byte of the stack, at which it begins to grow downwards.
    pub last: u64,
    /// When the event was written.
    pub at: Ticks,
}

stored!(struct StackSeen { process, last, at });

/// Notes the stack of an event, if it says it.
pub(super) fn note(seen: &mut Chunked<StackSeen>, process: ProcessId, stack: ThreadStack, at: Ticks) {
    if stack.from < stack.to && seen.len() < MOST {
        seen.push(StackSeen { process, last: stack.to - 1, at });
    }
}
