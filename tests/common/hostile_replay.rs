//! Traces that are made to be slow to replay or to ask: each drives one look-up that must
//! not cost more where there is more to look through. The writer is the real one.

use std::io::Cursor;

use highwater::etl::write::Writer;
use highwater::etl::{HeaderKind, SessionHeader};
use highwater::events::encode::{RecordWriter, Style};
use highwater::events::{Event, FrameRange, ImageChange, ImageInfo, Record, StackPart};
use highwater::units::{Layer, Pid, Tid};

use super::trace::{session, trace};

const PID: Pid = Pid(4660);
const HEAP: u64 = 0x1D_0000;

/// Where overlapping modules lie: over each byte of it is every one of them.
pub const OVERLAPPED: u64 = 0x7FF7_0000_0000;

/// Frames of the longest stacks.
pub const DEPTH: usize = 192;

/// So that what costs is the replay, not a tick that goes on from buffer to buffer.
fn large_buffers() -> SessionHeader {
    SessionHeader { buffer_size: 1 << 20, ..session(false) }
}

fn record(time: i64, tid: u32, event: Event) -> (Record, Vec<u64>) {
    (Record { time: 1_000 + time, pid: PID, tid: Tid(tid), event }, Vec::new())
}

/// Volumes of which no two are the same, each told twice. About 64 bytes each time.
pub fn volumes(count: usize) -> Vec<u8> {
    let volume = |n: usize| Event::Volume(Box::new((format!(r"\Device\Volume{n}"), r"X:\".to_owned())));
    let records: Vec<_> = (0..2 * count).map(|n| record(n as i64, 2, volume(n % count))).collect();
    trace(large_buffers(), &records)
}

/// At one tick so many threads free a block each, their stacks come, and each allocates one
/// without a stack. About 170 bytes a thread.
pub fn threads_of_one_tick(count: usize) -> Vec<u8> {
    let (layer, heap, at) = (Layer::Heap, HEAP, 10);
    let address = |n: usize| 0x10_0000 + 0x10 * n as u64;
    let tid = |n: usize| 4 * n as u32 + 4;
    let mut records = vec![record(0, 4, Event::HeapOpen { layer, heap, name: None })];
    records.extend((0..count).map(|n| record(at, tid(n), Event::Free { layer, heap, address: address(n) })));
    records.extend((0..count).map(|n| {
        let event = Event::Stack { owner: 1_000 + at, part: StackPart::User, frames: FrameRange::default() };
        let (stack, _) = record(at, tid(n), event);
        (stack, vec![0x5000 + n as u64 % 7])
    }));
    records.extend((0..count).map(|n| record(at, tid(n), Event::Alloc { layer, heap, address: address(n), size: 8 })));
    trace(large_buffers(), &records)
}

/// Writes an event of a process at a time, with its frames.
type Put<'a> = dyn FnMut(i64, u32, Event, &[u64]) + 'a;

/// Blocks of two processes in heaps of one handle, of which only the stacks of the allocations
/// tell the process: no header does, and frees have no stack. Each tenth address is allocated
/// by both before it is freed. About 160 bytes a block.
pub fn frees_without_process(blocks: usize) -> Vec<u8> {
    let (layer, heap) = (Layer::Heap, HEAP);
    let style = Style { header: Some(HeaderKind::PerfInfo), ..Style::default() };
    let mut writer = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), large_buffers()).unwrap());
    let mut put = |time: i64, pid: u32, event: Event, frames: &[u64]| {
        writer.style = style;
        writer.put(0, &Record { time: 1_000 + time, pid: Pid(pid), tid: Tid(pid), event }, frames).unwrap();
    };
    let address = |n: usize| 0x10_0000 + 0x10 * n as u64;
    let alloc = |n: usize, at: i64, pid: u32, put: &mut Put<'_>| {
        put(at, pid, Event::Alloc { layer, heap, address: address(n), size: 8 }, &[]);
        let stack = Event::Stack { owner: 1_000 + at, part: StackPart::User, frames: FrameRange::default() };
        put(at + 1, pid, stack, &[0x5000 + n as u64 % 97, 0x4000]);
    };
    /// So many allocations lie between one and its free.
    const BEFORE_FREE: usize = 500;
    for n in 0..blocks + BEFORE_FREE {
        let at = 100 * n as i64;
        if n < blocks {
            alloc(n, at, 4660 + n as u32 % 2, &mut put);
            if n % 10 == 0 {
                alloc(n, at + 10, 4661 - n as u32 % 2, &mut put);
            }
        }
        if n >= BEFORE_FREE {
            put(at + 20, 4660, Event::Free { layer, heap, address: address(n - BEFORE_FREE) }, &[]);
        }
    }
    writer.finish().unwrap().into_inner()
}

/// So many modules over the same addresses, and stacks with so many frames in them, no two
/// the same, made while the modules come. All of them `stay`, or each goes when the next comes.
/// About 110 bytes a module, twice that if they go, and 8 a frame.
pub fn overlapping_modules(count: usize, frames: usize, stay: bool) -> Vec<u8> {
    let image = |n: usize| {
        let (base, size) = (OVERLAPPED - n as u64, 0x1000_0000 + 2 * n as u64);
        Box::new(ImageInfo { base, size, checksum: 0, time_stamp: n as u32, path: format!(r"\Device\V\{n}.dll") })
    };
    let mut records = Vec::new();
    let stacks = frames.div_ceil(DEPTH);
    let allocate = |records: &mut Vec<_>, at: i64, n: usize| {
        let alloc = Event::Alloc { layer: Layer::Heap, heap: HEAP, address: 0x10_0000 + 0x10 * n as u64, size: 8 };
        records.push(record(at, 2, alloc));
        let event = Event::Stack { owner: 1_000 + at, part: StackPart::User, frames: FrameRange::default() };
        let (stack, _) = record(at, 2, event);
        let frames = (n * DEPTH..frames.min((n + 1) * DEPTH)).map(|i| OVERLAPPED + 16 * i as u64);
        records.push((stack, frames.collect()));
    };
    let mut done = 0;
    for n in 0..count {
        let at = 100 * n as i64;
        if !stay && n > 0 {
            records.push(record(at, 2, Event::Image(ImageChange::Unload, image(n - 1))));
        }
        records.push(record(at + 1, 2, Event::Image(ImageChange::Load, image(n))));
        let due = stacks * (n + 1) / count;
        (done..due).for_each(|n| allocate(&mut records, at + 2 + (n - done) as i64, n));
        done = due;
    }
    trace(large_buffers(), &records)
}
