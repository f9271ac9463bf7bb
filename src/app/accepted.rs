//! Findings that the user has accepted: they are not reported again until they hold more. They are
//! stored in a file that a team can share, which `highwater findings` and `check` read with
//! `--baseline`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eframe::egui;

use super::HighwaterApp;
use super::aside::Aside;
use crate::limits::{Accepted, Baseline};

/// The accepted findings, and the one that the user is about to accept.
#[derive(Default)]
pub struct AcceptedFindings {
    now: Arc<Baseline>,
    file: Option<PathBuf>,
    /// The finding in the open dialog, and the path of the file as it is typed.
    pub draft: Option<(Accepted, String)>,
    at_work: Aside<Result<Baseline, String>>,
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

    /// The findings accepted at present.
    pub fn now(&self) -> &Arc<Baseline> {
        &self.now
    }

    /// Whether a file is being read or written.
    pub fn is_at_work(&self) -> bool {
        self.at_work.is_at_work()
    }

    /// Reads the file.
    pub fn read(&mut self, ctx: &egui::Context) {
        if let Some(file) = self.file.clone() {
            self.at_work.start(ctx, move || read(&file));
        }
    }
}

/// Reads the findings that a file accepts; none if the file does not exist.
fn read(file: &Path) -> Result<Baseline, String> {
    match file.symlink_metadata() {
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(Baseline::default()),
        _ => Baseline::read(file),
    }
}

impl HighwaterApp {
    /// Asks the user why a finding is accepted, or closes the dialog.
    pub(super) fn offer_to_accept(&mut self, finding: Option<Accepted>) {
        let file = self.accepted.file.as_ref().map_or_else(String::new, |file| file.display().to_string());
        self.accepted.draft = finding.map(|finding| (finding, file));
    }

    /// Changes the file as it is on disk now: others may have written it meanwhile.
    pub(super) fn change_accepted(&mut self, ctx: &egui::Context, change: AcceptChange) {
        if let AcceptChange::Accept(_, file) = &change
            && self.accepted.file.as_ref() != Some(file)
        {
            self.settings.accepted = Some(file.clone());
            self.save_settings();
            self.accepted.file = Some(file.clone());
        }
        let Some(file) = self.accepted.file.clone() else { return };
        self.accepted.at_work.start(ctx, move || {
            let mut accepted = read(&file)?;
            match change {
                AcceptChange::Accept(one, _) => accepted.accept(*one),
                AcceptChange::Forget(one) => accepted.forget(&one),
            }
            accepted.keep(&file).map(|()| accepted)
        });
    }

    /// Takes the results of finished reads and writes.
    pub(super) fn drain_accepted(&mut self) {
        for read in self.accepted.at_work.done() {
            match read {
                Err(reason) => self.tell_once(format!("Accepted findings: {reason}.")),
                Ok(now) => {
                    self.accepted.now = Arc::new(now);
                    self.document.iter_mut().for_each(|document| document.views.accept(&self.accepted.now));
                }
            }
        }
    }
}
