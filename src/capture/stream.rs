//! The events of one lane and processor, in the order of time, with all their bytes.
//!
//! A consumer gets events nearly in order; what is late by up to a buffer is put where
//! it belongs. Of events that are later still, the place is where they stand.
//!
//! A stream knows of which buffers all is taken, and of the others which events are not
//! ([`Mark`]): by that another one goes on where it was.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::files::wraps;
use super::inputs::Input;
use crate::etl::{BufferKind, EventId, ReadBuffer, flag};
use crate::events::{LostWhat, is_image};
use crate::problem::{ProblemKind, Problems};

/// So many events of a stream may wait for their time to come.
const MAX_CARRIED: usize = 1 << 16;

/// What reading needs, and what came of it.
#[derive(Debug, Default)]
pub(super) struct Reading {
    scratch: ReadBuffer,
    /// What was wrong.
    pub(super) problems: Problems,
    /// Bytes that were read.
    pub(super) bytes: u64,
}

impl Reading {
    /// With problems that are known already.
    pub(super) fn new(problems: Problems) -> Self {
        Self { problems, ..Self::default() }
    }
}

/// Events of one lane and processor.
#[derive(Debug)]
pub(super) struct Stream {
    /// Place of the lane.
    lane: usize,
    pub(super) processor: u16,
    /// Its buffers in the order of time, ...
    buffers: Vec<Buffer>,
    /// ... and how many of them were read.
    read: usize,
    /// What is before is not wanted.
    from: i64,
    current: Run,
    at: usize,
    ahead: Option<Run>,
    /// Events that were read and are later than the first of `ahead`.
    carried: Option<Run>,
    /// Time of the last event that was read.
    last_time: i64,
    /// Files of buffers of which all was taken since that was asked.
    done: Vec<usize>,
}

/// A buffer of a stream.
#[derive(Debug)]
struct Buffer {
    /// Place of its file among all, ...
    file: usize,
    /// ... and its own in the file.
    index: usize,
    /// Time of the last event before it, where that is known.
    before: Option<i64>,
    /// What of it is not taken yet, once it is read.
    left: u32,
    /// What of it is wanted, if not all.
    only: Option<Vec<Range<u32>>>,
}

/// How far a stream has come.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Mark {
    lane: usize,
    processor: u16,
    /// File and buffer before which all buffers were read; none if all were.
    next: Option<(u32, usize)>,
    /// Time of the last event that was read.
    last_time: i64,
    /// What was read and not taken.
    pending: Vec<Pending>,
}

/// Events of a buffer that are not taken yet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Pending {
    file: u32,
    buffer: usize,
    /// Time of the last event before the buffer.
    before: i64,
    /// Places in the buffer, in their order.
    events: Vec<Range<u32>>,
}

/// Events by time and their bytes.
#[derive(Debug, Default)]
struct Run {
    places: Vec<Place>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    time: i64,
    what: What,
    /// Where it stands: which of the stream's buffers, ...
    buffer: u32,
    /// ... and which event of that.
    event: u32,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Event { at: u32, len: u16, is_image: bool },
    Lost(LostWhat),
}

/// What a stream has next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next<'a> {
    /// An event, and whether it tells of an image.
    Event(&'a [u8], bool),
    /// Something is missing from here on.
    Lost(LostWhat),
}

/// One stream for each lane and processor, lanes in their order. Of lanes that wrap
/// only what is not before `from`; of streams with a mark what was not taken then.
pub(super) fn streams_of(files: &[Input], from: i64, marks: &[Mark]) -> Vec<Stream> {
    let mut buffers: Vec<(usize, u16, usize, usize)> = Vec::new();
    for (at, input) in files.iter().enumerate() {
        buffers.extend(input.file.buffers.iter().enumerate().map(|(index, info)| (input.lane, info.processor, at, index)));
    }
    // Files of a lane stand in their order.
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
                current: Run::default(),
                at: 0,
                ahead: None,
                carried: None,
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
    /// Goes on where another stream was.
    fn go_to(&mut self, mark: &Mark, files: &[Input]) {
        let name = |buffer: &Buffer| (files[buffer.file].number, buffer.index);
        let is_next = |buffer: &Buffer| Some(name(buffer)) == mark.next;
        // A file that is gone was all taken, or somebody has removed it.
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

    /// How far it has come.
    pub(super) fn mark(&self, files: &[Input]) -> Mark {
        let mut left: Vec<(u32, u32)> = Vec::new();
        let here = self.current.places.get(self.at..).unwrap_or_default().iter();
        let later = self.ahead.iter().chain(&self.carried).flat_map(|run| &run.places);
        left.extend(here.chain(later).map(|place| (place.buffer, place.event)));
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

    /// Tells of each buffer of which all was taken since the last time, in which file it is.
    pub(super) fn take_done(&mut self) -> std::vec::Drain<'_, usize> {
        self.done.drain(..)
    }

    /// Time of the next event that is at hand.
    pub(super) fn time(&self) -> Option<i64> {
        self.current.places.get(self.at).map(|place| place.time)
    }

    /// The next event that is at hand, and its time; the one behind it is next.
    pub(super) fn next(&mut self) -> Option<(i64, Next<'_>)> {
        let place = *self.current.places.get(self.at)?;
        self.at += 1;
        let buffer = &mut self.buffers[place.buffer as usize];
        buffer.left -= 1;
        if buffer.left == 0 {
            self.done.push(buffer.file);
        }
        let next = match place.what {
            What::Event { at, len, is_image } => Next::Event(&self.current.bytes[at as usize..][..usize::from(len)], is_image),
            What::Lost(what) => Next::Lost(what),
        };
        Some((place.time, next))
    }

    /// Gets more at hand, if there is more.
    pub(super) fn refill(&mut self, files: &[Input], reading: &mut Reading) {
        self.at = 0;
        self.current = self.ahead.take().or_else(|| self.load(files, reading)).unwrap_or_default();
        if let Some(carried) = self.carried.take() {
            self.current.absorb_earlier(&carried);
        }
        loop {
            self.ahead = self.load(files, reading);
            let Some(next) = self.ahead.as_ref().and_then(|ahead| ahead.places.first()) else { return };
            self.carried = self.current.split_behind(next.time);
            if !self.current.places.is_empty() {
                return;
            }
            // All of it is later than what the next buffer begins with.
            self.current = self.ahead.take().unwrap_or_default();
            if let Some(carried) = self.carried.take() {
                self.current.absorb_earlier(&carried);
            }
        }
    }

    /// The next buffer that has anything.
    fn load(&mut self, files: &[Input], reading: &mut Reading) -> Option<Run> {
        while self.read < self.buffers.len() {
            let run = self.read(files, reading);
            self.read += 1;
            let buffer = &mut self.buffers[self.read - 1];
            buffer.left = run.places.len() as u32;
            if buffer.left > 0 {
                return Some(run);
            }
            self.done.push(buffer.file);
        }
        None
    }

    fn read(&mut self, files: &[Input], reading: &mut Reading) -> Run {
        let buffer = &mut self.buffers[self.read];
        let file = &files[buffer.file].file;
        let info = &file.buffers[buffer.index];
        reading.bytes += u64::from(info.size);
        let last_time = &mut self.last_time;
        *last_time = *buffer.before.get_or_insert(*last_time);
        let mut run = Run::default();
        if info.kind == BufferKind::NoEvents {
            return run;
        }
        let Reading { scratch, problems, .. } = reading;
        let only = buffer.only.as_deref();
        let mut place = Place { time: 0, what: What::Lost(LostWhat::Events), buffer: self.read as u32, event: 0 };
        let is_in =
            |only: &[Range<u32>], event| only.get(only.partition_point(|it| it.end <= event)).is_some_and(|it| it.start <= event);
        let is_wanted = |event: u32| only.is_none_or(|only| is_in(only, event));
        for (bit, what) in [(flag::EVENTS_LOST, LostWhat::Events), (flag::BUFFER_LOST, LostWhat::Buffers)] {
            if info.flags & bit != 0 && *last_time >= self.from && is_wanted(place.event) {
                run.places.push(Place { time: *last_time, what: What::Lost(what), ..place });
            }
            place.event += 1;
        }
        file.read_buffer(info, scratch, problems);
        let mut events = scratch.events();
        while let Some(event) = events.next() {
            match event.id {
                // A session header: the new file has one of its own.
                EventId::Hook(0) => continue,
                EventId::Opaque => {} // it does not say when it was
                _ => *last_time = event.time,
            }
            if *last_time >= self.from && is_wanted(place.event) {
                run.push(Place { time: *last_time, ..place }, events.bytes_of(&event), is_image(event.id));
            }
            place.event += 1;
        }
        if let Some(damage) = events.damage() {
            let detail = format!("{} at +{:#x} of this buffer; its rest was left out", damage.reason, damage.offset);
            problems.add(ProblemKind::DamagedEvent, &file.name, info.offset, detail);
        }
        run.sort();
        run
    }
}

impl Run {
    fn push(&mut self, place: Place, bytes: &[u8], is_image: bool) {
        // Sizes stand in 16 bits, and a buffer's in 26.
        let what = What::Event { at: self.bytes.len() as u32, len: bytes.len() as u16, is_image };
        self.places.push(Place { what, ..place });
        self.bytes.extend_from_slice(bytes);
    }

    fn sort(&mut self) {
        if !self.places.is_sorted_by_key(|place| place.time) {
            self.places.sort_by_key(|place| place.time); // stable: equal times keep their order
        }
    }

    /// Takes out what is later than `time`, if it is not too much.
    fn split_behind(&mut self, time: i64) -> Option<Self> {
        let first = self.places.partition_point(|place| place.time <= time);
        if first == self.places.len() || self.places.len() - first > MAX_CARRIED {
            return None;
        }
        let mut later = Self::default();
        for place in self.places.split_off(first) {
            later.put(place, &self.bytes);
        }
        Some(later)
    }

    /// Puts in what stood before it; equal times keep that order.
    fn absorb_earlier(&mut self, earlier: &Self) {
        let own = std::mem::take(&mut self.places);
        for &place in &earlier.places {
            self.put(place, &earlier.bytes);
        }
        self.places.extend(own);
        self.sort();
    }

    /// Appends what another run has there.
    fn put(&mut self, place: Place, bytes: &[u8]) {
        match place.what {
            What::Event { at, len, is_image } => self.push(place, &bytes[at as usize..][..usize::from(len)], is_image),
            What::Lost(_) => self.places.push(place),
        }
    }
}

/// Stretches of events of one buffer, which are in order.
fn ranges(events: &[(u32, u32)]) -> Vec<Range<u32>> {
    let stretches = events.chunk_by(|a, b| a.1 + 1 == b.1);
    stretches.map(|stretch| stretch[0].1..stretch[stretch.len() - 1].1 + 1).collect()
}
