//! Symbol stores on this machine that are written to: files appear whole or not at all, and the program's own store
//! keeps to a size.
//!
//! An unfinished file has the ending `.part`. A download that broke off continues from there when the same URL is
//! asked, if the server says that the file is still the same.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::PdbError;
use super::guard::{self, Stop};
use crate::cache;
use crate::paths::{self, open_regular};

/// Ending of the names of unfinished files.
const PART: &str = ".part";

/// Maximum bytes of the program's own store.
pub(crate) const DEFAULT_LIMIT: u64 = 8 << 30;

/// The path of a file in a store: `name/key/name`.
pub(super) fn place(root: &Path, name: &str, key: &str) -> PathBuf {
    root.join(name).join(key).join(name)
}

/// Whether a store can be written to. On systems other than Windows a path like `C:\symbols` would be a file of that
/// name in the current folder.
pub(super) fn is_writable(root: &Path) -> bool {
    let foreign = cfg!(not(windows)) && {
        let text = root.to_string_lossy();
        text.starts_with(r"\\") || text.get(1..2) == Some(":")
    };
    !foreign
}

/// A unique name for a file beside `target`.
pub(super) fn draft(target: &Path) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    beside(target, &format!(".{}-{number}{PART}", std::process::id()))
}

/// The path of the unfinished download of `url`, which is to become `target`.
#[cfg(feature = "symsrv")]
pub(super) fn part(target: &Path, url: &str) -> PathBuf {
    beside(target, &format!(".{:016x}{PART}", xxhash_rust::xxh3::xxh3_64(url.as_bytes())))
}

/// Removes unfinished downloads of a file that has come from elsewhere, except those that are being written.
#[cfg(feature = "symsrv")]
pub(super) fn clear_parts(target: &Path) {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else { return };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let end =
            path.file_name().and_then(|file| file.to_str()).zip(name.to_str()).and_then(|(file, name)| file.strip_prefix(name));
        let is_part = end.and_then(|end| end.strip_prefix('.')?.strip_suffix(PART)).is_some_and(|url| url.len() == 16);
        if is_part && File::options().write(true).open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(&path);
            let _ = fs::remove_file(tag(&path));
        }
    }
}

/// The file that records the URL of an unfinished download, and the version of the file there.
#[cfg(feature = "symsrv")]
pub(super) fn tag(part: &Path) -> PathBuf {
    beside(part, ".tag")
}

/// The path of `target` with `end` added to its name.
fn beside(target: &Path, end: &str) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(end);
    target.with_file_name(name)
}

/// Writes a file into a store: it appears whole or not at all.
pub(super) fn put<E: From<io::Error>>(target: &Path, write: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    let draft = draft(target);
    let done = write(&draft).and_then(|()| Ok(paths::adopt(&draft, target)?));
    if done.is_err() {
        let _ = fs::remove_file(&draft);
    }
    done
}

/// Copies a file into a store, perhaps from a share; `progress` is called with the number of copied bytes.
pub(super) fn copy(from: &Path, target: &Path, stop: &Stop, progress: &dyn Fn(u64)) -> Result<(), PdbError> {
    put(target, |draft| {
        let mut source = open_regular(from)?;
        let mut copy = File::create_new(draft)?;
        let limit = guard::limit_of(source.metadata()?.len());
        guard::run_watched(limit, stop, progress, move |work| {
            let mut buffer = vec![0; 1 << 18];
            loop {
                work.check()?;
                let length = source.read(&mut buffer)?;
                if length == 0 {
                    return Ok(());
                }
                copy.write_all(&buffer[..length])?;
                work.count(length as u64);
            }
        })
    })
}

/// Removes the least recently used files until a store has at most `limit` bytes. `keep` stays in any case. Cost: a
/// look at each file in the store.
pub(super) fn trim(root: &Path, limit: u64, keep: &Path) {
    let keys = subfolders(root).into_iter().flat_map(|name| subfolders(&name));
    let files = keys.flat_map(|key| cache::files_in(&key)).collect();
    for path in cache::forget_oldest(files, limit, keep) {
        let folders = path.ancestors().skip(1).take(2);
        folders.for_each(|folder| drop(fs::remove_dir(folder))); // only empty folders are removed
    }
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn the_files_that_were_not_used_for_longest_go_first() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str, age: u64| {
            let path = place(root.path(), name, "KEY1");
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, [0; 100]).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            File::options().append(true).open(&path).unwrap().set_modified(then).unwrap();
            path
        };
        let (old, older, oldest) = (file("a.pdb", 10), file("b.pdb", 20), file("c.pdb", 30));
        trim(root.path(), 300, &old);
        assert!(oldest.exists());
        cache::touch(&older);
        trim(root.path(), 250, &oldest);
        assert!(!old.exists() && older.exists() && oldest.exists(), "the one just used and the one to keep stay");
        assert!(!root.path().join("a.pdb").exists(), "nor are empty folders left");
        trim(root.path(), 0, Path::new(""));
        assert!(subfolders(root.path()).is_empty());
    }

    #[test]
    fn a_copy_is_whole_or_not_there() {
        let root = tempfile::tempdir().unwrap();
        let target = place(root.path(), "a.pdb", "KEY1");
        let stop = Stop::default();
        assert!(copy(&root.path().join("none"), &target, &stop, &|_| {}).is_err());
        let folder = target.parent().unwrap();
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
        fs::write(root.path().join("some"), b"text").unwrap();
        copy(&root.path().join("some"), &target, &stop, &|_| {}).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"text");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    }
}
