//! Finds the PDB that the image names, for modules whose PDB the trace does not name; the image must be the one that
//! was mapped. It lies on this machine or, if its time stamp is known, in a store or on a server of the symbol path:
//! those have images by time stamp and size.

use std::path::{Path, PathBuf};

use super::locator::{Download, Located, Locator, Wanted, file_name};
use super::search::{Search, Sought};
use crate::path::Place;
use crate::pe::{self, Likeness};
use crate::trouble::{NotFound, Trouble};
use crate::{PdbKey, Stop, depot};

/// The PDB that an image names.
pub(super) struct Named {
    pub(super) key: PdbKey,
    /// Path of the PDB.
    pub(super) pdb: String,
    /// Whether it is surely the image of the trace.
    pub(super) is_certain: bool,
}

/// The place of a module's names, if the trace names no PDB.
pub(super) enum Naming {
    /// In the PDB that the image names.
    Pdb(Named),
    /// In the image itself.
    Itself(Located),
}

/// An image on this machine that was mapped, or may be the one.
struct Found {
    file: PathBuf,
    image: pe::Image,
    is_certain: bool,
}

impl Locator {
    /// The PDB that the image names. Of several files the first counts that is surely the mapped image, otherwise the
    /// first that may be it.
    pub(super) fn named_by_image(
        &self,
        wanted: &Wanted,
        image: Option<&Path>,
        stop: &Stop,
        progress: &dyn Fn(Download),
    ) -> Result<Naming, NotFound> {
        let found = self.find_image(wanted, image, stop, progress)?;
        match &found.image.pdb {
            Some(pdb) if !pdb.path.is_empty() => Ok(Naming::Pdb(Named {
                key: PdbKey { guid: pdb.guid, age: pdb.age },
                pdb: pdb.path.clone(),
                is_certain: found.is_certain,
            })),
            _ if found.image.has_dwarf => Ok(Naming::Itself(found.located())),
            _ => Err(Trouble::NoPdbNamed.into()),
        }
    }

    /// The image, if it contains names itself.
    pub(super) fn image_with_names(
        &self,
        wanted: &Wanted,
        image: Option<&Path>,
        stop: &Stop,
        progress: &dyn Fn(Download),
    ) -> Option<Located> {
        let found = self.find_image(wanted, image, stop, progress).ok()?;
        found.image.has_dwarf.then(|| found.located())
    }

    fn find_image(
        &self,
        wanted: &Wanted,
        image: Option<&Path>,
        stop: &Stop,
        progress: &dyn Fn(Download),
    ) -> Result<Found, NotFound> {
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
            search.seen.insert(file.clone());
            match wanted.build.compare(&image.build) {
                Likeness::Same => return Ok(Found { file, image, is_certain: true }),
                Likeness::SameSize => _ = likely.get_or_insert(Found { file, image, is_certain: false }),
                Likeness::Other => other = true,
            }
        }
        if let Some(found) = likely {
            return Ok(found);
        }
        if wanted.build.time_stamp != 0
            && let Some((file, _)) = search.along_the_path()
            && let Some(image) = pe::read(&file)
        {
            return Ok(Found { file, image, is_certain: true });
        }
        let mut troubles = vec![if other { Trouble::OtherImage } else { Trouble::NoImage }];
        troubles.append(&mut search.troubles);
        Err(NotFound(troubles))
    }
}

impl Found {
    fn located(self) -> Located {
        let Self { file, is_certain, .. } = self;
        Located { file: file.as_path().into(), key: None, source: "the image itself (DWARF)".to_owned(), is_certain }
    }
}
