//! The open files of a capture, and the losses that they record.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use super::captures::{Together, together};
use super::copied;
use super::input::Input;
use crate::archive::{Contents, Member, Progress};
use crate::etl::{Expandable, TraceFile};
use crate::events::{self, Copies, Merge, RawLoss, machine_name};
use crate::model::{Clock, Loss, Machine};
use crate::open_error::OpenError;
use crate::problem::{ProblemKind, Problems};
use crate::units::{Interval, Ticks};
use crate::utc::rfc3339;

/// Maximum number of CPU streams of all files together: eight files from the largest machine.
const MAX_STREAMS: usize = 8 * 2048;

/// The open files of one capture.
#[derive(Debug, Default)]
pub struct Capture {
    /// The readable files, in the order in which they were named.
    pub files: Vec<TraceFile>,
    /// The problems with opening them.
    pub problems: Problems,
}

/// One capture among the files that were opened together.
#[derive(Debug)]
pub struct Opened {
    /// Its files.
    pub capture: Capture,
    /// Why it is separate from the first capture, as the end of a sentence about its files; `None` for the first.
    pub why_apart: Option<String>,
}

impl Capture {
    /// Opens the files of one capture. One unreadable file among several is a problem. It is an error if no file can be
    /// read, or if the files belong to several captures ([`together`]).
    pub fn open(inputs: &[Input]) -> Result<Self, OpenError> {
        Self::open_watched(inputs, &mut |_, _| true)
    }

    /// Opens files like [`Capture::open`]. `progress` gets how far archives are expanded, which can take as long as
    /// loading; if it returns `false`, the error is [`OpenError::Stopped`].
    pub fn open_watched(inputs: &[Input], progress: &mut Progress<'_>) -> Result<Self, OpenError> {
        let mut all = Self::open_all(inputs, progress)?;
        if all.len() > 1 {
            return Err(OpenError::SeveralCaptures(all.iter().map(Opened::describe).collect()));
        }
        Ok(all.pop().map_or_else(Self::default, |only| only.capture))
    }

    /// Opens files that may belong to several captures; returns at least one capture, in the order of their first
    /// files. Problems that belong to no capture (an unreadable file) are listed with each.
    pub fn open_all(inputs: &[Input], progress: &mut Progress<'_>) -> Result<Vec<Opened>, OpenError> {
        let mut opened = Self::default();
        let mut first_error = None;
        for input in inputs {
            match input.open(progress) {
                Ok(contents) => opened.add(contents, &mut first_error),
                Err(OpenError::Stopped) => return Err(OpenError::Stopped),
                Err(error) => opened.refuse(&input.name(), error, &mut first_error),
            }
        }
        match first_error {
            Some(error) if opened.files.is_empty() => Err(error),
            _ => Ok(opened.apart()),
        }
    }

    /// Returns the folders `FILE.NGENPDB` beside the files, into which WPR and xperf write the PDBs of .NET's native images
    /// (Microsoft's "Using CLR 4.0 NGEN PDB support").
    pub fn symbol_folders(&self) -> Vec<PathBuf> {
        symbol_folders(self.files.iter().map(|file| file.name.as_str()))
    }

    fn add(&mut self, contents: Contents, first_error: &mut Option<OpenError>) {
        self.problems.append(contents.problems);
        let members = contents.members.len();
        for Member { name, source, packed } in contents.members {
            let opened = match (packed, source.len()) {
                (Some(packed), Ok(bytes)) => {
                    TraceFile::from_archive(source, name.clone(), Expandable::member(bytes, packed, members))
                }
                _ => TraceFile::from_source(source, name.clone()),
            };
            match opened {
                Ok(mut file) => {
                    file.container = contents.format.name();
                    self.files.push(file);
                }
                Err(error) => self.refuse(&name, error.into(), first_error),
            }
        }
    }

    /// Groups the opened files into captures.
    fn apart(self) -> Vec<Opened> {
        let groups = together(&self.files);
        let mut files: Vec<Option<TraceFile>> = self.files.into_iter().map(Some).collect();
        let capture = |group: Together| {
            let mut capture = Self { files: Vec::new(), problems: self.problems.clone() };
            group.files.into_iter().filter_map(|i| files[i].take()).for_each(|file| capture.take(file));
            Opened { capture, why_apart: group.why }
        };
        groups.into_iter().map(capture).collect()
    }

    /// Adds a file to this capture, unless there are too many CPU streams with it.
    fn take(&mut self, file: TraceFile) {
        let name = file.name.clone();
        match self.check_streams(file) {
            Ok(mut file) => {
                self.problems.append(std::mem::take(&mut file.problems));
                self.files.push(file);
            }
            Err(error) => self.refuse(&name, error, &mut None),
        }
    }

    pub(super) fn refuse(&mut self, name: &str, error: OpenError, first_error: &mut Option<OpenError>) {
        let kind = match error {
            OpenError::OtherCapture(..) => ProblemKind::ClockMismatch,
            _ => ProblemKind::UnreadableFile,
        };
        self.problems.add(kind, name, 0, error.to_string());
        first_error.get_or_insert(error);
    }

    /// Checks that a growing file has the same clock as the first. Its end is unknown, so times are not compared.
    pub(super) fn check_clock(&self, file: TraceFile) -> Result<TraceFile, OpenError> {
        let Some(first) = self.files.first() else { return Ok(file) };
        if let Some(conflict) = first.header.clock_conflict(&file.header) {
            return Err(OpenError::OtherCapture(file.name, format!("it {conflict} {}", first.name)));
        }
        Ok(file)
    }

    fn check_streams(&self, file: TraceFile) -> Result<TraceFile, OpenError> {
        let streams: usize = self.files.iter().chain([&file]).map(|file| file.streams).sum();
        if streams > MAX_STREAMS {
            let name = &file.name;
            let reason = format!("{name}: with it, buffers of over {MAX_STREAMS} CPUs would have to be put in order");
            return Err(OpenError::Refused(format!("{reason}; open fewer files together")));
        }
        Ok(file)
    }

    /// Size of all files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.bytes).sum()
    }

    /// The machine that recorded it, with its name.
    pub fn machine(&self) -> Machine {
        Machine { name: self.machine_name().map(Into::into), ..self.machine_in_headers() }
    }

    /// The name of the machine that recorded it, if a file has it. Cost: a few buffers of each file are read.
    pub fn machine_name(&self) -> Option<String> {
        self.files.iter().find_map(machine_name)
    }

    /// The machine that recorded it, as far as the headers of the files tell it, which is all but its name.
    pub(super) fn machine_in_headers(&self) -> Machine {
        self.earliest().map_or_else(Machine::default, |file| {
            let header = &file.header;
            Machine { name: None, os: header.os, processors: header.processors, pointer_size: header.pointer_size }
        })
    }

    /// The earliest file: its header event is the trace start.
    fn earliest(&self) -> Option<&TraceFile> {
        self.files.iter().min_by_key(|f| f.header.start_ticks)
    }

    /// The clock of the capture.
    pub fn clock(&self) -> Clock {
        let header = self.earliest().map(|f| &f.header);
        Clock { frequency: header.map_or(10_000_000, |h| h.frequency), start_time: header.map_or(0, |h| h.start_time) }
    }

    /// Raw time of the trace start.
    pub fn trace_start(&self) -> i64 {
        self.earliest().map_or(0, |f| f.header.start_ticks)
    }

    pub(super) fn losses(&self) -> (u64, u64) {
        copied::lost(&self.files, &Copies::default())
    }

    /// Finds events that the files contain twice. Cost: one pass over all events, in the order of time.
    pub fn copies(&self) -> Copies {
        let mut merge = Merge::new(&self.files);
        let _: ControlFlow<()> = merge.run_slices(&(), |_| ControlFlow::Continue(()), |_| ControlFlow::Continue(i64::MAX));
        merge.totals().copies.clone()
    }
}

impl Opened {
    /// Describes the capture in words: its files, its start, and why it is separate from the first.
    pub fn describe(&self) -> String {
        let names: Vec<&str> = self.capture.files.iter().map(|file| file.name.as_str()).collect();
        let start = self.capture.clock().start_time;
        let from = rfc3339(start).filter(|_| start != 0).map_or_else(String::new, |start| format!(" (from {start})"));
        let why = self.why_apart.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        format!("{}{from}{why}", names.join(" + "))
    }
}

/// The folders of symbols beside files of these names, see [`Capture::symbol_folders`].
pub(super) fn symbol_folders<'a>(names: impl Iterator<Item = &'a str>) -> Vec<PathBuf> {
    // PerfView writes it in small letters; systems that ignore case have only one of both.
    let spelled = |name: &str| ["NGENPDB", "ngenpdb"].map(|ending| PathBuf::from(format!("{name}.{ending}")));
    names.filter_map(|name| spelled(name).into_iter().find(|folder| folder.is_dir())).collect()
}

/// The losses recorded in the buffers of all files, ordered by time.
pub(super) fn losses(capture: &Capture, mut go_on: impl FnMut() -> bool) -> Arc<[Loss]> {
    let start = capture.trace_start();
    let mut all: Vec<Loss> = capture.files.iter().flat_map(|file| losses_of(file, start, &mut go_on)).collect();
    all.sort_by_key(|loss| (loss.interval.from, loss.interval.to));
    all.into()
}

/// The losses recorded in the buffers of one file, of a capture that starts at the raw time `start`.
pub(super) fn losses_of(file: &TraceFile, start: i64, go_on: impl FnMut() -> bool) -> Vec<Loss> {
    let name: Arc<str> = file.name.as_str().into();
    let placed = |loss: RawLoss| {
        let to = loss.to.map_or(Ticks::NEVER, |to| Ticks::from_raw(to, start));
        let interval = Interval::new(Ticks::from_raw(loss.from, start), to);
        Loss { interval, file: Arc::clone(&name), what: loss.what, count: loss.count, processor: loss.processor }
    };
    events::losses(file, go_on).into_iter().map(placed).collect()
}
