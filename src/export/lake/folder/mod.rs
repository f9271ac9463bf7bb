//! The folder of the tables: `<table>/capture=<id>/…`. Several exports write into it at a time and
//! engines read it meanwhile, so a capture comes and goes as a whole.
//!
//! What is written stands in a folder of its own, [`STAGING`]…, where no table is and nobody looks. When all
//! is there its parts move to their tables ([`swap`]), `captures` last: **a capture counts only if it is in
//! `captures`**. One that is replaced leaves `captures` first, and its parts wait in that folder until the new ones
//! are in their places: if anything goes wrong they move back.
//!
//! Moving and tidying up happen under a lock of the folder ([`LOCK`]), which nobody holds for longer than some
//! renames take. The folder of an export that was killed is one whose own lock nobody holds. What the next export finds:
//! - Killed while it wrote, nothing is in the tables. Its folder is removed.
//! - Killed while parts moved, the capture does not count. One that was to be replaced gets its parts back and counts
//!   again; of others the parts are removed, those in the tables too.
//! - Killed after the last part moved, the new capture counts. What was replaced is removed with the folder.
//!
//! What cannot be put in order or removed (others have it open) stays for the export after that: it does not count.
//! But where it cannot be told whether a capture counts, nothing is removed, and the export fails.

mod swap;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::LakeError;
use super::table::{CAPTURES, TABLES};
use crate::paths::is_read_below;
use swap::{PART, Swap, at, is_folder, make, part};

/// File that is locked while parts are moved.
const LOCK: &str = "_lock";
/// How folders of exports that are going on begin.
const STAGING: &str = "_staging-";
/// In such a folder, locked as long as its export lives.
const OWNER: &str = "_owner";

/// What became of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was written.
    Written,
    /// It was there already, maybe since a moment ago.
    WasThere,
}

/// The folder, and the place in it of this export.
#[derive(Debug)]
pub struct Lake {
    folder: PathBuf,
    staging: PathBuf,
    /// Locked as long as this lives.
    owner: Option<File>,
}

impl Lake {
    /// Makes the folder if need be, puts in order what was left over there, and begins an export.
    pub fn open(folder: &Path) -> Result<Self, LakeError> {
        if folder.metadata().is_ok_and(|is| !is.is_dir()) {
            return Err(LakeError::Refused(folder.to_owned(), "this is no folder; tables are written into one"));
        }
        make(folder)?;
        check_free(folder)?;
        let _lock = lock(folder)?;
        make_captures(folder)?;
        tidy(folder)?;
        // Its owner is there and locked before anybody else can look. It goes again if that fails.
        let staging = tempfile::Builder::new().prefix(STAGING).tempdir_in(folder).map_err(at(folder))?;
        let owner = File::create_new(staging.path().join(OWNER)).map_err(at(folder))?;
        owner.lock().map_err(at(folder))?;
        Ok(Self { folder: folder.to_owned(), staging: staging.keep(), owner: Some(owner) })
    }

    /// Whether a capture is there.
    pub fn has(&self, capture: &str) -> Result<bool, LakeError> {
        Ok(is_folder(&part(&self.folder, &CAPTURES, capture))?)
    }

    /// Lets `write` fill a new folder with the tables of a capture and moves them to their places. If
    /// anything goes wrong nothing of it remains, and a capture that was to be replaced stays.
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
        self.owner = None; // Windows keeps files that are open
        let _ = remove_staging(&self.folder, &self.staging);
    }
}

/// What was written of a capture, or what it replaced: it goes, unless a capture waits in it for its place.
struct Draft<'a>(Swap<'a>);

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if self.0.is_halfway().is_ok_and(|is_halfway| !is_halfway) {
            let _ = fs::remove_dir_all(&self.0.draft);
        }
    }
}

/// Windows locks only what can be read or written.
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

/// Refuses folders in which parts would come and go around a file that is read.
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

/// Makes the folder that tells which captures count, before any part can be there. If it is not there and parts
/// are, somebody took it away: then they are no leftovers.
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

/// Puts in order what exports left that ended in the middle: their own folders, and parts of captures that do
/// not count. Under the lock, so that nobody moves parts just now.
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

/// Removes the folder of an export that has ended, when all captures that gave way in vain are in their
/// places again.
fn remove_staging(folder: &Path, staging: &Path) -> io::Result<()> {
    for capture in waiting_in(folder, staging)? {
        let _ = Swap { folder, capture: &capture, draft: staging.join(&capture) }.undo();
    }
    if waiting_in(folder, staging)?.is_empty() { fs::remove_dir_all(staging) } else { Ok(()) }
}

/// Captures that gave way in vain and wait in an export's folder.
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

/// Whether nobody holds its lock. Where that cannot be told (it may be another user's) somebody does.
fn is_abandoned(staging: &Path) -> bool {
    match lockable().open(staging.join(OWNER)) {
        Ok(owner) => owner.try_lock().is_ok(),
        // It ended before it had one: it has one before it gives up the lock of the folder.
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Folders in a folder; none if that is not there.
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
