//! Symbol servers: what is asked of them, and what becomes of their answers.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Download;
use super::search::{Pointer, Search, compressed, first_two, verify};
use crate::pe::absolute_path;
use crate::symbols::http::{Answer, UNTRUSTED};
use crate::symbols::server::{Fetched, discard, fetch};
use crate::symbols::{PdbError, cabinet, depot};

impl Search<'_> {
    /// Asks a server. What it sends goes to the nearest store.
    pub(super) fn server(&mut self, url: &str, before: &[&Path]) -> Option<PathBuf> {
        if !self.locator.sources.network {
            self.troubles.push(format!("{url} was not asked: the network is off"));
            return None;
        }
        let Some(root) = self.writable(before) else {
            self.troubles.push(format!("{url} was not asked: there is no store for what it sends"));
            return None;
        };
        let target = depot::place(&root, &self.name, &self.key.folder());
        let one_tier = format!("{url}/{}/{}", escape(&self.name), self.key.folder());
        let found = match self.server_folder(url, &one_tier, &target) {
            Ok(false) if self.is_two_tier(url) => {
                let two_tier = format!("{url}/{}/{}/{}", escape(&first_two(&self.name)), escape(&self.name), self.key.folder());
                self.server_folder(url, &two_tier, &target)
            }
            other => other,
        };
        match found {
            Ok(true) => {
                if self.locator.sources.store.as_ref() == Some(&root) {
                    depot::trim(&root, self.locator.sources.store_limit, &target);
                }
                Some(target)
            }
            Ok(false) => None,
            Err(why) => {
                self.troubles.push(format!("{url}: {why}"));
                None
            }
        }
    }

    /// Whether the server has its files in folders by their first two letters.
    fn is_two_tier(&self, url: &str) -> bool {
        let marker = format!("{url}/index2.txt");
        let known = self.locator.lock_missing().get(&marker).cloned();
        known.is_none() && {
            let is_there = matches!(self.locator.http.get(&marker, None), Ok(Answer::Body(_)));
            if !is_there {
                self.locator.lock_missing().insert(marker, None);
            }
            is_there
        }
    }

    /// Asks for the file, for the compressed one, and for a pointer. Whether it is there.
    fn server_folder(&mut self, server: &str, folder: &str, target: &Path) -> Result<bool, String> {
        for name in [self.name.clone(), compressed(&self.name), "file.ptr".to_owned()] {
            let url = format!("{folder}/{}", escape(&name));
            let Some(file) = self.fetch(server, &url, target)? else { continue };
            let mut head = Vec::new();
            let _ = fs::File::open(&file).and_then(|file| file.take(4096).read_to_end(&mut head)); // empty: no PDB
            let done = if name == "file.ptr" {
                self.follow(&String::from_utf8_lossy(&head), target)
            } else if head.starts_with(cabinet::MAGIC) {
                self.expand(&file, target)
            } else {
                self.adopt(&file, target)
            };
            discard(&file);
            return match done {
                Ok(()) => Ok(true),
                Err(why) => {
                    self.locator.lock_missing().insert(url, Some(why.clone()));
                    Err(why)
                }
            };
        }
        Ok(false)
    }

    /// Downloads a file; `None` if the server has it not.
    fn fetch(&mut self, server: &str, url: &str, target: &Path) -> Result<Option<PathBuf>, String> {
        for known in [server, url] {
            match self.locator.lock_missing().get(known) {
                Some(Some(why)) => return Err(why.clone()),
                Some(None) => return Ok(None),
                None => {}
            }
        }
        let progress = |done, total| (self.progress)(Download { done, total });
        match fetch(&self.locator.http, url, target, self.stop, &progress) {
            Ok(Fetched::File(file)) => Ok(Some(file)),
            Ok(Fetched::Missing) => {
                self.locator.lock_missing().insert(url.to_owned(), None);
                Ok(None)
            }
            Err(why) => {
                // One that cannot be reached is not asked for each module again.
                let is_down = ["it was not found", "it does not answer", UNTRUSTED].iter().any(|start| why.starts_with(start));
                if !self.stop.is_set() {
                    let key = if is_down { server } else { url };
                    self.locator.lock_missing().insert(key.to_owned(), Some(why.clone()));
                }
                Err(why)
            }
        }
    }

    /// Follows a pointer that a server sent.
    fn follow(&mut self, text: &str, target: &Path) -> Result<(), String> {
        match Pointer::read(text) {
            Pointer::Path(path) => {
                let file = absolute_path(path).ok_or_else(|| format!("it points to {path}, which is not on this machine"))?;
                match verify(&file, self.key, self.stop) {
                    Ok(()) => depot::copy(&file, target).map_err(|error| error.to_string()),
                    Err(error @ PdbError::OtherBuild { .. }) => Err(error.to_string()),
                    Err(error) => Err(format!("it points to {path}, but {error}")),
                }
            }
            Pointer::Message(text) => Err(format!("it says: {text}")),
        }
    }
}

/// A name as part of a URL.
fn escape(name: &str) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~+!$'()@,".contains(&byte) {
            text.push(byte.into());
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}
