//! Messages at the top of the window: errors and notices, each a sentence, and for internal errors the details for a bug
//! report.

use crate::load::Input;
use crate::panics::Caught;

/// The kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Something did not work.
    Error,
    /// Something worked, and the user should know what came of it.
    Notice,
}

/// One message at the top of the window, until it is closed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    pub kind: Kind,
    /// One sentence.
    pub text: String,
    /// For the clipboard: details for a bug report.
    pub details: Option<String>,
}

impl Message {
    /// An error that the user can understand and act on.
    pub fn error(text: String) -> Self {
        Self { kind: Kind::Error, text, details: None }
    }

    /// A notice, which is no error.
    pub fn notice(text: String) -> Self {
        Self { kind: Kind::Notice, text, details: None }
    }

    /// A panic of a worker while `doing` something (with its article) with some files.
    pub fn internal(doing: &str, inputs: &[Input], caught: &Caught) -> Self {
        let files = inputs.iter().map(Input::name).collect::<Vec<_>>().join(" + ");
        let text = format!("An internal error stopped {doing} of {files} ({caught}). Please report it with the details.");
        let (version, system, machine) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
        let build = if cfg!(debug_assertions) { ", debug build" } else { "" };
        let details = format!(
            "highwater {version}, {system} {machine}{build}\nstopped {doing} of {files}\n{caught}\n\n{}",
            caught.backtrace.trim_end()
        );
        Self { kind: Kind::Error, text, details: Some(details) }
    }
}
