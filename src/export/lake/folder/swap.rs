//! How a capture takes its place in the tables, and how one that stands there gives way: by renames alone, each
//! of which can be taken back. Whoever does that holds the lock of the folder.
//!
//! The new parts are in a draft, `<draft>/<table>`. Those of the old capture move into [`OLD`] there, `captures`
//! first; then the new ones move to their places, `captures` last. So a capture that is in `captures` has all its
//! parts at any moment. A table's new part is in its place if and only if the draft lacks it: that is all
//! that has to be known to take things back, also by another program after this one was killed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::export::lake::table::{CAPTURES, TABLES, Table};

/// In a draft, the parts of the capture that gave way.
const OLD: &str = "_old";
/// How parts of captures are called in the folders of their tables.
pub(super) const PART: &str = "capture=";

/// Renames a folder; tests let it fail.
pub(super) type Rename<'r> = dyn FnMut(&Path, &Path) -> io::Result<()> + 'r;

/// One capture that comes.
pub(super) struct Swap<'a> {
    /// The folder of the tables.
    pub(super) folder: &'a Path,
    /// Its name there.
    pub(super) capture: &'a str,
    /// Where its parts are.
    pub(super) draft: PathBuf,
}

impl Swap<'_> {
    /// Puts the capture into its place, from which an old one gives way. If that fails nothing has changed or,
    /// where not even that could be had, the swap [is halfway](Self::is_halfway).
    pub(super) fn publish(&self) -> io::Result<()> {
        self.publish_by(&mut move_folder)
    }

    pub(super) fn publish_by(&self, rename: &mut Rename<'_>) -> io::Result<()> {
        // A part that was never there would be taken for one that is in its place.
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

    /// The renames.
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

    /// Takes the renames back, however many there were; as often as it is called.
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

    /// Whether an old capture gave way that does not count now, and neither does the new one.
    pub(super) fn is_halfway(&self) -> io::Result<bool> {
        let is_between = is_folder(&self.old_part(&CAPTURES))? && is_folder(&self.new_part(&CAPTURES))?;
        Ok(is_between && !is_folder(&self.part(&CAPTURES))?)
    }

    /// Moves what is there; an error names the table's part.
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

/// Where a table has a capture.
pub(super) fn part(folder: &Path, table: &Table, capture: &str) -> PathBuf {
    folder.join(table.name).join(format!("{PART}{capture}"))
}

/// Whether a folder is there. Where that cannot be told it is an error: the folder may well be there.
pub(super) fn is_folder(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(found) => Ok(found.is_dir()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(at(path)(error)),
    }
}

/// Makes a folder, and those around it, if need be.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(at(folder))
}

/// Lets an error name what it is about.
pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
