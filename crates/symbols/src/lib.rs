//! Names: functions, inlined frames, source lines and C++ types of the addresses in a trace.
//!
//! Takes modules and addresses from the model, finds the program databases (PDBs) of the modules, and answers with
//! [`Names`]: immutable, shared, growing from one answer to the next. Does not depend on intervals, on the window or
//! on how names are shown. The types of what is known are the engine's; they are exported here, too.
//!
//! [`Symbols`] is the handle for one trace. Below it: [`Locator`] finds files on a [`SymbolPath`] and asks servers
//! (feature `symsrv`), [`resolve`] reads a PDB or DWARF, names are saved for the next trace with the same build.
//!
//! All input here was written by others: files, servers' answers, names. Each parser of another project runs behind
//! `guard::run`: a panic, an endless loop or an appetite for memory becomes an error of one module, never more.
//!
//! Format sources: the PDB readers' own documentation, and for symbol paths and stores the Windows debuggers'
//! (SymSrv) documentation.

#![deny(unreachable_pub)]

#[cfg(test)]
use highwater_engine::events;
use highwater_engine::{model, names, panics, pe, tables, units};
use highwater_etl as etl;
use highwater_files::{cache, paths};

mod cabinet;
mod demangle;
mod depot;
mod dwarf;
mod error;
mod guard;
mod handle;
#[cfg(feature = "symsrv")]
mod http;
mod locate;
#[cfg(feature = "symsrv")]
mod login;
mod module_report;
mod path;
mod resolver;
mod saved;
mod scopes;
#[cfg(feature = "symsrv")]
mod server;
mod source;
mod source_origin;
mod source_store;
mod sources;
mod trouble;
mod types;
mod wanted;

use std::path::PathBuf;

pub use error::PdbError;
pub use guard::Stop;
pub use handle::{Options, Seek, Symbols};
pub use locate::{Download, Located, Locator, ServerAnswers, Wanted};
pub use module_report::{ModuleNote, ModuleReport, ModuleState};
pub use path::{Place, SymbolPath};
pub use resolver::{PdbFacts, Request, Resolved, facts, identify, resolve};
pub use source::PdbFile;
pub use source_origin::{BuildSources, SourceOrigin, SourceUrl, source_origin};
pub use source_store::SourceStore;
pub use sources::{Embedded, Sources};
pub use trouble::{NotFound, PlaceTrouble, Trouble};

pub use highwater_engine::names::{CodeAddress, Frame, FrameKind, ModuleKey, ModuleNames, Names, PdbKey, lookup_address};

/// The folder for files that the program can make or fetch again. The environment can name another one, for tests and
/// portable use.
pub fn cache_folder() -> Option<PathBuf> {
    match std::env::var_os("HIGHWATER_CACHE_DIR") {
        Some(folder) => Some(PathBuf::from(folder)),
        None => Some(directories::ProjectDirs::from("", "", "highwater")?.cache_dir().to_owned()),
    }
}
