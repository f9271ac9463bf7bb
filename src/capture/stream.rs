//! The events of one lane and processor, in the order of time, with all their bytes.
//!
//! A consumer gets events nearly in order; what is late by up to a buffer is put where
//! it belongs. Of events that are later still, the place is where they stand.

use crate::etl::{BufferInfo, BufferKind, EventId, ReadBuffer, TraceFile, flag};
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
pub(super) struct Stream<'f> {
    pub(super) processor: u16,
    /// Buffers still to read, the next one last.
    buffers: Vec<(&'f TraceFile, &'f BufferInfo)>,
    /// What is before is not wanted.
    from: i64,
    current: Run,
    at: usize,
    ahead: Option<Run>,
    /// Events that were read and are later than the first of `ahead`.
    carried: Option<Run>,
    /// Time of the last event that was read.
    last_time: i64,
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
/// only what is not before `from`.
pub(super) fn streams_of(lanes: &[(Vec<TraceFile>, bool)], from: i64) -> Vec<Stream<'_>> {
    let mut streams = Vec::new();
    for (files, wraps) in lanes {
        let mut buffers: Vec<(usize, &TraceFile, &BufferInfo)> = Vec::new();
        for (number, file) in files.iter().enumerate() {
            buffers.extend(file.buffers.iter().map(|buffer| (number, file, buffer)));
        }
        buffers.sort_by_key(|(number, _, buffer)| (buffer.processor, *number, buffer.order()));
        for of_processor in buffers.chunk_by(|a, b| a.2.processor == b.2.processor) {
            let first = of_processor[0];
            streams.push(Stream {
                processor: first.2.processor,
                buffers: of_processor.iter().rev().map(|&(_, file, buffer)| (file, buffer)).collect(),
                from: if *wraps { from } else { i64::MIN },
                current: Run::default(),
                at: 0,
                ahead: None,
                carried: None,
                last_time: first.1.header.start_ticks,
            });
        }
    }
    streams
}

impl Stream<'_> {
    /// Time of the next event that is at hand.
    pub(super) fn time(&self) -> Option<i64> {
        self.current.places.get(self.at).map(|place| place.time)
    }

    /// The next event that is at hand, and its time; the one behind it is next.
    pub(super) fn next(&mut self) -> Option<(i64, Next<'_>)> {
        let place = *self.current.places.get(self.at)?;
        self.at += 1;
        let next = match place.what {
            What::Event { at, len, is_image } => Next::Event(&self.current.bytes[at as usize..][..usize::from(len)], is_image),
            What::Lost(what) => Next::Lost(what),
        };
        Some((place.time, next))
    }

    /// Gets more at hand, if there is more.
    pub(super) fn refill(&mut self, reading: &mut Reading) {
        self.at = 0;
        self.current = self.ahead.take().or_else(|| self.load(reading)).unwrap_or_default();
        if let Some(carried) = self.carried.take() {
            self.current.absorb_earlier(&carried);
        }
        loop {
            self.ahead = self.load(reading);
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
    fn load(&mut self, reading: &mut Reading) -> Option<Run> {
        while let Some((file, info)) = self.buffers.pop() {
            reading.bytes += u64::from(info.size);
            let run = self.read(file, info, reading);
            if !run.places.is_empty() {
                return Some(run);
            }
        }
        None
    }

    fn read(&mut self, file: &TraceFile, info: &BufferInfo, reading: &mut Reading) -> Run {
        let mut run = Run::default();
        if info.kind == BufferKind::NoEvents {
            return run;
        }
        let Reading { scratch, problems, .. } = reading;
        for (bit, what) in [(flag::EVENTS_LOST, LostWhat::Events), (flag::BUFFER_LOST, LostWhat::Buffers)] {
            if info.flags & bit != 0 && self.last_time >= self.from {
                run.places.push(Place { time: self.last_time, what: What::Lost(what) });
            }
        }
        file.read_buffer(info, scratch, problems);
        let mut events = scratch.events();
        while let Some(event) = events.next() {
            match event.id {
                // A session header: the new file has one of its own.
                EventId::Hook(0) => continue,
                EventId::Opaque => {} // it does not say when it was
                _ => self.last_time = event.time,
            }
            if self.last_time >= self.from {
                run.push(self.last_time, events.bytes_of(&event), is_image(event.id));
            }
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
    fn push(&mut self, time: i64, bytes: &[u8], is_image: bool) {
        // Sizes stand in 16 bits, and a buffer's in 26.
        let what = What::Event { at: self.bytes.len() as u32, len: bytes.len() as u16, is_image };
        self.places.push(Place { time, what });
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
            What::Event { at, len, is_image } => self.push(place.time, &bytes[at as usize..][..usize::from(len)], is_image),
            What::Lost(_) => self.places.push(place),
        }
    }
}
