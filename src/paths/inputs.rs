//! The files that this process reads: the traces that are open, and what else a command was given. Nothing is
//! ever written over one of them, however it is named.
//!
//! A file is known again by its identity (links lead to the same file, a file that was renamed is still the same) and by
//! the path that the system tells for it (other spellings, and on Windows another case). What is read is noted here, so
//! that nobody who writes has to be told. Cost: two looks at a file when it is noted, two at what is to be written.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::platform::{FileId, file_id};

/// All that is read now, under the number of its [`Reading`].
static READ: Mutex<Noted> = Mutex::new(Noted { next: 0, all: Vec::new() });

struct Noted {
    next: u64,
    all: Vec<(u64, Arc<Entry>)>,
}

struct Entry {
    /// Absolute, so that it means the same wherever the program stands later.
    path: PathBuf,
    /// What it was when it was first there.
    known: OnceLock<Known>,
}

/// What tells a file from others.
struct Known {
    id: Option<FileId>,
    real: PathBuf,
}

/// Some files that are read, as long as this lives.
#[derive(Debug)]
pub struct Reading(u64);

impl Reading {
    /// Notes files, or folders whose files are read; looks at none of them yet, for that can take long.
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

    /// Looks which files they are. Done before they are read, they are known even if they are renamed later.
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
            let _ = self.known.set(known); // somebody else may have been faster
        }
        self.known.get()
    }
}

impl Known {
    /// Of something that is there.
    fn of(path: &Path) -> Option<Self> {
        let real = path.canonicalize().ok()?;
        Some(Self { id: file_id(&real), real })
    }

    /// Whether that is this file, or one in this folder.
    fn is_or_has(&self, other: &Self) -> bool {
        let is_same = self.id.is_some() && self.id == other.id;
        is_same || self.real == other.real || other.real.parent() == Some(&self.real)
    }
}

/// Whether a path leads to a file that is read.
pub(super) fn is_read(path: &Path) -> bool {
    let Some(known) = Known::of(path) else { return false };
    entries(|_| true).iter().any(|entry| entry.known().is_some_and(|read| read.is_or_has(&known)))
}

/// Whether a file that is read lies in a folder, however deep.
pub fn is_read_below(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    entries(|_| true).iter().any(|entry| entry.known().is_some_and(|read| read.real.starts_with(&folder)))
}

/// Those with such a number; nobody waits for the list while files are looked at.
fn entries(wanted: impl Fn(u64) -> bool) -> Vec<Arc<Entry>> {
    noted().all.iter().filter(|(number, _)| wanted(*number)).map(|(_, entry)| Arc::clone(entry)).collect()
}

/// A panic elsewhere leaves the list whole.
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
