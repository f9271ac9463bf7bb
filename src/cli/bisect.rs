//! `highwater bisect`: the builds at which memory shifted, from the tables of many captures.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;

use clap::Args;
use serde::Serialize;

use super::progress::{Progress, Quiet};
use super::ranges::Bytes;
use super::text::{self, Align, Table};
use super::words::one_of;
use super::{Failure, output};
use crate::format::{self, plural};
use crate::units::Layer;
use highwater_bisect::{Answer, BisectError, BuildShift, Kind, Measure, Question, bisect, shifts::shuffles};

#[derive(Args, Debug)]
pub(super) struct BisectArgs {
    /// Folder of tables, as `export --format parquet` writes them
    #[arg(value_name = "LAKE")]
    lake: PathBuf,

    /// Tag that names the build of a capture
    #[arg(long, value_name = "KEY", default_value = "build")]
    tag: String,

    /// Bytes that are compared: alive at the end, or allocated in an average `frame` or `mark:TEXT`
    #[arg(long, value_name = "MEASURE", default_value = "end", value_parser = measure)]
    per: Measure,

    /// Only processes of this name
    #[arg(long, value_name = "NAME")]
    process: Option<String>,

    /// Only this layer
    #[arg(long, value_parser = one_of(&Layer::ALL, Layer::name), ignore_case = true)]
    layer: Option<Layer>,

    /// Chance of a false alarm that is accepted, of all callers together
    #[arg(long, value_name = "RATE", default_value = "0.01", value_parser = rate)]
    rate: f64,

    /// Least difference that is reported
    #[arg(long, value_name = "SIZE", default_value = "1K")]
    at_least: Bytes,

    /// Largest number of shifts
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    quiet: Quiet,
}

fn measure(text: &str) -> Result<Measure, String> {
    match text.split_once(':') {
        Some(("mark", "")) => Err("mark: wants the text of a mark behind it".to_owned()),
        Some(("mark", text)) => Ok(Measure::Mark(text.to_owned())),
        None if text == "end" => Ok(Measure::End),
        None if text == "frame" => Ok(Measure::Frame),
        _ => Err("not one of end, frame, mark:TEXT".to_owned()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.strip_suffix('%').map_or_else(|| text.parse().ok(), |part| Some(part.trim().parse::<f64>().ok()? / 100.0));
    rate.filter(|rate| (0.0001..=0.5).contains(rate)).ok_or_else(|| "not a rate from 0.0001 to 0.5, like 0.01 or 1%".to_owned())
}

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
struct Printed<'a> {
    schema: &'static str,
    shifts: Vec<PrintedShift<'a>>,
    builds: &'a [String],
    captures: usize,
    machines: usize,
    compared: usize,
    rate: f64,
    doubts: Vec<String>,
}

#[derive(Serialize)]
struct PrintedShift<'a> {
    process: &'a str,
    responsible: &'a str,
    source: Option<PrintedLine<'a>>,
    layer: &'a str,
    kind: &'static str,
    from_build: &'a str,
    to_build: &'a str,
    before: u64,
    after: u64,
    p: f64,
    stack: Vec<&'a str>,
    builds: Vec<PrintedMean<'a>>,
}

#[derive(Serialize)]
struct PrintedLine<'a> {
    file: &'a str,
    line: Option<u32>,
}

#[derive(Serialize)]
struct PrintedMean<'a> {
    build: &'a str,
    captures: usize,
    bytes: f64,
}

impl<'a> From<&'a BuildShift> for PrintedShift<'a> {
    fn from(shift: &'a BuildShift) -> Self {
        Self {
            process: &shift.source.process,
            responsible: &shift.source.responsible,
            source: shift.line.as_ref().map(|(file, line)| PrintedLine { file, line: *line }),
            layer: shift.source.layer.name(),
            kind: match shift.kind {
                Kind::Step => "step",
                Kind::Drift => "drift",
            },
            from_build: &shift.from_build,
            to_build: &shift.to_build,
            before: shift.before.round() as u64,
            after: shift.after.round() as u64,
            p: shift.p,
            stack: shift.stack.as_deref().map(|text| text.split(';').collect()).unwrap_or_default(),
            builds: shift
                .builds
                .iter()
                .map(|mean| PrintedMean { build: &mean.build, captures: mean.captures, bytes: mean.bytes })
                .collect(),
        }
    }
}

pub(super) fn run(args: &BisectArgs) -> Result<(), Failure> {
    args.quiet.apply();
    let question = Question {
        tag: args.tag.clone(),
        measure: args.per.clone(),
        process: args.process.clone(),
        layer: args.layer,
        rate: args.rate,
        at_least: args.at_least.0 as f64,
    };
    let progress = Mutex::new(Progress::new(format!("Reading {}", args.lake.display())));
    let tell = |done: usize, total: usize| {
        progress.lock().unwrap_or_else(PoisonError::into_inner).at(done as u64, total as u64);
        true
    };
    let mut answer = bisect(&args.lake, &question, &tell).map_err(|error| failure(&error))?;
    drop(progress);
    let doubts = doubts(args, &answer);
    let left_out = args.top.map_or(0, |top| answer.shifts.len().saturating_sub(top));
    answer.shifts.truncate(args.top.unwrap_or(usize::MAX));
    if args.json {
        return output::json(&Printed {
            schema: "highwater.bisect/1",
            shifts: answer.shifts.iter().map(PrintedShift::from).collect(),
            builds: &answer.builds,
            captures: answer.captures,
            machines: answer.machines,
            compared: answer.compared,
            rate: args.rate,
            doubts,
        });
    }
    doubts.iter().for_each(|doubt| output::message(doubt));
    output::answer(&describe(args, &answer, left_out))
}

fn failure(error: &BisectError) -> Failure {
    match error {
        BisectError::Missing(_) => Failure::BadArguments(error.to_string()),
        _ => Failure::Failed(error.to_string()),
    }
}

/// Sentences that say why the answer may be wrong or not whole.
fn doubts(args: &BisectArgs, answer: &Answer) -> Vec<String> {
    let mut doubts = Vec::new();
    if answer.without_build > 0 {
        let captures = plural(answer.without_build as u64, "capture");
        doubts.push(format!("{captures} without the tag {} left out", args.tag));
    }
    for process in &answer.too_few {
        doubts.push(format!(
            "{process}: too few captures to find shifts with one false alarm in {:.0}; add builds, or captures of each build",
            1.0 / args.rate
        ));
    }
    if answer.is_machine_unknown {
        doubts.push("captures without a machine name count as one machine; export --tag machine=NAME names it".to_owned());
    }
    if answer.not_compared > 0 {
        doubts.push(format!("{} with fewer bytes left out", plural(answer.not_compared as u64, "caller")));
    }
    doubts
}

fn describe(args: &BisectArgs, answer: &Answer, left_out: usize) -> String {
    let of = format!(
        "{} of {} on {}, {} compared",
        plural(answer.captures as u64, "capture"),
        plural(answer.builds.len() as u64, "build"),
        plural(answer.machines as u64, "machine"),
        plural(answer.compared as u64, "caller"),
    );
    if answer.shifts.is_empty() {
        return format!("No shift: {of}.\n");
    }
    let left = ["Responsible caller", "Process", "Layer", "Builds"].map(|name| (name, Align::Left));
    let right = ["Change", "Before", "After", "p"].map(|name| (name, Align::Right));
    let mut table = Table::new(left.into_iter().chain(right));
    for shift in &answer.shifts {
        let bytes = |bytes: f64| format::bytes(bytes.round() as u64);
        let change = (shift.after - shift.before).round() as i64;
        let arrow = if shift.kind == Kind::Step { "→" } else { "⇢" };
        let cells = [
            shift.source.responsible.clone(),
            shift.source.process.clone(),
            shift.source.layer.name().to_owned(),
            format!("{} {arrow} {}", shift.from_build, shift.to_build),
            format::signed_bytes(change),
            bytes(shift.before),
            bytes(shift.after),
            format!("{:.4}", shift.p),
        ];
        table.line(cells.into(), notes(shift));
    }
    let drifts = answer.shifts.iter().any(|shift| shift.kind == Kind::Drift);
    let drifts = if drifts { "⇢: a gradual change over these builds, not a step.\n" } else { "" };
    let rate = format!("{}%", args.rate * 100.0);
    let shuffles = format::count(shuffles(args.rate) as u64);
    format!(
        "{}{}{drifts}{of}. If nothing had shifted, a list like this would still appear once in {:.0} times ({rate}, {shuffles} shuffles).\n",
        table.text(),
        text::more(left_out, "; a larger --top shows them"),
        1.0 / args.rate
    )
}

/// The source line, and the stack from the outermost frame.
fn notes(shift: &BuildShift) -> Vec<String> {
    let line = shift.line.as_ref().map(|(file, line)| match line {
        Some(line) => format!("{file}:{line}"),
        None => file.clone(),
    });
    line.into_iter().chain(shift.stack.as_ref().map(|stack| stack.replace(';', " › "))).collect()
}
