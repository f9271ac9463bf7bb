//! `ThumbnailServer.exe`: a cache that is emptied, of which small blocks stay.
//!
//! It starts in the trace and still runs at its end. One thread reads [`FOLDERS`] folders: for each it allocates an entry of the
//! index and three thumbnails, which fill a page. Later another thread frees all thumbnails, the oldest first. So an entry of
//! [`ENTRY`] bytes stays on each page: hardly anything is alive, and all pages stay committed.
//!
//! It is a .NET program: its functions are methods that the runtime compiled, and the trace itself has their names.

use super::app::{HEAP_ALLOC, LOADER};
use super::script::{Script, Thread};
use super::*;
use crate::events::{ActivityEvent, Event, ManagedEvent, ManagedMethod, MethodChange, PageRange, hook, mem};
use crate::synth::cast::{self, Process, START_TICKS};
use crate::synth::images;
use crate::units::{Layer, Pid, Tid};

const READER: Thread = Thread(THUMBNAILS_PID, THUMBNAILS_THREADS[0]);
const TRIMMER: Thread = Thread(THUMBNAILS_PID, THUMBNAILS_THREADS[1]);
const HEAP: u64 = THUMBNAILS_HEAP;
const PAGE: u64 = 0x1000;
/// Pages that the heap commits at a time.
const COMMITTED_PAGES: u64 = 16;
/// Thumbnails of a folder, and the distance of their blocks.
const THUMBNAILS: u64 = 3;
const THUMBNAIL_ROOM: u64 = 0x520;
/// Id of the runtime's module.
const MODULE: u64 = 0x7FFC_1A2F_4418;

/// Thread of the service that starts programs.
const PARENT: (u32, Tid) = (940, Tid(948));

macro_rules! path {
    ($($function:literal),+; $($inner:expr),*) => {
        &["ntdll!RtlUserThreadStart", "kernel32!BaseThreadInitThunk", "clr!ThreadNative::KickOffThread", "thumb!Server.Run",
          $($function,)+ $($inner),*]
    };
}

const ADD_ENTRY: (u64, &[&str]) =
    (KEYS, path!("thumb!Server.ReadFolder", "thumb!FolderIndex.Add"; "ucrt!_malloc_base", HEAP_ALLOC[0], HEAP_ALLOC[1]));
const ADD_THUMBNAIL: (u64, &[&str]) = (
    KEYS + 0x60,
    path!("thumb!Server.ReadFolder", "thumb!ThumbnailCache.Add"; "ucrt!_malloc_base", HEAP_ALLOC[0], HEAP_ALLOC[1]),
);
const GROW: &[&str] = path!(
    "thumb!Server.ReadFolder", "thumb!FolderIndex.Add";
    "ucrt!_malloc_base", "ntdll!RtlAllocateHeap", "ntdll!RtlpAllocateHeapInternal", "ntdll!RtlpAllocateHeap", "ntdll!RtlpExtendHeap",
    "ntdll!RtlpFindAndCommitPages", "ntdll!NtAllocateVirtualMemory"
);
const KEYS: u64 = 0xFFFF_9A80_4C31_0000;

fn process() -> Process {
    let image = cast::module(&images::THUMBNAILS_EXE);
    let mut modules = vec![image];
    modules.extend(cast::libraries());
    modules.push(cast::module(&images::CORECLR));
    Process {
        pid: THUMBNAILS_PID,
        parent: PARENT.0,
        name: images::THUMBNAILS_EXE.file.to_owned(),
        command_line: r#""C:\Program Files\Thumbnails\ThumbnailServer.exe" --pipe thumbnails"#.to_owned(),
        sid: crate::events::encode::system::SID_USER,
        threads: THUMBNAILS_THREADS.map(Tid).to_vec(),
        modules,
    }
}

/// Adds everything the program does.
pub(super) fn play(script: &mut Script) {
    let process = process();
    script.extend(process.start(START_TICKS + THUMBNAILS_START, 1, PARENT.1, 8_000));
    methods(script);
    heap(script);
    fill(script);
    trim(script);
    for ((key, path), n) in [ADD_ENTRY, ADD_THUMBNAIL].into_iter().zip(1..) {
        script.define(TRACE_END + ms(50) + n * 40, hook::STACK_KEY_RUNDOWN, key, path);
    }
    // After the rundowns of the other processes.
    script.extend(process.rundown(START_TICKS + TRACE_END + 50_000, 0, true));
}

/// Adds the methods that the runtime compiles.
fn methods(script: &mut Script) {
    let managed = |event| Event::Activity(Box::new(ActivityEvent::Managed(event)));
    let image = &images::THUMBNAILS;
    let path = format!("C:\\Program Files\\Thumbnails\\{}", image.file);
    script.event(READER, THUMBNAILS_START + ms(150), managed(ManagedEvent::Module { id: MODULE, path: path.into() }));
    for (function, n) in image.functions.iter().zip(0..) {
        let method = ManagedMethod {
            module: MODULE,
            start: image.base + u64::from(function.rva),
            size: function.size,
            is_jitted: true,
            name: function.name.to_owned(),
            signature: String::new(),
        };
        let event = managed(ManagedEvent::Method(MethodChange::Load, Box::new(method)));
        script.event(READER, THUMBNAILS_START + ms(160) + n * 9_000, event);
    }
}

fn pages(first: u64, count: u64, flags: u32) -> Event {
    Event::VirtualAlloc(PageRange { base: HEAP + first * PAGE, size: count * PAGE, owner: Pid(THUMBNAILS_PID), flags })
}

/// Adds the heap, with its first pages.
fn heap(script: &mut Script) {
    const ALL: u64 = 512;
    let at = THUMBNAILS_START + ms(6);
    let path = [&LOADER[..], &["ntdll!RtlCreateHeap", "ntdll!NtAllocateVirtualMemory"]].concat();
    for (event, later) in [(pages(0, ALL, mem::RESERVE), 0), (pages(0, COMMITTED_PAGES, mem::COMMIT), 9_000)] {
        let owner = script.event(READER, at + later, event);
        script.stack_from_kernel(READER, owner, &path);
    }
    script.event(READER, at + ms(2), Event::HeapOpen { layer: Layer::Heap, heap: HEAP, name: None });
}

/// First address of the blocks of a folder: behind the page of the heap itself.
fn page_of(folder: u64) -> u64 {
    HEAP + (1 + folder) * PAGE
}

fn thumbnail(folder: u64, n: u64) -> u64 {
    page_of(folder) + 0x50 + n * THUMBNAIL_ROOM
}

fn alloc(script: &mut Script, at: i64, address: u64, size: u64, (key, _): (u64, &[&str])) {
    let owner = script.event(READER, at, Event::Alloc { layer: Layer::Heap, heap: HEAP, address, size });
    script.key(READER, owner, key);
}

/// Adds the folders, with the pages that the heap commits for them.
fn fill(script: &mut Script) {
    for folder in 0..FOLDERS {
        let at = script.about(FILL_START + folder as i64 * ms(24), 20_000);
        if (1 + folder).is_multiple_of(COMMITTED_PAGES) {
            let owner = script.event(READER, at - 4_000, pages(1 + folder, COMMITTED_PAGES, mem::COMMIT));
            script.stack_from_kernel(READER, owner, GROW);
        }
        alloc(script, at, page_of(folder) + 0x10, ENTRY, ADD_ENTRY);
        for n in 0..THUMBNAILS {
            let size = script.random.between(1_100, 1_290);
            alloc(script, at + (1 + n as i64) * ms(4), thumbnail(folder, n), size, ADD_THUMBNAIL);
        }
    }
}

/// Adds the frees of all thumbnails.
fn trim(script: &mut Script) {
    for folder in 0..FOLDERS {
        let at = script.about(TRIM_START + folder as i64 * ms(28), 20_000);
        for n in 0..THUMBNAILS {
            let free = Event::Free { layer: Layer::Heap, heap: HEAP, address: thumbnail(folder, n) };
            script.event(TRIMMER, at + n as i64 * 900, free);
        }
    }
}
