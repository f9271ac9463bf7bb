//! The command line: text for people, JSON for programs, exit codes.
//!
//! Exit codes are a contract, as the JSON is: 0 done (problems in the data included), 1 nothing readable, 2 bad
//! arguments, 3 a limit was broken. The binary passes in the function that opens the window, so this module does not
//! depend on the window.

mod activity;
mod args;
mod asked;
#[cfg(feature = "parquet")]
mod bisect;
mod blocks_asked;
mod check;
mod choices;
mod ci;
mod compared;
mod completions;
mod cut;
mod diff;
mod each;
mod examples;
mod export;
mod failure;
mod findings;
mod for_programs;
mod functions;
mod guard;
mod info;
mod investigation;
mod kept;
mod manual;
mod markdown;
#[cfg(feature = "mcp")]
mod mcp;
mod measure;
mod memory;
mod output;
mod outputs;
mod page;
mod pages;
mod prepared;
mod problems;
mod progress;
mod providers;
mod ranges;
mod record;
#[cfg(test)]
mod reference;
mod report;
mod symbols;
mod terminal;
mod text;
mod unmatched;
mod what_if;
mod wildcards;
mod words;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::etl;
use crate::load::{Input, reading};
use crate::platform;
use crate::seconds;
pub use args::Look;
use args::{Command, CommandLine, SymbolsCommand};
use failure::{Failure, Unreadable, cannot_open, open, several};
use guard::guarded;
pub use prepared::prepared_traces;
use problems::{report_other_problems, report_problems, report_problems_besides_memory};

/// Runs the program with the arguments of its command line, the program's name first. `open_window` opens the window
/// on some files and returns when it is closed.
pub fn run(
    words: impl IntoIterator<Item = OsString>,
    open_window: impl FnOnce(Vec<Input>, Look) -> Result<(), String>,
) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    let mistyped = words.get(1).and_then(|word| args::mistyped(word));
    let parsed = examples::added(CommandLine::command()).try_get_matches_from(&words);
    let result = match parsed.and_then(|matches| CommandLine::from_arg_matches(&matches)) {
        _ if mistyped.is_some() => Err(Failure::BadArguments(mistyped.unwrap_or_default())),
        Ok(line) => dispatch(&line, open_window),
        Err(error) if error.use_stderr() => Err(match compared::line(&error, &words) {
            Some(line) => Failure::Failed(line),
            None => Failure::BadArguments(args::one_line(&error, &words)),
        }),
        Err(help_or_version) => output::answer(&help_or_version.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Failed(message)) => {
            output::error(&message);
            ExitCode::from(1)
        }
        Err(Failure::Unreadable(Unreadable { sentence, .. })) => {
            output::error(&sentence);
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
        Err(Failure::Investigation(named)) => {
            output::error(&named.line(&words));
            ExitCode::from(1)
        }
        Err(Failure::LimitBroken) => ExitCode::from(3),
    }
}

fn dispatch(line: &CommandLine, open_window: impl FnOnce(Vec<Input>, Look) -> Result<(), String>) -> Result<(), Failure> {
    if line.wide {
        terminal::be_wide();
    }
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
        Some(command) => answer(command),
    }
}

/// Has a command answer that opens no window.
fn answer(command: &Command) -> Result<(), Failure> {
    guarded(&command.inputs(), || match command {
        Command::Record(args) => record::run(args),
        Command::Info(args) => info::run(args),
        Command::Report(args) => report::run(args),
        Command::Functions(args) => functions::run(args),
        Command::Marks(args) => activity::marks::run(args),
        Command::Scopes(args) => activity::scopes::run(args),
        Command::Frames(args) => activity::frames::run(args),
        Command::Processors(args) => activity::processors::run(args),
        Command::Findings(args) => findings::run(args),
        Command::Pages(args) => pages::run(args),
        Command::WhatIf(args) => what_if::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Check(args) => check::run(args),
        #[cfg(feature = "parquet")]
        Command::Bisect(args) => bisect::run(args),
        Command::Export(args) => export::run(args),
        Command::Symbols(SymbolsCommand::Lookup(args)) => symbols::lookup::run(args),
        Command::Symbols(SymbolsCommand::Fetch(args)) => symbols::fetch::run(args),
        Command::Symbols(SymbolsCommand::Check(args)) => symbols::check::run(args),
        Command::Completions(args) => completions::run(args, &CommandLine::command()),
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => mcp::run(args),
        Command::Man(args) => manual::run(args, CommandLine::command()),
        Command::Cut(args) => cut::run(args),
        Command::Measure(args) => measure::run(args),
        Command::Demo(_) | Command::Replay(_) => Err(Failure::Failed("the window is opened elsewhere".to_owned())),
    })
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
