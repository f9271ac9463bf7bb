//! The one place that prints. Answers go to stdout, messages to stderr, one line
//! each. A reader that closed the pipe has seen enough: that is no failure.
//!
//! Nothing that people read has anything that a terminal obeys ([`plain`]), whoever chose the names in it; whoever puts
//! a name into a sentence keeps it from breaking the line.
//!
//! Where the user asked for quiet ([`be_quiet`]) only answers for programs and errors are
//! printed. How far work has come is written over itself, on a terminal only.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use super::Failure;
use crate::export::ExportError;
use crate::format::plain;

static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// From now on nothing is printed for people but errors.
pub(super) fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Prints an answer for people.
pub(super) fn answer(text: &str) -> Result<(), Failure> {
    if is_quiet() { Ok(()) } else { print(&text.split('\n').map(plain).collect::<Vec<_>>().join("\n")) }
}

/// Prints an answer that is a file's text, such as a table for another page: also where it is quiet.
pub(super) fn document(text: &str) -> Result<(), Failure> {
    print(text)
}

/// The answer is there and nobody gets it.
pub(super) fn unanswered(error: impl std::fmt::Display) -> Failure {
    Failure::Failed(format!("the answer could not be written: {error}"))
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(unanswered(e)),
        _ => Ok(()),
    }
}

/// Prints what other programs read, as it is made.
pub(super) fn stream(write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>) -> Result<(), ExportError> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| Ok(out.flush()?)) {
        Err(error) if error.is_broken_pipe() => Ok(()),
        other => other,
    }
}

/// Prints an answer for programs. Fields come in the order of their declaration,
/// so equal answers are equal bytes.
pub(super) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let written = stream(|out| {
        serde_json::to_writer(&mut *out, value)?;
        Ok(out.write_all(b"\n")?)
    });
    written.map_err(unanswered)
}

/// Prints a message.
pub(super) fn message(text: &str) {
    if !is_quiet() {
        error(text);
    }
}

/// Whether somebody sees how far work has come.
pub(super) fn shows_progress() -> bool {
    !is_quiet() && io::stderr().is_terminal()
}

/// Shows how far work has come, in the place of what was shown before; an empty text takes that away.
pub(super) fn progress(text: &str) {
    const ERASE_TO_END_OF_LINE: &str = "\x1b[K";
    let mut err = io::stderr().lock();
    let _ = write!(err, "\r{}{ERASE_TO_END_OF_LINE}", plain(text)).and_then(|()| err.flush());
}

/// Prints why nothing was done, in one line, and nothing that a terminal would obey: names of others stand in
/// it. Nobody can be told if that fails.
pub(super) fn error(text: &str) {
    let line: String = text.split(['\r', '\n']).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let _ = writeln!(io::stderr().lock(), "highwater: {}", plain(&line));
}
