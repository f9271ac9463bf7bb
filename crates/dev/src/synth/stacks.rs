//! Call stacks of generated traces: a tree of made-up callers, and the three ways
//! to give an event its stack.

use std::io::{Seek, Write};

use super::cast::{Module, Process};
use super::images::NTOSKRNL;
use super::{Clock, Headers, Options, StackForm};
use crate::etl::write::WriteError;
use crate::events::encode::{InlineStack, RecordWriter};
use crate::events::{Event, FrameRange, Record, StackPart, hook};
use crate::random::Random;
use crate::tables::KeyedSet;
use crate::units::{Pid, PointerSize, Tid};

/// Distinct stacks of one process in one array.
#[derive(Debug, Default)]
pub(super) struct StackSet {
    frames: Vec<u64>,
    /// End of each stack in `frames`.
    ends: Vec<u32>,
}

/// Number of frames of the shallowest and the deepest stack.
const DEPTH: (u64, u64) = (5, 30);

impl StackSet {
    /// A set for each process; together they have as many stacks as the options ask for.
    pub(super) fn of_processes(options: &Options, processes: &[Process], random: &mut Random) -> Vec<Self> {
        let each = options.distinct_stacks.div_ceil(options.processes) as usize;
        processes.iter().map(|process| Self::new(each, &process.modules, random)).collect()
    }

    /// `count` distinct stacks. The first two modules contain the thread's start and the allocator, the others the
    /// program. New stacks grow from callers of older ones, so that they form a tree as real ones do.
    pub(super) fn new(count: usize, modules: &[Module], random: &mut Random) -> Self {
        let mut set = Self::default();
        let mut known = KeyedSet::default();
        let mut stack: Vec<u64> = Vec::new(); // outermost first, while it grows
        while set.ends.len() < count {
            let depth = random.between(DEPTH.0, DEPTH.1) as usize;
            stack.truncate(if stack.is_empty() { 0 } else { random.between(2, stack.len() as u64) as usize });
            if stack.len() < 2 {
                stack = vec![frame(&modules[0], 0x6_0000, 0x1000, random), frame(&modules[1], 0x1_0000, 0x1000, random)];
            }
            stack.truncate(depth - 1);
            while stack.len() < depth - 1 {
                let module = &modules[2 + random.index(modules.len() - 2)];
                let function = 0x1000 + random.skewed(module.size / 512) * 256;
                stack.push(frame(module, function, 256, random));
            }
            let allocator = frame(&modules[0], 0x2_0000, 0x1000, random);
            if known.insert((stack.clone(), allocator)) {
                set.push(std::iter::once(allocator).chain(stack.iter().rev().copied()));
            }
        }
        set
    }

    /// Adds a stack, innermost frame first; returns its number.
    pub(super) fn push(&mut self, frames: impl IntoIterator<Item = u64>) -> usize {
        self.frames.extend(frames);
        self.ends.push(self.frames.len() as u32);
        self.ends.len() - 1
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// One stack, innermost frame first.
    pub(super) fn get(&self, index: usize) -> &[u64] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.frames[start..self.ends[index] as usize]
    }
}

/// A return address in the function at `rva`.
fn frame(module: &Module, rva: u64, size: u64, random: &mut Random) -> u64 {
    module.base + rva.min(module.size - size) + 5 + random.below((size - 6) / 8) * 8
}

/// The kernel's part of a VirtualAlloc's stack; only one frame differs.
pub(super) fn kernel_frames(index: u64) -> [u64; 3] {
    [NTOSKRNL.base + 0x0061_02C4 + index % 4 * 0x33, NTOSKRNL.base + 0x0061_0F1B, NTOSKRNL.base + 0x0041_8355]
}

/// The thread that asks for memory, and its processor.
#[derive(Clone, Copy)]
pub(super) struct Caller {
    pub(super) processor: u16,
    pub(super) pid: u32,
    pub(super) tid: u32,
}

impl Caller {
    /// Any thread of a process, on any processor.
    pub(super) fn any(process: &Process, processors: u64, random: &mut Random) -> Self {
        let tid = process.threads[random.index(process.threads.len())].0;
        Self { processor: random.below(processors) as u16, pid: process.pid, tid }
    }

    pub(super) fn thread(self) -> (Pid, Tid) {
        (Pid(self.pid), Tid(self.tid))
    }

    pub(super) fn record(self, time: i64, event: Event) -> Record {
        Record { time, pid: Pid(self.pid), tid: Tid(self.tid), event }
    }
}

/// Writes stacks in the form that the user wants.
///
/// For keys, the table has fewer slots than there are stacks, so keys change their meaning: when a slot is taken
/// over, a "deleted" event defines the old stack of its key, and the key means the new stack from then on. The keys
/// that are left are defined at the end.
#[derive(Debug)]
pub(super) struct StackWriter {
    form: StackForm,
    sets: Vec<StackSet>,
    /// The stack in each slot of the user's key table: its number + 1, or 0 for none.
    slots: Vec<u32>,
    /// Which keys of the kernel's table were used; it has one for each of its stacks.
    kernel_used: [bool; 4],
    headers: Headers,
}

impl StackWriter {
    pub(super) fn new(options: &Options, sets: Vec<StackSet>) -> Self {
        let form = options.stacks;
        let total: usize = sets.iter().map(StackSet::len).sum();
        let slots = if form == StackForm::Keys { (total * 3 / 4).max(1) } else { 0 };
        Self { form, sets, slots: vec![0; slots], kernel_used: [false; 4], headers: Headers::any(options) }
    }

    /// Chooses a stack of a process, popular ones more often.
    pub(super) fn choose(&self, process: usize, random: &mut Random) -> usize {
        random.skewed(self.sets[process].len() as u64) as usize
    }

    /// The innermost frame of a stack of a process.
    pub(super) fn innermost(&self, process: usize, index: usize) -> u64 {
        self.sets[process].get(index).first().copied().unwrap_or_default()
    }

    /// Writes the stack of the event at `owner` after it, or nothing.
    pub(super) fn put<W: Write + Seek>(
        &mut self,
        w: &mut RecordWriter<W>,
        clock: &mut Clock,
        caller: Caller,
        owner: i64,
        (process, index): (usize, usize),
    ) -> Result<(), WriteError> {
        match self.form {
            StackForm::None => Ok(()),
            StackForm::Walk => {
                w.style.header = self.headers.turn();
                let frames = self.sets[process].get(index);
                let result = w.put_stack(caller.processor, clock.after(3), owner, caller.thread(), frames);
                w.style.header = None;
                result
            }
            StackForm::Keys => {
                let key = self.key(w, clock, caller.processor, process, index)?;
                w.style.header = self.headers.turn();
                let event = Event::StackRef { owner, part: StackPart::User, key };
                let result = w.put(caller.processor, &caller.record(clock.after(2), event), &[]);
                w.style.header = None;
                result
            }
        }
    }

    /// Writes the kernel's part of a stack.
    pub(super) fn put_kernel<W: Write + Seek>(
        &mut self,
        w: &mut RecordWriter<W>,
        time: i64,
        caller: Caller,
        owner: i64,
        index: u64,
    ) -> Result<(), WriteError> {
        let index = index % 4;
        match self.form {
            StackForm::None => Ok(()),
            StackForm::Walk => w.put_stack(caller.processor, time, owner, caller.thread(), &kernel_frames(index)),
            StackForm::Keys => {
                self.kernel_used[index as usize] = true;
                let event = Event::StackRef { owner, part: StackPart::Kernel, key: kernel_key(index) };
                w.put(caller.processor, &caller.record(time, event), &[])
            }
        }
    }

    /// Writes an event that contains its stack.
    pub(super) fn put_inline<W: Write + Seek>(
        &mut self,
        w: &mut RecordWriter<W>,
        clock: &mut Clock,
        processor: u16,
        record: &Record,
        (process, index): (usize, usize),
        pointer: PointerSize,
    ) -> Result<(), WriteError> {
        // The slot is cleared at a time before the event that needs it.
        let key = match self.form {
            StackForm::Keys => self.key(w, clock, processor, process, index)?,
            _ => 0,
        };
        w.style.pointer = pointer;
        let result = match self.form {
            StackForm::None => w.put(processor, record, &[]),
            StackForm::Walk => w.put_with_stack(processor, record, InlineStack::Frames(self.sets[process].get(index))),
            StackForm::Keys => {
                let record = Record { time: clock.after(1), ..record.clone() };
                w.put_with_stack(processor, &record, InlineStack::Key(key))
            }
        };
        w.style.pointer = PointerSize::Eight;
        result
    }

    /// The key of a stack; its slot is cleared first if need be.
    fn key<W: Write + Seek>(
        &mut self,
        w: &mut RecordWriter<W>,
        clock: &mut Clock,
        processor: u16,
        process: usize,
        index: usize,
    ) -> Result<u64, WriteError> {
        // The numbers of stacks alternate between processes, so that rare stacks have high numbers and share slots.
        let number = index * self.sets.len() + process;
        let n = self.slots.len();
        let slot = if number < n { number } else { n - 1 - (number - n) % n };
        let held = self.slots[slot];
        if held != number as u32 + 1 {
            if held != 0 {
                self.define(w, clock.after(1), processor, slot, hook::STACK_KEY_DELETE)?;
            }
            self.slots[slot] = number as u32 + 1;
        }
        Ok(user_key(slot))
    }

    fn define<W: Write + Seek>(
        &self,
        w: &mut RecordWriter<W>,
        time: i64,
        processor: u16,
        slot: usize,
        hook: u16,
    ) -> Result<(), WriteError> {
        let number = self.slots[slot] as usize - 1;
        let frames = self.sets[number % self.sets.len()].get(number / self.sets.len());
        put_definition(w, time, processor, user_key(slot), frames, hook)
    }

    /// Defines all keys that are in use.
    pub(super) fn finish<W: Write + Seek>(&self, w: &mut RecordWriter<W>, clock: &mut Clock) -> Result<(), WriteError> {
        for slot in (0..self.slots.len()).filter(|&slot| self.slots[slot] != 0) {
            self.define(w, clock.after(1), 0, slot, hook::STACK_KEY_RUNDOWN)?;
        }
        for index in (0..4).filter(|&index| self.kernel_used[index as usize]) {
            put_definition(w, clock.after(1), 0, kernel_key(index), &kernel_frames(index), hook::STACK_KEY_RUNDOWN)?;
        }
        Ok(())
    }
}

/// Writes which stack a key has stood for.
fn put_definition<W: Write + Seek>(
    w: &mut RecordWriter<W>,
    time: i64,
    processor: u16,
    key: u64,
    frames: &[u64],
    hook: u16,
) -> Result<(), WriteError> {
    w.style.key_definition = hook;
    // The reader derives the part from the frames.
    let event = Event::StackDefinition { part: StackPart::User, key, frames: FrameRange::default() };
    w.put(processor, &Record { time, pid: Pid::NONE, tid: Tid::NONE, event }, frames)
}

/// First key: small enough for the events of 32-bit programs.
const KEYS: u64 = 0x4C20_0000;

fn user_key(slot: usize) -> u64 {
    KEYS + slot as u64 * 0x60
}

/// The key of a kernel stack. The first keys of the user's table are the same: the tables are separate.
fn kernel_key(index: u64) -> u64 {
    KEYS + index * 0x60
}
