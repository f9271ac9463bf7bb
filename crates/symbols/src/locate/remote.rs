//! Symbol servers: the requests to them, and what is done with their answers.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::locator::Download;
use super::search::{Search, beginning, compressed, first_two};
use super::servers::Absent;
use crate::path::is_encrypted;
use crate::paths::{self, absolute_path};
use crate::server::{Fetched, discard, fetch};
use crate::trouble::{PlaceTrouble, Trouble};
use crate::{PdbError, cabinet, depot};

impl Search<'_> {
    /// Asks a server. A file that it sends goes to the nearest store.
    pub(super) fn server(&mut self, url: &str, before: &[&Path]) -> Option<PathBuf> {
        if !self.locator.sources.network {
            self.troubles.push(Trouble::NetworkOff(url.to_owned()));
            return None;
        }
        let Some(root) = self.writable(before) else {
            self.troubles.push(Trouble::NoStore(url.to_owned()));
            return None;
        };
        let target = depot::place(&root, &self.name, &self.sought.folder());
        match self.ask(url, &target) {
            Ok(true) => {
                depot::clear_parts(&target);
                if self.locator.sources.store.as_ref() == Some(&root) {
                    depot::trim(&root, self.locator.sources.store_limit, &target);
                }
                Some(target)
            }
            Ok(false) => None,
            Err(why) => {
                self.note(&url, why);
                None
            }
        }
    }

    /// Asks a server for the file in each layout that servers use. Returns whether the file is there.
    fn ask(&mut self, server: &str, target: &Path) -> Result<bool, PlaceTrouble> {
        let (name, key) = (escape(&self.name), self.sought.folder());
        if self.server_folder(server, &format!("{server}/{name}/{key}"), target)? {
            return Ok(true);
        }
        let is_two_tier = self.locator.servers.is_two_tier(server)?;
        let folder = format!("{server}/{}/{name}/{key}", escape(&first_two(&self.name)));
        Ok(is_two_tier && self.server_folder(server, &folder, target)?)
    }

    /// Asks for the file, for the compressed one, and for a pointer. Returns whether the file is there.
    fn server_folder(&mut self, server: &str, folder: &str, target: &Path) -> Result<bool, PlaceTrouble> {
        const POINTER: &str = "file.ptr";
        for name in [self.name.clone(), compressed(&self.name), POINTER.to_owned()] {
            let url = format!("{folder}/{}", escape(&name));
            let Some(file) = self.fetch(server, &url, target)? else { continue };
            let done = if name == POINTER {
                self.follow(&beginning(&file).unwrap_or_default(), is_encrypted(server), target)
            } else if is_cabinet(&file) {
                self.expand(&file, target).map_err(PlaceTrouble::from)
            } else {
                self.adopt(&file, target).map_err(PlaceTrouble::from)
            };
            discard(&file);
            if let Err(why) = &done {
                self.locator.servers.note(server, &url, why);
            }
            return done.map(|()| true);
        }
        Ok(false)
    }

    /// Downloads a file; `None` if it is not at this URL, but may be at another one.
    fn fetch(&mut self, server: &str, url: &str, target: &Path) -> Result<Option<PathBuf>, PlaceTrouble> {
        let servers = &self.locator.servers;
        let fetched = match servers.known(server, url) {
            Some(Absent::Missing) => return Ok(None),
            Some(Absent::Trouble(why)) => Err(why),
            None => {
                let progress = |done, total| (self.progress)(Download { done, total });
                let begun = Instant::now();
                let fetched = fetch(&servers.http, url, target, self.stop, &progress);
                match &fetched {
                    Ok(Fetched::File(_)) => {}
                    Ok(Fetched::Missing) => servers.note_missing(server, url, begun.elapsed()),
                    Err(why) => servers.note(server, url, why),
                }
                fetched
            }
        };
        match fetched {
            Ok(Fetched::File(file)) => Ok(Some(file)),
            Ok(Fetched::Missing) => Ok(None),
            // Stores that list nothing to strangers send a 403 for every file that they do not have.
            Err(PlaceTrouble::Forbidden) => {
                self.note(&server, PlaceTrouble::Forbidden);
                Ok(None)
            }
            Err(why) => Err(why),
        }
    }

    /// Follows a pointer that a server sent.
    fn follow(&mut self, text: &str, is_encrypted: bool, target: &Path) -> Result<(), PlaceTrouble> {
        let path = self.pointed(text, is_encrypted)?;
        let file = absolute_path(path).ok_or_else(|| PlaceTrouble::PointsElsewhere(path.to_owned()))?;
        match self.sought.verify(&file, self.stop) {
            Ok(()) => Ok(self.copy(&file, target)?),
            Err(error @ (PdbError::OtherBuild { .. } | PdbError::OtherImage | PdbError::Stopped)) => Err(error.into()),
            Err(error) => Err(PlaceTrouble::PointsToFile { path: path.to_owned(), error }),
        }
    }

    /// Gives a new file its name if it is the wanted one, and removes it otherwise.
    fn adopt(&mut self, draft: &Path, target: &Path) -> Result<(), PdbError> {
        let result = self.sought.verify(draft, self.stop).and_then(|()| Ok(paths::adopt(draft, target)?));
        if result.is_err() {
            let _ = fs::remove_file(draft);
        }
        result
    }
}

fn is_cabinet(file: &Path) -> bool {
    let mut head = [0; cabinet::MAGIC.len()];
    fs::File::open(file).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *cabinet::MAGIC
}

/// Characters that are escaped in a part of a URL's path (RFC 3986; servers take the others that it allows as they are).
const NO_PART: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'+')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'@')
    .remove(b',');

/// A name as part of a URL.
fn escape(name: &str) -> String {
    utf8_percent_encode(name, NO_PART).to_string()
}
