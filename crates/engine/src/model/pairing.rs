//! Decides which event a stack belongs to: the conditions on owner time, thread, part and order.
//!
//! All who pair stacks with events ask here: the replay one by one and by batches of blocks (`model::attach`), the
//! workers that gather the batches (`model::block_batches`), and the writer of a part of a trace (`export::cut`). Each has its
//! own lists of what waits: the replay of rows, samples and frees, a worker of columns, a cut of events that it wrote.

use crate::events::{CallStack, Event, StackPart};
use crate::units::{Pid, Tid};

/// Most events that wait for their stack; an event that saw as many newer ones without it is given up.
pub const MOST_WAITING: usize = 1 << 18;

/// Most stacks of one tick that wait for an event that comes behind them.
pub const MOST_EARLY: usize = 256;

/// Raw time of a stack's event, and the part of the stack; `None` for an event that is no stack.
#[inline(always)]
pub fn owner_and_part(stack: &Event) -> Option<(i64, StackPart)> {
    match *stack {
        Event::Stack { owner, part, .. } | Event::StackRef { owner, part, .. } => Some((owner, part)),
        _ => None,
    }
}

/// Threads under which the event of a stack can stand, the better one first: where an event does not say its thread, its
/// stack does.
#[inline(always)]
pub fn threads_of_owner(tid: Tid) -> [Tid; 2] {
    [tid, Tid::NONE]
}

/// Whether the event of a stack can stand behind it: both have the same tick.
#[inline(always)]
pub fn may_be_early(owner: i64, time: i64) -> bool {
    owner == time
}

/// Whether the event of a stack stands before it for certain.
#[inline(always)]
pub fn is_behind(owner: i64, time: i64) -> bool {
    owner < time
}

/// Whether a thread of a process waits for its user part once it has a kernel part: the idle process and the kernel's own
/// never return to user mode.
#[inline]
pub fn returns_to_user_mode(pid: Pid) -> bool {
    const KERNEL_ONLY: [Pid; 2] = [Pid(0), Pid(4)];
    !KERNEL_ONLY.contains(&pid)
}

/// The user-mode part of a stack, if it has one: it completes what its thread did in the kernel. A key always stands for
/// a user-mode stack.
#[inline]
pub fn of_user_mode(stack: CallStack<'_>) -> Option<CallStack<'_>> {
    match stack {
        CallStack::Nothing => None,
        CallStack::Key { .. } => Some(stack),
        CallStack::Frames(frames) => {
            let frames = frames.of_user_mode();
            (!frames.addresses().is_empty()).then_some(CallStack::Frames(frames))
        }
    }
}

/// Whether the user part of a stack completes the samples of its thread. The stack of a block is written in user mode, by
/// the thread itself, and says nothing of what the thread did in the kernel.
#[inline(always)]
pub fn completes_samples(part: StackPart, is_of_block: bool) -> bool {
    part == StackPart::User && !is_of_block
}
