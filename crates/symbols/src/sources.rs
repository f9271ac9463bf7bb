//! Where symbols may come from.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::path::SymbolPath;
use super::{PdbKey, depot};
use crate::paths::Folders;

/// Where symbols come from.
#[derive(Clone, Debug)]
pub struct Sources {
    /// If given, images and PDBs are read where a trace says that they lie only in and below these folders.
    pub only_in: Option<Folders>,
    /// Whether a PDB may be beside its image.
    pub beside_image: bool,
    /// Whether it may be where the linker wrote it.
    pub where_linked: bool,
    /// Places to search after that, in order.
    pub path: SymbolPath,
    /// Whether servers may be asked. They learn names and ids of modules, nothing else.
    pub network: bool,
    /// The program's own store, for files from places without one.
    pub store: Option<PathBuf>,
    /// Maximum bytes of that store.
    pub store_limit: u64,
    /// NT paths of volumes and their drive letters, as the trace names them.
    pub volumes: Vec<(String, String)>,
    /// How long a server may be silent.
    pub patience: Duration,
    /// PDBs that are part of the program; they come before all places.
    pub embedded: Vec<Embedded>,
}

/// A PDB that is part of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Embedded {
    /// The build that it belongs to.
    pub key: PdbKey,
    /// A cabinet that contains it, as in symbol stores.
    pub cabinet: &'static [u8],
    /// Source files of the build: their paths as the PDB names them, and their text.
    pub sources: &'static [(&'static str, &'static str)],
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            only_in: None,
            beside_image: true,
            where_linked: true,
            path: SymbolPath::default(),
            network: false,
            store: None,
            store_limit: depot::DEFAULT_LIMIT,
            volumes: Vec::new(),
            patience: Duration::from_secs(20),
            embedded: Vec::new(),
        }
    }
}

impl Sources {
    /// Whether a file may be read where a trace says that it lies.
    pub(super) fn allow(&self, file: &Path) -> bool {
        self.only_in.as_ref().is_none_or(|folders| folders.contain(file))
    }

    /// The program's own store on this machine.
    pub fn default_store() -> Option<PathBuf> {
        Some(super::cache_folder()?.join("symbols"))
    }
}
