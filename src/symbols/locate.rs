//! Finds the PDB of a module: beside the image, where the linker wrote it, then along the symbol path; or the image
//! itself, if that contains the names. Every file is opened and compared with the wanted identity before it counts as
//! found. Files that were found but are of no use are reported.

mod image;
#[cfg(feature = "symsrv")]
mod remote;
mod search;
#[cfg(feature = "symsrv")]
mod servers;

use std::path::Path;

use super::guard::Stop;
use super::source::PdbFile;
use super::trouble::{NotFound, Trouble};
use super::{Embedded, PdbError, PdbKey, Sources, cabinet};
use crate::paths::{is_device, local_path, on_disk};
use crate::pe::Build;
use image::{Named, Naming};
use search::{Search, Sought, verify};

/// A module whose PDB is wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// Path of the image, as the kernel names it.
    pub image: String,
    /// Identity of its build.
    pub build: Build,
    /// Identity and path of the PDB, if the trace has them.
    pub pdb: Option<(PdbKey, String)>,
}

/// A PDB that was found, or an image that contains its names itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located {
    /// The PDB or image.
    pub file: PdbFile,
    /// Identity of the PDB, which is the wanted one; `None` for an image with names as DWARF.
    pub key: Option<PdbKey>,
    /// Where it came from: a folder, a store, a server or the program.
    pub source: String,
    /// Whether it surely belongs to the module. If not, it is the PDB of the image on this machine, which has the
    /// path and the size of the mapped image, and the trace says no more.
    pub is_certain: bool,
}

/// Progress of getting a PDB from a server, from a share, or out of a compressed file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Download {
    /// Bytes so far.
    pub done: u64,
    /// Bytes in all, if that is known.
    pub total: Option<u64>,
}

/// Answers of servers: the files that they do not have, and the servers that are of no use. Copies share the answers.
#[derive(Clone, Debug, Default)]
pub struct ServerAnswers(#[cfg(feature = "symsrv")] std::sync::Arc<std::sync::Mutex<servers::Answers>>);

/// Looks for PDBs. Remembers what servers do not have, until [`Locator::forget`].
#[derive(Debug)]
pub struct Locator {
    sources: Sources,
    #[cfg(feature = "symsrv")]
    servers: servers::Servers,
}

impl Locator {
    /// A locator that looks at these sources.
    pub fn new(sources: Sources) -> Self {
        Self::sharing(sources, &ServerAnswers::default())
    }

    /// A locator that shares the answers of servers with others.
    pub fn sharing(sources: Sources, answers: &ServerAnswers) -> Self {
        #[cfg(not(feature = "symsrv"))]
        let ServerAnswers() = answers;
        Self {
            #[cfg(feature = "symsrv")]
            servers: servers::Servers::new(sources.patience, std::sync::Arc::clone(&answers.0)),
            sources,
        }
    }

    /// The PDBs that are part of the program.
    pub(super) fn embedded(&self) -> &[Embedded] {
        &self.sources.embedded
    }

    /// Forgets what servers did not have, so that they are asked again.
    pub fn forget(&self) {
        #[cfg(feature = "symsrv")]
        self.servers.forget();
    }

    /// Finds a PDB, or returns why there is none. `chosen` is a file that the user names.
    pub fn find(
        &self,
        wanted: &Wanted,
        chosen: Option<&Path>,
        stop: &Stop,
        progress: &dyn Fn(Download),
    ) -> Result<Located, NotFound> {
        let image = on_disk(&wanted.image, &self.sources.volumes);
        let Named { key, pdb, is_certain } = match &wanted.pdb {
            // MinGW's linker writes an identity but no name.
            Some((_, path)) if path.is_empty() => {
                let found = self.image_with_names(wanted, image.as_deref(), stop, progress);
                return found.ok_or_else(|| Trouble::NoPdbName.into());
            }
            Some((key, path)) => Named { key: *key, pdb: path.clone(), is_certain: true },
            None => match self.named_by_image(wanted, image.as_deref(), stop, progress)? {
                Naming::Pdb(named) => named,
                Naming::Itself(located) => return Ok(located),
            },
        };
        let name = file_name(&pdb).ok_or_else(|| Trouble::OddName(pdb.clone()))?.to_owned();
        let located = |file, source| Located { file, key: Some(key), source, is_certain };
        if let Some(file) = chosen {
            let trouble = |error| Trouble::File { file: file.display().to_string(), error };
            verify(file, key, stop).map_err(trouble)?;
            return Ok(located(file.into(), "chosen".to_owned()));
        }
        if let Some(embedded) = self.sources.embedded.iter().find(|embedded| embedded.key == key) {
            let trouble = |error| Trouble::File { file: format!("{name}, which is part of this program"), error };
            return Ok(located(unpack(embedded, stop).map_err(trouble)?, "part of highwater".to_owned()));
        }
        let mut search = Search::new(self, stop, progress, &name, Sought::Pdb(key));
        let beside = image.as_deref().and_then(Path::parent).map(|folder| folder.join(&search.name));
        let sources = &self.sources;
        let near = [
            (beside, sources.beside_image, "beside the image"),
            (local_path(&pdb), sources.where_linked, "where the linker wrote it"),
        ];
        for (file, is_wanted, source) in near {
            if let Some(file) = file.filter(|file| is_wanted && search.is_it(file)) {
                return Ok(located(file.as_path().into(), source.to_owned()));
            }
        }
        if let Some((file, source)) = search.along_the_path() {
            return Ok(located(file.as_path().into(), source));
        }
        if stop.is_set() {
            return Err(Trouble::Stopped.into());
        }
        Err(search.not_found())
    }
}

/// Unpacks a PDB that is part of the program.
fn unpack(embedded: &Embedded, stop: &Stop) -> Result<PdbFile, PdbError> {
    let file = PdbFile::Bytes(cabinet::expand_bytes(embedded.cabinet, stop)?.into());
    verify(file.clone(), embedded.key, stop)?;
    Ok(file)
}

/// The last part of a path of any system, if it can be the name of a file in a store. The name of a Windows device is
/// refused on every system, because stores are shared.
pub(super) fn file_name(path: &str) -> Option<&str> {
    let name = path.rsplit(['\\', '/']).next()?;
    let is_odd = |c: char| c.is_control() || matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*');
    let is_sound = !name.trim_matches(['.', ' ']).is_empty() && name.len() <= 255 && !name.chars().any(is_odd);
    (is_sound && !is_device(name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        assert_eq!(file_name(r"D:\build\out/app.pdb"), Some("app.pdb"));
        assert_eq!(file_name("app.pdb"), Some("app.pdb"));
        let devices = ["NUL.pdb", r"C:\b\nul.pdb", "COM1.pdb", "com\u{b9}.pdb", "LPT9", "aux.x.pdb", "CON .pdb", "CONIN$.pdb"];
        let others = ["", "..", r"a\..", "a/.", "a:b", "a*", "a\0b", "x/", " "];
        for path in devices.into_iter().chain(others) {
            assert_eq!(file_name(path), None, "{path:?}");
        }
    }
}
