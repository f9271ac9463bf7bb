//! Finds the PDB of a module: beside the image, where the linker wrote it, then along the symbol path; or the image
//! itself, if that contains the names. Every file is opened and compared with the wanted identity before it counts as
//! found. Files that were found but are of no use are reported.

mod image;
mod locator;
#[cfg(feature = "symsrv")]
mod remote;
mod search;
#[cfg(feature = "symsrv")]
mod servers;

use std::path::Path;

use super::guard::Stop;
use super::source::PdbFile;
use super::trouble::{NotFound, Trouble};
use super::{Embedded, PdbError, cabinet};
use crate::paths::{local_path, on_disk};
use image::{Named, Naming};
pub(super) use locator::file_name;
pub use locator::{Download, Located, Locator, ServerAnswers, Wanted};
use search::{Search, Sought, verify};

impl Locator {
    /// Finds a PDB, or returns why there is none. `chosen` is a file that the user names.
    pub fn find(
        &self,
        wanted: &Wanted,
        chosen: Option<&Path>,
        stop: &Stop,
        progress: &dyn Fn(Download),
    ) -> Result<Located, NotFound> {
        let image = on_disk(&wanted.image, &self.sources.volumes).filter(|image| self.sources.allow(image));
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
            if let Some(file) = file.filter(|file| is_wanted && sources.allow(file) && search.is_it(file)) {
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
