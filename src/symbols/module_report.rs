//! How far it is with a module, for a list.

use std::time::Duration;

use super::locate::Download;
use super::{ModuleKey, PdbKey};

/// How far it is with a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModuleState {
    /// No frame that is asked about lies in it.
    Unused,
    /// Its turn comes.
    Waiting,
    /// Its PDB is being sought.
    Searching,
    /// Its PDB is coming, from a server or a share.
    Downloading(Download),
    /// Its PDB is being read: bytes so far.
    Reading(u64),
    /// Its names are there; or its PDB, where only that is sought.
    Ready,
    /// There are no names, and why.
    Failed(String),
    /// The user does not want its names.
    Excluded,
}

/// What is to be said of a module although it has names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ModuleNote {
    /// The PDB has less than others.
    #[error("linked with /DEBUG:FASTLINK: only public names and lines; link with /DEBUG:FULL for inlined frames and types")]
    FastLink,
    /// It may be another build: see [`super::Located::is_certain`].
    #[error("by path and size only: the trace does not tell whether the image on this machine is the same build")]
    PathAndSizeOnly,
}

/// One module as a list shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleReport {
    /// The module.
    pub key: ModuleKey,
    /// File name of the image.
    pub name: String,
    /// Path of the image, as the kernel names it.
    pub image: String,
    /// Identity of its PDB, as far as it is known.
    pub pdb: Option<PdbKey>,
    /// How far it is.
    pub state: ModuleState,
    /// Frames of the trace in it, each address once.
    pub addresses: usize,
    /// How many of them have a name.
    pub named: usize,
    /// Where the PDB came from.
    pub source: String,
    /// The PDB.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// How long finding and reading it took.
    pub time: Duration,
    /// What is to be said although there are names.
    pub notes: Vec<ModuleNote>,
}
