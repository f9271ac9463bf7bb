//! Events with their time, collected in any order and written in order of time.

use std::io::{Seek, Write};

use crate::etl::write::WriteError;
use crate::events::encode::{Extra, InlineStack, RecordWriter, Style};
use crate::events::{Event, Record};
use crate::units::{Pid, Tid};

/// One event to write.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) time: i64,
    pub(super) processor: u16,
    pub(super) style: Style,
    pub(super) what: What,
}

/// The content of an entry.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// A record, with frames if it is a stack or definition.
    Record(Record, Vec<u64>),
    /// A record with its stack inside.
    Inline(Record, Vec<u64>),
    /// The stack of the event at the time `owner`.
    Stack { owner: i64, thread: (Pid, Tid), frames: Vec<u64> },
    /// An event of which the reader makes no record.
    Extra(Extra),
}

impl Entry {
    pub(super) fn record(processor: u16, record: Record) -> Self {
        Self::new(record.time, processor, What::Record(record, Vec::new()))
    }

    pub(super) fn new(time: i64, processor: u16, what: What) -> Self {
        Self { time, processor, style: Style::default(), what }
    }

    pub(super) fn write<W: Write + Seek>(&self, w: &mut RecordWriter<W>) -> Result<(), WriteError> {
        w.style = self.style;
        match &self.what {
            What::Record(record, frames) => w.put(self.processor, record, frames),
            What::Inline(record, frames) => w.put_with_stack(self.processor, record, InlineStack::Frames(frames)),
            What::Stack { owner, thread, frames } => w.put_stack(self.processor, self.time, *owner, *thread, frames),
            What::Extra(extra) => w.put_extra(self.processor, self.time, extra),
        }
    }
}

/// Writes entries as they come; entries after them have the default style again.
pub(super) fn write_all<W: Write + Seek>(
    entries: impl IntoIterator<Item = Entry>,
    w: &mut RecordWriter<W>,
) -> Result<(), WriteError> {
    for entry in entries {
        entry.write(w)?;
    }
    w.style = Style::default();
    Ok(())
}

/// A record of an event at `time`.
pub(super) fn record(time: i64, pid: u32, tid: u32, event: Event) -> Record {
    Record { time, pid: Pid(pid), tid: Tid(tid), event }
}
