//! The one place that prints. Answers go to stdout, messages to stderr, one line each. A closed pipe is no failure:
//! its reader has seen enough.
//!
//! Text for people contains nothing that a terminal interprets ([`plain`]), whoever chose the names in it. Code that
//! puts a name into a sentence keeps it from breaking the line.
//!
//! With `--quiet` ([`be_quiet`]) only errors and answers for programs are printed. Progress is shown on a terminal
//! only, and overwrites its own line.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::Failure;
use super::for_programs::Form;
use super::terminal::{self, Style};
use crate::export::ExportError;
use crate::format::{is_plain, plain};
use crate::ndjson;

static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Advice that follows the next answer.
static ADVICE: Mutex<Option<String>> = Mutex::new(None);

thread_local! {
    /// Takes what this thread would print to stdout, if something does.
    static TAKER: RefCell<Option<Box<dyn Write>>> = const { RefCell::new(None) };
}

/// Runs some work whose answers go to `taker` in place of stdout, as far as this thread prints them. The taker is dropped
/// in the end, also if the work panics.
#[cfg(feature = "mcp")]
pub(super) fn taken<T>(taker: impl Write + 'static, work: impl FnOnce() -> T) -> T {
    struct Taking;
    impl Drop for Taking {
        fn drop(&mut self) {
            drop(TAKER.take());
        }
    }
    TAKER.set(Some(Box::new(taker)));
    let _taking = Taking;
    work()
}

/// Writes to stdout, or to what takes its place on this thread.
fn write_out<E>(write: impl FnOnce(&mut dyn Write) -> Result<(), E>) -> Result<(), E> {
    // While it writes the taker is not in its place, so that writing cannot ask for it twice.
    match TAKER.take() {
        Some(mut taker) => {
            let written = write(&mut *taker);
            TAKER.set(Some(taker));
            written
        }
        None => write(&mut io::stdout().lock()),
    }
}

/// Suppresses all text for people except errors, from now on.
pub(super) fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Prints an answer as text, with its styles if the terminal has them, and then as a message what was advised meanwhile.
pub(super) fn answer(text: &str) -> Result<(), Failure> {
    if is_quiet() {
        return Ok(());
    }
    let printed = print(&styled(text, terminal::has_colors()));
    let advice = ADVICE.lock().unwrap_or_else(PoisonError::into_inner).take();
    advice.iter().for_each(|advice| message(advice));
    printed
}

/// Has a message follow the next answer for people, if there is one: programs have no use for advice.
pub(super) fn advise(text: String) {
    *ADVICE.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
}

/// An answer as a terminal shows it: plain lines, and control sequences for styles.
fn styled(text: &str, has_colors: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match Style::of(c) {
            Some(style) => out += if has_colors { style.sequence() } else { "" },
            None if c == '\n' || is_plain(c) => out.push(c),
            None => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
    out
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
    match write_out(|out| out.write_all(text.as_bytes()).and_then(|()| out.flush())) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(unanswered(e)),
        _ => Ok(()),
    }
}

/// Prints data for other programs while it is generated.
pub(super) fn stream(write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>) -> Result<(), ExportError> {
    let buffered = |out: &mut dyn Write| {
        let mut out = io::BufWriter::new(out);
        write(&mut out).and_then(|()| Ok(out.flush()?))
    };
    match write_out(buffered) {
        Err(error) if error.is_broken_pipe() => Ok(()),
        other => other,
    }
}

/// Prints an answer as JSON. Fields come in the order of their declaration, so equal answers are equal bytes.
pub(super) fn json(value: &impl Serialize) -> Result<(), Failure> {
    for_programs(Form::Json, value, &[])
}

/// Prints an answer for programs; `lists` names its lists as [`ndjson`] does.
pub(super) fn for_programs(form: Form, value: &impl Serialize, lists: &[&str]) -> Result<(), Failure> {
    let written = stream(|out| match form {
        Form::Json => {
            serde_json::to_writer(&mut *out, value)?;
            Ok(out.write_all(b"\n")?)
        }
        Form::Lines => Ok(ndjson::write(out, value, lists)?),
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
    !is_quiet() && terminal::shows_messages()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_control_sequences_or_nothing_and_names_have_none() {
        let text = format!("{}\n{}", Style::Heading.text("Size"), "a\u{1b}[2Jb");
        assert_eq!(styled(&text, false), "Size\na\u{fffd}[2Jb");
        assert_eq!(styled(&text, true), "\u{1b}[1mSize\u{1b}[0m\na\u{fffd}[2Jb");
        assert_eq!(plain(&Style::Bar.text("x")), "\u{fffd}x\u{fffd}", "a name cannot contain a style");
    }
}
