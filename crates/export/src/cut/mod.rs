//! An interval of a capture as a trace of its own, with the same numbers: `highwater cut`.
//!
//! The trace start stays, so times mean the same. The trace that the capture makes is known already, and with it what
//! is alive where the interval begins; the events of all files are then gone through once more, in
//! the order of the replay, with all their bytes:
//!
//! | time | written |
//! |-|-|
//! | before | what gives names and state (processes, threads, images, managed code, heaps, volumes, counters, losses), the allocations of blocks that are alive where the interval begins, all events of pages, and the stacks of these |
//! | in it | everything; but nothing of other processes' memory where only some are wanted |
//! | after | what names things of before: rundowns, definitions of stack keys, stacks that come late, as if they stood at its end |
//!
//! What happens after the interval is not in the trace: blocks that were freed later are never freed.
//!
//! Where the files tell events twice ([`at_once`]), they are written once: the rule looks at several files, and what
//! is written is one.
//!
//! Events that a user's mapping makes blocks of a tracker are written as such, so that the trace has the same numbers
//! without the mapping. With other names ([`Request::anonymises`]) only events are written that are understood, anew from what they mean;
//! what else there is, is left out.
//!
//! Memory beyond the trace: three buffers and what is late for each file and processor, the latest
//! events with stacks ([`owners`]), what names processes and threads. Cost: one pass, each event decoded alone.

mod acting;
mod after;
mod alive;
mod at_once;
mod before;
mod behind;
mod known;
mod names;
mod output;
mod owners;
mod pass;
mod request;
mod session;
mod shared;
mod stacks;
mod stream;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Seek, Write};

use thiserror::Error;

use crate::etl::RawEvent;
use crate::etl::write::{WriteError, Writer};
use crate::events::encode::RecordWriter;
use crate::events::{Batch, Event, RawItem, RawReading, Record, decode_event};
use crate::model::Processes;
use crate::problem::{Problem, ProblemKind, Problems};
use crate::units::{Pid, PointerSize, Tid};
use output::Input;
use pass::Pass;
pub use request::Request;
use stream::{Stream, streams_of};

/// Counts of the events written and left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Events, the session header not among them.
    pub events: u64,
    /// Events that were left out because they could have told names.
    pub left_out: u64,
}

/// Why there is no trace.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CutError {
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// There are so many processors, or their buffers are so large, that they cannot be put into order.
    #[error("the buffers of its processors would take {} of memory at once; cut fewer files together", highwater_engine::format::rough_bytes(*.0))]
    TooMuchAtOnce(u64),
    /// A file cannot be read for the second time.
    #[error("{0}")]
    Unreadable(String),
    /// Whoever asked does not want it any more.
    #[error("stopped")]
    Stopped,
}

/// Bytes of buffers that are read at once.
const MOST_AT_ONCE: u64 = 2 << 30;

/// Writes the trace. `progress` is told bytes done and bytes in all, and says whether to go on.
pub fn cut<W: Write + Seek>(
    request: &Request<'_>,
    out: W,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Summary, CutError> {
    let (streams, processors) = streams_of(request.files);
    let written = u64::from(processors) * u64::from(session::BUFFER_SIZE);
    let at_once = streams.iter().map(Stream::memory).fold(written, u64::saturating_add);
    if at_once > MOST_AT_ONCE {
        return Err(CutError::TooMuchAtOnce(at_once));
    }
    let session = session::of(request.files, processors, request.anonymises);
    let writer = Writer::new(out, session)?;
    Pass::new(request, RecordWriter::new(writer)).run(streams, progress)
}

impl<W: Write + Seek> Pass<'_, W> {
    fn run(mut self, mut streams: Vec<Stream<'_>>, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<Summary, CutError> {
        let total = self.request.files.iter().map(|file| file.bytes).sum();
        let (mut reading, mut batch) = (RawReading::default(), Batch::default());
        let mut order = BinaryHeap::new();
        for (index, stream) in streams.iter_mut().enumerate() {
            stream.refill(&mut reading);
            order.extend(stream.time().map(|time| Reverse((time, index))));
        }
        // What was found twice is written once, as it was counted.
        let has_copies = self.request.trace.quality.duplicate_events > 0;
        while let Some(Reverse((time, index))) = order.pop() {
            if has_copies {
                let mut at_once = vec![index];
                while let Some(&Reverse((_, index))) = order.peek().filter(|Reverse((other, _))| *other == time) {
                    order.pop();
                    at_once.push(index);
                }
                self.write_at_once(&mut streams, &at_once, time, &mut reading)?;
                if !progress(reading.bytes.min(total), total) {
                    return Err(CutError::Stopped);
                }
                order.extend(at_once.into_iter().filter_map(|index| Some(Reverse((streams[index].time()?, index)))));
                continue;
            }
            let second = order.peek().map_or((i64::MAX, usize::MAX), |Reverse(second)| *second);
            let stream = &mut streams[index];
            while stream.time().is_some_and(|time| (time, index) <= second) {
                let processor = stream.processor;
                let Some((time, item)) = stream.next() else { break };
                self.next(processor, time, item, &mut batch)?;
            }
            if stream.time().is_none() {
                stream.refill(&mut reading);
                if !progress(reading.bytes.min(total), total) {
                    return Err(CutError::Stopped);
                }
            }
            order.extend(stream.time().map(|time| Reverse((time, index))));
        }
        self.check_read(&reading.problems)?;
        self.begin(0)?;
        self.split_pages()?;
        let end = self.now.min(self.to.saturating_sub(1)).max(self.from);
        for info in self.request.descriptions {
            self.out.description(end, info)?;
        }
        let summary = Summary { events: self.out.events, left_out: self.out.left_out };
        self.out.finish()?;
        Ok(summary)
    }

    /// Whether the files were what they were when the trace was made of them.
    fn check_read(&self, problems: &Problems) -> Result<(), CutError> {
        let is_lost = |problem: &Problem| matches!(problem.kind, ProblemKind::ReadFailed | ProblemKind::TruncatedBuffer);
        let was_lost = self.request.trace.problems.iter().filter(|problem| is_lost(problem)).count();
        let lost: Vec<Problem> = problems.list().into_iter().filter(is_lost).collect();
        match lost.last() {
            Some(last) if lost.len() > was_lost => Err(CutError::Unreadable(format!("{}: {}", last.file, last.detail))),
            _ => Ok(()),
        }
    }

    fn next(&mut self, processor: u16, time: i64, item: RawItem<'_>, batch: &mut Batch) -> Result<(), WriteError> {
        // What comes later than its time happens when it comes.
        let is_later = time > self.now;
        self.now = self.now.max(time);
        if self.now >= self.from {
            self.begin(processor)?;
        } else if is_later {
            for block in self.alive.advance(time) {
                self.write_block(processor, &block)?;
            }
        }
        self.stacks.at(time);
        match item {
            RawItem::Lost(what) if self.now < self.to.max(self.from) => {
                let record = Record { time, pid: Pid::NONE, tid: Tid::NONE, event: Event::Lost(what.into()) };
                self.out.record(processor, record, &[], PointerSize::Eight)
            }
            RawItem::Lost(_) => Ok(()),
            RawItem::Event(bytes) => {
                let Some(raw) = RawEvent::parse(bytes) else { return Ok(()) };
                decode_event(&raw, self.request.trackers, batch);
                self.shared.tell(batch);
                let is_translated = self.request.trackers.is_users(&raw);
                let input = Input { processor, time, bytes, raw, batch, is_translated };
                match () {
                    () if self.now < self.from => self.before(&input),
                    () if self.now < self.to => self.inside(&input),
                    () => self.behind(&input),
                }
            }
        }
    }

    /// Where the interval begins, all blocks that are alive there are written.
    fn begin(&mut self, processor: u16) -> Result<(), WriteError> {
        if self.has_begun {
            return Ok(());
        }
        self.has_begun = true;
        for _ in 0..2 {
            for block in self.alive.advance(i64::MAX) {
                self.write_block(processor, &block)?;
            }
        }
        Ok(())
    }

    /// An event in the interval.
    fn inside(&mut self, input: &Input<'_>) -> Result<(), WriteError> {
        let wants_all = *self.request.processes == Processes::All;
        let mut records = input.records().peekable();
        if !wants_all
            && let Some((record, _)) = records.peek()
            && self.is_of_others(record)
        {
            self.stacks.leave_out(record, true);
            return Ok(());
        }
        for (record, frames) in records {
            match record.event {
                Event::Stack { .. } | Event::StackRef { .. } => {
                    if !wants_all && self.stacks.is_left_out(&record) {
                        return Ok(());
                    }
                    self.stacks.keep_stack(&record, frames);
                }
                Event::StackDefinition { part, key, .. } => drop(self.stacks.define(part, key)),
                _ => {
                    if record.event.is_memory() {
                        self.stacks.keep(&record);
                    }
                    self.note(&record);
                }
            }
        }
        self.out.event(input)
    }
}
