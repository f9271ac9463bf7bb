//! Captures that are dear to ask about: very deep stacks, very many heaps, and one that
//! grows. Records in the order of time with the frames of their stacks, to be applied or
//! to be written to a file.

use highwater::events::{Event, FrameRange, PageRange, Record, StackPart, mem};
use highwater::units::{Layer, Pid, Tid};

/// A record and the frames of its stack.
pub type Told = (Record, Vec<u64>);

/// The raw time at which these captures begin.
pub const START: i64 = 10_000;

fn told(time: i64, event: Event) -> Told {
    (Record { time: START + time, pid: Pid(4660), tid: Tid(7), event }, Vec::new())
}

fn block(time: i64, heap: u64, address: u64, size: Option<u64>) -> Told {
    told(
        time,
        match size {
            Some(size) => Event::Alloc { layer: Layer::Heap, heap, address, size },
            None => Event::Free { layer: Layer::Heap, heap, address },
        },
    )
}

/// Numbers by chance.
fn random(n: u64) -> u64 {
    let mut x = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// So many blocks, all from the same place below `depth` frames, and all freed.
pub fn chain(depth: u64, blocks: u64) -> impl Iterator<Item = Told> {
    const ALIVE: u64 = 100;
    let frames: Vec<u64> = (0..depth).rev().map(|frame| 0x7FF7_0000_1000 + 0x100 * frame).collect();
    (0..blocks + ALIVE).flat_map(move |n| {
        let at = 10 * n as i64;
        let begins = (n < blocks).then(|| {
            let stack = Event::Stack { owner: START + at, part: StackPart::User, frames: FrameRange::default() };
            let (stack, _) = told(at + 1, stack);
            [block(at, 0x10, 0x1000 + 0x40 * (n % (2 * ALIVE)), Some(1 + random(n) % 64)), (stack, frames.clone())]
        });
        let ends = n.checked_sub(ALIVE).map(|n| block(at + 2, 0x10, 0x1000 + 0x40 * (n % (2 * ALIVE)), None));
        begins.into_iter().flatten().chain(ends)
    })
}

/// So many blocks of eight heaps, of which `alive` live at a time, scattered over as much address space again.
pub fn scattered(blocks: u64, alive: u64) -> impl Iterator<Item = Told> {
    let place = move |n: u64| (0x10_0000 + 0x1000 * (n % 8), 0x10_0000_0000 + 0x40 * (random(n % (2 * alive)) % (4 * alive)));
    (0..blocks).flat_map(move |n| {
        let event = |at: u64, n: u64, size: Option<u64>| block(at as i64, place(n).0, place(n).1, size);
        let ends = n.checked_sub(alive).map(|before| event(10 * n + 5, before, None));
        [event(10 * n, n, Some(1 + random(n) % 64))].into_iter().chain(ends)
    })
}

/// So many blocks in `heaps` heaps, of which all are active all the time.
pub fn many_heaps(heaps: u64, blocks: u64) -> impl Iterator<Item = Told> {
    let alive = 2 * heaps;
    (0..blocks + alive).flat_map(move |n| {
        let place = |n: u64| (0x1_0000 + 0x100 * (random(n) % heaps), 0x10_0000_0000 + 0x40 * n);
        let event = |at: i64, n: u64, size: Option<u64>| {
            let (heap, address) = place(n);
            block(at, heap, address, size)
        };
        let begins = (n < blocks).then(|| event(10 * n as i64, n, Some(1 + random(n) % 1000)));
        let ends = n.checked_sub(alive).map(|n| event(10 * (n + alive) as i64 + 5, n, None));
        begins.into_iter().chain(ends)
    })
}

/// A program that goes on and on: blocks that live shortly, some that are allocated where
/// another one is, ranges of pages that are given back in parts.
pub fn endless() -> impl Iterator<Item = Told> {
    const ALIVE: u64 = 1000;
    (0u64..).flat_map(|n| {
        let at = 10 * n as i64;
        let address = |n: u64| 0x10_0000 + 0x40 * (n % (2 * ALIVE));
        let mut events = vec![block(at, 0x10 + n % 3, address(n), Some(1 + random(n) % 256))];
        // Those of every hundredth block are lost.
        if let Some(n) = n.checked_sub(ALIVE).filter(|n| n % 100 != 0) {
            events.push(block(at + 1, 0x10 + n % 3, address(n), None));
        }
        if n % 16 == 0 {
            let pages = |base, size, flags| PageRange { base: 0x100_0000 * (n + 1) + base, size, owner: Pid(4660), flags };
            events.push(told(at + 2, Event::VirtualAlloc(pages(0, 0x4000, mem::COMMIT | mem::RESERVE))));
            events.push(told(at + 3, Event::VirtualFree(pages(0x1000, 0x1000, mem::DECOMMIT))));
            events.push(told(at + 4, Event::VirtualFree(pages(0, 0x4000, mem::RELEASE))));
        }
        events
    })
}
