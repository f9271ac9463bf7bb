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
//! With other names ([`Request::anonymises`]) only events are written that are understood, anew from what they mean;
//! what else there is, is left out.
//!
//! Memory beyond the trace: three buffers and what is late for each file and processor, the latest
//! events with stacks ([`owners`]), what names processes and threads. Cost: one pass, each event decoded alone.

mod acting;
mod after;
mod alive;
mod at_once;
mod before;
mod known;
mod names;
mod output;
mod owners;
mod session;
mod stacks;
mod stream;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Seek, Write};

use thiserror::Error;

use crate::etl::write::{WriteError, Writer};
use crate::etl::{RawEvent, TraceFile};
use crate::events::encode::RecordWriter;
use crate::events::{Batch, Event, PageRange, ProcessChange, RawItem, RawReading, Record, decode_event};
use crate::model::{Processes, Trace};
use crate::problem::{Problem, ProblemKind, Problems};
use crate::units::{Interval, Layer, Pid, PointerSize, Ticks, Tid};
use acting::Acting;
use after::After;
use alive::Alive;
use known::Known;
use output::{Input, Output};
use stacks::{KeptStacks, Stashed};
use stream::{Stream, streams_of};

/// The part to cut out, and from which files.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Files of one capture, ...
    pub files: &'a [TraceFile],
    /// ... the trace that they make, ...
    pub trace: &'a Trace,
    /// ... and its raw start.
    pub trace_start: i64,
    /// Which part.
    pub interval: Interval,
    /// Whose memory.
    pub processes: &'a Processes,
    /// Whether names are replaced.
    pub anonymises: bool,
}

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
    #[error("the buffers of its processors would take {} of memory at once; cut fewer files together", crate::format::rough_bytes(*.0))]
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

/// One pass over all events.
struct Pass<'a, W> {
    request: Request<'a>,
    out: Output<W>,
    /// Raw times of the interval's edges.
    from: i64,
    to: i64,
    /// The latest time that was met.
    now: i64,
    /// Whether the interval has begun.
    has_begun: bool,
    alive: Alive<'a>,
    stacks: KeptStacks,
    acting: Acting,
    known: Known,
    after: After,
}

impl<'a, W: Write + Seek> Pass<'a, W> {
    fn new(request: &Request<'a>, w: RecordWriter<W>) -> Self {
        let Request { trace, trace_start, interval, processes, anonymises, .. } = *request;
        let raw = |at: Ticks| trace_start.saturating_add(at.0);
        let (from, to) = (raw(interval.from), raw(interval.to));
        Self {
            request: *request,
            out: Output::new(w, anonymises),
            from,
            to,
            now: i64::MIN,
            has_begun: false,
            alive: Alive::new(trace, trace_start, interval.from, processes),
            stacks: KeptStacks::default(),
            acting: Acting::default(),
            known: Known::default(),
            after: After::new(trace, trace_start, interval.to),
        }
    }

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
                decode_event(&raw, batch);
                let input = Input { processor, time, bytes, raw, batch };
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
                    if !wants_all && is_memory(&record.event) {
                        self.stacks.keep(&record);
                    }
                    self.note(&record);
                }
            }
        }
        self.out.event(input)
    }

    /// Whether a record is about memory of processes that are not wanted.
    fn is_of_others(&self, record: &Record) -> bool {
        let owner = match &record.event {
            Event::VirtualAlloc(PageRange { owner, .. }) | Event::VirtualFree(PageRange { owner, .. }) => *owner,
            Event::CommitRundown(region) => region.owner,
            event if is_memory(event) => record.pid,
            _ => return false,
        };
        owner.is_known() && !self.request.processes.has(owner)
    }

    /// Learns names and process lifetimes from a record that is written.
    fn note(&mut self, record: &Record) {
        match record.event {
            Event::Process(ProcessChange::Start | ProcessChange::End, _) => self.stacks.forget_process(record.pid),
            Event::ThreadStart => self.stacks.forget_thread(record.pid, record.tid),
            _ => {}
        }
        self.acting.note(record);
        self.known.note(record);
    }

    /// Events that turned out to be needed.
    fn unstash(&mut self, stashed: impl IntoIterator<Item = Stashed>) -> Result<(), WriteError> {
        let mut batch = Batch::default();
        for Stashed { processor, time, bytes } in stashed {
            let Some(raw) = RawEvent::parse(&bytes) else { continue };
            decode_event(&raw, &mut batch);
            let input = Input { processor, time, bytes: &bytes, raw, batch: &batch };
            for (record, frames) in input.records() {
                let definition = self.stacks.keep_stack(&record, frames);
                self.unstash_definition(definition)?;
            }
            self.out.event(&input)?;
        }
        Ok(())
    }

    fn unstash_definition(&mut self, definition: Option<Stashed>) -> Result<(), WriteError> {
        definition.map_or(Ok(()), |definition| self.unstash_one(&definition))
    }

    fn unstash_one(&mut self, Stashed { processor, time, bytes }: &Stashed) -> Result<(), WriteError> {
        let Some(raw) = RawEvent::parse(bytes) else { return Ok(()) };
        let mut batch = Batch::default();
        decode_event(&raw, &mut batch);
        self.out.event(&Input { processor: *processor, time: *time, bytes, raw, batch: &batch })
    }
}

/// Whether an event is one of heaps, trackers or pages.
fn is_memory(event: &Event) -> bool {
    match event {
        Event::HeapOpen { layer, .. }
        | Event::HeapClose { layer, .. }
        | Event::Alloc { layer, .. }
        | Event::Free { layer, .. }
        | Event::Realloc { layer, .. } => *layer != Layer::Commit,
        Event::VirtualAlloc(_) | Event::VirtualFree(_) | Event::CommitRundown(_) => true,
        Event::Stack { .. }
        | Event::StackRef { .. }
        | Event::StackDefinition { .. }
        | Event::Process(..)
        | Event::ThreadStart
        | Event::ThreadRundown
        | Event::ThreadName(_)
        | Event::Image(..)
        | Event::ImageFile(_)
        | Event::ImageId(_)
        | Event::Volume(_)
        | Event::Counter(_)
        | Event::Sample { .. }
        | Event::Activity(_)
        | Event::Lost(_) => false,
    }
}
