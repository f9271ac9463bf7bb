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
mod each;
mod export;
mod findings;
mod functions;
mod info;
mod manual;
mod mark_providers;
mod measure;
mod memory;
mod output;
mod progress;
mod ranges;
mod record;
mod report;
mod symbols;
pub mod synth;
mod text;
mod wildcards;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::Parser;

use crate::etl::OpenError;
use crate::load::{Capture, Input};
use crate::panics;
use crate::platform;
use crate::problem::{Problem, ProblemKind};
use crate::query::is_doubt;
use crate::seconds;
pub use args::Look;
use args::{Command, CommandLine, SymbolsCommand};

/// Why a command did not do what it was asked.
enum Failure {
    /// Exit code 1: nothing readable, or the answer could not be given.
    Failed(String),
    /// Exit code 2.
    BadArguments(String),
    /// The same where files are of several captures: each in a line.
    SeveralCaptures(Vec<String>),
    /// Exit code 3: the answer, which was given, is that a limit was broken.
    LimitBroken,
}

impl Failure {
    /// What to say of it, in one line.
    fn sentence(&self) -> String {
        match self {
            Self::Failed(reason) | Self::BadArguments(reason) => reason.clone(),
            Self::SeveralCaptures(captures) => format!("{}: {}", several(captures), captures.join("; ")),
            Self::LimitBroken => "a limit was broken".to_owned(),
        }
    }

    /// The same of one capture among several: a line that names it.
    fn line_about(&self, name: &str) -> String {
        let sentence = self.sentence();
        if sentence.contains(name) { sentence } else { format!("{name}: {sentence}") }
    }
}

/// What stands above the captures that files are of.
fn several(captures: &[String]) -> String {
    format!(
        "these files are of {} captures, and one is read at a time; name those of one, or give --each where it answers",
        captures.len()
    )
}

/// Runs the program on the words of its command line, the program's name first.
/// `open_window` opens the window on some files and returns when it is closed.
pub fn run(
    words: impl IntoIterator<Item = OsString>,
    open_window: impl FnOnce(Vec<Input>, Look) -> Result<(), String>,
) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    let mistyped = words.get(1).and_then(|word| args::mistyped(word));
    let result = match CommandLine::try_parse_from(words) {
        _ if mistyped.is_some() => Err(Failure::BadArguments(mistyped.unwrap_or_default())),
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
        Err(Failure::SeveralCaptures(captures)) => {
            output::error(&several(&captures));
            captures.iter().for_each(|capture| output::error(capture));
            ExitCode::from(2)
        }
        Err(Failure::LimitBroken) => ExitCode::from(3),
    }
}

fn dispatch(line: &CommandLine, open_window: impl FnOnce(Vec<Input>, Look) -> Result<(), String>) -> Result<(), Failure> {
    match &line.command {
        None => {
            let look = line.look();
            let inputs = line.inputs();
            if !look.follow {
                refuse_missing(&inputs)?;
            }
            open_window(inputs, look).map_err(Failure::Failed)
        }
        Some(Command::Demo(look)) => open_window(vec![Input::Demo], look.clone()).map_err(Failure::Failed),
        Some(Command::Replay(args)) => {
            refuse_missing(&args.inputs())?;
            open_window(args.inputs(), args.look()).map_err(Failure::Failed)
        }
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
        Some(Command::Synth(args)) => synth::run(args).map(|_| ()).map_err(|failure| Failure::Failed(failure.to_string())),
    }
}

/// Records these programs, which allocate what is known, in each way and compares: see
/// `highwater record --self-test`. What went wrong, if anything did.
#[cfg(windows)]
pub fn self_test(folder: &std::path::Path, programs: &[crate::capture::windows::self_test::TargetProgram]) -> Result<(), String> {
    record::self_test(folder, programs).map_err(|failure| failure.sentence())
}

/// Where somebody sees what is printed, no window opens on files none of which is there.
fn refuse_missing(inputs: &[Input]) -> Result<(), Failure> {
    let missing = |input: &Input| match input {
        Input::File(path) => std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound),
        Input::Demo => false,
    };
    match inputs.first() {
        Some(first) if platform::has_stderr() && inputs.iter().all(missing) => {
            Err(Failure::Failed(OpenError::NotFound(first.name()).to_string()))
        }
        _ => Ok(()),
    }
}

/// Runs a command; a fault of the program ends in one line too.
fn guarded(inputs: &[Input], run: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    panics::install();
    panics::catch(run).unwrap_or_else(|caught| {
        let files = inputs.iter().map(Input::name).collect::<Vec<_>>().join(" + ");
        Err(Failure::Failed(format!("an internal error stopped the work on {files} ({caught}); please report it with the file")))
    })
}

fn open(inputs: &[Input]) -> Result<Capture, Failure> {
    Capture::open(inputs).map_err(cannot_open)
}

fn cannot_open(error: OpenError) -> Failure {
    match error {
        OpenError::SeveralCaptures(captures) => Failure::SeveralCaptures(captures),
        other => Failure::Failed(other.to_string()),
    }
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

/// The same of those that are not told as doubts.
fn report_other_problems(problems: &[Problem]) {
    let others: Vec<Problem> = problems.iter().filter(|problem| !is_doubt(problem.kind)).cloned().collect();
    report_problems(&others);
}

fn problem_line(problem: &Problem, others: usize) -> String {
    let Problem { kind, file, detail, .. } = problem;
    // Whatever kept a file from being opened names the file itself.
    let named = matches!(kind, ProblemKind::UnreadableFile | ProblemKind::ClockMismatch);
    let sentence = if named { detail.clone() } else { format!("{file}: {detail}") };
    match others {
        0 => sentence,
        1 => format!("{sentence} (1 more problem: see highwater info)"),
        n => format!("{sentence} ({n} more problems: see highwater info)"),
    }
}
