//! The files of one lane: the growing part and the parts before it.
//!
//! A file consists of whole buffers at any time, each only as long as its content, so a reader of a growing file finds
//! the end of a buffer at its end. If a buffer cannot be written, it is lost and counted; the lane continues, and
//! writes again as soon as there is room.
//!
//! Cost: an uncontended lock and one copy for each event, one system call for each full buffer.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::files::part_number;
use super::ring::{Closed, Keeper, Slice};
use super::status::{Numbers, add};
use super::{CaptureError, Folder, Lane};
use crate::etl::SessionHeader;
use crate::etl::write::{Loss, NewEvent, WriteError, Writer};
use crate::events::encode::{Payload, lost_event};
use crate::events::{Lost, LostWhat};

/// Events reach the file after this time at the latest.
const FLUSH: Duration = Duration::from_secs(1);

/// A lane, shared by its writers.
#[derive(Debug)]
pub(super) struct Shared {
    /// `None` once the recording has ended.
    files: Mutex<Option<Files>>,
    pub(super) numbers: Numbers,
}

/// The location of a lane's files and the header that they get.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) folder: Folder,
    pub(super) lane: Lane,
    /// Base name of its files, without number and extension.
    pub(super) name: &'static str,
    pub(super) header: SessionHeader,
    /// Decides where a part ends and how long it is kept; without one, the lane is a single file.
    pub(super) keeper: Option<Arc<Keeper>>,
}

impl Plan {
    fn path(&self, number: u32) -> PathBuf {
        let name = match self.keeper {
            Some(_) => format!("{}-{}.etl", self.name, part_number(number)),
            None => format!("{}.etl", self.name),
        };
        self.folder.path().join(name)
    }

    fn create(&self, number: u32) -> Result<Segment, CaptureError> {
        let path = self.path(number);
        let file = self.folder.create(&path).map_err(CaptureError::file(&path))?;
        let writer = Writer::storing(WholeWrites { file, at: 0, len: 0 }, self.header.clone());
        let writer = writer.map_err(CaptureError::write(&path))?;
        Ok(Segment { path, writer, last_time: i64::MIN })
    }
}

#[derive(Debug)]
struct Files {
    plan: Plan,
    number: u32,
    segment: Segment,
    slice: Slice,
    /// Whether there are events to flush.
    is_dirty: bool,
    /// Whether there are new losses to write into the header.
    has_lost: bool,
    last_flush: Instant,
}

#[derive(Debug)]
struct Segment {
    path: PathBuf,
    writer: Writer<WholeWrites>,
    last_time: i64,
}

impl Shared {
    pub(super) fn create(plan: Plan) -> Result<Arc<Self>, CaptureError> {
        let number = 1;
        let segment = plan.create(number)?;
        let numbers = Numbers::default();
        numbers.on_disk.store(segment.writer.get_ref().len, Relaxed);
        let slice = Slice::default();
        let files = Files { plan, number, segment, slice, is_dirty: false, has_lost: false, last_flush: Instant::now() };
        Ok(Arc::new(Self { files: Mutex::new(Some(files)), numbers }))
    }

    /// A poisoned lock is usable: if a panic left a file half-written, readers take it as far as it goes.
    fn lock(&self) -> MutexGuard<'_, Option<Files>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an event. An error is reported once, and again only after writing has worked in between.
    pub(super) fn take(&self, event: &NewEvent<'_>) -> Result<(), CaptureError> {
        let mut files = self.lock();
        let files = files.as_mut().ok_or(CaptureError::Ended)?;
        add(&self.numbers.events, 1);
        add(&self.numbers.bytes, event.size() as u64);
        if event.time > self.numbers.last_time.load(Relaxed) {
            self.numbers.last_time.store(event.time, Relaxed);
        }
        let turned = if files.is_full(event.time) { self.turn(files, event.time) } else { Ok(()) };
        let written = self.put(files, event);
        self.tell(files, turned.and(written))
    }

    /// Notes events or buffers that the session lost after `since`.
    pub(super) fn lost(&self, since: i64, loss: Loss) -> Result<(), CaptureError> {
        let mut files = self.lock();
        let files = files.as_mut().ok_or(CaptureError::Ended)?;
        let (number, what, n) = match loss {
            Loss::Events(n) => (&self.numbers.lost_events, LostWhat::Events, n),
            Loss::Buffers(n) => (&self.numbers.lost_buffers, LostWhat::Buffers, n),
        };
        add(number, n.into());
        files.segment.writer.count_loss(loss);
        files.has_lost = true;
        // The loss event gets the newest time of the lane, so that it is in order.
        let time = self.numbers.last_time.load(Relaxed).max(since);
        let mut payload = Payload::default();
        let event = lost_event(&mut payload, 0, time, Lost { what, details: Some((since, n)) });
        let written = self.put(files, &event);
        self.tell(files, written)
    }

    /// Flushes events that have waited for a second.
    pub(super) fn flush_if_due(&self, now: Instant) -> Result<(), CaptureError> {
        let mut files = self.lock();
        match files.as_mut() {
            Some(files) if files.is_dirty && now.saturating_duration_since(files.last_flush) >= FLUSH => {
                files.last_flush = now;
                let written = self.flush(files);
                self.tell(files, written)
            }
            _ => Ok(()),
        }
    }

    /// Completes the file. No more events are accepted.
    pub(super) fn end(&self) -> Result<(), CaptureError> {
        let Some(mut files) = self.lock().take() else { return Ok(()) };
        self.complete(&mut files).map_err(CaptureError::write(&files.segment.path))
    }

    /// Starts the next part.
    fn turn(&self, files: &mut Files, time: i64) -> Result<(), WriteError> {
        // If the next part cannot be created, this one grows for another slice.
        files.slice = Slice::default();
        let next = files.plan.create(files.number + 1).map_err(io::Error::other)?;
        let completed = self.complete(files);
        files.number += 1;
        let Segment { path, writer, last_time } = std::mem::replace(&mut files.segment, next);
        if let Some(keeper) = &files.plan.keeper {
            keeper.close(Closed { lane: files.plan.lane, path, bytes: writer.get_ref().len, last_time }, time);
        }
        completed
    }

    /// Writes the pending events and the final header of a file.
    fn complete(&self, files: &mut Files) -> Result<(), WriteError> {
        let flushed = self.flush(files);
        // The header replaces the old one, so it can be written even if the disk is full.
        flushed.and(files.segment.writer.complete_header())
    }

    /// Appends an event. If the disk has no room, drops the buffer; if the event itself cannot be written, drops the event.
    fn put(&self, files: &mut Files, event: &NewEvent<'_>) -> Result<(), WriteError> {
        let segment = &mut files.segment;
        files.is_dirty = true;
        segment.last_time = segment.last_time.max(event.time);
        let mut written = segment.writer.write(event);
        if let Err(WriteError::Io(_)) = written {
            self.drop_buffer(files, event.processor)?;
            // The buffer is empty now.
            files.segment.writer.write(event)?;
        } else if written.is_err() {
            segment.writer.count_loss(Loss::Events(1));
            add(&self.numbers.lost_events, 1);
            files.has_lost = true;
            written = Ok(());
        }
        written
    }

    fn flush(&self, files: &mut Files) -> Result<(), WriteError> {
        let mut result = Ok(());
        for processor in 0..files.plan.header.processors as u16 {
            if let Err(error) = files.segment.writer.flush_processor(processor) {
                self.drop_buffer(files, processor)?;
                result = Err(error);
            }
        }
        files.is_dirty = false;
        if std::mem::take(&mut files.has_lost) {
            files.segment.writer.update_header()?;
        }
        result
    }

    fn drop_buffer(&self, files: &mut Files, processor: u16) -> Result<(), WriteError> {
        if files.segment.writer.drop_buffer(processor)? {
            add(&self.numbers.lost_buffers, 1);
            files.has_lost = true;
        }
        Ok(())
    }

    /// Reports a new failure, and nothing if the failure is known already.
    fn tell(&self, files: &Files, result: Result<(), WriteError>) -> Result<(), CaptureError> {
        let file = files.segment.writer.get_ref();
        let grew = self.numbers.on_disk.swap(file.len, Relaxed) != file.len;
        match result {
            // Only a buffer that reached the file proves that there is room again.
            Ok(()) if grew => {
                self.numbers.set_failure(None);
                Ok(())
            }
            Ok(()) => Ok(()),
            Err(error) => {
                let error = CaptureError::write(&files.segment.path)(error);
                if self.numbers.set_failure(Some(error.to_string())) { Err(error) } else { Ok(()) }
            }
        }
    }
}

/// Completes the file if the recording was not ended, so that no received event is lost.
impl Drop for Shared {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl Files {
    /// Whether an event at `time` starts the next part.
    fn is_full(&mut self, time: i64) -> bool {
        let len = self.segment.writer.get_ref().len;
        self.plan.keeper.as_ref().is_some_and(|keeper| keeper.is_full(&mut self.slice, time, len))
    }
}

/// A file without partial writes: a write that fails is undone.
#[derive(Debug)]
pub(super) struct WholeWrites {
    file: File,
    at: u64,
    len: u64,
}

impl Write for WholeWrites {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = self.file.write_all(bytes) {
            // If undoing fails too, the file ends with half a buffer.
            let _ = self.file.set_len(self.len);
            let _ = self.file.seek(SeekFrom::Start(self.at));
            return Err(error);
        }
        self.at += bytes.len() as u64;
        self.len = self.len.max(self.at);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for WholeWrites {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::etl::{EventId, HeaderKind, TraceFile};
    use crate::units::{Pid, PointerSize, Tid};

    fn event(processor: u16, time: i64) -> NewEvent<'static> {
        let (id, pid, tid) = (EventId::Hook(0x1021), Pid(1), Tid(2));
        let (kind, pointer, payload) = (HeaderKind::System, PointerSize::Eight, &[1; 28]);
        NewEvent {
            processor,
            time,
            kind,
            pointer,
            pid,
            tid,
            id,
            version: 2,
            descriptor: Default::default(),
            extended: &[],
            payload,
        }
    }

    fn lane(folder: &Path) -> Arc<Shared> {
        let header = SessionHeader { processors: 2, ..SessionHeader::default() };
        let folder = Folder::make(folder).unwrap();
        Shared::create(Plan { folder, lane: Lane::Heap, name: "heap", header, keeper: None }).unwrap()
    }

    /// Replaces the file that is written; returns the old one.
    fn swap(lane: &Shared, file: File) -> File {
        std::mem::replace(&mut lane.lock().as_mut().unwrap().segment.writer.get_mut().file, file)
    }

    #[test]
    fn what_cannot_be_written_is_lost_and_told_once_and_the_lane_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let lane = lane(folder.path());
        let path = folder.path().join("heap.etl");
        let later = |n: u64| Instant::now() + Duration::from_secs(3600 * n);
        lane.take(&event(0, 1)).unwrap();
        lane.flush_if_due(later(1)).unwrap();

        // Writes fail, because this file is open for reading only.
        let real = swap(&lane, File::open(&path).unwrap());
        lane.take(&event(0, 2)).unwrap();
        lane.take(&event(1, 3)).unwrap();
        let error = lane.flush_if_due(later(2)).unwrap_err();
        assert!(error.to_string().contains("heap.etl"), "{error}");
        lane.take(&event(0, 4)).unwrap();
        lane.flush_if_due(later(3)).unwrap();
        let status = lane.numbers.status(Lane::Heap);
        assert_eq!((status.events, status.lost_buffers), (4, 3));
        assert!(status.failure.is_some());

        swap(&lane, real);
        lane.take(&event(0, 5)).unwrap();
        lane.flush_if_due(later(4)).unwrap();
        assert_eq!(lane.numbers.status(Lane::Heap).failure, None, "there is room again");
        lane.end().unwrap();
        assert!(matches!(lane.take(&event(0, 6)), Err(CaptureError::Ended)));

        let file = TraceFile::open(&path).unwrap();
        assert_eq!(file.problems.list(), []);
        assert_eq!((file.header.buffers_lost, file.buffers.len()), (3, 3));
    }
}
