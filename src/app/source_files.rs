//! Opens lines of source files in the user's editor. Looking for a file can take long, so a thread of its own does it.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use eframe::egui;

use super::HighwaterApp;
use super::failure::Failure;
use crate::editor;
use crate::query::SourceLine;

/// Whether the dialog is shown, and files that are looked for.
#[derive(Default)]
pub struct SourceFiles {
    /// Whether the user is to say how files are opened.
    pub is_shown: bool,
    at_work: Vec<Receiver<Result<(), String>>>,
}

impl SourceFiles {
    /// Whether a file is looked for.
    pub fn is_at_work(&self) -> bool {
        !self.at_work.is_empty()
    }
}

impl HighwaterApp {
    /// Opens a line, once its file is found.
    pub(super) fn open_source(&mut self, ctx: &egui::Context, line: &SourceLine) {
        let (send, done) = channel();
        self.source_files.at_work.push(done);
        let (settings, SourceLine { file, line }, ctx) = (self.settings.sources.clone(), line.clone(), ctx.clone());
        std::thread::spawn(move || {
            let opened = editor::find(&file, &settings.folders).and_then(|path| editor::open(&settings, &path, line));
            let _ = send.send(opened); // the window may be gone by now
            ctx.request_repaint();
        });
    }

    /// Says what was not found, or not opened.
    pub(super) fn drain_source_files(&mut self) {
        let Self { source_files, errors, .. } = self;
        source_files.at_work.retain(|done| match done.try_recv() {
            Ok(Ok(())) => false,
            Ok(Err(text)) => {
                if errors.iter().all(|shown| shown.text != text) {
                    errors.push(Failure::expected(text));
                }
                false
            }
            Err(reason) => reason == TryRecvError::Empty,
        });
    }
}
