//! Errors of recording. Each message is one sentence for the user; the codes of Windows errors are part of it.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::constants::*;
use crate::etl::write::WriteError;
use crate::open_error::OpenError;

/// A reason why something was not recorded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The request cannot be fulfilled; the sentence says why.
    #[error("{0}")]
    BadRequest(String),
    /// Recording needs ETW.
    #[error("recording works on Windows only; traces that were recorded there open here")]
    NotWindows,
    /// Windows refused or failed.
    #[error("{what}: {}", meaning(*code))]
    Windows {
        /// The failed action, as the start of a sentence: "the heap session could not be started".
        what: String,
        /// The Win32 error code.
        code: u32,
    },
    /// Windows allows one session that traces heaps, and another program has started it.
    #[error(
        "heaps are traced already, by the session {0:?}: Windows has one such session at a time. End the program that \
         has started it, or the session: logman stop {0:?} -ets"
    )]
    HeapsTraced(String),
    /// Windows traces the heaps of only some of the processes.
    #[error(
        "heaps of {} are not recorded: Windows accepted only two processes ({why})",
        processes(.pids)
    )]
    HeapsLeftOut {
        /// The processes that are left out.
        pids: Vec<u32>,
        /// The error that Windows returned for all of them together.
        why: String,
    },
    /// A file or folder could not be created, written or removed.
    #[error("{path}: {error}", path = path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The trace could not be written.
    #[error("{path}: {error}", path = path.display())]
    Write {
        /// The path of the trace.
        path: PathBuf,
        /// The error.
        error: WriteError,
    },
    /// A recorded file could not be read again.
    #[error(transparent)]
    Read(#[from] OpenError),
    /// The folder holds no lane, so there is nothing to merge.
    #[error("{}: nothing was recorded in this folder", .0.display())]
    Empty(PathBuf),
    /// The recording has already ended.
    #[error("the recording has ended")]
    Ended,
    /// The user cancelled; what was recorded is still there.
    #[error("stopped")]
    Stopped,
}

impl CaptureError {
    /// Returns a function that turns the system's error on a file into this error.
    pub(super) fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::File { path: path.to_owned(), error }
    }

    /// Returns a function that turns an error of writing a trace into this error.
    pub(super) fn write(path: &Path) -> impl Fn(WriteError) -> Self {
        move |error| Self::Write { path: path.to_owned(), error }
    }
}

/// Lists process ids for a sentence.
fn processes(pids: &[u32]) -> String {
    let ids = pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    format!("{} {ids}", if pids.len() == 1 { "process" } else { "processes" })
}

/// Explains the Win32 error codes of session functions, and says what to do.
fn meaning(code: u32) -> String {
    let known = match code {
        ERROR_FILE_NOT_FOUND => "there is no such program",
        ERROR_ACCESS_DENIED => {
            "recording needs administrator rights; start it from a terminal that was opened with \"Run as administrator\""
        }
        ERROR_NOT_ENOUGH_MEMORY | ERROR_OUTOFMEMORY => "there is not enough memory; close programs, or record less",
        ERROR_INVALID_PARAMETER => "this version of Windows does not support what was requested",
        ERROR_DISK_FULL => "the disk is full; make room, or record in a ring",
        ERROR_BAD_PATHNAME => "the path of the file is not valid",
        ERROR_ALREADY_EXISTS => "a session of this name exists already; `logman query -ets` lists them",
        ERROR_ELEVATION_REQUIRED => {
            "this program asks for administrator rights itself; start it yourself and record it by its name"
        }
        ERROR_CANCELLED => "administrator rights were declined",
        ERROR_PRIVILEGE_NOT_HELD => "this account lacks the right to profile the system",
        ERROR_INVALID_WINDOW_HANDLE => "there is no desktop to start it on; start it yourself and record it by its name",
        ERROR_NO_SYSTEM_RESOURCES => "there are too many ETW sessions; see `logman query -ets` and stop one",
        ERROR_WMI_INSTANCE_NOT_FOUND => "there is no such session any more",
        _ => return format!("Windows error {code}"),
    };
    format!("{known} (Windows error {code})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_windows_say_what_to_do_and_keep_their_number() {
        let says = |code| CaptureError::Windows { what: "the heap session could not be started".to_owned(), code }.to_string();
        assert!(says(5).starts_with("the heap session could not be started: recording needs administrator rights; start"));
        assert!(says(5).ends_with("(Windows error 5)"));
        let two = CaptureError::HeapsLeftOut { pids: vec![30, 40], why: says(87) }.to_string();
        assert!(two.starts_with("heaps of processes 30, 40 are not recorded: Windows accepted only two processes (the heap"));
        assert_eq!(says(1234), "the heap session could not be started: Windows error 1234");
    }
}
