//! Notes about running recordings: the process id of the recorder and the names of its sessions.
//!
//! Sessions outlive a recorder that is killed, and an unprivileged user cannot see them: QueryAllTraces lists only
//! sessions that the caller may query. So whoever starts a recorder keeps a note until the recorder has ended properly.
//! If a note's recorder is gone, the user is offered to clean up.
//!
//! One file for each recorder, a few lines of JSON. Files that do not look like ours are left alone.

use std::io::{self, Read};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::properties::session_names;
use crate::paths;

/// The notes of one user.
#[derive(Clone, Debug)]
pub struct Notes {
    folder: PathBuf,
}

/// The note about one recorder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Note {
    /// Its process id.
    pub recorder: u32,
    /// The names of the sessions that it has, or may have.
    pub sessions: Vec<String>,
    /// The time of the note, in seconds since 1970.
    pub written: u64,
}

impl Note {
    /// Creates a note for a recorder that starts now.
    pub fn of(recorder: u32) -> Self {
        let written = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        Self { recorder, sessions: session_names(recorder).to_vec(), written }
    }

    /// Whether the note is from before the last boot: its sessions ended with the system then.
    pub fn is_from_before(&self, up: Duration) -> bool {
        /// Allows for small adjustments of the clock.
        const SLACK: Duration = Duration::from_secs(300);
        let written = SystemTime::UNIX_EPOCH + Duration::from_secs(self.written.min(u32::MAX.into()));
        SystemTime::now().duration_since(written).is_ok_and(|age| age > up.saturating_add(SLACK))
    }
}

/// Maximum number of notes that are read.
const MOST_NOTES: usize = 64;
const MOST_BYTES: u64 = 16 << 10;
const ENDING: &str = "started.json";

impl Notes {
    /// Uses this folder, which is created with the first note.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Writes a note.
    pub fn write(&self, note: &Note) -> io::Result<()> {
        let text = serde_json::to_string(note).map_err(io::Error::other)?;
        paths::keep(&self.file(note.recorder), &text, MOST_BYTES)
    }

    /// Removes the note about a recorder.
    pub fn remove(&self, recorder: u32) -> io::Result<()> {
        match std::fs::remove_file(self.file(recorder)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// All notes, ordered by recorder.
    pub fn all(&self) -> Vec<Note> {
        // A missing folder means no notes.
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let files = entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(ENDING));
        let mut notes: Vec<Note> = files.take(MOST_NOTES).filter_map(|path| read(&path)).collect();
        notes.retain(|note| note.sessions.iter().all(|name| session_names(note.recorder).contains(name)));
        notes.sort_by_key(|note| note.recorder);
        notes
    }

    /// Names of the sessions of recorders that are gone; `is_there` says whether a session may still run. Notes without
    /// any such session are removed.
    pub fn left(&self, up: Duration, is_alive: impl Fn(u32) -> bool, is_there: impl Fn(&str) -> bool) -> Vec<String> {
        let mut left = Vec::new();
        for note in self.all() {
            if is_alive(note.recorder) {
                continue;
            }
            let sessions = if note.is_from_before(up) { Vec::new() } else { note.sessions };
            let before = left.len();
            left.extend(sessions.into_iter().filter(|name| is_there(name)));
            if left.len() == before {
                // If removing fails, the next call tries again.
                let _ = self.remove(note.recorder);
            }
        }
        left
    }

    fn file(&self, recorder: u32) -> PathBuf {
        self.folder.join(format!("{recorder}.{ENDING}"))
    }
}

fn read(path: &std::path::Path) -> Option<Note> {
    let mut text = String::new();
    paths::open_regular(path).ok()?.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: Duration = Duration::from_secs(3600);

    fn notes() -> (tempfile::TempDir, Notes) {
        let place = tempfile::tempdir().unwrap();
        let notes = Notes::new(place.path().join("recording"));
        (place, notes)
    }

    #[test]
    fn what_was_started_and_did_not_end_is_known_afterwards() {
        let (_place, notes) = notes();
        assert_eq!(notes.all(), []);
        for recorder in [30, 7] {
            notes.write(&Note::of(recorder)).unwrap();
        }
        assert_eq!(notes.all().iter().map(|note| note.recorder).collect::<Vec<_>>(), [7, 30]);
        // One recorder runs; one session of the other is still there.
        let left = notes.left(UP, |recorder| recorder == 30, |name| name.ends_with("-heap"));
        assert_eq!(left, ["highwater-000000000007-heap"]);
        notes.remove(7).unwrap();
        notes.remove(7).unwrap();
        assert_eq!(notes.left(UP, |_| true, |_| true), Vec::<String>::new());
        assert_eq!(notes.all().len(), 1);
    }

    #[test]
    fn a_note_of_which_nothing_is_left_goes() {
        let (_place, notes) = notes();
        notes.write(&Note::of(7)).unwrap();
        assert!(notes.left(UP, |_| false, |_| false).is_empty() && notes.all().is_empty());
        // Sessions do not survive a reboot, whatever `is_there` says about their names.
        let old = Note { written: Note::of(7).written - 2 * UP.as_secs(), ..Note::of(7) };
        notes.write(&old).unwrap();
        assert!(notes.left(UP, |_| false, |_| true).is_empty() && notes.all().is_empty());
    }

    #[test]
    fn what_is_no_note_of_ours_is_left_alone() {
        let (place, notes) = notes();
        notes.write(&Note::of(7)).unwrap();
        let put = |name: &str, text: &str| std::fs::write(place.path().join("recording").join(name), text).unwrap();
        put("8.started.json", "{}");
        put("9.started.json", &"x".repeat(1 << 20));
        put("settings.toml", "");
        let foreign = Note { sessions: vec!["NT Kernel Logger".into()], ..Note::of(10) };
        put("10.started.json", &serde_json::to_string(&foreign).unwrap());
        std::fs::create_dir(place.path().join("recording").join("11.started.json")).unwrap();
        assert_eq!(notes.all().iter().map(|note| note.recorder).collect::<Vec<_>>(), [7]);
        notes.left(UP, |_| false, |_| false);
        assert_eq!(std::fs::read_dir(place.path().join("recording")).unwrap().count(), 5);
    }
}
