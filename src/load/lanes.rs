//! The files of a capture that is still being recorded: those that were named, or the
//! lanes in the folder of a recording. They appear, grow, are completed, and in a ring
//! the oldest go away.
//!
//! What is in a recording's folder is known by its name ([`lane_file`]); anything else is nobody's
//! lane.
//!
//! What is wrong with a file that grows is told by opening it when it grows no more.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Capture, Input, losses_of};
use crate::capture::{is_unfinished, lane_file};
use crate::etl::{Growth, Lost, OpenError, Source, TraceFile, is_same_session};
use crate::model::Loss;
use crate::problem::ProblemKind;

/// What the files were when they were looked at.
#[derive(Debug, Default)]
pub(super) struct Came {
    /// What came of them, with their places among all files.
    pub(super) parts: Vec<(u64, TraceFile)>,
    /// Whether all of them are complete.
    pub(super) is_all: bool,
}

/// A capture whose files grow.
#[derive(Debug)]
pub(super) struct Lanes {
    named: Vec<Named>,
    /// Beside the files of `capture`, in their order.
    lanes: Vec<Lane>,
    /// The files as far as they were read.
    pub(super) capture: Capture,
    /// What buffers of files tell of that are gone.
    pub(super) losses: Vec<Loss>,
    /// Whether reading everything again would find what was read.
    pub(super) is_there: bool,
    /// Whether what was read is what opening the files finds.
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
    /// Orders the files.
    place: u64,
    path: PathBuf,
    growth: Growth,
    /// Whether nothing more can come of it.
    is_over: bool,
}

impl Lanes {
    /// Begins with files or folders. Nothing is read yet.
    pub(super) fn new(inputs: &[Input]) -> Result<Self, OpenError> {
        let named = |input: &Input| match input {
            // What is in the trace is gone from the lanes.
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

    /// Looks for new files and for what came of those that are known. An error if none
    /// can ever be read. `is_quiet` says that nothing has come for long.
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

    /// Opens a file if its header is there.
    fn open(&mut self, place: u64, path: &Path) -> NamedFile {
        let name = path.display().to_string();
        let opened = Source::open_file(path).and_then(|source| Growth::begin(source, name.clone()));
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
            // A file of a ring can go away just then.
            Err(OpenError::NotFound(_)) if place & LANE != 0 => NamedFile::Awaited,
            Err(error) => {
                self.capture.refuse(&name, error, &mut self.first_error);
                NamedFile::Refused
            }
        }
    }

    /// Takes what came of one file.
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

    /// Nothing more can come of a file, and nobody can read it again.
    fn lose(&mut self, i: usize, how: &str) {
        let detail = format!("the file {how} while it was followed; what had been read of it by then is shown");
        self.capture.problems.add(ProblemKind::ReadFailed, &self.capture.files[i].name, 0, detail);
        self.lanes[i].is_over = true;
        self.is_there = false;
    }

    /// A file that is gone is kept open no longer than it is needed, for its room on disk.
    fn let_go(&mut self, i: usize, parts: &mut Vec<(u64, TraceFile)>) {
        self.settle(i, parts);
        let start = self.capture.trace_start();
        self.losses.extend(losses_of(&self.capture.files[i], start, || true));
        self.capture.files[i].let_go();
        self.lanes[i].is_over = true;
        self.is_there = false;
    }

    /// Puts the file that opening finds in the place of what was followed.
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

    /// Nothing is awaited any more: the last parts, and the files as opening finds them.
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

    /// All losses that buffers tell of, those of files that are gone too.
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

/// What became of a file's name.
enum Fate {
    Stays,
    Gone,
    Replaced,
}

fn fate(path: &Path, file: &TraceFile) -> Fate {
    match Source::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Fate::Gone,
        // Nobody can tell just now.
        Err(_) => Fate::Stays,
        Ok(source) => match Growth::begin(source, String::new()) {
            Ok(Some((found, _))) if is_same_session(&found.header, &file.header) => Fate::Stays,
            _ => Fate::Replaced,
        },
    }
}

/// Bits of a place that tell the lane and the number of its file.
const LANE: u64 = (1 << 48) - 1;

/// The lanes in a folder and their places.
fn lanes_in(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut lanes = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        lanes.extend(path.file_name().and_then(|name| place_of(name.to_str()?)).map(|place| (place, path)));
    }
    lanes.sort();
    Ok(lanes)
}

/// The place of a file in a recording's folder, if it is a lane's.
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
