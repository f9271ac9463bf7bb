//! Lanes become one ordinary `.etl`, as CreateMergedTraceFile makes it of the files of
//! several sessions: every event with all its bytes, each processor's in the order of
//! time, and what other machines need: identities of images, and volumes.
//!
//! Equal times keep the order of their lane, so stacks stay behind their events; of
//! several lanes what names things comes first. Within a lane, events may come late by
//! up to a buffer. Losses that buffers tell of become events that tell of them.
//!
//! The file has another name until it is complete, and the lanes go only then: a merge
//! that fails or is stopped leaves what was recorded as it was. Where there is no room for
//! both, parts of lanes go as soon as they are written ([`super::unfinished`]).
//!
//! Memory: two buffers and what is late for each lane and processor, and one buffer
//! for each processor. Cost: one pass; each event is copied twice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io;
use std::path::Path;

use super::images::{Identities, Images};
use super::inputs::Inputs;
use super::room::reserve;
use super::stream::{Stream, streams_of};
use super::unfinished::{self, Left, Unfinished};
use super::{CaptureError, Storage};
use crate::etl::SessionHeader;
use crate::etl::write::{WriteError, Writer};
use crate::events::encode::RecordWriter;
use crate::events::{Event, RawItem, RawReading, Record};
use crate::paths::{self, Draft, Existing, Reading, Refusal};
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

/// Makes a trace of the lanes in a folder that nobody completed, and removes them if all went well;
/// or goes on with the trace that somebody has begun to make of them.
/// `progress` is told bytes done and bytes in all, and says whether to go on.
pub fn recover(
    folder: &Path,
    out: &Path,
    images: &mut dyn Images,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Summary, CaptureError> {
    recover_on(folder, out, &Storage::default(), images, progress)
}

/// The same, and says how the disk is used.
pub fn recover_on(
    folder: &Path,
    out: &Path,
    storage: &Storage,
    images: &mut dyn Images,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Summary, CaptureError> {
    merge(&Job { folder, out, from: i64::MIN, keep: false, storage }, images, progress)
}

/// The same of lanes that somebody may still read: they stay.
pub fn save(
    folder: &Path,
    out: &Path,
    images: &mut dyn Images,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Summary, CaptureError> {
    merge(&Job { folder, out, from: i64::MIN, keep: true, storage: &Storage::default() }, images, progress)
}

/// What is to become of which lanes.
pub(super) struct Job<'a> {
    pub(super) folder: &'a Path,
    pub(super) out: &'a Path,
    /// Of lanes that wrap only what is not before.
    pub(super) from: i64,
    /// Whether the lanes stay.
    pub(super) keep: bool,
    pub(super) storage: &'a Storage,
}

/// Makes one trace of lanes.
pub(super) fn merge(
    job: &Job<'_>,
    images: &mut dyn Images,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Summary, CaptureError> {
    let read = Reading::of([job.folder.to_owned()]);
    read.look();
    // Where nothing can be made there is an error now, and not when lanes have gone.
    paths::check_file(job.out, Existing::Stays).map_err(|refusal| job.unwritten(refusal.into()))?;
    let begun = Unfinished::find(job.folder)?;
    let mut inputs = Inputs::open(job.folder, begun.as_ref().map(|begun| &begun.header))?;
    let part = Draft::begin(job.out).map_err(|error| job.unwritten(error))?;
    let mut aside = match begun {
        Some(begun) => Some(begun),
        None if !job.keep && job.is_short_of(inputs.bytes()) => Some(Unfinished::begin(job.folder, &inputs.header, job.from)?),
        None => None,
    };
    let file = aside.as_ref().map_or(&part.file, |aside| &aside.file).try_clone().map_err(CaptureError::file(job.out))?;
    let mut reading = RawReading::new(std::mem::take(&mut inputs.problems));
    let pass = Pass::begin(&inputs, &file, job.from, aside.as_mut(), images).map_err(CaptureError::write(job.out))?;
    let mut summary = pass.run(&mut inputs, &mut reading, progress).map_err(|stop| match stop {
        Stop::Asked => CaptureError::Stopped,
        Stop::Failed(error) => CaptureError::write(job.out)(error),
    })?;
    drop(file);
    let is_aside = aside.is_some();
    summary.bytes = match aside {
        Some(aside) => aside.keep(job.out),
        None => part.keep(Existing::Stays),
    }
    .map_err(|error| job.unwritten(error))?;
    summary.problems = reading.problems.list();
    // What the system could not read now it may read another time.
    if (is_aside || !job.keep) && !reading.problems.has(ProblemKind::ReadFailed) {
        inputs.remove();
        unfinished::clear(job.folder);
        let _ = std::fs::remove_dir(job.folder);
    }
    Ok(summary)
}

impl Job<'_> {
    /// Why the trace has not got its name. The lanes are still there.
    fn unwritten(&self, error: io::Error) -> CaptureError {
        let Some(refusal) = Refusal::of(&error) else { return CaptureError::file(self.out)(error) };
        let (out, folder) = (self.out.display(), self.folder.display());
        CaptureError::BadRequest(match refusal {
            Refusal::Read => format!("{out}: this file is part of the recording; choose another name"),
            _ => format!(
                "{out}: {refusal}; what was recorded is in {folder}, and highwater record --recover {folder} -o OTHER.etl makes a trace of it"
            ),
        })
    }

    /// Whether the disk has no room for a trace beside lanes of so many bytes, but would have
    /// without them. Who cannot say is believed to have room.
    fn is_short_of(&self, bytes: u64) -> bool {
        let beside = self.out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let space = |path| (self.storage.space)(path);
        let (Some(there), Some(here)) = (space(self.folder), space(beside)) else { return false };
        // Two volumes of the same size are rare, and then the trace cannot get its name, no more.
        there.total == here.total && here.free < bytes.saturating_add(reserve(here))
    }
}

/// One pass over all lanes.
struct Pass<'a> {
    w: RecordWriter<&'a File>,
    identities: Identities<'a>,
    streams: Vec<Stream>,
    /// Where lanes go while it is written.
    aside: Option<&'a mut Unfinished>,
    /// Whether it begins the file.
    is_first: bool,
    events: u64,
}

impl<'a> Pass<'a> {
    fn begin(
        inputs: &Inputs,
        file: &'a File,
        from: i64,
        mut aside: Option<&'a mut Unfinished>,
        images: &'a mut dyn Images,
    ) -> Result<Self, WriteError> {
        let from = aside.as_ref().map_or(from, |aside| aside.from);
        let left = aside.as_mut().and_then(|aside| aside.take_left());
        let identities = Identities::new(images);
        Ok(match left {
            Some(Left { paused, marks, events }) => {
                let writer = Writer::resume(file, inputs.header.clone(), paused)?;
                let streams = streams_of(&inputs.files, from, &marks);
                Self { w: RecordWriter::new(writer), identities, streams, aside, is_first: false, events }
            }
            None => {
                let writer = Writer::new(file, inputs.header.clone())?;
                let streams = streams_of(&inputs.files, from, &[]);
                Self { w: RecordWriter::new(writer), identities, streams, aside, is_first: true, events: 0 }
            }
        })
    }

    /// Writes the events of all lanes, and completes the file.
    fn run(
        mut self,
        inputs: &mut Inputs,
        reading: &mut RawReading,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Summary, Stop> {
        let total = inputs.bytes();
        let mut order = BinaryHeap::new();
        for (index, stream) in self.streams.iter_mut().enumerate() {
            stream.refill(&inputs.files, reading);
            inputs.count_done(stream.take_done());
            order.extend(stream.time().map(|time| Reverse((time, index))));
        }
        if self.is_first {
            let start = order.peek().map_or(i64::MAX, |Reverse((time, _))| *time).min(inputs.header.start_ticks);
            self.events += self.identities.write_volumes(&mut self.w, start)?;
        }
        while let Some(Reverse((_, index))) = order.pop() {
            let second = order.peek().map_or((i64::MAX, usize::MAX), |Reverse(second)| *second);
            self.write_until(index, second)?;
            let stream = &mut self.streams[index];
            if stream.time().is_none() {
                stream.refill(&inputs.files, reading);
                inputs.count_done(stream.take_done());
                order.extend(stream.time().map(|time| Reverse((time, index))));
                self.make_room(inputs, total, &reading.problems)?;
                if !progress(reading.bytes.min(total), total) {
                    return Err(Stop::Asked);
                }
            } else {
                order.extend(stream.time().map(|time| Reverse((time, index))));
            }
        }
        self.w.finish()?;
        let (images, images_identified) = self.identities.counts();
        let SessionHeader { events_lost, buffers_lost, .. } = inputs.header;
        let (lost_events, lost_buffers) = (events_lost.into(), buffers_lost.into());
        Ok(Summary { events: self.events, lost_events, lost_buffers, images, images_identified, ..Summary::default() })
    }

    /// Writes what a stream has at hand before what another has next.
    fn write_until(&mut self, index: usize, second: (i64, usize)) -> Result<(), WriteError> {
        let stream = &mut self.streams[index];
        while stream.time().is_some_and(|time| (time, index) < second) {
            let processor = stream.processor;
            let Some((time, is_image, item)) = stream.next() else { break };
            self.events += 1;
            match item {
                RawItem::Event(bytes) => {
                    if is_image {
                        self.events += self.identities.write_before(&mut self.w, processor, bytes)?;
                    }
                    self.w.writer().write_bytes(processor, time, bytes)?;
                }
                RawItem::Lost(what) => {
                    let record = Record { time, pid: Pid::NONE, tid: Tid::NONE, event: Event::Lost(what.into()) };
                    self.w.put(processor, &record, &[])?;
                }
            }
        }
        Ok(())
    }

    /// Lets parts of lanes go that are wholly written, where there is no room for them: a few at
    /// a time, for others must be able to go on from there.
    fn make_room(&mut self, inputs: &mut Inputs, total: u64, problems: &Problems) -> Result<(), WriteError> {
        // Much less than the reserve.
        const MOST: u64 = 256 << 20;
        const SHARES: u64 = 64;
        let Some(aside) = &mut self.aside else { return Ok(()) };
        // What the system could not read now it may read another time.
        if inputs.bytes_done <= MOST.min(total / SHARES) || problems.has(ProblemKind::ReadFailed) {
            return Ok(());
        }
        let paused = self.w.writer().pause()?;
        let marks = self.streams.iter().map(|stream| stream.mark(&inputs.files)).collect();
        aside.save(&Left { paused, marks, events: self.events })?;
        inputs.remove_done();
        Ok(())
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
