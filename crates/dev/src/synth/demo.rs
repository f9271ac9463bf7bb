//! The demo trace: Microsoft's exercise "track user mode process allocations" with a custom heap and a second program
//! added. `assets/demo.etl` is this scenario, byte for byte. Everything that tests and tours refer to has
//! a name here.
//!
//! `MemoryTestApp.exe` starts one second into the trace and ends half a second
//! before the trace does. It commits 126 MB in all and leaves nothing behind:
//! [`BUFFER`] at its start, as much again in [`STEP`], [`SPIKES`] of a tenth of a
//! second, and 6 MB for its runtime, heaps and tables. Its default
//! heap [`LEAKING_HEAP`] sees [`HEAP_BLOCKS`] allocations and not one free: larger
//! ones at the start, then [`LEAK_SIZE`] bytes [`LEAKS_A_SECOND`] times a second.
//! A second heap [`MESSAGE_HEAP`] is busy and balanced, and the tracker
//! [`TRACKER`] draws a sawtooth.
//!
//! `TelemetryService.exe` runs before and after the trace: a cache that grows
//! slowly, reports that come and go, commit that is partly given back, frees of
//! blocks from before the trace. Its stacks are keys, one of them used twice.
//!
//! `ThumbnailServer.exe` starts later and still runs at the end: a cache fills and is emptied, and small blocks between
//! the large ones keep its pages in use.
//!
//! Activity of the program while memory changes (frames, marks, processor samples) is in `activity`.
//!
//! Times are ticks of 100 ns since the trace start, sizes bytes.

mod activity;
mod app;
pub mod nightly;
mod script;
mod service;
#[cfg(test)]
mod tests;
mod thumbnails;

use std::io::{Seek, Write};

use super::cast;
use super::timeline::write_all;
use crate::etl::write::{WriteError, Writer};
use crate::events::encode::RecordWriter;
use script::Script;

/// Id of `MemoryTestApp.exe`.
pub const APP_PID: u32 = 4660;
/// Ids of its threads: the first one, and the one of the physics.
pub(crate) const APP_THREADS: [u32; 2] = [4664, 4680];
/// Time at which it starts.
pub(crate) const APP_START: i64 = ms(1_000);
/// Time at which its loop begins, which leaks.
pub const LOOP_START: i64 = ms(1_250);
/// Time at which its loop ends.
pub const LOOP_END: i64 = ms(35_250);
/// Time at which its process ends.
pub(crate) const APP_END: i64 = ms(35_620);
/// Time at which the last rundown of the trace begins.
pub(crate) const TRACE_END: i64 = ms(36_000);

/// Size of the buffer that is there nearly all the time, of the step and of a spike.
pub const BUFFER: u64 = 10 << 20;
/// Time at which the first buffer is committed, by `AllocateWorkingBuffers`.
pub(crate) const BUFFER_TIME: i64 = ms(1_095);
/// Time at which `Main` commits as much again.
pub const STEP: i64 = 182_504_317;
/// Times at which `ManipulateTemporaryBuffer` commits its buffers.
pub const SPIKES: [i64; 10] = [
    29_500_612,
    63_501_941,
    97_500_388,
    131_502_206,
    165_500_873,
    199_501_154,
    233_500_530,
    267_502_719,
    301_501_067,
    335_500_295,
];
/// Duration of a spike.
pub const SPIKE_TICKS: i64 = 1_000_000;
/// Bytes that the program commits besides, in pieces.
#[cfg(test)]
const OTHER_COMMITS: u64 = 6 << 20;

/// Default heap of the program.
pub const LEAKING_HEAP: u64 = 0x1D_0000;
/// Number of allocations from that heap.
pub(crate) const HEAP_BLOCKS: u64 = 1_200;
/// Bytes of these allocations, all outstanding at the end.
pub(crate) const HEAP_BYTES: u64 = 130 << 10;
/// Bytes of a block that `InnerLoopOperation` leaks.
pub const LEAK_SIZE: u64 = 40;
/// Leaks per second.
pub const LEAKS_A_SECOND: i64 = 32;
/// Number of leaked blocks; the others are larger and come before [`LOOP_START`].
pub const LEAKS: u64 = 1_088;

/// Heap of the program's messages; destroyed, empty, before the program ends.
pub(crate) const MESSAGE_HEAP: u64 = 0x6A_0000;

/// Name of the program's tracker.
pub const TRACKER: &str = "PhysicsHeap";
/// Handle of the tracker.
pub(crate) const TRACKER_HANDLE: u64 = 0x01A4_7FF0_4A20;
/// Duration of one tooth of the tracker's sawtooth.
pub(crate) const TOOTH_TICKS: i64 = ms(2_000);
/// Time at which the tracker is closed, with [`TRACKER_LEFT`] blocks alive.
pub(crate) const TRACKER_CLOSE: i64 = ms(35_330);
/// Number of blocks that live as long as the tracker.
pub(crate) const TRACKER_LEFT: u64 = 10;

/// Id of `TelemetryService.exe`.
pub(crate) const SERVICE_PID: u32 = 5120;
/// Ids of its threads: collector and reporter.
pub(crate) const SERVICE_THREADS: [u32; 2] = [5136, 5144];
/// Its heap; no event reports that it is created.
pub(crate) const SERVICE_HEAP: u64 = 0x2A4_0000;
/// Number of reports that it builds, one every [`REPORT_TICKS`].
pub const REPORTS: i64 = 9;
/// Time from one report to the next.
pub(crate) const REPORT_TICKS: i64 = ms(4_000);
/// Number of its frees of blocks that were allocated before the trace.
pub(crate) const UNMATCHED_FREES: u64 = 24;

/// Id of `ThumbnailServer.exe`.
pub(crate) const THUMBNAILS_PID: u32 = 5632;
/// Ids of its threads: the one that reads folders, and the one that trims the cache.
pub(crate) const THUMBNAILS_THREADS: [u32; 2] = [5640, 5648];
/// Time at which it starts.
pub(crate) const THUMBNAILS_START: i64 = ms(2_500);
/// Its heap.
pub(crate) const THUMBNAILS_HEAP: u64 = 0x3C0_0000;
/// Number of folders of which it has thumbnails, each on a page of its own.
pub(crate) const FOLDERS: u64 = 400;
/// Bytes of a folder's entry in the index, which stays.
pub(crate) const ENTRY: u64 = 48;
/// Time at which the cache begins to fill.
pub(crate) const FILL_START: i64 = ms(3_500);
/// Time at which the thumbnails begin to be freed.
pub(crate) const TRIM_START: i64 = ms(15_000);

/// Frames per second that the program shows.
pub(crate) const FRAMES_A_SECOND: i64 = 32;
/// Time of the first frame, to two milliseconds.
pub(crate) const FIRST_FRAME: i64 = ms(1_375);
/// Number of frames.
pub const FRAMES: i64 = 1_080;
/// Number of the frame that takes as long as two.
pub(crate) const LONG_FRAME: i64 = 812;
/// Mark and duration of the program's work in that frame; the spike is part of it.
pub(crate) const AUTOSAVE: (&str, i64) = ("Autosave", ms(55));
/// Marks and their times.
pub const LEVELS: [(&str, i64); 3] = [("Level 1", ms(1_300)), ("Level 2", ms(18_200)), ("Level 3", ms(29_000))];

/// Converts milliseconds to ticks.
const fn ms(milliseconds: i64) -> i64 {
    milliseconds * 10_000
}

/// Writes the trace.
pub(super) fn write<W: Write + Seek>(out: W) -> Result<W, WriteError> {
    const PROCESSORS: u16 = 4;
    let mut script = Script::new(0x2026_0317);
    script.extend(cast::preamble(cast::START_TICKS + 40));
    let bystanders = cast::bystanders();
    let lasting: Vec<_> = std::iter::once(cast::kernel()).chain(bystanders).chain(std::iter::once(service::process())).collect();
    for (process, n) in lasting.iter().zip(0..) {
        let step = 2_500 * n;
        script.extend(process.rundown(cast::START_TICKS + 100_000 + step, 0, false));
        script.extend(process.rundown(cast::START_TICKS + TRACE_END + step, 0, true));
    }
    app::play(&mut script);
    service::play(&mut script);
    activity::play(&mut script);
    // Last, so that the random numbers of the others stay.
    thumbnails::play(&mut script);

    let mut session = cast::session(PROCESSORS, true);
    // About a second of events per buffer, as a flush timer would write them.
    session.buffer_size = 64 << 10;
    let mut w = RecordWriter::new(Writer::new(out, session)?);
    write_all(script.in_order(), &mut w)?;
    w.finish()
}
