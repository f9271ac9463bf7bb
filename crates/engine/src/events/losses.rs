//! The losses of a file in time, from buffers whose flags say that something was lost before them, from
//! numbers missing in the sequence of buffers, and from the events by which real-time sessions report
//! losses.
//!
//! A flagged loss lies between the last event of the buffer before, in the same processor's stream, and
//! the first event of the flagged buffer. A missing number belongs to the stream whose next buffer says
//! that a buffer was lost. If none does, it can belong to any stream, so the loss lies between the
//! neighbouring buffers of all of them. Rewritten and circular files leave numbers out by design: there
//! a missing number means nothing, nor does it in files of sessions that lost no buffer and whose chain
//! of buffers is whole.
//!
//! Cost: nothing for a file without losses; else the buffers on both sides of each loss are read once
//! more, in parallel. At most [`MAX_LOSSES`] are returned: more are joined with their neighbours in
//! time.
//!
//! Flags: System Informer's `ntwmi.h`. No public trace has one of them set. That the loss lies before
//! the flagged buffer and not inside it is what the names and the documentation of real-time sessions
//! suggest.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::hooks::lost;
use super::times::times_in;
use super::{Event, Record};
use crate::etl::{BufferInfo, RawEvent, ReadBuffer, TraceFile, flag, i64_at, mode, u32_at};
use crate::stored::stored;

/// Most losses of one file.
pub(super) const MAX_LOSSES: usize = 4096;

/// Kind of a loss.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LostWhat {
    /// Single events.
    Events,
    /// Whole buffers.
    Buffers,
}

stored!(enum LostWhat { 0 = Events, 1 = Buffers });

/// A loss as the event of a real-time session reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost {
    /// Its kind.
    pub what: LostWhat,
    /// Raw time up to which nothing was lost, and how many were lost since; only our own recordings
    /// have them.
    pub details: Option<(i64, u32)>,
}

impl From<LostWhat> for Lost {
    fn from(what: LostWhat) -> Self {
        Self { what, details: None }
    }
}

/// One loss, in raw clock values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawLoss {
    /// The last event before it, or the session's start.
    pub from: i64,
    /// The first event after it; `None` if none came.
    pub to: Option<i64>,
    /// Its kind.
    pub what: LostWhat,
    /// How many events or buffers, if it is known.
    pub count: Option<u64>,
    /// Processor of its stream, if it is known.
    pub processor: Option<u16>,
}

/// The record of a real-time session's loss event; a lost file counts as a loss of buffers.
pub(super) fn record(opcode: u8, raw: &RawEvent<'_>) -> Option<Record> {
    let what = match opcode {
        lost::EVENT => LostWhat::Events,
        lost::BUFFER | lost::FILE => LostWhat::Buffers,
        _ => return None,
    };
    let details = || Some((i64_at(raw.payload, 0)?.min(raw.time), u32_at(raw.payload, 8)?));
    // Events of the system have no payload.
    let details = if raw.version == lost::DETAILED_VERSION { details() } else { None };
    Some(Record { time: raw.time, pid: raw.pid, tid: raw.tid, event: Event::Lost(Lost { what, details }) })
}

/// All losses that the buffers of a file show, by time. `go_on` is asked now and then; if it says no,
/// the result is empty.
pub fn losses(file: &TraceFile, mut go_on: impl FnMut() -> bool) -> Vec<RawLoss> {
    let streams = Streams::new(file);
    let places = streams.places();
    let needed: BTreeSet<usize> =
        places.iter().flat_map(|place| streams.edges(place)).flat_map(|(before, after)| [before, after]).flatten().collect();
    let Some(times) = times_of(file, &needed, &mut go_on) else { return Vec::new() };
    let start = file.header.start_ticks;
    let loss = |place: &LossPlace| {
        let before = streams.edges(place).map(|(before, _)| before.and_then(|i| times.get(&i)).map_or(start, |t| t.1));
        // A stream that does not go on leaves the end open.
        let after = streams.edges(place).map(|(_, after)| after.and_then(|i| times.get(&i)).map(|t| t.0));
        RawLoss {
            from: before.min().unwrap_or(start),
            to: after.reduce(|a, b| Some(a?.max(b?))).flatten(),
            what: place.what,
            count: place.count,
            processor: place.stream.map(|s| streams.buffer(streams.order[s][0]).processor),
        }
    };
    bounded(places.iter().map(loss).collect())
}

/// A loss, located by numbers of buffers.
#[derive(Clone, Debug)]
struct LossPlace {
    /// Index of its stream, if it is known.
    stream: Option<usize>,
    /// It lies behind the buffers of its streams up to this number.
    before: i64,
    /// It lies before their buffers from this number on.
    after: i64,
    what: LostWhat,
    count: Option<u64>,
}

/// The buffers of a file by processor.
struct Streams<'f> {
    file: &'f TraceFile,
    /// Indices of the buffers of each processor, by sequence number.
    order: Vec<Vec<usize>>,
}

impl<'f> Streams<'f> {
    fn new(file: &'f TraceFile) -> Self {
        let mut by_processor: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        for (index, buffer) in file.buffers.iter().enumerate() {
            by_processor.entry(buffer.processor).or_default().push(index);
        }
        let mut order: Vec<Vec<usize>> = by_processor.into_values().collect();
        order.iter_mut().for_each(|stream| stream.sort_by_key(|&i| file.buffers[i].sequence));
        Self { file, order }
    }

    fn buffer(&self, index: usize) -> &'f BufferInfo {
        &self.file.buffers[index]
    }

    /// The buffers on both sides of a loss, in each stream that it can belong to.
    fn edges<'a>(&'a self, place: &'a LossPlace) -> impl Iterator<Item = (Option<usize>, Option<usize>)> + 'a {
        let streams = match place.stream {
            Some(stream) => stream..stream + 1,
            None => 0..self.order.len(),
        };
        self.order[streams].iter().map(move |stream| {
            let behind = stream.partition_point(|&i| self.buffer(i).sequence <= place.before);
            let next = stream.partition_point(|&i| self.buffer(i).sequence < place.after);
            (behind.checked_sub(1).map(|i| stream[i]), stream.get(next).copied())
        })
    }

    fn places(&self) -> Vec<LossPlace> {
        let mut places = self.flagged();
        let buffers_lost: Vec<usize> = (0..places.len()).filter(|&i| places[i].what == LostWhat::Buffers).collect();
        for (a, b) in self.gaps() {
            let count = b.abs_diff(a) - 1;
            match self.explains((a, b), &places, &buffers_lost) {
                Some(i) => places[i].count = Some(places[i].count.unwrap_or(0).saturating_add(count)),
                None => {
                    places.push(LossPlace { stream: None, before: a, after: b, what: LostWhat::Buffers, count: Some(count) });
                }
            }
        }
        places
    }

    /// One place for each flag, sorted by number of the buffer that has it.
    fn flagged(&self) -> Vec<LossPlace> {
        let mut places = Vec::new();
        for (stream, order) in self.order.iter().enumerate() {
            for buffer in order.iter().map(|&i| self.buffer(i)) {
                for (bit, what) in [(flag::EVENTS_LOST, LostWhat::Events), (flag::BUFFER_LOST, LostWhat::Buffers)] {
                    if buffer.flags & bit != 0 {
                        let after = buffer.sequence;
                        places.push(LossPlace {
                            stream: Some(stream),
                            before: after.saturating_sub(1),
                            after,
                            what,
                            count: None,
                        });
                    }
                }
            }
        }
        places.sort_by_key(|place| place.after);
        places
    }

    /// Numbers on both sides of missing ones, if missing numbers mean a loss in this file.
    fn gaps(&self) -> Vec<(i64, i64)> {
        let file = self.file;
        let whole = file.buffers.windows(2).all(|pair| pair[0].offset + u64::from(pair[0].size) == pair[1].offset);
        if file.header.mode & (mode::RELOG | mode::CIRCULAR) != 0 || (file.header.buffers_lost == 0 && whole) {
            return Vec::new();
        }
        let mut numbers: Vec<i64> = file.buffers.iter().map(|buffer| buffer.sequence).collect();
        numbers.sort_unstable();
        let gaps = numbers.windows(2).map(|pair| (pair[0], pair[1])).filter(|(a, b)| b.abs_diff(*a) > 1);
        gaps.take(MAX_LOSSES).collect()
    }

    /// The flagged buffer that explains a gap: the first behind it whose stream has its previous buffer
    /// before it.
    fn explains(&self, (a, b): (i64, i64), places: &[LossPlace], flagged: &[usize]) -> Option<usize> {
        const LOOK_AT: usize = 64;
        let first = flagged.partition_point(|&i| places[i].after < b);
        flagged[first..].iter().copied().take(LOOK_AT).find(|&i| {
            let (before, _) = self.edges(&places[i]).next().unwrap_or_default();
            before.is_none_or(|before| self.buffer(before).sequence <= a)
        })
    }
}

/// Times of the first and last event of these buffers, without those that have no events.
fn times_of(
    file: &TraceFile,
    buffers: &BTreeSet<usize>,
    go_on: &mut impl FnMut() -> bool,
) -> Option<BTreeMap<usize, (i64, i64)>> {
    const RUN: usize = 64;
    let all: Vec<usize> = buffers.iter().copied().collect();
    let mut times = BTreeMap::new();
    for run in all.chunks(RUN) {
        if !go_on() {
            return None;
        }
        let found: Vec<_> = run
            .par_iter()
            .map_init(ReadBuffer::default, |scratch, &i| times_in(file, &file.buffers[i], scratch).map(|t| (i, t)))
            .collect();
        times.extend(found.into_iter().flatten());
    }
    Some(times)
}

/// Sorts by time, and joins neighbours until few enough are left.
fn bounded(mut losses: Vec<RawLoss>) -> Vec<RawLoss> {
    losses.sort_by_key(|loss| (loss.from, loss.to.unwrap_or(i64::MAX), loss.what));
    let run = losses.len().div_ceil(MAX_LOSSES).max(1);
    losses.chunks(run).filter_map(|run| run.iter().copied().reduce(joined)).collect()
}

fn joined(a: RawLoss, b: RawLoss) -> RawLoss {
    let same = a.what == b.what;
    RawLoss {
        from: a.from.min(b.from),
        to: a.to.zip(b.to).map(|(a, b)| a.max(b)),
        what: a.what.max(b.what),
        count: a.count.zip(b.count).filter(|_| same).map(|(a, b)| a.saturating_add(b)),
        processor: a.processor.filter(|_| a.processor == b.processor),
    }
}

#[cfg(test)]
mod tests;
