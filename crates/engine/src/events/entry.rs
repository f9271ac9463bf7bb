//! The entries of a batch, as the merge moves them. Nearly all are blocks that begin or end, so these
//! stand in the entries themselves, 48 bytes each. Other records stand beside them, with an entry that
//! keeps their place in the order.
//!
//! Entries move from one processor to another, which is their main cost; they are therefore small and
//! plain, and own nothing.

use std::borrow::Cow;

use super::{Event, FrameRange, Record};
use crate::units::{Layer, Pid, Tid};

/// The begin or end of a block of a heap or tracker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockEvent {
    /// Raw clock value.
    pub time: i64,
    /// Process that wrote the event.
    pub pid: Pid,
    /// Thread that wrote the event.
    pub tid: Tid,
    /// NT heap or tracker.
    pub layer: Layer,
    /// Handle.
    pub heap: u64,
    /// First byte.
    pub address: u64,
    /// Requested bytes if the block begins; `None` if it is freed.
    pub size: Option<u64>,
}

impl BlockEvent {
    /// The block of a record, if that is an allocation or a free.
    pub fn of(record: &Record) -> Option<Self> {
        let &Record { time, pid, tid, ref event } = record;
        let (layer, heap, address, size) = match *event {
            Event::Alloc { layer, heap, address, size } => (layer, heap, address, Some(size)),
            Event::Free { layer, heap, address } => (layer, heap, address, None),
            _ => return None,
        };
        Some(Self { time, pid, tid, layer, heap, address, size })
    }

    /// Its record.
    pub fn record(self) -> Record {
        let Self { time, pid, tid, layer, heap, address, size } = self;
        let event = match size {
            Some(size) => Event::Alloc { layer, heap, address, size },
            None => Event::Free { layer, heap, address },
        };
        Record { time, pid, tid, event }
    }
}

/// The content of an entry.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Item<'a> {
    /// One block.
    Block(BlockEvent),
    /// Anything else, or a block too large for an entry.
    Record(&'a Record),
}

impl<'a> Item<'a> {
    /// The block, if it is an allocation or a free.
    pub(super) fn block(self) -> Option<BlockEvent> {
        match self {
            Self::Block(block) => Some(block),
            Self::Record(record) => BlockEvent::of(record),
        }
    }

    /// The record.
    pub fn record(self) -> Cow<'a, Record> {
        match self {
            Self::Block(block) => Cow::Owned(block.record()),
            Self::Record(record) => Cow::Borrowed(record),
        }
    }
}

/// The user-mode call stack of a heap or tracker event, if it came with the event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Attached {
    /// None came with it; it may still come as a record of its own.
    #[default]
    Nothing,
    /// Its frames are in the batch.
    Frames(FrameRange),
    /// A key, given `delay` ticks after the event.
    Key {
        /// Ticks.
        delay: u32,
        /// Key.
        key: u64,
    },
}

/// The content of an entry, without the records of its batch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Content {
    /// A block.
    Block(BlockEvent),
    /// The record with this number in its batch.
    Record(usize),
}

/// A place in the order of time. [`super::Batch::item`] gives its content.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub(super) time: i64,
    /// Address of a block, or number of a record.
    what: u64,
    heap: u64,
    /// Key or range of frames.
    stack: u64,
    size: u32,
    pid: Pid,
    pub(super) tid: Tid,
    /// Bits of [`tag`], and above them how long after the event the key was given.
    tag: u32,
}

mod tag {
    /// Not a block, but a record.
    pub(super) const RECORD: u32 = 1;
    /// A record that can have a stack with it.
    pub(super) const CAN_HAVE_STACK: u32 = 2;
    /// A block that is freed.
    pub(super) const FREE: u32 = 4;
    /// A block of a tracker.
    pub(super) const TRACKER: u32 = 8;
    pub(super) const FRAMES: u32 = 16;
    pub(super) const KEY: u32 = 32;
    /// The bits that tell kinds of content apart, without those of the stack.
    pub(super) const KIND: u32 = RECORD | CAN_HAVE_STACK | FREE | TRACKER;
    /// First bit of the delay.
    pub(super) const DELAY_AT: u32 = 6;
    pub(super) const DELAYS: u32 = 1 << (u32::BITS - DELAY_AT);
}

impl Entry {
    /// The entry of a block; `None` if the block does not fit into one.
    #[inline(always)]
    pub(super) fn of_block(block: &BlockEvent) -> Option<Self> {
        let &BlockEvent { time, pid, tid, layer, heap, address, size } = block;
        let layer = match layer {
            Layer::Heap => 0,
            Layer::Tracker => tag::TRACKER,
            Layer::Commit => return None,
        };
        let free = if size.is_none() { tag::FREE } else { 0 };
        let size = u32::try_from(size.unwrap_or(0)).ok()?;
        Some(Self { time, what: address, heap, stack: 0, size, pid, tid, tag: layer | free | tag::CAN_HAVE_STACK })
    }

    /// The entry of a record that has this number in its batch.
    pub(super) fn of_record(record: &Record, number: usize) -> Self {
        let can = matches!(record.event, Event::Alloc { .. } | Event::Free { .. } | Event::Realloc { .. });
        let tag = tag::RECORD | if can { tag::CAN_HAVE_STACK } else { 0 };
        Self { time: record.time, what: number as u64, heap: 0, stack: 0, size: 0, pid: record.pid, tid: record.tid, tag }
    }

    /// The entry of the same record under another number.
    pub(super) fn renumbered(self, number: usize) -> Self {
        Self { what: number as u64, ..self }
    }

    /// Its content.
    #[inline(always)]
    pub(super) fn content(&self) -> Content {
        let &Self { time, what, heap, size, pid, tid, tag, .. } = self;
        if tag & tag::RECORD != 0 {
            return Content::Record(what as usize);
        }
        let layer = if tag & tag::TRACKER == 0 { Layer::Heap } else { Layer::Tracker };
        let size = (tag & tag::FREE == 0).then_some(size.into());
        Content::Block(BlockEvent { time, pid, tid, layer, heap, address: what, size })
    }

    /// Whether its content may equal that of another entry of the same time.
    #[inline(always)]
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let is_same_what = self.what == other.what || self.tag & tag::RECORD != 0;
        (self.heap, self.size, self.pid, self.tid) == (other.heap, other.size, other.pid, other.tid)
            && self.tag & tag::KIND == other.tag & tag::KIND
            && is_same_what
    }

    /// All fields that distinguish blocks of one time, without stacks; of a record only those that its
    /// entry has.
    pub(super) fn words(&self) -> [u64; 4] {
        let what = if self.tag & tag::RECORD == 0 { self.what } else { 0 };
        let both = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
        [what, self.heap, both(self.pid.0, self.tid.0), both(self.size, self.tag & tag::KIND)]
    }

    /// Whether it can have a stack and has none.
    #[inline(always)]
    pub(super) fn is_bare(&self) -> bool {
        self.tag & (tag::CAN_HAVE_STACK | tag::FRAMES | tag::KEY) == tag::CAN_HAVE_STACK
    }

    /// Whether this thread wrote it at this time.
    #[inline(always)]
    pub(super) fn is_by(&self, time: i64, tid: Tid) -> bool {
        self.time == time && self.tid == tid
    }

    /// Whether it is of this process, can have a stack and has none.
    #[inline(always)]
    pub(super) fn lacks_stack(&self, pid: Pid) -> bool {
        self.is_bare() && self.pid == pid
    }

    /// Its stack.
    #[inline(always)]
    pub fn stack(&self) -> Attached {
        if self.tag & tag::KEY != 0 {
            Attached::Key { delay: self.tag >> tag::DELAY_AT, key: self.stack }
        } else if self.tag & tag::FRAMES != 0 {
            Attached::Frames(FrameRange::from_bits(self.stack))
        } else {
            Attached::Nothing
        }
    }

    /// Attaches a stack in place of any that it had; `false` if there is no room for it.
    #[inline(always)]
    pub(super) fn attach(&mut self, stack: Attached) -> bool {
        let (bits, tag) = match stack {
            Attached::Nothing => (0, 0),
            Attached::Frames(frames) => (frames.bits(), tag::FRAMES),
            Attached::Key { delay, .. } if delay >= tag::DELAYS => return false,
            Attached::Key { delay, key } => (key, tag::KEY | delay << tag::DELAY_AT),
        };
        self.stack = bits;
        self.tag = self.tag & tag::KIND | tag;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(layer: Layer, size: Option<u64>) -> BlockEvent {
        BlockEvent { time: -5, pid: Pid(7), tid: Tid(8), layer, heap: u64::MAX, address: 1 << 63, size }
    }

    #[test]
    fn entries_give_back_what_was_put_in() {
        for layer in [Layer::Heap, Layer::Tracker] {
            for size in [None, Some(0), Some(u32::MAX.into())] {
                let block = block(layer, size);
                let mut entry = Entry::of_block(&block).unwrap();
                assert_eq!((entry.content(), entry.stack()), (Content::Block(block), Attached::Nothing));
                assert_eq!(BlockEvent::of(&block.record()), Some(block));
                assert!(entry.lacks_stack(Pid(7)) && !entry.lacks_stack(Pid(8)));
                let range = FrameRange::from_bits(0x1234_5678_9ABC_DEF0);
                for stack in [Attached::Key { delay: tag::DELAYS - 1, key: u64::MAX }, Attached::Frames(range)] {
                    assert!(entry.attach(stack));
                    assert_eq!((entry.content(), entry.stack()), (Content::Block(block), stack));
                    assert!(!entry.lacks_stack(Pid(7)));
                }
                assert!(!entry.attach(Attached::Key { delay: tag::DELAYS, key: 1 }));
            }
        }
    }

    #[test]
    fn what_is_too_large_is_no_entry_of_its_own() {
        assert!(Entry::of_block(&block(Layer::Heap, Some(1 << 32))).is_none());
        assert!(Entry::of_block(&block(Layer::Commit, None)).is_none());
        let entry = Entry::of_record(&block(Layer::Heap, Some(1 << 32)).record(), 3);
        assert_eq!((entry.content(), entry.renumbered(9).content()), (Content::Record(3), Content::Record(9)));
        assert!(entry.lacks_stack(Pid(7)));
    }
}
