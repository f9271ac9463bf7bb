//! Folders of files that the program can make or fetch again: they keep to a size, and what was not used for longest goes first.
//! The time at which a file was last used is its modification time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file in such a folder.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CachedFile {
    /// When it was last used.
    pub used: SystemTime,
    bytes: u64,
    /// Its path.
    pub path: PathBuf,
}

/// The files directly in a folder.
pub fn files_in(folder: &Path) -> Vec<CachedFile> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let file = |entry: fs::DirEntry| {
        let is = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(CachedFile { used: is.modified().unwrap_or(SystemTime::UNIX_EPOCH), bytes: is.len(), path: entry.path() })
    };
    entries.filter_map(file).collect()
}

/// Marks a file as used now, so that it is kept longer.
pub fn touch(path: &Path) {
    let _ = File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Removes those of these files that were not used for longest, until the others have at most `limit` bytes together. `keep`
/// stays in any case. Returns the removed files.
pub fn forget_oldest(mut files: Vec<CachedFile>, limit: u64, keep: &Path) -> Vec<PathBuf> {
    let mut total: u64 = files.iter().map(|file| file.bytes).sum();
    files.sort();
    let mut removed = Vec::new();
    for CachedFile { bytes, path, .. } in files {
        if total <= limit {
            break;
        }
        if path != keep && fs::remove_file(&path).is_ok() {
            total -= bytes;
            removed.push(path);
        }
    }
    removed
}
