//! The state of a module, for a list.

use std::time::Duration;

use super::locate::Download;
use super::{ModuleKey, PdbKey};

/// The state of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModuleState {
    /// No frame that is asked about lies in it.
    Unused,
    /// It waits for its turn.
    Waiting,
    /// Its PDB is being sought.
    Searching,
    /// Its PDB is being fetched from a server or copied from a share.
    Downloading(Download),
    /// Its PDB is being read: bytes so far.
    Reading(u64),
    /// Its names are there; or its PDB, if only that is sought.
    Ready,
    /// There are no names, for this reason.
    Failed(String),
    /// The user does not want its names.
    Excluded,
}

/// A remark about a module that has names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ModuleNote {
    /// The PDB has less than others do.
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
    /// Its state.
    pub state: ModuleState,
    /// Number of frame addresses of the trace in it, each counted once.
    pub addresses: usize,
    /// Number of these addresses that have a name.
    pub named: usize,
    /// Where the PDB came from.
    pub source: String,
    /// Path of the PDB.
    pub file: String,
    /// Size of the PDB in bytes.
    pub bytes: u64,
    /// Time that finding and reading it took.
    pub time: Duration,
    /// Remarks, if it has names.
    pub notes: Vec<ModuleNote>,
}
