//! Activity of programs while memory changed: marks, frames that a game presented, code and garbage
//! collections of the .NET runtime, CPU samples, page faults, GPU memory, PIX's counters and scopes, mapped views.
//!
//! None of these events is about memory, so nothing here changes a number of heaps and pages. A
//! provider that is read only because the user named it ([`MarkProviders`]) gives marks and nothing
//! else.
//!
//! Cost: for events of other kinds only the comparisons of their class; a sample or page fault is a record
//! like any other, all else is rare.

mod described;
mod faults;
mod gpu;
mod managed;
mod marks;
mod pix;
mod pix_text;
mod presents;
mod providers;
mod samples;
mod views;

pub use described::{EventKey, EventSchema, Field, FieldValue, InType};
pub(super) use described::{provider_name, schema, with_self_described};
pub(super) use faults::fault;
pub use faults::{FaultKind, PageFault};
pub use gpu::{Adapter, GpuChange, GpuKind, GpuMemory, SegmentGroup, process_of};
pub use managed::{Collection, CollectionId, CollectionReason, ManagedEvent, ManagedHeaps, ManagedMethod, MethodChange};
pub use marks::{MarkEvent, MarkText, Untold};
pub(super) use pix::{END_MARK, ON_CONTEXT, TIME_SHIFT};
pub use pix::{PixBlock, PixDoubt, PixEvent, PixStep, PixWhat};
pub use presents::{Present, PresentApi};
pub use providers::MarkProviders;
pub(super) use samples::sample;
pub use samples::{SampleInterval, TIMER};
pub use views::{ViewChange, ViewEvent};

use super::hooks::{class, hook};
use super::{Event, Record};
use crate::etl::{EventId, RawEvent};

/// An event of a program's activity.
#[derive(Clone, PartialEq, Debug)]
pub enum ActivityEvent {
    /// Somebody marked a moment.
    Mark(MarkEvent),
    /// Name and fields of an event of a provider with a manifest.
    Schema(EventSchema),
    /// A frame was presented.
    Present(Present),
    /// The .NET runtime reports code or memory that it manages.
    Managed(ManagedEvent),
    /// The interval between samples from now on.
    SampleInterval(SampleInterval),
    /// A process's GPU memory.
    Gpu(GpuMemory),
    /// A program's counter, or its scopes and markers, by PIX's run-time.
    Pix(PixEvent),
    /// A view of a file or of shared memory was mapped or unmapped, or exists.
    View(ViewEvent),
}

impl ActivityEvent {
    /// Bytes that its lists take; texts took as many bytes of the buffer.
    pub(super) fn bytes_of_lists(&self) -> usize {
        match self {
            Self::Pix(PixEvent::Block(block)) => block.steps.capacity() * size_of::<PixStep>(),
            _ => 0,
        }
    }

    /// Whether it is not about its own moment, but says how later events are named or to be read, or what holds from then on.
    pub fn gives_names(&self) -> bool {
        match self {
            Self::Schema(_) | Self::SampleInterval(_) | Self::Gpu(_) | Self::View(_) => true,
            Self::Managed(event) => {
                matches!(event, ManagedEvent::Method(..) | ManagedEvent::Module { .. } | ManagedEvent::Heaps(_))
            }
            Self::Mark(_) | Self::Present(_) | Self::Pix(_) => false,
        }
    }

    /// The part of it that also holds before its moment, in a trace that ends at the raw time `end`, if any: what ends later
    /// existed before, and blocks of PIX are written when they are full.
    pub fn known_later(self, end: i64) -> Option<Self> {
        match self {
            Self::Managed(ManagedEvent::Method(MethodChange::Unload | MethodChange::Rundown, method)) => {
                Some(Self::Managed(ManagedEvent::Method(MethodChange::Rundown, method)))
            }
            Self::Schema(_) | Self::Managed(ManagedEvent::Module { .. }) => Some(self),
            Self::Pix(PixEvent::Block(block)) => block.before(end).map(|block| Self::Pix(PixEvent::Block(block))),
            Self::Managed(
                ManagedEvent::Method(MethodChange::Load, _)
                | ManagedEvent::CollectionStart(_)
                | ManagedEvent::CollectionEnd(_)
                | ManagedEvent::Heaps(_),
            )
            | Self::Mark(_)
            | Self::Present(_)
            | Self::SampleInterval(_)
            | Self::Gpu(_)
            | Self::View(_)
            | Self::Pix(_) => None,
        }
    }
}

/// Reads an event of the kernel; `None` if it is too short.
pub(super) fn kernel(hook: u16, raw: &RawEvent<'_>) -> Option<Record> {
    let event = match hook {
        hook::VIEW_MAP..=hook::VIEW_RUNDOWN_END => return views::view(hook, raw),
        hook::MARK => ActivityEvent::Mark(marks::of_trace(raw)?),
        _ => ActivityEvent::SampleInterval(samples::interval(raw)?),
    };
    Some(record(raw, event))
}

/// Reads an event of one of the known providers, and as a mark if its provider was named; nothing for
/// others. `None` if it is too short for its kind. `is_qpc`: whether the trace's clock is QueryPerformanceCounter.
pub(super) fn provider(raw: &RawEvent<'_>, named: &MarkProviders, is_qpc: bool) -> Option<[Option<Record>; 2]> {
    let known = match raw.id {
        EventId::Provider { provider: class::DXGI, id } => {
            presents::present(PresentApi::Dxgi, id, raw)?.map(ActivityEvent::Present)
        }
        EventId::Provider { provider: class::D3D9, id } => {
            presents::present(PresentApi::D3d9, id, raw)?.map(ActivityEvent::Present)
        }
        EventId::Provider { provider: class::DXG_KRNL, id } => match gpu::memory(id, raw)? {
            Some((pid, memory)) => {
                let mark = named.mark(raw).map(|mark| record(raw, ActivityEvent::Mark(mark)));
                return Some([Some(Record { pid, ..record(raw, ActivityEvent::Gpu(memory)) }), mark]);
            }
            None => presents::taken(id, raw)?.map(ActivityEvent::Present),
        },
        EventId::Provider { provider: provider @ (class::CLR | class::CLR_RUNDOWN), id } => {
            managed::event(provider == class::CLR_RUNDOWN, id, raw)?.map(ActivityEvent::Managed)
        }
        EventId::Class { class: class::EVENT_METADATA, opcode } => schema(opcode, raw)?.map(ActivityEvent::Schema),
        EventId::Provider { provider: provider @ (class::MULTI_MAIN | class::MULTI_WORKER), id } => {
            marks::of_ui_for_etw(provider, id, raw)?.map(ActivityEvent::Mark)
        }
        EventId::Provider { provider: class::PIX, id } => pix::event(id, raw, is_qpc)?.map(ActivityEvent::Pix),
        EventId::Provider { provider: class::MULTI_FRAME_RATE, id } => presents::mark(id).map(ActivityEvent::Present),
        _ => None,
    };
    let is_mark = matches!(known, Some(ActivityEvent::Mark(_) | ActivityEvent::Pix(_)));
    let mark = if is_mark || named.is_empty() { None } else { named.mark(raw).map(ActivityEvent::Mark) };
    Some([known, mark].map(|event| event.map(|event| record(raw, event))))
}

fn record(raw: &RawEvent<'_>, event: ActivityEvent) -> Record {
    Record { time: raw.time, pid: raw.pid, tid: raw.tid, event: Event::Activity(Box::new(event)) }
}
