//! Events behind the interval: what of them names what was there in it.
//!
//! They are written as if they stood at its end, in one processor's stream, so that their order stays.
//! Only the start of a process that had pages before it keeps its time: it tells whose they are.

use std::io::{Seek, Write};

use super::after::PagePart;
use super::output::Input;
use super::pass::Pass;
use super::stacks::Stashed;
use crate::etl::RawEvent;
use crate::etl::write::WriteError;
use crate::events::{Batch, Event, PageRange, ProcessChange, Record, decode_event, describes, mem};
use crate::model::pairing::owner_and_part;
use crate::tables;
use crate::units::{Pid, PointerSize, Tid};

impl<W: Write + Seek> Pass<'_, W> {
    /// All has been read: pages of which parts go later are split.
    pub(super) fn split_pages(&mut self) -> Result<(), WriteError> {
        self.out.ends();
        for (owner, PagePart { address, size, .. }) in std::mem::take(&mut self.after.parts) {
            if self.request.processes.has(owner) {
                let range = PageRange { base: address, size, owner, flags: mem::DECOMMIT };
                let record = Record { time: self.after.time, pid: Pid::NONE, tid: Tid::NONE, event: Event::VirtualFree(range) };
                self.out.record(0, record, &[], PointerSize::Eight)?;
            }
        }
        Ok(())
    }

    /// An event behind the interval.
    pub(super) fn behind(&mut self, input: &Input<'_>) -> Result<(), WriteError> {
        self.out.ends();
        let mut records = input.records().peekable();
        if records.peek().is_none() && describes(input.raw.id) {
            return self.event_late(input);
        }
        for (record, frames) in records {
            match record.event {
                Event::Stack { .. } | Event::StackRef { .. } => self.stack_behind(input, record, frames)?,
                Event::StackDefinition { part, key, .. } => {
                    if self.stacks.define(part, key) {
                        self.after.defined.insert((part, key));
                        self.late(input, record, frames)?;
                    }
                    // Whatever names the key at the same tick means it, too.
                    self.stacks.stash_definition(part, key, input.stashed());
                }
                Event::ThreadStart(_) => self.stacks.forget_thread(record.pid, record.tid),
                Event::Process(change, _) => {
                    if change != ProcessChange::Rundown {
                        self.stacks.forget_process(record.pid);
                    }
                    if change == ProcessChange::Start && self.after.prepared.remove(&(record.pid, record.time)) {
                        self.known.starts_later(record.pid);
                        return self.out.event(input);
                    }
                    self.name_behind(input, record)?;
                }
                _ if self.is_of_others(&record) => {}
                _ => self.name_behind(input, record)?,
            }
        }
        Ok(())
    }

    fn name_behind(&mut self, input: &Input<'_>, record: Record) -> Result<(), WriteError> {
        let is_whole = self.out.keeps_bytes() && input.batch.entries.len() == 1;
        let before = is_whole.then(|| record.clone());
        match self.known.after(record, self.to) {
            Some(record) if before.as_ref() == Some(&record) => self.event_late(input),
            Some(record) => self.late(input, record, &[]),
            None => Ok(()),
        }
    }

    /// A stack of an event that is written, or the user's part of what a thread did in the kernel.
    fn stack_behind(&mut self, input: &Input<'_>, stack: Record, frames: &[u64]) -> Result<(), WriteError> {
        let is_of_interval = owner_and_part(&stack.event).is_some_and(|(owner, _)| (self.from..self.to).contains(&owner));
        let is_wanted = self.stacks.wants(&stack) || (is_of_interval && !self.stacks.is_left_out(&stack));
        if !is_wanted {
            return Ok(());
        }
        if let (Event::StackRef { key, .. }, Some((_, part))) = (&stack.event, owner_and_part(&stack.event))
            && self.after.defined.contains(&(part, *key))
        {
            // What was defined at the time that events get here is not what it means.
            self.after.time = self.after.time.saturating_add(1);
            tables::empty(&mut self.after.defined);
        }
        let definition = self.stacks.keep_stack(&stack, frames);
        self.late(input, stack, frames)?;
        definition.map_or(Ok(()), |definition| self.define_behind(&definition))
    }

    /// Writes the definition, at the tick of a key, that the key means.
    fn define_behind(&mut self, stashed: &Stashed) -> Result<(), WriteError> {
        let mut batch = Batch::default();
        let Some(raw) = RawEvent::parse(&stashed.bytes) else { return Ok(()) };
        decode_event(&raw, self.request.trackers, &mut batch);
        let input = Input {
            processor: stashed.processor,
            time: stashed.time,
            bytes: &stashed.bytes,
            raw,
            batch: &batch,
            is_translated: false,
        };
        for (record, frames) in input.records() {
            if let Event::StackDefinition { part, key, .. } = record.event {
                self.stacks.define(part, key);
                self.after.defined.insert((part, key));
                self.stacks.stash_definition(part, key, stashed.clone());
                self.late(&input, record, frames)?;
            }
        }
        Ok(())
    }

    /// Writes a record as if it stood at the end of the interval.
    fn late(&mut self, input: &Input<'_>, record: Record, frames: &[u64]) -> Result<(), WriteError> {
        self.out.record(0, Record { time: self.after.time, ..record }, frames, input.raw.pointer)
    }

    /// Writes an event with all its bytes as if it stood at the end of the interval.
    fn event_late(&mut self, input: &Input<'_>) -> Result<(), WriteError> {
        let mut bytes = input.bytes.to_vec();
        let at = input.raw.time_at();
        let Some(field) = at.and_then(|at| bytes.get_mut(at..at + 8)) else { return Ok(()) };
        field.copy_from_slice(&self.after.time.to_le_bytes());
        let Some(raw) = RawEvent::parse(&bytes) else { return Ok(()) };
        self.out.event(&Input {
            processor: 0,
            time: self.after.time,
            bytes: &bytes,
            raw,
            batch: input.batch,
            is_translated: false,
        })
    }
}
