//! A look at the beginning of a large file, which is shown while the load still reads the headers of all its buffers.
//!
//! A thread of its own opens the file once more, replays its first [`BEGINNING`] bytes, and publishes them once, as a trace that
//! is not complete. It ends as soon as the headers are known, so the replay has all processors for itself. The load reads
//! everything anew and publishes only what reaches further ([`Watch::shown_to`]).
//!
//! The trace reaches up to a time at which the events are known of every processor that has a buffer in the beginning
//! ([`complete_to`]). Up to it, the trace is what the load would publish there: no free of a block in it is missing. (Windows
//! writes a buffer when it is full. The events of a processor that has not filled its first one by then come with the load.)
//!
//! Only a single `.etl` file gets a preview. Whether several files are one capture is known only when all headers are; archives
//! are expanded first; and a circular file does not begin with its oldest buffers. Errors and panics are silent: the load meets
//! them, too.
//!
//! Cost: reads and decodes at most [`BEGINNING`] bytes; memory for their rows, [`BUDGET`] at most.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use super::capture::Capture;
use super::input::Input;
use super::plan::Plan;
use super::playback;
use super::replay::{About, Replay};
use super::watch::{Stopped, Watch};
use crate::etl::{Growth, Source, TraceFile, mode};
use crate::events::{Merge, complete_to};
use crate::model::{Trace, WhenFull};
use crate::panics;
use crate::problem::Problems;

/// Bytes of the beginning, and the most that its buffers may hold once expanded.
const BEGINNING: u64 = 64 << 20;

/// Files of less than this many times what is read show their first trace soon enough.
const LEAST_TIMES: u64 = 4;

/// The share of these bytes that is read of a compressed file: compressed buffers hold at least five times as much.
const COMPRESSED_SHARE: u64 = 8;

/// Most memory for rows, stacks and tables, in bytes.
const BUDGET: u64 = 1 << 30;

/// Bytes that are read at once.
const PIECE: u64 = 1 << 20;

/// A preview that is being made. Dropping it stops it and waits until its thread has ended.
#[derive(Debug)]
pub struct Preview {
    stop: Arc<AtomicBool>,
    /// The thread; its result is the raw time up to which a trace was published.
    thread: Option<JoinHandle<Option<i64>>>,
}

impl Preview {
    /// Starts to make a preview of these inputs; `None` if they get none. It begins when `watch` wants a trace, and stops
    /// if its `progress` says so; the numbers given there are 0. The plan's memory budget is not used up.
    pub fn start(inputs: &[Input], plan: Plan, watch: impl Watch + Send + 'static) -> Option<Self> {
        Self::of_first(BEGINNING, inputs, plan, watch)
    }

    fn of_first(bytes: u64, inputs: &[Input], plan: Plan, watch: impl Watch + Send + 'static) -> Option<Self> {
        let [Input::File(path)] = inputs else { return None };
        let source = Source::open_file(path).ok()?;
        if source.len().ok()? < bytes.saturating_mul(LEAST_TIMES) {
            return None;
        }
        let name = path.display().to_string();
        let stop = Arc::new(AtomicBool::new(false));
        let watch = Silent { stop: Arc::clone(&stop), watch };
        let plan = Plan { budget: plan.budget.min(BUDGET), when_full: WhenFull::Cut, ..plan };
        let look = move || panics::catch(|| look(&source, &name, bytes, &plan, watch)).ok().flatten();
        let thread = thread::Builder::new().name("preview".into()).spawn(look).ok()?;
        Some(Self { stop, thread: Some(thread) })
    }

    /// Stops it and waits until its thread has ended. Returns the raw time up to which it has published a trace, if it has.
    pub fn end(mut self) -> Option<i64> {
        self.join()
    }

    fn join(&mut self) -> Option<i64> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take()?.join().ok()?
    }
}

impl Drop for Preview {
    fn drop(&mut self) {
        self.join();
    }
}

/// An observer of the replay of the beginning, which can also be stopped from elsewhere. The replay itself publishes nothing.
struct Silent<W> {
    stop: Arc<AtomicBool>,
    watch: W,
}

impl<W: Watch> Silent<W> {
    fn goes_on(&mut self) -> Option<()> {
        self.progress(0, 0).then_some(())
    }
}

impl<W: Watch> Watch for Silent<W> {
    fn progress(&mut self, _done: u64, _total: u64) -> bool {
        !self.stop.load(Ordering::Relaxed) && self.watch.progress(0, 0)
    }

    fn publish(&mut self, _trace: Trace) {}

    fn wants_trace(&self) -> bool {
        false
    }
}

/// Publishes the beginning of a file; returns the raw time up to which it did. `None` if it was stopped, or if the beginning
/// cannot be shown.
fn look<W: Watch>(source: &Source, name: &str, bytes: u64, plan: &Plan, mut watch: Silent<W>) -> Option<i64> {
    while !watch.watch.wants_trace() {
        watch.goes_on()?;
        playback::nap();
    }
    let file = beginning(source, name, bytes, &mut watch)?;
    let until = complete_to(&file)?;
    let trace = replayed(file, plan, until, &mut watch)?;
    watch.goes_on()?;
    watch.watch.publish(trace);
    Some(until)
}

/// The file with the buffers of its beginning. The other ones are not "missing": it is read as a file that still grows.
fn beginning(source: &Source, name: &str, bytes: u64, watch: &mut Silent<impl Watch>) -> Option<TraceFile> {
    let first = |bytes| Growth::begin(source.part(0, bytes), name.to_owned()).ok()?;
    let (mut file, mut growth) = first(bytes)?;
    let mut length = bytes;
    if file.header.is_compressed() {
        length = bytes / COMPRESSED_SHARE;
        (file, growth) = first(length)?;
    }
    if file.header.mode & mode::CIRCULAR != 0 {
        return None;
    }
    read_through(source, length, watch)?;
    growth.go_on(&mut file).ok()?;
    let mut expanded = 0;
    let fits = file.buffers.iter().take_while(|buffer| {
        expanded += buffer.expanded_size() as u64;
        expanded <= bytes
    });
    let count = fits.count();
    file.buffers.truncate(count);
    Some(file)
}

/// Reads the first bytes in large pieces, so that the system has them at hand: the headers of their buffers, one by one,
/// would take a disk longer than all the bytes.
fn read_through(source: &Source, bytes: u64, watch: &mut Silent<impl Watch>) -> Option<()> {
    let mut piece = vec![0; PIECE as usize];
    for offset in (0..bytes).step_by(PIECE as usize) {
        watch.goes_on()?;
        source.read_at(&mut piece, offset).ok()?;
    }
    Some(())
}

/// The trace of these buffers up to a raw time; `None` if it was stopped, or if there is not enough memory.
fn replayed(file: TraceFile, plan: &Plan, until: i64, watch: &mut Silent<impl Watch>) -> Option<Trace> {
    let capture = Capture { files: vec![file], problems: Problems::default() };
    let machine = capture.machine_in_headers();
    let about = About { capture: &capture, plan, losses: Default::default(), machine, tells_scope: true };
    let mut merge = Merge::new(&capture.files).within(plan.for_decoding()).reading(plan.marks.clone(), plan.trackers.clone());
    merge.hold_at(until);
    let mut replay = Replay::new(about.builder());
    match replay.run(&mut merge, &about, watch, |_, _| i64::MAX) {
        Ok(()) if replay.builder.cut().is_none() => Some(replay.unfinished(&about, merge.totals(), until)),
        Ok(()) | Err(Stopped) => None,
    }
}

#[cfg(test)]
mod tests;
