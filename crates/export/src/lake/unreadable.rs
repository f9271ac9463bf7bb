//! Captures that could not be read, in a file of the folder ([`FILE`]): which, why, and how large and how old their
//! files were. An export that is to go on without them looks there first and tries them again when they have changed.
//!
//! The file is no table: it is about captures that have no tables. Exports change it under the lock of the folder, and
//! replace it as a whole.

use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::LakeError;
use crate::paths;
use highwater_engine::toml_file::text_of;
use highwater_engine::utc::{UNIX_EPOCH as EPOCH, rfc3339};

/// Name of the file.
pub const FILE: &str = "_unreadable.json";
/// Schema name and version of the file.
const SCHEMA: &str = "highwater.unreadable/1";
/// Largest file that is read or written, in bytes.
const MOST_BYTES: u64 = 16 << 20;

/// The list of captures that could not be read. The field names are those of the file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UnreadableList {
    schema: String,
    captures: Vec<UnreadableCapture>,
}

/// A capture that could not be read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UnreadableCapture {
    /// Its files, in the order in which they were named.
    pub files: Vec<FileState>,
    /// Why it could not be read.
    pub reason: String,
    /// Whether the reason is in its files, so that trying again is of no use before they change. Otherwise it is tried
    /// each time: a file that another program has open looks the same afterwards.
    pub until_changed: bool,
}

/// A file, and what tells whether it has changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileState {
    /// Absolute path.
    pub file: String,
    /// Size; null if it is not there.
    pub bytes: Option<u64>,
    /// Time of the last change, UTC; null if it is not known.
    pub changed: Option<String>,
}

impl FileState {
    /// Returns the state of a file now.
    pub fn of(path: &Path) -> Self {
        let absolute = std::path::absolute(path);
        let file = absolute.as_deref().unwrap_or(path).to_string_lossy().into_owned();
        let found = fs::metadata(path).ok();
        let changed = found.as_ref().and_then(|found| found.modified().ok()?.duration_since(UNIX_EPOCH).ok());
        let filetime = changed.and_then(|since| i64::try_from(since.as_nanos() / 100).ok()?.checked_add(EPOCH));
        Self { file, bytes: found.map(|found| found.len()), changed: filetime.and_then(rfc3339) }
    }
}

impl Default for UnreadableList {
    fn default() -> Self {
        Self { schema: SCHEMA.to_owned(), captures: Vec::new() }
    }
}

impl UnreadableList {
    /// Reads the list of a folder; it is empty if the folder has none.
    pub(super) fn read(folder: &Path) -> Result<Self, LakeError> {
        let path = folder.join(FILE);
        let bad = |reason: String| LakeError::List(path.clone(), reason);
        let text = match text_of(&path, MOST_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(bad(error.to_string())),
        };
        let list: Self = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        if list.schema == SCHEMA { Ok(list) } else { Err(bad(format!("its schema is not {SCHEMA}"))) }
    }

    /// Returns the reason why a capture of these files cannot be read, if that is known and they have not changed.
    pub fn reason(&self, files: &[FileState]) -> Option<&str> {
        let known = self.captures.iter().find(|known| known.until_changed && known.files == files)?;
        Some(&known.reason)
    }

    /// Notes captures that could not be read, and takes out those of other files that could. Returns whether the list
    /// has changed.
    pub(super) fn note(&mut self, unreadable: &[UnreadableCapture], readable: &[&[FileState]]) -> bool {
        let before = self.captures.clone();
        let is_same = |a: &[FileState], b: &[FileState]| a.iter().map(|of| &of.file).eq(b.iter().map(|of| &of.file));
        self.captures.retain(|known| {
            let is_tried = |files: &[FileState]| is_same(&known.files, files);
            !readable.iter().any(|files| is_tried(files)) && !unreadable.iter().any(|new| is_tried(&new.files))
        });
        self.captures.extend_from_slice(unreadable);
        self.captures.sort_by(|a, b| a.files.iter().map(|of| &of.file).cmp(b.files.iter().map(|of| &of.file)));
        self.captures != before
    }

    /// Writes the list into its folder.
    pub(super) fn write(&self, folder: &Path) -> Result<(), LakeError> {
        let path = folder.join(FILE);
        let bad = |reason: String| LakeError::List(path.clone(), reason);
        let text = serde_json::to_string_pretty(self).map_err(|error| bad(error.to_string()))? + "\n";
        paths::keep(&path, &text, MOST_BYTES).map_err(|error| bad(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(files: &[FileState], until_changed: bool) -> UnreadableCapture {
        UnreadableCapture { files: files.to_vec(), reason: "why".to_owned(), until_changed }
    }

    #[test]
    fn a_capture_is_known_until_a_file_of_it_changes_or_it_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.etl");
        assert_eq!(FileState::of(&path).bytes, None);
        fs::write(&path, "bad").unwrap();
        let now = [FileState::of(&path)];
        assert!(now[0].bytes == Some(3) && now[0].changed.as_ref().is_some_and(|at| at.starts_with("20") && at.ends_with('Z')));
        let mut list = UnreadableList::read(folder.path()).unwrap();
        assert_eq!((&list, list.reason(&now)), (&UnreadableList::default(), None));
        assert!(list.note(&[capture(&now, true)], &[]) && !list.note(&[capture(&now, true)], &[]));
        list.write(folder.path()).unwrap();
        let read = UnreadableList::read(folder.path()).unwrap();
        assert_eq!((&read, read.reason(&now)), (&list, Some("why")));
        // Another size, another time, or another file in the capture.
        let other = FileState { bytes: Some(4), ..now[0].clone() };
        let later = FileState { changed: Some("2030-01-01T00:00:00Z".to_owned()), ..now[0].clone() };
        for files in [&[other.clone()][..], &[later], &[now[0].clone(), other.clone()], &[]] {
            assert_eq!(list.reason(files), None, "{files:?}");
        }
        // The newer state takes the place of the older one; what is not in the files is tried each time.
        assert!(list.note(&[capture(std::slice::from_ref(&other), false)], &[]));
        assert_eq!((list.captures.len(), list.reason(std::slice::from_ref(&other))), (1, None));
        assert!(list.note(&[], &[&now]) && list.captures.is_empty());
    }

    #[test]
    fn a_damaged_list_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["", "{", "{\"schema\":\"other/1\",\"captures\":[]}"] {
            fs::write(folder.path().join(FILE), text).unwrap();
            let error = UnreadableList::read(folder.path()).unwrap_err().to_string();
            assert!(error.contains(FILE) && error.contains("remove it"), "{error}");
        }
    }
}
