//! Failures of commands, and which of them files that cannot be opened are.

use super::investigation::Named;
use crate::etl;
use crate::load::{Capture, Input};
use crate::open_error::OpenError;

/// Why a command does not end with exit code 0.
pub(super) enum Failure {
    /// Exit code 1: nothing readable, or the answer could not be given.
    Failed(String),
    /// Exit code 1: nothing readable.
    Unreadable(Unreadable),
    /// Exit code 2.
    BadArguments(String),
    /// Exit code 2: the files belong to several captures; one line for each.
    SeveralCaptures(Vec<String>),
    /// Exit code 1: a saved investigation without its trace was named in place of a trace.
    Investigation(Named),
    /// Exit code 3: the answer, which was given, is that a limit was broken.
    LimitBroken,
}

/// Why a capture cannot be read.
pub(super) struct Unreadable {
    /// The error message.
    pub(super) sentence: String,
    /// Whether the reason is in its files, so that another try is of no use before they change.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "only exports of many captures try again"))]
    pub(super) until_changed: bool,
}

impl Failure {
    /// The error message, in one line.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Failed(reason) | Self::BadArguments(reason) => reason.clone(),
            Self::Unreadable(unreadable) => unreadable.sentence.clone(),
            Self::SeveralCaptures(captures) => format!("{}: {}", several(captures), captures.join("; ")),
            Self::Investigation(named) => named.sentence(),
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
        "these files belong to {} captures, and this reads one at a time; name the files of one, or give --each if the command has it",
        captures.len()
    )
}

/// Opens the files of a capture.
pub(super) fn open(inputs: &[Input]) -> Result<Capture, Failure> {
    Capture::open(inputs).map_err(cannot_open)
}

/// The failure of files that cannot be opened.
pub(super) fn cannot_open(error: OpenError) -> Failure {
    if let OpenError::File(etl::OpenError::NotATrace(file, _)) = &error
        && let Some(named) = Named::in_file(file)
    {
        return Failure::Investigation(named);
    }
    let until_changed = is_in_the_files(&error);
    match error {
        OpenError::SeveralCaptures(captures) => Failure::SeveralCaptures(captures),
        other => Failure::Unreadable(Unreadable { sentence: other.to_string(), until_changed }),
    }
}

/// Whether an error is about the contents of files, and no matter of access, which may be granted while they stay as
/// they are.
fn is_in_the_files(error: &OpenError) -> bool {
    use etl::OpenError as File;
    match error {
        OpenError::File(file) => {
            matches!(file, File::Empty(_) | File::NotATrace(..) | File::Packed(..) | File::Refused(_))
        }
        OpenError::Archive(..) | OpenError::Refused(_) => true,
        OpenError::Stopped | OpenError::OtherCapture(..) | OpenError::SeveralCaptures(_) => false,
    }
}
