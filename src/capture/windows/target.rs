//! The program that the self-test records: it allocates a known number of blocks in a heap of its
//! own, in pages, and in a custom tracker, and frees some of them.
//!
//! A file of its own without anything else of this program, so that it can be compiled alone, for
//! 32 bits too: `rustc --edition 2024 -O --cfg alone --target i686-pc-windows-msvc target.rs`.
//!
//! ```text
//! it ─▶ "ready"   ◀─ "go"   it ─▶ "done"   ◀─ end of input
//! ```
//! Without `--wait` it does it at once.
//!
//! Facts: the provider's events as `events::encode` has them (`memory-events`), EventRegister and
//! EventWrite of evntprov.h, HeapCreate and VirtualAlloc of Microsoft's pages.
#![allow(unsafe_code, reason = "the system's own interface are C functions; each call says why it is sound")]

use std::ffi::c_void;
use std::io::{BufRead, Write};
use std::ptr;

/// So many blocks of one size, of which so many are freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// Allocated.
    pub count: u64,
    /// Bytes of each.
    pub size: u64,
    /// Freed of them.
    pub freed: u64,
}

/// In a heap of its own.
pub const HEAP: Blocks = Blocks { count: 1000, size: 4321, freed: 400 };
/// Pages, each for itself: 17 times 64 KB.
pub const COMMIT: Blocks = Blocks { count: 64, size: 17 << 16, freed: 16 };
/// In a tracker that is called [`TRACKER_NAME`].
pub const TRACKER: Blocks = Blocks { count: 500, size: 777, freed: 200 };
/// Its name.
pub const TRACKER_NAME: &str = "highwater self-test";

/// Does it. Waits for a line before, and for the end of the input after it, if it is to.
pub fn run(waits: bool) {
    let mut line = String::new();
    let say = |what: &str| {
        // Nobody may listen any more.
        let _ = writeln!(std::io::stdout(), "{what}").and_then(|()| std::io::stdout().flush());
    };
    if waits {
        say("ready");
        let _ = std::io::stdin().lock().read_line(&mut line);
    }
    in_a_heap(HEAP);
    in_pages(COMMIT);
    in_a_tracker(TRACKER);
    if waits {
        say("done");
        while std::io::stdin().lock().read_line(&mut line).is_ok_and(|read| read > 0) {}
    }
}

/// Blocks of a heap that nobody else uses.
#[inline(never)]
fn in_a_heap(blocks: Blocks) {
    // SAFETY: a heap without limits; its blocks are freed at most once, and not used.
    unsafe {
        let heap = HeapCreate(0, 0, 0);
        if heap.is_null() {
            return;
        }
        let all: Vec<*mut c_void> = (0..blocks.count).map(|_| HeapAlloc(heap, 0, blocks.size as usize)).collect();
        for block in all.into_iter().take(blocks.freed as usize).filter(|block| !block.is_null()) {
            HeapFree(heap, 0, block);
        }
    }
}

/// Regions of pages.
#[inline(never)]
fn in_pages(blocks: Blocks) {
    const COMMIT_AND_RESERVE: u32 = 0x3000;
    const READ_WRITE: u32 = 4;
    const RELEASE: u32 = 0x8000;
    // SAFETY: the system chooses the addresses; each region is released at most once, and not used.
    unsafe {
        let one = |_| VirtualAlloc(ptr::null_mut(), blocks.size as usize, COMMIT_AND_RESERVE, READ_WRITE);
        let all: Vec<*mut c_void> = (0..blocks.count).map(one).collect();
        for region in all.into_iter().take(blocks.freed as usize).filter(|region| !region.is_null()) {
            VirtualFree(region, 0, RELEASE);
        }
    }
}

/// Blocks that are only told of, by events.
#[inline(never)]
fn in_a_tracker(blocks: Blocks) {
    static PROVIDER: Guid = Guid(0x988917C5, 0x5748, 0x42A8, [0xA1, 0x27, 0xA9, 0xA2, 0x28, 0x52, 0x65, 0xD5]);
    const HANDLE: u64 = 0x7E57;
    const NAME_UNITS: usize = 260;
    let mut provider = 0;
    // SAFETY: the identity and the place of the answer live until the call returns; there is no callback.
    if unsafe { EventRegister(&raw const PROVIDER, ptr::null(), ptr::null_mut(), &raw mut provider) } != 0 {
        return;
    }
    let mut open = HANDLE.to_le_bytes().to_vec();
    open.extend((NAME_UNITS as u32).to_le_bytes());
    let name = TRACKER_NAME.encode_utf16().chain(std::iter::repeat(0)).take(NAME_UNITS);
    open.extend(name.flat_map(u16::to_le_bytes));
    write(provider, 103, &open);
    let address = |i: u64| 0x10_0000 + i * 0x1000;
    for i in 0..blocks.count {
        write(provider, 100, &words([address(i), blocks.size, HANDLE]));
    }
    for i in 0..blocks.freed {
        write(provider, 101, &words([address(i), HANDLE]));
    }
    // SAFETY: it was registered above, and is not used after this.
    unsafe { EventUnregister(provider) };
}

fn words<const N: usize>(words: [u64; N]) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

fn write(provider: u64, id: u16, payload: &[u8]) {
    const KEYWORD: u64 = 1 << 63;
    let descriptor = EventDescriptor { id, version: 0, channel: 0, level: 4, opcode: (id - 90) as u8, task: 0, keyword: KEYWORD };
    let data = EventData { address: payload.as_ptr() as usize as u64, size: payload.len() as u32, reserved: 0 };
    // SAFETY: descriptor, data and the payload that it names live until the call returns.
    unsafe { EventWrite(provider, &raw const descriptor, 1, &raw const data) };
}

#[repr(C)]
struct Guid(u32, u16, u16, [u8; 8]);

#[repr(C)]
struct EventDescriptor {
    id: u16,
    version: u8,
    channel: u8,
    level: u8,
    opcode: u8,
    task: u16,
    keyword: u64,
}

#[repr(C)]
struct EventData {
    address: u64,
    size: u32,
    reserved: u32,
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn HeapCreate(options: u32, initial: usize, maximum: usize) -> *mut c_void;
    fn HeapAlloc(heap: *mut c_void, flags: u32, bytes: usize) -> *mut c_void;
    fn HeapFree(heap: *mut c_void, flags: u32, block: *mut c_void) -> i32;
    fn VirtualAlloc(address: *mut c_void, bytes: usize, kind: u32, protection: u32) -> *mut c_void;
    fn VirtualFree(address: *mut c_void, bytes: usize, kind: u32) -> i32;
}

#[link(name = "advapi32")]
unsafe extern "system" {
    fn EventRegister(provider: *const Guid, callback: *const c_void, context: *mut c_void, handle: *mut u64) -> u32;
    fn EventUnregister(handle: u64) -> u32;
    fn EventWrite(handle: u64, descriptor: *const EventDescriptor, count: u32, data: *const EventData) -> u32;
}

/// Compiled alone it is a program.
#[cfg(alone)]
fn main() {
    run(std::env::args().any(|word| word == "--wait"));
}
