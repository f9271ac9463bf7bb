//! Which PDB the image names, for modules of which the trace does not say it; if it is the
//! image that was mapped. It lies on this machine, or, where its time stamp is known, in a store
//! or on a server of the symbol path: those have images by stamp and size.

use std::path::{Path, PathBuf};

use super::search::{Search, Sought};
use super::{Download, Locator, Wanted, file_name};
use crate::pe::{self, Likeness};
use crate::symbols::path::Place;
use crate::symbols::trouble::{NotFound, Trouble};
use crate::symbols::{PdbKey, Stop, depot};

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
    pub(super) fn named_by_image(
        &self,
        wanted: &Wanted,
        image: Option<&Path>,
        stop: &Stop,
        progress: &dyn Fn(Download),
    ) -> Result<Named, NotFound> {
        let name = file_name(&wanted.image).ok_or(Trouble::NoName)?;
        let sought = Sought::Image(wanted.build);
        let mut search = Search::new(self, stop, progress, name, sought);
        let mut files: Vec<PathBuf> = image.map(Path::to_owned).into_iter().collect();
        for place in self.sources.path.chains.iter().flatten() {
            if let Place::Folder(root) | Place::Store(root) = place {
                files.push(root.join(name));
                files.push(depot::place(root, name, &sought.folder()));
            }
        }
        let (mut likely, mut other) = (None, false);
        for file in files {
            let Some(image) = pe::read(&file) else { continue };
            search.seen.insert(file);
            match wanted.build.compare(&image.build) {
                Likeness::Same => return Ok(named(image, true)?),
                Likeness::SameSize => drop(likely.get_or_insert(image)),
                Likeness::Other => other = true,
            }
        }
        if let Some(image) = likely {
            return Ok(named(image, false)?);
        }
        if wanted.build.time_stamp != 0
            && let Some((file, _)) = search.along_the_path()
            && let Some(image) = pe::read(&file)
        {
            return Ok(named(image, true)?);
        }
        let mut troubles = vec![if other { Trouble::OtherImage } else { Trouble::NoImage }];
        troubles.append(&mut search.troubles);
        Err(NotFound(troubles))
    }
}

fn named(image: pe::Image, is_certain: bool) -> Result<Named, Trouble> {
    let pdb = image.pdb.ok_or(if image.has_dwarf { Trouble::DwarfInImage } else { Trouble::NoPdbNamed })?;
    Ok(Named { key: PdbKey { guid: pdb.guid, age: pdb.age }, pdb: pdb.path, is_certain })
}
