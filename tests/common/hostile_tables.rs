//! Traces that choose the keys of tables and the lists of the replay: keys that all meet in one place of a table
//! whose hash is known, ranges over ranges, blocks and lives that are alike. The writer is the real one.
#![allow(dead_code, reason = "each test uses its own part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

use highwater::etl::{Guid, SessionHeader};
use highwater::events::{
    ActivityEvent, CounterEvent, Event, FrameRange, ImageChange, ImageFile, ImageId, ImageInfo, ManagedEvent, ManagedMethod,
    MethodChange, PageRange, ProcessChange, ProcessInfo, RangeChange, Record, StackPart, mem,
};
use highwater::units::{Layer, Pid, Tid};

use zip::CompressionMethod;

use super::packed;
use super::trace::{session, trace};

const PID: Pid = Pid(4660);

/// The multiplier of rustc-hash 2 on systems of 64 bits, a hash without a key, by which tables are not to be looked up.
const UNKEYED: u64 = 0xF135_7AEA_2E62_A9C5;

/// What takes it back.
const INVERSE: u64 = {
    let (mut inverse, mut i) = (UNKEYED, 0);
    while i < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(UNKEYED.wrapping_mul(inverse)));
        i += 1;
    }
    inverse
};

/// That hash of some words.
pub fn unkeyed_hash(words: &[u64]) -> u64 {
    words.iter().fold(0u64, |hash, word| hash.wrapping_add(*word).wrapping_mul(UNKEYED)).rotate_left(26)
}

/// Where the keys of a table come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// All of them meet in one place of a table by [`unkeyed_hash`], if they are the last word but so many.
    Colliding(u32),
    /// By chance.
    Random,
}

impl Keys {
    /// The n-th key.
    pub fn at(self, n: u64) -> u64 {
        match self {
            Self::Colliding(behind) => (0..=behind).fold(n, |key, _| key.wrapping_mul(INVERSE)),
            Self::Random => {
                let mixed = (n ^ n >> 30).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB)
            }
        }
    }

    /// So many of them.
    fn take(self, count: usize) -> impl Iterator<Item = (i64, u64)> {
        (0..count).map(move |n| (10 * n as i64, self.at(1 + n as u64)))
    }

    /// So many that are addresses of programs.
    fn of_programs(self, count: usize) -> impl Iterator<Item = (i64, u64)> {
        let keys = (1..).map(move |n| self.at(n)).filter(|key| *key < 0x8000_0000_0000_0000);
        keys.take(count).enumerate().map(|(n, key)| (10 * n as i64, key))
    }
}

fn record(time: i64, pid: Pid, event: Event) -> (Record, Vec<u64>) {
    (Record { time: 1_000 + time, pid, tid: Tid(2), event }, Vec::new())
}

fn written(records: impl Iterator<Item = (Record, Vec<u64>)>) -> Vec<u8> {
    trace(SessionHeader { buffer_size: 1 << 20, ..session(false) }, &records.collect::<Vec<_>>())
}

fn alloc(heap: u64, address: u64) -> Event {
    Event::Alloc { layer: Layer::Heap, heap, address, size: 64 }
}

/// A block in each of so many heaps, by their handles.
pub fn heaps(keys: Keys, count: usize) -> Vec<u8> {
    written(keys.take(count).map(|(at, heap)| record(at, PID, alloc(heap, 0x1000))))
}

/// Images, by their bases.
pub fn images(keys: Keys, count: usize) -> Vec<u8> {
    let image = |base| ImageInfo { base, size: 0x1000, checksum: 0, time_stamp: 7, path: r"\Device\V\a.dll".into() };
    written(keys.take(count).map(|(at, base)| record(at, PID, Event::Image(ImageChange::Load, Box::new(image(base))))))
}

/// Identities and stamps of images that never come, by their bases.
pub fn early_ids(keys: Keys, count: usize) -> Vec<u8> {
    let id = |base| ImageId { base, guid: Guid::from_bytes([7; 16]), age: 1, pdb: "a.pdb".to_owned() };
    let file = |base| ImageFile { base, time_stamp: 7, size: 0x1000, name: "a.dll".to_owned() };
    written(keys.take(count).flat_map(|(at, base)| {
        [Event::ImageId(Box::new(id(base))), Event::ImageFile(Box::new(file(base)))].map(|event| record(at, PID, event))
    }))
}

/// Blocks, each with a stack of its own of one frame, by addresses.
pub fn frames(keys: Keys, count: usize) -> Vec<u8> {
    written(keys.of_programs(count).flat_map(|(at, frame)| {
        let stack = Event::Stack { owner: 1_000 + at, part: StackPart::User, frames: FrameRange::default() };
        let (stack, _) = record(at + 1, PID, stack);
        [record(at, PID, alloc(0x10, 0x1000 + 64 * at as u64)), (stack, vec![frame])]
    }))
}

/// Blocks with keys of stacks that nothing defines.
pub fn stack_keys(keys: Keys, count: usize) -> Vec<u8> {
    written(keys.take(count).flat_map(|(at, key)| {
        let stack = Event::StackRef { owner: 1_000 + at, part: StackPart::User, key };
        [record(at, PID, alloc(0x10, 0x1000 + 64 * at as u64)), record(at, PID, stack)]
    }))
}

/// Managed methods, by their first bytes.
pub fn methods(keys: Keys, count: usize) -> Vec<u8> {
    written(keys.take(count).map(|(at, start)| {
        let (name, signature) = ("M".to_owned(), String::new());
        let method = ManagedMethod { module: 1, start, size: 16, is_jitted: true, name, signature };
        record(
            at,
            PID,
            Event::Activity(Box::new(ActivityEvent::Managed(ManagedEvent::Method(MethodChange::Load, Box::new(method))))),
        )
    }))
}

/// Sizes and ranges of heaps, by their handles.
pub fn counters(keys: Keys, count: usize) -> Vec<u8> {
    written(keys.take(count).flat_map(|(at, heap)| {
        let range = CounterEvent::HeapRange { heap, change: RangeChange::Reserve(0x1000, 0x1000) };
        let events = [CounterEvent::HeapSize { heap, committed: 4096 }, range];
        events.map(|event| record(at, PID, Event::Counter(Box::new(event))))
    }))
}

fn pages(page: u64, count: u64, flags: u32) -> PageRange {
    PageRange { base: 0x10_0000 + 0x1000 * page, size: 0x1000 * count, owner: PID, flags }
}

/// So many single pages, none beside another, and then as many commits over all of them.
pub fn commits_over(count: usize) -> Vec<u8> {
    let one = |n: u64| Event::VirtualAlloc(pages(2 * n, 1, mem::COMMIT));
    let all = |_| Event::VirtualAlloc(pages(0, 2 * count as u64, mem::COMMIT));
    let events = (0..count as u64).map(one).chain((0..count).map(all));
    written((0..).zip(events).map(|(at, event)| record(at, PID, event)))
}

/// The same with reservations, and decommits over all of them.
pub fn decommits_over(count: usize) -> Vec<u8> {
    let one = |n: u64| Event::VirtualAlloc(pages(2 * n, 1, mem::RESERVE));
    let all = |_| Event::VirtualFree(pages(0, 2 * count as u64, mem::DECOMMIT));
    let events = (0..count as u64).map(one).chain((0..count).map(all));
    written((0..).zip(events).map(|(at, event)| record(at, PID, event)))
}

/// A range of so many pages of which every second one goes, then what is left, again and again.
pub fn split_pages(count: usize) -> Vec<u8> {
    let all = count as u64;
    let events = (0..8).flat_map(|_| {
        let whole = [Event::VirtualAlloc(pages(0, all, mem::COMMIT))];
        let parts = (0..all / 2).map(|n| Event::VirtualFree(pages(2 * n + 1, 1, mem::DECOMMIT)));
        whole.into_iter().chain(parts).chain([Event::VirtualFree(pages(0, all, mem::DECOMMIT))])
    });
    written((0..).zip(events).map(|(at, event)| record(at, PID, event)))
}

/// So many processes, each with a block with the same stack.
pub fn one_function_in_processes(count: u32) -> Vec<u8> {
    written((1..=count).flat_map(|n| {
        let (at, pid) = (10 * i64::from(n), Pid(4 * n));
        let stack = Event::Stack { owner: 1_000 + at, part: StackPart::User, frames: FrameRange::default() };
        let (stack, _) = record(at + 1, pid, stack);
        [record(at, pid, alloc(0x10, 0x1000)), (stack, vec![0x60_0000, 0x50_0000, 0x40_0000])]
    }))
}

/// So many processes that allocate a block each at one tick, all alike, and a last event much later.
pub fn equal_blocks(count: u32) -> Vec<u8> {
    let blocks = (1..=count).map(|n| record(0, Pid(4 * n), alloc(0x10, 0x1000)));
    written(blocks.chain([record(1_000_000, PID, alloc(0x20, 0x2000))]))
}

fn process(change: ProcessChange, key: u64) -> Event {
    Event::Process(change, Box::new(ProcessInfo { key, parent: 1, name: "a.exe".into(), command_line: String::new() }))
}

/// So many lives of one process id, and then as many counters of heaps of it.
pub fn counters_of_many_lives(count: u64) -> Vec<u8> {
    let lives = (1..=count).flat_map(|n| [process(ProcessChange::Start, n), process(ProcessChange::End, n)]);
    let counters = (1..=count).map(|heap| Event::Counter(Box::new(CounterEvent::HeapSize { heap, committed: 4096 })));
    written((0..).zip(lives.chain(counters)).map(|(at, event)| record(10 * at, PID, event)))
}

/// So many lives of two process ids, and as many frees of blocks in heaps of which nothing is known.
pub fn frees_of_many_lives(count: u64) -> Vec<u8> {
    let lives = (1..=count).flat_map(|n| [process(ProcessChange::Start, n), process(ProcessChange::End, n)]);
    let frees = (1..=count).map(|heap| Event::Free { layer: Layer::Heap, heap, address: 0x1000 });
    written((0..).zip(lives.chain(frees)).map(|(at, event)| record(10 * at, PID, event)))
}

/// Threads that are there at one tick, so many, and then as many ticks with two each.
pub fn a_large_tick(count: u32) -> Vec<u8> {
    let event = |at: i64, tid: u32| {
        let (mut record, frames) = record(at, PID, alloc(0x10, 0x1000 + 64 * u64::from(tid)));
        record.tid = Tid(tid);
        (record, frames)
    };
    let large = (0..count).map(|n| event(0, 2 * n + 2));
    let small = (1..=count).flat_map(|n| [2, 4].map(|tid| event(i64::from(n), tid)));
    written(large.chain(small).chain([event(10_000_000, 2)]))
}

/// Buffers that expand to a megabyte each and are all alike, so that an archive makes next to nothing of them.
pub fn alike_buffers(count: i64) -> Vec<u8> {
    use super::hostile::{block, buffer, session};
    use highwater::etl::{BUFFER_HEADER, compression::xpress, flag};
    let events: Vec<[u8; 56]> = (0..18_000).map(|_| block(0, 2_000, 0x1000, false)).collect();
    let body = xpress::compress(events.as_flattened());
    let mut bytes = session(1, 1 << 20);
    for number in 0..count {
        bytes.extend(buffer(0, 1 + number, flag::COMPRESSED, BUFFER_HEADER + 56 * events.len(), &body));
    }
    bytes
}

/// A zip archive of these traces.
pub fn archive(traces: &[Vec<u8>]) -> Vec<u8> {
    let names: Vec<String> = (0..traces.len()).map(|n| format!("{n:03}.etl")).collect();
    let members: Vec<(&str, &[u8])> = names.iter().map(String::as_str).zip(traces.iter().map(Vec::as_slice)).collect();
    packed::zip(&members, &[CompressionMethod::Deflated])
}

/// A zip archive of so many members, all of which are the same bytes of it.
pub fn members_over_one_another(count: usize) -> Vec<u8> {
    /// Bytes of the end of the directory, and of an entry before its name.
    const END: usize = 22;
    const ENTRY: usize = 46;
    let trace = heaps(Keys::Random, 5_000);
    let mut bytes = packed::zip(&[("000.etl", &trace)], &[CompressionMethod::Stored]);
    let mut end = bytes.split_off(bytes.len() - END);
    let start = u32::from_le_bytes(end[16..20].try_into().unwrap()) as usize;
    let entry = bytes.split_off(start);
    for n in 0..count {
        let mut entry = entry.clone();
        entry[ENTRY..][..3].copy_from_slice(format!("{n:03}").as_bytes());
        bytes.extend(entry);
    }
    for at in [8, 10] {
        end[at..at + 2].copy_from_slice(&(count as u16).to_le_bytes());
    }
    end[12..16].copy_from_slice(&((entry.len() * count) as u32).to_le_bytes());
    bytes.extend(end);
    bytes
}
