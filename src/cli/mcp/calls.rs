//! Answers to calls, by the commands. A thread answers one call after the other: the engine uses all processors for each,
//! and memory is that of one question beside the traces that are kept.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::answer::Answer;
use super::roots::refusal;
use super::tools::FILES_READ;
use super::words::{Call, cut};
use crate::cli::args::{self, Command, CommandLine};
use crate::cli::{self, Failure, output};
use crate::export::html::command;
use crate::panics;
use crate::paths::Folders;

/// An answer as JSON, as a text and as a value.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) text: String,
    pub(super) value: Value,
}

/// A call that waits for its answer; the error is the sentence for who asked.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) call: Call,
    /// Whether nobody waits any more.
    pub(super) cancelled: CancellationToken,
    pub(super) reply: oneshot::Sender<Result<Answered, String>>,
}

/// Starts the thread that answers; it ends when the sender is dropped.
pub(super) fn start(roots: Folders) -> io::Result<Sender<Waiting>> {
    let (sender, calls) = mpsc::channel();
    thread::Builder::new().name("calls".to_owned()).spawn(move || answer_all(&roots, &calls))?;
    Ok(sender)
}

fn answer_all(roots: &Folders, calls: &Receiver<Waiting>) {
    panics::install();
    for Waiting { call, cancelled, reply } in calls {
        if cancelled.is_cancelled() {
            continue;
        }
        let internal = |caught| Err(format!("an internal error stopped the work ({caught}); please report it"));
        let answered = panics::catch(|| answer(roots, &call)).unwrap_or_else(internal);
        // A client that is gone needs no answer.
        let _ = reply.send(answered.map_err(|sentence| cut(&sentence, call.most).to_owned()));
    }
}

/// Has the command answer, whose files must lie in the roots.
fn answer(roots: &Folders, Call { words, most }: &Call) -> Result<Answered, String> {
    let most = *most;
    let matches = CommandLine::command().try_get_matches_from(words).map_err(|error| args::one_line(&error, words))?;
    let line = CommandLine::from_arg_matches(&matches).map_err(|error| args::one_line(&error, words))?;
    let Some(asked) = line.command else { return Err("a tool is a command".to_owned()) };
    // Before a pattern is expanded: which files there are in its folder is not to be told either.
    if let Some(outside) = patterns(&matches).into_iter().find(|pattern| !roots.contain(folder_of(pattern))) {
        return Err(refusal(&outside));
    }
    if let Some(outside) = files_read(&asked, &matches).into_iter().find(|file| !roots.contain(file)) {
        return Err(refusal(&outside));
    }
    let (reader, writer) = io::pipe().map_err(|error| error.to_string())?;
    let read = thread::Builder::new().name("answer".to_owned()).spawn(move || Answer::read(reader, most));
    let read = read.map_err(|error| error.to_string())?;
    output::taken(writer, || cli::answer(&asked)).map_err(|failure| match failure {
        Failure::Investigation(named) => named.line(words),
        other => other.sentence(),
    })?;
    let answer = read.join().map_err(|_| "the answer could not be read".to_owned())?.map_err(|error| error.to_string())?;
    let words = words.iter().map(|word: &OsString| word.to_string_lossy().into_owned());
    let text = answer
        .text(command(words), most)
        .map_err(|least| format!("the answer needs {least} bytes without any entry of its lists; allow more with max_bytes"))?;
    let value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok(Answered { text, value })
}

/// Names of files that a command expands on Windows.
fn patterns(matches: &ArgMatches) -> Vec<PathBuf> {
    let named = |id: &&str| Some(matches.subcommand()?.1.try_get_many::<OsString>(id).ok()??.cloned().collect::<Vec<_>>());
    let words = ["files", "a", "b"].iter().filter_map(named).flatten();
    let is_pattern = |word: &OsString| cfg!(windows) && word.to_string_lossy().contains(['*', '?']);
    words.filter(is_pattern).map(PathBuf::from).collect()
}

/// The folder of a file; the current one if the name has none.
fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The files that a command would read.
fn files_read(asked: &Command, matches: &ArgMatches) -> Vec<PathBuf> {
    let inputs = asked.inputs();
    let named = |id: &&str| matches.subcommand()?.1.try_get_one::<PathBuf>(id).ok()?.cloned();
    inputs.iter().filter_map(|input| input.path().map(ToOwned::to_owned)).chain(FILES_READ.iter().filter_map(named)).collect()
}
