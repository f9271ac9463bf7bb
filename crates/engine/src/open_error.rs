//! Errors of opening what a user named: one trace file, an archive of traces, or the files of a capture.

use thiserror::Error;

use crate::etl;

/// Why nothing can be opened. Each message is one sentence for people and names the file.
#[derive(Debug, Error)]
pub enum OpenError {
    /// A file cannot be read as a trace.
    #[error(transparent)]
    File(#[from] etl::OpenError),
    /// It is an archive that cannot be used; the reason and what to do.
    #[error("{0}: {1}")]
    Archive(String, String),
    /// It, or what is in it, is refused; the whole message.
    #[error("{0}")]
    Refused(String),
    /// The user cancelled.
    #[error("stopped")]
    Stopped,
    /// Its clock cannot be compared with that of the files before it.
    #[error("{0}: {1}; open it on its own")]
    OtherCapture(String, String),
    /// The files are of several captures, each described in words; only one can be read at a time.
    #[error("these files are of {} captures: {}", .0.len(), .0.join("; "))]
    SeveralCaptures(Vec<String>),
}

impl OpenError {
    /// Turns an error of the system about the file `name` into one for people.
    pub fn from_io(name: String, error: std::io::Error) -> Self {
        etl::OpenError::from_io(name, error).into()
    }
}
