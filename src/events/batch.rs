//! One buffer's worth of records. Buffers stand alone, so batches can be decoded
//! in any order and on any thread; [`super::Merge`] puts them into time order.

use super::hooks::{class, hook, injected, kernel_hook, tracker};
use super::{EventCounts, FrameRange, Record, memory, stack, system};
use crate::etl::{BufferInfo, BufferKind, EventId, RawEvent, ReadBuffer, TraceFile};
use crate::problem::{ProblemKind, Problems};

/// The records of one or more buffers, ordered by time.
#[derive(Debug, Default)]
pub struct Batch {
    /// Records, by time; equal times in the order of the buffer.
    pub records: Vec<Record>,
    /// Frames of the stacks among them.
    pub frames: Vec<u64>,
    /// All events of the buffers, also those without a record.
    pub counts: EventCounts,
    /// Raw times of the first and last event of any kind.
    pub times: Option<(i64, i64)>,
    /// What was wrong.
    pub problems: Problems,
    /// Bytes of file these are.
    pub bytes: u64,
}

impl Batch {
    /// The frames of one stack.
    pub fn frames(&self, range: FrameRange) -> &[u64] {
        let start = range.start as usize;
        self.frames.get(start..start + range.len as usize).unwrap_or_default()
    }

    /// Appends a later batch of the same stream and restores the order by time.
    pub(super) fn absorb(&mut self, later: Self) {
        let shift = self.frames.len() as u32;
        self.frames.extend(later.frames);
        self.records.extend(later.records.into_iter().map(|mut record| {
            if let super::Event::Stack { frames, .. } | super::Event::StackDefinition { frames, .. } = &mut record.event {
                frames.start += shift;
            }
            record
        }));
        self.sort();
    }

    fn sort(&mut self) {
        if !self.records.is_sorted_by_key(|r| r.time) {
            self.records.sort_by_key(|r| r.time); // stable: equal times keep their order
        }
    }
}

/// Reads, expands and decodes one buffer.
pub fn decode_buffer(file: &TraceFile, info: &BufferInfo, scratch: &mut ReadBuffer) -> Batch {
    let mut batch = Batch { bytes: info.size.into(), ..Batch::default() };
    if info.kind == BufferKind::NoEvents {
        return batch;
    }
    let problem = |batch: &mut Batch, kind, detail| batch.problems.add(kind, &file.name, info.offset, detail);
    file.read_buffer(info, scratch, &mut batch.problems);
    let mut short = 0u64;
    let mut first_short = None;
    for event in scratch.events() {
        let event = match event {
            Ok(event) => event,
            Err(damage) => {
                let detail = format!("{} at +{:#x} of this buffer; its rest was skipped", damage.reason, damage.offset);
                problem(&mut batch, ProblemKind::DamagedEvent, detail);
                break;
            }
        };
        batch.counts.count(&event);
        if event.id != EventId::Opaque {
            let (first, last) = batch.times.unwrap_or((event.time, event.time));
            batch.times = Some((first.min(event.time), last.max(event.time)));
        }
        if decode(&event, &mut batch).is_none() {
            first_short.get_or_insert(event.offset);
            short += 1;
        }
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
fn decode(raw: &RawEvent<'_>, batch: &mut Batch) -> Option<()> {
    if let Some(hook) = kernel_hook(raw.id) {
        return decode_kernel(hook, raw, batch);
    }
    match raw.id {
        EventId::Provider { provider: class::CUSTOM_HEAP, id: id @ tracker::ALLOC..=tracker::CLOSE } => {
            batch.records.push(memory_record(raw, memory::tracker_event(id, raw)?));
            inline_stacks(raw, batch);
        }
        EventId::Class { class: class::IMAGE_ID, opcode: injected::RSDS } => batch.records.push(system::image_id(raw)?),
        EventId::Class { class: class::SYSTEM_CONFIG_EX, opcode: injected::VOLUME_MAPPING } => {
            batch.records.push(system::volume(raw)?);
        }
        _ => {}
    }
    Some(())
}

fn decode_kernel(hook: u16, raw: &RawEvent<'_>, batch: &mut Batch) -> Option<()> {
    let record = match hook {
        hook::HEAP_CREATE..=hook::HEAP_FREE => memory_record(raw, memory::heap(hook, raw)?),
        hook::VIRTUAL_ALLOC | hook::VIRTUAL_FREE | hook::VIRTUAL_RUNDOWN_START => memory_record(raw, memory::pages(hook, raw)?),
        hook::STACK | hook::STACK_KEY_CREATE..=hook::STACK_KEY_REF_USER => stack::walk(hook, raw, &mut batch.frames)?,
        hook::PROCESS_START..=hook::PROCESS_RUNDOWN_END => system::process(hook, raw)?,
        hook::IMAGE_LOAD | hook::IMAGE_UNLOAD..=hook::IMAGE_RUNDOWN_END => system::image(hook, raw)?,
        hook::THREAD_START | hook::THREAD_RUNDOWN_START | hook::THREAD_RUNDOWN_END | hook::THREAD_SET_NAME => {
            batch.records.extend(system::thread_name(hook, raw)?);
            return Some(());
        }
        _ => return Some(()),
    };
    batch.records.push(record);
    inline_stacks(raw, batch);
    Some(())
}

fn memory_record(raw: &RawEvent<'_>, event: super::Event) -> Record {
    Record { time: raw.time, pid: raw.pid, tid: raw.tid, event }
}

fn inline_stacks(raw: &RawEvent<'_>, batch: &mut Batch) {
    let Batch { records, frames, .. } = batch;
    stack::inline(raw, frames, |record| records.push(record));
}
