//! Resolved names on disk, so that the next trace with the same build of a module shows them at once.
//!
//! One file per module, in the layout of a symbol store ([`form`]). Only what is asked about is read of it. A file that is
//! damaged or of another form is removed, and is as good as none.
//!
//! A file has the names of all traces that asked about the module, up to a limit ([`MAX_ADDRESSES`]).

mod block;
mod form;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use super::{PdbKey, cache, depot};
use crate::etl::Source;
use crate::names::{ModuleNames, NamesBuilder};
use crate::paths::open_regular;

/// Maximum bytes of all files together.
const LIMIT: u64 = 512 << 20;

/// Maximum addresses of a file that has names of other traces, too.
const MAX_ADDRESSES: usize = 1 << 20;

/// Saved names, and where they came from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Saved {
    pub(super) names: ModuleNames,
    /// Where the PDB came from.
    pub(super) source: String,
    /// Path of the PDB.
    pub(super) file: String,
    pub(super) file_bytes: u64,
    pub(super) fastlink: bool,
}

/// A folder of saved names.
#[derive(Clone, Debug)]
pub(super) struct SavedNames(PathBuf);

impl SavedNames {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    fn place(&self, pdb: &str, key: PdbKey) -> PathBuf {
        depot::place(&self.0, &format!("{pdb}.names"), &key.folder())
    }

    /// Loads the names that were saved for a PDB, which is given by its file name: those of these addresses, in order.
    pub(super) fn load(&self, pdb: &str, key: PdbKey, asked: &[u32]) -> Option<Saved> {
        let saved = self.read(pdb, key, Some(asked))?;
        cache::touch(&self.place(pdb, key));
        Some(saved)
    }

    fn read(&self, pdb: &str, key: PdbKey, asked: Option<&[u32]>) -> Option<Saved> {
        let file = open_regular(&self.place(pdb, key)).ok()?;
        let read = form::read(&Source::File(Arc::new(file)), key, asked);
        if read.is_err() {
            self.remove(pdb, key);
        }
        read.ok()
    }

    /// Saves names beside those of other addresses that were saved before.
    pub(super) fn save(&self, pdb: &str, key: PdbKey, saved: &Saved) -> io::Result<()> {
        let path = self.place(pdb, key);
        let before = self.read(pdb, key, None).map(|before| before.names);
        let names = before.and_then(|before| both(&saved.names, &before));
        let saved = names.map_or_else(|| saved.clone(), |names| Saved { names, ..saved.clone() });
        let done = depot::put(&path, |draft| {
            let mut out = BufWriter::new(File::create(draft)?);
            form::write(&mut out, key, &saved)?;
            out.flush()
        });
        depot::trim(&self.0, LIMIT, &path);
        done
    }

    /// Removes saved names.
    pub(super) fn remove(&self, pdb: &str, key: PdbKey) {
        let _ = fs::remove_file(self.place(pdb, key));
    }
}

/// The names of both; of an address that both have, those of the first. `None` if they are too many, or if the others have no
/// more addresses.
pub(super) fn both(first: &ModuleNames, others: &ModuleNames) -> Option<ModuleNames> {
    let rvas = || others.tables().addresses.iter().map(|&(rva, _)| rva).filter(|&rva| !first.contains(rva));
    let more = rvas().count();
    if more == 0 || first.len() + more > MAX_ADDRESSES {
        return None;
    }
    let mut all = NamesBuilder::with(first);
    for rva in rvas() {
        all.add(rva, others.frames(rva).into_iter().flatten());
        let call = rva.checked_add(1);
        if let Some((call, name)) = call.and_then(|call| Some((call, others.allocated_type(call)?))) {
            all.add_site(call, name);
        }
    }
    Some(all.finish())
}
