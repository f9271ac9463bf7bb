//! The files of a capture that is still being recorded: the named files, or the lanes in a recording's folder. They
//! appear, grow, are completed, and in a ring the oldest are deleted.
//!
//! Lanes in a recording's folder are recognized by their names ([`lane_file`]); other files are ignored.
//!
//! Problems in a growing file are reported when it is complete and opened as a whole.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::capture::{Capture, losses_of};
use super::input::Input;
use crate::etl::{self, Growth, Lost, Source, TraceFile, is_same_session};
use crate::model::Loss;
use crate::open_error::OpenError;
use crate::problem::ProblemKind;
use highwater_capture::{is_unfinished, lane_file};

/// The result of one check of the files.
#[derive(Debug, Default)]
pub(super) struct Came {
    /// New parts of files, with the positions of the files among all.
    pub(super) parts: Vec<(u64, TraceFile)>,
    /// Whether all of them are complete.
    pub(super) is_all: bool,
}

/// A capture with growing files.
#[derive(Debug)]
pub(super) struct Lanes {
    named: Vec<Named>,
    /// The lanes, parallel to the files of `capture`.
    lanes: Vec<Lane>,
    /// The files, as far as they were read.
    pub(super) capture: Capture,
    /// Losses recorded in the buffers of files that are gone.
    pub(super) losses: Vec<Loss>,
    /// Whether everything that was read could be read again.
    pub(super) is_there: bool,
    /// Whether the data read so far equal those that opening the files finds.
    pub(super) agrees: bool,
    first_error: Option<OpenError>,
}

#[derive(Debug)]
enum Named {
    File { path: PathBuf, state: NamedFile },
    Folder { path: PathBuf, refused: Vec<PathBuf> },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NamedFile {
    Awaited,
    Open,
    Refused,
}

#[derive(Debug)]
struct Lane {
    /// Position in the order of files.
    place: u64,
    path: PathBuf,
    growth: Growth,
    /// Whether no more data can come from it.
    is_over: bool,
}

impl Lanes {
    /// Starts with files or folders. Reads nothing yet.
    pub(super) fn new(inputs: &[Input]) -> Result<Self, OpenError> {
        let named = |input: &Input| match input {
            // Lanes that are already merged into the trace are removed.
            Input::File(path) if is_unfinished(path) => Err(OpenError::Refused(format!(
                "{0}: a trace is being made of this recording; if nobody does that any more, complete it: highwater record \
                 --recover {0} -o out.etl",
                path.display()
            ))),
            Input::File(path) if path.is_dir() => Ok(Named::Folder { path: path.clone(), refused: Vec::new() }),
            Input::File(path) => Ok(Named::File { path: path.clone(), state: NamedFile::Awaited }),
            Input::Demo => Err(OpenError::Refused("the demo trace does not grow; play it: highwater replay demo:".to_owned())),
        };
        Ok(Self {
            named: inputs.iter().map(named).collect::<Result<_, _>>()?,
            lanes: Vec::new(),
            capture: Capture::default(),
            losses: Vec::new(),
            is_there: true,
            agrees: true,
            first_error: None,
        })
    }

    /// Checks for new files and for new data in known ones. An error if no file can ever be read. `is_quiet` says that
    /// nothing has come for a long time.
    pub(super) fn look(&mut self, is_quiet: bool) -> Result<Came, OpenError> {
        let mut named = std::mem::take(&mut self.named);
        for (i, named) in named.iter_mut().enumerate() {
            self.discover((i as u64) << 48, named);
        }
        let awaits = named.iter().any(|named| matches!(named, Named::File { state: NamedFile::Awaited, .. }));
        let may_come = awaits || named.iter().any(|named| matches!(named, Named::Folder { .. }));
        self.named = named;
        if self.lanes.is_empty()
            && !may_come
            && let Some(error) = self.first_error.take()
        {
            return Err(error);
        }
        let mut came = Came::default();
        for i in 0..self.lanes.len() {
            self.go_on(i, &mut came.parts);
        }
        let is_over = |lane: &Lane| lane.is_over || lane.growth.is_closed() || (is_quiet && lane.growth.says_closed());
        came.is_all = !awaits && !self.lanes.is_empty() && self.lanes.iter().all(is_over);
        Ok(came)
    }

    fn discover(&mut self, base: u64, named: &mut Named) {
        match named {
            Named::File { path, state } => {
                if *state == NamedFile::Awaited {
                    *state = self.open(base, path);
                }
            }
            Named::Folder { path, refused } => {
                for (place, path) in lanes_in(path).unwrap_or_default() {
                    let is_known = self.lanes.iter().any(|lane| lane.place == base + place) || refused.contains(&path);
                    if !is_known && self.open(base + place, &path) == NamedFile::Refused {
                        refused.push(path);
                    }
                }
            }
        }
    }

    /// Opens a file if its header is written.
    fn open(&mut self, place: u64, path: &Path) -> NamedFile {
        let name = path.display().to_string();
        let opened = Source::open_file(path).and_then(|source| Growth::begin(source, name.clone())).map_err(OpenError::from);
        let checked = opened
            .and_then(|found| found.map(|(file, growth)| self.capture.check_clock(file).map(|file| (file, growth))).transpose());
        match checked {
            Ok(Some((file, growth))) => {
                let at = self.lanes.partition_point(|lane| lane.place < place);
                self.lanes.insert(at, Lane { place, path: path.to_owned(), growth, is_over: false });
                self.capture.files.insert(at, file);
                NamedFile::Open
            }
            Ok(None) => NamedFile::Awaited,
            // A ring can delete a file at that moment.
            Err(OpenError::File(etl::OpenError::NotFound(_))) if place & LANE != 0 => NamedFile::Awaited,
            Err(error) => {
                self.capture.refuse(&name, error, &mut self.first_error);
                NamedFile::Refused
            }
        }
    }

    /// Takes the new data of one file.
    fn go_on(&mut self, i: usize, parts: &mut Vec<(u64, TraceFile)>) {
        let (lane, file) = (&mut self.lanes[i], &mut self.capture.files[i]);
        if lane.is_over {
            return;
        }
        match lane.growth.go_on(file) {
            Ok(Some(part)) => parts.push((lane.place, part)),
            Ok(None) => match fate(&lane.path, file) {
                Fate::Stays => {}
                Fate::Gone => {
                    if !lane.growth.says_closed() {
                        self.lose(i, "was deleted or renamed");
                    }
                    self.let_go(i, parts);
                }
                Fate::Replaced => self.lose(i, Lost::Replaced.reason()),
            },
            Err(lost) => self.lose(i, lost.reason()),
        }
    }

    /// Gives up a file: no more data can come from it, and it cannot be read again.
    fn lose(&mut self, i: usize, how: &str) {
        let detail = format!("the file {how} while it was followed; what had been read of it by then is shown");
        self.capture.problems.add(ProblemKind::ReadFailed, &self.capture.files[i].name, 0, detail);
        self.lanes[i].is_over = true;
        self.is_there = false;
    }

    /// Finishes and closes a deleted file, so that its disk space is freed.
    fn let_go(&mut self, i: usize, parts: &mut Vec<(u64, TraceFile)>) {
        self.settle(i, parts);
        let start = self.capture.trace_start();
        self.losses.extend(losses_of(&self.capture.files[i], start, || true));
        self.capture.files[i].let_go();
        self.lanes[i].is_over = true;
        self.is_there = false;
    }

    /// Replaces the followed file by the file that opening finds, and adds buffers that following has not seen.
    fn settle(&mut self, i: usize, parts: &mut Vec<(u64, TraceFile)>) {
        let (lane, file) = (&self.lanes[i], &mut self.capture.files[i]);
        let Ok(whole) = lane.growth.whole(file) else {
            self.agrees = false;
            return;
        };
        match whole.buffers.strip_prefix(file.buffers.as_slice()) {
            Some([]) => {}
            Some(rest) => parts.push((lane.place, whole.part(rest.to_vec()))),
            None => self.agrees = false,
        }
        *file = whole;
    }

    /// Ends following: returns the last parts, and replaces the files by those that opening finds.
    pub(super) fn finish(&mut self) -> Vec<(u64, TraceFile)> {
        let mut parts = Vec::new();
        for i in 0..self.lanes.len() {
            if !self.lanes[i].is_over {
                self.settle(i, &mut parts);
            }
            let problems = std::mem::take(&mut self.capture.files[i].problems);
            self.capture.problems.append(problems);
        }
        parts
    }

    /// All losses recorded in buffers, including those of files that are gone.
    pub(super) fn all_losses(&self, go_on: impl FnMut() -> bool) -> Arc<[Loss]> {
        let there = self.lanes.iter().zip(&self.capture.files).filter(|(lane, _)| !lane.is_over).map(|(_, file)| file);
        let mut go_on = go_on;
        let mut all = self.losses.clone();
        let start = self.capture.trace_start();
        all.extend(there.flat_map(|file| losses_of(file, start, &mut go_on)));
        all.sort_by_key(|loss| (loss.interval.from, loss.interval.to));
        all.into()
    }
}

/// The state of a file's name.
enum Fate {
    Stays,
    Gone,
    Replaced,
}

fn fate(path: &Path, file: &TraceFile) -> Fate {
    match Source::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Fate::Gone,
        // It cannot be determined at the moment.
        Err(_) => Fate::Stays,
        Ok(source) => match Growth::begin(source, String::new()) {
            Ok(Some((found, _))) if is_same_session(&found.header, &file.header) => Fate::Stays,
            _ => Fate::Replaced,
        },
    }
}

/// The bits of a position that hold the lane and the part number.
const LANE: u64 = (1 << 48) - 1;

/// The lanes in a folder, with their positions.
fn lanes_in(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut lanes = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        lanes.extend(path.file_name().and_then(|name| place_of(name.to_str()?)).map(|place| (place, path)));
    }
    lanes.sort();
    Ok(lanes)
}

/// The position of a file in a recording's folder, if it is a lane.
fn place_of(name: &str) -> Option<u64> {
    lane_file(name).map(|(lane, number)| (lane as u64 + 1) << 32 | u64::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_come_in_their_order_and_nothing_else_is_one() {
        let names = [
            "kernel.etl",
            "context.etl",
            "context-heap.etl",
            "pages-0001.etl",
            "heap.etl",
            "heap-0002.etl",
            "heap-0010.etl",
            "user.etl",
            "user-0001.etl",
        ];
        let places: Vec<u64> = names.iter().map(|name| place_of(name).unwrap()).collect();
        assert!(places.is_sorted_by(|a, b| a < b), "{places:x?}");
        for other in ["out.etl", "heap.zip", "heap-.etl", "heap-1x.etl", "Kernel", ".etl", "heap-99999999999.etl"] {
            assert_eq!(place_of(other), None, "{other}");
        }
    }
}
