//! All files' per-processor streams as one stream of records in time order.
//!
//! A buffer belongs to one processor, and one processor's buffers in the order of
//! their sequence numbers are in time order; across processors they are not. So
//! the order of the whole is a merge of streams, one for each file and processor.
//! Sessions without per-processor buffering and damaged times break that rule;
//! therefore a buffer is sorted if need be, and what is not earlier than the next
//! buffer is carried on into that.
//!
//! Equal times keep the order of their stream; across streams see [`ties`].
//!
//! Files may still grow: what came of them is added between runs ([`Merge::add`]), and
//! records later than a moment wait ([`Merge::hold_at`]). A stream that has run dry has
//! not ended then. As long as nothing comes for a moment that has passed, the order is
//! that of a merge of the whole files; records that come for such a moment are counted ([`Merge::late`]).
//!
//! Memory: two decoded buffers a stream or, where these would take too much, two parts of
//! buffers; what waits; and what is decoded ahead on other threads ([`Ahead`]). All of it
//! is dealt out by [`Room`]. Cost: one comparison with the runner-up for each entry, a look at
//! the [`Heads`] only where the lead changes.

mod carried;
mod ties;
mod turns;

use std::collections::{BTreeSet, VecDeque};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use carried::Carried;
use rayon::Scope;

use super::ahead::{Ahead, FilePart, Job, in_order, jobs_of};
use super::heads::{First, Heads};
use super::room::{Room, USUAL};
use super::{Attached, Batch, Entry, Event, EventCounts, Frames, Item, Record, Stacks};
use crate::etl::TraceFile;
use crate::problem::{ProblemKind, Problems};

/// So many entries are fetched at a time from the processor that decoded them.
const TOGETHER: usize = 32;

/// The call stack that comes with a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallStack<'a> {
    /// None, or it comes later.
    Nothing,
    /// Its frames, innermost first; of a stack's own record those of the stack.
    Frames(Frames<'a>),
    /// Key of the user's stack, given at a raw time.
    Key {
        /// Key.
        key: u64,
        /// Raw clock value.
        time: i64,
    },
}

impl<'a> CallStack<'a> {
    /// The frames, if they came.
    pub fn frames(self) -> Frames<'a> {
        match self {
            Self::Frames(frames) => frames,
            _ => Frames::default(),
        }
    }

    /// Frames are those of the record if it is a stack's own; other records come without.
    pub fn of(self, record: &Record) -> Self {
        match record.event {
            Event::Stack { .. } | Event::StackDefinition { .. } => self,
            _ => Self::Nothing,
        }
    }
}

/// The merged stream of one capture's files.
#[derive(Debug)]
pub struct Merge<'f> {
    ahead: Arc<Ahead<'f>>,
    streams: Vec<Stream>,
    /// The times of their next records.
    heads: Heads,
    order: MergeOrder,
    totals: Totals,
    /// Records up to here may go on, the rest of the files being known.
    known_to: i64,
    arrivals: Arrivals,
    /// For what is said of all.
    first_file: String,
    /// Memory for ties.
    tie: Vec<(usize, Range<usize>)>,
    /// Bytes that decoded records may take.
    memory: u64,
    /// So many of a stream may wait.
    most_carried: usize,
    /// Whether buffers were read since the last tick.
    has_read: bool,
}

/// What was met so far, apart from the records.
#[derive(Debug, Default)]
pub struct Totals {
    /// Events by kind.
    pub counts: EventCounts,
    /// Raw times of the first and last event of any kind.
    pub times: Option<(i64, i64)>,
    /// What was wrong.
    pub problems: Problems,
    /// Bytes of all files that were read.
    pub bytes: u64,
}

/// How far a merge has come.
#[derive(Clone, Copy, Debug)]
pub struct Tick<'a> {
    /// What was met so far.
    pub totals: &'a Totals,
    /// Whether nothing goes on until records of later times may.
    pub is_held: bool,
}

impl Totals {
    pub(super) fn take(&mut self, batch: &mut Batch) {
        self.counts.add(&batch.counts);
        self.problems.append(std::mem::take(&mut batch.problems));
        self.bytes += batch.bytes;
        self.times = match (self.times, batch.times) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }

    /// The totals of both.
    pub(super) fn plus(mut self, later: Self) -> Self {
        let Self { counts, times, problems, bytes } = later;
        self.take(&mut Batch { counts, times, problems, bytes, ..Batch::default() });
        self
    }
}

/// What comes later than it should.
#[derive(Debug, Default)]
struct Arrivals {
    /// Everything up to here has gone on before.
    passed: Option<i64>,
    late: u64,
}

/// Place of a file among all, and the processor.
type StreamKey = (u64, u16);

#[derive(Debug, Default)]
struct Stream {
    key: StreamKey,
    /// Buffers still to read, by number.
    jobs: VecDeque<usize>,
    current: Batch,
    at: usize,
    ahead: Option<Batch>,
    /// Records of buffers that were read, not earlier than `ahead`.
    carried: Carried,
}

impl<'f> Merge<'f> {
    /// Prepares the merge of all buffers of all files; stacks come with their events
    /// where they can.
    pub fn new(files: &'f [TraceFile]) -> Self {
        Self::with_stacks(files, Stacks::Attached)
    }

    /// The same with every stack as the record of its own that it is in the file.
    pub fn of_records(files: &'f [TraceFile]) -> Self {
        Self::with_stacks(files, Stacks::Apart)
    }

    fn with_stacks(files: &'f [TraceFile], stacks: Stacks) -> Self {
        let mut merge = Self {
            ahead: Ahead::new(stacks),
            streams: Vec::new(),
            heads: Heads::new(0),
            order: MergeOrder::default(),
            totals: Totals::default(),
            known_to: i64::MAX,
            arrivals: Arrivals::default(),
            first_file: files.first().map_or_else(String::new, |file| file.name.clone()),
            tie: Vec::new(),
            memory: USUAL,
            most_carried: 0,
            has_read: false,
        };
        merge.add_jobs(jobs_of(files));
        merge
    }

    /// Says how many bytes decoded records may take, or so. The order does not depend on it.
    pub fn within(mut self, memory: u64) -> Self {
        self.memory = memory;
        self
    }

    /// Adds what has come of the file at this place among all files since it was added
    /// last: buffers behind those that are known.
    pub fn add(&mut self, place: u64, part: TraceFile) {
        if self.first_file.is_empty() {
            self.first_file.clone_from(&part.name);
        }
        self.add_jobs(in_order(place, &FilePart::Came(Arc::new(part))));
    }

    fn add_jobs(&mut self, jobs: Vec<(u64, Job<'f>)>) {
        let keys: Vec<StreamKey> = jobs.iter().map(|(place, job)| (*place, job.buffer().processor)).collect();
        let first = self.ahead.add(jobs.into_iter().map(|(_, job)| job));
        let known: BTreeSet<StreamKey> = self.streams.iter().map(|stream| stream.key).collect();
        let new: BTreeSet<StreamKey> = keys.iter().copied().filter(|key| !known.contains(key)).collect();
        self.streams.extend(new.into_iter().map(|key| Stream { key, ..Stream::default() }));
        self.streams.sort_by_key(|stream| stream.key);
        for (i, key) in keys.into_iter().enumerate() {
            if let Ok(at) = self.streams.binary_search_by_key(&key, |stream| stream.key) {
                self.streams[at].jobs.push_back(first + i);
            }
        }
    }

    /// Records later than this wait from now on, because what comes before them may
    /// not be there yet.
    pub fn hold_at(&mut self, time: i64) {
        self.known_to = time;
    }

    /// Records that came for a moment that had passed.
    pub fn late(&self) -> u64 {
        self.arrivals.late
    }

    /// Gives every record to `sink`, with its stack if that came with it, until it
    /// breaks, or only later ones are left than are known of growing files. `tick` is called at first, after each buffer or so, and where the merge is
    /// held; it says up to which raw time records may go on.
    pub fn run<B>(
        &mut self,
        mut sink: impl FnMut(Item<'_>, CallStack<'_>) -> ControlFlow<B>,
        mut tick: impl FnMut(Tick<'_>) -> ControlFlow<B, i64>,
    ) -> ControlFlow<B> {
        let ahead = Arc::clone(&self.ahead);
        self.streams.retain(|stream| !stream.is_dry());
        self.heads = Heads::new(self.streams.len());
        let room = Room::of(self.memory, self.streams.len());
        self.most_carried = room.carried;
        ahead.start(self.streams.len(), room);
        rayon::in_place_scope(|scope| {
            let result = self.run_in(scope, &mut sink, &mut tick);
            ahead.stop();
            result
        })
    }

    fn run_in<'scope, B>(
        &mut self,
        scope: &Scope<'scope>,
        sink: &mut impl FnMut(Item<'_>, CallStack<'_>) -> ControlFlow<B>,
        tick: &mut impl FnMut(Tick<'_>) -> ControlFlow<B, i64>,
    ) -> ControlFlow<B>
    where
        'f: 'scope,
    {
        self.ahead.pump(scope);
        for index in 0..self.streams.len() {
            self.go_on(index);
        }
        let mut limit = tick(Tick { totals: &self.totals, is_held: false })?;
        while let Some(First { time, stream, second }) = self.heads.first() {
            if time > self.known_to {
                break;
            }
            let is_held = time > limit;
            if second == time && !is_held {
                self.run_tie(time, sink)?;
            } else if !is_held {
                self.run_ahead(stream, second.min(limit.min(self.known_to).saturating_add(1)), sink)?;
            }
            if self.has_read || is_held {
                self.has_read = false;
                self.ahead.pump(scope);
                limit = tick(Tick { totals: &self.totals, is_held })?;
            }
        }
        self.arrivals.passed = Some(self.known_to);
        if self.known_to == i64::MAX {
            self.report_late();
        }
        ControlFlow::Continue(())
    }

    fn report_late(&mut self) {
        let late = std::mem::take(&mut self.order.late);
        if late == 0 {
            return;
        }
        let detail = format!("{late} events came after later ones had been read; they were applied late");
        self.totals.problems.add(ProblemKind::OutOfOrder, &self.first_file, 0, detail);
    }

    /// The totals so far; complete after [`Merge::run`] went to the end.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Records of one stream, the first of which is earlier than `limit`, as long as they are.
    fn run_ahead<B>(
        &mut self,
        index: usize,
        limit: i64,
        sink: &mut impl FnMut(Item<'_>, CallStack<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let stream = &mut self.streams[index];
        let batch = &stream.current;
        for entry in &batch.entries[stream.at..] {
            if entry.time >= limit {
                break;
            }
            if stream.at.is_multiple_of(TOGETHER) {
                batch.touch(stream.at..stream.at + TOGETHER);
            }
            self.order.emit(batch, entry, sink)?;
            stream.at += 1;
        }
        self.requeue(index);
        ControlFlow::Continue(())
    }

    fn emit<B>(
        &mut self,
        index: usize,
        range: Range<usize>,
        sink: &mut impl FnMut(Item<'_>, CallStack<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let batch = &self.streams[index].current;
        batch.entries[range].iter().try_for_each(|entry| self.order.emit(batch, entry, sink))
    }

    #[inline]
    fn requeue(&mut self, index: usize) {
        let stream = &self.streams[index];
        match stream.current.entries.get(stream.at) {
            Some(entry) => self.heads.set(index, Some(entry.time)),
            None => self.refill(index),
        }
    }

    /// Takes a stream up, at first or when more has come of it.
    fn go_on(&mut self, index: usize) {
        let stream = &self.streams[index];
        match stream.current.entries.get(stream.at) {
            None => self.refill(index),
            Some(_) if stream.ahead.is_none() => self.look_ahead(index),
            Some(next) => self.heads.set(index, Some(next.time)),
        }
    }

    /// Loads the stream's next records.
    fn refill(&mut self, index: usize) {
        let Self { ahead: decoder, streams, heads, totals, arrivals, .. } = self;
        let stream = &mut streams[index];
        self.has_read = true;
        heads.set(index, None);
        stream.at = 0;
        decoder.give_back(std::mem::take(&mut stream.current));
        let Some(batch) = stream.ahead.take().or_else(|| stream.next_batch(decoder, totals, arrivals)) else { return };
        stream.current = batch;
        self.look_ahead(index);
    }

    /// Loads what is behind the stream's records. Those that are not earlier wait: what
    /// comes at one tick may be spread over buffers.
    fn look_ahead(&mut self, index: usize) {
        let Self { ahead: decoder, streams, heads, totals, arrivals, most_carried, .. } = self;
        let stream = &mut streams[index];
        loop {
            stream.ahead = stream.next_batch(decoder, totals, arrivals);
            stream.hold_back(*most_carried);
            if stream.at < stream.current.entries.len() {
                break;
            }
            // None of it is earlier than the next buffer.
            let Some(ahead) = stream.ahead.take() else { break };
            decoder.give_back(std::mem::replace(&mut stream.current, ahead));
            stream.at = 0;
        }
        heads.set(index, stream.current.entries.get(stream.at).map(|entry| entry.time));
    }
}

/// How far the stream of all has come.
#[derive(Debug)]
struct MergeOrder {
    last_time: i64,
    /// Records that came too late.
    late: u64,
}

impl Default for MergeOrder {
    fn default() -> Self {
        Self { last_time: i64::MIN, late: 0 }
    }
}

impl MergeOrder {
    /// Never inlined, so that there is one copy of it, and `sink` in that.
    #[inline(never)]
    fn emit<B>(
        &mut self,
        batch: &Batch,
        entry: &Entry,
        sink: &mut impl FnMut(Item<'_>, CallStack<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        self.late += u64::from(entry.time < self.last_time);
        self.last_time = self.last_time.max(entry.time);
        let item = batch.item(entry);
        let stack = match (entry.stack(), item) {
            (Attached::Key { delay, key }, _) => CallStack::Key { key, time: entry.time.wrapping_add(delay.into()) },
            (Attached::Frames(frames), _) => CallStack::Frames(batch.frames.get(frames)),
            (Attached::Nothing, Item::Block(_)) => CallStack::Nothing,
            (Attached::Nothing, Item::Record(record)) => match record.event {
                Event::Stack { frames, .. } | Event::StackDefinition { frames, .. } => {
                    CallStack::Frames(batch.frames.get(frames))
                }
                _ => CallStack::Nothing,
            },
        };
        sink(item, stack)
    }
}

impl Stream {
    fn next_batch(&mut self, decoder: &Ahead<'_>, totals: &mut Totals, arrivals: &mut Arrivals) -> Option<Batch> {
        // Buffers without records are counted and passed over.
        while let Some(&job) = self.jobs.front() {
            let mut batch = decoder.take(job);
            if batch.rest.is_none() {
                self.jobs.pop_front();
            }
            totals.take(&mut batch);
            if let Some(passed) = arrivals.passed {
                arrivals.late += batch.entries.partition_point(|entry| entry.time <= passed) as u64;
            }
            if !batch.entries.is_empty() {
                return Some(batch);
            }
            decoder.give_back(batch);
        }
        None
    }

    /// Leaves in `current` what is earlier than the next buffer, and puts in what has
    /// waited and is. If more than `most` would wait, all of it goes on.
    fn hold_back(&mut self, most: usize) {
        let Self { current, at, ahead, carried, .. } = self;
        let limit = ahead.as_ref().and_then(|ahead| ahead.entries.first()).map(|first| first.time);
        let mut earlier = carried.take_earlier(limit);
        let is_earlier = |time: i64| limit.is_none_or(|limit| time < limit);
        let first = current.entries.partition_point(|entry| is_earlier(entry.time)).max(*at);
        let waits = current.entries.len() - first;
        if carried.len() + waits > most {
            if let Some(mut rest) = carried.take_earlier(None) {
                earlier.take().into_iter().for_each(|earlier| rest.absorb_earlier(earlier, 0));
                earlier = Some(rest);
            }
        } else if waits > 0 {
            carried.push(current.split_off(first));
        }
        if let Some(earlier) = earlier {
            current.absorb_earlier(earlier, *at);
            *at = 0;
        }
    }

    fn tie_range(&self, time: i64) -> Range<usize> {
        let n = self.current.entries[self.at..].iter().take_while(|e| e.time <= time).count();
        self.at..self.at + n
    }

    /// Whether nothing is left of what came.
    fn is_dry(&self) -> bool {
        self.jobs.is_empty() && self.ahead.is_none() && self.at == self.current.entries.len()
    }
}
