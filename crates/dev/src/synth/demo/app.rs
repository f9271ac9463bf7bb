//! `MemoryTestApp.exe`: start-up, loop, shutdown.

use super::script::{Script, Thread};
use super::*;
use crate::events::{Event, PageRange, mem};
use crate::synth::cast::{self, Process, START_TICKS};
use crate::synth::images;
use crate::units::{Layer, Pid, Tid};

pub(super) const MAIN_THREAD: Thread = Thread(APP_PID, APP_THREADS[0]);
pub(super) const PHYSICS_THREAD: Thread = Thread(APP_PID, APP_THREADS[1]);
const SHELL_THREAD: Thread = Thread(3988, 3996);
const PAGE: u64 = 0x1000;

// Paths of callers, outermost first.
pub(super) const LOADER: [&str; 4] =
    ["ntdll!LdrInitializeThunk", "ntdll!LdrpInitialize", "ntdll!_LdrpInitialize", "ntdll!LdrpInitializeProcess"];
const RUNTIME: [&str; 4] =
    ["ntdll!RtlUserThreadStart", "kernel32!BaseThreadInitThunk", "app!__scrt_common_main_seh", "app!pre_c_initialization"];
pub(super) const MAIN: [&str; 4] =
    ["ntdll!RtlUserThreadStart", "kernel32!BaseThreadInitThunk", "app!__scrt_common_main_seh", "app!Main"];
pub(super) const PHYSICS: [&str; 5] = [
    "ntdll!RtlUserThreadStart",
    "kernel32!BaseThreadInitThunk",
    "ucrt!thread_start<unsigned int (__cdecl*)(void *),1>",
    "app!PhysicsThread",
    "app!PhysicsWorld::Step",
];
const SHELL: [&str; 9] = [
    "ntdll!RtlUserThreadStart",
    "kernel32!BaseThreadInitThunk",
    "cmd!__mainCRTStartup",
    "cmd!main",
    "cmd!Dispatch",
    "cmd!FindFixAndRun",
    "cmd!ECWork",
    "cmd!ExecPgm",
    "kernel32!CreateProcessWStub",
];
pub(super) const VIRTUAL_ALLOC: [&str; 2] = ["kernelbase!VirtualAlloc", "ntdll!NtAllocateVirtualMemory"];
pub(super) const HEAP_ALLOC: [&str; 2] = ["ntdll!RtlAllocateHeap", "ntdll!RtlpAllocateHeapInternal"];
pub(super) const NEW: [&str; 4] =
    ["app!operator new", "ucrt!_malloc_base", "ntdll!RtlAllocateHeap", "ntdll!RtlpAllocateHeapInternal"];
const GROW_HEAP: [&str; 6] = [
    "ntdll!RtlAllocateHeap",
    "ntdll!RtlpAllocateHeapInternal",
    "ntdll!RtlpAllocateHeap",
    "ntdll!RtlpExtendHeap",
    "ntdll!RtlpFindAndCommitPages",
    "ntdll!NtAllocateVirtualMemory",
];
const CREATE_PROCESS: [&str; 3] = ["kernelbase!CreateProcessW", "kernelbase!CreateProcessInternalW", "ntdll!NtCreateUserProcess"];
const CREATE_THREAD: [&str; 5] = [
    "ucrt!_beginthreadex",
    "kernel32!CreateThreadStub",
    "kernelbase!CreateRemoteThreadEx",
    "ntdll!RtlCreateUserStack",
    "ntdll!NtAllocateVirtualMemory",
];

const ARENA: u64 = 0x01A4_8000_0000;
const ARENA_SIZE: u64 = 2 << 20;

/// The code that commits: the thread, its path up to the program's function, and the rest of the path.
type By = (Thread, &'static [&'static str], &'static [&'static str]);

/// The other commits: time, address, pages, and code.
#[rustfmt::skip]
const COMMITS: [(i64, u64, u64, By); 23] = [
    (ms(1_006), LEAKING_HEAP, 2, (MAIN_THREAD, &LOADER, &["ntdll!RtlCreateHeap", "ntdll!NtAllocateVirtualMemory"])),
    (ms(1_007), 0x0020_0000_0000, 24, (MAIN_THREAD, &LOADER, &["ntdll!NtAllocateVirtualMemory"])),
    (ms(1_013), LEAKING_HEAP + 2 * PAGE, 8, (MAIN_THREAD, &LOADER, &GROW_HEAP)),
    (ms(1_017), 0x0020_0010_0000, 64, (MAIN_THREAD, &RUNTIME, &["ucrt!_initialize_narrow_environment", "kernelbase!VirtualAlloc", "ntdll!NtAllocateVirtualMemory"])),
    (ms(1_025), 0x0020_0100_0000, 256, (MAIN_THREAD, &MAIN, &["app!LoadConfiguration", "kernelbase!VirtualAlloc", "ntdll!NtAllocateVirtualMemory"])),
    (ms(1_040), LEAKING_HEAP + 10 * PAGE, 14, (MAIN_THREAD, &SETTINGS_NEW, &GROW_HEAP)),
    (ms(1_060), 0x0020_0200_0000, 340, (MAIN_THREAD, &MAIN, &["app!LoadConfiguration", "app!ParseSettings", "kernelbase!VirtualAlloc", "ntdll!NtAllocateVirtualMemory"])),
    (ms(1_110), MESSAGE_HEAP, 4, (MAIN_THREAD, &MAIN, &["app!MessageQueue::Initialize", "kernelbase!HeapCreate", "ntdll!RtlCreateHeap", "ntdll!NtAllocateVirtualMemory"])),
    (ms(1_125), 0x0020_0300_0000, 256, (MAIN_THREAD, &MAIN, &["app!MessageQueue::Initialize", "kernelbase!VirtualAlloc", "ntdll!NtAllocateVirtualMemory"])),
    (ms(1_160), ARENA, 128, (MAIN_THREAD, &MAIN, &["app!PhysicsWorld::Create", "app!PhysicsHeap::Grow", "kernelbase!VirtualAlloc", "ntdll!NtAllocateVirtualMemory"])),
    (ms(1_180), 0x0020_0400_0000, 16, (MAIN_THREAD, &START_PHYSICS, &CREATE_THREAD)),
    (ms(2_100), ARENA + 128 * PAGE, 128, (PHYSICS_THREAD, &PHYSICS, &GROW_ARENA)),
    (ms(3_400), ARENA + 256 * PAGE, 128, (PHYSICS_THREAD, &PHYSICS, &GROW_ARENA)),
    (ms(5_200), ARENA + 384 * PAGE, 128, (PHYSICS_THREAD, &PHYSICS, &GROW_ARENA)),
    (ms(8_010), LEAKING_HEAP + 24 * PAGE, 4, (MAIN_THREAD, &INNER_NEW, &GROW_HEAP)),
    (ms(9_040), MESSAGE_HEAP + 4 * PAGE, 12, (MAIN_THREAD, &POST, &GROW_HEAP)),
    (ms(14_020), LEAKING_HEAP + 28 * PAGE, 4, (MAIN_THREAD, &INNER_NEW, &GROW_HEAP)),
    (ms(21_650), LEAKING_HEAP + 32 * PAGE, 4, (MAIN_THREAD, &INNER_NEW, &GROW_HEAP)),
    (ms(28_430), LEAKING_HEAP + 36 * PAGE, 4, (MAIN_THREAD, &INNER_NEW, &GROW_HEAP)),
    (ms(32_900), LEAKING_HEAP + 40 * PAGE, 4, (MAIN_THREAD, &INNER_NEW, &GROW_HEAP)),
    // Commits of the shell for its child, just before the child is announced.
    (ms(1_000) - 4_000, 0x7FFE_3000, 3, (SHELL_THREAD, &SHELL, &CREATE_PROCESS)),
    (ms(1_000) - 2_500, 0x0014_0000_0000, 4, (SHELL_THREAD, &SHELL, &CREATE_PROCESS)),
    (ms(1_000) - 1_100, 0x0014_0010_0000, 1, (SHELL_THREAD, &SHELL, &CREATE_PROCESS)),
];
pub(super) const SETTINGS: [&str; 7] =
    [MAIN[0], MAIN[1], MAIN[2], MAIN[3], "app!LoadConfiguration", "app!ParseSettings", "app!Array<Setting>::Grow"];
const SETTINGS_NEW: [&str; 9] =
    [SETTINGS[0], SETTINGS[1], SETTINGS[2], SETTINGS[3], SETTINGS[4], SETTINGS[5], SETTINGS[6], NEW[0], NEW[1]];
const START_PHYSICS: [&str; 5] = [MAIN[0], MAIN[1], MAIN[2], MAIN[3], "app!PhysicsWorld::Create"];
const INNER_NEW: [&str; 7] =
    [MAIN[0], MAIN[1], MAIN[2], MAIN[3], "app!InnerLoopOperation", "app!operator new", "ucrt!_malloc_base"];
const POST: [&str; 5] = [MAIN[0], MAIN[1], MAIN[2], MAIN[3], "app!MessageQueue::Post"];
const GROW_ARENA: [&str; 4] =
    ["app!PhysicsHeap::Allocate", "app!PhysicsHeap::Grow", "kernelbase!VirtualAlloc", "ntdll!NtAllocateVirtualMemory"];

/// Adds everything the program does.
pub(super) fn play(script: &mut Script) {
    let process = process();
    script.extend(process.start(START_TICKS + APP_START, 0, Tid(SHELL_THREAD.1), 8_000));
    commits(script);
    buffers(script);
    default_heap(script);
    message_heap(script);
    tracker(script);
    let step = 9_000;
    script.extend(process.end(START_TICKS + APP_END - step * process.modules.len() as i64, 0, step));
}

pub(super) fn process() -> Process {
    let mut modules = vec![cast::module(&images::APP)];
    modules.extend(cast::libraries());
    Process {
        pid: APP_PID,
        parent: SHELL_THREAD.0,
        name: images::APP.file.to_owned(),
        command_line: r"C:\Test\MemoryTestApp.exe".to_owned(),
        sid: crate::events::encode::system::SID_USER,
        threads: APP_THREADS.map(Tid).to_vec(),
        modules,
    }
}

pub(super) fn pages(base: u64, size: u64, flags: u32) -> PageRange {
    PageRange { base, size, owner: Pid(APP_PID), flags }
}

fn path(outer: &[&'static str], inner: &[&'static str]) -> Vec<&'static str> {
    [outer, inner].concat()
}

/// Adds the commits besides the buffers. Heaps and the arena reserve their range first.
fn commits(script: &mut Script) {
    let reservations =
        [(ms(1_005), LEAKING_HEAP, 1 << 20, 0), (ms(1_108), MESSAGE_HEAP, 1 << 18, 7), (ms(1_155), ARENA, ARENA_SIZE, 9)];
    for (at, base, size, by) in reservations {
        let (thread, outer, inner) = COMMITS[by].3;
        let owner = script.event(thread, at, Event::VirtualAlloc(pages(base, size, mem::RESERVE)));
        script.stack_from_kernel(thread, owner, &path(outer, inner));
    }
    for (at, base, count, (thread, outer, inner)) in COMMITS {
        let is_reserved = [LEAKING_HEAP, MESSAGE_HEAP, ARENA].iter().any(|start| (*start..*start + (2 << 20)).contains(&base));
        let flags = if is_reserved { mem::COMMIT } else { mem::COMMIT | mem::RESERVE };
        let owner = script.event(thread, at, Event::VirtualAlloc(pages(base, count * PAGE, flags)));
        let user = path(outer, inner);
        if thread.0 == APP_PID {
            script.stack_from_kernel(thread, owner, &user);
        } else {
            let inner: &[&str] = if base == 0x7FFE_3000 {
                &["nt!PspAllocateProcess", "nt!MmCreatePeb", "nt!MiCreatePebOrTeb"]
            } else {
                &["nt!PspAllocateProcess", "nt!PspSetupUserStack", "nt!MiAllocateVirtualMemory"]
            };
            let kernel = [&["nt!KiSystemServiceCopyEnd", "nt!NtCreateUserProcess"], inner].concat();
            script.stack_with_kernel(thread, owner, &kernel, &user);
        }
    }
    let arena = Event::VirtualFree(pages(ARENA, ARENA_SIZE, mem::RELEASE));
    script.event(MAIN_THREAD, TRACKER_CLOSE + ms(30), arena);
}

/// Adds the buffer of the start, the step and the spikes.
fn buffers(script: &mut Script) {
    const PLACE: u64 = 0x01A4_9000_0000;
    let buffer = |script: &mut Script, at: i64, base: u64, callers: &[&'static str]| {
        let range = pages(base, BUFFER, mem::COMMIT | mem::RESERVE);
        let owner = script.event(MAIN_THREAD, at, Event::VirtualAlloc(range));
        script.stack_from_kernel(MAIN_THREAD, owner, &[&MAIN, callers, &VIRTUAL_ALLOC].concat());
    };
    let release = |base| Event::VirtualFree(pages(base, BUFFER, mem::RELEASE));
    buffer(script, BUFFER_TIME, PLACE, &["app!AllocateWorkingBuffers"]);
    script.event(MAIN_THREAD, LOOP_END + ms(50), release(PLACE));
    // This buffer lives until the process ends.
    buffer(script, STEP, PLACE + 0x100_0000, &[]);
    for at in SPIKES {
        // The range is free again each time, so the address is always the same.
        buffer(script, at, PLACE + 0x200_0000, &["app!Operation1", "app!ManipulateTemporaryBuffer"]);
        script.event(MAIN_THREAD, at + SPIKE_TICKS, release(PLACE + 0x200_0000));
    }
}

/// A series of blocks: their number, the time of the first, the ticks between two, and the path in two parts.
type Blocks = (u64, i64, i64, &'static [&'static str], &'static [&'static str]);

/// Blocks that are allocated at the start.
#[rustfmt::skip]
const START_BLOCKS: [Blocks; 7] = [
    (10, ms(1_008), 4_500, &LOADER, &HEAP_ALLOC),
    (4, ms(1_015), 4_500, &RUNTIME, &["ucrt!_register_onexit_function", "ucrt!_calloc_base", HEAP_ALLOC[0], HEAP_ALLOC[1]]),
    (4, ms(1_018), 4_500, &RUNTIME, &["ucrt!_configure_narrow_argv", "ucrt!_malloc_base", HEAP_ALLOC[0], HEAP_ALLOC[1]]),
    (4, ms(1_020), 4_500, &RUNTIME, &["ucrt!_initialize_narrow_environment", "ucrt!_calloc_base", HEAP_ALLOC[0], HEAP_ALLOC[1]]),
    (60, ms(1_028), 9_700, &SETTINGS, &NEW),
    (20, ms(1_112), 6_100, &MAIN, &["app!MessageQueue::Initialize", NEW[0], NEW[1], NEW[2], NEW[3]]),
    (10, ms(1_156), 8_300, &START_PHYSICS, &NEW),
];

/// Adds the heap that leaks: first blocks of odd sizes, then always the same size.
fn default_heap(script: &mut Script) {
    let (layer, heap) = (Layer::Heap, LEAKING_HEAP);
    let owner = script.event(MAIN_THREAD, ms(1_006) + 3_000, Event::HeapOpen { layer, heap, name: None });
    script.stack(MAIN_THREAD, owner, &path(&LOADER, &["ntdll!RtlCreateHeap"]));
    let mut address = heap + 0x740;
    let mut alloc = |script: &mut Script, at: i64, size: u64, callers: &[&str]| {
        let owner = script.event(MAIN_THREAD, at, Event::Alloc { layer, heap, address, size });
        script.stack(MAIN_THREAD, owner, callers);
        address += (size + 8).next_multiple_of(16);
    };
    let mut blocks = HEAP_BLOCKS - LEAKS;
    let mut bytes = HEAP_BYTES - LEAKS * LEAK_SIZE;
    for (count, from, step, outer, inner) in START_BLOCKS {
        for n in 0..count {
            // Around the mean of the rest, so that the last one fits.
            let mean = bytes / blocks;
            let size = if blocks == 1 { bytes } else { script.random.between(mean / 5, mean * 9 / 5) };
            let at = script.about(from + n as i64 * step, 900);
            alloc(script, at, size, &path(outer, inner));
            blocks -= 1;
            bytes -= size;
        }
    }
    for n in 0..LEAKS as i64 {
        let at = LOOP_START + (2 * n + 1) * 10_000_000 / (2 * LEAKS_A_SECOND);
        let at = script.about(at - 2_000, 4_000);
        alloc(script, at, LEAK_SIZE, &[&MAIN[..], &["app!InnerLoopOperation"], &NEW].concat());
    }
}

/// Adds messages that live for some hundred milliseconds.
fn message_heap(script: &mut Script) {
    let (layer, heap) = (Layer::Heap, MESSAGE_HEAP);
    let created = script.event(MAIN_THREAD, ms(1_110) + 4_000, Event::HeapOpen { layer, heap, name: None });
    let creator = ["app!MessageQueue::Initialize", "kernelbase!HeapCreate", "ntdll!RtlCreateHeap"];
    script.stack(MAIN_THREAD, created, &path(&MAIN, &creator));
    const SLOTS: u64 = 64;
    let mut n = 0;
    let mut at = LOOP_START + ms(30);
    while at < LOOP_END - ms(600) {
        // A slot is used again after about four seconds, when its message is long gone.
        let address = heap + 0x740 + n % SLOTS * 0x220;
        let size = script.random.between(96, 512);
        let owner = script.event(MAIN_THREAD, at, Event::Alloc { layer, heap, address, size });
        script.stack(MAIN_THREAD, owner, &path(&POST, &HEAP_ALLOC));
        let gone = script.about(at + ms(20), 4_000_000);
        script.event(MAIN_THREAD, gone, Event::Free { layer, heap, address });
        at = script.about(at + ms(50), 300_000);
        n += 1;
    }
    script.event(MAIN_THREAD, LOOP_END + ms(100), Event::HeapClose { layer, heap, name: None });
}

pub(super) const TRACKED_ALLOC: [&str; 3] =
    ["app!VSHeapTracker::CHeapTracker::AllocateEvent", "ntdll!EtwEventWriteTransfer", "ntdll!NtTraceEvent"];
const TRACKED_FREE: [&str; 3] =
    ["app!VSHeapTracker::CHeapTracker::DeallocateEvent", "ntdll!EtwEventWriteTransfer", "ntdll!NtTraceEvent"];
const TRACKED_REALLOC: [&str; 3] =
    ["app!VSHeapTracker::CHeapTracker::ReallocateEvent", "ntdll!EtwEventWriteTransfer", "ntdll!NtTraceEvent"];

/// Adds the custom heap: some blocks for good, then teeth of a sawtooth that grow to full height.
fn tracker(script: &mut Script) {
    let (layer, heap) = (Layer::Tracker, TRACKER_HANDLE);
    let name = || Some(TRACKER.into());
    let write = ["ntdll!EtwEventWriteTransfer", "ntdll!NtTraceEvent"];
    let opener = [&START_PHYSICS[..], &["app!VSHeapTracker::CHeapTracker::CHeapTracker"], &write].concat();
    script.event_with_stack(MAIN_THREAD, ms(1_158), Event::HeapOpen { layer, heap, name: name() }, &opener);
    let mut top = ARENA + 0x100;
    for n in 0..TRACKER_LEFT {
        let size = 4096 + n * 640;
        let creator = [&START_PHYSICS[..], &["app!PhysicsHeap::Allocate"], &TRACKED_ALLOC].concat();
        let event = Event::Alloc { layer, heap, address: top, size };
        script.event_with_stack(MAIN_THREAD, ms(1_165) + n as i64 * 6_000, event, &creator);
        top += size.next_multiple_of(64);
    }
    let mut from = LOOP_START + ms(50);
    let mut height = 30;
    while from + TOOTH_TICKS < LOOP_END {
        tooth(script, from, top, height);
        from += TOOTH_TICKS;
        height = (height + 25).min(100);
    }
    let closer = [&MAIN[..], &["app!PhysicsWorld::Destroy", "app!VSHeapTracker::CHeapTracker::~CHeapTracker"], &write].concat();
    script.event_with_stack(MAIN_THREAD, TRACKER_CLOSE, Event::HeapClose { layer, heap, name: name() }, &closer);
}

/// Adds one tooth: two blocks in each of 48 steps, one in twelve is resized, all are freed at the end. `height` is in
/// percent of about 1.5 MB.
fn tooth(script: &mut Script, from: i64, base: u64, height: u64) {
    let (layer, heap) = (Layer::Tracker, TRACKER_HANDLE);
    let mut top = base;
    let mut place = |size: u64| {
        let address = top;
        top += size.next_multiple_of(64);
        address
    };
    let mut live = Vec::new();
    for n in 0..48 {
        for (part, caller) in [(0, "app!BroadPhase::UpdatePairs"), (1, "app!ContactSolver::AddContacts")] {
            let at = script.about(from + n * ms(40) + part * ms(11), 30_000);
            let size = script.random.between(8 << 10, 24 << 10) * height / 100;
            let address = place(size);
            let callers = [&PHYSICS[..], &[caller, "app!PhysicsHeap::Allocate"], &TRACKED_ALLOC].concat();
            script.event_with_stack(PHYSICS_THREAD, at, Event::Alloc { layer, heap, address, size }, &callers);
            if (2 * n + part) % 12 == 7 {
                // Every second one can stay at its address.
                let stays = n % 2 == 0;
                let size = if stays { size - size / 4 } else { size + size / 2 };
                let new = if stays { address } else { place(size) };
                let callers = [&PHYSICS[..], &[caller, "app!PhysicsHeap::Reallocate"], &TRACKED_REALLOC].concat();
                let event = Event::Realloc { layer, heap, old: address, new, size };
                script.event_with_stack(PHYSICS_THREAD, at + 25_000, event, &callers);
                live.push(new);
            } else {
                live.push(address);
            }
        }
    }
    let reset = [&PHYSICS[..], &["app!ContactSolver::Reset", "app!PhysicsHeap::Free"], &TRACKED_FREE].concat();
    for (address, n) in live.into_iter().rev().zip(0..) {
        script.event_with_stack(PHYSICS_THREAD, from + ms(1_940) + n * 210, Event::Free { layer, heap, address }, &reset);
    }
}

/// Bytes of the commits besides the buffers.
#[cfg(test)]
pub(super) fn other_commits() -> u64 {
    COMMITS.iter().map(|(_, _, count, _)| count * PAGE).sum()
}
