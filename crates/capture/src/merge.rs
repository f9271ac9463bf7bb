//! Merges lanes into one ordinary `.etl`, as CreateMergedTraceFile merges the files of several sessions: every event
//! with all its bytes, the events of each CPU in the order of time, plus the data that other machines need: image
//! identities, volumes, and at the end descriptions of events by the manifests that are installed here.
//!
//! Events with equal times keep the order of their lane, so stacks stay behind their events; of several lanes, context
//! comes first. Within a lane, events may be late by up to a buffer. Losses recorded in buffers become events of their
//! own.
//!
//! The file has a temporary name until it is complete, and only then are the lanes removed: a merge that fails or is
//! stopped leaves the recording as it was. If the disk has no room for both, parts of lanes are removed as soon as they
//! are merged ([`super::unfinished`]).
//!
//! Memory: two buffers and the late events for each lane and CPU, and one buffer for each CPU. Cost: one pass; each
//! event is copied twice.

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
use crate::events::{Event, ManifestEvents, RawItem, RawReading, Record};
use crate::paths::{self, Draft, Existing, Reading, Refusal};
use crate::problem::{Problem, ProblemKind, Problems};
use crate::units::{Pid, Tid};

/// The result of a merge.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Events in the file, including added ones.
    pub events: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Lost events.
    pub lost_events: u64,
    /// Lost buffers.
    pub lost_buffers: u64,
    /// Number of image files.
    pub images: u64,
    /// Number of image files whose build is known.
    pub images_identified: u64,
    /// Number of kinds of events that installed manifests describe.
    pub descriptions: u64,
    /// Why descriptions are missing, if something failed. The trace is complete without them.
    pub names_missing: Option<String>,
    /// Problems in the lanes.
    pub problems: Vec<Problem>,
}

/// Merges the lanes of a recording that was never completed, and removes them if all went well; or continues a merge
/// that was interrupted. `progress` gets the bytes done and the total, and returns whether to go on.
pub fn recover(
    folder: &Path,
    out: &Path,
    images: &mut dyn Images,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Summary, CaptureError> {
    recover_on(folder, out, &Storage::default(), images, progress)
}

/// Recovers like [`recover`], with these storage settings.
pub fn recover_on(
    folder: &Path,
    out: &Path,
    storage: &Storage,
    images: &mut dyn Images,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Summary, CaptureError> {
    merge(&Job { folder, out, from: i64::MIN, keep: false, storage }, images, progress)
}

/// Merges like [`recover`], but keeps the lanes, which may still be in use.
pub fn save(
    folder: &Path,
    out: &Path,
    images: &mut dyn Images,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Summary, CaptureError> {
    merge(&Job { folder, out, from: i64::MIN, keep: true, storage: &Storage::default() }, images, progress)
}

/// The parameters of a merge.
pub(super) struct Job<'a> {
    pub(super) folder: &'a Path,
    pub(super) out: &'a Path,
    /// Earlier events are left out in lanes that wrap.
    pub(super) from: i64,
    /// Whether to keep the lanes.
    pub(super) keep: bool,
    pub(super) storage: &'a Storage,
}

/// Merges lanes into one trace.
pub(super) fn merge(
    job: &Job<'_>,
    images: &mut dyn Images,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Summary, CaptureError> {
    let read = Reading::of([job.folder.to_owned()]);
    read.look();
    // Fails now if the file cannot be written, and not after lanes were removed.
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
    // After a read error the lanes stay: reading may succeed another time.
    if (is_aside || !job.keep) && !reading.problems.has(ProblemKind::ReadFailed) {
        inputs.remove();
        unfinished::clear(job.folder);
        let _ = std::fs::remove_dir(job.folder);
    }
    Ok(summary)
}

impl Job<'_> {
    /// The error if the trace could not get its final name. The lanes are still there.
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

    /// Whether the disk has no room for a trace beside lanes of this size, but would have without them. If the free
    /// space is unknown, there is enough.
    fn is_short_of(&self, bytes: u64) -> bool {
        let beside = self.out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let space = |path| (self.storage.space)(path);
        let (Some(there), Some(here)) = (space(self.folder), space(beside)) else { return false };
        // Volumes are compared by their total size. Two of equal size are rare, and then the trace only fails to get its name.
        there.total == here.total && here.free < bytes.saturating_add(reserve(here))
    }
}

/// One pass over all lanes.
struct Pass<'a> {
    w: RecordWriter<&'a File>,
    identities: Identities<'a>,
    streams: Vec<Stream>,
    /// The unfinished trace, if parts of lanes are removed during the merge.
    aside: Option<&'a mut Unfinished>,
    /// Whether this pass starts the file.
    is_first: bool,
    events: u64,
    /// Kinds of events that this pass wrote. (After an interruption, those of the part that was written before are
    /// missing.)
    kinds: ManifestEvents,
    /// Time of the last event that was written.
    last_time: i64,
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
                let (kinds, last_time) = (ManifestEvents::default(), paused.last_time);
                let writer = Writer::resume(file, inputs.header.clone(), paused)?;
                let streams = streams_of(&inputs.files, from, &marks);
                Self { w: RecordWriter::new(writer), identities, streams, aside, is_first: false, events, kinds, last_time }
            }
            None => {
                let writer = Writer::new(file, inputs.header.clone())?;
                let streams = streams_of(&inputs.files, from, &[]);
                let (kinds, last_time) = (ManifestEvents::default(), inputs.header.start_ticks);
                let w = RecordWriter::new(writer);
                Self { w, identities, streams, aside, is_first: true, events: 0, kinds, last_time }
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
        let (descriptions, names_missing) =
            self.identities.write_descriptions(&mut self.w, self.last_time, &self.kinds.undescribed())?;
        self.events += descriptions;
        if let Some(reason) = &names_missing {
            log::warn!("names of installed manifests are missing: {reason}");
        }
        self.w.finish()?;
        let (images, images_identified) = self.identities.counts();
        let SessionHeader { events_lost, buffers_lost, .. } = inputs.header;
        let (lost_events, lost_buffers) = (events_lost.into(), buffers_lost.into());
        Ok(Summary {
            events: self.events,
            lost_events,
            lost_buffers,
            images,
            images_identified,
            descriptions,
            names_missing,
            ..Summary::default()
        })
    }

    /// Writes the loaded events of a stream that come before the next event of the others.
    fn write_until(&mut self, index: usize, second: (i64, usize)) -> Result<(), WriteError> {
        let stream = &mut self.streams[index];
        while stream.time().is_some_and(|time| (time, index) < second) {
            let processor = stream.processor;
            let Some((time, is_image, item)) = stream.next() else { break };
            self.events += 1;
            self.last_time = self.last_time.max(time);
            match item {
                RawItem::Event(bytes) => {
                    self.kinds.note(bytes);
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

    /// Removes the parts of lanes that are completely merged, if the disk has no room for them. Removes little at a
    /// time, since each time the state must be saved from which a later merge can continue.
    fn make_room(&mut self, inputs: &mut Inputs, total: u64, problems: &Problems) -> Result<(), WriteError> {
        // Removes after this many bytes: much less than the reserve.
        const MOST: u64 = 256 << 20;
        const SHARES: u64 = 64;
        let Some(aside) = &mut self.aside else { return Ok(()) };
        // After a read error the lanes stay: reading may succeed another time.
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
