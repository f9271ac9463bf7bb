//! Writes marks, presents, managed code, samples and mapped views as Windows does; the inverse functions are in
//! [`activity`](super::super::activity), which names the sources of the layouts.

use std::io::{Seek, Write};

use super::{Descriptor, Payload, RecordWriter, Shape, classic};
use crate::etl::write::{NewEvent, WriteError};
use crate::etl::{EventId, Guid, HeaderKind};
use crate::events::activity::{END_MARK, ON_CONTEXT, TIME_SHIFT};
use crate::events::hooks::pix;
use crate::events::{
    ActivityEvent, Collection, CollectionId, EventSchema, GpuChange, GpuKind, GpuMemory, ManagedEvent, ManagedHeaps,
    ManagedMethod, MarkEvent, MarkText, MethodChange, PageFault, PixBlock, PixDoubt, PixEvent, PixStep, PixWhat, Present,
    PresentApi, ViewChange, ViewEvent, class, gpu, hook,
};
use crate::units::{Pid, PointerSize, Tid};

/// Id, version and opcode of an event with a manifest.
type Numbers = (u16, u8, u8);

/// Versions of the runtime's events.
const METHOD_VERSION: u8 = 2;
const MODULE_VERSION: u8 = 1;
const HEAPS_VERSION: u8 = 2;

impl<W: Write + Seek> RecordWriter<W> {
    /// A sample; its thread is in the payload, and no header has it.
    pub(super) fn encode_sample(&mut self, address: u64, count: u16, tid: Tid) -> Result<Shape, WriteError> {
        self.payload.word(address).u32(tid.0).u32(count.into());
        self.kernel(HeaderKind::PerfInfo, hook::SAMPLE, 2, (Pid::NONE, Tid::NONE))
    }

    /// A page fault. A hard fault has its thread in the payload, others in the header, or nowhere if it is not known.
    pub(super) fn encode_fault(&mut self, fault: &PageFault, thread: (Pid, Tid)) -> Result<Shape, WriteError> {
        let hook = fault.kind().hook();
        match *fault {
            PageFault::Hard { address, started, bytes } => {
                let (offset, file) = ([0; 8], 0);
                self.payload.u64(started as u64).raw(&offset).word(address).word(file).u32(thread.1.0).u32(bytes);
                self.kernel(HeaderKind::PerfInfo, hook, 2, (Pid::NONE, Tid::NONE))
            }
            PageFault::Soft { address, code, .. } => {
                self.payload.word(address).word(code);
                let header = if thread.1.is_known() { HeaderKind::System } else { HeaderKind::PerfInfo };
                self.kernel(header, hook, 2, thread)
            }
        }
    }

    /// Writes the description of a kind of event, a TRACE_EVENT_INFO, as merging adds it.
    pub fn put_event_info(&mut self, time: i64, info: &[u8]) -> Result<(), WriteError> {
        let Shape { kind, id, version, pid, tid, descriptor } =
            classic(class::EVENT_METADATA, EventSchema::OPCODE, (Pid::NONE, Tid::NONE));
        let pointer = PointerSize::Eight;
        let event =
            NewEvent { processor: 0, time, kind, pointer, pid, tid, id, version, descriptor, extended: &[], payload: info };
        self.writer.write(&event)
    }

    pub(super) fn encode_activity(&mut self, event: &ActivityEvent, thread: (Pid, Tid)) -> Result<Shape, WriteError> {
        let out = &mut self.payload;
        match event {
            ActivityEvent::Mark(mark) if mark.provider == class::PERF_INFO => {
                let MarkText::Known(text) = &mark.text else { return Err(WriteError::WrongKind("a mark without its text")) };
                // The kernel puts two bytes behind the text.
                out.ansi(text).zeros(2);
                self.kernel(HeaderKind::System, hook::MARK, 0, thread)
            }
            ActivityEvent::Mark(mark) => {
                let numbers = self::mark(out, mark).ok_or(WriteError::WrongKind("a mark of this provider"))?;
                Ok(manifest(mark.provider, numbers, thread))
            }
            ActivityEvent::Schema(schema) => {
                self::schema(out, schema);
                Ok(classic(class::EVENT_METADATA, EventSchema::OPCODE, thread))
            }
            ActivityEvent::Present(present) => {
                let (provider, numbers) = self::present(out, *present);
                Ok(manifest(provider, numbers, thread))
            }
            ActivityEvent::Managed(event) => {
                let (provider, numbers) = managed(out, event);
                Ok(manifest(provider, numbers, thread))
            }
            ActivityEvent::SampleInterval(interval) => {
                out.u32(interval.source).u32(interval.interval).u32(interval.interval);
                self.kernel(HeaderKind::System, hook::SAMPLE_INTERVAL_START, 2, thread)
            }
            ActivityEvent::Pix(event) => {
                let numbers = pix_event(out, event, thread.0);
                Ok(manifest(class::PIX, numbers, thread))
            }
            ActivityEvent::View(view) => {
                let hook = self::view(out, *view, thread.0);
                self.kernel(HeaderKind::System, hook, 3, thread)
            }
            ActivityEvent::Gpu(memory) => {
                let numbers = gpu_memory(out, memory, thread.0);
                Ok(manifest(class::DXG_KRNL, numbers, thread))
            }
        }
    }
}

fn manifest(provider: Guid, (id, version, opcode): Numbers, (pid, tid): (Pid, Tid)) -> Shape {
    Shape {
        kind: HeaderKind::Event,
        id: EventId::Provider { provider, id },
        version: version.into(),
        pid,
        tid,
        descriptor: Descriptor { opcode, ..Descriptor::default() },
    }
}

/// Puts a mark of UIforETW's, or an event that does not describe itself.
fn mark(out: &mut Payload, mark: &MarkEvent) -> Option<Numbers> {
    match (&mark.text, mark.lasted_ms, mark.provider) {
        (MarkText::Known(text), Some(lasted), class::MULTI_MAIN | class::MULTI_WORKER) => {
            out.ansi(text).u32(0).u32(lasted.to_bits());
            Some((101, 0, 11))
        }
        (MarkText::Known(text), None, class::MULTI_MAIN | class::MULTI_WORKER) => {
            out.ansi(text);
            Some((102, 0, 13))
        }
        (MarkText::Untold(untold), ..) => {
            out.raw(&untold.payload);
            Some((untold.id, untold.version, 0))
        }
        (MarkText::Known(_), ..) => None,
    }
}

impl EventSchema {
    /// The schema as a TRACE_EVENT_INFO.
    pub fn to_info(&self) -> Vec<u8> {
        let mut out = Payload::default();
        schema(&mut out, self);
        out.bytes().to_vec()
    }
}

/// The description of an event: its head, its fields, and then all texts.
fn schema(out: &mut Payload, schema: &EventSchema) {
    const HEAD: u32 = 0x70;
    const FIELD: u32 = 24;
    let units = |text: &str| 2 * (text.encode_utf16().count() as u32 + 1);
    let count = schema.fields.len() as u32;
    let provider_at = HEAD + FIELD * count;
    let task_at = provider_at + units(&schema.provider_name);
    let mut next = task_at + units(&schema.name);
    out.guid(schema.provider).zeros(16);
    // Id, version, and other fields that distinguish events.
    out.u32(u32::from(schema.id) | u32::from(schema.version) << 16).zeros(12);
    // From a manifest; offsets of the names of provider, level, channel, keywords, task.
    out.u32(0).u32(provider_at).zeros(12).u32(task_at);
    out.zeros(0x64 - 0x48).u32(count).u32(count).u32(0);
    for field in &schema.fields {
        let counted = if field.is_single { 0 } else { 4 };
        out.u32(counted).u32(next).u32(field.stored.0.into()).u32(0).u32(1).u32(0);
        next += units(&field.name);
    }
    out.utf16z(&schema.provider_name).utf16z(&schema.name);
    for field in &schema.fields {
        out.utf16z(&field.name);
    }
}

/// Puts the change of a view, of no known file; returns its hook.
fn view(out: &mut Payload, ViewEvent { change, base, size }: ViewEvent, pid: Pid) -> u16 {
    out.word(base).word(0).u64(0).word(size).u64(0).u32(pid.0);
    match change {
        ViewChange::Map => hook::VIEW_MAP,
        ViewChange::Unmap => hook::VIEW_UNMAP,
        ViewChange::RundownStart => hook::VIEW_RUNDOWN_START,
        ViewChange::RundownEnd => hook::VIEW_RUNDOWN_END,
    }
}

fn gpu_memory(out: &mut Payload, memory: &GpuMemory, pid: Pid) -> Numbers {
    let GpuMemory::Changed(change) = memory else {
        // A version that nobody has.
        out.zeros(16).word(0).u32(pid.0).zeros(3);
        return (gpu::USAGE, u8::MAX, 0);
    };
    let GpuChange { kind, adapter, group, new, old } = *change;
    out.u64(new).u64(old).word(adapter.address).u32(pid.0).raw(&adapter.number.to_le_bytes());
    let id = match kind {
        GpuKind::Usage => gpu::USAGE,
        GpuKind::Commitment => gpu::COMMITMENT,
        GpuKind::Budget => {
            out.zeros(4);
            gpu::BUDGET
        }
    };
    out.u8(group as u8);
    (id, 0, 0)
}

/// Puts a counter, or a block of the second format.
fn pix_event(out: &mut Payload, event: &PixEvent, pid: Pid) -> Numbers {
    match event {
        PixEvent::Counter { name, value } => {
            out.u32(value.to_bits()).utf16z(name);
            (pix::COUNTER, 0, 18)
        }
        PixEvent::Unread(doubt) => {
            let (payload, numbers) = match doubt {
                PixDoubt::NoNumber => (out.u32(f32::NAN.to_bits()).utf16z("?"), (pix::COUNTER, 0, 18)),
                PixDoubt::Header => (out.zeros(8), (pix::TIMING_HEADER, 0, 17)),
                // A version that nobody has, and a time that is never reached.
                PixDoubt::Form => (out.zeros(8), (pix::BLOCK_2, u8::MAX, 16)),
                PixDoubt::Clock => {
                    let header = out.u32(0).u32(48).zeros(28).u32(pid.0);
                    (header.u64(0).u64(i64::MAX as u64), (pix::BLOCK_2, 0, 16))
                }
            };
            debug_assert!(!payload.bytes().is_empty());
            numbers
        }
        PixEvent::Block(block) => {
            pix_block(out, block, pid);
            (pix::BLOCK_2, 0, 16)
        }
    }
}

fn pix_block(out: &mut Payload, block: &PixBlock, pid: Pid) {
    const END: u64 = 0;
    const BEGIN: u64 = 1;
    const MARKER: u64 = 2;
    const UNKNOWN: u64 = 31;
    let PixBlock { number, tid, times: (begin, end), steps, of_gpu, unknown, cut_names: _, is_whole } = block;
    let info = |at: i64, kind: u64, metadata: u64, words: u64| (at as u64) << TIME_SHIFT | metadata << 12 | kind << 7 | words;
    let mut words = Vec::new();
    for _ in 0..*of_gpu {
        words.extend([info(*begin, END, ON_CONTEXT, 2), 0]);
    }
    words.extend((0..*unknown).map(|_| info(*begin, UNKNOWN, 0, 1)));
    for PixStep { at, what } in steps {
        let (kind, name) = match what {
            PixWhat::End => {
                words.push(info(*at, END, 0, 1));
                continue;
            }
            PixWhat::Begin(name) => (BEGIN, name),
            PixWhat::Marker(name) => (MARKER, name),
        };
        let units: Vec<u16> = name.encode_utf16().chain([0]).collect();
        let name = units.chunks(4).map(|units| units.iter().rev().fold(0, |word, &unit| word << 16 | u64::from(unit)));
        words.push(info(*at, kind, 0, 1 + name.len() as u64));
        words.extend(name);
    }
    words.extend(is_whole.then_some(END_MARK));
    out.u32(*number).u32(48 + 8 * words.len() as u32).zeros(24).u32(tid.0).u32(pid.0).u64(*begin as u64).u64(*end as u64);
    for word in words {
        out.u64(word);
    }
}

fn present(out: &mut Payload, present: Present) -> (Guid, Numbers) {
    match present {
        Present::Start { api: PresentApi::D3d9, swap_chain, .. } => {
            out.word(swap_chain).u32(0);
            (class::D3D9, (1, 0, 1))
        }
        Present::Start { swap_chain, is_test, .. } => {
            out.word(swap_chain).u32(is_test.into()).u32(1);
            (class::DXGI, (42, 0, 1))
        }
        Present::Stop { api, has_failed } => {
            out.u32(if has_failed { 0x887A_0005 } else { 0 });
            if api == PresentApi::D3d9 { (class::D3D9, (2, 0, 2)) } else { (class::DXGI, (43, 0, 2)) }
        }
        Present::Marked => {
            out.u32(0).u32(0);
            (class::MULTI_FRAME_RATE, (200, 0, 10))
        }
        Present::Taken { window } => {
            // Context; source, interval, flags and status; the two allocations.
            out.u32(0).word(window).zeros(16).word(0).word(0);
            (class::DXG_KRNL, (184, 1, 0))
        }
    }
}

fn managed(out: &mut Payload, event: &ManagedEvent) -> (Guid, Numbers) {
    match event {
        ManagedEvent::Method(change, of) => {
            method(out, of);
            match change {
                MethodChange::Load => (class::CLR, (143, METHOD_VERSION, 37)),
                MethodChange::Unload => (class::CLR, (144, METHOD_VERSION, 38)),
                MethodChange::Rundown => (class::CLR_RUNDOWN, (144, METHOD_VERSION, 40)),
            }
        }
        ManagedEvent::Module { id, path } => {
            out.u64(*id).u64(0).u64(0).utf16z(path).utf16z("").raw(&1u16.to_le_bytes());
            (class::CLR_RUNDOWN, (154, MODULE_VERSION, 36))
        }
        ManagedEvent::CollectionStart(Collection { id, generation, reason, is_background }) => {
            let CollectionId { runtime, number } = id;
            match generation {
                None => {
                    out.u32(*number).u32(reason.0);
                }
                Some(generation) => {
                    out.u32(*number).u32(*generation).u32(reason.0).u32((*is_background).into()).raw(&runtime.to_le_bytes());
                }
            }
            (class::CLR, (1, generation.is_some().into(), 1))
        }
        ManagedEvent::CollectionEnd(CollectionId { runtime, number }) => {
            out.u32(*number).u32(0).raw(&runtime.to_le_bytes());
            (class::CLR, (2, 1, 2))
        }
        ManagedEvent::Heaps(ManagedHeaps { generations }) => {
            let [zero, one, two, large, pinned] = generations;
            for size in [zero, one, two, large] {
                out.u64(*size).u64(0);
            }
            out.zeros(28).raw(&1u16.to_le_bytes()).u64(*pinned).u64(0);
            (class::CLR, (4, HEAPS_VERSION, 133))
        }
    }
}

/// Puts a method; its namespace is the part of its name before the last dot.
fn method(out: &mut Payload, method: &ManagedMethod) {
    const JITTED: u32 = 8;
    let (namespace, name) = method.name.rsplit_once('.').unwrap_or(("", &method.name));
    out.u64(method.start).u64(method.module).u64(method.start).u32(method.size).u32(0);
    out.u32(if method.is_jitted { JITTED } else { 0 });
    out.utf16z(namespace).utf16z(name).utf16z(&method.signature).raw(&1u16.to_le_bytes()).u64(0);
}
