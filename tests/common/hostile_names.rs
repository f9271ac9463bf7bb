//! Traces whose names are hostile: what a terminal would obey, a spreadsheet would compute, or as long as an event has
//! room for. Everything that has a name has the same one.
#![allow(dead_code, reason = "each test uses its own part")]

use highwater::etl::{Guid, SessionHeader};
use highwater::events::{
    ActivityEvent, Event, FrameRange, ImageChange, ImageId, ImageInfo, ManagedEvent, ManagedMethod, MarkEvent, MarkText,
    MethodChange, PageRange, Present, PresentApi, ProcessChange, ProcessInfo, Record, StackPart, ThreadStack, class, mem,
};
use highwater::units::{Layer, Pid, Tid};

use super::trace::{session, trace};

/// The process.
pub const PID: u32 = 4660;
/// Where its module lies.
pub const MODULE: u64 = 0x7FF7_0000_0000;
/// Where its method lies.
pub const METHOD: u64 = 0x7FFE_1000_0000;

/// All that terminals obey, what breaks lines, and what turns the direction of writing; a line of its own would begin
/// with [`INJECTED`].
pub const ESCAPES: &str =
    "a\u{1b}]0;title\u{7}\u{1b}[2J\r\nINJECTED\u{85}\u{9b}31m\u{8}\u{7f}\u{2028}INJECTED\u{202e}\u{2066}x\u{2069}\u{202c}.exe";
/// See [`ESCAPES`].
pub const INJECTED: &str = "INJECTED";

/// What happens in a trace of such names, by time.
struct Story<'a> {
    name: &'a str,
    records: Vec<(Record, Vec<u64>)>,
}

impl Story<'_> {
    fn tell(&mut self, time: i64, event: Event, frames: &[u64]) {
        self.records.push((Record { time: 1_000 + time, pid: Pid(PID), tid: Tid(2), event }, frames.to_vec()));
    }

    fn activity(&mut self, time: i64, event: ActivityEvent) {
        self.tell(time, Event::Activity(Box::new(event)), &[]);
    }

    fn stack(&mut self, time: i64, frames: &[u64]) {
        let owner = Event::Stack { owner: 1_000 + time, part: StackPart::User, frames: FrameRange::default() };
        self.tell(time + 1, owner, frames);
    }

    fn names(&mut self) {
        let name = || self.name.to_owned();
        // What a process is called has less room than its command line.
        let process = || self.name.chars().take(20_000).collect::<String>();
        let info = ProcessInfo { key: 0xA000, parent: 1, name: process(), command_line: String::new() };
        let path = format!(r"\Device\Volume1\{}", self.name);
        let image = ImageInfo { base: MODULE, size: 0x1000_0000, checksum: 0, time_stamp: 7, path };
        let id = ImageId { base: MODULE, guid: Guid::new(7, 7, 7, [7; 8]), age: 1, pdb: process() };
        let method = ManagedMethod {
            module: 1,
            start: METHOD,
            size: 0x100_0000,
            is_jitted: true,
            name: self.name.chars().take(10_000).collect(),
            signature: self.name.chars().take(10_000).collect(),
        };
        let events = [
            Event::Process(ProcessChange::Start, Box::new(info)),
            Event::Volume(Box::new((name(), r"X:\".to_owned()))),
            Event::Image(ImageChange::Load, Box::new(image)),
            Event::ImageId(Box::new(id)),
            Event::ThreadStart(ThreadStack::default()),
            Event::ThreadName(name().into()),
            Event::HeapOpen { layer: Layer::Heap, heap: 0x1D_0000, name: None },
            Event::HeapOpen { layer: Layer::Tracker, heap: 0x77, name: Some(name().into()) },
            Event::Activity(Box::new(ActivityEvent::Managed(ManagedEvent::Module { id: 1, path: name().into() }))),
            Event::Activity(Box::new(ActivityEvent::Managed(ManagedEvent::Method(MethodChange::Load, Box::new(method))))),
        ];
        (10..).zip(events).for_each(|(at, event)| self.tell(at, event, &[]));
    }

    fn mark(&mut self, time: i64) {
        let text = MarkText::Known(self.name.chars().take(20_000).collect::<String>().into());
        let mark = MarkEvent { provider: class::PERF_INFO, provider_name: None, text, lasted_ms: None };
        self.activity(time, ActivityEvent::Mark(mark));
    }

    fn block(&mut self, n: u64) {
        let at = 1_000 + 100 * n as i64;
        let address = 0x10_0000 + 0x100 * n;
        let frames = [METHOD + 16 * n, MODULE + 0x1000 + 16 * n, MODULE + 0x100_0000 + 16 * n, MODULE + 0x200_0000];
        for (turn, (layer, heap)) in [(Layer::Heap, 0x1D_0000), (Layer::Tracker, 0x77)].into_iter().enumerate() {
            let at = at + 10 * turn as i64;
            self.tell(at, Event::Alloc { layer, heap, address, size: 64 + n }, &[]);
            self.stack(at, &frames);
        }
        if n.is_multiple_of(4) {
            let pages =
                PageRange { base: 0x1000_0000 + 0x10_0000 * n, size: 0x4000, owner: Pid(PID), flags: mem::COMMIT | mem::RESERVE };
            self.tell(at + 30, Event::VirtualAlloc(pages), &[]);
            self.stack(at + 30, &frames[1..]);
            self.activity(
                at + 40,
                ActivityEvent::Present(Present::Start { api: PresentApi::Dxgi, swap_chain: 0xABC0, is_test: false }),
            );
            self.activity(at + 41, ActivityEvent::Present(Present::Stop { api: PresentApi::Dxgi, has_failed: false }));
            self.tell(at + 50, Event::Sample { address: frames[0], count: 1 }, &[]);
            self.stack(at + 50, &frames);
        }
        if n % 8 == 3 {
            self.tell(at + 60, Event::Free { layer: Layer::Heap, heap: 0x1D_0000, address }, &[]);
        }
    }
}

/// A trace of a program that allocates in all layers, so many blocks in each and each from a stack of its own, shows
/// frames and writes marks, in which everything is called `name`.
pub fn all_called(name: &str, blocks: u64) -> Vec<u8> {
    let mut story = Story { name, records: Vec::new() };
    story.names();
    for n in 0..blocks {
        story.block(n);
        if n % 16 == 5 {
            story.mark(1_080 + 100 * n as i64);
        }
    }
    trace(SessionHeader { buffer_size: 1 << 20, ..session(false) }, &story.records)
}

/// What a trace can be full of beside memory, each with a name of its own and so many letters.
#[derive(Clone, Copy, Debug)]
pub enum Full {
    /// Threads.
    Threads,
    /// Modules with the paths of their PDBs.
    Modules,
    /// Volumes.
    Volumes,
    /// Processes with command lines.
    Processes,
    /// Trackers.
    Trackers,
    /// Methods of the .NET runtime.
    Methods,
}

impl Full {
    /// All kinds.
    pub const ALL: [Self; 6] = [Self::Threads, Self::Modules, Self::Volumes, Self::Processes, Self::Trackers, Self::Methods];

    fn events(self, n: u64, name: String) -> Vec<(Record, Vec<u64>)> {
        let time = 1_000 + 2 * n as i64;
        let base = 0x7000_0000_0000 + 0x1_0000 * n;
        let record = |pid: u32, tid: u32, event: Event| (Record { time, pid: Pid(pid), tid: Tid(tid), event }, Vec::new());
        let own = |event: Event| record(PID, 2, event);
        match self {
            Self::Threads => vec![record(PID, 4 * n as u32 + 4, Event::ThreadName(name.into()))],
            Self::Modules => {
                let image =
                    ImageInfo { base, size: 0x1_0000, checksum: 0, time_stamp: 7, path: format!(r"\Device\V\{name}\m.dll") };
                let id = ImageId { base, guid: Guid::new(n as u32, 7, 7, [7; 8]), age: 1, pdb: format!(r"C:\{name}\m.pdb") };
                vec![own(Event::ImageId(Box::new(id))), own(Event::Image(ImageChange::Load, Box::new(image)))]
            }
            Self::Volumes => vec![own(Event::Volume(Box::new((format!(r"\Device\{name}"), r"X:\".to_owned()))))],
            Self::Processes => {
                let info = ProcessInfo { key: 0xA000 + n, parent: 1, name: format!("p{n}.exe"), command_line: name };
                vec![record(8 * n as u32 + 8, 2, Event::Process(ProcessChange::Start, Box::new(info)))]
            }
            Self::Trackers => vec![own(Event::HeapOpen { layer: Layer::Tracker, heap: base, name: Some(name.into()) })],
            Self::Methods => {
                let method = ManagedMethod {
                    module: 1,
                    start: base,
                    size: 0x1000,
                    is_jitted: true,
                    name: format!("N.{name}"),
                    signature: String::new(),
                };
                let event = ManagedEvent::Method(MethodChange::Load, Box::new(method));
                vec![own(Event::Activity(Box::new(ActivityEvent::Managed(event))))]
            }
        }
    }
}

/// A trace with so many things of a kind, and a few blocks behind them.
pub fn full_of(kind: Full, count: u64, letters: usize) -> Vec<u8> {
    let name = |n: u64| format!("{n:x}{}", "n".repeat(letters));
    let mut records: Vec<_> = (0..count).flat_map(|n| kind.events(n, name(n))).collect();
    records.extend((0..500).flat_map(|n| {
        let at = 1_000 + 2 * (count + n) as i64;
        let event = Event::Alloc { layer: Layer::Heap, heap: 0x1D_0000, address: 0x1000 + 0x100 * n, size: 64 };
        let stack = Event::Stack { owner: at, part: StackPart::User, frames: FrameRange::default() };
        let record = |time: i64, event: Event| Record { time, pid: Pid(PID), tid: Tid(2), event };
        [(record(at, event), Vec::new()), (record(at + 1, stack), vec![0x7000_0000_0010 + 0x1_0000 * n])]
    }));
    trace(SessionHeader { buffer_size: 1 << 20, ..session(false) }, &records)
}

/// A trace with so many blocks, each from a stack of its own of so many frames.
pub fn many_stacks(blocks: u64, depth: u64) -> Vec<u8> {
    let records = (0..blocks).flat_map(|n| {
        let at = 1_000 + 4 * n as i64;
        let record = |time: i64, event: Event| Record { time, pid: Pid(PID), tid: Tid(2), event };
        let event = Event::Alloc { layer: Layer::Heap, heap: 0x1D_0000, address: 0x1000 + 0x100 * n, size: 64 };
        let stack = Event::Stack { owner: at, part: StackPart::User, frames: FrameRange::default() };
        let frames = (0..depth).map(|frame| MODULE + 16 * (n * depth + frame)).collect();
        [(record(at, event), Vec::new()), (record(at + 1, stack), frames)]
    });
    trace(SessionHeader { buffer_size: 1 << 20, ..session(false) }, &records.collect::<Vec<_>>())
}
