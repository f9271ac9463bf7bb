//! Lanes become one ordinary `.etl`, as CreateMergedTraceFile makes it of the files of
//! several sessions: every event with all its bytes, each processor's in the order of
//! time, and what other machines need: identities of images, and volumes.
//!
//! Equal times keep the order of their lane, so stacks stay behind their events; of
//! several lanes what names things comes first. Within a lane, events may come late by
//! up to a buffer. Losses that buffers tell of become events that tell of them.
//!
//! The file has another name until it is complete, and the lanes go only then: a merge
//! that fails or is stopped leaves what was recorded as it was.
//!
//! Memory: two buffers and what is late for each lane and processor, and one buffer
//! for each processor. Cost: one pass; each event is copied twice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::images::{Identities, Images};
use super::lane::{LANES, files_of};
use super::stream::{Next, Reading, streams_of};
use super::{CaptureError, Lane};
use crate::etl::write::{WriteError, Writer};
use crate::etl::{OpenError, SessionHeader, TraceFile, mode};
use crate::events::encode::RecordWriter;
use crate::events::{Event, Record};
use crate::problem::{Problem, ProblemKind, Problems};
use crate::units::{Pid, Tid};

/// What became of a recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Events in the file, those included that were added.
    pub events: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Events that were lost.
    pub lost_events: u64,
    /// Buffers that were lost.
    pub lost_buffers: u64,
    /// Files of images, ...
    pub images: u64,
    /// ... and of how many of them the build is known.
    pub images_identified: u64,
    /// What was wrong with the lanes.
    pub problems: Vec<Problem>,
}

/// Makes a trace of the lanes in a folder that nobody completed, and removes them if all went well.
/// `progress` is told bytes done and bytes in all, and says whether to go on.
pub fn recover(
    folder: &Path,
    out: &Path,
    images: &mut dyn Images,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Summary, CaptureError> {
    merge(folder, out, i64::MIN, false, images, progress)
}

/// The same of lanes that somebody may still read: they stay.
pub fn save(
    folder: &Path,
    out: &Path,
    images: &mut dyn Images,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Summary, CaptureError> {
    merge(folder, out, i64::MIN, true, images, progress)
}

/// The same; of lanes that wrap only what is not before `from`. They stay if they are to be kept.
pub(super) fn merge(
    folder: &Path,
    out: &Path,
    from: i64,
    keep: bool,
    images: &mut dyn Images,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Summary, CaptureError> {
    let inputs = Inputs::open(folder, out)?;
    let part = Part::create(out)?;
    let mut reading = Reading::new(inputs.problems.clone());
    let mut summary = inputs.write(&part.file, from, images, &mut reading, progress).map_err(|stop| match stop {
        Stop::Asked => CaptureError::Stopped,
        Stop::Failed(error) => CaptureError::write(out)(error),
    })?;
    summary.bytes = part.keep(out)?;
    summary.problems = reading.problems.list();
    // What the system could not read now it may read another time.
    if !keep && !summary.problems.iter().any(|problem| problem.kind == ProblemKind::ReadFailed) {
        inputs.remove(folder);
    }
    Ok(summary)
}

/// The lanes' files.
struct Inputs {
    /// Where they are, without those that could not be opened.
    paths: Vec<PathBuf>,
    /// Those of a lane one behind the other, lanes in the order in which they go first
    /// at equal times; and whether they wrap.
    lanes: Vec<(Vec<TraceFile>, bool)>,
    /// What the merged file says of its session.
    header: SessionHeader,
    problems: Problems,
}

impl Inputs {
    fn open(folder: &Path, out: &Path) -> Result<Self, CaptureError> {
        let mut inputs =
            Self { paths: Vec::new(), lanes: Vec::new(), header: SessionHeader::default(), problems: Problems::default() };
        let mut first: Option<SessionHeader> = None;
        let mut refused = None;
        let names = LANES.map(|name| (name, Lane::ALL.iter().any(|lane| lane.name() == name && lane.wraps())));
        for (name, wraps) in names {
            let mut files = Vec::new();
            for path in files_of(folder, name).map_err(CaptureError::file(folder))? {
                if is_same(&path, out) {
                    let reason = format!("{}: this file is part of the recording; choose another name", out.display());
                    return Err(CaptureError::BadRequest(reason));
                }
                match TraceFile::open(&path).and_then(|file| same_clock(first.as_ref(), file)) {
                    Ok(mut file) => {
                        inputs.problems.append(std::mem::take(&mut file.problems));
                        first.get_or_insert_with(|| file.header.clone());
                        files.push(file);
                        inputs.paths.push(path);
                    }
                    Err(error) => {
                        let name = path.display().to_string();
                        inputs.problems.add(ProblemKind::UnreadableFile, &name, 0, error.to_string());
                        refused.get_or_insert(error);
                    }
                }
            }
            inputs.lanes.push((files, wraps));
        }
        let Some(first) = first else {
            return Err(refused.map_or_else(|| CaptureError::Empty(folder.to_owned()), CaptureError::Read));
        };
        inputs.header = inputs.merged_header(&first);
        Ok(inputs)
    }

    fn files(&self) -> impl Iterator<Item = &TraceFile> {
        self.lanes.iter().flat_map(|(files, _)| files)
    }

    fn merged_header(&self, first: &SessionHeader) -> SessionHeader {
        let most = |field: fn(&SessionHeader) -> u32| self.files().map(|file| field(&file.header)).max().unwrap_or(0);
        let sum = |field: fn(&SessionHeader) -> u32| self.files().fold(0u32, |sum, file| sum.saturating_add(field(&file.header)));
        let last = self.files().flat_map(|file| &file.buffers).map(|buffer| u32::from(buffer.processor) + 1).max();
        SessionHeader {
            // What a damaged header claims must not keep an event out.
            buffer_size: most(|header| header.buffer_size).clamp(128 << 10, 16 << 20).next_multiple_of(8),
            processors: most(|header| header.processors).max(last.unwrap_or(1)).clamp(1, 0x0800),
            events_lost: sum(|header| header.events_lost),
            buffers_lost: sum(|header| header.buffers_lost),
            mode: mode::SEQUENTIAL | mode::RELOG,
            logger: "Relogger".to_owned(),
            ..first.clone()
        }
    }

    /// Writes the events of all lanes.
    fn write(
        &self,
        file: &File,
        from: i64,
        images: &mut dyn Images,
        reading: &mut Reading,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Summary, Stop> {
        let total = self.files().map(|file| file.bytes).sum();
        let mut w = RecordWriter::new(Writer::new(file, self.header.clone())?);
        let mut identities = Identities::new(images);
        let mut streams = streams_of(&self.lanes, from);
        let mut order = BinaryHeap::new();
        for (index, stream) in streams.iter_mut().enumerate() {
            stream.refill(reading);
            order.extend(stream.time().map(|time| Reverse((time, index))));
        }
        let start = order.peek().map_or(i64::MAX, |Reverse((time, _))| *time).min(self.header.start_ticks);
        let mut events = identities.write_volumes(&mut w, start)?;
        while let Some(Reverse((_, index))) = order.pop() {
            let stream = &mut streams[index];
            let second = order.peek().map_or((i64::MAX, usize::MAX), |Reverse(second)| *second);
            while stream.time().is_some_and(|time| (time, index) < second) {
                let processor = stream.processor;
                let Some((time, next)) = stream.next() else { break };
                events += 1;
                match next {
                    Next::Event(bytes, is_image) => {
                        if is_image {
                            events += identities.write_before(&mut w, processor, bytes)?;
                        }
                        w.writer().write_bytes(processor, time, bytes)?;
                    }
                    Next::Lost(what) => {
                        let record = Record { time, pid: Pid::NONE, tid: Tid::NONE, event: Event::Lost(what.into()) };
                        w.put(processor, &record, &[])?;
                    }
                }
            }
            if stream.time().is_none() {
                stream.refill(reading);
                if !progress(reading.bytes.min(total), total) {
                    return Err(Stop::Asked);
                }
            }
            order.extend(stream.time().map(|time| Reverse((time, index))));
        }
        w.finish()?;
        let (images, images_identified) = identities.counts();
        let SessionHeader { events_lost, buffers_lost, .. } = self.header;
        let (lost_events, lost_buffers) = (events_lost.into(), buffers_lost.into());
        Ok(Summary { events, lost_events, lost_buffers, images, images_identified, ..Summary::default() })
    }

    /// The recording is complete without them. What cannot be removed stays.
    fn remove(self, folder: &Path) {
        drop(self.lanes);
        for path in self.paths {
            let _ = std::fs::remove_file(path);
        }
        let _ = std::fs::remove_dir(folder);
    }
}

/// A file of another recording has no business here.
fn same_clock(first: Option<&SessionHeader>, file: TraceFile) -> Result<TraceFile, OpenError> {
    match first.and_then(|first| first.clock_conflict(&file.header)) {
        Some(conflict) => Err(OpenError::OtherCapture(file.name, format!("it {conflict} the other files of the recording"))),
        None => Ok(file),
    }
}

fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    real(a).is_some_and(|a| real(b) == Some(a))
}

/// The file under its other name.
struct Part {
    file: File,
    path: Unkept,
}

/// A file that goes unless it is kept.
struct Unkept(PathBuf);

impl Part {
    fn create(out: &Path) -> Result<Self, CaptureError> {
        let mut name = out.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        let path = out.with_file_name(name);
        let file = File::create(&path).map_err(CaptureError::file(out))?;
        Ok(Self { file, path: Unkept(path) })
    }

    /// Gives it its name and tells its size.
    fn keep(self, out: &Path) -> Result<u64, CaptureError> {
        let Self { file, path } = self;
        let finish = || {
            // The lanes go next: what they held must not be lost with the power.
            file.sync_all()?;
            let bytes = file.metadata()?.len();
            drop(file);
            std::fs::rename(&path.0, out)?;
            Ok(bytes)
        };
        finish().map_err(CaptureError::file(out))
    }
}

impl Drop for Unkept {
    fn drop(&mut self) {
        // Once it has its name, there is none of this.
        let _ = std::fs::remove_file(&self.0);
    }
}

enum Stop {
    Asked,
    Failed(WriteError),
}

impl From<WriteError> for Stop {
    fn from(error: WriteError) -> Self {
        Self::Failed(error)
    }
}
