//! Opening and reading source files.

use eframe::egui;

use super::HighwaterApp;
use crate::app::services::source_files::{AROUND, Found, MOST_TEXTS, Search, SourceFiles, Unread};
use crate::editor;
use crate::query::SourceLine;
use crate::symbols::SourceStore;

impl HighwaterApp {
    fn search_for_sources(&self) -> Search {
        let names = self.front.document().and_then(|document| document.names.as_ref());
        Search {
            settings: self.settings.sources.clone(),
            builds: names.map(|names| names.build_sources()).unwrap_or_default(),
            store: SourceStore::new(self.given.cache.as_deref()),
        }
    }

    /// Opens a line in the editor, once its file is found.
    pub(super) fn open_source(&mut self, ctx: &egui::Context, line: &SourceLine) {
        let (search, SourceLine { file, line }) = (self.search_for_sources(), line.clone());
        self.source_files.at_work.start(ctx, move || {
            let path = match search.find(&file).map_err(|unread| unread.reason)? {
                Found::File(path) => path,
                Found::Text(text) => search.keep(&file, text)?,
            };
            editor::open(&search.settings, &path, line)
        });
    }

    /// Reads the text around a line, once.
    pub(super) fn read_source(&mut self, ctx: &egui::Context, line: SourceLine) {
        // It is asked for in each frame until it is there.
        if self.source_files.texts.contains_key(&line) {
            return;
        }
        let search = self.search_for_sources();
        let SourceFiles { texts, reading, .. } = &mut self.source_files;
        if texts.len() >= MOST_TEXTS {
            texts.clear();
        }
        texts.insert(line.clone(), None);
        reading.start(ctx, move || {
            let read = search.find(&line.file).and_then(|found| {
                let (read, name) = match found {
                    Found::File(path) => (editor::excerpt(&path, line.line, AROUND), path.display().to_string()),
                    Found::Text(text) => (editor::excerpt_of(text, line.line, AROUND), line.file.clone()),
                };
                read.map_err(|reason| Unread { reason: format!("{name} {reason}"), server: None })
            });
            (line, read)
        });
    }

    /// Takes the results, and reports files that were not found or not opened.
    pub(super) fn drain_source_files(&mut self) {
        for (line, read) in self.source_files.reading.done() {
            self.source_files.texts.insert(line, Some(read));
        }
        let failed = self.source_files.at_work.done().into_iter().filter_map(Result::err);
        failed.for_each(|text| self.tell_once(text));
    }
}
