//! Reads one processor's records of one file, buffer by buffer.
//!
//! A buffer is decoded when the one before it begins to be used: records that are not earlier than its
//! first record wait ([`ReorderBuffer`]), so that the current records of a stream are complete up to the
//! buffer behind them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::reorder_buffer::ReorderBuffer;
use super::run::Run;
use super::totals::{Arrivals, Totals};
use crate::events::Batch;
use crate::events::prefetch::Prefetch;

/// Number of a file among all, and the processor.
pub(super) type StreamKey = (u64, u16);

/// The records of one processor in one file.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) key: StreamKey,
    /// Buffers still to read, by number.
    pub(super) jobs: VecDeque<usize>,
    /// Its current records; slices that are made or replayed share them.
    current: Arc<Batch>,
    at: usize,
    ahead: Option<Batch>,
    /// Records of buffers that were read, not earlier than `ahead`.
    reorder_buffer: ReorderBuffer,
}

/// The decoder from which streams read, and the totals to which they add.
pub(super) struct Reading<'a, 'f> {
    pub(super) decoder: &'a Prefetch<'f>,
    pub(super) totals: &'a mut Totals,
    pub(super) arrivals: &'a mut Arrivals,
    /// Most records of a stream that may wait.
    pub(super) most_reordered: usize,
    /// Bytes of batches that slices still hold, but no stream.
    pub(super) retired: &'a mut usize,
}

impl Reading<'_, '_> {
    /// Takes back a batch that a stream no longer needs.
    fn retire(&mut self, batch: Arc<Batch>) {
        match Arc::try_unwrap(batch) {
            Ok(batch) => self.decoder.give_back(batch),
            Err(shared) => *self.retired += shared.memory(),
        }
    }
}

impl Stream {
    pub(super) fn new(key: StreamKey) -> Self {
        Self { key, ..Self::default() }
    }

    /// The time of the next record.
    pub(super) fn next(&self) -> Option<i64> {
        self.current.entries.get(self.at).map(|entry| entry.time)
    }

    /// The last time, included, up to which its current records are all that it has.
    pub(super) fn complete_to(&self) -> i64 {
        let behind = self.ahead.as_ref().and_then(|ahead| ahead.entries.first());
        // If too many would wait, they go on instead, however late they are.
        let last = self.current.entries.last().map_or(i64::MIN, |entry| entry.time);
        behind.map_or(i64::MAX, |behind| behind.time.saturating_sub(1).max(last))
    }

    /// The time of the record behind the next `count` ones.
    pub(super) fn time_behind(&self, count: usize) -> Option<i64> {
        self.current.entries.get(self.at.saturating_add(count)).map(|entry| entry.time)
    }

    /// Whether nothing is left of the buffers that came.
    pub(super) fn is_dry(&self) -> bool {
        self.jobs.is_empty() && self.ahead.is_none() && self.next().is_none()
    }

    /// Takes out its current records up to a time, that included.
    pub(super) fn take_to(&mut self, time: i64) -> Option<Run> {
        let left = &self.current.entries[self.at..];
        let count = left.partition_point(|entry| entry.time <= time);
        let range: Range<usize> = self.at..self.at + count;
        self.at = range.end;
        (count > 0).then(|| Run { file: self.key.0, batch: Arc::clone(&self.current), range })
    }

    /// Starts to read the stream, or goes on when more of it has come.
    pub(super) fn go_on(&mut self, reading: &mut Reading<'_, '_>) {
        if self.next().is_none() {
            self.refill(reading);
        } else if self.ahead.is_none() {
            self.look_ahead(reading);
        }
    }

    /// Loads the stream's next records, if it has none now.
    pub(super) fn refill(&mut self, reading: &mut Reading<'_, '_>) {
        if self.next().is_some() {
            return;
        }
        self.at = 0;
        reading.retire(std::mem::take(&mut self.current));
        let Some(batch) = self.ahead.take().or_else(|| self.next_batch(reading)) else { return };
        self.current = Arc::new(batch);
        self.look_ahead(reading);
    }

    /// Loads the buffer behind the current records. Records that are not earlier than it wait, because
    /// the records of one tick may be spread over buffers.
    fn look_ahead(&mut self, reading: &mut Reading<'_, '_>) {
        loop {
            self.ahead = self.next_batch(reading);
            self.hold_back(reading.most_reordered);
            if self.next().is_some() {
                return;
            }
            // No record is earlier than the next buffer.
            let Some(ahead) = self.ahead.take() else { return };
            reading.retire(std::mem::replace(&mut self.current, Arc::new(ahead)));
            self.at = 0;
        }
    }

    fn next_batch(&mut self, reading: &mut Reading<'_, '_>) -> Option<Batch> {
        // Buffers without records are counted and passed over.
        while let Some(&job) = self.jobs.front() {
            let mut batch = reading.decoder.take(job);
            if batch.rest.is_none() {
                self.jobs.pop_front();
            }
            reading.totals.take(&mut batch);
            reading.totals.copies.count(self.key.0, &batch);
            if let Some(passed) = reading.arrivals.passed {
                reading.arrivals.late += batch.entries.partition_point(|entry| entry.time <= passed) as u64;
            }
            if !batch.entries.is_empty() {
                return Some(batch);
            }
            reading.decoder.give_back(batch);
        }
        None
    }

    /// Leaves in `current` the records that are earlier than the next buffer, and adds those that have
    /// waited and are earlier now. If more than `most` would wait, all of them go on.
    fn hold_back(&mut self, most: usize) {
        let limit = self.ahead.as_ref().and_then(|ahead| ahead.entries.first()).map(|first| first.time);
        let mut earlier = self.reorder_buffer.take_earlier(limit);
        let is_earlier = |time: i64| limit.is_none_or(|limit| time < limit);
        let first = self.current.entries.partition_point(|entry| is_earlier(entry.time)).max(self.at);
        let waits = self.current.entries.len() - first;
        let is_much = self.reorder_buffer.len() + waits > most;
        if is_much && let Some(mut rest) = self.reorder_buffer.take_earlier(None) {
            earlier.take().into_iter().for_each(|earlier| rest.absorb_earlier(earlier, 0));
            earlier = Some(rest);
        }
        if !is_much && waits > 0 {
            let late = self.own().split_off(first);
            self.reorder_buffer.push(late);
        }
        if let Some(earlier) = earlier {
            let at = std::mem::take(&mut self.at);
            self.own().absorb_earlier(earlier, at);
        }
    }

    /// Its current records, to change: others hold them only while slices are made of them.
    fn own(&mut self) -> &mut Batch {
        Arc::make_mut(&mut self.current)
    }
}
