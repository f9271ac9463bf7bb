//! `highwater cut`: writes a part of a trace as a trace of its own.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::asked::{EDGES, Edges, Files, edge, known_part, load_capture, outside, tell_beyond};
use super::choices::Choices;
use super::memory::Memory;
use super::outputs::{Replace, check_out, write_out};
use super::progress::{Progress, Quiet};
use super::providers::ProvidersAsked;
use super::{Failure, open, output, report_problems};
use crate::events::Described;
use crate::export::cut::{CutError, Request, Summary, cut};
use crate::format;
use crate::load::{Capture, Processes};
use crate::model::Trace;
use crate::time_spec::TimeSpec;
use crate::units::{Interval, Ticks};
use crate::windows_reader::installed_manifests;

#[derive(Args, Debug)]
pub(super) struct CutArgs {
    #[command(flatten)]
    pub(super) files: Files,

    #[command(flatten)]
    edges: Edges,

    /// Only memory of this process (name or id)
    #[arg(long, value_name = "NAME|PID")]
    process: Option<String>,

    /// Output trace
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    out: PathBuf,

    /// Replace names of programs, images, command lines, PDBs, trackers and threads; leave out what could reveal them
    #[arg(long)]
    anonymise: bool,

    /// Add event descriptions from manifests installed on this machine (Windows only)
    #[arg(long)]
    manifests: bool,

    #[command(flatten)]
    replace: Replace,

    #[command(flatten)]
    providers: ProvidersAsked,

    #[command(flatten)]
    memory: Memory,

    #[command(flatten)]
    quiet: Quiet,
}

pub(super) fn run(args: &CutArgs) -> Result<(), Failure> {
    args.quiet.apply();
    args.edges.check().map_err(Failure::BadArguments)?;
    if args.out == Path::new("-") {
        return Err(Failure::BadArguments("-o -: a trace cannot be written to standard output; name a file".to_owned()));
    }
    check_out(&args.out, args.replace.existing())?;
    let manifests = installed_manifests();
    if args.manifests && manifests.is_none() {
        return Err(Failure::BadArguments(
            "--manifests works only on Windows: it reads the manifests installed on this machine".to_owned(),
        ));
    }
    let capture = open(&args.files.inputs())?;
    args.memory.watch(&args.files.inputs());
    let choices = Choices::of_process(args.process.clone());
    let trace = load_capture(&capture, args.memory, &args.providers, &choices)?;
    choices.check(&trace).map_err(Failure::BadArguments)?;
    let trackers = args.providers.trackers()?;
    let interval = interval(args, &trace)?;
    report_problems(&trace.problems);
    let processes = match &args.process {
        Some(wanted) => Processes::Only(capture.processes_called(wanted)),
        None => Processes::All,
    };
    let described = match manifests {
        Some(manifests) if args.manifests => manifests.describe(&capture.manifest_events().undescribed()),
        _ => Described::default(),
    };
    if let Some(reason) = described.failure {
        output::message(&format!("names of installed manifests are missing: {reason}"));
    }
    let request = Request {
        files: &capture.files,
        trace: &trace,
        trace_start: capture.trace_start(),
        trackers: &trackers,
        interval,
        processes: &processes,
        descriptions: &described.infos,
        anonymises: args.anonymise,
    };
    let (summary, bytes) = write(args, &request)?;
    output::message(&describe(args, &capture, summary, bytes));
    Ok(())
}

/// The interval to cut. What is alive at its start must be known; the part itself need not fit into memory.
fn interval(args: &CutArgs, trace: &Trace) -> Result<Interval, Failure> {
    let edge = |given: &Option<TimeSpec>| edge(trace, given.as_ref(), args.process.as_deref());
    let (from, to) = (edge(&args.edges.from)?, edge(&args.edges.to)?);
    let from = from.unwrap_or(trace.span.from);
    if trace.cut.is_some_and(|cut| cut.at < from || cut.stacks_missing) {
        report_problems(&trace.problems);
        return Err(Failure::Failed("--from is later than what could be loaded".to_owned()));
    }
    // The end of a trace that did not fit into memory is not known here.
    let end = if trace.cut.is_some() { Ticks(Ticks::NEVER.0 - 1) } else { trace.span.to };
    let to = to.unwrap_or(end);
    let asked = Interval { from, to };
    if from > to || (trace.cut.is_none() && known_part(trace, asked).is_none()) {
        return Err(outside(trace, asked, args.edges.from.is_some(), EDGES));
    }
    tell_beyond(trace, asked, EDGES);
    Ok(asked)
}

/// Writes the trace and returns its size.
fn write(args: &CutArgs, request: &Request<'_>) -> Result<(Summary, u64), Failure> {
    let mut progress = Progress::new(format!("Writing {}", args.out.display()));
    let mut done = (Summary::default(), 0);
    write_out(&args.out, args.replace.existing(), "the trace", |draft| {
        // Compressed buffers are written in two parts.
        let mut out = BufWriter::with_capacity(1 << 20, draft);
        let summary = cut(request, &mut out, &mut |bytes, total| {
            progress.at(bytes, total);
            true
        });
        let summary = summary.map_err(|error| match error {
            CutError::Write(crate::etl::write::WriteError::Io(error)) => error,
            other => io::Error::other(other),
        })?;
        out.flush()?;
        done = (summary, out.get_ref().metadata()?.len());
        Ok(())
    })?;
    Ok(done)
}

fn describe(args: &CutArgs, capture: &Capture, summary: Summary, bytes: u64) -> String {
    let Summary { events, left_out } = summary;
    let of = format::bytes(capture.bytes());
    let what = format!("{}: {} events, {} (of {of})", args.out.display(), format::count(events), format::bytes(bytes));
    match left_out {
        0 => what,
        n if args.anonymise => format!("{what}; {} events that could reveal names were left out", format::count(n)),
        n => format!("{what}; {} events that cannot be written again were left out", format::count(n)),
    }
}
