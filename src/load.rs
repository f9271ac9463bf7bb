//! Opens the files of one capture and replays them into a trace, which is published while it grows. This is the only
//! way from bytes to numbers; window, command line and tests all use it. A capture that is still being recorded is
//! followed ([`follow`]).

mod captures;
mod copied;
mod distinct;
mod estimate;
mod follow;
mod lanes;
mod marks;
mod plan;
mod playback;
mod replay;
mod sample;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::archive::{self, Contents, Member, Progress};
use crate::etl::{Expandable, OpenError, Source, TraceFile};
use crate::events::{self, Copies, EventCounts, Merge, RawLoss};
use crate::model::{Clock, Loss, Trace};
use crate::paths::Reading;
use crate::problem::{ProblemKind, Problems};
use crate::synth::demo;
use crate::units::{Interval, Ticks};

pub use crate::events::MarkProviders;
pub use crate::model::{Processes, Scope, WhenFull};
pub use captures::{MOST_APART, Together, together};
pub use estimate::{Estimate, Part};
pub use follow::follow;
pub use marks::MarksFound;
pub use plan::{Plan, default_budget, describe_scope};
use playback::Playback;
use replay::{About, Replay};

/// An input that a user can name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// The built-in demo trace.
    Demo,
}

/// The name of the demo trace, used in place of a file name.
pub const DEMO_NAME: &str = "demo:";

impl Input {
    /// Converts a command line argument.
    pub fn from_arg(arg: &std::ffi::OsStr) -> Self {
        if arg == DEMO_NAME { Self::Demo } else { Self::File(arg.into()) }
    }

    /// Whether it is the folder of a recording, with its lanes.
    pub fn is_recording(&self) -> bool {
        matches!(self, Self::File(path) if crate::capture::is_recording(path))
    }

    /// Its path, if it is a file.
    pub fn path(&self) -> Option<&Path> {
        if let Self::File(path) = self { Some(path) } else { None }
    }

    /// Its name as the user gave it.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Demo => DEMO_NAME.to_owned(),
        }
    }

    /// Opens the traces in it. `progress` gets how far an archive is expanded.
    fn open(&self, progress: &mut Progress<'_>) -> Result<Contents, OpenError> {
        match self {
            Self::File(path) => archive::open(path, progress),
            Self::Demo => archive::contents(Source::Memory(demo::TRACE), DEMO_NAME.to_owned(), progress),
        }
    }
}

/// Marks these inputs as being read: as long as the result lives, they are not overwritten.
pub fn reading(inputs: &[Input]) -> Reading {
    Reading::of(inputs.iter().filter_map(Input::path).map(Path::to_owned))
}

/// Maximum number of CPU streams of all files together: eight files from the largest machine.
const MAX_STREAMS: usize = 8 * 2048;

/// The open files of one capture.
#[derive(Debug, Default)]
pub struct Capture {
    /// The readable files, in the order in which they were named.
    pub files: Vec<TraceFile>,
    /// The problems with opening them.
    pub problems: Problems,
}

/// One capture among the files that were opened together.
#[derive(Debug)]
pub struct Opened {
    /// Its files.
    pub capture: Capture,
    /// Why it is separate from the first capture, as the end of a sentence about its files; `None` for the first.
    pub why_apart: Option<String>,
}

impl Capture {
    /// Opens the files of one capture. One unreadable file among several is a problem. It is an error if no file can be
    /// read, or if the files belong to several captures ([`together`]).
    pub fn open(inputs: &[Input]) -> Result<Self, OpenError> {
        Self::open_watched(inputs, &mut |_, _| true)
    }

    /// Opens files like [`Capture::open`]. `progress` gets how far archives are expanded, which can take as long as
    /// loading; if it returns `false`, the error is [`OpenError::Stopped`].
    pub fn open_watched(inputs: &[Input], progress: &mut Progress<'_>) -> Result<Self, OpenError> {
        let mut all = Self::open_all(inputs, progress)?;
        if all.len() > 1 {
            return Err(OpenError::SeveralCaptures(all.iter().map(Opened::describe).collect()));
        }
        Ok(all.pop().map_or_else(Self::default, |only| only.capture))
    }

    /// Opens files that may belong to several captures; returns at least one capture, in the order of their first
    /// files. Problems that belong to no capture (an unreadable file) are listed with each.
    pub fn open_all(inputs: &[Input], progress: &mut Progress<'_>) -> Result<Vec<Opened>, OpenError> {
        let mut opened = Self::default();
        let mut first_error = None;
        for input in inputs {
            match input.open(progress) {
                Ok(contents) => opened.add(contents, &mut first_error),
                Err(OpenError::Stopped) => return Err(OpenError::Stopped),
                Err(error) => opened.refuse(&input.name(), error, &mut first_error),
            }
        }
        match first_error {
            Some(error) if opened.files.is_empty() => Err(error),
            _ => Ok(opened.apart()),
        }
    }

    fn add(&mut self, contents: Contents, first_error: &mut Option<OpenError>) {
        self.problems.append(contents.problems);
        let members = contents.members.len();
        for Member { name, source, packed } in contents.members {
            let opened = match (packed, source.len()) {
                (Some(packed), Ok(bytes)) => {
                    TraceFile::from_archive(source, name.clone(), Expandable::member(bytes, packed, members))
                }
                _ => TraceFile::from_source(source, name.clone()),
            };
            match opened {
                Ok(mut file) => {
                    file.format = contents.format;
                    self.files.push(file);
                }
                Err(error) => self.refuse(&name, error, first_error),
            }
        }
    }

    /// Groups the opened files into captures.
    fn apart(self) -> Vec<Opened> {
        let groups = together(&self.files);
        let mut files: Vec<Option<TraceFile>> = self.files.into_iter().map(Some).collect();
        let capture = |group: Together| {
            let mut capture = Self { files: Vec::new(), problems: self.problems.clone() };
            group.files.into_iter().filter_map(|i| files[i].take()).for_each(|file| capture.take(file));
            Opened { capture, why_apart: group.why }
        };
        groups.into_iter().map(capture).collect()
    }

    /// Adds a file to this capture, unless there are too many CPU streams with it.
    fn take(&mut self, file: TraceFile) {
        let name = file.name.clone();
        match self.check_streams(file) {
            Ok(mut file) => {
                self.problems.append(std::mem::take(&mut file.problems));
                self.files.push(file);
            }
            Err(error) => self.refuse(&name, error, &mut None),
        }
    }

    fn refuse(&mut self, name: &str, error: OpenError, first_error: &mut Option<OpenError>) {
        let kind = match error {
            OpenError::OtherCapture(..) => ProblemKind::ClockMismatch,
            _ => ProblemKind::UnreadableFile,
        };
        self.problems.add(kind, name, 0, error.to_string());
        first_error.get_or_insert(error);
    }

    /// Checks that a growing file has the same clock as the first. Its end is unknown, so times are not compared.
    fn check_clock(&self, file: TraceFile) -> Result<TraceFile, OpenError> {
        let Some(first) = self.files.first() else { return Ok(file) };
        if let Some(conflict) = first.header.clock_conflict(&file.header) {
            return Err(OpenError::OtherCapture(file.name, format!("it {conflict} {}", first.name)));
        }
        Ok(file)
    }

    fn check_streams(&self, file: TraceFile) -> Result<TraceFile, OpenError> {
        let streams: usize = self.files.iter().chain([&file]).map(|file| file.streams).sum();
        if streams > MAX_STREAMS {
            let name = &file.name;
            let reason = format!("{name}: with it there would be the buffers of over {MAX_STREAMS} processors to put into order");
            return Err(OpenError::Refused(format!("{reason}; open fewer files together")));
        }
        Ok(file)
    }

    /// Size of all files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.bytes).sum()
    }

    /// The earliest file: its header event is the trace start.
    fn earliest(&self) -> Option<&TraceFile> {
        self.files.iter().min_by_key(|f| f.header.start_ticks)
    }

    /// The clock of the capture.
    pub fn clock(&self) -> Clock {
        let header = self.earliest().map(|f| &f.header);
        Clock { frequency: header.map_or(10_000_000, |h| h.frequency), start_time: header.map_or(0, |h| h.start_time) }
    }

    /// Raw time of the trace start.
    pub fn trace_start(&self) -> i64 {
        self.earliest().map_or(0, |f| f.header.start_ticks)
    }

    fn losses(&self) -> (u64, u64) {
        copied::lost(&self.files, &Copies::default())
    }

    /// Finds events that the files contain twice. Cost: one pass over all events, in the order of time.
    pub fn copies(&self) -> Copies {
        let mut merge = Merge::new(&self.files);
        let _: ControlFlow<()> = merge.run_slices(&(), |_| ControlFlow::Continue(()), |_| ControlFlow::Continue(i64::MAX));
        merge.totals().copies.clone()
    }
}

/// The losses recorded in the buffers of all files, ordered by time.
fn losses(capture: &Capture, mut go_on: impl FnMut() -> bool) -> Arc<[Loss]> {
    let start = capture.trace_start();
    let mut all: Vec<Loss> = capture.files.iter().flat_map(|file| losses_of(file, start, &mut go_on)).collect();
    all.sort_by_key(|loss| (loss.interval.from, loss.interval.to));
    all.into()
}

/// The losses recorded in the buffers of one file, of a capture that starts at the raw time `start`.
fn losses_of(file: &TraceFile, start: i64, go_on: impl FnMut() -> bool) -> Vec<Loss> {
    let name: Arc<str> = file.name.as_str().into();
    let placed = |loss: RawLoss| {
        let to = loss.to.map_or(Ticks::NEVER, |to| Ticks::from_raw(to, start));
        let interval = Interval::new(Ticks::from_raw(loss.from, start), to);
        Loss { interval, file: Arc::clone(&name), what: loss.what, count: loss.count, processor: loss.processor }
    };
    events::losses(file, go_on).into_iter().map(placed).collect()
}

/// The message for a capture without memory events.
pub fn no_memory_events(counts: &EventCounts) -> &'static str {
    if counts.heap_snapshot > 0 {
        return "this trace holds heap snapshots (Microsoft-Windows-Heap-Snapshot), whose layout is not public, so that only WPA \
                reads them; record a heap trace instead: `wpr -HeapTracingConfig game.exe enable`, start the program anew, \
                `wpr -start Heap -start VirtualAllocation`, `wpr -stop game.etl`";
    }
    "this trace holds no heap or VirtualAlloc events; record with \
     `wpr -start VirtualAllocation -start Heap` (heap tracing must be switched on for the program first) \
     or attach a custom heap tracker"
}

/// An observer of a load.
pub trait Watch {
    /// Reports progress; called often. Returns whether to go on.
    fn progress(&mut self, done: u64, total: u64) -> bool;

    /// Receives the trace so far; called from time to time if [`Watch::wants_trace`].
    fn publish(&mut self, trace: Trace);

    /// Whether unfinished traces are wanted.
    fn wants_trace(&self) -> bool {
        true
    }

    /// The speed of playing the capture as if it were being recorded, in seconds of the capture per second; 0 pauses,
    /// `None` loads at full speed. Asked again and again.
    fn speed(&self) -> Option<f64> {
        None
    }

    /// Whether to go on following a capture that is still being recorded; otherwise it ends with the data so far. Asked
    /// again and again.
    fn follows(&self) -> bool {
        true
    }

    /// Waits until the files of a followed capture are checked again; returns how long it waited.
    fn rest(&mut self) -> Duration {
        std::thread::sleep(LOOK_EVERY);
        LOOK_EVERY
    }
}

/// The interval at which the files of a followed capture are checked.
pub const LOOK_EVERY: Duration = Duration::from_millis(120);

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn progress(&mut self, _done: u64, _total: u64) -> bool {
        true
    }

    fn publish(&mut self, _trace: Trace) {}

    fn wants_trace(&self) -> bool {
        false
    }
}

/// The user cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

/// Replays the whole capture. The time is linear in its size.
pub fn load(capture: &Capture, watch: &mut impl Watch) -> Result<Trace, Stopped> {
    load_planned(capture, &Plan::default(), watch)
}

/// Replays a part of a capture, or as much of it as fits into the memory budget.
pub fn load_planned(capture: &Capture, plan: &Plan, watch: &mut impl Watch) -> Result<Trace, Stopped> {
    replayed(capture, plan, true, watch)
}

/// Finds the problems and losses of a capture. Returns a trace without memory events, with the problems that a load
/// without a memory limit would have.
pub fn inspect(capture: &Capture, watch: &mut impl Watch) -> Result<Trace, Stopped> {
    let scope = Scope { processes: Processes::Only(BTreeSet::new()), layers: Vec::new(), stacks: false };
    replayed(capture, &Plan { scope, ..Plan::default() }, false, watch)
}

fn replayed(capture: &Capture, plan: &Plan, tells_scope: bool, watch: &mut impl Watch) -> Result<Trace, Stopped> {
    let total = capture.bytes();
    let losses = losses(capture, || watch.progress(0, total));
    if !watch.progress(0, total) {
        return Err(Stopped);
    }
    let about = About { capture, plan, losses, tells_scope };
    let mut merge = Merge::new(&capture.files).within(plan.for_decoding()).marking(plan.marks.clone());
    let mut playback = Playback::new(capture.trace_start(), capture.clock().frequency);
    let mut replay = Replay::new(about.builder());
    replay.run(&mut merge, &about, watch, |watch, now| playback.advance(watch.speed(), now))?;
    Ok(replay.complete(&about, merge.totals()))
}
