//! The files that this process reads: the open traces, and other inputs of a command. They are never overwritten, by
//! whatever name.
//!
//! A file is recognized by its identity (through links, and after it was renamed) and by its canonical path (other
//! spellings, and on Windows another case). Inputs are registered here, so that writers need not be told about them.
//! Cost: two system calls when a file is registered, two for each file to be written.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::platform::{FileId, file_id};

/// All registered files, with the number of their [`Reading`].
static READ: Mutex<Noted> = Mutex::new(Noted { next: 0, all: Vec::new() });

struct Noted {
    next: u64,
    all: Vec<(u64, Arc<Entry>)>,
}

struct Entry {
    /// The absolute path, which stays valid when the current folder changes.
    path: PathBuf,
    /// Its identity when it was first found.
    known: OnceLock<Known>,
}

/// The identity of a file.
struct Known {
    id: Option<FileId>,
    real: PathBuf,
}

/// A registration of files that are being read, as long as this lives.
#[derive(Debug)]
pub struct Reading(u64);

impl Reading {
    /// Registers files, or folders whose files are read. Does not access them yet, since that can take long.
    pub fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut noted = noted();
        noted.next += 1;
        let number = noted.next;
        for path in paths {
            let path = std::path::absolute(&path).unwrap_or(path);
            noted.all.push((number, Arc::new(Entry { path, known: OnceLock::new() })));
        }
        Self(number)
    }

    /// Determines the identities of the files. If this is done before they are read, they are recognized even after
    /// they were renamed.
    pub fn look(&self) {
        entries(|number| number == self.0).iter().for_each(|entry| _ = entry.known());
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        noted().all.retain(|(number, _)| *number != self.0);
    }
}

impl Entry {
    fn known(&self) -> Option<&Known> {
        if self.known.get().is_none()
            && let Some(known) = Known::of(&self.path)
        {
            let _ = self.known.set(known); // another thread may have been faster
        }
        self.known.get()
    }
}

impl Known {
    /// The identity of an existing file.
    fn of(path: &Path) -> Option<Self> {
        let real = path.canonicalize().ok()?;
        Some(Self { id: file_id(&real), real })
    }

    /// Whether `other` is this file, or a file in this folder.
    fn is_or_has(&self, other: &Self) -> bool {
        let is_same = self.id.is_some() && self.id == other.id;
        is_same || self.real == other.real || other.real.parent() == Some(&self.real)
    }
}

/// Whether a path leads to a registered file.
pub(super) fn is_read(path: &Path) -> bool {
    let Some(known) = Known::of(path) else { return false };
    entries(|_| true).iter().any(|entry| entry.known().is_some_and(|read| read.is_or_has(&known)))
}

/// Whether a registered file is below a folder, at any depth.
pub fn is_read_below(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    entries(|_| true).iter().any(|entry| entry.known().is_some_and(|read| read.real.starts_with(&folder)))
}

/// The entries with a wanted number. They are copied, so that the list is not locked while files are accessed.
fn entries(wanted: impl Fn(u64) -> bool) -> Vec<Arc<Entry>> {
    noted().all.iter().filter(|(number, _)| wanted(*number)).map(|(_, entry)| Arc::clone(entry)).collect()
}

/// Locks the list; it is consistent even if a thread has panicked.
fn noted() -> MutexGuard<'static, Noted> {
    READ.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_is_read_is_known_however_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["a.etl", "other.etl"] {
            fs::write(path(name), name).unwrap();
        }
        fs::create_dir(path("sub")).unwrap();
        fs::hard_link(path("a.etl"), path("hard.etl")).unwrap();
        let mut names = vec!["a.etl", "hard.etl", "sub/../a.etl"];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(path("a.etl"), path("soft.etl")).unwrap();
            std::os::unix::fs::symlink(folder.path(), path("sub/up")).unwrap();
            names.extend(["soft.etl", "sub/up/a.etl"]);
        }
        if cfg!(windows) {
            names.extend(["A.ETL", "sub\\..\\a.Etl"]);
        }
        let reading = Reading::of([path("a.etl")]);
        for name in &names {
            assert!(is_read(&path(name)), "{name}");
        }
        assert!(!is_read(&path("other.etl")) && !is_read(&path("none.etl")) && !is_read(folder.path()));
        assert!(is_read_below(folder.path()) && !is_read_below(&path("sub")));
        let again = Reading::of([path("a.etl")]);
        drop(reading);
        assert!(is_read(&path("a.etl")), "somebody else reads it still");
        drop(again);
        assert!(names.iter().all(|name| !is_read(&path(name))));
    }

    #[test]
    fn a_file_that_is_renamed_while_it_is_read_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a.etl"), "a").unwrap();
        let reading = Reading::of([path("a.etl")]);
        reading.look();
        fs::rename(path("a.etl"), path("b.etl")).unwrap();
        assert!(is_read(&path("b.etl")));
        fs::write(path("a.etl"), "new").unwrap();
        assert!(is_read(&path("a.etl")), "nor is what is called like one");
    }

    #[test]
    fn the_files_in_a_folder_that_is_read_are_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("lanes")).unwrap();
        for name in ["lanes/heap-0001.etl", "beside.etl"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let _reading = Reading::of([folder.path().join("lanes")]);
        assert!(is_read(&folder.path().join("lanes/heap-0001.etl")));
        assert!(!is_read(&folder.path().join("beside.etl")) && !is_read(&folder.path().join("lanes/heap-0002.etl")));
    }
}
