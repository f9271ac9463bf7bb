//! Activity of a program while its memory changed: `highwater marks`, `scopes`, `frames` and `processors`, and their part of a
//! report's text.

mod commit;
mod faults;
pub(super) mod frames;
pub(super) mod marks;
pub(super) mod processors;
pub(super) mod scopes;

use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::asked::{Edges, Files, load_capture};
use super::choices::Choices;
use super::each::{Each, Told};
use super::for_programs::ForPrograms;
use super::memory::Memory;
use super::providers::ProvidersAsked;
use super::text::{self, Align, Table};
use super::{Failure, prepared, report_problems_besides_memory};
use crate::format::{self, plain};
use crate::model::{IntervalOrigin, Trace};
use crate::panics;
use crate::query::{
    ActivityEntries, ChainEntry, ChainFrames, CommitEntry, FaultEntries, FrameEntry, GpuEntry, MarkEntry, PerFrame,
    ProcessorEntries, ProcessorEntry, ReportedEntry, SampleNumbers, StepNumbers,
};
use crate::units::Interval;

/// A part of a trace by time and process, of questions that are not about memory.
#[derive(Args, Debug)]
pub(super) struct TimeAsked {
    #[command(flatten)]
    pub(super) files: Files,

    /// Only this process
    #[arg(long, value_name = "NAME|PID")]
    process: Option<String>,

    #[command(flatten)]
    edges: Edges,

    #[command(flatten)]
    providers: ProvidersAsked,

    #[command(flatten)]
    each: Each,

    #[command(flatten)]
    memory: Memory,
}

impl TimeAsked {
    /// The requested process, by name or id.
    fn process(&self) -> Option<&str> {
        self.process.as_deref()
    }

    /// Loads the capture (with `--each` one after the other), reports its problems, and answers.
    fn answer(
        &self,
        stage: &'static str,
        mut answer: impl FnMut((&Arc<Trace>, Interval), &Told) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.edges.check().map_err(Failure::BadArguments)?;
        let choices = Choices::of_process(self.process.clone());
        let mut about = |trace: &Arc<Trace>, told: &Told| {
            choices.check(trace).map_err(Failure::BadArguments)?;
            let interval = self.edges.interval(trace, self.process())?;
            report_problems_besides_memory(&trace.problems);
            answer((trace, interval), told)
        };
        let inputs = self.files.inputs();
        self.memory.watch(&inputs);
        let place = prepared::Place::of(&inputs, &self.providers)?.for_one_capture(!self.each.is_asked());
        if let Some(trace) = place.trace(self.memory.budget()) {
            panics::reach(stage);
            return about(&trace, &Told::default());
        }
        self.each.answer(&inputs, |capture, told| {
            panics::reach(stage);
            let trace = load_capture(capture, self.memory, &self.providers, &choices)?;
            place.keep(&trace, capture);
            about(&trace, told)
        })
    }
}

/// How much of a list with a part for each layer is printed, and in which form.
#[derive(Args, Debug)]
struct LayerListing {
    /// Only the first N of each layer
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    #[command(flatten)]
    programs: ForPrograms,

    /// Print CSV
    #[arg(long, conflicts_with_all = ["json", "ndjson", "each"])]
    csv: bool,
}

impl LayerListing {
    /// Most lines of a layer; `for_people`: those of the text output unless `--top` is given.
    fn most(&self, for_people: usize) -> usize {
        self.top.unwrap_or(if self.programs.is_asked() || self.csv { usize::MAX } else { for_people })
    }
}

/// Lines per section in the text of a report.
const SHOWN: usize = 10;

/// Activity that a report can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Activity {
    /// Marks of the interval
    Marks,
    /// Frames, with memory per frame
    Frames,
    /// CPU samples by process
    Processors,
    /// GPU memory by process
    Gpu,
    /// Numbers that programs report
    Counters,
    /// Committed memory at the end, by what it is for
    Commit,
    /// Page faults, and which committed memory was touched
    Faults,
}

/// The requested activity in a report's text.
pub(super) fn describe(
    entries: &ActivityEntries,
    (commit, faults): (Option<&[CommitEntry]>, Option<&FaultEntries>),
    with: &[Activity],
) -> String {
    let mut text = String::new();
    for &what in with {
        let described = match what {
            Activity::Marks => describe_marks(entries),
            Activity::Frames => {
                entries.frames.as_ref().map(|chains| chains.iter().map(describe_chain).collect::<Vec<_>>().join("\n"))
            }
            Activity::Processors => entries.processors.as_ref().map(|processors| describe_processors(processors, SHOWN)),
            Activity::Gpu => entries.gpu_memory.as_deref().filter(|gpu| !gpu.is_empty()).map(gpu_table),
            Activity::Counters => entries.counters.as_deref().filter(|counters| !counters.is_empty()).map(counters_table),
            Activity::Commit => commit.map(commit::describe),
            Activity::Faults => faults.map(faults::describe),
        };
        let (title, none) = what.words();
        text += &match described.filter(|text| !text.is_empty()) {
            Some(described) => format!("\n{title}{described}"),
            None => format!("\n{none} in this interval.\n"),
        };
    }
    text
}

impl Activity {
    /// The title above its table, and the beginning of the sentence that there is none.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Marks => ("", "No marks"),
            Self::Frames => ("", "No frames"),
            Self::Processors => ("", "No CPU samples"),
            Self::Gpu => ("GPU memory\n", "No GPU memory"),
            Self::Counters => ("Counters of programs\n", "No counters of programs"),
            Self::Commit => ("Commit\n", "No committed memory (VirtualAlloc)"),
            Self::Faults => ("Page faults\n", "No page faults"),
        }
    }
}

fn describe_marks(entries: &ActivityEntries) -> Option<String> {
    let marks = entries.marks.as_ref().filter(|marks| !marks.list.is_empty())?;
    let count = marks.list.len() + marks.left_out;
    let table = marks_table(&marks.list[..marks.list.len().min(SHOWN)]);
    let more = text::more(count.saturating_sub(SHOWN), ": highwater marks lists them");
    Some(format!("{}\n{table}{more}", format::plural(count as u64, "mark")))
}

/// Numbers that programs report as a table.
fn counters_table(counters: &[ReportedEntry]) -> String {
    let right = ["Last", "Least", "Most"].map(|name| (name, Align::Right));
    let mut table = Table::new(right.into_iter().chain(["Process", "Counter"].map(|name| (name, Align::Left))));
    let lives = counters.iter().map(|entry| (Some(entry.process.as_str()), Some(entry.pid), entry.process_start_s));
    for (entry, process) in counters.iter().zip(text::process_names(lives)).take(SHOWN) {
        let last = entry.to.map(|number| number.to_string()).unwrap_or_default();
        let cells = [last, entry.min.to_string(), entry.max.to_string(), process, entry.counter.clone()];
        table.line(cells.into(), Vec::new());
    }
    table.text() + &text::more(counters.len().saturating_sub(SHOWN), "")
}

/// GPU memory of processes as a table: bytes at the end of the interval and at the peak.
fn gpu_table(gpu: &[GpuEntry]) -> String {
    let right = ["Used", "Peak", "Budget", "Committed"].map(|name| (name, Align::Right));
    let mut table = Table::new(right.into_iter().chain(["Where", "Adapter", "Process"].map(|name| (name, Align::Left))));
    let lives = gpu.iter().map(|entry| (Some(entry.process.as_str()), Some(entry.pid), entry.process_start_s));
    for (entry, process) in gpu.iter().zip(text::process_names(lives)).take(SHOWN) {
        let bytes = |of: Option<StepNumbers>, what: fn(StepNumbers) -> u64| of.map(what).map(format::bytes).unwrap_or_default();
        let cells = [
            bytes(entry.usage, |numbers| numbers.to),
            bytes(entry.usage, |numbers| numbers.peak),
            bytes(entry.budget, |numbers| numbers.to),
            bytes(entry.commitment, |numbers| numbers.to),
            entry.segment_group.replace('_', "-"),
            entry.adapter.clone(),
            process,
        ];
        table.line(cells.into(), Vec::new());
    }
    table.text() + &text::more(gpu.len().saturating_sub(SHOWN), "")
}

fn process_cell(process: Option<&str>, pid: Option<u32>) -> String {
    text::process_names(std::iter::once((process, pid, None))).swap_remove(0)
}

/// The marks as a table. Texts can be long, so their column is the last.
fn marks_table(marks: &[MarkEntry]) -> String {
    let right = [("At", Align::Right), ("Lasts", Align::Right)];
    let mut table = Table::new(right.into_iter().chain(["Provider", "Process", "Text"].map(|name| (name, Align::Left))));
    for mark in marks {
        let lasts = mark.to_s - mark.from_s;
        let lasts = if lasts > 0.0 { text::seconds(lasts) } else { String::new() };
        let process = process_cell(mark.process.as_deref(), mark.pid);
        table.line(vec![text::seconds(mark.at_s), lasts, mark.provider.clone(), process, mark.text.clone()], Vec::new());
    }
    table.text()
}

/// Describes a swap chain in one line.
fn chain_line(chain: &ChainEntry) -> String {
    let process = plain(&process_cell(Some(&chain.process), Some(chain.pid)));
    let frames = format::plural(chain.frames as u64, "frame");
    let [mean, longest] = [chain.mean_s, chain.max_s].map(text::seconds);
    let mut line = format!("{process}, {}: {frames}, {mean} on average, the longest {longest}", chain.label);
    if chain.other_presents > 0 {
        let presents = format::plural(chain.other_presents, "present");
        line += &format!("; {presents} of {} are no frames", format::plural(chain.other_windows, "other window"));
    }
    line
}

fn describe_chain(ChainFrames { chain, layers }: &ChainFrames) -> String {
    let mut text = chain_line(chain) + "\n";
    for layer in layers {
        let PerFrame { allocated_count_per_frame: count, allocated_size_per_frame: size, .. } = layer.per_frame;
        text += &format!("  {}: {} in {count:.1} blocks allocated per frame", layer.layer, format::bytes(size.round() as u64));
        if layer.worst.is_empty() {
            text += "\n";
            continue;
        }
        text += "; those with most:\n";
        frames_table(layer.worst.iter()).lines().for_each(|line| text += &format!("  {line}\n"));
    }
    text
}

fn frames_table<'a>(frames: impl Iterator<Item = &'a FrameEntry>) -> String {
    let columns = ["Frame", "From", "Lasts", "Allocated", "Blocks", "Freed", "Blocks freed"];
    let mut table = Table::new(columns.map(|name| (name, Align::Right)));
    for frame in frames {
        let cells = [
            format::count(frame.number as u64),
            text::seconds(frame.from_s),
            text::seconds(frame.to_s - frame.from_s),
            format::bytes(frame.allocated_size),
            format::count(frame.allocated_count),
            format::bytes(frame.freed_size),
            format::count(frame.freed_count),
        ];
        table.line(cells.into(), Vec::new());
    }
    table.text()
}

fn sample_cells(samples: &SampleNumbers) -> [String; 3] {
    [format::percent(samples.share), format::count(samples.samples), text::seconds(samples.seconds)]
}

const SAMPLE_COLUMNS: [(&str, Align); 3] = [("CPU", Align::Right), ("Samples", Align::Right), ("Time", Align::Right)];

fn describe_processors(processors: &ProcessorEntries, shown: usize) -> String {
    let doubt = match processors.sampling_interval_is {
        IntervalOrigin::Assumed => " (assumed: the trace does not say)",
        IntervalOrigin::Changed => " (it changed: times are approximate)",
        IntervalOrigin::Told => "",
    };
    let every = format!("{} per CPU{doubt}", text::seconds(processors.sampling_interval_s));
    if processors.processes.is_empty() {
        return format!("No CPU samples here; one every {every}.\n");
    }
    let all = processors.processes.iter().map(|process| process.samples.samples).sum();
    let mut text = format!("{}, one every {every}\n", format::plural(all, "CPU sample"));
    let mut table = Table::new(SAMPLE_COLUMNS.into_iter().chain([("Process", Align::Left)]));
    let lives =
        processors.processes.iter().map(|process| (Some(process.process.as_str()), Some(process.pid), process.process_start_s));
    for (ProcessorEntry { samples, .. }, name) in processors.processes.iter().zip(text::process_names(lives)).take(shown) {
        table.line(sample_cells(samples).into_iter().chain([name]).collect(), Vec::new());
    }
    text += &table.text();
    text += &text::more(processors.processes.len().saturating_sub(shown), " processes");
    if processors.unknown > 0 {
        text += &format!("{} of threads whose process is not known\n", format::plural(processors.unknown, "sample"));
    }
    text
}
