//! Examples, and a property: in whatever order the events come, exactly those are passed on that an oracle chooses,
//! which knows the whole stream and the true owner of each event.

mod elsewhere;
mod examples;
mod faults;
mod lifetimes;
mod oracle;
mod samples;
mod strangers;

use super::{Elsewhere, Followed, Rules};
use crate::etl::write::{Descriptor, NewEvent};
use crate::etl::{EventId, HeaderKind};
use crate::events::encode::system::{PROCESS_VERSION, ProcessDetails, SID_USER};
use crate::events::encode::{Payload, memory, stack, system};
use crate::events::{CommittedRegion, PageRange, ProcessInfo, ThreadStack, hook, mem};
use crate::units::{Pid, PointerSize, Tid};

const FREQUENCY: u64 = 1000;

/// An event of the kernel session.
#[derive(Clone, Debug)]
struct Sent {
    time: i64,
    pid: u32,
    tid: u32,
    hook: u16,
    payload: Vec<u8>,
}

fn payload(fill: impl FnOnce(&mut Payload)) -> Vec<u8> {
    let mut payload = Payload::default();
    fill(payload.restart(PointerSize::Eight));
    payload.bytes().to_vec()
}

impl Sent {
    /// A process allocates pages in the process `owner`.
    fn pages(time: i64, (pid, tid): (u32, u32), owner: u32) -> Self {
        let range = PageRange { base: 0x1_0000, size: 0x1000, owner: Pid(owner), flags: mem::COMMIT };
        Self { time, pid, tid, hook: hook::VIRTUAL_ALLOC, payload: payload(|out| memory::pages(out, &range)) }
    }

    /// A rundown event for pages that existed before.
    fn region(time: i64, owner: u32) -> Self {
        let region = CommittedRegion { base: 0x1_0000, size: 0x1000, committed: 0x1000, owner: Pid(owner) };
        let payload = payload(|out| memory::pages_rundown(out, &region));
        Self { time, pid: u32::MAX, tid: u32::MAX, hook: hook::VIRTUAL_RUNDOWN_START, payload }
    }

    /// A part of the stack of the event that a thread wrote at the time `owner`.
    fn stack(time: i64, (pid, tid): (u32, u32), owner: i64) -> Self {
        let payload = payload(|out| stack::stack(out, owner, Pid(pid), Tid(tid), &[0x7FF0_0000, 0x7FF0_0010]));
        Self { time, pid: u32::MAX, tid: u32::MAX, hook: hook::STACK, payload }
    }

    /// A thread event, such as [`hook::THREAD_START`].
    fn thread(time: i64, hook: u16, pid: u32, tid: u32) -> Self {
        Self {
            time,
            pid: 4,
            tid: 1,
            hook,
            payload: payload(|out| system::thread(out, Pid(pid), Tid(tid), ThreadStack::default(), "")),
        }
    }

    /// A CPU sample of a thread.
    fn sample(time: i64, tid: u32) -> Self {
        let payload = payload(|out| {
            out.word(0x7FF0_0000).u32(tid).u32(1);
        });
        Self { time, pid: u32::MAX, tid: u32::MAX, hook: hook::SAMPLE, payload }
    }

    /// A first touch of a page; without a thread in its header if there is none.
    fn fault(time: i64, writer: Option<(u32, u32)>) -> Self {
        let payload = payload(|out| {
            out.word(0x1_0000).word(0x7FF0_0000);
        });
        let (pid, tid) = writer.unwrap_or((u32::MAX, u32::MAX));
        Self { time, pid, tid, hook: hook::DEMAND_ZERO_FAULT, payload }
    }

    /// A process event, such as [`hook::PROCESS_START`].
    fn process(time: i64, hook: u16, pid: u32, info: &ProcessInfo) -> Self {
        let details = ProcessDetails { session: 1, status: 0, sid: SID_USER };
        let writer = if hook == hook::PROCESS_START { info.parent } else { pid };
        Self { time, pid: writer, tid: 1, hook, payload: payload(|out| system::process(out, Pid(pid), info, details)) }
    }

    /// The event as a consumer passes it, with a number by which the tests recognize it.
    fn event(&self, number: usize) -> NewEvent<'_> {
        let kind = if self.tid == u32::MAX { HeaderKind::PerfInfo } else { HeaderKind::System };
        let is_process = (hook::PROCESS_START..=hook::PROCESS_RUNDOWN_END).contains(&self.hook);
        NewEvent {
            processor: number as u16,
            time: self.time,
            kind,
            pointer: PointerSize::Eight,
            pid: Pid(self.pid),
            tid: Tid(self.tid),
            id: EventId::Hook(self.hook),
            version: if is_process { PROCESS_VERSION } else { 2 },
            descriptor: Descriptor::default(),
            extended: &[],
            payload: &self.payload,
        }
    }
}

fn info(key: u64, parent: u32, name: &str) -> ProcessInfo {
    ProcessInfo { key, parent, name: name.to_owned(), command_line: String::new() }
}

fn following(pids: &[u32], names: &[&str], children: bool) -> Followed {
    let names = names.iter().map(|&name| name.to_owned()).collect();
    Followed::new(&Rules { pids: pids.to_vec(), names, children }, FREQUENCY)
}

/// Sends events numbered in their order; returns the numbers of those that are passed on.
fn passed(followed: &mut Followed, sent: &[Sent]) -> Vec<usize> {
    let mut numbers = Vec::new();
    for (number, event) in sent.iter().enumerate() {
        followed.take(&event.event(number), &mut |event| numbers.push(event.processor.into()));
    }
    numbers
}
