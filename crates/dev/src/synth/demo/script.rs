//! Events of the demo, collected in any order: events of threads with their stacks, which are given as paths of
//! functions from the outermost in.

use super::super::cast::START_TICKS;
use super::super::images::{self, Image};
use super::super::timeline::{Entry, What, record};
use crate::events::encode::Style;
use crate::events::{Event, FrameRange, StackPart};
use crate::random::Random;
use crate::tables::KeyedSet;
use crate::units::{Pid, Tid};

/// A thread, as pid and tid.
#[derive(Clone, Copy)]
pub(super) struct Thread(pub(super) u32, pub(super) u32);

/// The events so far.
pub(super) struct Script {
    entries: Vec<Entry>,
    /// Times at which each thread has an event, by which stacks refer to it.
    taken: KeyedSet<(u32, i64)>,
    pub(super) random: Random,
}

/// The kernel's part of VirtualAlloc, outermost first.
const KERNEL_PATH: [&str; 3] = ["nt!KiSystemServiceCopyEnd", "nt!NtAllocateVirtualMemory", "nt!MiAllocateVirtualMemory"];

impl Script {
    pub(super) fn new(seed: u64) -> Self {
        Self { entries: Vec::new(), taken: KeyedSet::default(), random: Random::new(seed) }
    }

    pub(super) fn extend(&mut self, entries: Vec<Entry>) {
        self.entries.extend(entries);
    }

    /// Returns all entries by time; those of the same time keep their order.
    pub(super) fn in_order(mut self) -> Vec<Entry> {
        self.entries.sort_by_key(|e| e.time);
        self.entries
    }

    /// A random time up to `spread` ticks after `at`.
    pub(super) fn about(&mut self, at: i64, spread: u64) -> i64 {
        at + self.random.below(spread) as i64
    }

    /// Adds an event of a thread; returns its raw time, which no other event of the thread has.
    pub(super) fn event(&mut self, thread: Thread, ticks: i64, event: Event) -> i64 {
        let time = self.claim(thread, ticks);
        self.entries.push(Entry::record(processor(thread, time), record(time, thread.0, thread.1, event)));
        time
    }

    fn claim(&mut self, thread: Thread, ticks: i64) -> i64 {
        let mut time = START_TICKS + ticks;
        while !self.taken.insert((thread.1, time)) {
            time += 1;
        }
        time
    }

    /// Adds an event that contains its stack.
    pub(super) fn event_with_stack(&mut self, thread: Thread, ticks: i64, event: Event, path: &[&str]) {
        let time = self.claim(thread, ticks);
        let what = What::Inline(record(time, thread.0, thread.1, event), frames(path));
        self.entries.push(Entry::new(time, processor(thread, time), what));
    }

    /// Adds the user stack of an event that was written from user mode.
    pub(super) fn stack(&mut self, thread: Thread, owner: i64, path: &[&str]) {
        let time = self.about(owner + 12, 40);
        self.push_stack(thread, time, processor(thread, owner), owner, path);
    }

    /// Adds the stack of a sample, whose innermost frame is where the processor was.
    pub(super) fn stack_at(&mut self, thread: Thread, owner: i64, address: u64, path: &[&str]) {
        let time = self.about(owner + 8, 30);
        let mut frames = frames(path);
        frames.iter_mut().take(1).for_each(|innermost| *innermost = address);
        let what = What::Stack { owner, thread: (Pid(thread.0), Tid(thread.1)), frames };
        self.entries.push(Entry::new(time, processor(thread, owner), what));
    }

    /// Adds both parts of a VirtualAlloc's stack. The user part comes when the thread leaves the kernel, now and then
    /// on another processor.
    pub(super) fn stack_from_kernel(&mut self, thread: Thread, owner: i64, user: &[&str]) {
        self.stack_with_kernel(thread, owner, &KERNEL_PATH, user);
    }

    /// Adds both parts of the stack of another service of the kernel.
    pub(super) fn stack_with_kernel(&mut self, thread: Thread, owner: i64, kernel: &[&str], user: &[&str]) {
        let home = processor(thread, owner);
        let time = self.about(owner + 8, 30);
        self.push_stack(thread, time, home, owner, kernel);
        let elsewhere = self.random.one_in(6);
        let (spread, user_processor) = if elsewhere { (40_000, (home + 1) % 4) } else { (400, home) };
        let time = self.about(time + 60, spread);
        self.push_stack(thread, time, user_processor, owner, user);
    }

    fn push_stack(&mut self, thread: Thread, time: i64, processor: u16, owner: i64, path: &[&str]) {
        let what = What::Stack { owner, thread: (Pid(thread.0), Tid(thread.1)), frames: frames(path) };
        self.entries.push(Entry::new(time, processor, what));
    }

    /// Adds the user stack of an event as a key.
    pub(super) fn key(&mut self, thread: Thread, owner: i64, key: u64) {
        let time = self.about(owner + 6, 20);
        let event = Event::StackRef { owner, part: StackPart::User, key };
        self.entries.push(Entry::record(processor(thread, owner), record(time, thread.0, thread.1, event)));
    }

    /// Adds the event that tells which stack a key has stood for; `hook` is its kind.
    pub(super) fn define(&mut self, ticks: i64, hook: u16, key: u64, path: &[&str]) {
        let time = START_TICKS + ticks;
        let event = Event::StackDefinition { part: StackPart::User, key, frames: FrameRange::default() };
        let what = What::Record(record(time, Pid::NONE.0, Tid::NONE.0, event), frames(path));
        let style = Style { key_definition: hook, ..Style::default() };
        self.entries.push(Entry { style, ..Entry::new(time, 0, what) });
    }
}

/// The processor on which a thread runs; it changes about every half second.
fn processor(thread: Thread, time: i64) -> u16 {
    let slice = time / 5_300_000 + i64::from(thread.1) * 1_000_003;
    Random::new(slice as u64).below(4) as u16
}

/// The return addresses, innermost first, of a path of `image!function` from the outermost in. A caller returns to
/// the same address whenever it calls the same function; the innermost function has an address of its own.
pub(super) fn frames(path: &[&str]) -> Vec<u64> {
    let callees = path.iter().skip(1).copied().chain([""]);
    let mut frames: Vec<u64> = path.iter().zip(callees).map(|(function, callee)| return_address(function, callee)).collect();
    frames.reverse();
    frames
}

/// An address in a function, one of 64.
pub(super) fn place_in(function: &str, place: u64) -> u64 {
    let Some((image, name)) = function.split_once('!') else { return 0 };
    let Some(image) = image_of(image) else { return 0 };
    image.function(name).map_or(0, |function| {
        let inside = 1 + u64::from(function.size.saturating_sub(2)) * place / 64;
        image.base + u64::from(function.rva) + inside
    })
}

/// The return address of a call; 0 for a function or a call that no table has. A test checks that there is no such call.
fn return_address(function: &str, callee: &str) -> u64 {
    let Some((image, caller)) = function.split_once('!') else { return 0 };
    let Some(image) = image_of(image) else { return 0 };
    let callee = callee.split_once('!').map_or(callee, |(_, name)| name);
    image.return_address(caller, callee).map_or(0, |rva| image.base + u64::from(rva))
}

fn image_of(short: &str) -> Option<&'static Image> {
    Some(match short {
        "app" => &images::APP,
        "svc" => &images::SERVICE,
        "thumb" => &images::THUMBNAILS,
        "clr" => &images::CORECLR,
        "cmd" => &images::CMD,
        "ntdll" => &images::NTDLL,
        "kernel32" => &images::KERNEL32,
        "kernelbase" => &images::KERNELBASE,
        "ucrt" => &images::UCRTBASE,
        "nt" => &images::NTOSKRNL,
        _ => return None,
    })
}
