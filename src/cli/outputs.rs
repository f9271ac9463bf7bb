//! Files that commands write: what is there stays unless `--replace` is given, and what is read is never written over. The
//! rule itself is that of [`crate::paths`].

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::Failure;
use crate::limits::Baseline;
use crate::paths::{self, Existing, Refusal};

/// Whether a file that is there is replaced.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(super) struct Replace {
    /// Replace the output if it is there already
    #[arg(long)]
    pub(super) replace: bool,
}

impl Replace {
    /// The same, as it is asked of files.
    pub(super) fn existing(self) -> Existing {
        if self.replace { Existing::GivesWay } else { Existing::Stays }
    }
}

/// What a team knows and accepts.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct BaselineArgs {
    /// Leave out what this file accepts, unless it holds more bytes than accepted
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,

    /// Write all that is found as accepted to FILE, for --baseline
    #[arg(long, value_name = "FILE")]
    pub(super) write_baseline: Option<PathBuf>,
}

impl BaselineArgs {
    /// Refuses, before the work, a file that could not be written after it; what is read stays as long as this lives.
    pub(super) fn check(&self, replace: Replace) -> Result<paths::Reading, Failure> {
        let read = paths::Reading::of(self.baseline.clone());
        if let Some(path) = &self.write_baseline {
            check_file_out(path, replace.existing())?;
        }
        Ok(read)
    }

    /// The file that was given.
    pub(super) fn read(&self) -> Result<Option<Baseline>, Failure> {
        self.baseline.as_deref().map(Baseline::read).transpose().map_err(Failure::BadArguments)
    }

    /// Writes the file that was asked for.
    pub(super) fn write(&self, replace: Replace, baseline: impl FnOnce() -> Baseline) -> Result<(), Failure> {
        let Some(path) = &self.write_baseline else { return Ok(()) };
        write_out(path, replace.existing(), "the baseline", |file| baseline().write(file))
    }
}

/// Refuses, before the work, what could not be written after it.
pub(super) fn check_out(out: &Path, existing: Existing) -> Result<(), Failure> {
    paths::check(out, existing).map_err(|refusal| refused(out, refusal))
}

/// The same of what has to be a file.
pub(super) fn check_file_out(out: &Path, existing: Existing) -> Result<(), Failure> {
    paths::check_file(out, existing).map_err(|refusal| refused(out, refusal))
}

/// Writes a file, whole or not at all; `what` it is, for the sentence if that fails.
pub(super) fn write_out(
    out: &Path,
    existing: Existing,
    what: &str,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), Failure> {
    paths::write(out, existing, write).map_err(|error| unwritten(out, what, &error))
}

/// Why something was not written.
pub(super) fn unwritten(out: &Path, what: &str, error: &io::Error) -> Failure {
    match Refusal::of(error) {
        Some(refusal) => refused(out, refusal),
        None => Failure::Failed(format!("{}: {what} could not be written: {error}", out.display())),
    }
}

/// Refuses to write there.
pub(super) fn refused(out: &Path, refusal: Refusal) -> Failure {
    let what_to_do = if refusal == Refusal::Exists { "; --replace replaces it" } else { "" };
    Failure::BadArguments(format!("{}: {refusal}{what_to_do}", out.display()))
}
