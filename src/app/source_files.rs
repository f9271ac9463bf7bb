//! Lines of source files: opens them in the user's editor, and reads the lines around them. Finding a
//! file can take long, so a thread of its own does it.
//!
//! A file is either on this machine ([`editor::find`]) or where the build's symbols say: built into the
//! program, stored from an earlier download, or on a server, which is contacted only if the user has
//! allowed it.

use std::path::PathBuf;

use eframe::egui;

use super::HighwaterApp;
use super::aside::Aside;
use crate::editor::{self, Excerpt, SourceSettings};
use crate::query::SourceLine;
use crate::symbols::{BuildSources, SourceOrigin, SourceStore, Stop};
use crate::tables::KeyedMap;

/// State of the source files: the settings dialog, and files being opened and read.
#[derive(Default)]
pub struct SourceFiles {
    /// Whether the dialog for opening files is shown.
    pub is_shown: bool,
    at_work: Aside<Result<(), String>>,
    /// The text around the lines shown last; `None` while it is being read.
    texts: KeyedMap<SourceLine, Option<Result<Excerpt, Unread>>>,
    reading: Aside<(SourceLine, Result<Excerpt, Unread>)>,
}

/// Why a source file was not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unread {
    /// The reason, as a sentence.
    pub reason: String,
    /// The server that has it, if the user has not yet allowed contacting it.
    pub server: Option<String>,
}

/// Number of lines whose text is kept.
const MOST_TEXTS: usize = 64;
/// Lines before and after a line.
const AROUND: u32 = 4;

impl SourceFiles {
    /// Whether a file is being opened or read.
    pub fn is_at_work(&self) -> bool {
        self.at_work.is_at_work() || self.reading.is_at_work()
    }

    /// The text around a line, or why it could not be read; `None` if it was not requested yet, or is being read.
    pub fn text(&self, line: &SourceLine) -> Option<&Result<Excerpt, Unread>> {
        self.texts.get(line)?.as_ref()
    }

    /// Forgets the texts, because files are to be searched for elsewhere now.
    pub fn forget_texts(&mut self) {
        self.texts.clear();
        self.reading = Aside::default(); // pending reads use the old places
    }
}

/// A source file.
enum Found {
    File(PathBuf),
    /// A text that is built into the program.
    Text(&'static str),
}

/// The places to search for source files.
struct Search {
    settings: SourceSettings,
    builds: BuildSources,
    store: Option<SourceStore>,
}

impl Search {
    /// Finds a file by the name that the compiler gave it.
    fn find(&self, file: &str) -> Result<Found, Unread> {
        let missing = match editor::find(file, &self.settings.folders) {
            Ok(path) => return Ok(Found::File(path)),
            Err(missing) => missing,
        };
        let name = file.rsplit(['\\', '/']).next().unwrap_or(file);
        let unread = |reason: String| Unread { reason, server: None };
        let (Some(store), Some(origin)) = (&self.store, self.builds.origin(file, &Stop::default())) else {
            return Err(unread(missing));
        };
        let url = match origin {
            SourceOrigin::Text(text) => return Ok(Found::Text(text)),
            SourceOrigin::Command => {
                return Err(unread(format!(
                    "{missing} Its symbols name a command that fetches it, which highwater does not run."
                )));
            }
            SourceOrigin::Url(url) => url,
        };
        let host = url.host();
        match store.kept(&url) {
            Some(path) => Ok(Found::File(path)),
            None if self.settings.servers.iter().any(|server| server == host) => {
                let fetched = store.fetch(&url, &Stop::default());
                fetched.map(Found::File).map_err(|why| unread(format!("{name} did not come from {host}: {why}.")))
            }
            None => {
                let reason = format!("{name} is not on this machine as {file}. Its symbols say that {host} has it.");
                Err(Unread { reason, server: Some(host.to_owned()) })
            }
        }
    }

    /// Writes a built-in text to a file, for the editor.
    fn keep(&self, file: &str, text: &str) -> Result<PathBuf, String> {
        let store = self.store.as_ref().ok_or("There is no folder for files of the program's own.")?;
        store.keep(file, text).map_err(|why| format!("{file} was not written: {why}."))
    }
}

impl HighwaterApp {
    fn search_for_sources(&self) -> Search {
        let names = self.document.as_ref().and_then(|document| document.names.as_ref());
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
