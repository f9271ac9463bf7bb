//! Moves a capture to its place in the tables, and an old one out of it: by renames alone, each of which can be
//! undone. The caller holds the lock of the folder.
//!
//! The new parts are in a draft, `<draft>/<table>`. Those of the old capture are moved into [`OLD`] there, `captures`
//! first; then the new ones are moved to their places, `captures` last. So a capture that is in `captures` has all
//! its parts at any moment. A table's new part is in its place if and only if it is not in the draft: nothing else
//! has to be known to undo the moves, even by another program after this one was killed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::lake::table::{CAPTURES, TABLES, Table};

/// Folder in a draft for the parts of the old capture.
const OLD: &str = "_old";
/// Prefix of the folders of captures in the folder of a table.
pub(super) const PART: &str = "capture=";

/// A function that renames a folder; tests let it fail.
pub(super) type Rename<'r> = dyn FnMut(&Path, &Path) -> io::Result<()> + 'r;

/// The move of one capture to its place.
pub(super) struct Swap<'a> {
    /// The folder of the tables.
    pub(super) folder: &'a Path,
    /// Its id there.
    pub(super) capture: &'a str,
    /// The folder with its new parts.
    pub(super) draft: PathBuf,
}

impl Swap<'_> {
    /// Moves the capture to its place, and an old one out of it. If that fails, nothing has changed or, if it could
    /// not be undone, the swap [is halfway](Self::is_halfway).
    pub(super) fn publish(&self) -> io::Result<()> {
        self.publish_by(&mut move_folder)
    }

    pub(super) fn publish_by(&self, rename: &mut Rename<'_>) -> io::Result<()> {
        // A part that was never there would be taken for one that is in its place already.
        for table in TABLES {
            let part = self.new_part(table);
            if !is_folder(&part)? {
                return Err(at(&part)(io::ErrorKind::NotFound.into()));
            }
        }
        let done = self.exchange(rename);
        if done.is_err() {
            let _ = self.undo_by(rename);
        }
        done
    }

    /// Does the renames.
    pub(super) fn exchange(&self, rename: &mut Rename<'_>) -> io::Result<()> {
        make(&self.draft.join(OLD))?;
        for table in TABLES {
            make(&self.folder.join(table.name))?;
        }
        for table in TABLES.into_iter().rev() {
            self.shift(table, &self.part(table), &self.old_part(table), rename)?;
        }
        TABLES.into_iter().try_for_each(|table| self.shift(table, &self.new_part(table), &self.part(table), rename))
    }

    /// Undoes the renames, however many were done; can be called again.
    pub(super) fn undo(&self) -> io::Result<()> {
        self.undo_by(&mut move_folder)
    }

    pub(super) fn undo_by(&self, rename: &mut Rename<'_>) -> io::Result<()> {
        for table in TABLES.into_iter().rev() {
            let new = self.new_part(table);
            if !is_folder(&new)? {
                self.shift(table, &self.part(table), &new, rename)?;
            }
        }
        TABLES.into_iter().try_for_each(|table| self.shift(table, &self.old_part(table), &self.part(table), rename))
    }

    /// Whether an old capture was moved out and does not count now, and neither does the new one.
    pub(super) fn is_halfway(&self) -> io::Result<bool> {
        let is_between = is_folder(&self.old_part(&CAPTURES))? && is_folder(&self.new_part(&CAPTURES))?;
        Ok(is_between && !is_folder(&self.part(&CAPTURES))?)
    }

    /// Moves a folder if it is there; an error names the table's part.
    fn shift(&self, table: &Table, from: &Path, to: &Path, rename: &mut Rename<'_>) -> io::Result<()> {
        if is_folder(from)? { rename(from, to).map_err(at(&self.part(table))) } else { Ok(()) }
    }

    fn part(&self, table: &Table) -> PathBuf {
        part(self.folder, table, self.capture)
    }

    fn new_part(&self, table: &Table) -> PathBuf {
        self.draft.join(table.name)
    }

    fn old_part(&self, table: &Table) -> PathBuf {
        self.draft.join(OLD).join(table.name)
    }
}

fn move_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// The folder of a capture in a table.
pub(super) fn part(folder: &Path, table: &Table, capture: &str) -> PathBuf {
    folder.join(table.name).join(format!("{PART}{capture}"))
}

/// Whether a folder is there. If that cannot be told, it is an error: the folder may well be there.
pub(super) fn is_folder(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(found) => Ok(found.is_dir()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(at(path)(error)),
    }
}

/// Creates a folder and its parents, if need be.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(at(folder))
}

/// Adds the path that an error is about.
pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
