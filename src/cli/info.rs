//! `highwater info`: describes the contents of the files. Reads everything twice: in parallel to count what there is,
//! and in order, as a load does, to find problems. It needs the memory of a load whose trace has no memory events.

use std::path::Path;

use serde::Serialize;

use super::args::InfoArgs;
use super::asked::stopped;
use super::progress::Progress;
use super::providers::ProvidersAsked;
use super::text::{self, Align, Table};
use super::{Failure, kept, memory, output, report_problems};
use crate::etl::TraceFile;
use crate::etl::compression::Algorithm;
use crate::events::{EventCounts, ProviderCensus, ProviderSeen, Totals, TrackerProviders, survey_with_providers};
use crate::format::{self, plain};
use crate::load::{Capture, inspect, no_memory_events};
use crate::problem::{Problem, ProblemKind};
use crate::query::{input_doubts, losses};
use crate::units::Ticks;
use crate::utc::rfc3339;
use crate::windows_reader;

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
struct Info {
    schema: &'static str,
    files: Vec<FileInfo>,
    events: EventCounts,
    problems: Vec<Problem>,
    providers: Vec<Provider>,
    doubts: Vec<String>,
    #[serde(skip)]
    problem_count: u64,
    #[serde(skip)]
    providers_left_out: u64,
}

#[derive(Serialize)]
struct Provider {
    guid: String,
    name: Option<String>,
    events: u64,
}

#[derive(Serialize)]
struct FileInfo {
    path: String,
    bytes: u64,
    buffers: usize,
    compressed: bool,
    /// Only for the text output.
    #[serde(skip)]
    compression: Option<Algorithm>,
    format: &'static str,
    logger: String,
    os: String,
    processors: u32,
    pointer_size: u32,
    clock: &'static str,
    start_utc: Option<String>,
    duration_s: f64,
    events_lost: u32,
    buffers_lost: u32,
    copy_of: Option<String>,
    duplicate_events: u64,
    /// Only with `--with-windows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    with_windows: Option<Compared>,
    /// Only for the text output.
    #[serde(skip)]
    is_part: bool,
    /// Whether a part of the file is missing; only for the text output.
    #[serde(skip)]
    is_short: bool,
}

/// Events of a file as two readers count them.
#[derive(Serialize)]
struct Compared {
    /// Events that highwater finds.
    ours: u64,
    /// Events that Windows finds.
    windows: Option<u64>,
    /// Why Windows' number is not known.
    error: Option<String>,
}

pub(super) fn run(args: &InfoArgs) -> Result<(), Failure> {
    if args.with_windows && !cfg!(windows) {
        return Err(Failure::BadArguments(windows_reader::NOT_WINDOWS.to_owned()));
    }
    args.memory.watch(&args.files.inputs());
    let trackers = args.trackers.read()?;
    let place = kept::place(&args.files.inputs(), &ProvidersAsked::of(&args.trackers))?;
    if let Some(answer) = place.answer().filter(|_| args.json && !args.with_windows) {
        return output::document(&answer);
    }
    args.each.answer(&args.files.inputs(), |capture, told| {
        let info = gather(capture, &trackers, args.with_windows)?;
        memory::warn(capture, args.memory);
        report_problems(&info.problems);
        // The JSON answer names its files itself.
        if !args.json {
            return told.text(&describe(&info));
        }
        let answer = serde_json::to_string(&info).map_err(output::unanswered)? + "\n";
        if !args.with_windows {
            place.keep_answer(&answer);
        }
        output::document(&answer)
    })
}

fn gather(capture: &Capture, trackers: &TrackerProviders, with_windows: bool) -> Result<Info, Failure> {
    // The problems are those that a load finds, so that both report the same.
    let name = capture.files.first().map_or("", |file| file.name.as_str());
    let trace = inspect(capture, trackers, &mut Progress::new(format!("Reading {name}"))).map_err(stopped)?;
    let mut events = EventCounts::default();
    let mut files = Vec::new();
    let mut census = ProviderCensus::default();
    let copies = capture.copies().by_file();
    for (file, copied) in capture.files.iter().zip(&copies) {
        let (totals, of_file) = survey_with_providers(file, trackers);
        census = census.plus(of_file);
        events.add(&totals.counts);
        files.push(FileInfo {
            copy_of: copied.copy_of.map(|original| copies[original].file.clone()),
            duplicate_events: copied.duplicate_events,
            is_part: copied.is_part,
            with_windows: with_windows.then(|| compare(file, totals.counts.total)),
            ..file_info(capture, file, &totals)
        });
    }
    let provider = |ProviderSeen { guid, name, events, .. }| Provider { guid: guid.to_string(), name, events };
    let is_short = |problem: &&Problem| matches!(problem.kind, ProblemKind::MissingBuffers | ProblemKind::TruncatedBuffer);
    for problem in trace.problems.iter().filter(is_short) {
        files.iter_mut().filter(|file| file.path == problem.file).for_each(|file| file.is_short = true);
    }
    let doubts = losses(&trace, Ticks::NEVER).into_iter().chain(input_doubts(&trace.problems)).collect();
    Ok(Info {
        schema: "highwater.info/1",
        files,
        events,
        problem_count: trace.quality.problems,
        problems: trace.problems,
        providers: census.list().into_iter().map(provider).collect(),
        providers_left_out: census.left_out(),
        doubts,
    })
}

/// Has Windows count the events of a file.
fn compare(file: &TraceFile, ours: u64) -> Compared {
    let path = Path::new(&file.name);
    let counted = match file.container {
        "etl" if path.is_file() => windows_reader::count_events(path),
        _ => Err("Windows reads only .etl files that are in no archive".to_owned()),
    };
    match counted {
        Ok(windows) => Compared { ours, windows: Some(windows), error: None },
        Err(reason) => Compared { ours, windows: None, error: Some(reason) },
    }
}

/// The comparison in words.
fn describe_compared(Compared { ours, windows, error }: &Compared) -> String {
    let reason = error.as_deref().unwrap_or("no reason is known");
    match windows {
        Some(windows) if windows == ours => format!("finds {} events, as highwater does", format::count(*ours)),
        Some(windows) => format!("finds {} events, highwater {}", format::count(*windows), format::count(*ours)),
        None => format!("was not compared: {}", plain(reason)),
    }
}

fn file_info(capture: &Capture, file: &TraceFile, totals: &Totals) -> FileInfo {
    let header = &file.header;
    let (major, minor, build) = header.os;
    let trace_start = capture.trace_start();
    let last = totals.times.map_or(header.start_ticks, |(_, last)| last).max(trace_start);
    FileInfo {
        path: file.name.clone(),
        bytes: file.bytes,
        buffers: file.buffers.len(),
        compressed: header.is_compressed(),
        compression: file.compression,
        format: file.container,
        logger: header.logger.clone(),
        os: format!("{major}.{minor}.{build}"),
        processors: header.processors,
        pointer_size: header.pointer_size,
        clock: header.clock.name(),
        start_utc: rfc3339(header.start_time),
        duration_s: capture.clock().seconds(Ticks::from_raw(last, trace_start)),
        events_lost: header.events_lost,
        buffers_lost: header.buffers_lost,
        copy_of: None,
        duplicate_events: 0,
        with_windows: None,
        is_part: false,
        is_short: false,
    }
}

/// The contents of the files as text.
fn describe(info: &Info) -> String {
    let mut text = String::new();
    for file in &info.files {
        text += &describe_file(file);
    }
    text += &describe_events(&info.events);
    if !info.events.has_memory_events() {
        text += &format!("\nNo memory events: {}.\n", no_memory_events(&info.events));
    }
    text + &describe_providers(info) + &describe_problems(info)
}

fn describe_file(file: &FileInfo) -> String {
    let compressed = match file.compression {
        Some(form) => format!(", compressed ({})", form.name()),
        None => String::new(),
    };
    let session = if file.logger.is_empty() { String::new() } else { format!("{}, ", file.logger) };
    let lost = match (file.events_lost, file.buffers_lost) {
        (0, 0) if file.is_short => "nothing according to the file, but a part of it is missing".to_owned(),
        (0, 0) => "nothing".to_owned(),
        (events, buffers) => {
            format!("{}: totals after the first loss are bounds", format::losses(events.into(), buffers.into()))
        }
    };
    let mut table = Table::new([("", Align::Left), ("", Align::Left)]);
    let mut line = |name: &str, value: String| table.line(vec![format!("  {name}"), value], vec![]);
    line("size", format!("{} in {}{compressed}", format::bytes(file.bytes), format::plural(file.buffers as u64, "buffer")));
    line(
        "session",
        format!(
            "{session}Windows {}, {}, {} bits",
            file.os,
            format::plural(file.processors.into(), "processor"),
            u64::from(file.pointer_size) * 8
        ),
    );
    line("time", format!("{}, {}", file.start_utc.as_deref().unwrap_or("start unknown"), text::seconds(file.duration_s)));
    line("lost", lost);
    match (&file.copy_of, file.duplicate_events) {
        (Some(original), _) => line("contents", format::repeats(original, file.is_part)),
        (None, 0) => {}
        (None, events) => line("contents", format!("{} recorded more than once", format::plural(events, "event"))),
    }
    if let Some(compared) = &file.with_windows {
        line("Windows", describe_compared(compared));
    }
    format!("{}\n{}\n", plain(&file.path), table.text())
}

/// A table of events: their number, and that of each kind that occurs.
fn describe_events(events: &EventCounts) -> String {
    let mut table = Table::new([("", Align::Left), ("", Align::Right)]);
    table.line(vec!["events".into(), format::count(events.total)], vec![]);
    for (name, n) in events.named() {
        if n > 0 && name != "total" {
            table.line(vec![format!("  {}", name.replace('_', " ")), format::count(n)], vec![]);
        }
    }
    table.text()
}

/// The other providers that wrote events, which `--marks` can name.
fn describe_providers(info: &Info) -> String {
    const SHOWN: usize = 20;
    let all = info.providers.len();
    if all == 0 {
        return String::new();
    }
    let mut table = Table::new([("", Align::Left), ("", Align::Right), ("", Align::Left)]);
    for Provider { guid, name, events } in info.providers.iter().take(SHOWN) {
        let name = name.as_deref().unwrap_or("(no name in the trace)");
        table.line(vec![format!("  {{{guid}}}"), format::count(*events), name.to_owned()], vec![]);
    }
    let mut text = format!("\n{}\n{}", format::plural(all as u64, "provider"), table.text());
    if all > SHOWN {
        text += &format!("  and {} more: --json lists them\n", format::count((all - SHOWN) as u64));
    }
    if info.providers_left_out > 0 {
        text += &format!("  and {} of still others\n", format::plural(info.providers_left_out, "event"));
    }
    text
}

fn describe_problems(info: &Info) -> String {
    const SHOWN: usize = 20;
    if info.problem_count == 0 {
        return String::new();
    }
    let mut text = format!("\n{}\n", format::plural(info.problem_count, "problem"));
    for problem in info.problems.iter().take(SHOWN) {
        text += &format!("  {} at {:#x}: {}\n", plain(&problem.file), problem.offset, plain(&problem.detail));
    }
    match info.problem_count.saturating_sub(SHOWN as u64) {
        0 => text,
        n => text + &format!("  and {} more: --json lists them\n", format::count(n)),
    }
}
