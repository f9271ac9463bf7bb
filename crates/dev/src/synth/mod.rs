//! Generated traces: scenarios by seed, small and large, for tests, benchmarks and the demo. The same options give
//! the same bytes on every machine.
//!
//! Built on [`etl::write`](highwater_etl::write) and [`events::encode`](highwater_engine::events::encode), and streaming: memory
//! depends on the number of live blocks and stacks that the options ask for, not on the number of events. Nothing is
//! measured or printed here.

mod cast;
mod commit;
mod counters;
pub mod demo;
mod gpu;
mod heap;
mod image;
pub mod images;
mod pix;
mod program;
mod recorded;
mod stacks;
#[cfg(test)]
mod tests;
mod timeline;
mod trackers;

use std::io::{Seek, Write};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::etl::HeaderKind;
use crate::etl::compression::Algorithm;
use crate::etl::write::{WriteError, Writer};
use crate::events::encode::RecordWriter;
pub use crate::random::Random;
use crate::units::PointerSize;
pub use cast::{FREQUENCY, START_TICKS, START_TIME};
pub use demo::nightly::Nightly;
pub use gpu::ADAPTER;
pub use recorded::generate_recorded;

/// The scenario of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scenario {
    /// The demo: two programs, defined to the millisecond. Takes no options.
    Demo,
    /// Heap blocks: allocated, resized, freed, reused.
    Heap,
    /// Pages: reserved, committed, given back in parts; processes start and end.
    Commit,
    /// Blocks of named custom heaps.
    Trackers,
    /// A night of the demo's program, with known numbers ([`Nightly`]).
    Nightly,
}

/// How events get their stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackForm {
    /// Events have no stacks.
    None,
    /// As StackWalk events after them; inside them for trackers.
    Walk,
    /// As keys, most of them defined at the end; keys are reused.
    Keys,
}

/// Options of a generated trace.
#[derive(Clone, Debug)]
pub struct Options {
    /// The scenario.
    pub scenario: Scenario,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of memory events; stacks and everything else come on top.
    pub events: u64,
    /// Processors, 1 to 2048.
    pub processors: u16,
    /// Processes, at least 1.
    pub processes: u32,
    /// Threads of each process, at least 1.
    pub threads: u32,
    /// Heaps or trackers of each process, at least 1.
    pub heaps: u32,
    /// How events get their stacks.
    pub stacks: StackForm,
    /// Give frees stacks too (heap).
    pub free_stacks: bool,
    /// Number of distinct stacks in all, at least 1.
    pub distinct_stacks: u32,
    /// Maximum blocks alive at any time, at least 1; limits the generator's memory.
    pub live: u32,
    /// Compress the buffers, and how.
    pub compressed: Option<Algorithm>,
    /// Make the last process a 32-bit one (heap and trackers).
    pub wow64: bool,
    /// Give kernel events headers of all kinds in turn, instead of those that Windows uses.
    pub mixed_headers: bool,
    /// Add counters of the system, of processes and heaps (heap).
    pub counters: bool,
    /// Add GPU memory of all processes (heap).
    pub gpu: bool,
    /// Add PIX's scopes on all threads, and a counter of each process (heap).
    pub pix: bool,
    /// Add so many processor samples, evenly spread, with stacks (heap).
    pub samples: u64,
    /// Add page faults with stacks, most of them first touches of committed pages (commit).
    pub faults: bool,
    /// Lose so many buffers, evenly spread (heap).
    pub lost_buffers: u32,
    /// The numbers of the nightly scenario, which takes no other options.
    pub nightly: Nightly,
    /// Write in step with real time: so many seconds of the trace per second.
    pub speed: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scenario: Scenario::Heap,
            seed: 1,
            events: 1_000_000,
            processors: 4,
            processes: 2,
            threads: 4,
            heaps: 3,
            stacks: StackForm::Walk,
            distinct_stacks: 2000,
            live: 200_000,
            compressed: None,
            wow64: false,
            mixed_headers: false,
            free_stacks: false,
            counters: false,
            gpu: false,
            pix: false,
            samples: 0,
            faults: false,
            lost_buffers: 0,
            nightly: Nightly::default(),
            speed: None,
        }
    }
}

/// The reason why nothing was generated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SynthError {
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// An option is out of its range.
    #[error("{0}")]
    BadOption(&'static str),
}

/// Generates a trace into `out` and returns `out`.
pub fn generate<W: Write + Seek>(options: &Options, out: W) -> Result<W, SynthError> {
    if options.scenario == Scenario::Demo {
        return Ok(demo::write(out)?);
    }
    if options.scenario == Scenario::Nightly {
        options.nightly.check().map_err(SynthError::BadOption)?;
        return Ok(demo::nightly::write(&options.nightly, out)?);
    }
    check(options)?;
    let (mut w, mut clock) = open(options, out)?;
    let random = Random::new(options.seed);
    for process in std::iter::once(cast::kernel()).chain(cast::bystanders()) {
        timeline::write_all(process.rundown(clock.after(200), 0, false), &mut w)?;
    }
    match options.scenario {
        Scenario::Heap => heap::generate(options, random, &mut clock, &mut w)?,
        Scenario::Commit => commit::generate(options, random, &mut clock, &mut w)?,
        Scenario::Trackers => trackers::generate(options, random, &mut clock, &mut w)?,
        Scenario::Demo | Scenario::Nightly => {}
    }
    Ok(w.finish()?)
}

/// Begins a trace: writes its session, and the events that come first in a merged trace.
fn open<W: Write + Seek>(options: &Options, out: W) -> Result<(RecordWriter<W>, Clock), WriteError> {
    let session = cast::session(options.processors, options.compressed.is_some());
    let mut w = RecordWriter::new(Writer::with_compression(out, session, options.compressed.unwrap_or_default())?);
    let mut clock = Clock { now: START_TICKS, pace: options.speed.map(Pace::new) };
    timeline::write_all(cast::preamble(clock.after(10)), &mut w)?;
    Ok((w, clock))
}

/// Ends a scenario: defines the stack keys, and writes the rundown of the processes that are still there.
fn close<W: Write + Seek>(
    w: &mut RecordWriter<W>,
    clock: &mut Clock,
    stacks: &mut stacks::StackWriter,
    processes: &[cast::Process],
) -> Result<(), WriteError> {
    stacks.finish(w, clock)?;
    for process in processes {
        timeline::write_all(process.rundown(clock.after(100), 0, true), w)?;
    }
    Ok(())
}

fn check(options: &Options) -> Result<(), SynthError> {
    let Options { processors, processes, threads, heaps, distinct_stacks, live, .. } = *options;
    if [processors.into(), processes, threads, heaps, distinct_stacks, live].contains(&0) {
        return Err(SynthError::BadOption("processors, processes, threads, heaps, stacks and live blocks are at least 1"));
    }
    if processes > 4000 || threads > 64 || heaps > 64 {
        return Err(SynthError::BadOption("at most 4000 processes with 64 threads and 64 heaps each"));
    }
    if options.wow64 && live > 1_000_000 {
        return Err(SynthError::BadOption("a 32-bit process has room for at most 1,000,000 live blocks"));
    }
    Ok(())
}

impl Options {
    /// Pointer size of a process's events.
    fn pointer(&self, process: u32) -> PointerSize {
        if self.wow64 && process + 1 == self.processes { PointerSize::Four } else { PointerSize::Eight }
    }
}

/// Kinds of headers, which are used in turn.
#[derive(Debug)]
struct Headers {
    kinds: &'static [HeaderKind],
    next: usize,
}

impl Headers {
    /// The kinds for events that would lose their process in a PERFINFO header.
    fn with_thread(options: &Options) -> Self {
        const KINDS: [HeaderKind; 5] =
            [HeaderKind::System, HeaderKind::Compact, HeaderKind::Full, HeaderKind::Instance, HeaderKind::Event];
        Self { kinds: if options.mixed_headers { &KINDS } else { &[] }, next: 0 }
    }

    /// The kinds for events that have their process in the payload.
    fn any(options: &Options) -> Self {
        const KINDS: [HeaderKind; 6] = [
            HeaderKind::PerfInfo,
            HeaderKind::System,
            HeaderKind::Compact,
            HeaderKind::Full,
            HeaderKind::Instance,
            HeaderKind::Event,
        ];
        Self { kinds: if options.mixed_headers { &KINDS } else { &[] }, next: 0 }
    }

    /// The next kind; `None` for the one that Windows uses.
    fn turn(&mut self) -> Option<HeaderKind> {
        self.next += 1;
        self.kinds.get(self.next % self.kinds.len().max(1)).copied()
    }
}

/// The clock that gives events their time. All processors share it, so each stream is in order.
#[derive(Debug)]
struct Clock {
    now: i64,
    /// Makes it wait, if it is to keep step with real time.
    pace: Option<Pace>,
}

impl Clock {
    /// Advances by some ticks and returns the time.
    fn after(&mut self, ticks: i64) -> i64 {
        self.now += ticks;
        if let Some(pace) = &mut self.pace {
            pace.wait_for(self.now);
        }
        self.now
    }
}

/// Makes the clock keep step with real time.
#[derive(Debug)]
struct Pace {
    /// Ticks per second of real time; `start` is when that began.
    ticks: f64,
    start: Instant,
    /// Time of the trace at which it waits again.
    next: i64,
}

impl Pace {
    /// A pace of some seconds of the trace per second; an invalid speed stands for as fast as possible.
    fn new(speed: f64) -> Self {
        let speed = if speed > 0.0 { speed } else { f64::INFINITY };
        Self { ticks: FREQUENCY as f64 * speed, start: Instant::now(), next: START_TICKS }
    }

    fn wait_for(&mut self, now: i64) {
        /// Ticks between two waits, few enough for a buffer to hide them.
        const STEP: i64 = FREQUENCY / 500;
        if now < self.next {
            return;
        }
        self.next = now + STEP;
        let due = Duration::try_from_secs_f64((now - START_TICKS) as f64 / self.ticks).unwrap_or_default();
        std::thread::sleep(due.saturating_sub(self.start.elapsed()));
    }
}
