//! Failures of commands, and which of them files that cannot be opened are.

use crate::load::{Capture, Input};
use crate::open_error::OpenError;

/// Why a command does not end with exit code 0.
pub(super) enum Failure {
    /// Exit code 1: nothing readable, or the answer could not be given.
    Failed(String),
    /// Exit code 2.
    BadArguments(String),
    /// Exit code 2: the files belong to several captures; one line for each.
    SeveralCaptures(Vec<String>),
    /// Exit code 3: the answer, which was given, is that a limit was broken.
    LimitBroken,
}

impl Failure {
    /// The error message, in one line.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Failed(reason) | Self::BadArguments(reason) => reason.clone(),
            Self::SeveralCaptures(captures) => format!("{}: {}", several(captures), captures.join("; ")),
            Self::LimitBroken => "a limit was broken".to_owned(),
        }
    }

    /// The error message for one capture among several: a line that names it.
    pub(super) fn line_about(&self, name: &str) -> String {
        let sentence = self.sentence();
        if sentence.contains(name) { sentence } else { format!("{name}: {sentence}") }
    }
}

/// The heading of a list of the captures that the files belong to.
pub(super) fn several(captures: &[String]) -> String {
    format!(
        "these files are of {} captures, and one is read at a time; name those of one, or give --each where it answers",
        captures.len()
    )
}

/// Opens the files of a capture.
pub(super) fn open(inputs: &[Input]) -> Result<Capture, Failure> {
    Capture::open(inputs).map_err(cannot_open)
}

/// The failure of files that cannot be opened.
pub(super) fn cannot_open(error: OpenError) -> Failure {
    match error {
        OpenError::SeveralCaptures(captures) => Failure::SeveralCaptures(captures),
        other => Failure::Failed(other.to_string()),
    }
}
