//! Files that commands write. An existing file stays unless `--replace` is given, and an input is never overwritten;
//! [`crate::paths`] has that rule.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::{Failure, output};
use crate::limits::Baseline;
use crate::paths::{self, Existing, Refusal};

/// Whether a file that is there is replaced.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(super) struct Replace {
    /// Overwrite the output if it exists
    #[arg(long)]
    pub(super) replace: bool,
}

impl Replace {
    /// The option as a rule for files.
    pub(super) fn existing(self) -> Existing {
        if self.replace { Existing::GivesWay } else { Existing::Stays }
    }
}

/// The baseline file of findings and breaches that a team accepts.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct BaselineArgs {
    /// Ignore what this file accepts, unless it now has more bytes
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,

    /// Write everything found to FILE, to be accepted by --baseline later
    #[arg(long, value_name = "FILE")]
    pub(super) write_baseline: Option<PathBuf>,
}

impl BaselineArgs {
    /// Refuses a file that could not be written, before the work begins. The file that is read counts as an input as
    /// long as the result lives.
    pub(super) fn check(&self, replace: Replace) -> Result<paths::Reading, Failure> {
        let read = paths::Reading::of(self.baseline.clone());
        if let Some(path) = &self.write_baseline {
            check_file_out(path, replace.existing())?;
        }
        Ok(read)
    }

    /// Reads the baseline that was given.
    pub(super) fn read(&self) -> Result<Option<Baseline>, Failure> {
        self.baseline.as_deref().map(Baseline::read).transpose().map_err(Failure::BadArguments)
    }

    /// Writes the baseline that was asked for.
    pub(super) fn write(&self, replace: Replace, baseline: impl FnOnce() -> Baseline) -> Result<(), Failure> {
        let Some(path) = &self.write_baseline else { return Ok(()) };
        write_out(path, replace.existing(), "the baseline", |file| baseline().write(file))
    }
}

/// Refuses an output that could not be written, before the work begins.
pub(super) fn check_out(out: &Path, existing: Existing) -> Result<(), Failure> {
    paths::check(out, existing).map_err(|refusal| refused(out, refusal))
}

/// Refuses an output that could not be written as a file, before the work begins.
pub(super) fn check_file_out(out: &Path, existing: Existing) -> Result<(), Failure> {
    paths::check_file(out, existing).map_err(|refusal| refused(out, refusal))
}

/// Writes a file whole or not at all; `what` names its contents in the error.
pub(super) fn write_out(
    out: &Path,
    existing: Existing,
    what: &str,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), Failure> {
    paths::write(out, existing, write).map_err(|error| unwritten(out, what, &error))
}

/// Whether an output is the standard output.
pub(super) fn is_stdout(out: &Path) -> bool {
    out == Path::new("-")
}

/// Refuses a report for a CI service that would replace a file that is read, before the work begins.
pub(super) fn check_report(out: &Path) -> Result<(), Failure> {
    match paths::check(out, Existing::GivesWay) {
        Err(Refusal::Read) if !is_stdout(out) => Err(refused(out, Refusal::Read)),
        _ => Ok(()),
    }
}

/// Writes a report for a CI service, also over that of the last run.
pub(super) fn write_report(out: &Path, text: &str) -> Result<(), Failure> {
    if is_stdout(out) {
        return output::document(text);
    }
    let written = paths::write(out, Existing::GivesWay, |draft| draft.write_all(text.as_bytes()));
    written.map_err(|error| match Refusal::of(&error) {
        Some(Refusal::Read) => refused(out, Refusal::Read),
        _ => Failure::Failed(format!("{} cannot be written: {error}", out.display())),
    })
}

/// The error for an output that was not written.
pub(super) fn unwritten(out: &Path, what: &str, error: &io::Error) -> Failure {
    match Refusal::of(error) {
        Some(refusal) => refused(out, refusal),
        None => Failure::Failed(format!("{}: {what} could not be written: {error}", out.display())),
    }
}

/// The error for an output that is refused.
pub(super) fn refused(out: &Path, refusal: Refusal) -> Failure {
    let what_to_do = if refusal == Refusal::Exists { "; --replace replaces it" } else { "" };
    Failure::BadArguments(format!("{}: {refusal}{what_to_do}", out.display()))
}
