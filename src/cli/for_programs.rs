//! Answers for programs: one object, or lines of JSON.

use clap::Args;

/// Forms of an answer for programs.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(super) struct ForPrograms {
    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Print JSON lines: first the answer without its lists, then one line per entry
    #[arg(long, conflicts_with = "json")]
    ndjson: bool,
}

/// A form of an answer for programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// One object.
    Json,
    /// The object without its lists, then a line for each of their entries.
    Lines,
}

impl ForPrograms {
    /// The form that was asked for; `None` if the answer is for people.
    pub(super) fn form(self) -> Option<Form> {
        match self {
            Self { ndjson: true, .. } => Some(Form::Lines),
            Self { json: true, .. } => Some(Form::Json),
            Self { .. } => None,
        }
    }

    /// Whether the answer is for programs.
    pub(super) fn is_asked(self) -> bool {
        self.form().is_some()
    }
}
