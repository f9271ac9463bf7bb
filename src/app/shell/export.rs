//! Writing tables and pictures for the user, on a worker.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use eframe::egui;

use super::HighwaterApp;
use super::loading::PROGRESS;
use crate::app::base::message::Message;
use crate::app::base::table::{Export, Format, TableSource, write};
use crate::app::services::picture::Picture;
use crate::app::services::saving::{Done, save};
use crate::app::services::shared_page::SharedPage;
use crate::paths::Existing;

/// How long the status bar says what was saved.
pub(super) const SAVED_SHOWN: Duration = Duration::from_secs(8);

impl HighwaterApp {
    /// Copies a table.
    pub(super) fn copy_table(&mut self, ctx: &egui::Context, table_source: Arc<dyn TableSource>) {
        self.exports.start(ctx, move || {
            let mut text = Vec::new();
            // Writing to memory cannot fail.
            let _ = write(&*table_source, Format::Text, &mut text);
            Done::Copied(String::from_utf8_lossy(&text).into_owned())
        });
    }

    /// Writes a table to a file that the user named.
    pub(super) fn save_table(&mut self, ctx: &egui::Context, export: Export, file: PathBuf, existing: Existing) {
        self.save(ctx, file, existing, move |out| write(&*export.table_source, export.format, out));
    }

    /// Writes a picture to a file that the user named.
    pub(super) fn save_picture(&mut self, ctx: &egui::Context, picture: &Arc<Picture>, file: PathBuf, existing: Existing) {
        let picture = Arc::clone(picture);
        self.save(ctx, file, existing, move |out| picture.write(out));
    }

    /// Writes a page to a file that the user named.
    pub(super) fn save_page(&mut self, ctx: &egui::Context, page: Arc<SharedPage>, file: PathBuf, existing: Existing) {
        self.save(ctx, file, existing, move |out| page.write(out));
    }

    fn save(
        &mut self,
        ctx: &egui::Context,
        file: PathBuf,
        existing: Existing,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
    ) {
        self.exports.start(ctx, move || match save(&file, existing, write) {
            Ok(()) => Done::Saved(file.display().to_string()),
            Err(reason) => Done::Failed(format!("{} could not be written: {reason}.", file.display())),
        });
    }

    pub(super) fn drain_exports(&mut self, ctx: &egui::Context) {
        for done in self.exports.done() {
            // What is to be read or answered keeps the window open.
            self.is_closing &= !matches!(done, Done::Failed(_) | Done::Taken(_) | Done::Refused(..));
            match done {
                Done::Copied(text) => ctx.copy_text(text),
                Done::Saved(name) => {
                    self.saved = Some((name, Instant::now()));
                    ctx.request_repaint_after(SAVED_SHOWN);
                }
                Done::Stopped => {}
                Done::Free(place) => self.save_there(ctx, place),
                Done::Failed(reason) => self.messages.push(Message::error(reason)),
                Done::Taken(place) => self.replacing = Some(place),
                Done::Refused(place, refusal) => self.refuse_place(place, refusal),
            }
        }
        if !self.exports.writing().is_empty() {
            ctx.request_repaint_after(PROGRESS);
        }
    }
}
