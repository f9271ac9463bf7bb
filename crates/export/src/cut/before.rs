//! Events before the interval: what of them is written.

use std::io::{Seek, Write};

use super::alive::AliveBlock;
use super::output::Input;
use super::pass::Pass;
use crate::etl::EventId;
use crate::etl::write::WriteError;
use crate::events::{Event, Record, describes, hook, kernel_hook};
use crate::units::PointerSize;

/// Whether an event without a record says something of later events.
fn is_needed_later(id: EventId) -> bool {
    describes(id) || matches!(kernel_hook(id), Some(hook::THREAD_START..=hook::THREAD_RUNDOWN_END | hook::THREAD_SET_NAME))
}

impl<W: Write + Seek> Pass<'_, W> {
    /// An event before the interval.
    pub(super) fn before(&mut self, input: &Input<'_>) -> Result<(), WriteError> {
        let mut records = input.records();
        let Some((first, frames)) = records.next() else {
            return if is_needed_later(input.raw.id) { self.out.event(input) } else { Ok(()) };
        };
        match first.event {
            Event::Alloc { .. } | Event::Realloc { .. } | Event::Free { .. } => self.block_before(input, &first),
            Event::Stack { .. } | Event::StackRef { .. } => self.stack_before(input, &first, frames),
            Event::StackDefinition { part, key, .. } => {
                if self.stacks.define(part, key) {
                    return self.out.event(input);
                }
                self.stacks.stash_definition(part, key, input.stashed());
                Ok(())
            }
            _ if self.is_of_others(&first) => {
                self.stacks.leave_out(&first, false);
                Ok(())
            }
            Event::HeapOpen { .. }
            | Event::HeapClose { .. }
            | Event::VirtualAlloc(_)
            | Event::VirtualFree(_)
            | Event::CommitRundown(_) => self.memory_before(input, &first),
            // Committed pages that were touched before stay touched.
            Event::Fault(fault) if fault.kind().touches() => self.memory_before(input, &first),
            // What happened before, and names nothing of what comes.
            Event::Sample { .. } | Event::Fault(_) => {
                self.stacks.leave_out(&first, false);
                Ok(())
            }
            Event::Activity(ref activity) if !activity.gives_names() => Ok(()),
            Event::Process(..)
            | Event::ThreadStart(_)
            | Event::ThreadRundown(_)
            | Event::ThreadName(_)
            | Event::Image(..)
            | Event::ImageFile(_)
            | Event::ImageId(_)
            | Event::Volume(_)
            | Event::Counter(_)
            | Event::Activity(_)
            | Event::Lost(_) => {
                self.note(&first);
                records.for_each(|(record, _)| self.note(&record));
                self.out.event(input)
            }
        }
    }

    /// Pages, touches of pages, and heaps as a whole: all of it.
    fn memory_before(&mut self, input: &Input<'_>, record: &Record) -> Result<(), WriteError> {
        self.note(record);
        self.out.event(input)?;
        self.keep_stacks_of(input, record)
    }

    /// A block begins or ends: it is written if it is alive when the interval begins.
    fn block_before(&mut self, input: &Input<'_>, record: &Record) -> Result<(), WriteError> {
        self.known.note(record);
        for block in self.alive.end(record) {
            self.out.record(input.processor, block.free(), &[], PointerSize::Eight)?;
        }
        let taken = self.alive.take(record);
        if let Some(gone) = taken.filter(|block| block.is_gone) {
            self.write_block(input.processor, &gone)?;
        }
        let Some(block) = taken.filter(|block| !block.is_gone) else {
            self.stacks.leave_out(record, false);
            if !self.is_of_others(record)
                && let Some(instead) = self.acting.instead(record)
            {
                for record in instead {
                    self.out.record(input.processor, record, &[], PointerSize::Eight)?;
                }
            }
            return self.stacks_inside(input);
        };
        // Whose it is: its stack told, where its own header does not, and others of the tick are not its.
        let record = &Record { tid: block.tid, ..record.clone() };
        self.acting.note(record);
        if block.time != record.time {
            return self.write_block(input.processor, &block);
        }
        if matches!(record.event, Event::Alloc { .. }) {
            self.out.event(input)?;
            return self.keep_stacks_of(input, record);
        }
        let born = Record { pid: record.pid, tid: record.tid, ..block.record() };
        self.out.record(input.processor, born, &[], PointerSize::Eight)?;
        let early = self.stacks.keep(record);
        self.unstash(early)?;
        self.stacks_inside(input)
    }

    /// The event is written: so are its stacks, those in it with it.
    fn keep_stacks_of(&mut self, input: &Input<'_>, record: &Record) -> Result<(), WriteError> {
        for (stack, frames) in input.records().skip(1) {
            let definition = self.stacks.keep_stack(&stack, frames);
            self.unstash_definition(definition)?;
        }
        let early = self.stacks.keep(record);
        self.unstash(early)
    }

    /// The event is not written, or without the stacks in it: they are by themselves, as far as they are wanted.
    fn stacks_inside(&mut self, input: &Input<'_>) -> Result<(), WriteError> {
        for (stack, frames) in input.records().skip(1) {
            if self.stacks.wants(&stack) {
                let definition = self.stacks.keep_stack(&stack, frames);
                self.unstash_definition(definition)?;
                self.out.record(input.processor, stack, frames, input.raw.pointer)?;
            }
        }
        Ok(())
    }

    fn stack_before(&mut self, input: &Input<'_>, stack: &Record, frames: &[u64]) -> Result<(), WriteError> {
        if !self.stacks.wants(stack) {
            self.stacks.stash(stack, input.stashed());
            return Ok(());
        }
        let definition = self.stacks.keep_stack(stack, frames);
        self.unstash_definition(definition)?;
        self.out.event(input)
    }

    /// A block that is alive when the interval begins, with its stack, where its event was not met at its time.
    pub(super) fn write_block(&mut self, processor: u16, block: &AliveBlock) -> Result<(), WriteError> {
        self.acting.note(&block.record());
        if block.is_gone {
            self.out.record(processor, block.record(), &[], PointerSize::Eight)?;
            return self.out.record(processor, block.free(), &[], PointerSize::Eight);
        }
        let stacks = &self.request.trace.stacks;
        let frames: Vec<u64> = stacks.chain(block.stack).map(|node| stacks.address(node)).collect();
        self.out.whole(processor, block.record(), &frames)
    }
}
