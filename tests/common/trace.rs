//! A small trace with an event of every kind that matters, in small buffers.

use std::io::Cursor;

use highwater::etl::write::Writer;
use highwater::etl::{SessionHeader, mode};
use highwater::events::encode::RecordWriter;
use highwater::events::{
    ActivityEvent, Event, FrameRange, ImageChange, ImageInfo, PageRange, ProcessChange, ProcessInfo, Record, StackPart,
    ViewChange, ViewEvent, mem,
};
use highwater::units::{Layer, Pid, Tid};

/// Bytes of a buffer.
pub const BUFFER: usize = 4 << 10;

const PID: Pid = Pid(4660);

/// The session of small traces.
pub fn session(compressed: bool) -> SessionHeader {
    SessionHeader {
        processors: 2,
        buffer_size: BUFFER as u32,
        mode: mode::SEQUENTIAL | if compressed { mode::COMPRESSED } else { 0 },
        start_ticks: 1_000,
        start_time: 134_116_992_000_000_000,
        ..SessionHeader::default()
    }
}

/// A trace of these records; those of odd threads are written by the second processor.
pub fn trace(session: SessionHeader, records: &[(Record, Vec<u64>)]) -> Vec<u8> {
    let mut writer = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), session).unwrap());
    for (record, frames) in records {
        writer.put((record.tid.0 % 2) as u16, record, frames).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Some 20 KB of a program that allocates in all layers.
pub fn small(compressed: bool) -> Vec<u8> {
    trace(session(compressed), &story())
}

/// A trace without anything to account for.
pub fn without_memory_events() -> Vec<u8> {
    trace(session(false), &story()[..2])
}

/// A trace of a program that frees each of its 1,200 blocks of 40 bytes at once.
pub fn temporary() -> Vec<u8> {
    let mut records = story();
    let end = records.pop();
    let heap = 0x1D_0000;
    let mut tell = |time: i64, event: Event, frames: &[u64]| {
        records.push((Record { time: 1_000 + time, pid: PID, tid: Tid(2), event }, frames.to_vec()));
    };
    for i in 0..1_200 {
        let (at, address) = (2_000 + 10 * i, 0x9000);
        tell(at, Event::Alloc { layer: Layer::Heap, heap, address, size: 40 }, &[]);
        let stack = Event::Stack { owner: 1_000 + at, part: StackPart::User, frames: FrameRange::default() };
        tell(at + 1, stack, &[0x7FF7_0000_4000, 0x7FF7_0000_2000, 0x7FFE_0000_0000]);
        tell(at + 5, Event::Free { layer: Layer::Heap, heap, address }, &[]);
    }
    records.extend(end.map(|(record, frames)| (Record { time: 20_000, ..record }, frames)));
    trace(session(false), &records)
}

/// A trace of a program that has mapped 3 views of 7 MB together at the end.
pub fn mapped() -> Vec<u8> {
    let mut records = story();
    let end = records.pop();
    let changes = [
        (ViewChange::RundownStart, 0x20_0000_0000, 4 << 20),
        (ViewChange::Map, 0x21_0000_0000, 1 << 20),
        (ViewChange::Map, 0x22_0000_0000, 9 << 20),
        (ViewChange::Unmap, 0x22_0000_0000, 9 << 20),
        (ViewChange::Map, 0x23_0000_0000, 2 << 20),
        (ViewChange::RundownEnd, 0x20_0000_0000, 4 << 20),
    ];
    for ((change, base, size), time) in changes.into_iter().zip((3_000..).step_by(1_000)) {
        let event = Event::Activity(Box::new(ActivityEvent::View(ViewEvent { change, base, size })));
        records.push((Record { time, pid: PID, tid: Tid(2), event }, Vec::new()));
    }
    records.extend(end.map(|(record, frames)| (Record { time: 20_000, ..record }, frames)));
    trace(session(false), &records)
}

/// What happens in it, by time.
pub fn story() -> Vec<(Record, Vec<u64>)> {
    let mut records = Vec::new();
    let mut tell = |time: i64, tid: u32, event: Event, frames: &[u64]| {
        records.push((Record { time: 1_000 + time, pid: PID, tid: Tid(tid), event }, frames.to_vec()));
    };
    let info = ProcessInfo { key: 0xA000, parent: 1, name: "Game.exe".into(), command_line: "Game.exe -fast".into() };
    let image = ImageInfo {
        base: 0x7FF7_0000_0000,
        size: 0x10_0000,
        checksum: 0,
        time_stamp: 7,
        path: r"\Device\Volume1\Game.exe".into(),
    };
    tell(10, 2, Event::Process(ProcessChange::Start, Box::new(info.clone())), &[]);
    tell(11, 2, Event::Image(ImageChange::Load, Box::new(image)), &[]);
    let physics = || Some("Physics".into());
    tell(20, 2, Event::HeapOpen { layer: Layer::Heap, heap: 0x1D_0000, name: None }, &[]);
    tell(21, 2, Event::HeapOpen { layer: Layer::Tracker, heap: 0x77, name: physics() }, &[]);
    let stack = |owner: i64| Event::Stack { owner: 1_000 + owner, part: StackPart::User, frames: FrameRange::default() };
    let pages = |base, flags| PageRange { base, size: 0x4000, owner: PID, flags };
    for i in 0..60i64 {
        let at = 100 + 20 * i;
        let tid = 2 + (i % 2) as u32;
        let address = 0x1000 + 0x40 * i as u64;
        let frames = [0x7FF7_0000_1000 + i as u64 % 5, 0x7FF7_0000_2000, 0x7FFE_0000_0000];
        tell(at, tid, Event::Alloc { layer: Layer::Heap, heap: 0x1D_0000, address, size: 40 }, &[]);
        tell(at + 1, tid, stack(at), &frames);
        tell(at + 2, tid, Event::Alloc { layer: Layer::Tracker, heap: 0x77, address, size: 16 }, &[]);
        tell(at + 2, tid, Event::StackRef { owner: 1_002 + at, part: StackPart::User, key: 5 }, &[]);
        if i % 3 == 0 {
            tell(at + 5, tid, Event::Free { layer: Layer::Heap, heap: 0x1D_0000, address }, &[]);
        }
        if i % 10 == 0 {
            tell(at + 6, tid, Event::VirtualAlloc(pages(0x10_0000 * i as u64, mem::COMMIT | mem::RESERVE)), &[]);
            tell(at + 7, tid, stack(at + 6), &frames);
        }
        if i % 20 == 19 {
            tell(at + 8, tid, Event::VirtualFree(pages(0x10_0000 * (i as u64 - 9) + 0x1000, mem::DECOMMIT)), &[]);
        }
    }
    let definition = Event::StackDefinition { part: StackPart::User, key: 5, frames: FrameRange::default() };
    tell(1_400, 2, definition, &[0x7FF7_0000_3000, 0x7FF7_0000_2000]);
    tell(1_410, 2, Event::HeapClose { layer: Layer::Tracker, heap: 0x77, name: physics() }, &[]);
    tell(1_420, 2, Event::Process(ProcessChange::End, Box::new(info)), &[]);
    records
}
