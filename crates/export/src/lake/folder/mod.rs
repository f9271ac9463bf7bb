//! The folder of the tables: `<table>/capture=<id>/…`. Several exports can write into it at a time while query
//! engines read it, so a capture appears and disappears as a whole.
//!
//! An export writes into a folder of its own, [`STAGING`]…, which is no table and which nobody reads. When everything
//! is there, the parts are moved to their tables ([`swap`]), `captures` last: **a capture counts only if it is in
//! `captures`**. A capture that is replaced leaves `captures` first, and its parts wait in the staging folder until
//! the new ones are in their places: if anything goes wrong, they are moved back.
//!
//! Moving and tidying up happen under a lock of the folder ([`LOCK`]), which nobody holds for longer than some
//! renames take. A running export also holds a lock in its staging folder: if nobody holds that one, the export was
//! killed. The next export finds one of these states:
//! - Killed while writing: nothing is in the tables. The staging folder is removed.
//! - Killed while parts moved: the capture does not count. If it was to replace another one, that one gets its parts
//!   back and counts again; otherwise its parts are removed, also those in the tables.
//! - Killed after the last part moved: the new capture counts. The replaced parts are removed with the staging folder.
//!
//! Anything that cannot be put in order or removed (others have it open) stays for the next export: it does not
//! count. But if it cannot be told whether a capture counts, nothing is removed, and the export fails.

mod swap;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::LakeError;
use super::table::{CAPTURES, TABLES};
use super::unreadable::{FileState, UnreadableCapture, UnreadableList};
use crate::paths::is_read_below;
use swap::{PART, Swap, at, is_folder, make, part};

/// File that is locked while parts are moved.
const LOCK: &str = "_lock";
/// Prefix of the staging folders of running exports.
const STAGING: &str = "_staging-";
/// File in a staging folder, locked as long as its export lives.
const OWNER: &str = "_owner";

/// The outcome of adding a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was written.
    Written,
    /// It was there already, perhaps only since a moment ago.
    WasThere,
}

/// The folder of the tables, and the staging folder of this export.
#[derive(Debug)]
pub struct Lake {
    folder: PathBuf,
    staging: PathBuf,
    /// The file that is locked as long as this lives.
    owner: Option<File>,
}

impl Lake {
    /// Creates the folder if need be, tidies up what killed exports left there, and begins an export.
    pub fn open(folder: &Path) -> Result<Self, LakeError> {
        if folder.metadata().is_ok_and(|is| !is.is_dir()) {
            return Err(LakeError::Refused(folder.to_owned(), "this is not a folder; name one for the tables"));
        }
        make(folder)?;
        check_free(folder)?;
        let _lock = lock(folder)?;
        make_captures(folder)?;
        tidy(folder)?;
        // The owner file is there and locked before anybody else can look. If that fails, the staging folder is removed.
        let staging = tempfile::Builder::new().prefix(STAGING).tempdir_in(folder).map_err(at(folder))?;
        let owner = File::create_new(staging.path().join(OWNER)).map_err(at(folder))?;
        owner.lock().map_err(at(folder))?;
        Ok(Self { folder: folder.to_owned(), staging: staging.keep(), owner: Some(owner) })
    }

    /// Whether the folder has a capture.
    pub fn has(&self, capture: &str) -> Result<bool, LakeError> {
        Ok(is_folder(&part(&self.folder, &CAPTURES, capture))?)
    }

    /// The captures that could not be read before.
    pub fn unreadable(&self) -> Result<UnreadableList, LakeError> {
        let _lock = lock(&self.folder)?;
        UnreadableList::read(&self.folder)
    }

    /// Notes captures that could not be read, and forgets those that could.
    pub fn note(&self, unreadable: &[UnreadableCapture], readable: &[&[FileState]]) -> Result<(), LakeError> {
        let _lock = lock(&self.folder)?;
        let mut list = UnreadableList::read(&self.folder)?;
        if list.note(unreadable, readable) { list.write(&self.folder) } else { Ok(()) }
    }

    /// Lets `write` fill a new folder with the tables of a capture, and moves them to their places. If anything goes
    /// wrong, nothing of it remains, and a capture that was to be replaced stays.
    pub fn add<T>(
        &self,
        capture: &str,
        replace: bool,
        write: impl FnOnce(&Path) -> Result<T, LakeError>,
    ) -> Result<(Outcome, T), LakeError> {
        let draft = Draft(Swap { folder: &self.folder, capture, draft: self.staging.join(capture) });
        make(&draft.0.draft)?;
        let written = write(&draft.0.draft)?;
        let _lock = lock(&self.folder)?;
        if self.has(capture)? && !replace {
            return Ok((Outcome::WasThere, written));
        }
        draft.0.publish()?;
        Ok((Outcome::Written, written))
    }
}

impl Drop for Lake {
    fn drop(&mut self) {
        let Ok(_lock) = lock(&self.folder) else { return };
        self.owner = None; // Windows does not remove open files
        let _ = remove_staging(&self.folder, &self.staging);
    }
}

/// The draft of a capture, or the parts that it replaced. It is removed when dropped, unless a capture waits in it
/// for its place.
struct Draft<'a>(Swap<'a>);

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if self.0.is_halfway().is_ok_and(|is_halfway| !is_halfway) {
            let _ = fs::remove_dir_all(&self.0.draft);
        }
    }
}

/// Options for opening a lock file: Windows locks only files that can be read or written.
fn lockable() -> OpenOptions {
    let mut options = File::options();
    options.read(true).write(true).truncate(false);
    options
}

fn lock(folder: &Path) -> io::Result<File> {
    let path = folder.join(LOCK);
    let file = lockable().create(true).open(&path).map_err(at(&path))?;
    file.lock().map_err(at(&path))?;
    Ok(file)
}

/// Refuses a folder if a file that is read lies below the folders in which parts come and go.
fn check_free(folder: &Path) -> Result<(), LakeError> {
    let own = entries(folder)?.into_iter().filter(|(_, name)| {
        let name = name.as_str();
        name.starts_with(STAGING) || TABLES.iter().any(|table| table.name == name)
    });
    for (own, _) in own {
        if is_read_below(&own) {
            return Err(LakeError::Refused(own, "a file that is read lies in this folder of tables; put it elsewhere"));
        }
    }
    Ok(())
}

/// Creates the folder that tells which captures count, before any part can be there. If it is missing although there
/// are parts, somebody removed it: the parts are no leftovers then, and that is an error.
fn make_captures(folder: &Path) -> Result<(), LakeError> {
    let captures = folder.join(CAPTURES.name);
    if is_folder(&captures)? {
        return Ok(());
    }
    for table in TABLES {
        if entries(&folder.join(table.name))?.iter().any(|(_, name)| name.starts_with(PART)) {
            return Err(LakeError::NoCaptures(captures));
        }
    }
    Ok(make(&captures)?)
}

/// Tidies up after exports that were killed: removes their staging folders, and parts of captures that do not count.
/// Call it under the lock, so that nobody moves parts meanwhile.
fn tidy(folder: &Path) -> io::Result<()> {
    let mut waiting = Vec::new();
    for (staging, name) in entries(folder)? {
        if !name.starts_with(STAGING) {
            continue;
        }
        if is_abandoned(&staging) {
            let _ = remove_staging(folder, &staging);
        }
        match waiting_in(folder, &staging) {
            Ok(captures) => waiting.extend(captures),
            Err(_) => return Ok(()), // any part may belong to what waits there
        }
    }
    for table in TABLES.iter().filter(|table| table.name != CAPTURES.name) {
        for (path, name) in entries(&folder.join(table.name))? {
            let Some(capture) = name.strip_prefix(PART) else { continue };
            if !is_folder(&part(folder, &CAPTURES, capture))? && !waiting.iter().any(|other| other == capture) {
                let _ = fs::remove_dir_all(&path);
            }
        }
    }
    Ok(())
}

/// Removes the staging folder of an export that has ended, when all captures that were moved out in vain are in their
/// places again.
fn remove_staging(folder: &Path, staging: &Path) -> io::Result<()> {
    for capture in waiting_in(folder, staging)? {
        let _ = Swap { folder, capture: &capture, draft: staging.join(&capture) }.undo();
    }
    if waiting_in(folder, staging)?.is_empty() { fs::remove_dir_all(staging) } else { Ok(()) }
}

/// The captures that were moved out in vain and wait in a staging folder.
fn waiting_in(folder: &Path, staging: &Path) -> io::Result<Vec<String>> {
    let mut waiting = Vec::new();
    for (draft, capture) in entries(staging)? {
        let is_halfway = Swap { folder, capture: &capture, draft }.is_halfway()?;
        if is_halfway {
            waiting.push(capture);
        }
    }
    Ok(waiting)
}

/// Whether nobody holds the lock of a staging folder. If that cannot be told (it may be another user's), somebody does.
fn is_abandoned(staging: &Path) -> bool {
    match lockable().open(staging.join(OWNER)) {
        Ok(owner) => owner.try_lock().is_ok(),
        // The export ended before it had an owner file: it has one before it gives up the lock of the folder.
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// The folders in a folder; none if it does not exist.
fn entries(folder: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let list = match fs::read_dir(folder) {
        Ok(list) => list,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(at(folder)(error)),
    };
    let mut folders = Vec::new();
    for entry in list {
        let entry = entry.map_err(at(folder))?;
        if entry.file_type().map_err(at(folder))?.is_dir() {
            folders.push((entry.path(), entry.file_name().to_string_lossy().into_owned()));
        }
    }
    Ok(folders)
}
