//! Opens the files of one capture and replays them into a trace, publishing it
//! while it grows. This is the one way from bytes to numbers: window, command
//! line and tests all use it. What is still being recorded is followed ([`follow`]).

mod distinct;
mod estimate;
mod follow;
mod lanes;
mod marks;
mod plan;
mod playback;
mod replay;
mod sample;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::archive::{self, Contents, Member, Progress};
use crate::etl::{OpenError, Source, TraceFile};
use crate::events::{self, Merge, RawLoss};
use crate::model::{Clock, Loss, Trace};
use crate::paths::Reading;
use crate::problem::{ProblemKind, Problems};
use crate::synth::demo;
use crate::units::{Interval, Ticks};

pub use crate::events::MarkProviders;
pub use crate::model::{Processes, Scope, WhenFull};
pub use estimate::{Estimate, Part};
pub use follow::follow;
pub use marks::MarksFound;
pub use plan::{Plan, default_budget, describe_scope};
use playback::Playback;
use replay::{About, Replay};

/// What a user can name as a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// The built-in demo trace.
    Demo,
}

/// How the demo trace is named wherever a file is.
pub const DEMO_NAME: &str = "demo:";

impl Input {
    /// From a word of the command line.
    pub fn from_arg(arg: &std::ffi::OsStr) -> Self {
        if arg == DEMO_NAME { Self::Demo } else { Self::File(arg.into()) }
    }

    /// Whether it is the folder of a recording, with its lanes.
    pub fn is_recording(&self) -> bool {
        matches!(self, Self::File(path) if crate::capture::is_recording(path))
    }

    /// Its file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        if let Self::File(path) = self { Some(path) } else { None }
    }

    /// As the user named it.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Demo => DEMO_NAME.to_owned(),
        }
    }

    /// The traces in it. `progress` is told how far an archive is expanded.
    fn open(&self, progress: &mut Progress<'_>) -> Result<Contents, OpenError> {
        match self {
            Self::File(path) => archive::open(path, progress),
            Self::Demo => archive::contents(Source::Memory(demo::TRACE), DEMO_NAME.to_owned(), progress),
        }
    }
}

/// Notes that some are read: nothing is written over them as long as the answer lives.
pub fn reading(inputs: &[Input]) -> Reading {
    Reading::of(inputs.iter().filter_map(Input::path).map(Path::to_owned))
}

/// Processors of all files together: eight files of the largest machine.
const MAX_STREAMS: usize = 8 * 2048;

/// The open files of one capture.
#[derive(Debug)]
pub struct Capture {
    /// Files that could be read, in the order in which they were named.
    pub files: Vec<TraceFile>,
    /// What was wrong with opening them.
    pub problems: Problems,
}

impl Capture {
    /// Opens all inputs. One unreadable file among several is a problem; if none
    /// can be read, that is the error.
    pub fn open(inputs: &[Input]) -> Result<Self, OpenError> {
        Self::open_watched(inputs, &mut |_, _| true)
    }

    /// The same. `progress` is told how far archives are expanded, which can take as
    /// long as loading; if it says no, the error is [`OpenError::Stopped`].
    pub fn open_watched(inputs: &[Input], progress: &mut Progress<'_>) -> Result<Self, OpenError> {
        let mut capture = Self { files: Vec::new(), problems: Problems::default() };
        let mut first_error = None;
        for input in inputs {
            match input.open(progress) {
                Ok(contents) => capture.add(contents, &mut first_error),
                Err(OpenError::Stopped) => return Err(OpenError::Stopped),
                Err(error) => capture.refuse(&input.name(), error, &mut first_error),
            }
        }
        match first_error {
            Some(error) if capture.files.is_empty() => Err(error),
            _ => Ok(capture),
        }
    }

    fn add(&mut self, contents: Contents, first_error: &mut Option<OpenError>) {
        self.problems.append(contents.problems);
        for Member { name, source } in contents.members {
            let opened = TraceFile::from_source(source, name.clone());
            match opened.and_then(|file| self.check_clock(file)).and_then(|file| self.check_streams(file)) {
                Ok(mut file) => {
                    file.format = contents.format;
                    self.problems.append(std::mem::take(&mut file.problems));
                    self.files.push(file);
                }
                Err(error) => self.refuse(&name, error, first_error),
            }
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

    /// Bytes of all files.
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
        let sum = |n: fn(&TraceFile) -> u32| self.files.iter().map(|f| u64::from(n(f))).sum();
        (sum(|f| f.header.events_lost), sum(|f| f.header.buffers_lost))
    }
}

/// Losses of all files that their buffers tell of, by time.
fn losses(capture: &Capture, mut go_on: impl FnMut() -> bool) -> Arc<[Loss]> {
    let start = capture.trace_start();
    let mut all: Vec<Loss> = capture.files.iter().flat_map(|file| losses_of(file, start, &mut go_on)).collect();
    all.sort_by_key(|loss| (loss.interval.from, loss.interval.to));
    all.into()
}

/// Those of one file of a capture that began at the raw time `start`.
fn losses_of(file: &TraceFile, start: i64, go_on: impl FnMut() -> bool) -> Vec<Loss> {
    let name: Arc<str> = file.name.as_str().into();
    let placed = |loss: RawLoss| {
        let to = loss.to.map_or(Ticks::NEVER, |to| Ticks::from_raw(to, start));
        let interval = Interval::new(Ticks::from_raw(loss.from, start), to);
        Loss { interval, file: Arc::clone(&name), what: loss.what, count: loss.count, processor: loss.processor }
    };
    events::losses(file, go_on).into_iter().map(placed).collect()
}

/// What to say where a capture has nothing to account for.
pub const NO_MEMORY_EVENTS: &str = "this trace holds no heap or VirtualAlloc events; record with \
     `wpr -start VirtualAllocation -start Heap` (heap tracing must be switched on for the program first) \
     or attach a custom heap tracker";

/// One who watches a load.
pub trait Watch {
    /// Called often; returns whether to go on.
    fn progress(&mut self, done: u64, total: u64) -> bool;

    /// Takes what is known so far; called now and then if [`Watch::wants_trace`].
    fn publish(&mut self, trace: Trace);

    /// Whether unfinished traces are wanted.
    fn wants_trace(&self) -> bool {
        true
    }

    /// How many seconds of the capture take a second, if it is to be played as if it
    /// were being recorded; 0 holds it. Asked again and again.
    fn speed(&self) -> Option<f64> {
        None
    }

    /// Whether to go on following a capture that is still recorded; if not, it ends with
    /// what is there. Asked again and again.
    fn follows(&self) -> bool {
        true
    }

    /// Lets time pass until the files of a followed capture are looked at again, and tells
    /// how much.
    fn rest(&mut self) -> Duration {
        std::thread::sleep(LOOK_EVERY);
        LOOK_EVERY
    }
}

/// How long the files of a followed capture are left alone.
pub const LOOK_EVERY: Duration = Duration::from_millis(120);

/// Nobody watches.
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

/// The user gave up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

/// Replays the whole capture. Time is linear in its bytes.
pub fn load(capture: &Capture, watch: &mut impl Watch) -> Result<Trace, Stopped> {
    load_planned(capture, &Plan::default(), watch)
}

/// Replays a part of a capture, or as much of it as there is room for.
pub fn load_planned(capture: &Capture, plan: &Plan, watch: &mut impl Watch) -> Result<Trace, Stopped> {
    let total = capture.bytes();
    let losses = losses(capture, || watch.progress(0, total));
    if !watch.progress(0, total) {
        return Err(Stopped);
    }
    let about = About { capture, plan, losses };
    let mut merge = Merge::new(&capture.files).within(plan.for_decoding()).marking(plan.marks.clone());
    let mut playback = Playback::new(capture.trace_start(), capture.clock().frequency);
    let mut replay = Replay::new(about.builder());
    replay.run(&mut merge, &about, watch, |watch, now| playback.advance(watch.speed(), now))?;
    Ok(replay.complete(&about, merge.totals()))
}
