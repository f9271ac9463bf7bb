//! The command line: text for people, JSON for programs, exit codes.
//!
//! Exit codes are a contract, as the JSON is: 0 done (problems in the data included), 1 nothing readable, 2 bad
//! arguments, 3 a limit was broken. The binary passes in the function that opens the window, so this module does not
//! depend on the window.

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
mod failure;
mod findings;
mod functions;
mod guard;
mod info;
mod manual;
mod measure;
mod memory;
mod output;
mod outputs;
mod page;
mod problems;
mod progress;
mod providers;
mod ranges;
mod record;
mod report;
mod symbols;
mod text;
mod unmatched;
mod wildcards;
mod words;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::etl;
use crate::load::{Input, reading};
use crate::platform;
use crate::seconds;
pub use args::Look;
use args::{Command, CommandLine, SymbolsCommand};
use failure::{Failure, cannot_open, open, several};
use guard::guarded;
use problems::{report_other_problems, report_problems, report_problems_besides_memory};

/// Runs the program with the arguments of its command line, the program's name first. `open_window` opens the window
/// on some files and returns when it is closed.
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
            look_at(inputs, look, open_window)
        }
        Some(Command::Demo(look)) => look_at(vec![Input::Demo], look.clone(), open_window),
        Some(Command::Replay(args)) => {
            refuse_missing(&args.files.inputs())?;
            look_at(args.files.inputs(), args.look(), open_window)
        }
        Some(Command::Record(args)) => guarded(&args.inputs(), || record::run(args)),
        Some(Command::Info(args)) => guarded(&args.files.inputs(), || info::run(args)),
        Some(Command::Report(args)) => guarded(&args.asked.files.inputs(), || report::run(args)),
        Some(Command::Functions(args)) => guarded(&args.asked.files.inputs(), || functions::run(args)),
        Some(Command::Marks(args)) => guarded(&args.asked.files.inputs(), || activity::marks::run(args)),
        Some(Command::Frames(args)) => guarded(&args.asked.files.inputs(), || activity::frames::run(args)),
        Some(Command::Processors(args)) => guarded(&args.asked.files.inputs(), || activity::processors::run(args)),
        Some(Command::Findings(args)) => guarded(&args.asked.files.inputs(), || findings::run(args)),
        Some(Command::Diff(args)) => guarded(&args.inputs(), || diff::run(args)),
        Some(Command::Check(args)) => guarded(&args.asked.files.inputs(), || check::run(args)),
        Some(Command::Export(args)) => guarded(&args.asked.files.inputs(), || export::run(args)),
        Some(Command::Symbols(SymbolsCommand::Lookup(args))) => guarded(&args.inputs(), || symbols::lookup::run(args)),
        Some(Command::Symbols(SymbolsCommand::Fetch(args))) => guarded(&args.traces.inputs(), || symbols::fetch::run(args)),
        Some(Command::Symbols(SymbolsCommand::Check(args))) => guarded(&args.traces.inputs(), || symbols::check::run(args)),
        Some(Command::Completions(args)) => completions::run(args, &CommandLine::command()),
        Some(Command::Man(args)) => manual::run(args, CommandLine::command()),
        Some(Command::Cut(args)) => guarded(&args.files.inputs(), || cut::run(args)),
        Some(Command::Measure(args)) => measure::run(args),
    }
}

/// Opens the window, unless the requested screenshot could not be written.
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

/// Records these programs, which allocate known blocks, in each way and compares the traces: see `highwater record
/// --self-test`. Returns what went wrong, if anything did.
#[cfg(windows)]
pub fn self_test(folder: &std::path::Path, programs: &[crate::capture::windows::self_test::TargetProgram]) -> Result<(), String> {
    record::self_test(folder, programs).map_err(|failure| failure.sentence())
}

/// Refuses to open the window if none of the files exists, where the error can be seen.
fn refuse_missing(inputs: &[Input]) -> Result<(), Failure> {
    let missing = |input: &Input| match input {
        Input::File(path) => std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound),
        Input::Demo => false,
    };
    match inputs.first() {
        Some(first) if platform::has_stderr() && inputs.iter().all(missing) => {
            Err(Failure::Failed(etl::OpenError::NotFound(first.name()).to_string()))
        }
        _ => Ok(()),
    }
}
