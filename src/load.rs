//! Opens the files of one capture and replays them into a trace, publishing it
//! while it grows. This is the one way from bytes to numbers: window, command
//! line and tests all use it.

mod distinct;
mod estimate;
mod plan;
mod playback;
mod sample;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::archive::{self, Contents, Member, Progress};
use crate::etl::{OpenError, Source, TraceFile};
use crate::events::{self, Merge, Tick, Totals};
use crate::model::{Builder, Clock, InputState, Loss, Trace};
use crate::problem::{ProblemKind, Problems};
use crate::synth::demo;
use crate::units::{Interval, Ticks};

pub use crate::model::{Processes, Scope};
pub use estimate::{Estimate, Part};
pub use plan::{Plan, default_budget, describe_scope};
use playback::Playback;

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
            match TraceFile::from_source(source, name.clone()).and_then(|file| self.check_clock(file)) {
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
    let mut all = Vec::new();
    for file in &capture.files {
        let name: Arc<str> = file.name.as_str().into();
        all.extend(events::losses(file, &mut go_on).into_iter().map(|loss| {
            let to = loss.to.map_or(Ticks::NEVER, |to| Ticks::from_raw(to, start));
            let interval = Interval::new(Ticks::from_raw(loss.from, start), to);
            Loss { interval, file: Arc::clone(&name), what: loss.what, count: loss.count, processor: loss.processor }
        }));
    }
    all.sort_by_key(|loss| (loss.interval.from, loss.interval.to));
    all.into()
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
}

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

/// Publishing may take this part of the time of loading.
const PUBLISH_SHARE: u32 = 8;

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
    let mut builder =
        Builder::new(capture.clock(), capture.trace_start(), capture.losses()).limited(plan.scope.clone(), plan.budget);
    let mut merge = Merge::new(&capture.files);
    let mut playback = Playback::new(capture.trace_start(), capture.clock().frequency);
    let mut published = None;
    let mut next_publication = Instant::now() + Duration::from_millis(30);
    // Both closures of the merge need the builder, one after the other.
    let builder_cell = std::cell::RefCell::new(&mut builder);
    let result = merge.run(
        |record, stack| {
            builder_cell.borrow_mut().apply_with_stack(record, stack);
            ControlFlow::Continue(())
        },
        |Tick { totals, is_held }| {
            if !watch.progress(totals.bytes, total) {
                return ControlFlow::Break(Stopped);
            }
            let now = Instant::now();
            let limit = playback.advance(watch.speed(), now);
            // Of what stands still there is nothing new to see.
            if watch.wants_trace() && now >= next_publication && !(is_held && published == Some(limit)) {
                let mut builder = builder_cell.borrow_mut();
                let mut input = input_state(capture, plan, totals, &builder, &losses, false);
                // What was only decoded has not happened yet.
                input.times = input.times.map(|(first, last)| (first, last.min(limit.max(first))));
                watch.publish(builder.publish(input));
                published = Some(limit);
                let cost = now.elapsed();
                next_publication = now + (cost * PUBLISH_SHARE).max(Duration::from_millis(60));
            } else if is_held {
                playback::nap();
            }
            ControlFlow::Continue(limit)
        },
    );
    match result {
        ControlFlow::Break(stopped) => Err(stopped),
        ControlFlow::Continue(()) => {
            let input = input_state(capture, plan, merge.totals(), &builder, &losses, true);
            Ok(builder.publish(input))
        }
    }
}

/// What the trace says of its input. `totals` is complete once loading is.
fn input_state(
    capture: &Capture,
    plan: &Plan,
    totals: &Totals,
    builder: &Builder,
    losses: &Arc<[Loss]>,
    complete: bool,
) -> InputState {
    let name = capture.files.first().map_or("", |f| f.name.as_str());
    let mut problems = capture.problems.clone();
    // What was left out comes first: it is about all numbers.
    if let Some(cut) = builder.cut() {
        problems.add(ProblemKind::LimitReached, name, 0, plan::describe_cut(cut, plan.budget, capture.clock()));
    }
    if !plan.scope.is_all() {
        let what = describe_scope(&plan.scope, |pid| builder.process_name(pid));
        problems.add(ProblemKind::LimitReached, name, 0, format!("only {what} was loaded; all numbers speak of that part"));
    }
    problems.append(totals.problems.clone());
    if let Some(left_out) = builder.counters_left_out() {
        problems.add(ProblemKind::LimitReached, name, 0, left_out);
    }
    if complete && !totals.counts.has_memory_events() {
        problems.add(ProblemKind::NoMemoryEvents, name, 0, NO_MEMORY_EVENTS);
    }
    InputState {
        counts: totals.counts,
        times: totals.times,
        problem_count: problems.total(),
        problems: problems.list(),
        losses: Arc::clone(losses),
        complete,
    }
}
