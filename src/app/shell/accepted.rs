//! Accepting findings: changes the file of accepted findings and has the views judge by it.

use std::sync::Arc;

use eframe::egui;

use super::HighwaterApp;
use crate::app::services::accepted::{AcceptChange, read};
use crate::limits::Accepted;

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
                    self.front.workspace.iter_mut().for_each(|workspace| workspace.views.accept(&self.accepted.now));
                }
            }
        }
    }
}
