//! The one place that prints. Answers go to stdout, messages to stderr, one line each. A closed pipe is no failure:
//! its reader has seen enough.
//!
//! Text for people contains nothing that a terminal interprets ([`plain`]), whoever chose the names in it. Code that
//! puts a name into a sentence keeps it from breaking the line.
//!
//! With `--quiet` ([`be_quiet`]) only errors and answers for programs are printed. Progress is shown on a terminal
//! only, and overwrites its own line.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use super::Failure;
use crate::export::ExportError;
use crate::format::plain;

static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses all text for people except errors, from now on.
pub(super) fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Prints an answer as text.
pub(super) fn answer(text: &str) -> Result<(), Failure> {
    if is_quiet() { Ok(()) } else { print(&text.split('\n').map(plain).collect::<Vec<_>>().join("\n")) }
}

/// Prints an answer that is the text of a file, such as a table for another page; `--quiet` does not suppress it.
pub(super) fn document(text: &str) -> Result<(), Failure> {
    print(text)
}

/// The failure of an answer that could not be written.
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

/// Prints data for other programs while it is generated.
pub(super) fn stream(write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>) -> Result<(), ExportError> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| Ok(out.flush()?)) {
        Err(error) if error.is_broken_pipe() => Ok(()),
        other => other,
    }
}

/// Prints an answer as JSON. Fields come in the order of their declaration, so equal answers are equal bytes.
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

/// Whether progress is shown.
pub(super) fn shows_progress() -> bool {
    !is_quiet() && io::stderr().is_terminal()
}

/// Shows the progress in place of the previous text; an empty text removes it.
pub(super) fn progress(text: &str) {
    const ERASE_TO_END_OF_LINE: &str = "\x1b[K";
    let mut err = io::stderr().lock();
    let _ = write!(err, "\r{}{ERASE_TO_END_OF_LINE}", plain(text)).and_then(|()| err.flush());
}

/// Prints an error in one line, without anything that a terminal interprets: it can contain names from traces. A
/// failure to print it is ignored.
pub(super) fn error(text: &str) {
    let line: String = text.split(['\r', '\n']).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let _ = writeln!(io::stderr().lock(), "highwater: {}", plain(&line));
}
