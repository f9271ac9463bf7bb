//! Small files that were made to take much: time or memory beyond any proportion to their
//! size. Written byte by byte, because our own writer makes nothing of the kind.
#![allow(dead_code, reason = "each test uses its own part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

use std::io::Cursor;

use highwater::etl::compression::xpress;
use highwater::etl::write::Writer;
use highwater::etl::{BUFFER_HEADER, SessionHeader, flag, mode};
use highwater::events::encode::RecordWriter;
use highwater::events::{Event, FrameRange, Record, StackPart, hook};
use highwater::random::Random;
use highwater::units::{Layer, Pid, Tid};

/// The header buffer of a session whose buffers can have any size.
pub fn session(processors: u32, buffer_size: u32) -> Vec<u8> {
    let session = SessionHeader {
        processors,
        mode: mode::SEQUENTIAL | mode::COMPRESSED,
        start_ticks: 1_000,
        start_time: 134_116_992_000_000_000,
        ..SessionHeader::default()
    };
    let mut bytes = Writer::new(Cursor::new(Vec::new()), session).unwrap().finish().unwrap().into_inner();
    // The writer makes no buffers as large as some claims.
    bytes[BUFFER_HEADER + 0x20..][..4].copy_from_slice(&buffer_size.to_le_bytes());
    bytes
}

/// A buffer whose data end at `end` once they are expanded.
pub fn buffer(processor: u16, sequence: i64, flags: u16, end: usize, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; BUFFER_HEADER];
    let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
    put(0x00, &((BUFFER_HEADER + body.len()) as u32).to_le_bytes());
    for at in [0x04, 0x08, 0x30] {
        put(at, &(end as u32).to_le_bytes());
    }
    put(0x18, &sequence.to_le_bytes());
    put(0x28, &processor.to_le_bytes());
    put(0x34, &(flags | flag::PROC_INDEX).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// A buffer that is not compressed.
pub fn plain(processor: u16, sequence: i64, events: &[[u8; 56]]) -> Vec<u8> {
    let body = events.concat();
    buffer(processor, sequence, 0, BUFFER_HEADER + body.len(), &body)
}

/// The event of a block of one heap that begins or ends, written by its processor's thread.
pub fn block(processor: u16, time: i64, address: u64, begins: bool) -> [u8; 56] {
    let mut event = [0; 56];
    let mut put = |at: usize, field: &[u8]| event[at..at + field.len()].copy_from_slice(field);
    let hook = if begins { hook::HEAP_ALLOC } else { hook::HEAP_FREE };
    let payload: &[u64] = if begins { &[0x10, 64, address] } else { &[0x10, address, 0] };
    put(0x00, &[2, 0, 2, 0xC0]);
    put(0x04, &56u16.to_le_bytes());
    put(0x06, &hook.to_le_bytes());
    put(0x08, &(100 + u32::from(processor)).to_le_bytes());
    put(0x0C, &7u32.to_le_bytes());
    put(0x10, &time.to_le_bytes());
    for (i, word) in payload.iter().enumerate() {
        put(0x20 + 8 * i, &word.to_le_bytes());
    }
    event
}

/// Streams of so many buffers each, which expand to `expanded` bytes: the same event again
/// and again, with another time after each `run`.
pub fn wide_streams(streams: u16, buffers: i64, expanded: usize, run: usize) -> Vec<u8> {
    let count = (expanded - BUFFER_HEADER) / 56;
    let mut bytes = session(streams.into(), expanded as u32);
    for number in 0..buffers {
        let start = 2_000 + number * count as i64;
        let events: Vec<[u8; 56]> = (0..count).map(|i| block(0, start + (i / run) as i64, 0x1000, false)).collect();
        let body = xpress::compress(events.as_flattened());
        for processor in 0..streams {
            let sequence = 1 + number * i64::from(streams) + i64::from(processor);
            bytes.extend(buffer(processor, sequence, flag::COMPRESSED, BUFFER_HEADER + 56 * count, &body));
        }
    }
    bytes
}

/// Ties of `events` records on as many streams, in which blocks go from hand to hand: each
/// stream frees what the one before it allocates.
pub fn handovers(streams: u16, ticks: i64, events: usize) -> Vec<u8> {
    let of_stream = events / usize::from(streams);
    let mut bytes = session(streams.into(), 64 << 10);
    for tick in 0..ticks {
        for processor in 0..streams {
            let address = |i: usize, owner: u16| 0x1000 * (1 + i as u64) + 0x10 * u64::from(owner);
            let next = (processor + 1) % streams;
            // The last stream frees first: the others wait for one another, and all for it.
            let deals: Vec<[u8; 56]> = (0..of_stream)
                .map(|i| match i % 2 {
                    0 if processor + 1 == streams => block(processor, 2_000 + tick, address(i, 0), false),
                    0 => block(processor, 2_000 + tick, address(i, next), true),
                    _ => block(processor, 2_000 + tick, address(i - 1, processor), false),
                })
                .collect();
            let sequence = 1 + tick * i64::from(streams) + i64::from(processor);
            bytes.extend(plain(processor, sequence, &deals));
        }
    }
    bytes
}

/// A buffer of events of the far future, and one small buffer after the other, all earlier.
pub fn carried(waiting: usize, buffers: i64) -> Vec<u8> {
    let mut bytes = session(1, 4 << 20);
    let future: Vec<[u8; 56]> = (0..waiting).map(|i| block(0, 1 << 40, 0x1000 + 0x10 * i as u64, true)).collect();
    bytes.extend(plain(0, 1, &future));
    for number in 0..buffers {
        bytes.extend(plain(0, 2 + number, &[block(0, 2_000 + number, 0x10, number % 2 == 0)]));
    }
    bytes
}

/// Stacks of 192 frames that have only their outermost frames in common.
pub fn deep_stacks(stacks: usize) -> Vec<u8> {
    let session = SessionHeader { start_ticks: 1_000, buffer_size: 64 << 10, ..SessionHeader::default() };
    let mut writer = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), session).unwrap());
    let mut random = Random::new(7);
    for i in 0..stacks {
        let (time, pid, tid) = (2_000 + 2 * i as i64, Pid(7), Tid(100));
        let event = Event::Alloc { layer: Layer::Heap, heap: 0x10, address: 0x1000 + 0x40 * i as u64, size: 64 };
        writer.put(0, &Record { time, pid, tid, event }, &[]).unwrap();
        let frames: Vec<u64> =
            (0..192).map(|depth| 0x7FF6_0000_0000 + if depth > 180 { depth } else { random.below(1 << 30) }).collect();
        let stack = Event::Stack { owner: time, part: StackPart::User, frames: FrameRange::default() };
        writer.put(0, &Record { time: time + 1, pid, tid, event: stack }, &frames).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Bytes of a sector of a compound file.
const SECTOR: usize = 512;
const END_OF_CHAIN: u32 = 0xFFFF_FFFE;
const FREE: u32 = 0xFFFF_FFFF;

/// An entry of a compound file's directory (MS-CFB, section 2.6.1).
struct DirectoryEntry {
    name: String,
    kind: u8,
    right: u32,
    child: u32,
    /// First sector and bytes.
    stream: (u32, u64),
}

impl DirectoryEntry {
    fn bytes(&self) -> [u8; 128] {
        let mut bytes = [0; 128];
        let name: Vec<u8> = self.name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0x00, &name);
        put(0x40, &(name.len() as u16 + 2).to_le_bytes());
        put(0x42, &[self.kind, 1]);
        put(0x44, &FREE.to_le_bytes());
        put(0x48, &self.right.to_le_bytes());
        put(0x4C, &self.child.to_le_bytes());
        put(0x74, &self.stream.0.to_le_bytes());
        put(0x78, &self.stream.1.to_le_bytes());
        bytes
    }
}

const ROOT: u8 = 5;
const STORAGE: u8 = 1;
const STREAM: u8 = 2;

/// A compound file of this directory, whose streams share `data` sectors.
fn compound(mut directory: Vec<DirectoryEntry>, data: u32) -> Vec<u8> {
    let per_sector = SECTOR / 128;
    let entries = directory.len().next_multiple_of(per_sector);
    let unused = || DirectoryEntry { name: String::new(), kind: 0, right: FREE, child: FREE, stream: (0, 0) };
    directory.resize_with(entries, unused);
    let sectors_of_directory = (entries / per_sector) as u32;
    let before = data + sectors_of_directory;
    let tables = (before + 1).div_ceil(127);
    let mut fat: Vec<u32> = (1..=before).collect();
    for last in [data, before] {
        if last > 0 {
            fat[last as usize - 1] = END_OF_CHAIN;
        }
    }
    fat.resize((before + tables) as usize, 0xFFFF_FFFD);
    fat.resize(tables as usize * (SECTOR / 4), FREE);
    let mut head = vec![0; SECTOR];
    let mut put = |at: usize, field: &[u8]| head[at..at + field.len()].copy_from_slice(field);
    put(0x00, &[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1]);
    put(0x18, &[0x3E, 0, 3, 0, 0xFE, 0xFF, 9, 0, 6, 0]);
    put(0x2C, &tables.to_le_bytes());
    put(0x30, &data.to_le_bytes());
    put(0x38, &4096u32.to_le_bytes());
    put(0x3C, &END_OF_CHAIN.to_le_bytes());
    put(0x44, &END_OF_CHAIN.to_le_bytes());
    for i in 0..109 {
        let id = if i < tables { before + i } else { FREE };
        put(0x4C + 4 * i as usize, &id.to_le_bytes());
    }
    let mut bytes = head;
    bytes.resize(SECTOR * (1 + data as usize), 0x41);
    bytes.extend(directory.iter().flat_map(DirectoryEntry::bytes));
    bytes.extend(fat.into_iter().flat_map(u32::to_le_bytes));
    bytes
}

fn root(child: u32) -> DirectoryEntry {
    DirectoryEntry { name: "Root Entry".to_owned(), kind: ROOT, right: FREE, child, stream: (END_OF_CHAIN, 0) }
}

/// Storages in one another, with a stream in each.
pub fn nested_storages(depth: u32) -> Vec<u8> {
    let mut directory = vec![root(1)];
    for level in 0..depth {
        let first = 1 + 2 * level;
        let below = if level + 1 < depth { first + 2 } else { FREE };
        let stream =
            DirectoryEntry { name: "s".to_owned(), kind: STREAM, right: first + 1, child: FREE, stream: (END_OF_CHAIN, 0) };
        // The longest name there is.
        let name = format!("{}{:02}", "\u{8A9E}".repeat(29), level % 100);
        directory.push(stream);
        directory.push(DirectoryEntry { name, kind: STORAGE, right: FREE, child: below, stream: (0, 0) });
    }
    compound(directory, 0)
}

/// Streams side by side, each of which is only found behind all those before it, and all
/// with the same data.
pub fn many_streams(streams: u32, data: u32) -> Vec<u8> {
    let stream = |i: u32| DirectoryEntry {
        name: format!("{i:08}"),
        kind: STREAM,
        right: if i < streams { i + 1 } else { FREE },
        child: FREE,
        stream: (0, u64::from(data) * SECTOR as u64),
    };
    let mut directory = vec![root(1)];
    directory.extend((1..=streams).map(stream));
    compound(directory, data)
}

/// A compound file that names one sector with a table again and again.
pub fn repeated_tables(sectors: u32) -> Vec<u8> {
    let mut bytes = compound(vec![root(FREE)], 0);
    let first = (bytes.len() / SECTOR - 1) as u32;
    bytes[0x44..0x48].copy_from_slice(&first.to_le_bytes());
    bytes[0x4C..SECTOR].copy_from_slice(&1u32.to_le_bytes().repeat(109));
    for i in 1..=sectors {
        bytes.extend(1u32.to_le_bytes().repeat(SECTOR / 4 - 1));
        let next = if i < sectors { first + i } else { END_OF_CHAIN };
        bytes.extend(next.to_le_bytes());
    }
    bytes
}
