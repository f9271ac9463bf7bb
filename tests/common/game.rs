//! A trace of a game with all that is not memory: marks of several kinds, frames of two swap chains, a
//! method of the .NET runtime, processor samples. A tick is 100 ns; the trace starts at raw time 1,000.

use std::io::Cursor;

use highwater::etl::write::{Descriptor, NewEvent, Writer};
use highwater::etl::{EventId, ExtendedItem, Guid, HeaderKind, SessionHeader, extended_type};
use highwater::events::encode::RecordWriter;
use highwater::events::{Event, ImageChange, ImageInfo, ProcessChange, ProcessInfo, Record, ThreadStack, class, hook};
use highwater::units::{Layer, Pid, PointerSize, Tid};

use super::trace::session;

/// The game, and another program that runs beside it.
pub const GAME: u32 = 4660;
pub const OTHER: u32 = 99;
/// Frames of the main swap chain.
pub const FRAMES: usize = 20;
/// The one with most allocations, and how many.
pub const WORST: (usize, u64) = (12, 50);
/// Bytes of a block.
pub const BLOCK: u64 = 100;
/// A provider whose events describe themselves, and one that only descriptions name.
pub const SELF_DESCRIBING: &str = "Game.Marks";
pub const DESCRIBED: &str = "Game-Manifest";
/// Code that the runtime made while the program ran: where, bytes, and when.
pub const METHOD: (u64, u32, i64) = (0x7FFE_1000_0000, 0x100, 50);

const SELF_GUID: Guid = Guid::new(0x1111, 2, 3, [1; 8]);
const DESCRIBED_GUID: Guid = Guid::new(0x2222, 2, 3, [1; 8]);
const MODULE: u64 = 0x7FF7_0000_0000;
const THREAD: (u32, u32) = (GAME, 2);

/// Blocks that a frame allocates.
pub fn blocks(frame: usize) -> u64 {
    if frame == WORST.0 { WORST.1 } else { frame as u64 }
}

/// Raw time of a millisecond.
fn ms(n: i64) -> i64 {
    1_000 + n * 10_000
}

struct Written(RecordWriter<Cursor<Vec<u8>>>);

impl Written {
    fn record(&mut self, time: i64, (pid, tid): (u32, u32), event: Event) {
        let record = Record { time, pid: Pid(pid), tid: Tid(tid), event };
        self.0.put(0, &record, &[]).unwrap();
    }

    fn raw(&mut self, time: i64, (pid, tid): (u32, u32), kind: HeaderKind, id: EventId, payload: &[u8]) {
        self.raw_with(time, (pid, tid), kind, id, (0, &[]), payload);
    }

    fn raw_with(
        &mut self,
        time: i64,
        (pid, tid): (u32, u32),
        kind: HeaderKind,
        id: EventId,
        (version, extended): (u16, &[ExtendedItem<'_>]),
        payload: &[u8],
    ) {
        let (pid, tid, pointer, descriptor) = (Pid(pid), Tid(tid), PointerSize::Eight, Descriptor::default());
        let event = NewEvent { processor: 0, time, kind, pointer, pid, tid, id, version, descriptor, extended, payload };
        self.0.writer().write(&event).unwrap();
    }

    fn program(&mut self, pid: u32, tid: u32, name: &str) {
        let info = ProcessInfo { key: 0xA000 + u64::from(pid), parent: 1, name: name.into(), command_line: name.into() };
        self.record(ms(1), (pid, tid), Event::Process(ProcessChange::Start, Box::new(info)));
        self.record(ms(1), (pid, tid), Event::ThreadStart(ThreadStack::default()));
    }

    fn mark(&mut self, time: i64, text: &str) {
        let id = EventId::Class { class: class::PERF_INFO, opcode: hook::MARK as u8 };
        self.raw(time, THREAD, HeaderKind::Full, id, &[text.as_bytes(), b"\0"].concat());
    }

    fn present(&mut self, time: i64, thread: (u32, u32), swap_chain: u64) {
        let of = |id| EventId::Provider { provider: class::DXGI, id };
        let payload: Vec<u8> = swap_chain.to_le_bytes().into_iter().chain([0; 8]).collect();
        self.raw(time, thread, HeaderKind::Event, of(42), &payload);
        self.raw(time + 10, thread, HeaderKind::Event, of(43), &[0; 4]);
    }

    /// Stacks stand innermost first.
    fn sample(&mut self, time: i64, (pid, tid): (u32, u32), stack: &[u64]) {
        let address = stack.first().copied().unwrap_or(0);
        let payload: Vec<u8> = address.to_le_bytes().into_iter().chain(tid.to_le_bytes()).chain([1, 0, 0, 0]).collect();
        self.raw_with(time, (0, 0), HeaderKind::PerfInfo, EventId::Hook(hook::SAMPLE), (2, &[]), &payload);
        if !stack.is_empty() {
            self.0.put_stack(0, time + 1, time, (Pid(pid), Tid(tid)), stack).unwrap();
        }
    }
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// The trace.
pub fn game() -> Vec<u8> {
    let session = SessionHeader { buffer_size: 64 << 10, ..session(false) };
    let mut to = Written(RecordWriter::new(Writer::new(Cursor::new(Vec::new()), session).unwrap()));
    to.program(GAME, THREAD.1, "Game.exe");
    to.program(OTHER, 7, "Other.exe");
    let image = ImageInfo { base: MODULE, size: 0x10_0000, checksum: 0, time_stamp: 7, path: r"\Device\Volume1\Game.exe".into() };
    to.record(ms(2), THREAD, Event::Image(ImageChange::Load, Box::new(image)));
    to.record(ms(3), THREAD, Event::HeapOpen { layer: Layer::Heap, heap: 0x1D_0000, name: None });
    method(&mut to);
    let mut before = 0..0;
    let mut address = 0x10_0000u64;
    for frame in 0..FRAMES {
        let at = 100 + 10 * frame as i64;
        to.present(ms(at), THREAD, 0xABC0);
        if frame % 4 == 0 {
            to.present(ms(at) + 100, (OTHER, 7), 0xDEF0);
        }
        // What the frame before allocated goes.
        let now = address..address + 0x100 * blocks(frame);
        for address in before.step_by(0x100) {
            to.record(ms(at + 1), THREAD, Event::Free { layer: Layer::Heap, heap: 0x1D_0000, address });
        }
        for (n, address) in now.clone().step_by(0x100).enumerate() {
            let time = ms(at + 2) + 10 * n as i64;
            to.record(time, THREAD, Event::Alloc { layer: Layer::Heap, heap: 0x1D_0000, address, size: BLOCK });
            to.0.put_stack(0, time + 1, time, (Pid(GAME), Tid(THREAD.1)), &[MODULE + 0x1000, MODULE + 0x2000]).unwrap();
        }
        (before, address) = (now.clone(), now.end);
        to.sample(ms(at + 5), THREAD, &[METHOD.0 + 8, MODULE + 0x3000, MODULE + 0x2000]);
        to.sample(ms(at + 6), THREAD, &[MODULE + 0x3000 + u64::from(frame % 2 == 0) * 0x100, MODULE + 0x2000]);
        if frame % 2 == 0 {
            to.sample(ms(at + 7), (OTHER, 7), &[]);
        }
        to.sample(ms(at + 8), (0, 0), &[]);
        marks_of(&mut to, frame, ms(at + 9));
    }
    to.present(ms(100 + 10 * FRAMES as i64), THREAD, 0xABC0);
    to.present(ms(100 + 10 * FRAMES as i64) + 100, (OTHER, 7), 0xDEF0);
    describe(&mut to);
    to.0.finish().unwrap().into_inner()
}

fn marks_of(to: &mut Written, frame: usize, time: i64) {
    match frame {
        0 => to.mark(time, "Level 1"),
        5 => to.mark(time, "Level 2"),
        8 => to.mark(time, "Level 2.5"),
        10 => to.mark(time, "from a..b on"),
        14 => {
            let metadata = [&[0u8, 0, 0][..], b"Loaded\0text\0\x02"].concat();
            let metadata = [&(metadata.len() as u16).to_le_bytes()[..], &metadata[2..]].concat();
            let traits = [&(SELF_DESCRIBING.len() as u16 + 3).to_le_bytes()[..], SELF_DESCRIBING.as_bytes(), b"\0"].concat();
            let items = [
                ExtendedItem { kind: extended_type::SCHEMA, data: &metadata },
                ExtendedItem { kind: extended_type::PROVIDER_TRAITS, data: &traits },
            ];
            let id = EventId::Provider { provider: SELF_GUID, id: 0 };
            to.raw_with(time, THREAD, HeaderKind::Event, id, (0, &items), b"textures\0");
        }
        16 => to.raw(time, THREAD, HeaderKind::Event, EventId::Provider { provider: DESCRIBED_GUID, id: 7 }, &5u32.to_le_bytes()),
        _ => {}
    }
}

/// MethodLoadVerbose, version 1, of the runtime's provider.
fn method(to: &mut Written) {
    let (start, size, at) = METHOD;
    let words = [1u64, 2, start].into_iter().flat_map(u64::to_le_bytes);
    let payload: Vec<u8> = words.chain([size, 0x600_0001, 1 << 3].into_iter().flat_map(u32::to_le_bytes)).collect();
    let names = [wide("Game.World"), wide("Update"), wide("instance void  (float32)"), 9u16.to_le_bytes().into()].concat();
    let id = EventId::Provider { provider: class::CLR, id: 143 };
    to.raw_with(ms(at), THREAD, HeaderKind::Event, id, (1, &[]), &[payload, names].concat());
}

/// What merging adds for a provider with a manifest: a TRACE_EVENT_INFO of its event.
fn describe(to: &mut Written) {
    const STRINGS: usize = 0x70 + 24;
    let (name, task, field) = (wide(DESCRIBED), wide("Wave"), wide("number"));
    let mut info = vec![0u8; STRINGS];
    info[..16].copy_from_slice(&DESCRIBED_GUID.to_bytes());
    info[0x20..0x22].copy_from_slice(&7u16.to_le_bytes());
    let mut put = |at: usize, value: usize| info[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes());
    put(0x34, STRINGS);
    put(0x44, STRINGS + name.len());
    put(0x68, 1);
    put(0x6C, 1);
    put(0x74, STRINGS + name.len() + task.len());
    put(0x78, 8);
    put(0x80, 1);
    let id = EventId::Class { class: class::EVENT_METADATA, opcode: 32 };
    let payload = [info, name, task, field].concat();
    to.raw(ms(110 + 10 * FRAMES as i64), THREAD, HeaderKind::Full, id, &payload);
}
