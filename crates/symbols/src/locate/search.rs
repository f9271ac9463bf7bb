//! One search along the symbol path: folders, stores with compressed files and pointers, and servers (in
//! [`super::remote`]). Files that are there but of no use are reported.

use std::fmt::Display;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::locator::{Download, Locator};
use crate::guard::Stop;
use crate::path::Place;
use crate::paths::{is_regular, open_regular, share_host};
use crate::pe::{self, Build, Likeness};
use crate::source::PdbFile;
use crate::tables::KeyedSet;
use crate::trouble::{NotFound, PlaceTrouble, Trouble};
use crate::{PdbError, PdbKey, cabinet, cache, depot, resolver};

/// The file to find.
#[derive(Clone, Copy)]
pub(super) enum Sought {
    /// The PDB of this build.
    Pdb(PdbKey),
    /// The image of this build, whose time stamp is known.
    Image(Build),
}

impl Sought {
    /// Name of its folder in a store.
    pub(super) fn folder(self) -> String {
        match self {
            Self::Pdb(key) => key.folder(),
            Self::Image(Build { time_stamp, size, .. }) => format!("{time_stamp:08X}{size:x}"),
        }
    }

    /// Checks that a file is the wanted one, and whole.
    pub(super) fn verify(self, file: &Path, stop: &Stop) -> Result<(), PdbError> {
        let build = match self {
            Self::Pdb(key) => return verify(file, key, stop),
            Self::Image(build) => build,
        };
        let image = pe::read(file).ok_or(PdbError::NoImage)?;
        match build.compare(&image.build) {
            Likeness::Same if file.metadata()?.len() < image.bytes => Err(PdbError::Damaged("it ends too early".to_owned())),
            Likeness::Same => Ok(()),
            Likeness::SameSize | Likeness::Other => Err(PdbError::OtherImage),
        }
    }
}

/// One search.
pub(super) struct Search<'a> {
    pub(super) locator: &'a Locator,
    pub(super) stop: &'a Stop,
    pub(super) progress: &'a dyn Fn(Download),
    pub(super) name: String,
    pub(super) sought: Sought,
    /// Files that were looked at.
    pub(super) seen: KeyedSet<PathBuf>,
    /// Files that are of no use, and reasons why places could not be searched.
    pub(super) troubles: Vec<Trouble>,
    /// Number of places that were asked.
    pub(super) asked: usize,
    /// Stores among them: a store that is in many chains is asked once.
    stores: KeyedSet<PathBuf>,
}

impl<'a> Search<'a> {
    pub(super) fn new(locator: &'a Locator, stop: &'a Stop, progress: &'a dyn Fn(Download), name: &str, sought: Sought) -> Self {
        let name = name.to_owned();
        Self {
            locator,
            stop,
            progress,
            name,
            sought,
            seen: KeyedSet::default(),
            troubles: Vec::new(),
            asked: 0,
            stores: KeyedSet::default(),
        }
    }

    /// Searches the program's own store, then the places of the symbol path. Returns the file and which of them had it.
    pub(super) fn along_the_path(&mut self) -> Option<(PathBuf, String)> {
        let sources = &self.locator.sources;
        // A file that has come once is found here again, by whatever path it came, and no server is asked for it.
        let own = sources.store.as_deref().filter(|root| !sources.path.has_store(root));
        if let Some((file, root)) = own.and_then(|root| Some((self.store(root, &[])?, root))) {
            return Some((file, root.display().to_string()));
        }
        for chain in &sources.path.chains {
            let found = self.chain(chain);
            if self.stop.is_set() {
                return None;
            }
            if let Some((file, place)) = found {
                return Some((file, place.to_string()));
            }
        }
        None
    }

    /// Whether a file is the wanted one. A file that is there but is not is noted.
    pub(super) fn is_it(&mut self, file: &Path) -> bool {
        if !self.seen.insert(file.to_owned()) || !is_regular(file) {
            return false;
        }
        match self.sought.verify(file, self.stop) {
            Ok(()) => return true,
            Err(PdbError::Stopped) => {}
            Err(error) => self.troubles.push(Trouble::File { file: file.display().to_string(), error }),
        }
        false
    }

    /// Notes what is wrong with a place, once.
    pub(super) fn note(&mut self, place: &dyn Display, why: PlaceTrouble) {
        let trouble = Trouble::Place { place: place.to_string(), why };
        if !self.troubles.contains(&trouble) {
            self.troubles.push(trouble);
        }
    }

    /// Searches the places of a chain, and copies the file to the stores before. Returns the file and which place had it.
    fn chain<'p>(&mut self, chain: &'p [Place]) -> Option<(PathBuf, &'p Place)> {
        for (i, place) in chain.iter().enumerate() {
            let before: Vec<&Path> = chain[..i].iter().filter_map(store_of).collect();
            if let Place::Store(root) = place
                && !self.stores.insert(root.clone())
            {
                continue; // it does not have the file, or the search would have ended
            }
            self.asked += 1;
            let found = match place {
                Place::Folder(root) => self.folder(root, &before),
                Place::Store(root) => self.store(root, &before),
                Place::Server(url) => self.server(url, &before),
            };
            if let Some(mut file) = found {
                for root in before.iter().rev() {
                    let target = depot::place(root, &self.name, &self.sought.folder());
                    if target == file {
                        continue;
                    }
                    match self.copy(&file, &target) {
                        Ok(()) => file = target,
                        Err(error) => log::warn!("{} cannot be copied to {}: {error}", self.name, root.display()),
                    }
                }
                return Some((file, place));
            }
        }
        None
    }

    /// Copies a file into a store; this takes long from a share.
    pub(super) fn copy(&self, file: &Path, target: &Path) -> Result<(), PdbError> {
        let total = file.metadata().ok().map(|meta| meta.len());
        depot::copy(file, target, self.stop, &|done| (self.progress)(Download { done, total }))
    }

    fn folder(&mut self, root: &Path, before: &[&Path]) -> Option<PathBuf> {
        let kind = Path::new(&self.name).extension().unwrap_or_default().to_owned();
        let places = [root.to_owned(), root.join(&kind), root.join("symbols").join(&kind)];
        let files = places.map(|folder| folder.join(&self.name));
        files.into_iter().find(|file| self.is_it(file)).or_else(|| self.store(root, before))
    }

    /// The name and key, also as they may be spelled in a store that was written by a system that ignores case.
    fn spellings(&self) -> Vec<(String, String)> {
        let key = self.sought.folder();
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
                    cache::touch(&file);
                    return Some(file);
                }
            }
        }
        None
    }

    /// Finds the file in the folder of one build: as it is, compressed, or by a pointer to it.
    fn store_folder(&mut self, root: &Path, folder: &Path, name: &str, before: &[&Path]) -> Option<PathBuf> {
        let file = folder.join(name);
        if self.is_it(&file) {
            return Some(file);
        }
        let packed = folder.join(compressed(name));
        if is_regular(&packed) {
            let target = self.writable(before).or_else(|| depot::is_writable(root).then(|| root.to_owned()))?;
            let target = depot::place(&target, &self.name, &self.sought.folder());
            match self.expand(&packed, &target) {
                Ok(()) => return Some(target),
                Err(error) => self.note(&packed.display(), error.into()),
            }
        }
        if let Some(text) = beginning(&folder.join("file.ptr")) {
            match self.pointed(&text, false).map(|path| folder.join(path)) {
                Ok(file) if self.is_it(&file) => return Some(file),
                Ok(file) if !is_regular(&file) => {
                    self.note(&root.display(), PlaceTrouble::PointsToNothing(file.display().to_string()));
                }
                Ok(_) => {} // is_it has noted why
                Err(why) => self.note(&root.display(), why),
            }
        }
        if is_regular(&folder.join("msfz0").join(name)) {
            self.note(&root.display(), PlaceTrouble::Msfz);
        }
        None
    }

    /// The path in a `file.ptr`, if it may be followed. Opening a share tells its host who asks: so either the user
    /// has named that host, or the sender of the pointer is vouched for.
    pub(super) fn pointed<'t>(&self, text: &'t str, is_vouched_for: bool) -> Result<&'t str, PlaceTrouble> {
        match Pointer::read(text) {
            Pointer::Message(text) => Err(PlaceTrouble::Message(text.to_owned())),
            Pointer::Path(path) => match share_host(path) {
                Some(host) if !is_vouched_for && !self.locator.sources.path.names_host(host) => {
                    Err(PlaceTrouble::PointsToShare { path: path.to_owned(), host: host.to_owned() })
                }
                _ => Ok(path),
            },
        }
    }

    /// The nearest store that can be written to, or else the program's own.
    pub(super) fn writable(&self, before: &[&Path]) -> Option<PathBuf> {
        let near = before.iter().rev().find(|root| depot::is_writable(root)).map(|root| root.to_path_buf());
        near.or_else(|| self.locator.sources.store.clone())
    }

    /// Expands a cabinet to the place of its contents.
    pub(super) fn expand(&mut self, packed: &Path, target: &Path) -> Result<(), PdbError> {
        depot::put(target, |draft| {
            let progress = |done| (self.progress)(Download { done, total: None });
            cabinet::expand(packed, draft, self.stop, &progress)?;
            self.sought.verify(draft, self.stop)
        })
    }

    #[cfg(not(feature = "symsrv"))]
    fn server(&mut self, url: &str, _before: &[&Path]) -> Option<PathBuf> {
        self.troubles.push(Trouble::NoNetwork(url.to_owned()));
        None
    }

    /// The reason why nothing was found.
    pub(super) fn not_found(self) -> NotFound {
        match self.troubles {
            troubles if troubles.is_empty() => Trouble::Nowhere { name: self.name, places: self.asked }.into(),
            troubles => NotFound(troubles),
        }
    }
}

/// The first bytes of a file as text, if it is there.
pub(super) fn beginning(file: &Path) -> Option<String> {
    let mut head = Vec::new();
    open_regular(file).ok()?.take(4096).read_to_end(&mut head).ok()?;
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// The contents of a `file.ptr`.
enum Pointer<'a> {
    /// The path of the file.
    Path(&'a str),
    /// The reason why the file is not available.
    Message(&'a str),
}

impl<'a> Pointer<'a> {
    fn read(text: &'a str) -> Self {
        let text = text.trim().trim_matches('\0');
        match text.get(..5).filter(|head| head.eq_ignore_ascii_case("PATH:")) {
            Some(_) => Self::Path(text[5..].trim()),
            None => Self::Message(text.get(4..).filter(|_| text.to_ascii_uppercase().starts_with("MSG:")).unwrap_or(text).trim()),
        }
    }
}

/// Checks that a file is the PDB of this build.
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

/// The name of a compressed file: its last letter is replaced by `_`.
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
