//! The events of one lane and CPU in the order of time, with all their bytes ([`RawQueue`]).
//!
//! A consumer gets events nearly in order. Events that are late by up to a buffer are sorted in; later ones stay where
//! they stand in the file.
//!
//! A stream knows which buffers are completely consumed, and which events of the others are not ([`Mark`]). From a
//! mark, another stream can continue where this one was.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::files::wraps;
use super::inputs::Input;
use crate::events::{RawItem, RawMet, RawQueue, RawReading, RawRun, is_image};

/// Maximum size of a stream's waiting events in bytes.
const MOST_WAITING: usize = 64 << 20;

/// The events of one lane and CPU.
#[derive(Debug)]
pub(super) struct Stream {
    /// Index of the lane.
    lane: usize,
    pub(super) processor: u16,
    /// Its buffers in the order of time.
    buffers: Vec<Buffer>,
    /// Number of buffers that were read.
    read: usize,
    /// Earlier events are skipped.
    from: i64,
    queue: RawQueue<Note>,
    /// Time of the last event that was read.
    last_time: i64,
    /// File of each buffer that was completely consumed since the last call of [`Stream::take_done`].
    done: Vec<usize>,
}

/// A buffer of a stream.
#[derive(Debug)]
struct Buffer {
    /// Index of its file among all files.
    file: usize,
    /// Its index in the file.
    index: usize,
    /// Time of the last event before it, if known.
    before: Option<i64>,
    /// Number of its events that are not consumed yet, once it is read.
    left: u32,
    /// The numbers of the wanted events, if not all are wanted.
    only: Option<Vec<Range<u32>>>,
}

/// The position of a stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Mark {
    lane: usize,
    processor: u16,
    /// Part number and buffer index of the next buffer to read; `None` if all were read.
    next: Option<(u32, usize)>,
    /// Time of the last event that was read.
    last_time: i64,
    /// Events that were read but not consumed.
    pending: Vec<Pending>,
}

/// Events of a buffer that are not consumed yet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Pending {
    file: u32,
    buffer: usize,
    /// Time of the last event before the buffer.
    before: i64,
    /// Event numbers in the buffer, ascending.
    events: Vec<Range<u32>>,
}

/// Facts about an event that was read.
#[derive(Clone, Copy, Debug)]
struct Note {
    /// Index of its buffer in the stream.
    buffer: u32,
    /// Its number in the buffer.
    event: u32,
    is_image: bool,
}

/// One stream for each lane and CPU, lanes in their order. In lanes that wrap, events before `from` are skipped; a
/// stream with a mark continues from there.
pub(super) fn streams_of(files: &[Input], from: i64, marks: &[Mark]) -> Vec<Stream> {
    let mut buffers: Vec<(usize, u16, usize, usize)> = Vec::new();
    for (at, input) in files.iter().enumerate() {
        buffers.extend(input.file.buffers.iter().enumerate().map(|(index, info)| (input.lane, info.processor, at, index)));
    }
    // Files of a lane are sorted by part number.
    buffers.sort_by_key(|&(lane, processor, file, index)| (lane, processor, file, files[file].file.buffers[index].order()));
    let of_one = buffers.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
    of_one
        .map(|buffers| {
            let (lane, processor, file, _) = buffers[0];
            let last_time = files[file].file.header.start_ticks;
            let buffer = |&(_, _, file, index): &_| Buffer { file, index, before: None, left: 0, only: None };
            let mut stream = Stream {
                lane,
                processor,
                buffers: buffers.iter().map(buffer).collect(),
                read: 0,
                from: if wraps(lane) { from } else { i64::MIN },
                queue: RawQueue::new(MOST_WAITING),
                last_time,
                done: Vec::new(),
            };
            if let Some(mark) = marks.iter().find(|mark| (mark.lane, mark.processor) == (lane, processor)) {
                stream.go_to(mark, files);
            }
            stream
        })
        .collect()
}

impl Stream {
    /// Continues where another stream was.
    fn go_to(&mut self, mark: &Mark, files: &[Input]) {
        let name = |buffer: &Buffer| (files[buffer.file].number, buffer.index);
        let is_next = |buffer: &Buffer| Some(name(buffer)) == mark.next;
        // A missing file was completely consumed, or the user removed it.
        let later = |buffer: &Buffer| mark.next.is_some_and(|(number, _)| name(buffer).0 > number);
        let next = self.buffers.iter().position(|buffer| is_next(buffer) || later(buffer)).unwrap_or(self.buffers.len());
        let mut rest = self.buffers.split_off(next);
        if let Some(next) = rest.first_mut() {
            next.before = Some(mark.last_time);
        }
        for mut buffer in std::mem::take(&mut self.buffers) {
            match mark.pending.iter().find(|pending| (pending.file, pending.buffer) == name(&buffer)) {
                Some(pending) => {
                    (buffer.before, buffer.only) = (Some(pending.before), Some(pending.events.clone()));
                    self.buffers.push(buffer);
                }
                None => self.done.push(buffer.file),
            }
        }
        self.buffers.append(&mut rest);
        self.last_time = mark.last_time;
    }

    /// Its position.
    pub(super) fn mark(&self, files: &[Input]) -> Mark {
        let mut left: Vec<(u32, u32)> = self.queue.notes().map(|note| (note.buffer, note.event)).collect();
        left.sort_unstable();
        let pending = |at: usize, events: Vec<Range<u32>>| {
            let Buffer { file, index, before, .. } = self.buffers[at];
            Pending { file: files[file].number, buffer: index, before: before.unwrap_or(self.last_time), events }
        };
        let read = left.chunk_by(|a, b| a.0 == b.0).map(|of_one| pending(of_one[0].0 as usize, ranges(of_one)));
        let unread = || self.buffers.iter().enumerate().skip(self.read);
        let partial = unread().filter_map(|(at, buffer)| Some(pending(at, buffer.only.clone()?)));
        let next = unread().find(|(_, buffer)| buffer.only.is_none()).map(|(_, next)| next);
        Mark {
            lane: self.lane,
            processor: self.processor,
            next: next.map(|next| (files[next.file].number, next.index)),
            last_time: next.and_then(|next| next.before).unwrap_or(self.last_time),
            pending: read.chain(partial).collect(),
        }
    }

    /// Takes the file index of each buffer that was completely consumed since the last call.
    pub(super) fn take_done(&mut self) -> std::vec::Drain<'_, usize> {
        self.done.drain(..)
    }

    /// Time of the next loaded event.
    pub(super) fn time(&mut self) -> Option<i64> {
        self.queue.time()
    }

    /// Takes the next loaded event: its time, whether it is an image event, and the event.
    pub(super) fn next(&mut self) -> Option<(i64, bool, RawItem<'_>)> {
        let (time, note, item) = self.queue.take()?;
        let buffer = &mut self.buffers[note.buffer as usize];
        buffer.left -= 1;
        if buffer.left == 0 {
            self.done.push(buffer.file);
        }
        Some((time, note.is_image, item))
    }

    /// Loads more events, if there are any.
    pub(super) fn refill(&mut self, files: &[Input], reading: &mut RawReading) {
        let mut queue = std::mem::replace(&mut self.queue, RawQueue::new(MOST_WAITING));
        queue.refill(|| self.load(files, reading));
        self.queue = queue;
    }

    /// Reads the next buffer that has wanted events.
    fn load(&mut self, files: &[Input], reading: &mut RawReading) -> Option<RawRun<Note>> {
        while self.read < self.buffers.len() {
            let run = self.read(files, reading);
            let buffer = &mut self.buffers[self.read];
            self.read += 1;
            buffer.left = run.len() as u32;
            if buffer.left > 0 {
                return Some(run);
            }
            self.done.push(buffer.file);
        }
        None
    }

    fn read(&mut self, files: &[Input], reading: &mut RawReading) -> RawRun<Note> {
        let buffer = &mut self.buffers[self.read];
        let file = &files[buffer.file].file;
        self.last_time = *buffer.before.get_or_insert(self.last_time);
        let (from, number) = (self.from, self.read as u32);
        let only = buffer.only.as_deref();
        let is_in =
            |only: &[Range<u32>], event| only.get(only.partition_point(|it| it.end <= event)).is_some_and(|it| it.start <= event);
        RawRun::read(file, &file.buffers[buffer.index], reading, &mut self.last_time, |RawMet { number: event, time, id }| {
            let is_wanted = time >= from && only.is_none_or(|only| is_in(only, event));
            is_wanted.then_some(Note { buffer: number, event, is_image: id.is_some_and(is_image) })
        })
    }
}

/// Combines consecutive event numbers of one buffer, which are ascending, into ranges.
fn ranges(events: &[(u32, u32)]) -> Vec<Range<u32>> {
    let stretches = events.chunk_by(|a, b| a.1 + 1 == b.1);
    stretches.map(|stretch| stretch[0].1..stretch[stretch.len() - 1].1 + 1).collect()
}
