//! The events of one file and processor in the order of time, with all their bytes.
//!
//! The order is that of [`Merge`](crate::events::Merge), which only tells what events mean: what is
//! not earlier than the next buffer of the stream waits for it. Where more would have to wait
//! than [`MAX_CARRIED`], it does not.
//!
//! Memory: two buffers and what waits.

use crate::etl::{BufferInfo, BufferKind, EventId, ReadBuffer, TraceFile, flag};
use crate::events::LostWhat;
use crate::problem::Problems;

/// So many events of a stream may wait for their time to come.
const MAX_CARRIED: usize = 1 << 16;

/// What all streams read with, and what came of it.
#[derive(Debug, Default)]
pub(super) struct Reading {
    scratch: ReadBuffer,
    /// Loading tells of them already.
    problems: Problems,
    /// Bytes of the files that were read.
    pub(super) bytes: u64,
}

/// What a stream has next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next<'a> {
    /// All bytes of an event.
    Event(&'a [u8]),
    /// Something is missing from here on.
    Lost(LostWhat),
}

/// See the module.
#[derive(Debug)]
pub(super) struct Stream<'f> {
    file: &'f TraceFile,
    /// Processor in the file that is written.
    pub(super) processor: u16,
    /// Buffers still to read, the next one last.
    buffers: Vec<&'f BufferInfo>,
    current: Run,
    at: usize,
    ahead: Option<Run>,
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
    Event { at: usize, len: usize },
    Lost(LostWhat),
}

/// One stream for each file and processor, in this order, and the number of processors that
/// the file that is written has for them.
///
/// Events of several files at one tick come in the order of the files, and the reader of one file
/// knows only processors: so each file's have numbers of their own, as far as there are enough.
pub(super) fn streams_of(files: &[TraceFile]) -> (Vec<Stream<'_>>, u32) {
    let last = |file: &TraceFile| file.buffers.iter().map(|buffer| u32::from(buffer.processor) + 1).max().unwrap_or(1);
    let all: u32 = files.iter().map(last).fold(0, u32::saturating_add);
    let is_shared = all > MAX_PROCESSORS;
    let mut streams = Vec::new();
    let mut first = 0;
    for file in files {
        let mut buffers: Vec<&BufferInfo> = file.buffers.iter().collect();
        buffers.sort_by_key(|buffer| (buffer.processor, std::cmp::Reverse(buffer.order())));
        for of_one in buffers.chunk_by(|a, b| a.processor == b.processor) {
            let own = u32::from(of_one[0].processor) + if is_shared { 0 } else { first };
            let processor = (own % MAX_PROCESSORS) as u16;
            let (buffers, last_time) = (of_one.to_vec(), file.header.start_ticks);
            streams.push(Stream { file, processor, buffers, current: Run::default(), at: 0, ahead: None, last_time });
        }
        first = first.saturating_add(last(file));
    }
    let processors = streams.iter().map(|stream| u32::from(stream.processor) + 1).max().unwrap_or(1);
    (streams, processors)
}

/// Windows has no more.
const MAX_PROCESSORS: u32 = 2048;

impl Stream<'_> {
    /// Bytes that it may hold at once, about.
    pub(super) fn memory(&self) -> u64 {
        2 * self.buffers.iter().map(|buffer| buffer.expanded_size() as u64).max().unwrap_or(0)
    }

    /// Time of the next event that is at hand.
    pub(super) fn time(&self) -> Option<i64> {
        self.current.places.get(self.at).map(|place| place.time)
    }

    /// The next event that is at hand, and its time; the one behind it is next.
    pub(super) fn next(&mut self) -> Option<(i64, Next<'_>)> {
        let place = *self.current.places.get(self.at)?;
        self.at += 1;
        let next = match place.what {
            What::Event { at, len } => Next::Event(self.current.bytes.get(at..at + len).unwrap_or_default()),
            What::Lost(what) => Next::Lost(what),
        };
        Some((place.time, next))
    }

    /// Gets more at hand, if there is more.
    pub(super) fn refill(&mut self, reading: &mut Reading) {
        self.at = 0;
        self.current = self.ahead.take().or_else(|| self.load(reading)).unwrap_or_default();
        loop {
            let Some(mut ahead) = self.load(reading) else { return };
            let next = ahead.places.first().map_or(i64::MAX, |place| place.time);
            if let Some(late) = self.current.split_from(next) {
                ahead.absorb_earlier(&late);
            }
            if !self.current.places.is_empty() {
                self.ahead = Some(ahead);
                return;
            }
            // None of it is earlier than the next buffer.
            self.current = ahead;
        }
    }

    /// The next buffer that has anything.
    fn load(&mut self, reading: &mut Reading) -> Option<Run> {
        loop {
            let info = self.buffers.pop()?;
            let run = self.read(info, reading);
            if !run.places.is_empty() {
                return Some(run);
            }
        }
    }

    fn read(&mut self, info: &BufferInfo, reading: &mut Reading) -> Run {
        reading.bytes += u64::from(info.size);
        let mut run = Run::default();
        if info.kind == BufferKind::NoEvents {
            return run;
        }
        for (bit, what) in [(flag::EVENTS_LOST, LostWhat::Events), (flag::BUFFER_LOST, LostWhat::Buffers)] {
            if info.flags & bit != 0 {
                run.places.push(Place { time: self.last_time, what: What::Lost(what) });
            }
        }
        self.file.read_buffer(info, &mut reading.scratch, &mut reading.problems);
        let mut events = reading.scratch.events();
        while let Some(event) = events.next() {
            match event.id {
                // A session header: the new file has one of its own.
                EventId::Hook(0) => continue,
                EventId::Opaque => {} // it does not say when it was
                _ => self.last_time = event.time,
            }
            run.push(self.last_time, events.bytes_of(&event));
        }
        run.sort();
        run
    }
}

impl Run {
    fn push(&mut self, time: i64, bytes: &[u8]) {
        self.places.push(Place { time, what: What::Event { at: self.bytes.len(), len: bytes.len() } });
        self.bytes.extend_from_slice(bytes);
    }

    fn sort(&mut self) {
        if !self.places.is_sorted_by_key(|place| place.time) {
            self.places.sort_by_key(|place| place.time); // stable: equal times keep their order
        }
    }

    /// Takes out what is not earlier than `time`, if it is not too much.
    fn split_from(&mut self, time: i64) -> Option<Self> {
        let first = self.places.partition_point(|place| place.time < time);
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
            What::Event { at, len } => self.push(place.time, bytes.get(at..at + len).unwrap_or_default()),
            What::Lost(_) => self.places.push(place),
        }
    }
}
