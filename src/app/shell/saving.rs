//! Saving to a path that the user named.

use std::path::PathBuf;

use eframe::egui;

use super::HighwaterApp;
use crate::app::base::message::Message;
use crate::app::services::dialogs::{Purpose, TypedPath};
use crate::app::services::saving::Place;
use crate::paths::{Existing, Refusal};

impl HighwaterApp {
    /// Saves something at this path, if that is allowed.
    pub(super) fn save_at(&mut self, ctx: &egui::Context, purpose: Purpose, file: PathBuf, typed: Option<TypedPath>) {
        let place = Place::new(purpose, file, typed);
        self.exports.start(ctx, move || place.look());
    }

    /// Handles the user's answer whether to replace an existing file.
    pub(super) fn replace(&mut self, ctx: &egui::Context, is_replaced: bool) {
        let Some(place) = self.replacing.take() else { return };
        if is_replaced {
            self.save_there(ctx, Place { existing: Existing::GivesWay, ..place });
        } else {
            self.typed_path = place.typed; // lets the user type another name
        }
    }

    /// Reports that nothing may be saved there, and lets the user type another path.
    pub(super) fn refuse_place(&mut self, place: Place, refusal: Refusal) {
        let text = format!("{}: {refusal}.", place.file.display());
        match place.typed {
            Some(typed) => self.typed_path = Some(TypedPath { complaint: Some(text), ..typed }),
            None => self.messages.push(Message::error(text)),
        }
    }

    /// Starts to write it; the writer checks the path once more.
    pub(super) fn save_there(&mut self, ctx: &egui::Context, place: Place) {
        let Place { purpose, file, existing, .. } = place;
        match purpose {
            Purpose::Export(export) => self.save_table(ctx, export, file, existing),
            Purpose::Picture(picture) => self.save_picture(ctx, &picture, file, existing),
            Purpose::Page(page) => self.save_page(ctx, page, file, existing),
            Purpose::Investigation(snapshot) => self.write_investigation(ctx, snapshot, file, existing),
            Purpose::SaveRules => self.write_rules(ctx, file, existing),
            Purpose::Save(_) => self.recording.iter_mut().for_each(|job| job.move_to(file.clone(), existing)),
            Purpose::Traces | Purpose::Compared | Purpose::Rules | Purpose::Pdb(_) => {} // these files are read, not saved
        }
    }
}
