//! Facts about each kind of event, for code that treats many kinds alike.
//!
//! No match in this file has a default: for a new kind of event the compiler asks for each of these facts.

use super::{CommittedRegion, Event, PageRange, Record};
use crate::units::{Layer, Pid};

/// The memory that an event is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// Process whose memory it is; for pages not always the one that wrote the event.
    pub pid: Pid,
    /// Where it was allocated.
    pub layer: Layer,
    /// Handle of the heap or tracker; 0 for pages.
    pub heap: u64,
    /// The blocks or pages.
    pub extent: Extent,
}

/// The part of a heap or of an address space that an event is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// The heap or tracker as a whole.
    Heap,
    /// The block at this address.
    Block(u64),
    /// A block that had the first address and has the second.
    Moved(u64, u64),
    /// Pages.
    Pages,
}

impl Record {
    /// The memory that it is about; `None` for events of other kinds.
    pub fn memory(&self) -> Option<Memory> {
        self.event.memory(self.pid)
    }
}

impl Event {
    /// The memory that it is about, if `writer` wrote it; `None` for events of other kinds.
    pub fn memory(&self, writer: Pid) -> Option<Memory> {
        let of_heap = |layer, heap, extent| Some(Memory { pid: writer, layer, heap, extent });
        match *self {
            Self::HeapOpen { layer, heap, .. } | Self::HeapClose { layer, heap, .. } => of_heap(layer, heap, Extent::Heap),
            Self::Alloc { layer, heap, address, .. } | Self::Free { layer, heap, address } => {
                of_heap(layer, heap, Extent::Block(address))
            }
            Self::Realloc { layer, heap, old, new, .. } => of_heap(layer, heap, Extent::Moved(old, new)),
            Self::VirtualAlloc(PageRange { owner: pid, .. })
            | Self::VirtualFree(PageRange { owner: pid, .. })
            | Self::CommitRundown(CommittedRegion { owner: pid, .. }) => {
                Some(Memory { pid, layer: Layer::Commit, heap: 0, extent: Extent::Pages })
            }
            Self::Stack { .. }
            | Self::StackRef { .. }
            | Self::StackDefinition { .. }
            | Self::Process(..)
            | Self::ThreadStart(_)
            | Self::ThreadRundown(_)
            | Self::ThreadName(_)
            | Self::Image(..)
            | Self::ImageFile(_)
            | Self::ImageId(_)
            | Self::Volume(_)
            | Self::Counter(_)
            | Self::Sample { .. }
            | Self::Fault(_)
            | Self::Activity(_)
            | Self::Lost(_) => None,
        }
    }

    /// Whether it is about memory.
    pub fn is_memory(&self) -> bool {
        self.memory(Pid::NONE).is_some()
    }

    /// Whether it can have a stack: its thread has written at its time.
    #[inline]
    pub fn may_have_stack(&self) -> bool {
        match self {
            Self::Alloc { .. }
            | Self::Free { .. }
            | Self::Realloc { .. }
            | Self::HeapOpen { .. }
            | Self::HeapClose { .. }
            | Self::VirtualAlloc(_)
            | Self::VirtualFree(_)
            | Self::Sample { .. }
            | Self::Fault(_) => true,
            Self::CommitRundown(_)
            | Self::Stack { .. }
            | Self::StackRef { .. }
            | Self::StackDefinition { .. }
            | Self::Process(..)
            | Self::ThreadStart(_)
            | Self::ThreadRundown(_)
            | Self::ThreadName(_)
            | Self::Image(..)
            | Self::ImageFile(_)
            | Self::ImageId(_)
            | Self::Volume(_)
            | Self::Counter(_)
            | Self::Activity(_)
            | Self::Lost(_) => false,
        }
    }

    /// Whether it is a failed realloc of a block in an NT heap, which changes nothing.
    pub fn is_failed_realloc(&self) -> bool {
        matches!(self, Self::Realloc { layer: Layer::Heap, new: 0, .. })
    }
}
