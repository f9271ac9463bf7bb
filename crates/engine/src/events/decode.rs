//! Decodes the events of one buffer into the records of a [`Batch`].
//!
//! Nearly all events are blocks and the keys of their stacks, with kernel headers; these take a fast
//! path, in registers from the buffer to the entry. All others go through the general form of an event.

use super::counts::Tally;
use super::entry::BlockEvent;
use super::hooks::{class, hook, injected, kernel_hook, kernel_memory, one_of_each, tracker};
use super::stack::{KeyRef, StackWalk};
use super::trackers::TrackerReading;
use super::{
    Batch, Event, MarkProviders, Record, StackPart, Stacks, TrackerProviders, activity, counters, losses, memory, stack, system,
};
use crate::etl::{
    BufferInfo, BufferKind, ClockKind, EventId, Events, Framed, KernelEvent, RawEvent, ReadBuffer, TraceFile, WideEvent,
    WideHeader,
};
use crate::problem::ProblemKind;
use crate::units::{Layer, Pid, PointerSize, Tid};

/// Options of decoding.
#[derive(Clone, Debug, Default)]
pub struct Wants {
    /// Treatment of stacks.
    pub stacks: Stacks,
    /// Providers whose events are marks.
    pub marks: MarkProviders,
    /// Providers whose events are blocks of trackers.
    pub trackers: TrackerProviders,
}

/// Reads, expands and decodes one buffer into the memory of a batch that is no longer needed.
pub fn decode_buffer(file: &TraceFile, info: &BufferInfo, wants: &Wants, scratch: &mut ReadBuffer, batch: Batch) -> Batch {
    decode_part(file, info, wants, (0, usize::MAX), scratch, batch)
}

/// Bytes of events that are decoded before the memory they take is checked again.
const STEP: usize = 4 << 10;

/// Decodes a part of a buffer: the events from offset `from` on, until they take half of `room` bytes
/// of memory (vectors double). [`Batch::rest`] tells where to go on.
pub(super) fn decode_part(
    file: &TraceFile,
    info: &BufferInfo,
    wants: &Wants,
    (from, room): (usize, usize),
    scratch: &mut ReadBuffer,
    mut batch: Batch,
) -> Batch {
    batch.clear();
    batch.stacks = wants.stacks;
    batch.has_other_clock = file.header.clock != ClockKind::Qpc;
    batch.bytes = if from == 0 { info.size.into() } else { 0 };
    if info.kind == BufferKind::NoEvents {
        return batch;
    }
    let problem = |batch: &mut Batch, kind, detail| batch.problems.add(kind, &file.name, info.offset, detail);
    let most = room / 2;
    file.read_part(info, from, most.max(STEP), scratch, &mut batch.problems);
    let mut short = 0u64;
    let mut first_short = None;
    let mut events = scratch.events();
    let cut = scratch.cut().unwrap_or(usize::MAX);
    let mut look_at = if room == usize::MAX { cut } else { cut.min(events.offset() + STEP) };
    let mut tally = Tally::default();
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    let mut stack_times = (first, last);
    loop {
        if events.offset() >= look_at && !events.is_at_end() {
            if events.offset() >= cut || batch.filled() >= most {
                batch.rest = Some(events.offset());
                break;
            }
            look_at = cut.min(events.offset() + STEP);
        }
        if decode_usual(&mut events, look_at, &mut batch, &mut tally, &mut stack_times) {
            continue;
        }
        let Some(framed) = events.next_framed() else { break };
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
                (decode_other(&event, hook, wants, &mut batch), time, event.offset)
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
    batch.counts.add(&tally.counts());
    if let Some(damage) = events.damage() {
        let detail = format!("{} at +{:#x} of this buffer; its rest was skipped", damage.reason, damage.offset);
        problem(&mut batch, ProblemKind::DamagedEvent, detail);
    }
    if let (bad, Some(first)) = batch.bad_events {
        let detail =
            format!("{bad} events in this buffer, the first at +{first:#x}, are not what the mapping of their tracker says");
        problem(&mut batch, ProblemKind::BadEvent, detail);
    }
    if let Some(first) = first_short {
        let detail = format!("{short} events in this buffer, the first at +{first:#x}, are too short for their kind");
        problem(&mut batch, ProblemKind::ShortPayload, detail);
    }
    batch.sort();
    for time in batch.entries.first().into_iter().chain(batch.entries.last()).map(|entry| entry.time) {
        (first, last) = (first.min(time), last.max(time));
    }
    (first, last) = (first.min(stack_times.0), last.max(stack_times.1));
    batch.times = (first <= last).then_some((first, last));
    batch
}

/// Reads, counts and adds events that begin before the offset `before`, as long as they are of the most
/// frequent kinds, whole and in their usual form; returns whether there was one. `times` gets the first
/// and last time of stacks and keys only; all other times are those of entries.
#[inline(always)]
fn decode_usual(events: &mut Events<'_>, before: usize, batch: &mut Batch, tally: &mut Tally, times: &mut (i64, i64)) -> bool {
    let from = events.offset();
    while events.offset() < before && next_usual(events, batch, tally, times) {}
    events.offset() > from
}

#[inline(always)]
fn next_usual(events: &mut Events<'_>, batch: &mut Batch, tally: &mut Tally, times: &mut (i64, i64)) -> bool {
    if let Some(event) = events.peek_wide(WideHeader::System) {
        let WideEvent { hook, time, pid, tid, words: [heap, second, third], .. } = event;
        let block = |address, size| BlockEvent { time, pid, tid, layer: Layer::Heap, heap, address, size };
        if hook == hook::HEAP_ALLOC && event.payload_len() >= 24 {
            tally.count_hook(hook::HEAP_ALLOC);
            batch.push_block(&block(third, Some(second)));
        } else if hook == hook::HEAP_FREE && event.payload_len() >= 16 {
            tally.count_hook(hook::HEAP_FREE);
            batch.push_block(&block(second, None));
        } else {
            return false;
        }
        events.pass(&event);
        return true;
    }
    let Some(event) = events.peek_wide(WideHeader::PerfInfo) else { return false };
    let WideEvent { hook, time, words: [owner, whose, key], .. } = event;
    let (owner, pid, tid) = (owner as i64, Pid(whose as u32), Tid((whose >> 32) as u32));
    if hook == hook::STACK_KEY_REF_USER && event.payload_len() >= 24 {
        tally.count_hook(hook::STACK_KEY_REF_USER);
        batch.push_key(&KeyRef { time, owner, pid, tid, part: StackPart::User, key });
    } else if hook == hook::STACK && event.payload_len() >= 16 {
        tally.count_hook(hook::STACK);
        let (part, frames) = stack::push_frames(event.payload_from(16), PointerSize::Eight, &mut batch.frames);
        batch.push_walk(&StackWalk { time, owner, pid, tid, part, frames });
    } else {
        return false;
    }
    *times = (times.0.min(time), times.1.max(time));
    events.pass(&event);
    true
}

/// Decodes a single event into the memory of a batch that is no longer needed; stacks become records of
/// their own. A payload that is too short gives no records.
pub fn decode_event(raw: &RawEvent<'_>, trackers: &TrackerProviders, batch: &mut Batch) {
    batch.clear();
    batch.stacks = Stacks::Apart;
    let wants = Wants { trackers: trackers.clone(), ..Wants::default() };
    let _ = decode_other(raw, kernel_hook(raw.id), &wants, batch);
}

/// Adds the records of one event, if it is of a kind that has any. `None` if its
/// payload is too short.
#[inline(never)]
fn decode_other(raw: &RawEvent<'_>, hook: Option<u16>, wants: &Wants, batch: &mut Batch) -> Option<()> {
    if let Some(hook) = hook {
        let &RawEvent { kind, pointer, time, pid, tid, version, payload, offset, .. } = raw;
        decode_kernel(&KernelEvent { kind, pointer, time, pid, tid, hook, version, payload, offset }, batch)?;
        if matches!(hook, hook::HEAP_CREATE..=hook::HEAP_FREE | hook::VIRTUAL_ALLOC | hook::VIRTUAL_FREE) {
            inline_stacks(raw, batch);
        }
        return Some(());
    }
    match raw.id {
        EventId::Provider { provider: class::CUSTOM_HEAP, id: id @ tracker::ALLOC..=tracker::CLOSE }
            if !wants.trackers.replaces(class::CUSTOM_HEAP) =>
        {
            batch.push_memory(memory_record(raw, memory::tracker_event(id, raw)?));
            inline_stacks(raw, batch);
        }
        EventId::Class { class: class::IMAGE_ID, opcode: injected::IMAGE_FILE } => batch.push(system::image_file(raw)?),
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
        EventId::Opaque => {}
        _ => decode_provider(raw, wants, batch)?,
    }
    Some(())
}

/// Adds the records of an event of a provider that means something only to some: blocks of a tracker, activity.
fn decode_provider(raw: &RawEvent<'_>, wants: &Wants, batch: &mut Batch) -> Option<()> {
    match wants.trackers.event(raw) {
        TrackerReading::Unmapped => {}
        TrackerReading::Nothing => return Some(()),
        TrackerReading::Bad => {
            batch.bad_events.0 += 1;
            batch.bad_events.1.get_or_insert(raw.offset);
            return Some(());
        }
        TrackerReading::Block(event, name) => {
            batch.counts.count_tracker(&event);
            batch.name_tracker(&event, name);
            batch.push_memory(memory_record(raw, event));
            inline_stacks(raw, batch);
            return Some(());
        }
    }
    for record in activity::provider(raw, &wants.marks, !batch.has_other_clock)?.into_iter().flatten() {
        if let Event::Activity(event) = &record.event {
            batch.beside += event.bytes_of_lists();
        }
        batch.push(record);
    }
    Some(())
}

/// Adds the records of a kernel event; `None` if its payload is too short. Nearly all are blocks and
/// keys.
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

/// Decodes less frequent events. Takes them by value, so that the others need not be in memory.
#[inline(never)]
fn decode_few(event: KernelEvent<'_>, batch: &mut Batch) -> Option<()> {
    let hook = event.hook;
    let raw = &RawEvent::from(event);
    let record = match hook {
        hook::STACK => {
            let stack = StackWalk::read(&event, &mut batch.frames)?;
            batch.push_walk(&stack);
            return Some(());
        }
        hook::STACK_KEY_CREATE..=hook::STACK_KEY_RUNDOWN => stack::definition(&event, &mut batch.frames)?,
        hook::HEAP_CREATE..=hook::HEAP_FREE => memory_record(raw, memory::heap(hook, raw)?),
        hook::VIRTUAL_ALLOC | hook::VIRTUAL_FREE | hook::VIRTUAL_RUNDOWN_START => memory_record(raw, memory::pages(hook, raw)?),
        hook::PROCESS_START..=hook::PROCESS_RUNDOWN_END => system::process(hook, raw)?,
        hook::IMAGE_LOAD | hook::IMAGE_UNLOAD..=hook::IMAGE_RUNDOWN_END => system::image(hook, raw)?,
        hook::SAMPLE => activity::sample(raw)?,
        hook::TRANSITION_FAULT..=hook::ACCESS_VIOLATION | hook::HARD_FAULT => activity::fault(hook, raw)?,
        hook::MARK | hook::SAMPLE_INTERVAL | hook::SAMPLE_INTERVAL_START | hook::VIEW_MAP..=hook::VIEW_RUNDOWN_END => {
            activity::kernel(hook, raw)?
        }
        hook::THREAD_START | hook::THREAD_RUNDOWN_START | hook::THREAD_RUNDOWN_END | hook::THREAD_SET_NAME => {
            system::thread(hook, raw)?.into_iter().flatten().for_each(|record| batch.push(record));
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
