//! Finds the PDB of a module: beside the image, where the linker wrote it, then along
//! the symbol path. Every file is opened and compared with the wanted identity before
//! it counts as found; what was found and is of no use is told.

#[cfg(feature = "symsrv")]
mod remote;
mod search;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use super::guard::Stop;
#[cfg(feature = "symsrv")]
use super::http::Http;
use super::path::Place;
use super::source::PdbFile;
use super::{Embedded, PdbError, PdbKey, Sources, cabinet, depot};
use crate::pe::{self, local_path};
use search::{Search, verify};

/// A module whose PDB is wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// Path of the image, as the kernel names it.
    pub image: String,
    /// Link time stamp of the image, 0 if unknown.
    pub time_stamp: u32,
    /// Bytes mapped.
    pub size: u64,
    /// Identity and path of the PDB, if the trace has them.
    pub pdb: Option<(PdbKey, String)>,
}

/// A PDB that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located {
    /// The PDB.
    pub file: PdbFile,
    /// What it is, which is what was wanted.
    pub key: PdbKey,
    /// Where it came from: a folder, a store, a server or the program.
    pub source: String,
}

/// What happens while a PDB is sought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Download {
    /// Bytes that came.
    pub done: u64,
    /// Of how many, if the server says.
    pub total: Option<u64>,
}

/// Looks for PDBs. Remembers what servers do not have, until [`Locator::forget`].
#[derive(Debug)]
pub struct Locator {
    sources: Sources,
    #[cfg(feature = "symsrv")]
    http: Http,
    /// URLs of which nothing came, and why.
    missing: Mutex<FxHashMap<String, Option<String>>>,
}
impl Locator {
    /// One that looks at these sources.
    pub fn new(sources: Sources) -> Self {
        Self {
            #[cfg(feature = "symsrv")]
            http: Http::new(sources.patience),
            sources,
            missing: Mutex::default(),
        }
    }

    /// Asks servers again what they did not have.
    pub fn forget(&self) {
        self.lock_missing().clear();
    }

    fn lock_missing(&self) -> std::sync::MutexGuard<'_, FxHashMap<String, Option<String>>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds a PDB, or says why there is none. `chosen` is a file that the user names.
    pub fn find(
        &self,
        wanted: &Wanted,
        chosen: Option<&Path>,
        stop: &Stop,
        progress: &dyn Fn(Download),
    ) -> Result<Located, String> {
        let image = pe::on_disk(&wanted.image, &self.sources.volumes);
        let (key, pdb) = match &wanted.pdb {
            Some((key, path)) => (*key, path.clone()),
            None => self.identity(wanted, image.as_deref())?,
        };
        let name = file_name(&pdb).ok_or_else(|| format!("its PDB has an impossible name: {pdb:?}"))?.to_owned();
        let mut search =
            Search { locator: self, stop, progress, name, key, seen: FxHashSet::default(), troubles: Vec::new(), asked: 0 };
        if let Some(file) = chosen {
            return match verify(file, key, stop) {
                Ok(()) => Ok(Located { file: file.into(), key, source: "chosen".to_owned() }),
                Err(error @ PdbError::OtherBuild { .. }) => Err(error.to_string()),
                Err(error) => Err(format!("{}: {error}", file.display())),
            };
        }
        if let Some(embedded) = self.sources.embedded.iter().find(|embedded| embedded.key == key) {
            return unpack(embedded, stop).map_err(|error| format!("{}, which is part of this program: {error}", search.name));
        }
        let beside = image.as_deref().and_then(Path::parent).map(|folder| folder.join(&search.name));
        let sources = &self.sources;
        let near = [
            (beside, sources.beside_image, "beside the image"),
            (local_path(&pdb), sources.where_linked, "where the linker wrote it"),
        ];
        for (file, is_wanted, source) in near {
            if let Some(file) = file.filter(|file| is_wanted && search.is_it(file)) {
                return Ok(Located { file: file.as_path().into(), key, source: source.to_owned() });
            }
        }
        for chain in &self.sources.path.chains {
            if let Some(found) = search.chain(chain) {
                return Ok(found);
            }
            stop.check().map_err(|stopped| stopped.to_string())?;
        }
        Err(search.reason())
    }

    /// The identity that the image on disk names, if it is the image of the trace.
    fn identity(&self, wanted: &Wanted, image: Option<&Path>) -> Result<(PdbKey, String), String> {
        let name = file_name(&wanted.image).ok_or("the module has no name")?;
        let key = format!("{:08X}{:x}", wanted.time_stamp, wanted.size);
        let mut files: Vec<PathBuf> = image.map(Path::to_owned).into_iter().collect();
        for place in self.sources.path.chains.iter().flatten() {
            if let Place::Folder(root) | Place::Store(root) = place {
                files.push(root.join(name));
                files.push(depot::place(root, name, &key));
            }
        }
        let mut other = false;
        for file in files {
            let Some(image) = pe::read(&file) else { continue };
            let is_it = wanted.time_stamp == 0 || image.time_stamp == wanted.time_stamp;
            if !is_it || u64::from(image.size) != wanted.size {
                other = true;
                continue;
            }
            let pdb = image.pdb.ok_or("the image names no PDB")?;
            return Ok((PdbKey { guid: pdb.guid, age: pdb.age }, pdb.path));
        }
        Err(match other {
            true => "the trace does not name its PDB, and the image on this machine is of another build",
            false => "the trace does not name its PDB, and the image is not on this machine",
        }
        .to_owned())
    }
}

/// A PDB of the program's own.
fn unpack(embedded: &Embedded, stop: &Stop) -> Result<Located, PdbError> {
    let file = PdbFile::Bytes(cabinet::expand_bytes(embedded.cabinet, stop)?.into());
    verify(file.clone(), embedded.key, stop)?;
    Ok(Located { file, key: embedded.key, source: "part of highwater".to_owned() })
}

/// The last part of a path of any system, if it can be the name of a file in a store.
pub(super) fn file_name(path: &str) -> Option<&str> {
    let name = path.rsplit(['\\', '/']).next()?;
    let is_odd = |c: char| c.is_control() || matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*');
    let is_sound = !name.trim_matches(['.', ' ']).is_empty() && name.len() <= 255 && !name.chars().any(is_odd);
    is_sound.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        assert_eq!(file_name(r"D:\build\out/app.pdb"), Some("app.pdb"));
        assert_eq!(file_name("app.pdb"), Some("app.pdb"));
        for path in ["", "..", r"a\..", "a/.", "a:b", "a*", "a\0b", "x/", " "] {
            assert_eq!(file_name(path), None, "{path:?}");
        }
    }
}
