//! All files' per-processor streams as one stream of records in time order.
//!
//! A buffer belongs to one processor, and one processor's buffers in the order of
//! their sequence numbers are in time order; across processors they are not. So
//! the order of the whole is a merge of streams, one for each file and processor.
//! Sessions without per-processor buffering break that rule; therefore a buffer
//! is sorted if need be, and one that overlaps the next is joined with it.
//!
//! Equal times keep the order of their stream. Across streams a free comes before
//! an allocation of the same address; otherwise files and processors come in order.
//!
//! Memory: two decoded buffers a stream. Cost: one comparison with the runner-up
//! for each record, a heap operation only where the lead changes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::{ControlFlow, Range};

use rustc_hash::FxHashMap;

use super::{Batch, Event, EventCounts, Record, decode_buffer};
use crate::etl::{ReadBuffer, TraceFile};
use crate::problem::{ProblemKind, Problems};

/// At most so many buffers of a stream are joined when they overlap, so that one
/// wild timestamp cannot pull a whole file into memory.
const MAX_JOINED: usize = 8;

/// Ties larger than this are left in stream order.
const MAX_TIE: usize = 1 << 16;

/// The merged stream of one capture's files.
#[derive(Debug)]
pub struct Merge<'f> {
    streams: Vec<Stream<'f>>,
    /// Streams that have a record, by the time of that record.
    queue: BinaryHeap<Reverse<(i64, usize)>>,
    scratch: ReadBuffer,
    last_time: i64,
    late: u64,
    totals: Totals,
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

#[derive(Debug)]
struct Stream<'f> {
    file: &'f TraceFile,
    /// Indices of buffers still to read, the next one last.
    buffers: Vec<usize>,
    current: Batch,
    at: usize,
    ahead: Option<Batch>,
}

impl<'f> Merge<'f> {
    /// Prepares the merge of all buffers of all files; reads the first of each stream.
    pub fn new(files: &'f [TraceFile]) -> Self {
        let mut merge = Self {
            streams: files.iter().flat_map(streams_of).collect(),
            queue: BinaryHeap::new(),
            scratch: ReadBuffer::default(),
            last_time: i64::MIN,
            late: 0,
            totals: Totals::default(),
        };
        for index in 0..merge.streams.len() {
            merge.refill(index);
        }
        merge
    }

    /// Gives every record to `sink`, with the frames of its stack, until it breaks.
    /// `tick` is called after each buffer or so with the totals so far.
    pub fn run<B>(
        &mut self,
        mut sink: impl FnMut(&Record, &[u64]) -> ControlFlow<B>,
        mut tick: impl FnMut(&Totals) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        while let Some(Reverse((time, index))) = self.queue.pop() {
            match self.queue.peek() {
                Some(Reverse((second, _))) if *second == time => self.run_tie(time, index, &mut sink)?,
                second => {
                    let limit = second.map_or(i64::MAX, |Reverse((time, _))| *time);
                    self.run_ahead(index, limit, &mut sink)?;
                }
            }
            tick(&self.totals)?;
        }
        if self.late > 0 {
            let detail = format!("{} events came after later ones had been read; they were applied late", self.late);
            let file = self.streams.first().map_or("", |s| s.file.name.as_str());
            self.totals.problems.add(ProblemKind::OutOfOrder, file, 0, detail);
            self.late = 0;
        }
        ControlFlow::Continue(())
    }

    /// The totals so far; complete after [`Merge::run`] went to the end.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Records of one stream as long as they are earlier than `limit` (or the last
    /// stream's to the end of its batch).
    fn run_ahead<B>(
        &mut self,
        index: usize,
        limit: i64,
        sink: &mut impl FnMut(&Record, &[u64]) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let stream = &mut self.streams[index];
        let from = stream.at;
        let records = &stream.current.records[from..];
        let alone = limit == i64::MAX;
        let n = if alone { records.len() } else { records.partition_point(|r| r.time < limit) };
        self.emit(index, from..from + n, sink)?;
        self.streams[index].at = from + n;
        self.requeue(index);
        ControlFlow::Continue(())
    }

    /// Records of all streams at one time, frees of an address first.
    fn run_tie<B>(
        &mut self,
        time: i64,
        first: usize,
        sink: &mut impl FnMut(&Record, &[u64]) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut members = vec![first];
        while let Some(Reverse((_, index))) = self.queue.peek().copied().filter(|Reverse((t, _))| *t == time) {
            members.push(index);
            self.queue.pop();
        }
        members.sort_unstable();
        let ranges: Vec<(usize, Range<usize>)> = members.iter().map(|&i| (i, self.streams[i].tie_range(time))).collect();
        for (index, at) in self.tie_order(&ranges) {
            self.emit(index, at..at + 1, sink)?;
        }
        for (index, range) in ranges {
            self.streams[index].at = range.end;
            self.requeue(index);
        }
        ControlFlow::Continue(())
    }

    fn emit<B>(
        &mut self,
        index: usize,
        range: Range<usize>,
        sink: &mut impl FnMut(&Record, &[u64]) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let batch = &self.streams[index].current;
        for record in &batch.records[range] {
            if record.time < self.last_time {
                self.late += 1;
            } else {
                self.last_time = record.time;
            }
            let frames = match record.event {
                Event::Stack { frames, .. } | Event::StackDefinition { frames, .. } => batch.frames(frames),
                _ => &[],
            };
            sink(record, frames)?;
        }
        ControlFlow::Continue(())
    }

    fn requeue(&mut self, index: usize) {
        let stream = &self.streams[index];
        match stream.current.records.get(stream.at) {
            Some(record) => self.queue.push(Reverse((record.time, index))),
            None => self.refill(index),
        }
    }

    /// Loads the stream's next records, joined with following buffers that overlap.
    fn refill(&mut self, index: usize) {
        let (stream, scratch, totals) = (&mut self.streams[index], &mut self.scratch, &mut self.totals);
        stream.at = 0;
        stream.current = match stream.ahead.take().or_else(|| stream.next_batch(scratch, totals)) {
            Some(batch) => batch,
            None => {
                stream.current = Batch::default();
                return;
            }
        };
        for _ in 0..MAX_JOINED {
            stream.ahead = stream.next_batch(scratch, totals);
            let Some(ahead) = &stream.ahead else { break };
            let overlaps = match (stream.current.records.last(), ahead.records.first()) {
                (Some(last), Some(first)) => first.time <= last.time,
                _ => false,
            };
            if !overlaps {
                break;
            }
            if let Some(ahead) = stream.ahead.take() {
                stream.current.absorb(ahead);
            }
        }
        if let Some(record) = stream.current.records.first() {
            self.queue.push(Reverse((record.time, index)));
        }
    }

    /// The order of records that have the same time in several streams.
    fn tie_order(&self, ranges: &[(usize, Range<usize>)]) -> Vec<(usize, usize)> {
        let total: usize = ranges.iter().map(|(_, r)| r.len()).sum();
        let mut order = Vec::with_capacity(total);
        let mut waiting = if total <= MAX_TIE { self.pending_frees(ranges) } else { FxHashMap::default() };
        if waiting.is_empty() {
            order.extend(ranges.iter().flat_map(|(index, range)| range.clone().map(|at| (*index, at))));
            return order;
        }
        let mut heads: Vec<(usize, Range<usize>)> = ranges.to_vec();
        while !heads.is_empty() {
            // A circle of streams that wait for each other is cut at the first.
            let next = heads.iter().position(|(index, range)| !self.must_wait(*index, range.start, &waiting)).unwrap_or(0);
            let (index, range) = &mut heads[next];
            let (index, at) = (*index, range.start);
            range.start += 1;
            if range.start == range.end {
                heads.remove(next);
            }
            if let Some(count) =
                freed(&self.streams[index].current.records[at].event).and_then(|block| waiting.get_mut(&(block, index)))
            {
                *count -= 1;
            }
            order.push((index, at));
        }
        order
    }

    /// How many frees of each block each stream still has in a tie; empty if no
    /// other stream allocates any of them.
    fn pending_frees(&self, ranges: &[(usize, Range<usize>)]) -> FxHashMap<(Block, usize), usize> {
        let records = || {
            ranges
                .iter()
                .flat_map(|(index, range)| self.streams[*index].current.records[range.clone()].iter().map(|r| (*index, r)))
        };
        let mut frees: FxHashMap<(Block, usize), usize> = FxHashMap::default();
        for (index, record) in records() {
            if let Some(block) = freed(&record.event) {
                *frees.entry((block, index)).or_default() += 1;
            }
        }
        let matters = !frees.is_empty()
            && records().any(|(index, record)| {
                allocated(&record.event)
                    .is_some_and(|block| ranges.iter().any(|(other, _)| *other != index && frees.contains_key(&(block, *other))))
            });
        if matters { frees } else { FxHashMap::default() }
    }

    fn must_wait(&self, index: usize, at: usize, waiting: &FxHashMap<(Block, usize), usize>) -> bool {
        let Some(block) = allocated(&self.streams[index].current.records[at].event) else { return false };
        (0..self.streams.len()).any(|other| other != index && waiting.get(&(block, other)).is_some_and(|&n| n > 0))
    }
}

/// What makes two events speak of the same block: layer, heap and address.
type Block = (crate::units::Layer, u64, u64);

fn freed(event: &Event) -> Option<Block> {
    match event {
        Event::Free { layer, heap, address } => Some((*layer, *heap, *address)),
        Event::Realloc { layer, heap, old, .. } => Some((*layer, *heap, *old)),
        Event::VirtualFree(range) => Some((crate::units::Layer::Commit, range.owner.0.into(), range.base)),
        _ => None,
    }
}

fn allocated(event: &Event) -> Option<Block> {
    match event {
        Event::Alloc { layer, heap, address, .. } => Some((*layer, *heap, *address)),
        Event::Realloc { layer, heap, new, .. } => Some((*layer, *heap, *new)),
        Event::VirtualAlloc(range) => Some((crate::units::Layer::Commit, range.owner.0.into(), range.base)),
        _ => None,
    }
}

impl Stream<'_> {
    fn next_batch(&mut self, scratch: &mut ReadBuffer, totals: &mut Totals) -> Option<Batch> {
        // Buffers without records are counted and passed over.
        while let Some(index) = self.buffers.pop() {
            let mut batch = decode_buffer(self.file, &self.file.buffers[index], scratch);
            totals.take(&mut batch);
            if !batch.records.is_empty() {
                return Some(batch);
            }
        }
        None
    }

    fn tie_range(&self, time: i64) -> Range<usize> {
        let n = self.current.records[self.at..].partition_point(|r| r.time <= time);
        self.at..self.at + n
    }
}

/// One stream for each processor of a file, its buffers in reverse order of reading.
fn streams_of(file: &TraceFile) -> Vec<Stream<'_>> {
    let mut order: Vec<usize> = (0..file.buffers.len()).collect();
    order.sort_by_key(|&i| {
        let buffer = &file.buffers[i];
        (buffer.processor, Reverse((buffer.sequence, i)))
    });
    order
        .chunk_by(|&a, &b| file.buffers[a].processor == file.buffers[b].processor)
        .map(|run| Stream { file, buffers: run.to_vec(), current: Batch::default(), at: 0, ahead: None })
        .collect()
}
