//! `highwater processors`: processor samples by process, function or stack.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{SAMPLE_COLUMNS, TimeAsked, describe_processors, sample_cells};
use crate::cli::asked::{IntervalInSeconds, RulesFile, stopped};
use crate::cli::each::Told;
use crate::cli::for_programs::ForPrograms;
use crate::cli::text::{self, Align, Table};
use crate::cli::{Failure, symbols};
use crate::format;
use crate::model::{ProcessId, Quality, SiteId, Trace};
use crate::query::{
    Cancel, Fold, Functions, ProcessorEntries, SampleNumbers, SampledFunction, doubts, has_samples, processor_entries,
    sample_counts, sampled_functions, sampled_labels, sampled_stacks,
};
use crate::stack_rules::StackRules;
use crate::symbols::Names;
use crate::units::Interval;

#[derive(Args, Debug)]
pub(in crate::cli) struct ProcessorsArgs {
    #[command(flatten)]
    pub(in crate::cli) asked: TimeAsked,

    /// Group samples by process and this
    #[arg(long, value_enum, default_value_t)]
    by: By,

    /// Only the first N
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    /// Leave out the allocator's frames, and frames that rules fold of functions
    #[arg(long)]
    fold: bool,

    /// Where to find the PDBs for names of frames: folders, stores and servers as in _NT_SYMBOL_PATH
    #[arg(long, value_name = "PATH")]
    symbols: Option<String>,

    #[command(flatten)]
    rules: RulesFile,

    #[command(flatten)]
    programs: ForPrograms,
}

/// Groups of samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum By {
    /// Processes
    #[default]
    Process,
    /// Functions: what was run itself, and with all that it called
    Function,
    /// Stacks
    Stack,
}

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
struct Answer {
    schema: &'static str,
    interval: IntervalInSeconds,
    #[serde(flatten)]
    processors: ProcessorEntries,
    #[serde(skip_serializing_if = "Option::is_none")]
    functions: Option<Vec<FunctionEntry>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stacks: Option<Vec<StackEntry>>,
    quality: Quality,
    doubts: Vec<String>,
}

#[derive(Serialize)]
struct FunctionEntry {
    process: String,
    pid: u32,
    process_start_s: Option<f64>,
    function: String,
    #[serde(rename = "self")]
    own: SampleNumbers,
    total: SampleNumbers,
}

#[derive(Serialize)]
struct StackEntry {
    process: String,
    pid: u32,
    process_start_s: Option<f64>,
    /// Outermost frame first; empty if no stack was recorded.
    stack: Vec<String>,
    #[serde(flatten)]
    samples: SampleNumbers,
}

/// Lines in the text output unless `--top` is given.
const SHOWN: usize = 40;

pub(in crate::cli) fn run(args: &ProcessorsArgs) -> Result<(), Failure> {
    let rules = args.rules.read()?;
    args.asked.answer("processors", |capture, told| answer(args, capture, &rules, told))
}

fn answer(
    args: &ProcessorsArgs,
    (trace, interval): (&Arc<Trace>, Interval),
    rules: &Arc<StackRules>,
    told: &Told,
) -> Result<(), Failure> {
    let mut processors = processor_entries(trace, interval, args.asked.process());
    let top = args.top.unwrap_or(if args.programs.is_asked() { usize::MAX } else { SHOWN });
    let counts = sample_counts(trace, interval, args.asked.process());
    let names = || symbols::names_of_samples(trace, args.symbols.as_deref(), &counts).with_rules(Arc::clone(rules));
    let mut answer = match args.by {
        By::Process => (None, None),
        By::Function => (Some(functions(args, trace, interval, (&counts, &names()))?), None),
        By::Stack => (None, Some(stacks(trace, interval, (&counts, &names())))),
    };
    let count = match &answer {
        (Some(functions), _) => functions.len(),
        (_, Some(stacks)) => stacks.len(),
        _ => processors.processes.len(),
    };
    if args.by == By::Process && args.programs.is_asked() {
        processors.processes.truncate(top);
    }
    answer.0.iter_mut().for_each(|functions| functions.truncate(top));
    answer.1.iter_mut().for_each(|stacks| stacks.truncate(top));
    let (functions, stacks) = answer;
    if let Some(form) = args.programs.form() {
        let (quality, doubts) = (trace.quality, doubts(trace, interval.to));
        let interval = IntervalInSeconds::of(&trace.clock, interval);
        let answer = Answer { schema: "highwater.processors/1", interval, processors, functions, stacks, quality, doubts };
        return told.for_programs(form, &answer, &["processes", "functions", "stacks"]);
    }
    if !has_samples(trace) {
        return told.text("No CPU samples.\n");
    }
    let listed = if args.by == By::Process { top } else { super::SHOWN };
    let mut text = describe_processors(&processors, listed);
    if processors.idle > 0 {
        text += &format!("{} of idle CPUs in the whole trace\n", format::plural(processors.idle, "sample"));
    }
    if let Some(functions) = &functions {
        text += &format!("\n{}", functions_table(functions));
    }
    if let Some(stacks) = &stacks {
        text += &format!("\n{}", stacks_table(stacks));
    }
    if args.by != By::Process {
        text += &text::more(count.saturating_sub(top), &format!("; --top {count} shows them"));
    }
    told.text(&text)
}

fn life(trace: &Trace, id: ProcessId) -> (String, u32, Option<f64>) {
    let process = trace.process(id);
    (process.label(), process.pid.0, process.start.map(|at| trace.clock.seconds(at)))
}

fn functions(
    args: &ProcessorsArgs,
    trace: &Trace,
    interval: Interval,
    (counts, names): (&[u32], &Names),
) -> Result<Vec<FunctionEntry>, Failure> {
    let never = Cancel::default();
    let functions = Functions::of_samples(trace, names, Fold::allocator(args.fold), &never).map_err(stopped)?;
    let sums = sampled_functions(trace, &functions, counts, &never).map_err(stopped)?;
    let entry = |of: SampledFunction| {
        let (process, pid, process_start_s) = life(trace, of.process);
        let [own, total] = [of.own, of.total].map(|count| SampleNumbers::of(trace, interval, count));
        FunctionEntry { process, pid, process_start_s, function: functions.name(of.function).to_string(), own, total }
    };
    Ok(sums.into_iter().map(entry).collect())
}

fn stacks(trace: &Trace, interval: Interval, (counts, names): (&[u32], &Names)) -> Vec<StackEntry> {
    let entry = |(count, site): (u64, SiteId)| {
        let site = &trace.activity.samples.sites[site.0 as usize];
        let (process, pid, process_start_s) = life(trace, site.caller);
        let (stack, samples) = (sampled_labels(trace, names, site), SampleNumbers::of(trace, interval, count));
        StackEntry { process, pid, process_start_s, stack, samples }
    };
    sampled_stacks(trace, counts).into_iter().map(entry).collect()
}

/// The functions as a table. Names can be very long, so their column is the last.
fn functions_table(functions: &[FunctionEntry]) -> String {
    let own = [("Self", Align::Right), ("Process", Align::Left), ("Function", Align::Left)];
    let mut table = Table::new(SAMPLE_COLUMNS.into_iter().chain(own));
    let lives = functions.iter().map(|of| (Some(of.process.as_str()), Some(of.pid), of.process_start_s));
    for (of, process) in functions.iter().zip(text::process_names(lives)) {
        let own = [format::count(of.own.samples), process, of.function.clone()];
        table.line(sample_cells(&of.total).into_iter().chain(own).collect(), Vec::new());
    }
    table.text()
}

fn stacks_table(stacks: &[StackEntry]) -> String {
    let mut table = Table::new(SAMPLE_COLUMNS.into_iter().chain([("Process", Align::Left)]));
    let lives = stacks.iter().map(|of| (Some(of.process.as_str()), Some(of.pid), of.process_start_s));
    for (of, process) in stacks.iter().zip(text::process_names(lives)) {
        let frames =
            if of.stack.is_empty() { vec!["(no stack recorded)".to_owned()] } else { of.stack.iter().rev().cloned().collect() };
        table.line(sample_cells(&of.samples).into_iter().chain([process]).collect(), frames);
    }
    table.text()
}
