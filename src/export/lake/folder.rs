//! The folder of the tables: `<table>/capture=<id>/…`. Several exports write into it at a time and
//! engines read it meanwhile, so a capture comes and goes as a whole.
//!
//! What is written stands in a folder of its own, [`STAGING`]…, where no table is and nobody looks. When all
//! is there its parts move to their tables, `captures` last: **a capture counts only if it is in
//! `captures`**. One that is replaced leaves `captures` first.
//!
//! Moving and tidying up happen under a lock of the folder ([`LOCK`]), which nobody holds for longer than some
//! renames take. The folder of an export that was killed is one whose own lock nobody holds; the next export
//! removes it, and parts of captures that do not count.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::LakeError;
use super::table::{CAPTURES, TABLES};

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
    /// Makes the folder if need be, removes what was left over there, and begins an export.
    pub fn open(folder: &Path) -> Result<Self, LakeError> {
        let said = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
        fs::create_dir_all(folder).map_err(said)?;
        let _lock = lock(folder).map_err(said)?;
        remove_leftovers(folder).map_err(said)?;
        // Its owner is there and locked before anybody else can look.
        let staging = tempfile::Builder::new().prefix(STAGING).tempdir_in(folder).map_err(said)?.keep();
        let mut lake = Self { folder: folder.to_owned(), staging, owner: None };
        let owner = File::create_new(lake.staging.join(OWNER)).map_err(said)?;
        owner.lock().map_err(said)?;
        lake.owner = Some(owner);
        Ok(lake)
    }

    /// Where a table has a capture.
    fn part(&self, table: &str, capture: &str) -> PathBuf {
        self.folder.join(table).join(format!("capture={capture}"))
    }

    /// Whether a capture is there.
    pub fn has(&self, capture: &str) -> bool {
        self.part(CAPTURES.name, capture).is_dir()
    }

    /// Lets `write` fill a new folder with the tables of a capture and moves them to their places. If
    /// anything goes wrong nothing of it remains.
    pub fn add<T>(
        &self,
        capture: &str,
        replace: bool,
        write: impl FnOnce(&Path) -> Result<T, LakeError>,
    ) -> Result<(Outcome, T), LakeError> {
        let draft = Draft(self.staging.join(capture));
        fs::create_dir_all(&draft.0)?;
        let written = write(&draft.0)?;
        let _lock = lock(&self.folder)?;
        if self.has(capture) && !replace {
            return Ok((Outcome::WasThere, written));
        }
        self.remove(capture)?;
        for table in TABLES {
            let part = self.part(table.name, capture);
            let moved =
                part.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::rename(draft.0.join(table.name), &part));
            moved.inspect_err(|_| _ = self.remove(capture))?;
        }
        Ok((Outcome::Written, written))
    }

    /// Removes a capture, so that it does not count any more before the first part goes.
    fn remove(&self, capture: &str) -> io::Result<()> {
        TABLES.iter().rev().try_for_each(|table| match fs::remove_dir_all(self.part(table.name, capture)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
    }
}

impl Drop for Lake {
    fn drop(&mut self) {
        let lock = lock(&self.folder);
        self.owner = None; // Windows keeps files that are open
        let _ = fs::remove_dir_all(&self.staging);
        drop(lock);
    }
}

/// A folder that goes if it is not moved.
struct Draft(PathBuf);

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Windows locks only what can be read or written.
fn lockable() -> OpenOptions {
    let mut options = File::options();
    options.read(true).write(true).truncate(false);
    options
}

fn lock(folder: &Path) -> io::Result<File> {
    let file = lockable().create(true).open(folder.join(LOCK))?;
    file.lock()?;
    Ok(file)
}

/// Removes what exports left that ended in the middle: their own folders, and parts of captures that do
/// not count. Under the lock, so that nobody moves parts just now.
fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for (path, name) in entries(folder)? {
        if name.starts_with(STAGING) && is_abandoned(&path)? {
            fs::remove_dir_all(&path)?;
        }
    }
    for table in TABLES.iter().filter(|table| table.name != CAPTURES.name) {
        for (path, name) in entries(&folder.join(table.name))? {
            if name.starts_with("capture=") && !folder.join(CAPTURES.name).join(&name).is_dir() {
                fs::remove_dir_all(&path)?;
            }
        }
    }
    Ok(())
}

/// Whether nobody holds its lock.
fn is_abandoned(staging: &Path) -> io::Result<bool> {
    match lockable().open(staging.join(OWNER)) {
        Ok(owner) => match owner.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        },
        // It ended before it had one: it has one before it gives up the lock of the folder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Folders in a folder; none if that is not there.
fn entries(folder: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let list = match fs::read_dir(folder) {
        Ok(list) => list,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut folders = Vec::new();
    for entry in list {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push((entry.path(), entry.file_name().to_string_lossy().into_owned()));
        }
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes something for each table.
    fn fill(text: &str) -> impl FnOnce(&Path) -> Result<(), LakeError> + '_ {
        move |draft| {
            for table in TABLES {
                fs::create_dir(draft.join(table.name))?;
                fs::write(draft.join(table.name).join("part-0000.parquet"), text)?;
            }
            Ok(())
        }
    }

    fn text(folder: &Path, table: &str, capture: &str) -> Option<String> {
        fs::read_to_string(folder.join(table).join(format!("capture={capture}")).join("part-0000.parquet")).ok()
    }

    fn visible(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = entries(folder).unwrap().into_iter().map(|(_, name)| name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_capture_comes_as_a_whole_once_and_is_replaced_if_that_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open(folder.path()).unwrap();
        assert!(!lake.has("a"));
        assert_eq!(lake.add("a", false, fill("one")).unwrap().0, Outcome::Written);
        assert!(lake.has("a"));
        assert_eq!(lake.add("a", false, fill("two")).unwrap().0, Outcome::WasThere);
        assert_eq!(text(folder.path(), "stacks", "a").as_deref(), Some("one"));
        assert_eq!(lake.add("a", true, fill("two")).unwrap().0, Outcome::Written);
        for table in TABLES {
            assert_eq!(text(folder.path(), table.name, "a").as_deref(), Some("two"));
        }
        drop(lake);
        let mut names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        names.sort();
        assert_eq!(visible(folder.path()), names, "nothing else remains");
    }

    #[test]
    fn what_fails_leaves_nothing_and_what_was_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open(folder.path()).unwrap();
        lake.add("a", false, fill("one")).unwrap();
        let broken = |draft: &Path| {
            fill("half")(draft)?;
            Err::<(), _>(LakeError::Stopped)
        };
        assert!(lake.add("a", true, broken).is_err() && lake.add("b", false, broken).is_err());
        // A table is missing: it cannot be moved.
        let incomplete = |draft: &Path| {
            fill("half")(draft)?;
            Ok(fs::remove_dir_all(draft.join(CAPTURES.name))?)
        };
        assert!(lake.add("c", false, incomplete).is_err());
        assert_eq!(text(folder.path(), CAPTURES.name, "a").as_deref(), Some("one"));
        for capture in ["b", "c"] {
            assert!(TABLES.iter().all(|table| text(folder.path(), table.name, capture).is_none()), "{capture}");
        }
    }

    #[test]
    fn leftovers_of_the_dead_go_and_those_who_live_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let living = Lake::open(path).unwrap();
        living.add("a", false, fill("one")).unwrap();
        // Ended before it had an owner, in the middle of writing, and between two moves.
        fs::create_dir(path.join("_staging-early")).unwrap();
        fs::create_dir_all(path.join("_staging-dead/b/allocations")).unwrap();
        fs::write(path.join("_staging-dead").join(OWNER), "").unwrap();
        fs::create_dir_all(path.join("allocations/capture=b")).unwrap();
        fs::write(path.join("allocations/capture=b/part-0000.parquet"), "half").unwrap();
        let second = Lake::open(path).unwrap();
        let staging = visible(path).into_iter().filter(|name| name.starts_with(STAGING)).count();
        assert_eq!(staging, 2, "{:?}", visible(path));
        assert!(text(path, "allocations", "b").is_none());
        assert_eq!(text(path, "allocations", "a").as_deref(), Some("one"));
        // Both go on, with the same capture too.
        assert_eq!(living.add("c", false, fill("first")).unwrap().0, Outcome::Written);
        assert_eq!(second.add("c", false, fill("second")).unwrap().0, Outcome::WasThere);
        drop((living, second));
        assert!(visible(path).iter().all(|name| !name.starts_with('_')));
        assert_eq!(text(path, "captures", "c").as_deref(), Some("first"));
    }
}
