//! One buffer's worth of records. Buffers stand alone, so batches can be decoded
//! in any order and on any thread; [`super::Merge`] puts them into time order.
//!
//! A stack that stands right behind its event goes with it ([`Attached`]): one
//! entry to put into order instead of two, and nobody has to look for the owner.

use super::hooks::{class, hook, injected, kernel_hook, kernel_memory, one_of_each, tracker};
use super::stack::KeyRef;
use std::ops::Range;

use super::counts::Tally;
use super::entry::{Attached, BlockEvent, Content, Entry, Item};
use super::{Event, EventCounts, FrameList, Record, StackPart, counters, losses, memory, stack, system};
use crate::etl::{BufferInfo, BufferKind, EventId, Framed, KernelEvent, RawEvent, ReadBuffer, TraceFile};
use crate::problem::{ProblemKind, Problems};
use crate::units::{Layer, Pid, Tid};

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
    /// By time; equal times in the order of the buffer.
    pub entries: Vec<Entry>,
    /// Those records that are no blocks, in any order.
    pub(super) records: Vec<Record>,
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
        let Self { entries, records, frames, counts, times, problems, bytes, stacks } = self;
        entries.clear();
        records.clear();
        frames.clear();
        (*counts, *times, *problems, *bytes, *stacks) = Default::default();
    }

    /// What an entry of this batch stands for. Panics if it is one of another batch, as
    /// indexing does.
    #[inline(always)]
    pub fn item(&self, entry: &Entry) -> Item<'_> {
        match entry.content() {
            Content::Block(block) => Item::Block(block),
            Content::Record(number) => Item::Record(&self.records[number]),
        }
    }

    /// Reads entries, so that they are in the cache when they are needed.
    #[inline(always)]
    pub(super) fn touch(&self, range: Range<usize>) {
        let entries = self.entries.get(range).unwrap_or_default();
        std::hint::black_box(entries.iter().fold(0, |touched, entry| touched ^ entry.time));
    }

    /// All of it, with the stacks that came with it.
    pub fn items(&self) -> impl Iterator<Item = (Item<'_>, Attached)> {
        self.entries.iter().map(|entry| (self.item(entry), entry.stack()))
    }

    /// Puts in what stood before it in the stream; equal times keep that order.
    pub(super) fn absorb_earlier(&mut self, mut earlier: Self) {
        let later =
            Self { entries: std::mem::take(&mut self.entries), frames: std::mem::take(&mut self.frames), ..Self::default() };
        let later = Self { records: std::mem::take(&mut self.records), ..later };
        for entry in &later.entries {
            earlier.put(*entry, &later);
        }
        earlier.sort();
        (self.entries, self.records, self.frames) = (earlier.entries, earlier.records, earlier.frames);
    }

    /// Takes out the entries from `time` on, but none before number `from`; `None` if
    /// there are none, or more than `most`.
    pub(super) fn split_at(&mut self, from: usize, time: i64, most: usize) -> Option<Self> {
        if self.entries.last().is_none_or(|last| last.time < time) {
            return None;
        }
        let first = self.entries.partition_point(|entry| entry.time < time).max(from);
        if self.entries.len() - first > most {
            return None;
        }
        let mut later = Self::default();
        for entry in self.entries.split_off(first) {
            later.put(entry, self);
        }
        Some(later)
    }

    /// Appends an entry of another batch with all that belongs to it.
    fn put(&mut self, mut entry: Entry, of: &Self) {
        if let Content::Record(number) = entry.content() {
            let mut record = of.records[number].clone();
            if let Event::Stack { frames, .. } | Event::StackDefinition { frames, .. } = &mut record.event {
                *frames = self.frames.push_known(of.frames.get(*frames));
            }
            entry = entry.renumbered(self.records.len());
            self.records.push(record);
        }
        if let Attached::Frames(frames) = entry.stack() {
            entry.attach(Attached::Frames(self.frames.push_known(of.frames.get(frames))));
        }
        self.entries.push(entry);
    }

    fn sort(&mut self) {
        if !self.entries.is_sorted_by_key(|e| e.time) {
            self.entries.sort_by_key(|e| e.time); // stable: equal times keep their order
        }
    }

    #[inline(always)]
    fn push_block(&mut self, block: &BlockEvent) {
        match Entry::of_block(block) {
            Some(entry) => self.entries.push(entry),
            None => self.push(block.record()),
        }
    }

    /// A record of heaps and trackers, in its shortest form.
    fn push_memory(&mut self, event: Event, raw: &RawEvent<'_>) {
        let record = memory_record(raw, event);
        match BlockEvent::of(&record) {
            Some(block) => self.push_block(&block),
            None => self.push(record),
        }
    }

    #[inline(never)]
    fn push(&mut self, record: Record) {
        self.entries.push(Entry::of_record(&record, self.records.len()));
        self.records.push(record);
    }

    /// A record of a stack, which goes with its owner if that stands before it.
    fn push_stack(&mut self, stack: Record) {
        match stack {
            Record { time, pid, tid, event: Event::StackRef { owner, part, key } } => {
                self.push_key(&KeyRef { time, owner, pid, tid, part, key });
            }
            Record { pid, tid, event: Event::Stack { owner, part: StackPart::User, frames }, .. }
                if self.attach(owner, pid, tid, Attached::Frames(frames)) => {}
            stack => self.push(stack),
        }
    }

    #[inline(always)]
    fn push_key(&mut self, stack: &KeyRef) {
        let &KeyRef { time, owner, pid, tid, part, key } = stack;
        let goes = match u32::try_from(time.wrapping_sub(owner)) {
            Ok(delay) => part == StackPart::User && self.attach(owner, pid, tid, Attached::Key { delay, key }),
            Err(_) => false,
        };
        if !goes {
            self.push(stack.record());
        }
    }

    /// Gives a user's stack to the entry before it, if there is no doubt that it belongs
    /// there: the owner is known, and has not to share its stacks with an event of
    /// the same thread and tick.
    #[inline(always)]
    fn attach(&mut self, owner: i64, pid: Pid, tid: Tid, stack: Attached) -> bool {
        let [.., before, last] = self.entries.as_mut_slice() else { return false };
        self.stacks == Stacks::Attached
            && last.is_by(owner, tid)
            && last.lacks_stack(pid)
            && pid.is_known()
            && tid.is_known()
            && !before.is_by(owner, tid)
            && last.attach(stack)
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
    let mut tally = Tally::default();
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    while let Some(framed) = events.next_framed() {
        let (done, time, offset) = match framed {
            Framed::Kernel(mut event) => {
                event.hook = one_of_each(event.hook);
                tally.count_hook(event.hook);
                (decode_kernel(&event, &mut batch), Some(event.time), event.offset)
            }
            Framed::Other(event) => {
                let hook = kernel_hook(event.id);
                tally.count(&event, hook);
                let time = (event.id != EventId::Opaque).then_some(event.time);
                (decode_other(&event, hook, &mut batch), time, event.offset)
            }
        };
        if let Some(time) = time {
            (first, last) = (first.min(time), last.max(time));
        }
        if done.is_none() {
            first_short.get_or_insert(offset);
            short += 1;
        }
    }
    batch.counts = tally.counts();
    batch.times = (first <= last).then_some((first, last));
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
#[inline(never)]
fn decode_other(raw: &RawEvent<'_>, hook: Option<u16>, batch: &mut Batch) -> Option<()> {
    if let Some(hook) = hook {
        let &RawEvent { kind, pointer, time, pid, tid, version, payload, offset, .. } = raw;
        decode_kernel(&KernelEvent { kind, pointer, time, pid, tid, hook, version, payload, offset }, batch)?;
        if matches!(hook, hook::HEAP_CREATE..=hook::HEAP_FREE | hook::VIRTUAL_ALLOC | hook::VIRTUAL_FREE) {
            inline_stacks(raw, batch);
        }
        return Some(());
    }
    match raw.id {
        EventId::Provider { provider: class::CUSTOM_HEAP, id: id @ tracker::ALLOC..=tracker::CLOSE } => {
            batch.push_memory(memory::tracker_event(id, raw)?, raw);
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

/// The same for an event of the kernel. Blocks and keys are nearly all there is.
#[inline(always)]
fn decode_kernel(event: &KernelEvent<'_>, batch: &mut Batch) -> Option<()> {
    let &KernelEvent { time, pid, tid, hook, pointer, payload, .. } = event;
    let block = |heap, address, size| BlockEvent { time, pid, tid, layer: Layer::Heap, heap, address, size };
    match hook {
        hook::HEAP_ALLOC => {
            let [heap, size, address] = memory::heap_alloc(payload, pointer)?;
            batch.push_block(&block(heap, address, Some(size)));
        }
        hook::HEAP_FREE => {
            let [heap, address] = memory::heap_free(payload, pointer)?;
            batch.push_block(&block(heap, address, None));
        }
        hook::STACK_KEY_REF_KERNEL | hook::STACK_KEY_REF_USER => batch.push_key(&KeyRef::read(event)?),
        _ => decode_few(*event, batch)?,
    }
    Some(())
}

/// Events that are few; by value, so that the others need not be in memory.
#[inline(never)]
fn decode_few(event: KernelEvent<'_>, batch: &mut Batch) -> Option<()> {
    let hook = event.hook;
    let raw = &RawEvent::from(event);
    let record = match hook {
        hook::STACK | hook::STACK_KEY_CREATE..=hook::STACK_KEY_RUNDOWN => {
            let stack = stack::walk(&event, &mut batch.frames)?;
            batch.push_stack(stack);
            return Some(());
        }
        hook::HEAP_CREATE..=hook::HEAP_FREE => memory_record(raw, memory::heap(hook, raw)?),
        hook::VIRTUAL_ALLOC | hook::VIRTUAL_FREE | hook::VIRTUAL_RUNDOWN_START => memory_record(raw, memory::pages(hook, raw)?),
        hook::PROCESS_START..=hook::PROCESS_RUNDOWN_END => system::process(hook, raw)?,
        hook::IMAGE_LOAD | hook::IMAGE_UNLOAD..=hook::IMAGE_RUNDOWN_END => system::image(hook, raw)?,
        hook::THREAD_START | hook::THREAD_RUNDOWN_START | hook::THREAD_RUNDOWN_END | hook::THREAD_SET_NAME => {
            system::thread_name(hook, raw)?.into_iter().for_each(|record| batch.push(record));
            return Some(());
        }
        _ => {
            counters::kernel(hook, raw)?.into_iter().for_each(|record| batch.push(record));
            return Some(());
        }
    };
    batch.push(record);
    Some(())
}

fn memory_record(raw: &RawEvent<'_>, event: Event) -> Record {
    Record { time: raw.time, pid: raw.pid, tid: raw.tid, event }
}

fn inline_stacks(raw: &RawEvent<'_>, batch: &mut Batch) {
    for item in raw.extended {
        if let Some(record) = stack::inline((raw.time, raw.pid, raw.tid), item, &mut batch.frames) {
            batch.push_stack(record);
        }
    }
}
