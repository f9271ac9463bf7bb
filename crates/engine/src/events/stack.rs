//! Call stacks: StackWalk events, stack keys and stacks in extended items.
//! Layouts checked on 157,000 plain stacks and all keys of public traces.

use super::hooks::hook;
use super::{Event, FrameList, FrameRange, Record, StackPart};
use crate::etl::{ExtendedItem, KernelEvent, address_at, extended_type, i64_at, u32_at, u64_at};
use crate::units::{Pid, PointerSize, Tid};

/// Most frames of one stack that are kept; Windows records at most 192.
pub(super) const MAX_FRAMES: usize = 1024;

/// A key that stands for the stack of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyRef {
    /// Raw clock value.
    pub(super) time: i64,
    /// Raw time of the event whose stack it is.
    pub(super) owner: i64,
    /// Process of the stack.
    pub(super) pid: Pid,
    /// Thread of the stack.
    pub(super) tid: Tid,
    pub(super) part: StackPart,
    pub(super) key: u64,
}

impl KeyRef {
    /// Reads the payload of [`hook::STACK_KEY_REF_KERNEL`] or [`hook::STACK_KEY_REF_USER`].
    #[inline(always)]
    pub(super) fn read(event: &KernelEvent<'_>) -> Option<Self> {
        let (head, rest) = event.payload.split_first_chunk::<16>()?;
        let (owner, pid, tid) = (i64_at(head, 0)?, Pid(u32_at(head, 8)?), Tid(u32_at(head, 12)?));
        let part = if event.hook == hook::STACK_KEY_REF_KERNEL { StackPart::Kernel } else { StackPart::User };
        Some(Self { time: event.time, owner, pid, tid, part, key: address_at(rest, 0, event.pointer)? })
    }

    /// As a record of its own.
    pub(super) fn record(self) -> Record {
        let Self { time, owner, pid, tid, part, key } = self;
        Record { time, pid, tid, event: Event::StackRef { owner, part, key } }
    }
}

/// A call stack that was walked.
#[derive(Clone, Copy, Debug)]
pub(super) struct StackWalk {
    /// Raw clock value.
    pub(super) time: i64,
    /// Raw time of the event whose stack it is.
    pub(super) owner: i64,
    /// Process of the stack.
    pub(super) pid: Pid,
    /// Thread of the stack.
    pub(super) tid: Tid,
    pub(super) part: StackPart,
    pub(super) frames: FrameRange,
}

impl StackWalk {
    /// Reads the payload of [`hook::STACK`].
    pub(super) fn read(event: &KernelEvent<'_>, frames: &mut FrameList) -> Option<Self> {
        let (head, rest) = event.payload.split_first_chunk::<16>()?;
        let (owner, pid, tid) = (i64_at(head, 0)?, Pid(u32_at(head, 8)?), Tid(u32_at(head, 12)?));
        let (part, frames) = push_frames(rest, event.pointer, frames);
        Some(Self { time: event.time, owner, pid, tid, part, frames })
    }

    /// As a record of its own.
    pub(super) fn record(self) -> Record {
        let Self { time, owner, pid, tid, part, frames } = self;
        Record { time, pid, tid, event: Event::Stack { owner, part, frames } }
    }
}

/// The record of a key's definition.
pub(super) fn definition(event: &KernelEvent<'_>, frames: &mut FrameList) -> Option<Record> {
    let &KernelEvent { time, pid, tid, pointer, payload, .. } = event;
    let key = address_at(payload, 0, pointer)?;
    let (part, frames) = push_frames(payload.get(pointer.bytes()..)?, pointer, frames);
    Some(Record { time, pid, tid, event: Event::StackDefinition { part, key, frames } })
}

/// The stack in one of an event's extended items, as a record of its own behind it. It is an assumption
/// that keys in items are resolved like those of StackWalk events: no trace with such items is public.
pub(super) fn inline((time, pid, tid): (i64, Pid, Tid), item: ExtendedItem<'_>, frames: &mut FrameList) -> Option<Record> {
    let owner = time;
    let stack = |pointer, frames: &mut FrameList| {
        let (_, frames) = push_frames(item.data.get(8..)?, pointer, frames);
        Some(Event::Stack { owner, part: StackPart::User, frames })
    };
    let reference = |key| Event::StackRef { owner, part: StackPart::User, key };
    let event = match item.kind {
        extended_type::STACK_TRACE32 => stack(PointerSize::Four, frames),
        extended_type::STACK_TRACE64 => stack(PointerSize::Eight, frames),
        extended_type::STACK_KEY32 => u32_at(item.data, 8).map(u64::from).map(reference),
        extended_type::STACK_KEY64 => u64_at(item.data, 8).map(reference),
        _ => None,
    };
    event.map(|event| Record { time, pid, tid, event })
}

/// Keeps the frames and returns which part of a stack they are: the kernel's if even the outermost lies
/// in the upper half of the address space.
#[inline(never)]
pub(super) fn push_frames(bytes: &[u8], pointer: PointerSize, frames: &mut FrameList) -> (StackPart, FrameRange) {
    let range = match pointer {
        PointerSize::Four => frames.push(first(bytes.as_chunks().0).iter().map(|&frame| u32::from_le_bytes(frame).into())),
        PointerSize::Eight => frames.push(first(bytes.as_chunks().0).iter().map(|&frame| u64::from_le_bytes(frame))),
    };
    let outermost = frames.get(range).addresses().last();
    let is_kernel = outermost.is_some_and(|&outermost| outermost >= pointer.kernel_start());
    let part = if is_kernel { StackPart::Kernel } else { StackPart::User };
    (part, range)
}

/// The first frames, as many as are kept.
fn first<T>(frames: &[T]) -> &[T] {
    &frames[..frames.len().min(MAX_FRAMES)]
}
