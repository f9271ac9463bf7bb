//! The program that the self-test records. It allocates a known number of blocks in a heap of its own, in pages, and in
//! a custom tracker, and frees some of them. Then it writes marks and frames, writes the .NET runtime's event for a
//! compiled method, and keeps a CPU busy.
//!
//! The file uses nothing else of this program, so that it can be compiled alone, for 32 bits too:
//! `rustc --edition 2024 -O --cfg alone --target i686-pc-windows-msvc target.rs`.
//!
//! ```text
//! it ─▶ "ready"   ◀─ "go"   it ─▶ "done"   ◀─ end of input
//! ```
//! Without `--wait` it starts at once.
//!
//! Sources: the provider's events as in `events::encode` (`memory-events`), EventRegister and EventWrite of evntprov.h,
//! HeapCreate and VirtualAlloc from Microsoft's pages.
#![allow(unsafe_code, reason = "the system's own interface are C functions; each call says why it is sound")]

use std::ffi::c_void;
use std::io::{BufRead, Write};
use std::ptr;
use std::time::{Duration, Instant};

/// A number of blocks of one size, some of which are freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// Number of allocated blocks.
    pub count: u64,
    /// Size of each in bytes.
    pub size: u64,
    /// Number of freed blocks.
    pub freed: u64,
}

/// The blocks in a heap of its own.
pub const HEAP: Blocks = Blocks { count: 1000, size: 4321, freed: 400 };
/// The regions of pages, each allocated separately: 17 times 64 KB.
pub const COMMIT: Blocks = Blocks { count: 64, size: 17 << 16, freed: 16 };
/// The blocks in the tracker [`TRACKER_NAME`].
pub const TRACKER: Blocks = Blocks { count: 500, size: 777, freed: 200 };
/// The name of the tracker.
pub const TRACKER_NAME: &str = "highwater self-test";
/// Number of marks by UIforETW's Multi-Main, each with the text [`MARK_TEXT`].
pub const MARKS: u64 = 12;
/// The text of the marks.
pub const MARK_TEXT: &str = "highwater self-test mark";
/// Number of frames reported by UIforETW's Multi-FrameRate.
pub const FRAMES: u64 = 30;
/// Number of methods reported by the .NET runtime's provider.
pub const METHODS: u64 = 5;
/// The name of these methods, followed by a number.
pub const METHOD_NAME: &str = "SelfTest.Method";
/// The time for which a CPU is kept busy. Windows takes about a thousand samples a second; fewer than
/// [`FEWEST_SAMPLES`] means that sampling does not work.
pub const BUSY: Duration = Duration::from_millis(400);
/// See [`BUSY`].
pub const FEWEST_SAMPLES: u64 = 20;

// Numbers of Windows, of the .NET runtime and of Visual Studio's library; `capture::constants` compares them with the
// originals.
/// MEM_COMMIT | MEM_RESERVE.
pub const COMMIT_AND_RESERVE: u32 = 0x3000;
/// PAGE_READWRITE.
pub const READ_WRITE: u32 = 4;
/// MEM_RELEASE.
pub const RELEASE: u32 = 0x8000;

/// TRACE_LEVEL_INFORMATION.
pub const INFORMATION: u8 = 4;
/// .NET runtime: the JIT keyword.
pub const COMPILATION: u64 = 0x10;
/// .NET runtime, method flags: JIT-compiled.
pub const JITTED: u32 = 8;
/// Length of a tracker's name in its event, in UTF-16 units.
pub const NAME_UNITS: usize = 260;

/// Runs the program. If `waits`, it waits for a line of input first and for the end of the input afterwards.
pub fn run(waits: bool) {
    let mut line = String::new();
    let say = |what: &str| {
        // The reader may be gone.
        let _ = writeln!(std::io::stdout(), "{what}").and_then(|()| std::io::stdout().flush());
    };
    if waits {
        say("ready");
        let _ = std::io::stdin().lock().read_line(&mut line);
    }
    in_a_heap(HEAP);
    in_pages(COMMIT);
    in_a_tracker(TRACKER);
    mark();
    compile();
    be_busy();
    if waits {
        say("done");
        while std::io::stdin().lock().read_line(&mut line).is_ok_and(|read| read > 0) {}
    }
}

/// Allocates and frees blocks in a heap of its own.
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

/// Allocates and frees regions of pages.
#[inline(never)]
fn in_pages(blocks: Blocks) {
    // SAFETY: the system chooses the addresses; each region is released at most once, and not used.
    unsafe {
        let one = |_| VirtualAlloc(ptr::null_mut(), blocks.size as usize, COMMIT_AND_RESERVE, READ_WRITE);
        let all: Vec<*mut c_void> = (0..blocks.count).map(one).collect();
        for region in all.into_iter().take(blocks.freed as usize).filter(|region| !region.is_null()) {
            VirtualFree(region, 0, RELEASE);
        }
    }
}

/// Writes the events of tracker blocks, without allocating any.
#[inline(never)]
fn in_a_tracker(blocks: Blocks) {
    const HANDLE: u64 = 0x7E57;
    let Some(provider) = Provider::new(&CUSTOM_HEAP) else { return };
    let write = |id: u16, payload: &[u8]| provider.write(&EventDescriptor { id, opcode: (id - 90) as u8, ..LIBRARY }, payload);
    let mut open = HANDLE.to_le_bytes().to_vec();
    open.extend((NAME_UNITS as u32).to_le_bytes());
    let name = TRACKER_NAME.encode_utf16().chain(std::iter::repeat(0)).take(NAME_UNITS);
    open.extend(name.flat_map(u16::to_le_bytes));
    write(103, &open);
    let address = |i: u64| 0x10_0000 + i * 0x1000;
    for i in 0..blocks.count {
        write(100, &words([address(i), blocks.size, HANDLE]));
    }
    for i in 0..blocks.freed {
        write(101, &words([address(i), HANDLE]));
    }
}

/// Visual Studio's provider for custom heaps.
static CUSTOM_HEAP: Guid = Guid(0x988917C5, 0x5748, 0x42A8, [0xA1, 0x27, 0xA9, 0xA2, 0x28, 0x52, 0x65, 0xD5]);
/// The descriptor fields that its library gives every event, without id and opcode.
pub const LIBRARY: EventDescriptor =
    EventDescriptor { id: 0, version: 1, channel: 16, level: INFORMATION, opcode: 0, task: 0, keyword: 1 << 63 };

/// Writes marks and frames.
fn mark() {
    static MULTI_MAIN: Guid = Guid(0x231CF54B, 0x22A0, 0x49E4, [0xA5, 0x9A, 0x47, 0x05, 0x2A, 0x30, 0xFF, 0xED]);
    static MULTI_FRAME_RATE: Guid = Guid(0x2B25961D, 0xBA6E, 0x4D79, [0xBE, 0xC7, 0x36, 0x05, 0x36, 0x6E, 0x2E, 0x09]);
    let plain = |id| EventDescriptor { id, version: 0, channel: 0, level: INFORMATION, opcode: 0, task: 0, keyword: 0 };
    if let Some(provider) = Provider::new(&MULTI_MAIN) {
        let text: Vec<u8> = MARK_TEXT.bytes().chain([0]).collect();
        (0..MARKS).for_each(|_| provider.write(&plain(102), &text));
    }
    if let Some(provider) = Provider::new(&MULTI_FRAME_RATE) {
        (0..FRAMES).for_each(|number| provider.write(&plain(200), &(number as u32).to_le_bytes()));
    }
}

/// Writes the events of compiled methods.
fn compile() {
    static RUNTIME: Guid = Guid(0xE13C0D23, 0xCCBC, 0x4E12, [0x93, 0x1B, 0xD9, 0xCC, 0x2E, 0xEE, 0x27, 0xE4]);
    let Some(provider) = Provider::new(&RUNTIME) else { return };
    let text = |text: &str| text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    for number in 0..METHODS {
        let mut payload = words([number, 1, 0x5000_0000 + number * 0x100]);
        payload.extend([0x40_u32, 0x0600_0001, JITTED].into_iter().flat_map(u32::to_le_bytes));
        for part in ["", &format!("{METHOD_NAME}{number}"), "void  ()"] {
            payload.extend(text(part));
        }
        payload.extend([1, 0]);
        let loaded =
            EventDescriptor { id: 143, version: 1, channel: 0, level: INFORMATION, opcode: 37, task: 9, keyword: COMPILATION };
        provider.write(&loaded, &payload);
    }
}

/// Keeps a CPU busy.
#[inline(never)]
fn be_busy() {
    let began = Instant::now();
    let mut number = 1_u64;
    while began.elapsed() < BUSY {
        for _ in 0..10_000 {
            number = std::hint::black_box(number.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1));
        }
    }
}

fn words<const N: usize>(words: [u64; N]) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// A provider that is registered until this is dropped.
struct Provider(u64);

impl Provider {
    fn new(guid: &'static Guid) -> Option<Self> {
        let mut handle = 0;
        // SAFETY: the identity and the place of the answer live until the call returns; there is no callback.
        let code = unsafe { EventRegister(guid, ptr::null(), ptr::null_mut(), &raw mut handle) };
        (code == 0).then_some(Self(handle))
    }

    fn write(&self, descriptor: &EventDescriptor, payload: &[u8]) {
        let data = EventData { address: payload.as_ptr() as usize as u64, size: payload.len() as u32, reserved: 0 };
        // SAFETY: descriptor, data and the payload that it names live until the call returns.
        unsafe { EventWrite(self.0, descriptor, 1, &raw const data) };
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        // SAFETY: it was registered, and is not used after this.
        unsafe { EventUnregister(self.0) };
    }
}

#[repr(C)]
struct Guid(u32, u16, u16, [u8; 8]);

/// `EVENT_DESCRIPTOR`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct EventDescriptor {
    /// The event id.
    pub id: u16,
    /// Version of the payload.
    pub version: u8,
    /// The channel, for readers of event logs.
    pub channel: u8,
    /// The severity.
    pub level: u8,
    /// The operation within the task.
    pub opcode: u8,
    /// The component.
    pub task: u16,
    /// The categories, as bits.
    pub keyword: u64,
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

/// The entry point when the file is compiled alone.
#[cfg(alone)]
fn main() {
    run(std::env::args().any(|word| word == "--wait"));
}
