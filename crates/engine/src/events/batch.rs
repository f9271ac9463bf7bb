//! The records of one buffer. Buffers are independent of each other, so batches can be decoded in any
//! order and on any thread; [`super::Merge`] puts them into time order.
//!
//! A stack that stands right behind its event is attached to its entry ([`Attached`]): one entry to put
//! into order instead of two, and nobody has to search for the owner.

use std::collections::BTreeMap;

use super::entry::{Attached, BlockEvent, Content, Entry, Item};
use super::stack::{KeyRef, StackWalk};
use super::{Event, EventCounts, FrameList, Record, StackPart};
use crate::problem::Problems;
use crate::units::{Pid, Tid};

/// Treatment of a stack that stands right behind its event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stacks {
    /// It is attached to the event.
    #[default]
    Attached,
    /// It is a record of its own.
    Apart,
}

/// The records of one or more buffers, ordered by time.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// By time; equal times in the order of the buffer.
    pub entries: Vec<Entry>,
    /// The records of entries that are no blocks, in any order.
    pub(super) records: Vec<Record>,
    /// Frames of the stacks.
    pub frames: FrameList,
    /// All events of the buffers, also those without a record.
    pub counts: EventCounts,
    /// Raw times of the first and last event of any kind.
    pub times: Option<(i64, i64)>,
    /// Problems found.
    pub problems: Problems,
    /// Names of trackers by the handles that were made of them.
    pub tracker_names: BTreeMap<u64, Box<str>>,
    /// Number of events that are not what a mapping says, and the offset of the first.
    pub(super) bad_events: (u64, Option<usize>),
    /// Bytes of the file that were decoded.
    pub bytes: u64,
    /// Offset in the buffer at which the next part begins, if this is not all of it.
    pub(super) rest: Option<usize>,
    pub(super) stacks: Stacks,
    /// Bytes that lists inside of records take.
    pub(super) beside: usize,
    /// Whether the clock of the file is not QueryPerformanceCounter, so that times in payloads are not on it.
    pub(super) has_other_clock: bool,
}

impl Batch {
    /// Clears everything, but keeps the memory.
    pub(super) fn clear(&mut self) {
        let Self { entries, records, frames, counts, times, problems, tracker_names, bad_events, bytes, rest, stacks, .. } = self;
        entries.clear();
        records.clear();
        frames.clear();
        tracker_names.clear();
        *bad_events = Default::default();
        (*counts, *times, *problems, *bytes, *rest, *stacks) = Default::default();
        (self.beside, self.has_other_clock) = Default::default();
    }

    /// Bytes that its records take. Names in them are not counted: they took as many bytes of the
    /// buffer.
    pub(super) fn filled(&self) -> usize {
        size_of_val(&*self.entries) + size_of_val(&*self.records) + self.frames.filled() + self.beside
    }

    /// Bytes that are allocated for records.
    pub(super) fn memory(&self) -> usize {
        let records = self.records.capacity() * size_of::<Record>();
        self.entries.capacity() * size_of::<Entry>() + records + self.frames.memory() + self.beside
    }

    /// The block or record of an entry of this batch. Panics for an entry of another batch, as indexing
    /// does.
    #[inline(always)]
    pub fn item(&self, entry: &Entry) -> Item<'_> {
        match entry.content() {
            Content::Block(block) => Item::Block(block),
            Content::Record(number) => Item::Record(&self.records[number]),
        }
    }

    /// All items, with the stacks that are attached to them.
    #[inline]
    pub fn items(&self) -> impl Iterator<Item = (Item<'_>, Attached)> {
        self.entries.iter().map(|entry| (self.item(entry), entry.stack()))
    }

    /// Puts the entries from number `from` on behind those of `earlier`, by time; equal times keep that
    /// order. Entries before number `from` are dropped.
    pub(super) fn absorb_earlier(&mut self, mut earlier: Self, from: usize) {
        for entry in self.entries.get(from..).unwrap_or_default() {
            earlier.put(*entry, self);
        }
        earlier.sort();
        (self.entries, self.records, self.frames) = (earlier.entries, earlier.records, earlier.frames);
    }

    /// Moves the entries from number `first` on into a batch of their own.
    pub(super) fn split_off(&mut self, first: usize) -> Self {
        let mut later = Self::default();
        for entry in self.entries.split_off(first) {
            later.put(entry, self);
        }
        later
    }

    /// Appends an entry of another batch with its record and frames.
    pub(super) fn put(&mut self, mut entry: Entry, of: &Self) {
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

    pub(super) fn sort(&mut self) {
        if !self.entries.is_sorted_by_key(|e| e.time) {
            self.entries.sort_by_key(|e| e.time); // stable: equal times keep their order
        }
    }

    #[inline(always)]
    pub(super) fn push_block(&mut self, block: &BlockEvent) {
        match Entry::of_block(block) {
            Some(entry) => self.entries.push(entry),
            None => self.push(block.record()),
        }
    }

    /// Notes the name of a block's tracker, if its event gives one.
    pub(super) fn name_tracker(&mut self, event: &Event, name: Option<String>) {
        if let (Event::Alloc { heap, .. } | Event::Free { heap, .. } | Event::Realloc { heap, .. }, Some(name)) = (event, name) {
            self.tracker_names.entry(*heap).or_insert_with(|| name.into());
        }
    }

    /// Appends a record of heaps or trackers, in its shortest form.
    pub(super) fn push_memory(&mut self, record: Record) {
        match BlockEvent::of(&record) {
            Some(block) => self.push_block(&block),
            None => self.push(record),
        }
    }

    /// Puts another record of heaps or trackers in the place of the first, without its stack.
    pub fn replace_first(&mut self, record: Record) {
        let rest = self.entries.split_off(1.min(self.entries.len()));
        self.entries.clear();
        self.push_memory(record);
        self.entries.extend(rest);
    }

    #[inline(never)]
    pub(super) fn push(&mut self, record: Record) {
        self.entries.push(Entry::of_record(&record, self.records.len()));
        self.records.push(record);
    }

    /// Appends a stack record, or attaches it to its owner if that is the entry before it.
    pub(super) fn push_stack(&mut self, stack: Record) {
        let Record { time, pid, tid, .. } = stack;
        match stack.event {
            Event::StackRef { owner, part, key } => self.push_key(&KeyRef { time, owner, pid, tid, part, key }),
            Event::Stack { owner, part, frames } => self.push_walk(&StackWalk { time, owner, pid, tid, part, frames }),
            _ => self.push(stack),
        }
    }

    #[inline(always)]
    pub(super) fn push_walk(&mut self, stack: &StackWalk) {
        let &StackWalk { owner, pid, tid, part, frames, .. } = stack;
        if part != StackPart::User || !self.attach(owner, pid, tid, Attached::Frames(frames)) {
            self.push(stack.record());
        }
    }

    #[inline(always)]
    pub(super) fn push_key(&mut self, stack: &KeyRef) {
        let &KeyRef { time, owner, pid, tid, part, key } = stack;
        let goes = match u32::try_from(time.wrapping_sub(owner)) {
            Ok(delay) => part == StackPart::User && self.attach(owner, pid, tid, Attached::Key { delay, key }),
            Err(_) => false,
        };
        if !goes {
            self.push(stack.record());
        }
    }

    /// Attaches a user-mode stack to the entry before it, if there is no doubt that it belongs there:
    /// the owner is known, and the entry before that is not of the same thread and tick, which could
    /// own the stack as well.
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
