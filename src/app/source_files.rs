//! Lines of source files: opens them in the user's editor, and reads what stands around them. Looking for a file can take
//! long, so a thread of its own does it.

use eframe::egui;

use super::HighwaterApp;
use super::aside::Aside;
use crate::editor::{self, Excerpt};
use crate::query::SourceLine;
use crate::tables::KeyedMap;

/// Whether the dialog is shown, and files that are looked for.
#[derive(Default)]
pub struct SourceFiles {
    /// Whether the user is to say how files are opened.
    pub is_shown: bool,
    at_work: Aside<Result<(), String>>,
    /// What stands around the lines that were looked at last; `None` while it is being read.
    texts: KeyedMap<SourceLine, Option<Result<Excerpt, String>>>,
    reading: Aside<(SourceLine, Result<Excerpt, String>)>,
}

/// Lines whose text is kept.
const MOST_TEXTS: usize = 64;
/// Lines before and behind one.
const AROUND: u32 = 4;

impl SourceFiles {
    /// Whether a file is looked for.
    pub fn is_at_work(&self) -> bool {
        self.at_work.is_at_work() || self.reading.is_at_work()
    }

    /// What stands around a line, or why that is not known; `None` if nobody has asked yet, or it is being read.
    pub fn text(&self, line: &SourceLine) -> Option<&Result<Excerpt, String>> {
        self.texts.get(line)?.as_ref()
    }

    /// Forgets what was read: folders have other names now.
    pub fn forget_texts(&mut self) {
        self.texts.clear();
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

    /// Reads what stands around a line, once.
    pub(super) fn read_source(&mut self, ctx: &egui::Context, line: SourceLine) {
        let SourceFiles { texts, reading, .. } = &mut self.source_files;
        if texts.contains_key(&line) {
            return;
        }
        if texts.len() >= MOST_TEXTS {
            texts.clear();
        }
        texts.insert(line.clone(), None);
        let folders = self.settings.sources.folders.clone();
        reading.start(ctx, move || {
            let read = editor::find(&line.file, &folders).and_then(|path| {
                let read = editor::excerpt(&path, line.line, AROUND);
                read.map_err(|reason| format!("{} {reason}", path.display()))
            });
            (line, read)
        });
    }

    /// Says what was not found, or not opened.
    pub(super) fn drain_source_files(&mut self) {
        for (line, read) in self.source_files.reading.done() {
            self.source_files.texts.insert(line, Some(read));
        }
        let failed = self.source_files.at_work.done().into_iter().filter_map(Result::err);
        failed.for_each(|text| self.tell_once(text));
    }
}
