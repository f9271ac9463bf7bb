//! Findings that the user has accepted: they are not reported again until they hold more. They are
//! stored in a file that a team can share, which `highwater findings` and `check` read with
//! `--baseline`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eframe::egui;

use crate::app::base::background::Background;
use crate::limits::{Accepted, Baseline};

/// The accepted findings, and the one that the user is about to accept.
#[derive(Default)]
pub struct AcceptedFindings {
    /// The findings accepted at present.
    pub now: Arc<Baseline>,
    pub file: Option<PathBuf>,
    /// The finding in the open dialog, and the path of the file as it is typed.
    pub draft: Option<(Accepted, String)>,
    /// Files being read or written.
    pub at_work: Background<Result<Baseline, String>>,
}

/// A change to the accepted findings.
#[derive(Clone, Debug)]
pub enum AcceptChange {
    /// Accept one more finding, in this file.
    Accept(Box<Accepted>, PathBuf),
    /// Accept it no longer.
    Forget(Box<Accepted>),
}

impl AcceptedFindings {
    /// Starts from a file, which does not have to exist yet.
    pub fn of(file: Option<PathBuf>) -> Self {
        Self { file, ..Self::default() }
    }

    /// Reads the file.
    pub fn read(&mut self, ctx: &egui::Context) {
        if let Some(file) = self.file.clone() {
            self.at_work.start(ctx, move || read(&file));
        }
    }
}

/// Reads the findings that a file accepts; none if the file does not exist.
pub fn read(file: &Path) -> Result<Baseline, String> {
    match file.symlink_metadata() {
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(Baseline::default()),
        _ => Baseline::read(file),
    }
}
