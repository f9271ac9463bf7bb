//! `TelemetryService.exe`: a cache that grows, reports that come and go.

use super::script::{Script, Thread};
use super::*;
use crate::events::{CommittedRegion, Event, PageRange, hook, mem};
use crate::synth::cast::{self, Process};
use crate::synth::images;
use crate::units::{Layer, Pid, Tid};

const COLLECTOR: Thread = Thread(SERVICE_PID, SERVICE_THREADS[0]);
const REPORTER: Thread = Thread(SERVICE_PID, SERVICE_THREADS[1]);
const LAYER: Layer = Layer::Heap;
const HEAP: u64 = SERVICE_HEAP;
/// First address of the blocks of reports, above those of the cache.
const REPORT_AREA: u64 = HEAP + 0x80_0000;

/// Time at which the history has been loaded for the last time, so that its key is free for another stack.
const KEY_CHANGES_HANDS: i64 = ms(18_000);

macro_rules! path {
    ($thread:literal, $($function:literal),+) => {
        &["ntdll!RtlUserThreadStart", "kernel32!BaseThreadInitThunk", "ucrt!thread_start<unsigned int (__cdecl*)(void *),1>",
          $thread, $($function),+]
    };
}

/// A stack and its key. The first two stacks share a key, one after the other.
struct Site {
    key: u64,
    path: &'static [&'static str],
}

const HISTORY_LOAD: Site = Site {
    key: KEYS,
    path: path!("svc!CollectorThread", "svc!History::Load", "svc!operator new", "ucrt!_malloc_base", "ntdll!RtlAllocateHeap"),
};
const HISTORY_ROTATE: Site = Site {
    key: KEYS,
    path: path!("svc!CollectorThread", "svc!History::Rotate", "svc!operator new", "ucrt!_malloc_base", "ntdll!RtlAllocateHeap"),
};
const CACHE_INSERT: Site = Site {
    key: KEYS + 0x60,
    path: path!(
        "svc!CollectorThread",
        "svc!SampleCache::Insert",
        "svc!operator new",
        "ucrt!_malloc_base",
        "ntdll!RtlAllocateHeap"
    ),
};
const ADD_SECTION: Site = Site {
    key: KEYS + 0xC0,
    path: path!(
        "svc!ReporterThread",
        "svc!ReportBuilder::Build",
        "svc!ReportBuilder::AddSection",
        "svc!operator new",
        "ucrt!_malloc_base",
        "ntdll!RtlAllocateHeap"
    ),
};
const SERIALIZE: Site = Site {
    key: KEYS + 0x120,
    path: path!(
        "svc!ReporterThread",
        "svc!ReportBuilder::Build",
        "svc!ReportBuilder::Serialize",
        "svc!std::string::reserve",
        "ucrt!_realloc_base",
        "ntdll!RtlAllocateHeap"
    ),
};
const SEND: Site = Site {
    key: KEYS + 0x180,
    path: path!("svc!ReporterThread", "svc!Uploader::Send", "svc!operator new", "ucrt!_malloc_base", "ntdll!RtlAllocateHeap"),
};
const KEYS: u64 = 0xFFFF_9A80_4C20_0000;
const SITES: [&Site; 5] = [&HISTORY_ROTATE, &CACHE_INSERT, &ADD_SECTION, &SERIALIZE, &SEND];

const COMPRESS: &[&str] = path!(
    "svc!ReporterThread",
    "svc!ReportBuilder::Build",
    "svc!Compressor::Compress",
    "kernelbase!VirtualAlloc",
    "ntdll!NtAllocateVirtualMemory"
);
const ARENA_COMMIT: &[&str] = path!(
    "svc!CollectorThread",
    "svc!SampleCache::Insert",
    "svc!Arena::Commit",
    "kernelbase!VirtualAlloc",
    "ntdll!NtAllocateVirtualMemory"
);

pub(super) fn process() -> Process {
    let mut modules = vec![cast::module(&images::SERVICE)];
    modules.extend(cast::libraries());
    Process {
        pid: SERVICE_PID,
        parent: 940,
        name: images::SERVICE.file.to_owned(),
        command_line: r#""C:\Program Files\Telemetry\TelemetryService.exe" --service"#.to_owned(),
        sid: crate::events::encode::system::SID_SYSTEM,
        threads: SERVICE_THREADS.map(Tid).to_vec(),
        modules,
    }
}

/// Adds everything the program does.
pub(super) fn play(script: &mut Script) {
    cache(script);
    history(script);
    for n in 0..REPORTS {
        report(script, ms(2_400) + n * REPORT_TICKS);
    }
    unknown_frees(script);
    pages(script);
    script.define(KEY_CHANGES_HANDS, hook::STACK_KEY_DELETE, HISTORY_LOAD.key, HISTORY_LOAD.path);
    for (site, n) in SITES.iter().zip(1..) {
        script.define(TRACE_END + ms(60) + n * 40, hook::STACK_KEY_RUNDOWN, site.key, site.path);
    }
}

fn alloc(script: &mut Script, thread: Thread, at: i64, address: u64, size: u64, site: &Site) {
    let owner = script.event(thread, at, Event::Alloc { layer: LAYER, heap: HEAP, address, size });
    script.key(thread, owner, site.key);
}

fn free(script: &mut Script, thread: Thread, at: i64, address: u64) {
    script.event(thread, at, Event::Free { layer: LAYER, heap: HEAP, address });
}

/// Adds samples that are cached for good, except for one in three.
fn cache(script: &mut Script) {
    let mut address = HEAP + 0x1000;
    let mut at = ms(350);
    let mut n = 0;
    while at < TRACE_END - ms(200) {
        let size = script.random.between(700, 3_400);
        alloc(script, COLLECTOR, at, address, size, &CACHE_INSERT);
        if n % 3 == 2 {
            let gone = script.about(at + ms(900), 6_000_000);
            if gone < TRACE_END - ms(100) {
                free(script, COLLECTOR, gone, address);
            }
        } else if n % 16 == 4 {
            // A sample that turned out to be smaller stays in place.
            let event = Event::Realloc { layer: LAYER, heap: HEAP, old: address, new: address, size: size / 2 };
            let owner = script.event(COLLECTOR, at + 70_000, event);
            script.key(COLLECTOR, owner, CACHE_INSERT.key);
        }
        address += 0x1000;
        at = script.about(at + ms(110), 700_000);
        n += 1;
    }
}

/// Adds the history, which is loaded in the first half and rotated in the second.
fn history(script: &mut Script) {
    let area = HEAP + 0x40_0000;
    for n in 0..12 {
        let address = area + n as u64 * 0x8000;
        alloc(script, COLLECTOR, ms(2_000) + n * ms(1_200), address, 8_192 + n as u64 * 512, &HISTORY_LOAD);
        let at = KEY_CHANGES_HANDS + ms(900) + n * ms(1_100);
        free(script, COLLECTOR, at, address);
        alloc(script, COLLECTOR, at + 3_000, address, 9_216 + n as u64 * 512, &HISTORY_ROTATE);
    }
}

/// Adds a report: sections for a quarter of a second, a string that moves as it grows, and a buffer to compress into.
/// Soon everything is freed.
fn report(script: &mut Script, from: i64) {
    let sections = 34 + script.random.below(14);
    let mut blocks = Vec::new();
    for n in 0..sections {
        let at = script.about(from + n as i64 * ms(6), 40_000);
        let address = REPORT_AREA + n * 0x4000;
        let size = script.random.between(2 << 10, 12 << 10);
        alloc(script, REPORTER, at, address, size, &ADD_SECTION);
        blocks.push(address);
    }
    let (end, text) = growing_string(script, from + ms(300));
    blocks.push(text);
    let packet = REPORT_AREA + 0x20_0000;
    alloc(script, REPORTER, end + ms(60), packet, 48 << 10, &SEND);
    blocks.push(packet);

    let range = PageRange { base: 0x01B0_4000_0000, size: 1 << 20, owner: Pid(SERVICE_PID), flags: mem::COMMIT | mem::RESERVE };
    let owner = script.event(REPORTER, end + ms(20), Event::VirtualAlloc(range));
    script.stack_from_kernel(REPORTER, owner, COMPRESS);
    script.event(REPORTER, end + ms(420), Event::VirtualFree(PageRange { flags: mem::RELEASE, ..range }));
    for (address, n) in blocks.into_iter().zip(0..) {
        let at = script.about(end + ms(430) + n * ms(3), 20_000);
        free(script, REPORTER, at, address);
    }
}

/// Adds a string that doubles five times, each time with a move: Alloc of the new block, Free of the old, and a
/// ReAlloc that sums them up. Returns the time of its end, and its address.
fn growing_string(script: &mut Script, from: i64) -> (i64, u64) {
    let place = |step: u64| REPORT_AREA + 0x10_0000 + step % 2 * 0x8_0000;
    let mut size = 4 << 10;
    alloc(script, REPORTER, from, place(0), size, &SERIALIZE);
    for step in 1..=5 {
        size *= 2;
        let (old, new) = (place(step - 1), place(step));
        let at = from + step as i64 * ms(14);
        alloc(script, REPORTER, at, new, size, &SERIALIZE);
        free(script, REPORTER, at + 120, old);
        let summary = script.event(REPORTER, at + 155, Event::Realloc { layer: LAYER, heap: HEAP, old, new, size });
        script.key(REPORTER, summary, SERIALIZE.key);
    }
    (from + 5 * ms(14), place(5))
}

/// Adds frees of blocks from before the trace, now and then.
fn unknown_frees(script: &mut Script) {
    for n in 0..UNMATCHED_FREES {
        let at = script.about(ms(1_500) + n as i64 * ms(1_400), 5_000_000);
        free(script, COLLECTOR, at, HEAP + 0x60_0000 + n * 0x200);
    }
}

/// Adds memory from before the trace, and an arena that grows, gives a part back and takes more than that again.
fn pages(script: &mut Script) {
    const MB: u64 = 1 << 20;
    const ARENA: u64 = 0x01B0_0000_0000;
    let range = |base, size, flags| PageRange { base, size, owner: Pid(SERVICE_PID), flags };
    let before = [(HEAP, 2 * MB), (0x01AF_0000_0000, MB), (0x01AF_1000_0000, 3 * MB), (0x01AF_2000_0000, MB / 2)];
    for (base, size) in before {
        let region = CommittedRegion { base, size, committed: size, owner: Pid(SERVICE_PID) };
        script.event(COLLECTOR, ms(60), Event::CommitRundown(region));
    }
    let grow = |script: &mut Script, at, base, size, flags| {
        let owner = script.event(COLLECTOR, at, Event::VirtualAlloc(range(base, size, flags)));
        script.stack_from_kernel(COLLECTOR, owner, ARENA_COMMIT);
    };
    grow(script, ms(400), ARENA, 16 * MB, mem::RESERVE);
    for n in 0..12 {
        grow(script, ms(700) + n as i64 * ms(1_500), ARENA + n * MB / 4, MB / 4, mem::COMMIT);
    }
    script.event(COLLECTOR, ms(20_300), Event::VirtualFree(range(ARENA + MB, MB, mem::DECOMMIT)));
    // Half of it is committed already: only the pages between are new.
    grow(script, ms(27_100), ARENA + MB / 2, 2 * MB, mem::COMMIT);
}
