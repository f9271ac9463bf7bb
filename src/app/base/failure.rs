//! Errors as the window shows them: a sentence, and for internal errors the details for a bug report.

use crate::load::Input;
use crate::panics::Caught;

/// One message at the top of the window, until it is closed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// One sentence.
    pub text: String,
    /// For the clipboard: details for a bug report.
    pub details: Option<String>,
}

impl Failure {
    /// An error that the user can understand and act on.
    pub fn expected(text: String) -> Self {
        Self { text, details: None }
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
        Self { text, details: Some(details) }
    }
}
