//! `highwater report`: prints the numbers of the window's tables for one interval.

use std::path::PathBuf;

use clap::Args;

use super::activity::{self, Activity};
use super::asked::{Asked, GroupsAsked, IntervalInSeconds, Loaded, decides, needs_names, stopped};
use super::for_programs::{ForPrograms, Form};
use super::outputs::{Replace, check_file_out, write_out};
use super::page::Question;
use super::text::{self, Align, Table};
use super::{Failure, output, report_problems, unmatched};
use crate::export::{self, Exported, html};
use crate::format;
use crate::load::Input;
use crate::model::{Quality, Trace};
use crate::query::{
    ActivityEntries, By, Cancel, CommitEntry, FaultEntries, Fold, FrameCounts, Group, Report, ReportRequest, SourceLine,
    commit_entries, fault_entries, has_faults, losses, named_report, silent_allocators, touched_doubt,
};
use crate::symbols::Names;
use crate::units::Interval;

#[derive(Args, Debug)]
pub(super) struct ReportArgs {
    #[command(flatten)]
    pub(super) asked: Asked,

    #[command(flatten)]
    pub(super) programs: ForPrograms,

    #[command(flatten)]
    pub(super) groups: GroupsAsked,

    /// With --by function and module: skip the allocator's frames, and frames that rules fold
    #[arg(long)]
    pub(super) fold: bool,

    /// With --by stack: show source file and line of each frame
    #[arg(long)]
    pub(super) sources: bool,

    /// Also show this activity below the table; JSON always has all of it but commit and faults
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT", conflicts_with_all = ["html", "unmatched"])]
    with: Vec<Activity>,

    /// List frees without a known allocation (allocated before the trace, or lost), by who freed [default of --by:
    /// process,heap,stack]
    #[arg(long, conflicts_with_all = ["html", "sources"])]
    unmatched: bool,

    /// Write an HTML page instead: table, graph and findings in one self-contained file
    #[arg(long, value_name = "OUT.html", conflicts_with_all = ["json", "ndjson"])]
    html: Option<PathBuf>,

    #[command(flatten)]
    replace: Replace,
}

pub(super) fn run(args: &ReportArgs) -> Result<(), Failure> {
    if let Some(out) = &args.html {
        args.asked.each.refuse()?;
        check_file_out(out, args.replace.existing())?;
    }
    if args.unmatched {
        unmatched::check(&args.asked, &args.groups.by).map_err(Failure::BadArguments)?;
        return args.asked.answer("report", |loaded| unmatched::answer(args, loaded));
    }
    args.asked.answer("report", |loaded| answer(args, loaded))
}

fn answer(args: &ReportArgs, loaded: &Loaded) -> Result<(), Failure> {
    let request = ReportRequest {
        interval: loaded.interval,
        by: args.groups.by.clone(),
        filter: args.asked.filter(),
        top: args.groups.top,
        fold: Fold::allocator(args.fold),
        sources: args.sources,
    };
    let never = Cancel::default();
    let faults = args.with.contains(&Activity::Faults) && has_faults(&loaded.trace);
    // The findings of a page have names.
    let shows_names = args.html.is_some()
        || needs_names(&request.filter, &args.groups.by)
        || (args.fold && args.groups.by.contains(&By::Module))
        || args.with.contains(&Activity::Commit)
        || faults;
    let (names, unnamed) = match shows_names {
        true => loaded.names_and_missing_with(&args.asked, &args.groups.by, faults)?,
        false => Default::default(),
    };
    // A page has findings.
    let index = if args.html.is_some() { loaded.index_for_graphs()? } else { loaded.index()? };
    let mut doubts = loaded.doubts(&args.asked, &index, (&unnamed, decides(&request.filter, &args.groups.by, args.fold)))?;
    let trace = index.trace();
    report_problems(&trace.problems);
    doubts.extend(touched_doubt(trace).filter(|_| faults).map(str::to_owned));
    if let Some(form) = args.programs.form() {
        let exported = Exported::new(&index, &names, &request, &never).map_err(stopped)?.about(doubts, loaded.told.files());
        let exported = exported.with_commit(args.with.contains(&Activity::Commit)).with_faults(faults);
        let write = match form {
            Form::Json => export::json,
            Form::Lines => export::ndjson,
        };
        return output::stream(|out| write(&exported, out)).map_err(output::unanswered);
    }
    let request = ReportRequest { top: Some(request.top.unwrap_or(SHOWN)), ..request };
    let report = named_report(&index, &request, &names, &never).map_err(stopped)?;
    if let Some(out) = &args.html {
        let table = table(&args.groups.by, &report.groups, &FrameCounts::default());
        let files = args.asked.files.inputs().iter().map(Input::name).collect();
        let page =
            Question { files, loaded, index: &index, names: &names, filter: &request.filter, doubts }.page(&report, table)?;
        return write_out(out, args.replace.existing(), "the page", |file| html::write(&page, file));
    }
    let besides = if args.with.is_empty() {
        ActivityEntries::default()
    } else {
        let mask = request.filter.named_mask(trace, &names, &never).map_err(stopped)?;
        let worst = (&mask, args.groups.top.unwrap_or(WORST));
        ActivityEntries::of(&index, loaded.interval, args.asked.process(), worst, &never).map_err(stopped)?
    };
    let commit = match args.with.contains(&Activity::Commit) {
        true => {
            commit_entries(&index.choosing(None), &names, loaded.interval.to, args.asked.process(), &never).map_err(stopped)?
        }
        false => None,
    };
    let commit = commit.as_deref().filter(|entries| !entries.is_empty());
    let faults = match faults {
        true => fault_entries(&index.choosing(None), &names, loaded.interval, args.asked.process(), &never).map_err(stopped)?,
        false => None,
    };
    let faults = faults.as_ref().filter(|entries| !entries.is_empty());
    loaded.told.text(
        &(describe(args, trace, &report, (&besides, commit, faults))
            + &describe_quality((trace, &names), report.interval, &doubts)),
    )
}

/// Frames per swap chain and layer in the text output unless `--top` is given.
const WORST: usize = 3;

/// Groups in the text output unless `--top` is given.
const SHOWN: usize = 40;

/// The report as text.
fn describe(
    args: &ReportArgs,
    trace: &Trace,
    report: &Report,
    (besides, commit, faults): (&ActivityEntries, Option<&[CommitEntry]>, Option<&FaultEntries>),
) -> String {
    let IntervalInSeconds { from_s, to_s } = IntervalInSeconds::of(&trace.clock, report.interval);
    let mut text = format!("{} to {}\n\n", text::seconds(from_s), text::seconds(to_s));
    if report.count == 0 {
        text += "No matching allocations in this interval.\n";
    } else {
        let none = FrameCounts::default();
        let frames = if args.with.contains(&Activity::Frames) { &besides.frame_counts } else { &none };
        text += &table(&args.groups.by, &report.groups, frames).text();
    }
    text += &text::more(report.count - report.groups.len(), &format!(" groups; --top {} shows them", report.count));
    text + &activity::describe(besides, (commit, faults), &args.with)
}

fn table(by: &[By], groups: &[Group], frames: &FrameCounts) -> Table {
    let numbers = ["Impacting", "Outstanding", "Peak", "Size", "Count", "Allocated", "Freed"];
    let per_frame = |group: &Group| frames.per_frame(group.pid, group.process_start_s, &group.numbers);
    let has_frames = groups.iter().any(|group| per_frame(group).is_some());
    let numbers = numbers.into_iter().chain(has_frames.then_some("Allocated/frame"));
    let columns = key_columns(by).map(|name| (name, Align::Left)).chain(numbers.map(|name| (name, Align::Right)));
    let mut table = Table::new(columns);
    for (group, mut cells) in groups.iter().zip(key_cells(by, groups)) {
        let a_frame = has_frames
            .then(|| per_frame(group).map_or_else(String::new, |of| format::bytes(of.allocated_size_per_frame.round() as u64)));
        cells.extend([
            format::signed_bytes(group.numbers.impacting_size),
            format::bytes(group.numbers.outstanding_to),
            format::bytes(group.numbers.peak),
            format::bytes(group.numbers.size),
            format::count(group.numbers.count),
            format::count(group.numbers.allocated_count),
            format::count(group.numbers.freed_count),
        ]);
        cells.extend(a_frame);
        table.line(cells, stack_notes(group));
    }
    table.bars(groups.iter().map(|group| group.numbers.impacting_size.unsigned_abs()));
    table
}

/// Keys with a column of their own after the layer; stacks are listed below their group.
const COLUMNS: [(&str, By); 11] = [
    ("Heap", By::Heap),
    ("Type", By::Type),
    ("Thread", By::Thread),
    ("Block size", By::Size),
    ("Lifetime", By::Lifetime),
    ("Function", By::Function),
    ("Module", By::Module),
    ("Tag", By::Tag),
    ("Owner", By::Owner),
    ("Responsible module", By::ResponsibleModule),
    ("Responsible caller", By::Responsible),
];

/// The names of the key columns.
pub(super) fn key_columns(by: &[By]) -> impl Iterator<Item = &'static str> {
    let others = COLUMNS.into_iter().filter(|(_, key)| by.contains(key)).map(|(name, _)| name);
    let process = by.contains(&By::Process).then_some("Process");
    process.into_iter().chain(["Layer"]).chain(others).chain(by.contains(&By::Responsible).then_some("Source"))
}

/// The cells of the key columns, for each group.
pub(super) fn key_cells<N>(by: &[By], groups: &[Group<N>]) -> Vec<Vec<String>> {
    let cells = |(group, name): (&Group<N>, String)| {
        let process = by.contains(&By::Process).then_some(name);
        let others = COLUMNS.into_iter().filter(|(_, key)| by.contains(key)).map(|(_, key)| group.text(key));
        let source = group.source.as_ref().map_or_else(String::new, SourceLine::short);
        let source = by.contains(&By::Responsible).then_some(source);
        process.into_iter().chain([group.layer.to_owned()]).chain(others).chain(source).collect()
    };
    let names = text::process_names(groups.iter().map(|g| (g.process.as_deref(), g.pid, g.process_start_s)));
    groups.iter().zip(names).map(cells).collect()
}

/// The frames of a group, innermost first as a debugger lists them: of the allocation, then of the free.
pub(super) fn stack_notes<N>(group: &Group<N>) -> Vec<String> {
    let mut notes = match group.stack.as_deref() {
        None => Vec::new(),
        Some([]) => vec!["(no stack recorded)".to_owned()],
        Some(frames) => {
            let line = |frame: usize| group.sources.as_ref()?.get(frame)?.as_ref();
            let with_line = |(at, frame): (usize, &String)| match line(at) {
                Some(line) => format!("{frame}  {line}"),
                None => frame.clone(),
            };
            frames.iter().enumerate().rev().map(with_line).collect()
        }
    };
    match group.freed_stack.as_deref() {
        None => {}
        Some([]) => notes.push("(not freed, or no stack of it recorded)".to_owned()),
        Some(frames) => {
            notes.push("freed by".to_owned());
            notes.extend(frames.iter().rev().cloned());
        }
    }
    notes
}

/// Describes from when on totals are bounds, and whether that affects the interval.
fn bounds(trace: &Trace, interval: Interval) -> String {
    let Some(until) = trace.exact_until() else { return String::new() };
    let at = text::seconds(trace.clock.seconds(until));
    let known = if trace.losses.is_empty() { "Nothing tells when, so that" } else { "So" };
    if interval.to <= until {
        return format!(" The first loss is after {at}, so nothing of it is in these totals.");
    }
    format!(
        " {known} totals are bounds after {at}: what was allocated and freed is at least this; what is outstanding or \
         impacting is too high where a free is missing (an upper bound if only frees are), too low where an allocation is \
         (a lower bound if only allocations are)."
    )
}

/// Names the allocators of which no blocks are seen.
pub(super) fn describe_silent(trace: &Trace, names: &Names) -> String {
    silent_sentences(trace, names).iter().map(|sentence| format!("{sentence}.\n")).collect()
}

/// A sentence without a full stop for each allocator of which no blocks are seen.
pub(super) fn silent_sentences(trace: &Trace, names: &Names) -> Vec<String> {
    silent_allocators(trace, names).iter().map(|silent| silent.sentence(trace)).collect()
}

/// Describes what is uncertain about the numbers of an interval.
pub(super) fn describe_quality((trace, names): (&Trace, &Names), interval: Interval, doubts: &[String]) -> String {
    let Quality {
        events_lost,
        buffers_lost,
        unmatched_frees,
        superseded_allocations,
        problems,
        inferred_frees,
        duplicate_events,
        sums_saturate: _, // a doubt
    } = trace.quality;
    let mut text = String::from("\n");
    text += &match (events_lost, buffers_lost) {
        (0, 0) if !trace.losses.is_empty() => format!("Events were lost {}.", format::plural(trace.losses.len() as u64, "time")),
        (0, 0) => "No events were lost.".to_owned(),
        (events, buffers) => format!("{}.", format::were_lost(events, buffers)),
    };
    text += &bounds(trace, interval);
    if unmatched_frees > 0 {
        text += &format!(" {} of blocks allocated before the trace or lost.", format::plural(unmatched_frees, "free"));
    }
    if superseded_allocations > 0 {
        text += &format!(" {} whose free was not seen.", format::plural(superseded_allocations, "block"));
    }
    if inferred_frees > 0 {
        text += &format!(" {} without a process matched by address alone.", format::plural(inferred_frees, "free"));
    }
    if duplicate_events > 0 {
        let were = format::counted(duplicate_events, "event was", "events were");
        text += &format!(" {were} recorded more than once and counted once: see highwater info.");
    }
    if problems > 0 {
        text += &format!(" {} with the input: see highwater info.", format::plural(problems, "problem"));
    }
    text += "\n";
    // Losses are described above, in more detail.
    let losses = losses(trace, interval.to);
    for doubt in doubts.iter().filter(|doubt| losses.as_ref() != Some(doubt)) {
        text += &format!("The numbers may be off: {doubt}.\n");
    }
    text + &describe_silent(trace, names)
}
