//! The one way to write a file that somebody named. What is there already stays unless it may be replaced; what is read
//! (see [`super::Reading`]) is never written over, whatever is said; a file is whole or not there.
//!
//! A file is written to a draft beside it and takes its name at the end, when all of this is asked once more: work takes
//! its time. A link goes on leading to its file. A device is written to as it is, and nothing takes its place.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

use super::inputs::is_read;
use super::is_device;
use crate::platform::file_id;

/// What becomes of a file that is there already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Existing {
    /// It stays, and nothing is written.
    Stays,
    /// It is replaced.
    GivesWay,
}

/// Why a file is not written, as the end of a sentence that begins with its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Refusal {
    /// It is read: it may be the only one.
    #[error("this file is read; name another to write to")]
    Read,
    /// It is there, and may not be replaced.
    #[error("it is there already")]
    Exists,
    /// Nothing takes the place of a folder.
    #[error("it is a folder")]
    Folder,
    /// Nor of a pipe or a device, where a file is wanted.
    #[error("it is no regular file")]
    NoFile,
    /// What is there is not ours.
    #[error("what is there is larger than anything that belongs there")]
    TooLarge,
}

impl Refusal {
    /// That in an error, if it is one.
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

/// What is at a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum There {
    Nothing,
    File,
    Folder,
    /// Something to write to that is no file.
    Device,
}

fn there(path: &Path) -> There {
    // Windows' own library calls a device a file.
    if cfg!(windows) && is_device(&path.to_string_lossy()) {
        return There::Device;
    }
    match path.metadata() {
        Ok(is) if is.is_dir() => There::Folder,
        Ok(is) if is.is_file() => There::File,
        Ok(_) => There::Device,
        // A link that leads to nothing is somebody's, too.
        Err(_) if path.symlink_metadata().is_ok() => There::File,
        Err(_) => There::Nothing,
    }
}

/// Whether a file may be written; asked before the work, and again by whoever writes.
pub fn check(out: &Path, existing: Existing) -> Result<(), Refusal> {
    match there(out) {
        There::Nothing | There::Device => Ok(()),
        _ if is_read(out) => Err(Refusal::Read),
        There::Folder => Err(Refusal::Folder),
        There::File if existing == Existing::Stays => Err(Refusal::Exists),
        There::File => Ok(()),
    }
}

/// The same of what has to be a file: a device is refused, too.
pub fn check_file(out: &Path, existing: Existing) -> Result<(), Refusal> {
    check(out, existing)?;
    if there(out) == There::Device { Err(Refusal::NoFile) } else { Ok(()) }
}

/// Writes a file, whole or not at all, and on disk before it has the name.
pub fn write(out: &Path, existing: Existing, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    check(out, existing)?;
    if there(out) == There::Device {
        return write(&mut File::options().write(true).open(out)?);
    }
    let mut draft = Draft::begin(out)?;
    write(&mut draft.file)?;
    draft.keep(existing).map(drop)
}

/// Makes a file to be written where it is, for those who watch it grow.
pub fn create(out: &Path, existing: Existing) -> io::Result<File> {
    check(out, existing)?;
    match there(out) {
        There::Device => File::options().write(true).open(out),
        _ if existing == Existing::Stays => File::create_new(out),
        _ => File::create(out),
    }
}

/// Writes a small file of the program's own, for which nobody waits until it is on disk, in a folder that need not be
/// there yet. What is there gives way only if it is a file of at most `most` bytes.
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

/// Gives a file that was written its name; what had it before gives way.
pub fn adopt(draft: &Path, target: &Path) -> io::Result<()> {
    place(draft, &resolved(target)?, Existing::GivesWay)
}

/// Puts a file elsewhere, on another drive too, and tells its size.
pub fn transfer(from: &Path, to: &Path, existing: Existing) -> io::Result<u64> {
    let length = fs::metadata(from)?.len();
    if file_id(from).is_some_and(|id| file_id(to) == Some(id)) || from == to {
        return Ok(length); // it is there
    }
    check_file(to, existing)?; // into a device it would be gone
    match place(from, &resolved(to)?, existing) {
        Err(error) if Refusal::of(&error).is_none() => {
            write(to, existing, |draft| io::copy(&mut File::open(from)?, draft).map(drop))?;
            fs::remove_file(from)?;
        }
        done => done?,
    }
    Ok(length)
}

/// A name beside a file that nobody else uses, to be written to before it is [adopted](adopt).
pub fn spare(out: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut path = out.to_owned().into_os_string();
    path.push(format!(".{}-{}.new", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)));
    path.into()
}

/// A file that is being written under another name. It goes unless it is kept.
#[derive(Debug)]
pub struct Draft {
    /// What is written.
    pub file: File,
    // Behind it: Windows wants it closed first.
    name: Unkept,
}

/// Its names: the one that it has, and the one that it is to have.
#[derive(Debug)]
struct Unkept {
    path: PathBuf,
    target: PathBuf,
    is_kept: bool,
}

impl Draft {
    /// Begins with an empty one; no other process has it.
    pub fn begin(out: &Path) -> io::Result<Self> {
        const MOST_LEFTOVERS: usize = 100;
        let target = resolved(out)?;
        for _ in 0..MOST_LEFTOVERS {
            let path = spare(&target);
            match File::options().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { file, name: Unkept { path, target, is_kept: false } }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {} // of one that was killed
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Has it on disk and gives it its name; tells its bytes.
    pub fn keep(self, existing: Existing) -> io::Result<u64> {
        self.file.sync_all()?;
        let bytes = self.file.metadata()?.len();
        self.place(existing)?;
        Ok(bytes)
    }

    fn place(self, existing: Existing) -> io::Result<()> {
        let Self { file, mut name } = self;
        drop(file);
        place(&name.path, &name.target, existing)?;
        name.is_kept = true;
        Ok(())
    }
}

impl Drop for Unkept {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Gives a file the name of another, which is no link.
fn place(draft: &Path, target: &Path, existing: Existing) -> io::Result<()> {
    check_file(target, existing)?;
    if existing == Existing::Stays {
        // A second name comes only where there is none, whoever else writes just now.
        match fs::hard_link(draft, target) {
            Ok(()) => {
                let _ = fs::remove_file(draft); // it has its name
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(Refusal::Exists.into()),
            Err(_) => {} // not every disk has links
        }
    }
    fs::rename(draft, target)
}

/// Where a path leads through links, also if nothing is there yet.
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
        // Nothing takes the place of a folder.
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
            // It comes while the work goes on.
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
        // It begins to be read while the work goes on.
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
        // What is no file is never replaced, through a link either.
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
