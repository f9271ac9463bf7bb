//! One buffer's worth of records. Buffers stand alone, so batches can be decoded
//! in any order and on any thread; [`super::Merge`] puts them into time order.
//!
//! A stack that stands right behind its event goes with it ([`Attached`]): one
//! entry to put into order instead of two, and nobody has to look for the owner.

use super::hooks::{class, hook, injected, kernel_hook, kernel_memory, tracker};
use super::{Event, EventCounts, FrameList, FrameRange, Record, StackPart, counters, losses, memory, stack, system};
use crate::etl::{BufferInfo, BufferKind, EventId, RawEvent, ReadBuffer, TraceFile};
use crate::problem::{ProblemKind, Problems};

/// A record and its stack, if that stood right behind it.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The record.
    pub record: Record,
    /// Its stack.
    pub stack: Attached,
}

impl Entry {
    #[inline(always)]
    fn alone(record: Record) -> Self {
        Self { record, stack: Attached::Nothing }
    }
}

/// The user's call stack of a heap or tracker event that came with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Attached {
    /// None did; it may still come as a record of its own.
    #[default]
    Nothing,
    /// Its frames are in the batch.
    Frames(FrameRange),
    /// A key, given so many ticks after the event.
    Key {
        /// Ticks.
        delay: u32,
        /// Key.
        key: u64,
    },
}

/// What becomes of a stack right behind its event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stacks {
    /// It goes with it.
    #[default]
    Attached,
    /// It is a record of its own.
    Apart,
}

/// The records of one or more buffers, ordered by time.
#[derive(Debug, Default)]
pub struct Batch {
    /// Records, by time; equal times in the order of the buffer.
    pub entries: Vec<Entry>,
    /// Frames of the stacks among them.
    pub frames: FrameList,
    /// All events of the buffers, also those without a record.
    pub counts: EventCounts,
    /// Raw times of the first and last event of any kind.
    pub times: Option<(i64, i64)>,
    /// What was wrong.
    pub problems: Problems,
    /// Bytes of file these are.
    pub bytes: u64,
    pub(super) stacks: Stacks,
}

impl Batch {
    /// Forgets everything but the memory.
    fn clear(&mut self) {
        let Self { entries, frames, counts, times, problems, bytes, stacks } = self;
        entries.clear();
        frames.clear();
        (*counts, *times, *problems, *bytes, *stacks) = Default::default();
    }

    /// Puts in what stood before it in the stream; equal times keep that order.
    pub(super) fn absorb_earlier(&mut self, mut earlier: Self) {
        let entries = std::mem::take(&mut self.entries);
        let frames = std::mem::take(&mut self.frames);
        for entry in entries {
            earlier.put(entry, &frames);
        }
        earlier.sort();
        (self.entries, self.frames) = (earlier.entries, earlier.frames);
    }

    /// Takes out the entries from `time` on, but none before number `from`; `None` if
    /// there are none, or more than `most`.
    pub(super) fn split_at(&mut self, from: usize, time: i64, most: usize) -> Option<Self> {
        if self.entries.last().is_none_or(|last| last.record.time < time) {
            return None;
        }
        let first = self.entries.partition_point(|entry| entry.record.time < time).max(from);
        if self.entries.len() - first > most {
            return None;
        }
        let mut later = Self::default();
        for entry in self.entries.split_off(first) {
            later.put(entry, &self.frames);
        }
        Some(later)
    }

    /// Appends an entry of another batch and its frames.
    fn put(&mut self, mut entry: Entry, frames: &FrameList) {
        if let (Event::Stack { frames: range, .. } | Event::StackDefinition { frames: range, .. }, _)
        | (_, Attached::Frames(range)) = (&mut entry.record.event, &mut entry.stack)
        {
            *range = self.frames.push_known(frames.get(*range));
        }
        self.entries.push(entry);
    }

    fn sort(&mut self) {
        if !self.entries.is_sorted_by_key(|e| e.record.time) {
            self.entries.sort_by_key(|e| e.record.time); // stable: equal times keep their order
        }
    }

    #[inline(always)]
    fn push(&mut self, record: Record) {
        self.entries.push(Entry::alone(record));
    }

    fn push_stack(&mut self, stack: Record) {
        if self.stacks == Stacks::Apart || !self.attach(&stack) {
            self.push(stack);
        }
    }

    /// Gives a stack to the entry before it, if there is no doubt that it belongs
    /// there: the owner is known, and has not to share its stacks with an event of
    /// the same thread and tick.
    fn attach(&mut self, stack: &Record) -> bool {
        let (owner, attached) = match stack.event {
            Event::Stack { owner, part: StackPart::User, frames } => (owner, Attached::Frames(frames)),
            Event::StackRef { owner, part: StackPart::User, key } => {
                let Ok(delay) = u32::try_from(stack.time.wrapping_sub(owner)) else { return false };
                (owner, Attached::Key { delay, key })
            }
            _ => return false,
        };
        let [.., before, last] = self.entries.as_mut_slice() else { return false };
        let is_owner = |record: &Record| record.time == owner && record.tid == stack.tid;
        let fits = is_owner(&last.record)
            && last.stack == Attached::Nothing
            && matches!(last.record.event, Event::Alloc { .. } | Event::Free { .. } | Event::Realloc { .. })
            && last.record.pid == stack.pid
            && stack.pid.is_known()
            && stack.tid.is_known()
            && !is_owner(&before.record);
        if fits {
            last.stack = attached;
        }
        fits
    }
}

/// Reads, expands and decodes one buffer into the memory of a batch that is done with.
pub fn decode_buffer(file: &TraceFile, info: &BufferInfo, stacks: Stacks, scratch: &mut ReadBuffer, mut batch: Batch) -> Batch {
    batch.clear();
    batch.stacks = stacks;
    batch.bytes = info.size.into();
    if info.kind == BufferKind::NoEvents {
        return batch;
    }
    let problem = |batch: &mut Batch, kind, detail| batch.problems.add(kind, &file.name, info.offset, detail);
    file.read_buffer(info, scratch, &mut batch.problems);
    let mut short = 0u64;
    let mut first_short = None;
    let mut events = scratch.events();
    for event in &mut events {
        let hook = kernel_hook(event.id);
        batch.counts.count(&event, hook);
        if event.id != EventId::Opaque {
            let (first, last) = batch.times.unwrap_or((event.time, event.time));
            batch.times = Some((first.min(event.time), last.max(event.time)));
        }
        if decode(&event, hook, &mut batch).is_none() {
            first_short.get_or_insert(event.offset);
            short += 1;
        }
    }
    if let Some(damage) = events.damage() {
        let detail = format!("{} at +{:#x} of this buffer; its rest was skipped", damage.reason, damage.offset);
        problem(&mut batch, ProblemKind::DamagedEvent, detail);
    }
    if let Some(first) = first_short {
        let detail = format!("{short} events in this buffer, the first at +{first:#x}, are too short for their kind");
        problem(&mut batch, ProblemKind::ShortPayload, detail);
    }
    batch.sort();
    batch
}

/// Adds the records of one event, if it is of a kind that has any. `None` if its
/// payload is too short.
#[inline(always)]
fn decode(raw: &RawEvent<'_>, hook: Option<u16>, batch: &mut Batch) -> Option<()> {
    if let Some(hook) = hook {
        return decode_kernel(hook, raw, batch);
    }
    match raw.id {
        EventId::Provider { provider: class::CUSTOM_HEAP, id: id @ tracker::ALLOC..=tracker::CLOSE } => {
            batch.push(memory_record(raw, memory::tracker_event(id, raw)?));
            inline_stacks(raw, batch);
        }
        EventId::Class { class: class::IMAGE_ID, opcode: injected::RSDS } => batch.push(system::image_id(raw)?),
        EventId::Class { class: class::SYSTEM_CONFIG_EX, opcode: injected::VOLUME_MAPPING } => {
            batch.push(system::volume(raw)?);
        }
        EventId::Provider { provider: class::KERNEL_MEMORY, id: id @ kernel_memory::MEM_INFO..=kernel_memory::MEM_INFO_WS } => {
            batch.push(counters::provider(id, raw)?);
        }
        EventId::Class { class: class::LOST_EVENT, opcode } => {
            if let Some(record) = losses::record(opcode, raw) {
                batch.push(record);
            }
        }
        _ => {}
    }
    Some(())
}

#[inline(always)]
fn decode_kernel(hook: u16, raw: &RawEvent<'_>, batch: &mut Batch) -> Option<()> {
    match hook {
        hook::HEAP_CREATE..=hook::HEAP_FREE => batch.push(memory_record(raw, memory::heap(hook, raw)?)),
        hook::STACK | hook::STACK_KEY_CREATE..=hook::STACK_KEY_REF_USER => {
            let stack = stack::walk(hook, raw, &mut batch.frames)?;
            batch.push_stack(stack);
        }
        _ => return decode_other(hook, *raw, batch),
    }
    inline_stacks(raw, batch);
    Some(())
}

/// Events that are few; by value, so that the others need not be in memory.
#[inline(never)]
fn decode_other(hook: u16, raw: RawEvent<'_>, batch: &mut Batch) -> Option<()> {
    let raw = &raw;
    let record = match hook {
        hook::VIRTUAL_ALLOC | hook::VIRTUAL_FREE | hook::VIRTUAL_RUNDOWN_START => memory_record(raw, memory::pages(hook, raw)?),
        hook::PROCESS_START..=hook::PROCESS_RUNDOWN_END => system::process(hook, raw)?,
        hook::IMAGE_LOAD | hook::IMAGE_UNLOAD..=hook::IMAGE_RUNDOWN_END => system::image(hook, raw)?,
        hook::THREAD_START | hook::THREAD_RUNDOWN_START | hook::THREAD_RUNDOWN_END | hook::THREAD_SET_NAME => {
            batch.entries.extend(system::thread_name(hook, raw)?.map(Entry::alone));
            return Some(());
        }
        _ => {
            batch.entries.extend(counters::kernel(hook, raw)?.map(Entry::alone));
            return Some(());
        }
    };
    batch.push(record);
    inline_stacks(raw, batch);
    Some(())
}

#[inline(always)]
fn memory_record(raw: &RawEvent<'_>, event: Event) -> Record {
    Record { time: raw.time, pid: raw.pid, tid: raw.tid, event }
}

#[inline(always)]
fn inline_stacks(raw: &RawEvent<'_>, batch: &mut Batch) {
    for item in raw.extended {
        if let Some(record) = stack::inline((raw.time, raw.pid, raw.tid), item, &mut batch.frames) {
            batch.push_stack(record);
        }
    }
}
