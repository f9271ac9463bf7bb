//! `highwater findings`: what stands out in a capture, best first.

use clap::Args;
use serde::Serialize;

use super::asked::{Asked, IntervalInSeconds, Loaded, decides, stopped};
use super::{Failure, report_problems};
use crate::model::Trace;
use crate::query::{Cancel, Decides, Finding, findings};

#[derive(Args, Debug)]
pub(super) struct FindingsArgs {
    #[command(flatten)]
    pub(super) asked: Asked,

    /// Print JSON for programs
    #[arg(long)]
    pub(super) json: bool,

    /// Only the first N findings
    #[arg(long, value_name = "N")]
    pub(super) top: Option<usize>,
}

/// The answer. Field names are those of the machine interface.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    findings: Vec<Entry<'a>>,
    doubts: &'a [String],
}

#[derive(Serialize)]
struct Entry<'a> {
    kind: &'static str,
    process: String,
    pid: u32,
    layer: &'static str,
    heap: Option<String>,
    stack: &'a [String],
    function: Option<&'a str>,
    #[serde(flatten)]
    interval: IntervalInSeconds,
    bytes: u64,
    count: u64,
    rate_bytes_per_s: Option<f64>,
    period_s: Option<f64>,
    repeats: Option<u64>,
    text: &'a str,
    doubts: &'a [String],
}

pub(super) fn run(args: &FindingsArgs) -> Result<(), Failure> {
    args.asked.answer("findings", |loaded| answer(args, loaded))
}

fn answer(args: &FindingsArgs, loaded: &Loaded) -> Result<(), Failure> {
    let (names, unnamed) = loaded.names_and_missing(&args.asked, &[])?;
    let index = loaded.index()?;
    let decided = decides(&args.asked.filter(), &[], false).unwrap_or(Decides::Place);
    let doubts = loaded.doubts(&args.asked, &index, (&unnamed, Some(decided)))?;
    let trace = index.trace();
    let mask = args.asked.filter().named_mask(trace, &names, &Cancel::default()).map_err(stopped)?;
    let mut found = findings(&index, loaded.interval, &mask, &names, &Cancel::default()).map_err(stopped)?;
    found.truncate(args.top.unwrap_or(usize::MAX));
    report_problems(&trace.problems);
    if !args.json {
        return loaded.told.text(&(describe(&found) + &describe_doubts(&found, &doubts)));
    }
    let entries = found.iter().map(|finding| entry(trace, finding)).collect();
    loaded.told.json(&Answer { schema: "highwater.findings/1", findings: entries, doubts: &doubts })
}

fn entry<'a>(trace: &Trace, finding: &'a Finding) -> Entry<'a> {
    let process = trace.process(finding.process);
    Entry {
        kind: finding.kind.name(),
        process: process.label(),
        pid: process.pid.0,
        layer: finding.layer.name(),
        heap: finding.heap.and_then(|heap| trace.heap(heap).key()),
        stack: &finding.stack,
        function: finding.function.as_deref(),
        interval: IntervalInSeconds::of(&trace.clock, finding.interval),
        bytes: finding.bytes,
        count: finding.count,
        rate_bytes_per_s: finding.rate_bytes_per_s,
        period_s: finding.period_s,
        repeats: finding.repeats,
        text: &finding.text,
        doubts: &finding.doubts,
    }
}

/// What speaks against all of them and is not told with each.
fn describe_doubts(found: &[Finding], doubts: &[String]) -> String {
    let is_told = |doubt: &&String| !found.is_empty() && found.iter().all(|finding| finding.doubts.contains(doubt));
    let lines: String =
        doubts.iter().filter(|doubt| !is_told(doubt)).map(|doubt| format!("The numbers may be off: {doubt}.\n")).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// Frames of a place that are printed: the innermost.
const FRAMES: usize = 5;

/// The same for people: a paragraph each.
fn describe(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "Nothing stands out.\n".to_owned();
    }
    let paragraph = |finding: &Finding| {
        let mut text = format!("{}.\n", finding.text);
        finding.stack.iter().rev().take(FRAMES).for_each(|frame| text += &format!("    {frame}\n"));
        if finding.stack.len() > FRAMES {
            text += &format!("    … and {} more frames\n", finding.stack.len() - FRAMES);
        }
        finding.doubts.iter().for_each(|doubt| text += &format!("    But: {doubt}.\n"));
        text
    };
    findings.iter().map(paragraph).collect::<Vec<_>>().join("\n")
}
