//! A merge on a disk that has no room for both the lanes and the trace: parts of lanes are removed as soon as they are
//! merged, and nothing is lost if the merge is interrupted at any moment.
//!
//! The trace grows in the folder of the lanes, as `merged.part`. Before parts are removed, the state needed to continue
//! is written to `merged.state`: the length of the file, the open buffers of its writer, and the position of each
//! stream ([`Mark`]). A later merge that finds both files continues from there. Data behind the saved length are
//! written again; parts that should have been removed but still exist are known to be done.
//!
//! The state is a line of JSON followed by the events of the writer's open buffers. It has a temporary name until it is
//! complete. Cost: writing this each time, and waiting until the disk has all data.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::CaptureError;
use super::stream::Mark;
use crate::etl::write::{Paused, PausedBuffer};
use crate::etl::{Growth, SessionHeader, Source};
use crate::paths::{self, Existing};

const PART: &str = "merged.part";
const STATE: &str = "merged.state";
const NEW_STATE: &str = "merged.state.new";
/// Maximum size of the state in bytes: the buffers of the largest machine, and more than its marks take.
const MOST_STATE: u64 = 1 << 30;
const VERSION: u32 = 1;

/// Whether a merge of this folder was begun that has already removed lanes.
pub fn is_unfinished(folder: &Path) -> bool {
    folder.join(STATE).exists()
}

/// Removes the files of an unfinished merge after the trace is complete.
pub(super) fn clear(folder: &Path) {
    for name in [PART, STATE, NEW_STATE] {
        let _ = std::fs::remove_file(folder.join(name));
    }
}

/// A trace that is not complete.
#[derive(Debug)]
pub(super) struct Unfinished {
    folder: PathBuf,
    pub(super) file: File,
    /// Its session header.
    pub(super) header: SessionHeader,
    /// Events before this time are left out in lanes that wrap.
    pub(super) from: i64,
    /// The saved state, until a merge continues from it.
    left: Option<Left>,
    /// The length up to which a later merge can continue, if a state was saved.
    saved: Option<u64>,
}

/// The state needed to continue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Left {
    pub(super) paused: Paused,
    pub(super) marks: Vec<Mark>,
    /// Events in the trace.
    pub(super) events: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct State {
    version: u32,
    from: i64,
    events: u64,
    bytes: u64,
    written: u32,
    last_time: i64,
    /// CPU, time of the last event and size in bytes of each open buffer.
    open: Vec<(u16, i64, usize)>,
    marks: Vec<Mark>,
}

impl Unfinished {
    /// Starts with an empty file.
    pub(super) fn begin(folder: &Path, header: &SessionHeader, from: i64) -> Result<Self, CaptureError> {
        let path = folder.join(PART);
        let file = File::create(&path).map_err(CaptureError::file(&path))?;
        Ok(Self { folder: folder.to_owned(), file, header: header.clone(), from, left: None, saved: None })
    }

    /// Finds the unfinished merge in a folder, if there is one.
    pub(super) fn find(folder: &Path) -> Result<Option<Self>, CaptureError> {
        let state = match read_state(&folder.join(STATE)) {
            Ok(state) => state,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CaptureError::file(&folder.join(STATE))(error)),
        };
        let path = folder.join(PART);
        let begun = state.and_then(|(state, left)| {
            let file = File::options().read(true).write(true).open(&path).ok()?;
            let is_whole = file.metadata().ok()?.len() >= state.bytes;
            let (trace, _) = Growth::begin(Source::open(&path).ok()?, path.display().to_string()).ok()??;
            is_whole.then(|| Self {
                folder: folder.to_owned(),
                file,
                header: trace.header,
                from: state.from,
                left: Some(left),
                saved: Some(state.bytes),
            })
        });
        let damaged = || {
            CaptureError::BadRequest(format!(
                "{}: a trace of this recording was begun, and {PART} or {STATE} has changed since; only its other files are \
                 left",
                folder.display()
            ))
        };
        begun.map(Some).ok_or_else(damaged)
    }

    /// Takes the saved state; `None` the second time.
    pub(super) fn take_left(&mut self) -> Option<Left> {
        self.left.take()
    }

    /// Saves the state, so that a later merge can continue from here.
    pub(super) fn save(&mut self, left: &Left) -> io::Result<()> {
        let Left { paused, marks, events } = left;
        let state = State {
            version: VERSION,
            from: self.from,
            events: *events,
            bytes: paused.bytes,
            written: paused.written,
            last_time: paused.last_time,
            open: paused.open.iter().map(|open| (open.processor, open.last_time, open.events.len())).collect(),
            marks: marks.clone(),
        };
        self.file.sync_data()?;
        let new = self.folder.join(NEW_STATE);
        let mut file = File::create(&new)?;
        let mut bytes = serde_json::to_vec(&state)?;
        bytes.push(b'\n');
        paused.open.iter().for_each(|open| bytes.extend_from_slice(&open.events));
        file.write_all(&bytes)?;
        file.sync_all()?;
        drop(file);
        std::fs::rename(&new, self.folder.join(STATE))?;
        self.saved = Some(paused.bytes);
        Ok(())
    }

    /// Completes the trace: gives it its final name and returns its size in bytes.
    pub(super) fn keep(mut self, out: &Path) -> io::Result<u64> {
        // The remaining lanes are removed next, so their events must be safe from a power failure.
        self.file.sync_all()?;
        let bytes = paths::transfer(&self.folder.join(PART), out, Existing::Stays)?;
        // The whole file is valid under its new name, so drop must not truncate it.
        self.saved = Some(bytes);
        clear(&self.folder);
        Ok(bytes)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = match self.saved {
            // Data behind this length are written again, and their disk space is needed.
            Some(bytes) => self.file.set_len(bytes),
            None => std::fs::remove_file(self.folder.join(PART)),
        };
    }
}

/// Reads a state file; `None` if it is damaged.
fn read_state(path: &Path) -> io::Result<Option<(State, Left)>> {
    let file = File::open(path)?;
    if file.metadata()?.len() > MOST_STATE {
        return Ok(None);
    }
    let bytes = std::fs::read(path)?;
    Ok(parse_state(&bytes))
}

fn parse_state(bytes: &[u8]) -> Option<(State, Left)> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let (head, mut rest) = (bytes.get(..end)?, bytes.get(end + 1..)?);
    let mut state: State = serde_json::from_slice(head).ok().filter(|state: &State| state.version == VERSION)?;
    let mut open = Vec::with_capacity(state.open.len());
    for &(processor, last_time, len) in &state.open {
        let (events, more) = rest.split_at_checked(len)?;
        open.push(PausedBuffer { processor, last_time, events: events.to_vec() });
        rest = more;
    }
    let paused = Paused { bytes: state.bytes, written: state.written, last_time: state.last_time, open };
    let marks = std::mem::take(&mut state.marks);
    let events = state.events;
    rest.is_empty().then_some((state, Left { paused, marks, events }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::write::Writer;

    /// Leaves an unfinished trace in a folder; returns its state.
    fn left(folder: &Path) -> Left {
        let header = SessionHeader::default();
        let mut unfinished = Unfinished::begin(folder, &header, 7).unwrap();
        let paused = Writer::new(&unfinished.file, header).unwrap().pause().unwrap();
        let open = PausedBuffer { processor: 0, last_time: 5, events: b"\n1234567".to_vec() };
        let left = Left { paused: Paused { open: vec![open], ..paused }, marks: Vec::new(), events: 3 };
        unfinished.save(&left).unwrap();
        unfinished.file.set_len(left.paused.bytes + 1000).unwrap();
        left
    }

    #[test]
    fn what_was_left_is_found_and_what_was_written_later_goes() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Unfinished::find(folder.path()).unwrap().is_none() && !is_unfinished(folder.path()));
        let left = left(folder.path());
        assert!(is_unfinished(folder.path()));
        let length = || std::fs::metadata(folder.path().join(PART)).unwrap().len();
        assert_eq!(length(), left.paused.bytes);
        let mut found = Unfinished::find(folder.path()).unwrap().unwrap();
        assert_eq!((found.from, found.take_left()), (7, Some(left)));
        let out = folder.path().join("out.etl");
        found.keep(&out).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "the trace alone");
    }

    #[test]
    fn one_that_was_never_saved_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        drop(Unfinished::begin(folder.path(), &SessionHeader::default(), 0).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn damaged_ones_are_refused_and_stay() {
        let damages: [fn(&Path); 4] = [
            |folder| std::fs::remove_file(folder.join(PART)).unwrap(),
            |folder| std::fs::write(folder.join(PART), b"short").unwrap(),
            |folder| std::fs::write(folder.join(STATE), b"{}\n").unwrap(),
            |folder| {
                let mut bytes = std::fs::read(folder.join(STATE)).unwrap();
                bytes.pop();
                std::fs::write(folder.join(STATE), bytes).unwrap();
            },
        ];
        for damage in damages {
            let folder = tempfile::tempdir().unwrap();
            left(folder.path());
            damage(folder.path());
            let error = Unfinished::find(folder.path()).unwrap_err();
            assert!(error.to_string().contains("was begun"), "{error}");
            assert!(is_unfinished(folder.path()));
        }
    }

    #[test]
    fn no_state_is_too_odd_to_be_read() {
        let folder = tempfile::tempdir().unwrap();
        left(folder.path());
        let bytes = std::fs::read(folder.path().join(STATE)).unwrap();
        for at in 0..bytes.len() {
            parse_state(&bytes[..at]);
            let mut changed = bytes.clone();
            changed[at] = b'9';
            parse_state(&changed);
        }
        assert!(parse_state(&bytes).is_some());
    }
}
