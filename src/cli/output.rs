//! The one place that prints. Answers go to stdout, messages to stderr, one line
//! each. A reader that closed the pipe has seen enough: that is no failure.

use std::io::{self, Write};

use serde::Serialize;

use super::Failure;

/// Prints an answer.
pub(super) fn answer(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Failed(format!("the answer could not be written: {e}"))),
        _ => Ok(()),
    }
}

/// Prints an answer for programs. Fields come in the order of their declaration,
/// so equal answers are equal bytes.
pub(super) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|e| Failure::Failed(format!("the answer could not be written: {e}")))?;
    answer(&(text + "\n"))
}

/// Prints a message. Nobody can be told if that fails.
pub(super) fn message(text: &str) {
    let line: String = text.split(['\r', '\n']).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let _ = writeln!(io::stderr().lock(), "highwater: {line}");
}
