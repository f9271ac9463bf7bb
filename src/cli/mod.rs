//! The command line: text for people, JSON for programs, exit codes.
//!
//! The contract of JSON and exit codes: 0 done (problems in the data included), 1
//! nothing readable, 2 bad arguments, 3 a limit was broken. Opening the window is handed in by the
//! binary, so that this room knows nothing of it.

mod activity;
mod args;
mod asked;
mod check;
mod choices;
mod completions;
mod cut;
mod diff;
mod export;
mod findings;
mod functions;
mod info;
mod manual;
mod mark_providers;
mod measure;
mod memory;
mod output;
mod outputs;
mod progress;
mod ranges;
mod record;
mod report;
mod symbols;
pub mod synth;
mod text;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::load::{Capture, Input, reading};
use crate::panics;
use crate::problem::{Problem, ProblemKind};
use crate::seconds;
pub use args::Look;
use args::{Command, CommandLine, SymbolsCommand};

/// Why a command did not do what it was asked.
enum Failure {
    /// Exit code 1: nothing readable, or the answer could not be given.
    Failed(String),
    /// Exit code 2.
    BadArguments(String),
    /// Exit code 3: the answer, which was given, is that a limit was broken.
    LimitBroken,
}

/// Runs the program on the words of its command line, the program's name first.
/// `open_window` opens the window on some files and returns when it is closed.
pub fn run(
    words: impl IntoIterator<Item = OsString>,
    open_window: impl FnOnce(Vec<Input>, Look) -> Result<(), String>,
) -> ExitCode {
    let result = match CommandLine::try_parse_from(words) {
        Ok(line) => dispatch(&line, open_window),
        Err(error) if error.use_stderr() => Err(Failure::BadArguments(args::one_line(&error))),
        Err(help_or_version) => output::answer(&help_or_version.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Failed(message)) => {
            output::error(&message);
            ExitCode::from(1)
        }
        Err(Failure::BadArguments(message)) => {
            output::error(&message);
            ExitCode::from(2)
        }
        Err(Failure::LimitBroken) => ExitCode::from(3),
    }
}

fn dispatch(line: &CommandLine, open_window: impl FnOnce(Vec<Input>, Look) -> Result<(), String>) -> Result<(), Failure> {
    match &line.command {
        None => look_at(line.inputs(), line.look(), open_window),
        Some(Command::Demo(look)) => look_at(vec![Input::Demo], look.clone(), open_window),
        Some(Command::Replay(args)) => look_at(args.inputs(), args.look(), open_window),
        Some(Command::Record(args)) => guarded(&args.inputs(), || record::run(args)),
        Some(Command::Info(args)) => guarded(&args.what.inputs(), || info::run(args)),
        Some(Command::Report(args)) => guarded(&args.asked.inputs(), || report::run(args)),
        Some(Command::Functions(args)) => guarded(&args.asked.inputs(), || functions::run(args)),
        Some(Command::Marks(args)) => guarded(&args.asked.inputs(), || activity::marks::run(args)),
        Some(Command::Frames(args)) => guarded(&args.asked.inputs(), || activity::frames::run(args)),
        Some(Command::Processors(args)) => guarded(&args.asked.inputs(), || activity::processors::run(args)),
        Some(Command::Findings(args)) => guarded(&args.asked.inputs(), || findings::run(args)),
        Some(Command::Diff(args)) => guarded(&args.inputs(), || diff::run(args)),
        Some(Command::Check(args)) => guarded(&args.asked.inputs(), || check::run(args)),
        Some(Command::Export(args)) => guarded(&args.asked.inputs(), || export::run(args)),
        Some(Command::Symbols(SymbolsCommand::Lookup(args))) => guarded(&args.inputs(), || symbols::lookup::run(args)),
        Some(Command::Symbols(SymbolsCommand::Fetch(args))) => guarded(&args.inputs(), || symbols::fetch::run(args)),
        Some(Command::Symbols(SymbolsCommand::Check(args))) => guarded(&args.inputs(), || symbols::check::run(args)),
        Some(Command::Completions(args)) => completions::run(args),
        Some(Command::Man(args)) => manual::run(args),
        Some(Command::Cut(args)) => guarded(&args.inputs(), || cut::run(args)),
        Some(Command::Measure(args)) => measure::run(args),
        Some(Command::Synth(args)) => synth::run(args).map(|_| ()).map_err(Failure::from),
    }
}

/// Opens the window, unless the picture of it that is asked for could not be written.
fn look_at(
    inputs: Vec<Input>,
    look: Look,
    open_window: impl FnOnce(Vec<Input>, Look) -> Result<(), String>,
) -> Result<(), Failure> {
    if let Some(picture) = &look.screenshot {
        let _read = reading(&inputs);
        outputs::check_out(picture, outputs::Replace { replace: look.replace }.existing())?;
    }
    open_window(inputs, look).map_err(Failure::Failed)
}

/// Records these programs, which allocate what is known, in each way and compares: see
/// `highwater record --self-test`. What went wrong, if anything did.
#[cfg(windows)]
pub fn self_test(folder: &std::path::Path, programs: &[crate::capture::windows::self_test::TargetProgram]) -> Result<(), String> {
    record::self_test(folder, programs).map_err(|failure| match failure {
        Failure::Failed(reason) | Failure::BadArguments(reason) => reason,
        Failure::LimitBroken => "a limit was broken".to_owned(),
    })
}

/// Runs a command, which writes over none of its inputs; a fault of the program ends in one line too.
fn guarded(inputs: &[Input], run: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    panics::install();
    let read = reading(inputs);
    read.look();
    panics::catch(run).unwrap_or_else(|caught| {
        let files = inputs.iter().map(Input::name).collect::<Vec<_>>().join(" + ");
        let (on, with) = if inputs.is_empty() { (String::new(), "") } else { (format!(" on {files}"), " with the file") };
        Err(Failure::Failed(format!("an internal error stopped the work{on} ({caught}); please report it{with}")))
    })
}

fn open(inputs: &[Input]) -> Result<Capture, Failure> {
    Capture::open(inputs).map_err(|error| Failure::Failed(error.to_string()))
}

/// One line on stderr for each file with problems: the first of them, and how
/// many more there are.
fn report_problems(problems: &[Problem]) {
    let mut told: Vec<&str> = Vec::new();
    for problem in problems {
        if told.contains(&problem.file.as_str()) {
            continue;
        }
        told.push(&problem.file);
        let others = problems.iter().filter(|other| other.file == problem.file).count() - 1;
        output::message(&problem_line(problem, others));
    }
}

fn problem_line(problem: &Problem, others: usize) -> String {
    let Problem { kind, file, detail, .. } = problem;
    // Whatever kept a file from being opened names the file itself.
    let named = matches!(kind, ProblemKind::UnreadableFile | ProblemKind::ClockMismatch);
    let sentence = if named { detail.clone() } else { format!("{file}: {detail}") };
    match others {
        0 => sentence,
        n => format!("{sentence} ({n} more problems: see highwater info)"),
    }
}
