//! The one way to write a file that the user named. An existing file stays unless it may be replaced; a file that is
//! being read (see [`super::Reading`]) is never overwritten, whatever the options; a file is written completely or not
//! at all.
//!
//! A file is written to a draft beside it, which gets the final name at the end, after all checks are repeated: the
//! work may take long. A link keeps pointing to its file. A device is written to directly, and never replaced.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use thiserror::Error;

use super::inputs::is_read;
use super::is_device;
use crate::platform::file_id;

/// The treatment of an existing file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Existing {
    /// It stays, and nothing is written.
    Stays,
    /// It is replaced.
    GivesWay,
}

/// The reason why a file is not written, as the end of a sentence that starts with its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Refusal {
    /// It is being read: it may be the only copy.
    #[error("this file is read; name another to write to")]
    Read,
    /// It exists, and may not be replaced.
    #[error("it is there already")]
    Exists,
    /// It is a folder, which is never replaced.
    #[error("it is a folder")]
    Folder,
    /// It is a pipe or a device, where a file is required.
    #[error("it is not a regular file")]
    NoFile,
    /// The existing file is not ours.
    #[error("what is there is larger than anything that belongs there")]
    TooLarge,
}

impl Refusal {
    /// The refusal in an error, if there is one.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        let kind = if refusal == Refusal::Exists { io::ErrorKind::AlreadyExists } else { io::ErrorKind::InvalidInput };
        Self::new(kind, refusal)
    }
}

/// The kind of what is at a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum There {
    Nothing,
    File,
    Folder,
    /// Something that can be written to but is not a file.
    Device,
}

fn there(path: &Path) -> There {
    // On Windows, the standard library reports a device as a file.
    if cfg!(windows) && is_device(&path.to_string_lossy()) {
        return There::Device;
    }
    match path.metadata() {
        Ok(is) if is.is_dir() => There::Folder,
        Ok(is) if is.is_file() => There::File,
        Ok(_) => There::Device,
        // A dangling link counts as an existing file.
        Err(_) if path.symlink_metadata().is_ok() => There::File,
        Err(_) => There::Nothing,
    }
}

/// Checks that a file may be written. Call it before the work; the writing functions check again.
pub fn check(out: &Path, existing: Existing) -> Result<(), Refusal> {
    match there(out) {
        There::Nothing | There::Device => Ok(()),
        _ if is_read(out) => Err(Refusal::Read),
        There::Folder => Err(Refusal::Folder),
        There::File if existing == Existing::Stays => Err(Refusal::Exists),
        There::File => Ok(()),
    }
}

/// Like [`check`], but also refuses a device.
pub fn check_file(out: &Path, existing: Existing) -> Result<(), Refusal> {
    check(out, existing)?;
    if there(out) == There::Device { Err(Refusal::NoFile) } else { Ok(()) }
}

/// Writes a file, completely or not at all. The data are on disk before the file gets its name.
pub fn write(out: &Path, existing: Existing, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    check(out, existing)?;
    if there(out) == There::Device {
        return write(&mut File::options().write(true).open(out)?);
    }
    let mut draft = Draft::begin(out)?;
    write(&mut draft.file)?;
    draft.keep(existing).map(drop)
}

/// Creates a file that is written in place, for readers that watch it grow.
pub fn create(out: &Path, existing: Existing) -> io::Result<File> {
    check(out, existing)?;
    match there(out) {
        There::Device => File::options().write(true).open(out),
        _ if existing == Existing::Stays => File::create_new(out),
        _ => File::create(out),
    }
}

/// Writes a small file of the program's own, without waiting until it is on disk; creates its folder if necessary. An
/// existing file is replaced only if it has at most `most` bytes.
pub fn keep(file: &Path, text: &str, most: u64) -> io::Result<()> {
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("it would be larger than {} KB", most >> 10)));
    }
    check_file(file, Existing::GivesWay)?;
    if file.metadata().is_ok_and(|is| is.len() > most) {
        return Err(Refusal::TooLarge.into());
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut draft = Draft::begin(file)?;
    draft.file.write_all(text.as_bytes())?;
    draft.place(Existing::GivesWay)
}

/// Gives a finished file its name; replaces an existing file.
pub fn adopt(draft: &Path, target: &Path) -> io::Result<()> {
    place(draft, &resolved(target)?, Existing::GivesWay)
}

/// Moves a file, also to another drive; returns its size in bytes.
pub fn transfer(from: &Path, to: &Path, existing: Existing) -> io::Result<u64> {
    let length = fs::metadata(from)?.len();
    if file_id(from).is_some_and(|id| file_id(to) == Some(id)) || from == to {
        return Ok(length); // it is there already
    }
    check_file(to, existing)?; // moving it into a device would lose it
    match place(from, &resolved(to)?, existing) {
        Err(error) if Refusal::of(&error).is_none() => {
            write(to, existing, |draft| io::copy(&mut File::open(from)?, draft).map(drop))?;
            fs::remove_file(from)?;
        }
        done => done?,
    }
    Ok(length)
}

/// An unused name beside a file, for a draft that is then [adopted](adopt).
pub fn spare(out: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut path = out.to_owned().into_os_string();
    path.push(format!(".{}-{}.new", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)));
    path.into()
}

/// A file that is being written under a temporary name. It is removed unless it is kept.
#[derive(Debug)]
pub struct Draft {
    /// The file.
    pub file: File,
    // Declared after the file: Windows requires that the file is closed first.
    name: Unkept,
}

/// The temporary and the final name of a draft.
#[derive(Debug)]
struct Unkept {
    path: PathBuf,
    target: PathBuf,
    is_kept: bool,
}

impl Draft {
    /// Creates an empty draft, which no other process uses.
    pub fn begin(out: &Path) -> io::Result<Self> {
        const MOST_LEFTOVERS: usize = 100;
        let target = resolved(out)?;
        for _ in 0..MOST_LEFTOVERS {
            let path = spare(&target);
            match File::options().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => {
                    DRAFTS.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
                    return Ok(Self { file, name: Unkept { path, target, is_kept: false } });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {} // left by a process that was killed
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Flushes the draft to disk and gives it its final name; returns its size in bytes.
    pub fn keep(self, existing: Existing) -> io::Result<u64> {
        self.file.sync_all()?;
        let bytes = self.file.metadata()?.len();
        self.place(existing)?;
        Ok(bytes)
    }

    /// Gives the draft its final name, without waiting until it is on disk.
    pub fn place(self, existing: Existing) -> io::Result<()> {
        let Self { file, mut name } = self;
        drop(file);
        place(&name.path, &name.target, existing)?;
        name.is_kept = true;
        Ok(())
    }
}

/// The drafts that this process is writing.
static DRAFTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes all unfinished drafts, because the program is ending.
pub fn remove_drafts() {
    for draft in DRAFTS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let _ = fs::remove_file(draft);
    }
}

impl Drop for Unkept {
    fn drop(&mut self) {
        DRAFTS.lock().unwrap_or_else(PoisonError::into_inner).retain(|draft| *draft != self.path);
        if !self.is_kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Renames a file to `target`, which is not a link.
fn place(draft: &Path, target: &Path, existing: Existing) -> io::Result<()> {
    check_file(target, existing)?;
    if existing == Existing::Stays {
        // A hard link fails if the name exists, even if another process creates it just now.
        match fs::hard_link(draft, target) {
            Ok(()) => {
                let _ = fs::remove_file(draft); // it has its final name
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(Refusal::Exists.into()),
            Err(_) => {} // not every file system has hard links
        }
    }
    fs::rename(draft, target)
}

/// Resolves links in a path, even if its target does not exist yet.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if !path.is_symlink() {
            return Ok(path);
        }
        let to = fs::read_link(&path)?;
        path = path.parent().map_or_else(|| to.clone(), |folder| folder.join(&to));
    }
    Err(io::Error::other("it leads from link to link"))
}

#[cfg(test)]
mod tests {
    use super::super::Reading;
    use super::*;

    fn texts(folder: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut all: Vec<_> = entries
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap_or_default()))
            .collect();
        all.sort();
        all
    }

    fn some(text: &'static str) -> impl FnOnce(&mut File) -> io::Result<()> {
        move |draft| draft.write_all(text.as_bytes())
    }

    #[test]
    fn a_file_that_cannot_be_written_stays_as_it_was_and_its_draft_goes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        write(&file, Existing::Stays, some("old")).unwrap();
        let fails = |draft: &mut File| draft.write_all(b"ne").and_then(|()| Err(io::Error::other("full")));
        assert_eq!(write(&file, Existing::GivesWay, fails).unwrap_err().to_string(), "full");
        assert_eq!(fs::read(&file).unwrap(), b"old");
        // A folder is not replaced.
        fs::create_dir(folder.path().join("b")).unwrap();
        let error = write(&folder.path().join("b"), Existing::GivesWay, some("new")).unwrap_err();
        assert_eq!(Refusal::of(&error), Some(Refusal::Folder));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no draft stays");
    }

    #[test]
    fn what_is_there_stays_unless_it_may_be_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        write(&file, Existing::Stays, some("old")).unwrap();
        for error in [
            write(&file, Existing::Stays, some("new")).unwrap_err(),
            create(&file, Existing::Stays).unwrap_err(),
            // The file appears during the work.
            write(&folder.path().join("b"), Existing::Stays, |_| fs::write(folder.path().join("b"), "theirs")).unwrap_err(),
        ] {
            assert_eq!(Refusal::of(&error), Some(Refusal::Exists));
        }
        assert_eq!(texts(folder.path()), [("a".into(), "old".into()), ("b".into(), "theirs".into())]);
        write(&file, Existing::GivesWay, some("new")).unwrap();
        create(&folder.path().join("b"), Existing::GivesWay).unwrap().write_all(b"ours").unwrap();
        assert_eq!(texts(folder.path()), [("a".into(), "new".into()), ("b".into(), "ours".into())]);
    }

    #[test]
    fn what_is_read_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("trace"), "trace").unwrap();
        fs::write(path("other"), "other").unwrap();
        fs::hard_link(path("trace"), path("hard")).unwrap();
        let reading = Reading::of([path("trace")]);
        for name in ["trace", "hard"] {
            let refused = [
                check(&path(name), Existing::Stays).unwrap_err(),
                check(&path(name), Existing::GivesWay).unwrap_err(),
                Refusal::of(&write(&path(name), Existing::GivesWay, some("new")).unwrap_err()).unwrap(),
                Refusal::of(&create(&path(name), Existing::GivesWay).unwrap_err()).unwrap(),
                Refusal::of(&keep(&path(name), "new", 100).unwrap_err()).unwrap(),
                Refusal::of(&adopt(&path("other"), &path(name)).unwrap_err()).unwrap(),
                Refusal::of(&transfer(&path("other"), &path(name), Existing::GivesWay).unwrap_err()).unwrap(),
            ];
            assert!(refused.iter().all(|refusal| *refusal == Refusal::Read), "{name}: {refused:?}");
        }
        // The file is opened for reading during the work.
        let mut late = None;
        let error = write(&path("other"), Existing::GivesWay, |_| {
            late = Some(Reading::of([path("other")]));
            Ok(())
        });
        assert_eq!(Refusal::of(&error.unwrap_err()), Some(Refusal::Read));
        let before = [("hard", "trace"), ("other", "other"), ("trace", "trace")];
        assert_eq!(texts(folder.path()), before.map(|(name, text)| (name.to_owned(), text.to_owned())));
        drop(reading);
        write(&path("trace"), Existing::GivesWay, some("new")).unwrap();
    }

    #[test]
    fn a_file_is_put_elsewhere_and_over_another_only_if_that_may_be_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("from"), "new").unwrap();
        fs::write(path("to"), "old").unwrap();
        let error = transfer(&path("from"), &path("to"), Existing::Stays).unwrap_err();
        assert_eq!(Refusal::of(&error), Some(Refusal::Exists));
        assert_eq!(transfer(&path("from"), &path("from"), Existing::GivesWay).unwrap(), 3, "it is there");
        assert_eq!(transfer(&path("from"), &path("to"), Existing::GivesWay).unwrap(), 3);
        assert_eq!(texts(folder.path()), [("to".into(), "new".into())]);
        assert!(transfer(&path("to"), &path("none/to"), Existing::Stays).is_err());
        assert_eq!(texts(folder.path()), [("to".into(), "new".into())]);
    }

    #[test]
    fn what_the_program_keeps_is_small_and_takes_the_place_of_small_files_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/settings.toml");
        keep(&file, "a = 1", 100).unwrap();
        keep(&file, "a = 2", 100).unwrap();
        assert!(keep(&file, &"#".repeat(101), 100).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "a = 2");
        let film = vec![b'x'; 101];
        fs::write(&file, &film).unwrap();
        assert_eq!(Refusal::of(&keep(&file, "a = 3", 100).unwrap_err()), Some(Refusal::TooLarge));
        assert_eq!(fs::read(&file).unwrap(), film);
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "no draft stays");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices_stay_what_they_are() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "old").unwrap();
        symlink(path("a"), path("link")).unwrap();
        symlink("not there yet", path("early")).unwrap();
        symlink("round", path("round")).unwrap();
        write(&path("link"), Existing::GivesWay, some("new")).unwrap();
        keep(&path("link"), "newer", 100).unwrap();
        assert!(path("link").is_symlink());
        assert_eq!(fs::read(path("a")).unwrap(), b"newer");
        assert_eq!(check(&path("early"), Existing::Stays), Err(Refusal::Exists));
        keep(&path("early"), "new", 100).unwrap();
        assert!(path("early").is_symlink());
        assert_eq!(fs::read(path("not there yet")).unwrap(), b"new");
        assert!(keep(&path("round"), "new", 100).is_err() && path("round").is_symlink());
        symlink("/dev/null", path("null")).unwrap();
        write(&path("null"), Existing::Stays, some("gone")).unwrap();
        assert!(path("null").is_symlink() && !path("null").metadata().unwrap().is_file());
        // Anything that is not a file is never replaced, not even through a link.
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        symlink(path("socket"), path("to socket")).unwrap();
        for name in ["socket", "to socket"] {
            for refused in [keep(&path(name), "new", 100), adopt(&path("a"), &path(name))] {
                assert_eq!(Refusal::of(&refused.unwrap_err()), Some(Refusal::NoFile), "{name}");
            }
            assert!(transfer(&path("a"), &path(name), Existing::GivesWay).is_err(), "it would be gone");
            assert!(!path(name).metadata().unwrap().is_file());
        }
        assert!(path("to socket").is_symlink());
        assert_eq!(fs::read(path("a")).unwrap(), b"newer");
    }
}
