//! One search along the symbol path: folders, stores with compressed files and
//! pointers, and (in [`super::remote`]) servers. What is there and of no use is told.

use std::fs;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;

use super::{Download, Located, Locator};
use crate::symbols::guard::Stop;
use crate::symbols::path::Place;
use crate::symbols::source::PdbFile;
use crate::symbols::{PdbError, PdbKey, cabinet, depot, resolver};

/// One search.
pub(super) struct Search<'a> {
    pub(super) locator: &'a Locator,
    pub(super) stop: &'a Stop,
    #[cfg_attr(not(feature = "symsrv"), expect(dead_code, reason = "only downloads take long"))]
    pub(super) progress: &'a dyn Fn(Download),
    pub(super) name: String,
    pub(super) key: PdbKey,
    /// Files that were looked at.
    pub(super) seen: FxHashSet<PathBuf>,
    /// What was found and is of no use, or kept us from looking.
    pub(super) troubles: Vec<String>,
    /// Places that were asked.
    pub(super) asked: usize,
}

impl Search<'_> {
    /// Whether a file is what is wanted. What is there and is not is noted.
    pub(super) fn is_it(&mut self, file: &Path) -> bool {
        if !self.seen.insert(file.to_owned()) || !file.is_file() {
            return false;
        }
        match verify(file, self.key, self.stop) {
            Ok(()) => return true,
            Err(error @ PdbError::OtherBuild { .. }) => self.troubles.push(format!("{error} ({})", file.display())),
            Err(PdbError::Stopped) => {}
            Err(error) => self.troubles.push(format!("{}: {error}", file.display())),
        }
        false
    }

    /// Asks the places of a chain, and copies what is found to the stores before.
    pub(super) fn chain(&mut self, chain: &[Place]) -> Option<Located> {
        for (i, place) in chain.iter().enumerate() {
            let before: Vec<&Path> = chain[..i].iter().filter_map(store_of).collect();
            self.asked += 1;
            let found = match place {
                Place::Folder(root) => self.folder(root, &before),
                Place::Store(root) => self.store(root, &before),
                Place::Server(url) => self.server(url, &before),
            };
            if let Some(mut file) = found {
                for root in before.iter().rev() {
                    let target = depot::place(root, &self.name, &self.key.folder());
                    if target == file {
                        continue;
                    }
                    match depot::copy(&file, &target) {
                        Ok(()) => file = target,
                        Err(error) => log::warn!("{} cannot be copied to {}: {error}", self.name, root.display()),
                    }
                }
                return Some(Located { file: file.as_path().into(), key: self.key, source: place.to_string() });
            }
        }
        None
    }

    fn folder(&mut self, root: &Path, before: &[&Path]) -> Option<PathBuf> {
        let kind = Path::new(&self.name).extension().unwrap_or_default().to_owned();
        let places = [root.to_owned(), root.join(&kind), root.join("symbols").join(&kind)];
        let files = places.map(|folder| folder.join(&self.name));
        files.into_iter().find(|file| self.is_it(file)).or_else(|| self.store(root, before))
    }

    /// The name itself, and as it may be written in a store that a system wrote which
    /// does not tell cases apart.
    fn spellings(&self) -> Vec<(String, String)> {
        let key = self.key.folder();
        let mut all = vec![(self.name.clone(), key.clone()), (self.name.to_lowercase(), key), (self.name.clone(), String::new())];
        all[2].1 = all[0].1.to_lowercase();
        all.dedup();
        all
    }

    fn store(&mut self, root: &Path, before: &[&Path]) -> Option<PathBuf> {
        if !root.is_dir() {
            return None;
        }
        let is_two_tier = root.join("index2.txt").is_file();
        for (name, key) in self.spellings() {
            let mut folders = vec![root.join(&name).join(&key)];
            if is_two_tier {
                folders.push(root.join(first_two(&name)).join(&name).join(&key));
            }
            for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
                if let Some(file) = self.store_folder(root, &folder, &name, before) {
                    depot::touch(&file);
                    return Some(file);
                }
            }
        }
        None
    }

    /// What stands in the folder of one build: the file, compressed, or a pointer to it.
    fn store_folder(&mut self, root: &Path, folder: &Path, name: &str, before: &[&Path]) -> Option<PathBuf> {
        let file = folder.join(name);
        if self.is_it(&file) {
            return Some(file);
        }
        let packed = folder.join(compressed(name));
        if packed.is_file() {
            let target = self.writable(before).or_else(|| depot::is_writable(root).then(|| root.to_owned()))?;
            let target = depot::place(&target, &self.name, &self.key.folder());
            match self.expand(&packed, &target) {
                Ok(()) => return Some(target),
                Err(why) => self.troubles.push(format!("{}: {why}", packed.display())),
            }
        }
        let pointer = fs::read_to_string(folder.join("file.ptr")).ok().filter(|text| text.len() < 4096);
        match pointer.as_deref().map(Pointer::read) {
            Some(Pointer::Path(path)) => {
                let file = folder.join(path);
                if self.is_it(&file) {
                    return Some(file);
                }
                if !file.is_file() {
                    self.troubles.push(format!("{} points to {}, which is not there", root.display(), file.display()));
                }
            }
            Some(Pointer::Message(text)) => self.troubles.push(format!("{} says: {text}", root.display())),
            None => {}
        }
        if folder.join("msfz0").join(name).is_file() {
            self.troubles.push(format!("{} has it in the compressed form MSFZ only, which is not supported", root.display()));
        }
        None
    }

    /// The nearest store that can be written to, else the program's own.
    pub(super) fn writable(&self, before: &[&Path]) -> Option<PathBuf> {
        let near = before.iter().rev().find(|root| depot::is_writable(root)).map(|root| root.to_path_buf());
        near.or_else(|| self.locator.sources.store.clone())
    }

    /// Expands a cabinet to where what is in it belongs.
    pub(super) fn expand(&mut self, packed: &Path, target: &Path) -> Result<(), String> {
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        }
        let draft = depot::draft(target);
        if let Err(error) = cabinet::expand(packed, &draft, self.stop) {
            let _ = fs::remove_file(&draft);
            return Err(error.to_string());
        }
        self.adopt(&draft, target)
    }

    /// Gives a new file its name if it is what is wanted, else removes it.
    pub(super) fn adopt(&mut self, draft: &Path, target: &Path) -> Result<(), String> {
        let verified = verify(draft, self.key, self.stop).map_err(|error| error.to_string());
        let result = verified.and_then(|()| fs::rename(draft, target).map_err(|error| error.to_string()));
        if result.is_err() {
            let _ = fs::remove_file(draft);
        }
        result
    }

    #[cfg(not(feature = "symsrv"))]
    fn server(&mut self, url: &str, _before: &[&Path]) -> Option<PathBuf> {
        self.troubles.push(format!("{url} was not asked: this program was built without the network"));
        None
    }

    /// Why nothing was found.
    pub(super) fn reason(&self) -> String {
        let nowhere = match self.asked {
            0 => format!("{} is neither beside the image nor where the linker wrote it, and there is no symbol path", self.name),
            1 => format!("{} is not in the one place of the symbol path", self.name),
            n => format!("{} is in none of the {n} places of the symbol path", self.name),
        };
        let mut reasons = self.troubles.clone();
        if reasons.is_empty() {
            reasons.push(nowhere);
        }
        reasons.dedup();
        reasons.join("; ")
    }
}

/// What a `file.ptr` says.
pub(super) enum Pointer<'a> {
    /// The file is there.
    Path(&'a str),
    /// It cannot be had.
    Message(&'a str),
}

impl<'a> Pointer<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let text = text.trim().trim_matches('\0');
        match text.get(..5).filter(|head| head.eq_ignore_ascii_case("PATH:")) {
            Some(_) => Self::Path(text[5..].trim()),
            None => Self::Message(text.get(4..).filter(|_| text.to_ascii_uppercase().starts_with("MSG:")).unwrap_or(text).trim()),
        }
    }
}

/// Whether a file is the PDB of this build.
pub(super) fn verify(file: impl Into<PdbFile>, wanted: PdbKey, stop: &Stop) -> Result<(), PdbError> {
    match resolver::identify(file, stop)? {
        found if found == wanted => Ok(()),
        found => Err(PdbError::OtherBuild { wanted, found }),
    }
}

fn store_of(place: &Place) -> Option<&Path> {
    match place {
        Place::Store(root) => Some(root).filter(|root| depot::is_writable(root)).map(PathBuf::as_path),
        Place::Folder(_) | Place::Server(_) => None,
    }
}

/// The name of a compressed file: its last letter is `_`.
pub(super) fn compressed(name: &str) -> String {
    let mut letters = name.chars();
    letters.next_back();
    letters.as_str().to_owned() + "_"
}

pub(super) fn first_two(name: &str) -> String {
    name.chars().take(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_and_compressed_names_are_as_stores_write_them() {
        assert!(matches!(Pointer::read("PATH:\\\\server\\share\\a.pdb\r\n"), Pointer::Path("\\\\server\\share\\a.pdb")));
        assert!(matches!(Pointer::read("MSG: gone"), Pointer::Message("gone")));
        assert!(matches!(Pointer::read("who knows"), Pointer::Message("who knows")));
        assert_eq!(compressed("ntdll.pdb"), "ntdll.pd_");
        assert_eq!(first_two("é1.pdb"), "é1");
    }
}
