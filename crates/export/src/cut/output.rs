//! The file that is written: events with all their bytes or, where names are replaced, as far as
//! they are understood.

use std::io::{Seek, Write};
use std::sync::Arc;

use super::names::Names;
use super::stacks::Stashed;
use crate::etl::write::WriteError;
use crate::etl::{HeaderKind, RawEvent};
use crate::events::encode::system::SID_SYSTEM;
use crate::events::encode::{InlineStack, RecordWriter};
use crate::events::{Batch, Event, Record, is_made_handle};
use crate::model::Trace;
use crate::tables::{KeyedMap, KeyedSet};
use crate::units::{Pid, PointerSize, Tid};

/// An event of the input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a> {
    /// Processor in the file that is written.
    pub(super) processor: u16,
    /// Raw time of its place among the others.
    pub(super) time: i64,
    pub(super) bytes: &'a [u8],
    pub(super) raw: RawEvent<'a>,
    /// Its decoded records.
    pub(super) batch: &'a Batch,
    /// Whether it is written as what its records say, because nobody else knows how to read it.
    pub(super) is_translated: bool,
}

impl<'a> Input<'a> {
    /// A copy that outlives the input.
    pub(super) fn stashed(&self) -> Stashed {
        Stashed { processor: self.processor, time: self.time, bytes: self.bytes.to_vec() }
    }

    /// Its records, each with the frames of a stack.
    pub(super) fn records(&self) -> impl Iterator<Item = (Record, &'a [u64])> + use<'a> {
        let batch = self.batch;
        batch.items().map(|(item, _)| {
            let record = item.record().into_owned();
            let frames = match record.event {
                Event::Stack { frames, .. } | Event::StackDefinition { frames, .. } => batch.frames.get(frames).addresses(),
                _ => &[],
            };
            (record, frames)
        })
    }
}

/// The file that is written.
#[derive(Debug)]
pub(super) struct Output<W> {
    w: RecordWriter<W>,
    /// Other names, if names are replaced.
    names: Option<Names>,
    /// Names of trackers whose events do not open them, by handle, ...
    tracker_names: KeyedMap<u64, Arc<str>>,
    /// ... and those that are open in the file.
    open_trackers: KeyedMap<Pid, KeyedSet<u64>>,
    /// Events written.
    pub(super) events: u64,
    /// Events that could not be written without what they may tell, or have no room without it.
    pub(super) left_out: u64,
}

impl<W: Write + Seek> Output<W> {
    pub(super) fn new(mut w: RecordWriter<W>, trace: &Trace, anonymises: bool) -> Self {
        // Somebody, so that other readers find all fields: who it was is told by the events' own bytes only.
        w.style.sid = SID_SYSTEM;
        let made = trace.heaps.iter().filter(|heap| is_made_handle(heap.layer, heap.handle));
        let tracker_names = made.filter_map(|heap| Some((heap.handle, heap.name.clone()?))).collect();
        let (names, open_trackers) = (anonymises.then(Names::default), KeyedMap::default());
        Self { w, names, tracker_names, open_trackers, events: 0, left_out: 0 }
    }

    /// Whether events are written with all their bytes.
    pub(super) fn keeps_bytes(&self) -> bool {
        self.names.is_none()
    }

    /// Rundowns are those at the end from now on.
    pub(super) fn ends(&mut self) {
        self.w.style.at_end = true;
    }

    pub(super) fn finish(self) -> Result<W, WriteError> {
        self.w.finish()
    }

    /// A description of events (TRACE_EVENT_INFO), unless names are replaced.
    pub(super) fn description(&mut self, time: i64, info: &[u8]) -> Result<(), WriteError> {
        if self.names.is_some() {
            self.left_out += 1;
            return Ok(());
        }
        self.events += 1;
        self.w.put_event_info(time, info)
    }

    /// An event as it is.
    pub(super) fn event(&mut self, input: &Input<'_>) -> Result<(), WriteError> {
        if self.names.is_none() && !input.is_translated {
            self.events += 1;
            return self.w.writer().write_bytes(input.processor, input.time, input.bytes);
        }
        let mut records = input.records();
        let (first, second, third) = (records.next(), records.next(), records.next());
        let Some((first, frames)) = first else {
            self.left_out += 1;
            return Ok(());
        };
        // A stack inside its event is the user's, whatever its frames are.
        if input.raw.kind == HeaderKind::Event
            && third.is_none()
            && let Some((Record { event, .. }, of_stack)) = &second
            && let Some(stack) = inline(event, of_stack)
        {
            return self.with_stack(input.processor, first, stack);
        }
        let rest = [second, third].into_iter().flatten().chain(records);
        for (record, frames) in std::iter::once((first, frames)).chain(rest) {
            self.record(input.processor, record, frames, input.raw.pointer)?;
        }
        Ok(())
    }

    fn with_stack(&mut self, processor: u16, mut record: Record, stack: InlineStack<'_>) -> Result<(), WriteError> {
        self.open_tracker(processor, &record)?;
        if !self.may_write(&mut record) {
            return Ok(());
        }
        self.w.style.pointer = PointerSize::Eight;
        self.w.style.header = Some(HeaderKind::Event);
        let written = self.w.put_with_stack(processor, &record, stack);
        self.count(written)
    }

    /// Forgets which trackers a process has open: another one may get its id.
    pub(super) fn forget_trackers(&mut self, pid: Pid) {
        self.open_trackers.remove(&pid);
    }

    /// Opens the tracker of a block before the first that is written as one of it, if its own events do not.
    fn open_tracker(&mut self, processor: u16, record: &Record) -> Result<(), WriteError> {
        let &Record { time, pid, ref event, .. } = record;
        let (Event::Alloc { layer, heap, .. } | Event::Free { layer, heap, .. } | Event::Realloc { layer, heap, .. }) = *event
        else {
            return Ok(());
        };
        let is_made = is_made_handle(layer, heap);
        let Some(name) = self.tracker_names.get(&heap).filter(|_| is_made).map(|name| (**name).into()) else { return Ok(()) };
        if !self.open_trackers.entry(pid).or_default().insert(heap) {
            return Ok(());
        }
        let event = Event::HeapOpen { layer, heap, name: Some(name) };
        // Without a thread, so that the stack of the block is not taken for its own.
        self.record(processor, Record { time, pid, tid: Tid::NONE, event }, &[], PointerSize::Eight)
    }

    /// Replaces the names in a record, if names are replaced; counts it where it is left out for them.
    fn may_write(&mut self, record: &mut Record) -> bool {
        let is_kept = self.names.as_mut().is_none_or(|names| names.replace(record));
        self.left_out += u64::from(!is_kept);
        is_kept
    }

    /// An event that is written anew can be larger than events may be, or of a provider that the writer cannot encode.
    fn count(&mut self, written: Result<(), WriteError>) -> Result<(), WriteError> {
        match written {
            Err(WriteError::TooLarge { .. } | WriteError::WrongKind(_)) => self.left_out += 1,
            written => {
                self.events += 1;
                written?;
            }
        }
        Ok(())
    }

    /// An event of a record, and of its stack the frames. `pointer` is what the frames came with:
    /// it tells which are the kernel's.
    pub(super) fn record(
        &mut self,
        processor: u16,
        mut record: Record,
        frames: &[u64],
        pointer: PointerSize,
    ) -> Result<(), WriteError> {
        self.open_tracker(processor, &record)?;
        if !self.may_write(&mut record) {
            return Ok(());
        }
        let is_stack = matches!(record.event, Event::Stack { .. } | Event::StackDefinition { .. });
        self.w.style.pointer = if is_stack { pointer } else { PointerSize::Eight };
        self.w.style.header = header(&record);
        let written = self.w.put(processor, &record, frames);
        self.count(written)
    }

    /// Writes an event of a record together with its whole stack, which may have come in another event.
    pub(super) fn whole(&mut self, processor: u16, record: Record, stack: &[u64]) -> Result<(), WriteError> {
        let is_users = stack.last().is_some_and(|&outermost| outermost < PointerSize::Eight.kernel_start());
        if !stack.is_empty() && !is_users {
            return self.with_stack(processor, record, InlineStack::Frames(stack));
        }
        let Record { time, pid, tid, .. } = record;
        self.record(processor, record, &[], PointerSize::Eight)?;
        if !stack.is_empty() {
            self.w.style.pointer = PointerSize::Eight;
            self.w.style.header = None;
            let written = self.w.put_stack(processor, time, time, (pid, tid), stack);
            self.count(written)?;
        }
        Ok(())
    }
}

/// The header that keeps all that a record says.
fn header(record: &Record) -> Option<HeaderKind> {
    let is_block = matches!(record.event, Event::Alloc { .. } | Event::Free { .. } | Event::Realloc { .. });
    // Events that do not say whose they are have a header without process.
    (is_block && !record.pid.is_known() && !record.tid.is_known()).then_some(HeaderKind::PerfInfo)
}

fn inline<'a>(event: &Event, frames: &'a [u64]) -> Option<InlineStack<'a>> {
    match event {
        Event::Stack { .. } => Some(InlineStack::Frames(frames)),
        Event::StackRef { key, .. } => Some(InlineStack::Key(*key)),
        _ => None,
    }
}
