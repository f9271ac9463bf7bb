//! Decodes events: payloads of heap, VirtualAlloc, tracker, stack, process, thread, image and volume
//! events become typed [`Record`]s, in time order.
//!
//! File and live capture meet here: whatever the source, the model sees records
//! and nothing else. A record that cannot be read is reported and skipped.
//!
//! [`encode`] is the inverse: records become events of a new trace.
//!
//! Payload facts: System Informer's `ntwmi.h`, the event classes in Microsoft's
//! documentation and in PerfView; layouts of system events were checked on public
//! traces. Where a newer version appends fields, longer payloads are accepted.

mod about;
mod activity;
mod batch;
mod census;
mod counters;
mod counts;
mod decode;
pub mod encode;
mod entry;
mod event_owner;
mod frames;
mod hooks;
mod lifetimes;
mod losses;
mod machine;
mod manifest_events;
mod memory;
mod merge;
mod names;
mod prefetch;
pub mod program_name;
mod provider_census;
mod provider_names;
mod raw_queue;
mod repeated;
mod room;
mod stack;
mod survey;
mod system;
#[cfg(test)]
mod tests;
mod times;
mod trackers;

pub use about::{Extent, Memory};
pub use activity::process_of;
pub use activity::{
    ActivityEvent, Adapter, Collection, CollectionId, CollectionReason, EventKey, EventSchema, FaultKind, Field, FieldValue,
    GpuChange, GpuKind, GpuMemory, InType, ManagedEvent, ManagedHeaps, ManagedMethod, MarkEvent, MarkProviders, MarkText,
    MethodChange, PageFault, PixBlock, PixDoubt, PixEvent, PixStep, PixWhat, Present, PresentApi, SampleInterval, SegmentGroup,
    TIMER, Untold, ViewChange, ViewEvent,
};
pub use batch::{Batch, Stacks};
pub use census::process_names;
pub use counters::{CounterEvent, MemoryLists, PAGE, ProcessMemory, RangeChange};
pub use counts::EventCounts;
pub use decode::{Wants, decode_buffer, decode_event};
pub use entry::{Attached, BlockEvent, Entry, Item};
pub use event_owner::{EventOwner, command_line, describes, event_owner};
pub use frames::{FrameList, FrameRange, Frames, StackHash};
pub use hooks::{class, gpu, hook, kernel_hook, lost, tracker};
pub use lifetimes::{LifetimeChange, ProcessEvent, ProcessLifetimes, Sign};
pub use losses::{Lost, LostWhat, RawLoss, losses};
pub use machine::machine_name;
pub use manifest_events::{Described, MOST_KINDS, ManifestEvents, UndescribedKind, manifest_events};
pub use merge::{CallStack, Copies, FileCopies, Gather, Merge, OwedStack, OwedStacks, Place, Slice, Tick, Totals};
pub use provider_census::{EventKind, ProviderCensus, ProviderSeen, providers};
pub use provider_names::{guid_of_name, known_guid};
pub use raw_queue::{RawItem, RawMet, RawQueue, RawReading, RawRun};
pub use repeated::{AtOnce, repeated};
pub use survey::{survey, survey_with_providers};
pub use times::{complete_to, latest_time};
pub use trackers::{TrackerProvider, TrackerProviders, is_made_handle, shared_handle};

use crate::etl::{EventId, Guid, RawEvent};
use crate::units::{Layer, Pid, Tid};

/// Whether an event is about an image, whatever header carries it.
#[inline]
pub fn is_image(id: EventId) -> bool {
    matches!(kernel_hook(id), Some(hook::IMAGE_LOAD | hook::IMAGE_UNLOAD..=hook::IMAGE_RUNDOWN_END))
}

/// The record of an event about an image; `None` if it cannot be read.
pub fn image(raw: &RawEvent<'_>) -> Option<Record> {
    kernel_hook(raw.id).filter(|_| is_image(raw.id)).and_then(|hook| system::image(hook, raw))
}

/// One event that matters for memory analysis.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Raw clock value.
    pub time: i64,
    /// Process that wrote the event; for stacks, the one whose stack it is.
    pub pid: Pid,
    /// Thread that wrote the event; for stacks, the one whose stack it is.
    pub tid: Tid,
    /// The event itself.
    pub event: Event,
}

/// An event with its fields. Sizes are in bytes.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A heap was created, or a tracker opened.
    HeapOpen {
        /// NT heap or tracker.
        layer: Layer,
        /// Handle.
        heap: u64,
        /// Name of a tracker.
        name: Option<Box<str>>,
    },
    /// A heap was destroyed, or a tracker closed.
    HeapClose {
        /// NT heap or tracker.
        layer: Layer,
        /// Handle.
        heap: u64,
        /// Name of a tracker.
        name: Option<Box<str>>,
    },
    /// A block was allocated.
    Alloc {
        /// NT heap or tracker.
        layer: Layer,
        /// Handle.
        heap: u64,
        /// First byte.
        address: u64,
        /// Requested size.
        size: u64,
    },
    /// A block was freed.
    Free {
        /// NT heap or tracker.
        layer: Layer,
        /// Handle.
        heap: u64,
        /// First byte.
        address: u64,
    },
    /// A block was resized; with equal addresses it stayed in place.
    Realloc {
        /// NT heap or tracker.
        layer: Layer,
        /// Handle.
        heap: u64,
        /// Its old address.
        old: u64,
        /// Its new address.
        new: u64,
        /// Requested size now.
        size: u64,
    },
    /// Pages were reserved, committed or both.
    VirtualAlloc(PageRange),
    /// Pages were decommitted or released.
    VirtualFree(PageRange),
    /// A region with committed pages that was there before the trace.
    CommitRundown(CommittedRegion),
    /// A call stack, innermost frame first, or the kernel or user part of one.
    Stack {
        /// Raw time of the event it belongs to.
        owner: i64,
        /// Kernel part, or user part (perhaps with kernel frames inside).
        part: StackPart,
        /// Where the frames are in the batch.
        frames: FrameRange,
    },
    /// A call stack given by a key that a later definition resolves.
    StackRef {
        /// Raw time of the event it belongs to.
        owner: i64,
        /// Kernel or user part.
        part: StackPart,
        /// Key; keys are reused after their definition.
        key: u64,
    },
    /// The call stack for which a key has stood since its last definition.
    StackDefinition {
        /// Kernel or user part; both can have the same key.
        part: StackPart,
        /// Key.
        key: u64,
        /// Where the frames are in the batch.
        frames: FrameRange,
    },
    /// A process started, ended, or ran at the start or end of the trace.
    Process(ProcessChange, Box<ProcessInfo>),
    /// A thread started; its id may have been another's before.
    ThreadStart(ThreadStack),
    /// A thread is running (rundown at start or end of the trace).
    ThreadRundown(ThreadStack),
    /// A thread's name.
    ThreadName(Box<str>),
    /// An image was mapped or unmapped, or was so at the start or end of the trace.
    Image(ImageChange, Box<ImageInfo>),
    /// Identity of an image's file.
    ImageFile(Box<ImageFile>),
    /// Identity of an image's program database.
    ImageId(Box<ImageId>),
    /// A volume's NT path and its drive letter.
    Volume(Box<(String, String)>),
    /// A sample or change of a counter.
    Counter(Box<CounterEvent>),
    /// A CPU sample: an address that the record's thread was running.
    Sample {
        /// The next instruction.
        address: u64,
        /// Number of samples for which it stands.
        count: u16,
    },
    /// A page fault.
    Fault(PageFault),
    /// Another activity of a program.
    Activity(Box<ActivityEvent>),
    /// A real-time session lost something just before.
    Lost(Lost),
}

/// A range of pages and what was done to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRange {
    /// First byte.
    pub base: u64,
    /// Bytes.
    pub size: u64,
    /// Process whose memory it is; the caller may be another process.
    pub owner: Pid,
    /// Bits of [`mem`].
    pub flags: u32,
}

/// The committed part of a thread's user stack when its event was written; empty if the event does not say it. Of a 32-bit
/// program on a 64-bit system it is the stack of the 64-bit part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadStack {
    /// First byte.
    pub from: u64,
    /// The byte behind the last, at which the stack begins to grow downwards.
    pub to: u64,
}

/// A reserved range and how much of it is committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommittedRegion {
    /// First byte.
    pub base: u64,
    /// Bytes that are reserved.
    pub size: u64,
    /// Bytes of them that are committed. Where they lie is not recorded; they are assumed to begin at
    /// `base`.
    pub committed: u64,
    /// Process whose memory it is.
    pub owner: Pid,
}

/// Bits of VirtualAlloc and VirtualFree (`winnt.h`).
pub mod mem {
    /// Pages get memory.
    pub const COMMIT: u32 = 0x1000;
    /// An address range is set aside.
    pub const RESERVE: u32 = 0x2000;
    /// Pages lose their memory.
    pub const DECOMMIT: u32 = 0x4000;
    /// An address range is given back, its pages with it.
    pub const RELEASE: u32 = 0x8000;
    /// With `RELEASE`: placeholders that lie side by side become one.
    pub const COALESCE_PLACEHOLDERS: u32 = 0x1;
    /// With `RELEASE`: the range stays set aside, as a placeholder of its own.
    pub const PRESERVE_PLACEHOLDER: u32 = 0x2;
}

/// Which part of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StackPart {
    /// From the kernel's entry inwards.
    Kernel,
    /// From the thread's start to the kernel's entry.
    User,
}

/// Kind of a process event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessChange {
    /// It started now.
    Start,
    /// It ended now.
    End,
    /// It is running (rundown at start or end of the trace).
    Rundown,
}

/// Description of a process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessInfo {
    /// Address of the kernel's object, which distinguishes two processes that had the same id.
    pub key: u64,
    /// Parent's id.
    pub parent: u32,
    /// Image file name, for example `game.exe`.
    pub name: String,
    /// Command line.
    pub command_line: String,
}

/// Kind of an image event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageChange {
    /// It was mapped now.
    Load,
    /// It was unmapped now.
    Unload,
    /// It is mapped (rundown at start or end of the trace).
    Rundown,
}

/// Description of an image; its process is the record's.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ImageInfo {
    /// First byte.
    pub base: u64,
    /// Bytes mapped.
    pub size: u64,
    /// Checksum in its header; 0 if the linker wrote none.
    pub checksum: u32,
    /// Link time stamp; 0 in most rundowns.
    pub time_stamp: u32,
    /// Path as the kernel names it.
    pub path: String,
}

/// Identity of the file of the image at `base`, which merging added; its process is the
/// record's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageFile {
    /// Base of the image.
    pub base: u64,
    /// Bytes mapped, as the file has it: not rounded up to pages.
    pub size: u64,
    /// Link time stamp.
    pub time_stamp: u32,
    /// File name that it was linked as.
    pub name: String,
}

/// Identity of the program database of the image at `base`; its process is the record's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageId {
    /// Base of the image.
    pub base: u64,
    /// GUID of the PDB.
    pub guid: Guid,
    /// Age of the PDB.
    pub age: u32,
    /// Path of the PDB as the linker wrote it.
    pub pdb: String,
}
