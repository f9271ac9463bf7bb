//! Generated captures: operations over small domains, so that ids, addresses,
//! times and keys collide, and what they come to: the records as a reader would
//! hand them over, and the steps as they truly happened.
//!
//! What cannot be known from records is not generated: two events of one thread
//! at one tick of which an earlier one still waits for its stack. Nor what no thread can
//! do: to enter the kernel before the stack of what it did in user mode is written.

use std::collections::HashMap;

use highwater::events::{
    CommittedRegion, Event, FrameRange, PageRange, ProcessChange, ProcessInfo, Record, StackPart, ThreadStack,
};
use highwater::units::{Layer, Pid, Tid};

use super::Step;
use super::replay::UNKNOWN;

/// Raw time of the trace start.
pub const TRACE_START: i64 = 5_000;

/// One operation; numbers are choices out of small domains.
#[derive(Clone, Debug)]
pub struct Op {
    pub wait: i64,
    pub pid: u32,
    pub tid: u32,
    pub act: Act,
    pub stack: StackForm,
}

/// What is done.
#[derive(Clone, Debug)]
pub enum Act {
    Open {
        layer: Layer,
        heap: u64,
        name: Option<&'static str>,
    },
    Close {
        layer: Layer,
        heap: u64,
        name: Option<&'static str>,
    },
    Alloc {
        layer: Layer,
        heap: u64,
        address: u64,
        size: u64,
    },
    Free {
        layer: Layer,
        heap: u64,
        address: u64,
    },
    Realloc {
        layer: Layer,
        heap: u64,
        old: u64,
        new: u64,
        size: u64,
    },
    /// A moving realloc as Windows logs it: Alloc, a copy that may take long, Free, and a summary
    /// some ticks later, perhaps of another thread or size. What others do meanwhile stands between.
    Move {
        heap: u64,
        old: u64,
        new: u64,
        size: u64,
        later: i64,
        /// `None` for the same thread.
        summary_tid: Option<u32>,
        summary_size: u64,
        meanwhile: Vec<Meanwhile>,
    },
    /// Alloc or Free whose header has no process and no thread.
    Homeless {
        heap: u64,
        address: u64,
        size: Option<u64>,
    },
    Pages {
        owner: u32,
        base: u64,
        pages: u64,
        flags: u32,
    },
    FreePages {
        owner: u32,
        base: u64,
        pages: u64,
        flags: u32,
    },
    PagesRundown {
        owner: u32,
        base: u64,
        pages: u64,
        /// How many of them are committed.
        committed: u64,
    },
    Process {
        change: ProcessChange,
        key: u64,
        named: bool,
    },
    /// An event of another kind, a sample of the processor say: only its stack is seen.
    Unseen,
    /// The thread starts, so what another of its id did in the kernel is over.
    Thread,
    /// A definition of a stack key, whether it is in use or not.
    Define {
        part: StackPart,
        key: u64,
        stack: usize,
    },
}

/// What happens to a block of the same heap while another is copied, so many ticks after what was before it:
/// before the old block is freed, or after.
#[derive(Clone, Copy, Debug)]
pub struct Meanwhile {
    pub wait: i64,
    pub tid: u32,
    pub address: u64,
    /// `None` for a free.
    pub size: Option<u64>,
    pub is_after_free: bool,
}

/// How an event gets its stack. Late ones come so many operations later.
#[derive(Clone, Copy, Debug)]
pub enum StackForm {
    None,
    Plain {
        stack: usize,
        late: usize,
    },
    Key {
        key: u64,
        stack: usize,
        late: usize,
    },
    /// Kernel part at once; the user part perhaps never.
    Parts {
        kernel: usize,
        user: usize,
        late: Option<usize>,
    },
    KeyParts {
        kernel: u64,
        user: u64,
        stack: usize,
        late: usize,
    },
}

impl StackForm {
    /// The same, nothing of it late.
    fn at_once(self) -> Self {
        match self {
            Self::Plain { stack, .. } => Self::Plain { stack, late: 0 },
            Self::Key { key, stack, .. } => Self::Key { key, stack, late: 0 },
            other => other,
        }
    }
}

const STACKS: [&[u64]; 5] = [&[], &[0x10], &[0x20, 0x10], &[0x30, 0x20, 0x10], &[0x30, 0x10]];
const KERNEL_STACKS: [&[u64]; 3] = [&[], &[0xFFFF_8000_0000_0010], &[0xFFFF_8000_0000_0020, 0xFFFF_8000_0000_0010]];

fn frames(part: StackPart, stack: usize) -> Vec<u64> {
    match part {
        StackPart::User => STACKS[stack % STACKS.len()].to_vec(),
        // A kernel stack has frames, else nothing would tell that it is one.
        StackPart::Kernel => KERNEL_STACKS[1 + stack % 2].to_vec(),
    }
}

/// One record as a reader hands it over, with the frames of its stack.
#[derive(Clone, Debug)]
pub struct Sent {
    pub record: Record,
    pub frames: Vec<u64>,
}

/// A generated capture.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    pub stream: Vec<Sent>,
    pub steps: Vec<Step>,
}

impl Scenario {
    /// What the operations come to.
    pub fn of(ops: &[Op]) -> Self {
        let mut writer = Writer::default();
        ops.iter().for_each(|op| writer.op(op));
        writer.finish()
    }

    /// Raw times of the first and the last record.
    pub fn times(&self) -> Option<(i64, i64)> {
        Some((self.stream.first()?.record.time, self.stream.last()?.record.time))
    }
}

/// The kernel and the user part of a step's stack, as far as they were sent.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    kernel: Option<usize>,
    user: Option<usize>,
    /// User part of another event, with which the thread left the kernel.
    shared: Option<usize>,
}

/// Who wrote an event and when; the number of its step, if it is one.
#[derive(Clone, Copy, Debug)]
struct Owner {
    time: i64,
    pid: u32,
    tid: Option<u32>,
    step: Option<usize>,
    /// Whether it is of user mode: a stack of the kernel is not to come.
    is_users: bool,
}

/// A part of a stack that is still to be sent.
#[derive(Clone, Debug)]
struct Late {
    countdown: usize,
    owner: Owner,
    part: Part,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Frames(StackPart, usize),
    Key(StackPart, u64, usize),
}

#[derive(Debug, Default)]
struct Writer {
    now: i64,
    out: Scenario,
    /// By step.
    parts: Vec<Parts>,
    /// What the parts are; `None` for keys that are not defined yet.
    known: Vec<Option<Vec<u64>>>,
    late: Vec<Late>,
    /// Steps with a kernel part that wait for the user part: process, thread, number.
    in_kernel: Vec<(u32, Option<u32>, usize)>,
    /// Keys in use: what they will be defined as, and the parts that use them.
    open: HashMap<(StackPart, u64), (usize, Vec<usize>)>,
    /// The first definition of each key at the present tick.
    fresh: HashMap<(StackPart, u64), Vec<u64>>,
    /// Threads at the present tick whose last event may still take a stack.
    hungry: Vec<Option<u32>>,
}

impl Writer {
    fn op(&mut self, op: &Op) {
        self.send_due();
        if op.wait > 100_000 {
            self.send_all_late(); // nobody waits that long for a stack
        }
        self.wait(op.wait);
        let Op { pid, tid, stack, .. } = *op;
        let heap_stack = match stack {
            StackForm::Parts { user, late, .. } => StackForm::Plain { stack: user, late: late.unwrap_or(0) },
            StackForm::KeyParts { user, stack, late, .. } => StackForm::Key { key: user, stack, late },
            other => other,
        };
        let alloc = |heap, address, size| Event::Alloc { layer: Layer::Heap, heap, address, size };
        let free = |heap, address| Event::Free { layer: Layer::Heap, heap, address };
        let pages = |owner: u32, base, pages, flags| PageRange { base, size: pages * 0x1000, owner: Pid(owner), flags };
        match &op.act {
            Act::Open { layer, heap, name } => {
                let name = name.filter(|_| *layer == Layer::Tracker).map(Into::into);
                self.event(pid, tid, &Event::HeapOpen { layer: *layer, heap: *heap, name }, heap_stack);
            }
            Act::Close { layer, heap, name } => {
                let name = name.filter(|_| *layer == Layer::Tracker).map(Into::into);
                self.event(pid, tid, &Event::HeapClose { layer: *layer, heap: *heap, name }, heap_stack);
            }
            &Act::Alloc { layer, heap, address, size } => {
                self.event(pid, tid, &Event::Alloc { layer, heap, address, size }, heap_stack);
            }
            &Act::Free { layer, heap, address } => self.event(pid, tid, &Event::Free { layer, heap, address }, heap_stack),
            &Act::Realloc { layer, heap, old, new, size } => {
                self.event(pid, tid, &Event::Realloc { layer, heap, old, new, size }, heap_stack);
            }
            &Act::Move { heap, old, new, size, later, summary_tid, summary_size, ref meanwhile } => {
                let put = |writer: &mut Self, is_after_free: bool| {
                    for other in meanwhile.iter().filter(|other| other.is_after_free == is_after_free) {
                        let Meanwhile { wait, tid, address, size, .. } = *other;
                        writer.wait(wait);
                        let event = size.map_or(free(heap, address), |size| alloc(heap, address, size));
                        writer.event(pid, tid, &event, StackForm::None);
                    }
                };
                self.event(pid, tid, &alloc(heap, new, size), heap_stack);
                put(self, false);
                self.event(pid, tid, &free(heap, old), heap_stack);
                put(self, true);
                self.wait(later);
                let summary = Event::Realloc { layer: Layer::Heap, heap, old, new, size: summary_size };
                self.event(pid, summary_tid.unwrap_or(tid), &summary, heap_stack);
            }
            &Act::Homeless { heap, address, size } => {
                let event = size.map_or(free(heap, address), |size| alloc(heap, address, size));
                self.homeless(pid, tid, event, heap_stack);
            }
            &Act::Pages { owner, base, pages: n, flags } => {
                self.event(pid, tid, &Event::VirtualAlloc(pages(owner, base, n, flags)), stack);
            }
            &Act::FreePages { owner, base, pages: n, flags } => {
                self.event(pid, tid, &Event::VirtualFree(pages(owner, base, n, flags)), stack);
            }
            &Act::PagesRundown { owner, base, pages, committed } => {
                let (size, committed) = (pages * 0x1000, committed.min(pages) * 0x1000);
                let event = Event::CommitRundown(CommittedRegion { base, size, committed, owner: Pid(owner) });
                self.step(pid, None, event.clone());
                self.send(Pid::NONE, Tid::NONE, event, &[]);
            }
            &Act::Process { change, key, named } => self.process(pid, tid, change, key, named),
            Act::Unseen => self.unseen(pid, tid, stack),
            Act::Thread => {
                self.send(Pid(pid), Tid(tid), Event::ThreadStart(ThreadStack::default()), &[]);
                self.in_kernel.retain(|&(p, t, _)| (p, t) != (pid, Some(tid)));
            }
            &Act::Define { part, key, stack } => self.define(part, key, stack),
        }
    }

    fn wait(&mut self, ticks: i64) {
        if ticks > 0 {
            self.now += ticks;
            self.fresh.clear();
            self.hungry.clear();
        }
    }

    fn send(&mut self, pid: Pid, tid: Tid, event: Event, frames: &[u64]) {
        let record = Record { time: self.now + TRACE_START, pid, tid, event };
        self.out.stream.push(Sent { record, frames: frames.to_vec() });
    }

    fn step(&mut self, pid: u32, tid: Option<u32>, event: Event) -> usize {
        self.out.steps.push(Step { time: self.now, pid, tid, event, stack: Vec::new() });
        self.parts.push(Parts::default());
        self.out.steps.len() - 1
    }

    /// An event of a thread, with its stack.
    fn event(&mut self, pid: u32, tid: u32, event: &Event, mut stack: StackForm) {
        let two_parts = matches!(event, Event::VirtualAlloc(_) | Event::VirtualFree(_));
        if two_parts {
            self.leave_user_mode(pid, tid);
        } else if self.in_kernel.iter().any(|&(p, t, _)| (p, t) == (pid, Some(tid))) {
            stack = stack.at_once();
        }
        if self.hungry.contains(&Some(tid)) {
            self.wait(1);
        }
        let step = self.step(pid, Some(tid), event.clone());
        self.send(Pid(pid), Tid(tid), event.clone(), &[]);
        let complete = self.stack(self.owner(step, !two_parts), stack) && !two_parts;
        if !complete && !matches!(event, Event::HeapOpen { .. } | Event::HeapClose { .. }) {
            self.hungry.push(Some(tid));
        } else if !complete {
            // A late stack could be taken for that of the next event.
            let waits = self.late.iter().any(|late| late.owner.step == Some(step));
            self.hungry.extend(waits.then_some(Some(tid)));
        }
    }

    /// The same for an event that does not say whose it is; alone at its tick.
    fn homeless(&mut self, pid: u32, tid: u32, event: Event, stack: StackForm) {
        self.wait(1);
        let told = !matches!(stack, StackForm::None);
        let (pid, tid) = if told { (pid, Some(tid)) } else { (UNKNOWN, None) };
        let step = self.step(pid, tid, event.clone());
        self.send(Pid::NONE, Tid::NONE, event, &[]);
        self.stack(self.owner(step, true), stack);
        self.wait(1);
    }

    /// The stack of an event that is not seen; alone at its tick.
    fn unseen(&mut self, pid: u32, tid: u32, stack: StackForm) {
        self.leave_user_mode(pid, tid);
        self.wait(1);
        self.stack(Owner { time: self.now, pid, tid: Some(tid), step: None, is_users: false }, stack);
        self.wait(1);
    }

    fn owner(&self, step: usize, is_users: bool) -> Owner {
        let Step { time, pid, tid, .. } = self.out.steps[step];
        Owner { time, pid, tid, step: Some(step), is_users }
    }

    /// What the thread did in user mode has its stacks before it enters the kernel.
    fn leave_user_mode(&mut self, pid: u32, tid: u32) {
        let is_its = |late: &Late| late.owner.is_users && (late.owner.pid, late.owner.tid) == (pid, Some(tid));
        let (due, later) = std::mem::take(&mut self.late).into_iter().partition(is_its);
        self.late = later;
        self.send_late(due);
    }

    /// Sends a stack, or notes what is to be sent later. Tells whether all is sent.
    fn stack(&mut self, owner: Owner, stack: StackForm) -> bool {
        let (parts, late) = match stack {
            StackForm::None => return false,
            StackForm::Plain { stack, late } => (vec![Part::Frames(StackPart::User, stack)], Some(late)),
            StackForm::Key { key, stack, late } => (vec![Part::Key(StackPart::User, key, stack)], Some(late)),
            StackForm::Parts { kernel, user, late } => {
                (vec![Part::Frames(StackPart::Kernel, kernel), Part::Frames(StackPart::User, user)], late)
            }
            StackForm::KeyParts { kernel, user, stack, late } => {
                (vec![Part::Key(StackPart::Kernel, kernel, stack), Part::Key(StackPart::User, user, stack)], Some(late))
            }
        };
        let last = parts.len() - 1;
        for (i, part) in parts.into_iter().enumerate() {
            match late {
                _ if i < last => self.send_part(owner, part),
                Some(0) => self.send_part(owner, part),
                Some(countdown) => self.late.push(Late { countdown, owner, part }),
                None => {}
            }
        }
        late == Some(0)
    }

    fn send_due(&mut self) {
        self.late.iter_mut().for_each(|late| late.countdown -= 1);
        let (due, later) = std::mem::take(&mut self.late).into_iter().partition(|late| late.countdown == 0);
        self.late = later;
        self.send_late(due);
    }

    fn send_all_late(&mut self) {
        let all = std::mem::take(&mut self.late);
        self.send_late(all);
    }

    fn send_late(&mut self, due: Vec<Late>) {
        for late in due {
            self.send_part(late.owner, late.part);
        }
    }

    /// Sends a part of the stack of an event. What it is may be known only later.
    fn send_part(&mut self, of: Owner, part: Part) {
        let owner = of.time + TRACE_START;
        let (pid, tid) = (Pid(of.pid), of.tid.map_or(Tid::NONE, Tid));
        let index = self.known.len();
        let kind = match part {
            Part::Frames(kind, stack) => {
                let frames = frames(kind, stack);
                self.send(pid, tid, Event::Stack { owner, part: kind, frames: FrameRange::default() }, &frames);
                self.known.push(Some(frames));
                kind
            }
            Part::Key(kind, key, stack) => {
                self.send(pid, tid, Event::StackRef { owner, part: kind, key }, &[]);
                let fresh = self.fresh.get(&(kind, key)).cloned();
                if fresh.is_none() {
                    self.open.entry((kind, key)).or_insert_with(|| (stack, Vec::new())).1.push(index);
                }
                self.known.push(fresh);
                kind
            }
        };
        match (kind, of.step) {
            (StackPart::Kernel, Some(step)) => {
                self.parts[step].kernel = Some(index);
                self.in_kernel.push((of.pid, of.tid, step));
            }
            (StackPart::User, Some(step)) => self.parts[step].user = Some(index),
            (_, None) => {}
        }
        let has_frames = self.known[index].as_ref().is_none_or(|frames| !frames.is_empty());
        if kind == StackPart::User && (has_frames || matches!(part, Part::Key(..))) {
            self.leave_kernel(of.pid, of.tid, index);
        }
    }

    /// One user part is that of all that the thread did in the kernel, where no other comes.
    fn leave_kernel(&mut self, pid: u32, tid: Option<u32>, user: usize) {
        for &(_, _, step) in self.in_kernel.iter().filter(|&&(p, t, _)| (p, t) == (pid, tid)) {
            self.parts[step].shared = Some(user);
        }
        self.in_kernel.retain(|&(p, t, _)| (p, t) != (pid, tid));
    }

    fn define(&mut self, part: StackPart, key: u64, stack: usize) {
        let (stack, users) = self.open.remove(&(part, key)).unwrap_or((stack, Vec::new()));
        let frames = frames(part, stack);
        let event = Event::StackDefinition { part, key, frames: FrameRange::default() };
        self.send(Pid::NONE, Tid::NONE, event, &frames);
        for user in users {
            self.known[user] = Some(frames.clone());
        }
        self.fresh.entry((part, key)).or_insert(frames);
    }

    fn process(&mut self, pid: u32, tid: u32, change: ProcessChange, key: u64, named: bool) {
        let name = if named && key != 0 { format!("App{}.exe", key % 2) } else { String::new() };
        let command_line = if name.is_empty() { String::new() } else { format!("{name} -secret") };
        let info = ProcessInfo { key: key * 0x1000, parent: 1, name, command_line };
        let event = Event::Process(change, Box::new(info));
        self.step(pid, Some(tid), event.clone());
        self.send(Pid(pid), Tid(tid), event, &[]);
        if change != ProcessChange::Rundown {
            self.in_kernel.retain(|&(p, ..)| p != pid);
        }
    }

    fn finish(mut self) -> Scenario {
        self.send_all_late();
        for (step, parts) in self.out.steps.iter_mut().zip(&self.parts) {
            let frames = |part: Option<usize>| part.and_then(|i| self.known[i].clone()).unwrap_or_default();
            step.stack = [frames(parts.kernel), frames(parts.user.or(parts.shared))].concat();
        }
        self.out
    }
}
