//! Which PDB the image on disk names, for modules of which the trace does not say it; if
//! it is the image that was mapped.

use std::path::{Path, PathBuf};

use super::{Locator, Wanted, file_name};
use crate::pe::{self, Build, Likeness};
use crate::symbols::path::Place;
use crate::symbols::trouble::Trouble;
use crate::symbols::{PdbKey, depot};

/// What an image says.
pub(super) struct Named {
    pub(super) key: PdbKey,
    /// Path of the PDB.
    pub(super) pdb: String,
    /// Whether it is surely the image of the trace.
    pub(super) is_certain: bool,
}

impl Locator {
    /// The PDB that the image names. Of several files the first counts that is surely the
    /// one that was mapped, then the first that may be.
    pub(super) fn named_by_image(&self, wanted: &Wanted, image: Option<&Path>) -> Result<Named, Trouble> {
        let name = file_name(&wanted.image).ok_or(Trouble::NoName)?;
        let Build { time_stamp, size, .. } = wanted.build;
        let key = format!("{time_stamp:08X}{size:x}");
        let mut files: Vec<PathBuf> = image.map(Path::to_owned).into_iter().collect();
        for place in self.sources.path.chains.iter().flatten() {
            if let Place::Folder(root) | Place::Store(root) = place {
                files.push(root.join(name));
                files.push(depot::place(root, name, &key));
            }
        }
        let (mut likely, mut other) = (None, false);
        for file in files {
            let Some(image) = pe::read(&file) else { continue };
            match wanted.build.compare(&image.build) {
                Likeness::Same => return named(image, true),
                Likeness::SameSize => drop(likely.get_or_insert(image)),
                Likeness::Other => other = true,
            }
        }
        match likely {
            Some(image) => named(image, false),
            None if other => Err(Trouble::OtherImage),
            None => Err(Trouble::NoImage),
        }
    }
}

fn named(image: pe::Image, is_certain: bool) -> Result<Named, Trouble> {
    let pdb = image.pdb.ok_or(Trouble::NoPdbNamed)?;
    Ok(Named { key: PdbKey { guid: pdb.guid, age: pdb.age }, pdb: pdb.path, is_certain })
}
