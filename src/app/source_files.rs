//! Opens lines of source files in the user's editor. Looking for a file can take long, so a thread of its own does it.

use eframe::egui;

use super::HighwaterApp;
use super::aside::Aside;
use crate::editor;
use crate::query::SourceLine;

/// Whether the dialog is shown, and files that are looked for.
#[derive(Default)]
pub struct SourceFiles {
    /// Whether the user is to say how files are opened.
    pub is_shown: bool,
    at_work: Aside<Result<(), String>>,
}

impl SourceFiles {
    /// Whether a file is looked for.
    pub fn is_at_work(&self) -> bool {
        self.at_work.is_at_work()
    }
}

impl HighwaterApp {
    /// Opens a line, once its file is found.
    pub(super) fn open_source(&mut self, ctx: &egui::Context, line: &SourceLine) {
        let (settings, SourceLine { file, line }) = (self.settings.sources.clone(), line.clone());
        self.source_files
            .at_work
            .start(ctx, move || editor::find(&file, &settings.folders).and_then(|path| editor::open(&settings, &path, line)));
    }

    /// Says what was not found, or not opened.
    pub(super) fn drain_source_files(&mut self) {
        let failed = self.source_files.at_work.done().into_iter().filter_map(Result::err);
        failed.for_each(|text| self.tell_once(text));
    }
}
