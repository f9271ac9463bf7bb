//! `highwater findings`: lists what stands out in a capture, best first, without the findings that a team has accepted.

use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use super::asked::{Asked, IntervalInSeconds, Loaded, decides, stopped};
use super::for_programs::ForPrograms;
use super::outputs::{BaselineArgs, Replace};
use super::report::{describe_silent, silent_sentences};
use super::words::one_of;
use super::{Failure, report_problems};
use crate::format::{self, plain};
use crate::limits::{Accepted, Baseline};
use crate::model::{Quality, Trace};
use crate::query::{
    Bucket, Cancel, Decides, Finding, FindingKind, Fold, FrameAddress, Habit, Index, Mask, Measured, MeasuredRequest, SourceLine,
    findings, totals,
};
use crate::symbols::Names;

#[derive(Args, Debug)]
pub(super) struct FindingsArgs {
    #[command(flatten)]
    pub(super) asked: Asked,

    #[command(flatten)]
    pub(super) programs: ForPrograms,

    /// Only the first N findings
    #[arg(long, value_name = "N")]
    pub(super) top: Option<usize>,

    /// Only findings of these kinds
    #[arg(long, value_name = "KINDS", value_parser = one_of(&FindingKind::ALL, FindingKind::name), value_delimiter = ',')]
    kind: Vec<FindingKind>,

    #[command(flatten)]
    pub(super) known: BaselineArgs,

    #[command(flatten)]
    replace: Replace,
}

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    findings: Vec<Entry<'a>>,
    /// Number of findings that a baseline holds back; `unused` has its entries that fit nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unused: Option<Vec<&'a Accepted>>,
    /// Allocators of which no blocks are seen, a sentence each.
    silent_allocators: Vec<String>,
    quality: Quality,
    doubts: &'a [String],
}

#[derive(Serialize)]
struct Entry<'a> {
    kind: &'static str,
    /// Which habit; only of habits.
    #[serde(skip_serializing_if = "Option::is_none")]
    habit: Option<&'static str>,
    process: String,
    pid: u32,
    layer: &'static str,
    heap: Option<String>,
    stack: &'a [String],
    /// Module and address of each frame of `stack`, where known.
    addresses: &'a [Option<FrameAddress>],
    function: Option<&'a str>,
    source: Option<&'a SourceLine>,
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
    let _read = args.known.check(args.replace)?;
    args.asked.answer("findings", |loaded| answer(args, loaded))
}

fn answer(args: &FindingsArgs, loaded: &Loaded) -> Result<(), Failure> {
    let (names, unnamed) = loaded.names_and_missing(&args.asked, &[])?;
    let index = loaded.index_for_graphs()?;
    let decided = decides(&args.asked.filter(), &[], false).unwrap_or(Decides::Responsible);
    let doubts = loaded.doubts(&args.asked, &index, (&unnamed, Some(decided)))?;
    let trace = index.trace();
    let mask = args.asked.filter().named_mask(trace, &names, &Cancel::default()).map_err(stopped)?;
    let mut found = findings(&index, loaded.interval, &mask, &names, &Cancel::default()).map_err(stopped)?;
    found.retain(|finding| args.kind.is_empty() || args.kind.contains(&finding.kind));
    args.known.write(args.replace, || Baseline::of(found.iter().map(|finding| Accepted::finding(trace, finding))))?;
    let mut known = args.known.read()?;
    let before = found.len();
    if let Some(known) = &mut known {
        found.retain(|finding| !known.holds_back(&Accepted::finding(trace, finding)));
    }
    let held = before - found.len();
    let left = if args.programs.is_asked() { None } else { at_exit(&index, loaded, &mask, &names)? };
    let at_exit = left.as_deref().map_or_else(|| describe_growing(&found), |left| describe_left(left, &found));
    found.truncate(args.top.unwrap_or(usize::MAX));
    report_problems(&trace.problems);
    if let Some(form) = args.programs.form() {
        let entries = found.iter().map(|finding| entry(trace, finding)).collect();
        let (accepted, unused) = (known.as_ref().map(|_| held), known.as_ref().map(Baseline::unused));
        let (schema, quality, doubts) = ("highwater.findings/1", trace.quality, doubts.as_slice());
        let silent_allocators = silent_sentences(trace, &names);
        let answer = Answer { schema, findings: entries, accepted, unused, silent_allocators, quality, doubts };
        return loaded.told.for_programs(form, &answer, &["findings"]);
    }
    let held = known.map_or_else(String::new, |known| held_back(held, &known));
    loaded
        .told
        .text(&(at_exit + &describe(&found, trace) + &held + &describe_doubts(&found, &doubts) + &describe_silent(trace, &names)))
}

/// Describes the effect of a baseline, in sentences.
fn held_back(count: usize, known: &Baseline) -> String {
    let mut text = match count {
        0 => String::new(),
        count => format!("\n{} accepted by the baseline.\n", format::plural(count as u64, "finding")),
    };
    known.unused().iter().for_each(|entry| text += &format!("Unused baseline entry: {}.\n", entry.words()));
    text
}

/// Places with leaks that are listed first.
const LEAKS: usize = 4;

/// A size in blocks.
fn size(bytes: u64, count: u64) -> String {
    format!("{} in {}", format::bytes(bytes), format::plural(count, "block"))
}

/// A growth in bytes per second.
fn rate(bytes_per_s: f64) -> String {
    format!("{}/s", format::bytes(bytes_per_s.max(0.0) as u64))
}

/// The innermost frame of a finding's place, with its source line.
fn place(finding: &Finding) -> String {
    finding.frames_with_source().next().map_or_else(|| "(no stack recorded)".to_owned(), |frame| plain(&frame))
}

/// Memory that ended processes did not free, and the places that left most: first those that grew until then, which are
/// leaks more surely than what was allocated once. Layers are never added together.
fn describe_left(left: &[(&'static str, Bucket)], found: &[Finding]) -> String {
    if left.is_empty() {
        return "Everything was freed at exit.\n\n".to_owned();
    }
    let layers: Vec<String> = left.iter().map(|(layer, sum)| format!("{} ({layer})", size(sum.size, sum.count))).collect();
    let mut leaks: Vec<(&Finding, Option<f64>)> = found
        .iter()
        .filter(|finding| finding.kind == FindingKind::AtExit)
        .map(|finding| (finding, growth_of(finding, found)))
        .collect();
    leaks.sort_by_key(|(_, growth)| growth.is_none()); // stable: the largest first
    let line = |(finding, growth): &(&Finding, Option<f64>)| {
        let growth = growth.map_or_else(String::new, |growth| format!(", growing by {}", rate(growth)));
        format!("    {}{growth}: {}\n", size(finding.bytes, finding.count), place(finding))
    };
    let listed = &leaks[..leaks.len().min(LEAKS)];
    let mut text = format!("Not freed at exit: {}.\n", layers.join(", "));
    text.extend(listed.iter().map(line));
    if let [(_, sum)] = left {
        let of_listed = |of: fn(&Finding) -> u64| listed.iter().map(|(finding, _)| of(finding)).sum::<u64>();
        let (bytes, count) = (of_listed(|finding| finding.bytes), of_listed(|finding| finding.count));
        let rest = (sum.size.saturating_sub(bytes), sum.count.saturating_sub(count));
        if !listed.is_empty() && rest.1 > 0 {
            text += &format!("    {}: other places\n", size(rest.0, rest.1));
        }
    }
    text + "\n"
}

/// The places that grew most, of processes that were not seen to end: what they leak is not known before they do.
fn describe_growing(found: &[Finding]) -> String {
    let grew: Vec<&Finding> = found.iter().filter(|finding| finding.kind == FindingKind::Growth).take(LEAKS).collect();
    let line = |finding: &&Finding| {
        let rate = rate(finding.rate_bytes_per_s.unwrap_or(0.0));
        format!("    {}, by {rate}: {}\n", size(finding.bytes, finding.count), place(finding))
    };
    if grew.is_empty() { String::new() } else { format!("Growing steadily:\n{}\n", grew.iter().map(line).collect::<String>()) }
}

/// The growth that another finding states for the place of this one, in bytes per second.
fn growth_of(leak: &Finding, found: &[Finding]) -> Option<f64> {
    let is_it = |other: &&Finding| {
        other.kind == FindingKind::Growth && (other.process, other.heap, other.node) == (leak.process, leak.heap, leak.node)
    };
    found.iter().find(is_it)?.rate_bytes_per_s
}

/// Memory that ended processes did not free, by layer; `None` if no process ended.
fn at_exit(index: &Index, loaded: &Loaded, mask: &Mask, names: &Names) -> Result<Option<Vec<(&'static str, Bucket)>>, Failure> {
    let (interval, never) = (loaded.interval, Cancel::default());
    let totals = Arc::new(totals(index, interval, &never).map_err(stopped)?);
    let asked = MeasuredRequest {
        interval,
        by: &[],
        mask,
        fold: Fold::Nothing,
        growth: false,
        at_exit: true,
        pages: false,
        unknown: false,
        totals: &totals,
    };
    let measured = Measured::of(index, asked, names, &never).map_err(stopped)?;
    if measured.at_exit.iter().all(Option::is_none) {
        return Ok(None);
    }
    let left = measured.groups.iter().zip(&measured.at_exit).map(|(group, left)| (group.layer, left.unwrap_or_default()));
    Ok(Some(left.filter(|(_, left)| left.count > 0).collect()))
}

fn entry<'a>(trace: &Trace, finding: &'a Finding) -> Entry<'a> {
    let process = trace.process(finding.process);
    Entry {
        kind: finding.kind.name(),
        habit: finding.habit.map(Habit::name),
        process: process.label(),
        pid: process.pid.0,
        layer: finding.layer.name(),
        heap: finding.heap.and_then(|heap| trace.heap(heap).key()),
        stack: &finding.stack,
        addresses: &finding.addresses,
        function: finding.function.as_deref(),
        source: finding.source.as_ref(),
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

/// Doubts about the findings, except those that are printed with every finding.
fn describe_doubts(found: &[Finding], doubts: &[String]) -> String {
    let is_told = |doubt: &&String| !found.is_empty() && found.iter().all(|finding| finding.doubts.contains(doubt));
    let lines: String =
        doubts.iter().filter(|doubt| !is_told(doubt)).map(|doubt| format!("The numbers may be off: {doubt}.\n")).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// Frames of a place that are printed: the innermost.
const FRAMES: usize = 5;

/// The order of several findings.
const ORDER: &str = "Findings, the largest part of their process's memory first; then spikes, churn and sparse pages, peaks and habits. \
                     A place can have several.\n\n";

/// The findings as text, a paragraph each.
fn describe(findings: &[Finding], trace: &Trace) -> String {
    if findings.is_empty() {
        return match trace.rows.is_empty() {
            true => "No allocations to look at.\n",
            false => "Nothing stands out.\n",
        }
        .to_owned();
    }
    let paragraph = |finding: &Finding| {
        let mut text = format!("{}.\n", plain(&finding.text));
        finding.frames_with_source().take(FRAMES).for_each(|frame| text += &format!("    {}\n", plain(&frame)));
        if finding.stack.len() > FRAMES {
            text += &format!("    … and {} more\n", format::plural((finding.stack.len() - FRAMES) as u64, "frame"));
        }
        finding.doubts.iter().for_each(|doubt| text += &format!("    But: {}.\n", plain(doubt)));
        text
    };
    let order = if findings.len() > 1 { ORDER } else { "" };
    order.to_owned() + &findings.iter().map(paragraph).collect::<Vec<_>>().join("\n")
}
