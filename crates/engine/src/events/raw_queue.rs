//! Events of one stream (of a file or lane, and a processor) in the order of time, with all their
//! bytes, for code that writes them on unchanged: the lanes of a recording into one trace, or a part of
//! a trace.
//!
//! The order is that of [`Merge`](super::Merge), which gives decoded events only: events that are not
//! earlier than the next buffer of their stream wait for that, and go on in the order of time, equal
//! times in the order of the stream. If more than [`MOST_WAITING`] events would have to wait, or more
//! bytes than the queue may hold, all go on. The code that loads buffers ([`RawRun::read`]) decides
//! which events are wanted, and each of them is kept with the note (`T`) that it made.
//!
//! Memory: two buffers, and at most twice the waiting events. Cost: a copy of an event's bytes; if the
//! event waits, another copy each time that half of its buffer has gone on, and the logarithm of the
//! number of buffers with waiting events.

use std::collections::BTreeMap;

use super::LostWhat;
use crate::etl::{BufferInfo, BufferKind, EventId, ReadBuffer, TraceFile, flag};
use crate::problem::{ProblemKind, Problems};

/// Most events of a stream that may wait for their time to come.
const MOST_WAITING: usize = 1 << 16;

/// Memory for reading that all streams share, and its results.
#[derive(Debug, Default)]
pub struct RawReading {
    scratch: ReadBuffer,
    /// Problems found.
    pub problems: Problems,
    /// Bytes of the files that were read.
    pub bytes: u64,
}

impl RawReading {
    /// Starts with problems that are known already.
    pub fn new(problems: Problems) -> Self {
        Self { problems, ..Self::default() }
    }
}

/// An event of a stream, or a loss.
#[derive(Clone, Copy, Debug)]
pub enum RawItem<'a> {
    /// All bytes of an event.
    Event(&'a [u8]),
    /// Something was lost from here on.
    Lost(LostWhat),
}

/// An event or a loss, as found in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct RawMet {
    /// Its number in the buffer. The first two numbers are kept for losses, whether there are any or
    /// not.
    pub number: u32,
    /// Raw time; an event without time has that of the event before it.
    pub time: i64,
    /// Id of the event; `None` for a loss.
    pub id: Option<EventId>,
}

/// The wanted events and losses of a buffer, in the order of time.
#[derive(Debug)]
pub struct RawRun<T> {
    places: Vec<Place<T>>,
    bytes: Vec<u8>,
    /// Index of the first that has not gone on.
    at: usize,
}

#[derive(Clone, Copy, Debug)]
struct Place<T> {
    time: i64,
    note: T,
    what: What,
}

/// Offsets in the bytes of a buffer fit into 32 bits.
#[derive(Clone, Copy, Debug)]
enum What {
    Event { at: u32, len: u32 },
    Lost(LostWhat),
}

impl<T: Copy> RawRun<T> {
    /// Reads a buffer. `last_time` is the time of the last event before it, and afterwards that of the
    /// last event in it. `note` makes the note of each event or loss that is kept; `None` leaves it
    /// out. Header events of sessions are skipped: the file that is written has one of its own.
    pub fn read(
        file: &TraceFile,
        info: &BufferInfo,
        RawReading { scratch, problems, bytes }: &mut RawReading,
        last_time: &mut i64,
        mut note: impl FnMut(RawMet) -> Option<T>,
    ) -> Self {
        *bytes += u64::from(info.size);
        let mut run = Self { places: Vec::new(), bytes: Vec::new(), at: 0 };
        if info.kind == BufferKind::NoEvents {
            return run;
        }
        for (number, (bit, what)) in (0..).zip([(flag::EVENTS_LOST, LostWhat::Events), (flag::BUFFER_LOST, LostWhat::Buffers)]) {
            if info.flags & bit != 0
                && let Some(note) = note(RawMet { number, time: *last_time, id: None })
            {
                run.places.push(Place { time: *last_time, note, what: What::Lost(what) });
            }
        }
        file.read_buffer(info, scratch, problems);
        let mut events = scratch.events();
        let mut number = 2;
        while let Some(event) = events.next() {
            match event.id {
                EventId::Hook(0) => continue, // the header of a session
                EventId::Opaque => {}         // it has no time
                _ => *last_time = event.time,
            }
            if let Some(note) = note(RawMet { number, time: *last_time, id: Some(event.id) }) {
                run.push(*last_time, note, events.bytes_of(&event));
            }
            number += 1;
        }
        if let Some(damage) = events.damage() {
            let detail = format!("{} at +{:#x} of this buffer; its rest was left out", damage.reason, damage.offset);
            problems.add(ProblemKind::DamagedEvent, &file.name, info.offset, detail);
        }
        if !run.places.is_sorted_by_key(|place| place.time) {
            run.places.sort_by_key(|place| place.time); // stable: equal times keep their order
        }
        run
    }

    /// Number of events and losses that have not gone on.
    pub fn len(&self) -> usize {
        self.places.len() - self.at
    }

    /// Whether all have gone on.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn memory(&self) -> usize {
        size_of_val(self.places.as_slice()) + self.bytes.len()
    }

    fn time(&self) -> Option<i64> {
        self.places.get(self.at).map(|place| place.time)
    }

    fn push(&mut self, time: i64, note: T, bytes: &[u8]) {
        let what = What::Event { at: self.bytes.len() as u32, len: bytes.len() as u32 };
        self.places.push(Place { time, note, what });
        self.bytes.extend_from_slice(bytes);
    }

    /// Frees the events that have gone on, if these are most of them.
    fn compact(&mut self) {
        if self.at <= self.places.len() / 2 {
            return;
        }
        let mut rest = Self { places: Vec::with_capacity(self.len()), bytes: Vec::new(), at: 0 };
        for &place in &self.places[self.at..] {
            match place.what {
                What::Event { .. } => rest.push(place.time, place.note, self.bytes_of(place.what)),
                What::Lost(_) => rest.places.push(place),
            }
        }
        *self = rest;
    }

    fn bytes_of(&self, what: What) -> &[u8] {
        match what {
            What::Event { at, len } => self.bytes.get(at as usize..(at + len) as usize).unwrap_or_default(),
            What::Lost(_) => &[],
        }
    }
}

/// Events of a stream that were read and not taken yet.
#[derive(Debug)]
pub struct RawQueue<T> {
    /// The buffer of the next event, and its number in the stream.
    current: Option<(u64, RawRun<T>)>,
    /// Other buffers with waiting events, by the time of their next event and by number.
    waiting: BTreeMap<(i64, u64), RawRun<T>>,
    waiting_events: usize,
    waiting_bytes: usize,
    /// Events that are not earlier wait for the next buffer; `None` if none has to.
    limit: Option<i64>,
    /// Number of buffers so far.
    buffers: u64,
    /// Most bytes that may wait.
    most_bytes: usize,
}

impl<T: Copy> RawQueue<T> {
    /// A queue in which about `most_bytes` bytes may wait, besides two buffers.
    pub fn new(most_bytes: usize) -> Self {
        Self { current: None, waiting: BTreeMap::new(), waiting_events: 0, waiting_bytes: 0, limit: None, buffers: 0, most_bytes }
    }

    /// Time of the next event that need not wait.
    pub fn time(&mut self) -> Option<i64> {
        self.settle();
        let time = self.current.as_ref()?.1.time()?;
        self.limit.is_none_or(|limit| time < limit).then_some(time)
    }

    /// Takes the next event that need not wait, with its time and its note.
    pub fn take(&mut self) -> Option<(i64, T, RawItem<'_>)> {
        self.time()?;
        let (_, run) = self.current.as_mut()?;
        let place = *run.places.get(run.at)?;
        run.at += 1;
        let item = match place.what {
            What::Event { .. } => RawItem::Event(run.bytes_of(place.what)),
            What::Lost(what) => RawItem::Lost(what),
        };
        Some((place.time, place.note, item))
    }

    /// Reads buffers until an event need not wait, if there are more: `load` reads the next one that
    /// has any event.
    pub fn refill(&mut self, mut load: impl FnMut() -> Option<RawRun<T>>) {
        while self.time().is_none() {
            let Some(run) = load() else {
                self.limit = None;
                return;
            };
            let is_full = self.waiting_events > MOST_WAITING || self.waiting_bytes > self.most_bytes;
            self.limit = run.time().filter(|_| !is_full);
            self.buffers += 1;
            self.put(self.buffers, run);
        }
    }

    /// The notes of all events that were read and not taken, in no order.
    pub fn notes(&self) -> impl Iterator<Item = T> {
        let current = self.current.iter().map(|(_, run)| run);
        current.chain(self.waiting.values()).flat_map(|run| &run.places[run.at..]).map(|place| place.note)
    }

    /// Makes the buffer with the earliest event the current one.
    fn settle(&mut self) {
        let Some(&first) = self.waiting.keys().next() else { return };
        let own = self.current.as_ref().and_then(|(number, run)| Some((run.time()?, *number)));
        if own.is_some_and(|own| own < first) {
            return;
        }
        let Some(run) = self.waiting.remove(&first) else { return };
        self.waiting_events -= run.len();
        self.waiting_bytes -= run.memory();
        if let Some((number, mut before)) = self.current.replace((first.1, run)) {
            before.compact();
            self.put(number, before);
        }
    }

    fn put(&mut self, number: u64, run: RawRun<T>) {
        let Some(time) = run.time() else { return };
        self.waiting_events += run.len();
        self.waiting_bytes += run.memory();
        self.waiting.insert((time, number), run);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A buffer with events at these times, noted by their places in the stream.
    fn run(times: &[i64], first: usize) -> RawRun<usize> {
        let mut run = RawRun { places: Vec::new(), bytes: Vec::new(), at: 0 };
        let mut events: Vec<(i64, usize)> = times.iter().copied().zip(first..).collect();
        events.sort_by_key(|(time, _)| *time);
        events.iter().for_each(|&(time, number)| run.push(time, number, &number.to_le_bytes()));
        run
    }

    /// All that a queue tells of buffers, in its order.
    fn told(buffers: &[Vec<i64>], most_bytes: usize) -> Vec<(i64, usize)> {
        let (mut queue, mut read, mut first) = (RawQueue::new(most_bytes), buffers.iter(), 0);
        let mut load = || loop {
            let times = read.next()?;
            first += times.len();
            if !times.is_empty() {
                return Some(run(times, first - times.len()));
            }
        };
        let mut all = Vec::new();
        loop {
            queue.refill(&mut load);
            if queue.time().is_none() {
                return all;
            }
            while let Some(time) = queue.time() {
                assert!(queue.notes().count() > 0);
                let (next, number, item) = queue.take().unwrap();
                assert!(next == time && matches!(item, RawItem::Event(bytes) if bytes == number.to_le_bytes()));
                all.push((time, number));
            }
        }
    }

    /// Events that are earlier than the first of the next buffer go on, in order; the rest wait.
    fn expected(buffers: &[Vec<i64>]) -> Vec<(i64, usize)> {
        let (mut all, mut held, mut first) = (Vec::new(), Vec::<(i64, usize)>::new(), 0);
        for times in buffers.iter().filter(|times| !times.is_empty()) {
            let limit = *times.iter().min().unwrap();
            held.sort_unstable();
            let (now, rest): (Vec<_>, Vec<_>) = held.into_iter().partition(|(time, _)| *time < limit);
            all.extend(now);
            held = rest;
            held.extend(times.iter().copied().zip(first..));
            first += times.len();
        }
        held.sort_unstable();
        all.extend(held);
        all
    }

    proptest! {
        #[test]
        fn events_come_in_the_order_of_time_as_far_as_they_may_wait(
            buffers in prop::collection::vec(prop::collection::vec(0i64..40, 0..12), 0..20),
            step in 0i64..20,
        ) {
            let buffers: Vec<Vec<i64>> =
                (0..).zip(&buffers).map(|(i, times)| times.iter().map(|time| time + i * step).collect()).collect();
            prop_assert_eq!(told(&buffers, usize::MAX), expected(&buffers));
            // Where little may wait, nothing is lost.
            let mut all = told(&buffers, 0);
            all.sort_unstable_by_key(|(_, number)| *number);
            prop_assert_eq!(all.len(), buffers.iter().map(Vec::len).sum::<usize>());
            prop_assert!(all.iter().zip(0..).all(|((_, number), i)| *number == i));
        }
    }

    #[test]
    fn what_waits_long_is_copied_rarely_and_too_much_goes_on() {
        // Each buffer has something that is due at the very end.
        let buffers: Vec<Vec<i64>> = (0..2_000).map(|i| (0..40).map(|k| i * 100 + k).chain([1_000_000 - i]).collect()).collect();
        assert_eq!(told(&buffers, usize::MAX), expected(&buffers));
        let early = told(&buffers, 1_000);
        assert!(early.len() == 2_000 * 41 && early.windows(2).any(|two| two[0].0 > two[1].0));
    }
}
