//! Views of files and of shared memory that programs map (MapViewOfFile); images are not among them.
//!
//! Source: TraceEvent's `MapFileTraceData` (microsoft/perfview, KernelTraceEventParser.cs): address, key of the file and 8 bytes of
//! flags, size, in version 3 the offset in the file, and the process, all packed. ETWAnalyzer (Siemens-Healthineers) quotes an
//! event of a 64-bit Windows whose 44 bytes agree. UNVERIFIED: the layout of 32-bit systems. Which views are of the page file,
//! and so committed, no public source says: the key is not read.

use super::super::Record;
use super::super::hooks::hook;
use super::{ActivityEvent, record};
use crate::etl::{RawEvent, address_at, u32_at};
use crate::units::Pid;

/// Version of the event from which on it has an offset in the file.
const WITH_OFFSET: u16 = 3;

/// A change of a view of the record's process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ViewEvent {
    /// The kind of change.
    pub change: ViewChange,
    /// Its first byte.
    pub base: u64,
    /// Its size in bytes.
    pub size: u64,
}

/// Kinds of events about a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViewChange {
    /// It is mapped.
    Map,
    /// It is unmapped.
    Unmap,
    /// It exists, at the start of the trace.
    RundownStart,
    /// It exists, at the end of the trace.
    RundownEnd,
}

/// Reads the change of a view; `None` if the event is too short.
pub(super) fn view(hook: u16, raw: &RawEvent<'_>) -> Option<Record> {
    let change = match hook {
        hook::VIEW_MAP => ViewChange::Map,
        hook::VIEW_UNMAP => ViewChange::Unmap,
        hook::VIEW_RUNDOWN_START => ViewChange::RundownStart,
        _ => ViewChange::RundownEnd,
    };
    let p = raw.pointer.bytes();
    let (base, size) = (address_at(raw.payload, 0, raw.pointer)?, address_at(raw.payload, 2 * p + 8, raw.pointer)?);
    let offset = if raw.version >= WITH_OFFSET { 8 } else { 0 };
    let pid = Pid(u32_at(raw.payload, 3 * p + 8 + offset)?);
    let event = ActivityEvent::View(ViewEvent { change, base, size });
    Some(Record { pid, ..record(raw, event) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::{EventId, Extended, HeaderKind};
    use crate::events::Event;
    use crate::units::{PointerSize, Tid};

    fn read(payload: &[u8], pointer: PointerSize, version: u16) -> Option<(Pid, ViewEvent)> {
        let (id, extended) = (EventId::Hook(hook::VIEW_MAP), Extended::default());
        let (kind, pid, tid) = (HeaderKind::System, Pid::NONE, Tid(7));
        let raw = RawEvent { kind, pointer, time: 5, pid, tid, id, version, extended, payload, offset: 0 };
        let record = view(hook::VIEW_MAP, &raw)?;
        match record.event {
            Event::Activity(event) => match *event {
                ActivityEvent::View(view) => Some((record.pid, view)),
                _ => None,
            },
            _ => None,
        }
    }

    /// An event of a 64-bit Windows 11, as ETWAnalyzer quotes it.
    const QUOTED: [u8; 44] = [
        0x00, 0x00, 0x7E, 0x3E, 0xB9, 0x02, 0x00, 0x00, 0x70, 0xFB, 0x3F, 0x2C, 0x08, 0x82, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0xC1, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x80, 0x19, 0x00, 0x00,
    ];

    #[test]
    fn a_real_event_and_older_and_narrower_ones_are_read() {
        let view = ViewEvent { change: ViewChange::Map, base: 0x2B9_3E7E_0000, size: 0x1000 };
        assert_eq!(read(&QUOTED, PointerSize::Eight, 3), Some((Pid(6528), view)));
        let older = [&QUOTED[..32], &QUOTED[40..]].concat();
        assert_eq!(read(&older, PointerSize::Eight, 2), Some((Pid(6528), view)));
        let narrow = [&QUOTED[..4], &QUOTED[8..12], &QUOTED[16..28], &QUOTED[32..]].concat();
        assert_eq!(read(&narrow, PointerSize::Four, 3), Some((Pid(6528), ViewEvent { base: 0x3E7E_0000, ..view })));
        for len in 0..QUOTED.len() {
            assert_eq!(read(&QUOTED[..len], PointerSize::Eight, 3), None);
        }
    }
}
