//! State of the pass over all events, and what all parts of the pass do with it.

use std::io::{Seek, Write};

use super::acting::Acting;
use super::after::After;
use super::alive::Alive;
use super::known::Known;
use super::output::{Input, Output};
use super::request::Request;
use super::shared::SharedTrackers;
use super::stacks::{KeptStacks, Stashed};
use crate::etl::RawEvent;
use crate::etl::write::WriteError;
use crate::events::encode::RecordWriter;
use crate::events::{Batch, Event, Memory, ProcessChange, Record, decode_event};
use crate::units::Ticks;

/// One pass over all events.
pub(super) struct Pass<'a, W> {
    pub(super) request: Request<'a>,
    pub(super) out: Output<W>,
    /// Raw times of the interval's edges.
    pub(super) from: i64,
    pub(super) to: i64,
    /// The latest time that was met.
    pub(super) now: i64,
    /// Whether the interval has begun.
    pub(super) has_begun: bool,
    pub(super) alive: Alive<'a>,
    pub(super) stacks: KeptStacks,
    pub(super) acting: Acting,
    pub(super) known: Known,
    pub(super) after: After,
    pub(super) shared: SharedTrackers,
}

impl<'a, W: Write + Seek> Pass<'a, W> {
    pub(super) fn new(request: &Request<'a>, w: RecordWriter<W>) -> Self {
        let Request { trace, trace_start, interval, processes, anonymises, .. } = *request;
        let raw = |at: Ticks| trace_start.saturating_add(at.0);
        let (from, to) = (raw(interval.from), raw(interval.to));
        Self {
            request: *request,
            out: Output::new(w, trace, anonymises),
            shared: SharedTrackers::default(),
            from,
            to,
            now: i64::MIN,
            has_begun: false,
            alive: Alive::new(trace, trace_start, interval.from, processes),
            stacks: KeptStacks::default(),
            acting: Acting::default(),
            known: Known::new(trace.clock.frequency),
            after: After::new(trace, trace_start, interval.to),
        }
    }

    /// Whether a record is about memory of processes that are not wanted.
    pub(super) fn is_of_others(&self, record: &Record) -> bool {
        record.memory().is_some_and(|Memory { pid, .. }| pid.is_known() && !self.request.processes.has(pid))
    }

    /// Learns names and process lifetimes from a record that is written.
    pub(super) fn note(&mut self, record: &Record) {
        match record.event {
            Event::Process(ProcessChange::Start | ProcessChange::End, _) => {
                self.stacks.forget_process(record.pid);
                self.out.forget_trackers(record.pid);
            }
            Event::ThreadStart(_) => self.stacks.forget_thread(record.pid, record.tid),
            _ => {}
        }
        self.acting.note(record);
        self.known.note(record);
    }

    /// Events that turned out to be needed.
    pub(super) fn unstash(&mut self, stashed: impl IntoIterator<Item = Stashed>) -> Result<(), WriteError> {
        let mut batch = Batch::default();
        for Stashed { processor, time, bytes } in stashed {
            let Some(raw) = RawEvent::parse(&bytes) else { continue };
            decode_event(&raw, self.request.trackers, &mut batch);
            let input = Input { processor, time, bytes: &bytes, raw, batch: &batch, is_translated: false };
            for (record, frames) in input.records() {
                let definition = self.stacks.keep_stack(&record, frames);
                self.unstash_definition(definition)?;
            }
            self.out.event(&input)?;
        }
        Ok(())
    }

    pub(super) fn unstash_definition(&mut self, definition: Option<Stashed>) -> Result<(), WriteError> {
        definition.map_or(Ok(()), |definition| self.unstash_one(&definition))
    }

    fn unstash_one(&mut self, Stashed { processor, time, bytes }: &Stashed) -> Result<(), WriteError> {
        let Some(raw) = RawEvent::parse(bytes) else { return Ok(()) };
        let mut batch = Batch::default();
        decode_event(&raw, self.request.trackers, &mut batch);
        self.out.event(&Input { processor: *processor, time: *time, bytes, raw, batch: &batch, is_translated: false })
    }
}
