//! Lines of source files: opens them in the user's editor, and reads the lines around them. Finding a
//! file can take long, so a thread of its own does it.
//!
//! A file is either on this machine ([`editor::find`]) or where the build's symbols say: built into the
//! program, stored from an earlier download, or on a server, which is contacted only if the user has
//! allowed it.

use std::path::PathBuf;

use crate::app::base::background::Background;
use crate::editor::{self, Excerpt, SourceSettings};
use crate::query::SourceLine;
use crate::symbols::{BuildSources, SourceOrigin, SourceStore, Stop};
use crate::tables::KeyedMap;

/// State of the source files: the settings dialog, and files being opened and read.
#[derive(Default)]
pub struct SourceFiles {
    /// Whether the dialog for opening files is shown.
    pub is_shown: bool,
    pub at_work: Background<Result<(), String>>,
    /// The text around the lines shown last; `None` while it is being read.
    pub texts: KeyedMap<SourceLine, Option<Result<Excerpt, Unread>>>,
    pub reading: Background<(SourceLine, Result<Excerpt, Unread>)>,
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
pub const MOST_TEXTS: usize = 64;
/// Lines before and after a line.
pub const AROUND: u32 = 4;

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
        self.reading = Background::default(); // pending reads use the old places
    }
}

/// A source file.
pub enum Found {
    File(PathBuf),
    /// A text that is built into the program.
    Text(&'static str),
}

/// The places to search for source files.
pub struct Search {
    pub settings: SourceSettings,
    pub builds: BuildSources,
    pub store: Option<SourceStore>,
}

impl Search {
    /// Finds a file by the name that the compiler gave it.
    pub fn find(&self, file: &str) -> Result<Found, Unread> {
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
    pub fn keep(&self, file: &str, text: &str) -> Result<PathBuf, String> {
        let store = self.store.as_ref().ok_or("There is no folder where highwater can keep files.")?;
        store.keep(file, text).map_err(|why| format!("{file} was not written: {why}."))
    }
}
