//! Writes records as events of a new trace: the inverse of decoding, for generated traces, cut traces
//! and tests.
//!
//! [`RecordWriter::put`] writes a [`Record`] in the form that Windows gives this event (heap events as
//! SYSTEM, stacks as PERFINFO, …) unless [`Style`] asks for another. The reader turns it back into the
//! same record, except for fields for which the chosen header has no room (PERFINFO has no thread) and
//! bits that narrow pointers cut off. The payload functions of the submodules can be used on their own.
//!
//! Cost: the payload is built in reused memory and copied once more into its
//! buffer; nothing is allocated.

mod activity;
pub mod counters;
pub mod memory;
mod payload;
pub mod stack;
pub mod system;
#[cfg(test)]
mod tests;

use std::io::{Seek, Write};

pub use payload::Payload;
pub use stack::InlineStack;
use system::ProcessDetails;

use super::hooks::{class, class_id, hook, injected, lost, tracker};
use super::{CounterEvent, Event, ImageChange, ImageInfo, Lost, LostWhat, ProcessChange, ProcessInfo, Record, StackPart};
use crate::etl::write::{Descriptor, NewEvent, WriteError, Writer};
use crate::etl::{EventId, ExtendedItem, HeaderKind, extended_type};
use crate::units::{Layer, Pid, PointerSize, Tid};

/// How records are written.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Pointer size of payloads.
    pub pointer: PointerSize,
    /// Header of kernel events, instead of the one that Windows uses.
    pub header: Option<HeaderKind>,
    /// Version of heap creations, 2 or 3.
    pub heap_create_version: u16,
    /// Whether rundowns are those at the end of the trace.
    pub at_end: bool,
    /// Hook of key definitions: created, deleted or rundown.
    pub key_definition: u16,
    /// User of processes, empty for none.
    pub sid: &'static [u8],
}

impl Default for Style {
    fn default() -> Self {
        Self {
            pointer: PointerSize::Eight,
            header: None,
            heap_create_version: 3,
            at_end: false,
            key_definition: hook::STACK_KEY_RUNDOWN,
            sid: system::SID_USER,
        }
    }
}

/// Events that real traces have, but of which the reader makes no records, or none in this form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Extra {
    /// A thread started, or was there at the start or end of the trace.
    Thread {
        /// `THREAD_START` or one of the rundowns.
        hook: u16,
        /// Its process.
        pid: Pid,
        /// The thread.
        tid: Tid,
        /// Its name, or empty.
        name: String,
    },
    /// Build of the system.
    BuildInfo {
        /// Time of installation, FILETIME.
        installed: i64,
        /// Branch and build.
        lab: String,
        /// Name.
        product: String,
    },
    /// System and Windows directory.
    SystemPaths(String, String),
    /// The kernel flags that were on.
    GroupMasks([u32; 8]),
}

/// Writes records into a trace.
#[derive(Debug)]
pub struct RecordWriter<W> {
    writer: Writer<W>,
    payload: Payload,
    item: Payload,
    /// How the next record is written.
    pub style: Style,
}

/// Header fields of an event, without time and processor.
struct Shape {
    kind: HeaderKind,
    id: EventId,
    version: u16,
    pid: Pid,
    tid: Tid,
    descriptor: Descriptor,
}

impl<W: Write + Seek> RecordWriter<W> {
    /// A writer of records on top of a writer of events.
    pub fn new(writer: Writer<W>) -> Self {
        Self { writer, payload: Payload::default(), item: Payload::default(), style: Style::default() }
    }

    /// The writer below, for events of other kinds.
    pub fn writer(&mut self) -> &mut Writer<W> {
        &mut self.writer
    }

    /// Writes one record into the stream of a processor. `frames` are those of a
    /// stack or a definition; the record's own frame range is not used.
    pub fn put(&mut self, processor: u16, record: &Record, frames: &[u64]) -> Result<(), WriteError> {
        let shape = self.encode(record, frames)?;
        self.write(processor, record.time, &shape, &[])
    }

    /// Writes one record with its stack inside the event, which needs an EVENT header.
    pub fn put_with_stack(&mut self, processor: u16, record: &Record, stack: InlineStack<'_>) -> Result<(), WriteError> {
        let shape = self.encode(record, &[])?;
        self.item.restart(self.style.pointer);
        stack::item(&mut self.item, 0, stack);
        let kind = match (stack, self.style.pointer) {
            (InlineStack::Frames(_), PointerSize::Four) => extended_type::STACK_TRACE32,
            (InlineStack::Frames(_), PointerSize::Eight) => extended_type::STACK_TRACE64,
            (InlineStack::Key(_), PointerSize::Four) => extended_type::STACK_KEY32,
            (InlineStack::Key(_), PointerSize::Eight) => extended_type::STACK_KEY64,
        };
        let item = std::mem::take(&mut self.item);
        let result = self.write(processor, record.time, &shape, &[ExtendedItem { kind, data: item.bytes() }]);
        self.item = item;
        result
    }

    /// Writes the stack of the event at `owner` as a StackWalk event.
    pub fn put_stack(
        &mut self,
        processor: u16,
        time: i64,
        owner: i64,
        thread: (Pid, Tid),
        frames: &[u64],
    ) -> Result<(), WriteError> {
        let (pid, tid) = thread;
        stack::stack(self.payload.restart(self.style.pointer), owner, pid, tid, frames);
        let shape = self.kernel(HeaderKind::PerfInfo, hook::STACK, 2, thread)?;
        self.write(processor, time, &shape, &[])
    }

    /// Writes one of the extra events.
    pub fn put_extra(&mut self, processor: u16, time: i64, extra: &Extra) -> Result<(), WriteError> {
        let shape = self.encode_extra(extra)?;
        self.write(processor, time, &shape, &[])
    }

    /// Completes the file; see [`Writer::finish`].
    pub fn finish(self) -> Result<W, WriteError> {
        self.writer.finish()
    }

    fn write(&mut self, processor: u16, time: i64, shape: &Shape, extended: &[ExtendedItem<'_>]) -> Result<(), WriteError> {
        self.writer.write(&NewEvent {
            processor,
            time,
            kind: shape.kind,
            pointer: self.style.pointer,
            pid: shape.pid,
            tid: shape.tid,
            id: shape.id,
            version: shape.version,
            descriptor: shape.descriptor,
            extended,
            payload: self.payload.bytes(),
        })
    }

    /// Builds the payload and returns the fields of the header before it.
    fn encode(&mut self, record: &Record, frames: &[u64]) -> Result<Shape, WriteError> {
        use HeaderKind::{PerfInfo, System};
        let out = self.payload.restart(self.style.pointer);
        let thread = (record.pid, record.tid);
        match &record.event {
            Event::HeapOpen { layer, .. }
            | Event::HeapClose { layer, .. }
            | Event::Alloc { layer, .. }
            | Event::Free { layer, .. }
            | Event::Realloc { layer, .. } => match layer {
                Layer::Heap => self.encode_heap(record),
                Layer::Tracker => self.encode_tracker(record),
                Layer::Commit => Err(WriteError::WrongKind("pages as a heap's block")),
            },
            Event::VirtualAlloc(range) => {
                memory::pages(out, range);
                self.kernel(System, hook::VIRTUAL_ALLOC, 2, thread)
            }
            Event::VirtualFree(range) => {
                memory::pages(out, range);
                self.kernel(System, hook::VIRTUAL_FREE, 2, thread)
            }
            Event::CommitRundown(region) => {
                memory::pages_rundown(out, region);
                self.kernel(PerfInfo, hook::VIRTUAL_RUNDOWN_START, 2, thread)
            }
            Event::Stack { owner, .. } => {
                stack::stack(out, *owner, record.pid, record.tid, frames);
                self.kernel(PerfInfo, hook::STACK, 2, thread)
            }
            Event::StackRef { owner, part, key } => {
                stack::stack(out, *owner, record.pid, record.tid, &[*key]);
                let hook = match part {
                    StackPart::Kernel => hook::STACK_KEY_REF_KERNEL,
                    StackPart::User => hook::STACK_KEY_REF_USER,
                };
                self.kernel(PerfInfo, hook, 2, thread)
            }
            Event::StackDefinition { key, .. } => {
                stack::definition(out, *key, frames);
                self.kernel(PerfInfo, self.style.key_definition, 2, thread)
            }
            Event::Counter(event) => {
                let hook = counters::counter(out, record.pid, event);
                self.kernel(counters::header(event), hook, counters::WIDE_VERSION, thread)
            }
            Event::Lost(lost) => {
                system::lost(out, *lost);
                Ok(lost_shape(*lost, thread))
            }
            &Event::Sample { address, count } => self.encode_sample(address, count, record.tid),
            Event::Fault(fault) => self.encode_fault(fault, thread),
            Event::Activity(event) => self.encode_activity(event, thread),
            Event::Process(change, info) => self.encode_process(record, *change, info),
            Event::Image(change, info) => self.encode_image(record, *change, info),
            &Event::ThreadStart(stack) => {
                system::thread(out, record.pid, record.tid, stack, "");
                self.kernel(System, hook::THREAD_START, system::THREAD_VERSION, thread)
            }
            &Event::ThreadRundown(stack) => {
                system::thread(out, record.pid, record.tid, stack, "");
                let hook = if self.style.at_end { hook::THREAD_RUNDOWN_END } else { hook::THREAD_RUNDOWN_START };
                self.kernel(PerfInfo, hook, system::THREAD_VERSION, thread)
            }
            Event::ThreadName(name) => {
                system::thread_name(out, record.pid, record.tid, name);
                self.kernel(System, hook::THREAD_SET_NAME, 2, thread)
            }
            Event::ImageFile(file) => {
                system::image_file(out, record.pid, file);
                Ok(classic(class::IMAGE_ID, injected::IMAGE_FILE, thread))
            }
            Event::ImageId(id) => {
                system::image_id(out, record.pid, id);
                Ok(classic(class::IMAGE_ID, injected::RSDS, thread))
            }
            Event::Volume(paths) => {
                system::two_strings(out, &paths.0, &paths.1);
                Ok(classic(class::SYSTEM_CONFIG_EX, injected::VOLUME_MAPPING, thread))
            }
        }
    }

    fn encode_heap(&mut self, record: &Record) -> Result<Shape, WriteError> {
        let out = &mut self.payload;
        let (hook, version) = match &record.event {
            Event::HeapOpen { heap, .. } => {
                memory::heap_create(out, self.style.heap_create_version, *heap);
                (hook::HEAP_CREATE, self.style.heap_create_version)
            }
            Event::HeapClose { heap, .. } => {
                memory::heap_destroy(out, *heap);
                (hook::HEAP_DESTROY, 2)
            }
            Event::Alloc { heap, address, size, .. } => {
                memory::heap_alloc(out, *heap, *address, *size);
                (hook::HEAP_ALLOC, 2)
            }
            Event::Free { heap, address, .. } => {
                memory::heap_free(out, *heap, *address);
                (hook::HEAP_FREE, 2)
            }
            Event::Realloc { heap, old, new, size, .. } => {
                memory::heap_realloc(out, *heap, *new, *old, *size, 0);
                (hook::HEAP_REALLOC, 2)
            }
            _ => return Err(WriteError::WrongKind("this as a heap event")),
        };
        self.kernel(HeaderKind::System, hook, version, (record.pid, record.tid))
    }

    fn encode_tracker(&mut self, record: &Record) -> Result<Shape, WriteError> {
        let out = &mut self.payload;
        let id = match &record.event {
            Event::HeapOpen { heap, name, .. } => {
                memory::tracker_name(out, *heap, name.as_deref().unwrap_or_default());
                tracker::OPEN
            }
            Event::Alloc { heap, address, size, .. } => {
                memory::tracker_alloc(out, *heap, *address, *size);
                tracker::ALLOC
            }
            Event::Free { heap, address, .. } => {
                memory::tracker_free(out, *heap, *address);
                tracker::FREE
            }
            Event::Realloc { heap, old, new, size, .. } => {
                memory::tracker_realloc(out, *heap, *new, *old, *size);
                tracker::REALLOC
            }
            Event::HeapClose { heap, name, .. } => {
                memory::tracker_name(out, *heap, name.as_deref().unwrap_or_default());
                tracker::CLOSE
            }
            _ => return Err(WriteError::WrongKind("this as a tracker event")),
        };
        Ok(Shape {
            kind: HeaderKind::Event,
            id: EventId::Provider { provider: class::CUSTOM_HEAP, id },
            version: 1,
            pid: record.pid,
            tid: record.tid,
            // Opcodes follow the ids: 100 has 10, 101 has 11, …
            descriptor: Descriptor { channel: 16, level: 4, opcode: (id - 90) as u8, task: 0, keyword: 1 << 63 },
        })
    }

    fn encode_process(&mut self, record: &Record, change: ProcessChange, info: &ProcessInfo) -> Result<Shape, WriteError> {
        use HeaderKind::{PerfInfo, System};
        let status = if change == ProcessChange::End { 0 } else { 0x103 };
        let details = ProcessDetails { session: 1, status, sid: self.style.sid };
        system::process(&mut self.payload, record.pid, info, details);
        let (kind, hook, pid) = match change {
            // The process that starts another writes the event.
            ProcessChange::Start => (System, hook::PROCESS_START, Pid(info.parent)),
            ProcessChange::End => (System, hook::PROCESS_END, record.pid),
            ProcessChange::Rundown if self.style.at_end => (PerfInfo, hook::PROCESS_RUNDOWN_END, record.pid),
            ProcessChange::Rundown => (PerfInfo, hook::PROCESS_RUNDOWN_START, record.pid),
        };
        self.kernel(kind, hook, system::PROCESS_VERSION, (pid, record.tid))
    }

    fn encode_image(&mut self, record: &Record, change: ImageChange, info: &ImageInfo) -> Result<Shape, WriteError> {
        use HeaderKind::{PerfInfo, System};
        system::image(&mut self.payload, record.pid, info);
        let (kind, hook) = match change {
            ImageChange::Load => (System, hook::IMAGE_LOAD),
            ImageChange::Unload => (System, hook::IMAGE_UNLOAD),
            ImageChange::Rundown if self.style.at_end => (PerfInfo, hook::IMAGE_RUNDOWN_END),
            ImageChange::Rundown => (PerfInfo, hook::IMAGE_RUNDOWN_START),
        };
        self.kernel(kind, hook, system::IMAGE_VERSION, (record.pid, record.tid))
    }

    fn encode_extra(&mut self, extra: &Extra) -> Result<Shape, WriteError> {
        let out = self.payload.restart(self.style.pointer);
        let nobody = (Pid::NONE, Tid::NONE);
        match extra {
            Extra::Thread { hook, pid, tid, name } => {
                system::thread(out, *pid, *tid, system::made_stack(*tid), name);
                let kind = if *hook == hook::THREAD_START { HeaderKind::System } else { HeaderKind::PerfInfo };
                self.kernel(kind, *hook, system::THREAD_VERSION, (*pid, *tid))
            }
            Extra::BuildInfo { installed, lab, product } => {
                system::build_info(out, *installed, lab, product);
                Ok(classic(class::SYSTEM_CONFIG_EX, injected::BUILD_INFO, nobody))
            }
            Extra::SystemPaths(system, windows) => {
                system::two_strings(out, system, windows);
                Ok(classic(class::SYSTEM_CONFIG_EX, injected::SYSTEM_PATHS, nobody))
            }
            Extra::GroupMasks(masks) => {
                masks.iter().fold(out, |out, mask| out.u32(*mask)).u32(1);
                self.kernel(HeaderKind::PerfInfo, hook::GROUP_MASKS, 2, nobody)
            }
        }
    }

    /// Header fields of a kernel event, with the kind of header that the style asks for, or else
    /// `kind`.
    fn kernel(&self, kind: HeaderKind, hook: u16, version: u16, (pid, tid): (Pid, Tid)) -> Result<Shape, WriteError> {
        let kind = self.style.header.unwrap_or(kind);
        let id = match kind {
            HeaderKind::System | HeaderKind::Compact | HeaderKind::PerfInfo => EventId::Hook(hook),
            _ => class_id(hook).ok_or(WriteError::WrongKind("a hook without a class"))?,
        };
        Ok(Shape { kind, id, version, pid, tid, descriptor: Descriptor::default() })
    }
}

/// The event by which a real-time session reports that something was lost just before it.
pub fn lost_event(payload: &mut Payload, processor: u16, time: i64, lost: Lost) -> NewEvent<'_> {
    system::lost(payload.restart(PointerSize::Eight), lost);
    let Shape { kind, id, version, pid, tid, descriptor } = lost_shape(lost, (Pid::NONE, Tid::NONE));
    let (pointer, payload) = (PointerSize::Eight, payload.bytes());
    NewEvent { processor, time, kind, pointer, pid, tid, id, version, descriptor, extended: &[], payload }
}

/// A counter event for a stream that is not written by a [`RecordWriter`].
pub fn counter_event<'a>(payload: &'a mut Payload, processor: u16, time: i64, pid: Pid, event: &CounterEvent) -> NewEvent<'a> {
    let hook = counters::counter(payload.restart(PointerSize::Eight), pid, event);
    NewEvent {
        processor,
        time,
        kind: counters::header(event),
        pointer: PointerSize::Eight,
        pid,
        tid: Tid::NONE,
        id: EventId::Hook(hook),
        version: counters::WIDE_VERSION,
        descriptor: Descriptor::default(),
        extended: &[],
        payload: payload.bytes(),
    }
}

fn lost_shape(lost: Lost, thread: (Pid, Tid)) -> Shape {
    let opcode = match lost.what {
        LostWhat::Events => lost::EVENT,
        LostWhat::Buffers => lost::BUFFER,
    };
    let version = lost.details.map_or(2, |_| lost::DETAILED_VERSION);
    Shape { version, ..classic(class::LOST_EVENT, opcode, thread) }
}

/// Header fields of a classic event, as merging injects them.
fn classic(class: crate::etl::Guid, opcode: u8, (pid, tid): (Pid, Tid)) -> Shape {
    let id = EventId::Class { class, opcode };
    Shape { kind: HeaderKind::Full, id, version: 2, pid, tid, descriptor: Descriptor::default() }
}
