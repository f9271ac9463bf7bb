//! A tiny trace with one event of each kind, without payloads: what a reader needs to be asked about the kinds, and
//! nothing of what was recorded.

use std::io::{Seek, Write};

use crate::etl::write::{NewEvent, WriteError, Writer};
use crate::etl::{EventId, HeaderKind, Pid, SessionHeader, Tid};
use crate::events::UndescribedKind;

/// Start of the session, which need not be true but possible: 1 January 2024, as FILETIME.
const START: i64 = 133_485_408_000_000_000;

/// Writes the trace.
pub fn write<W: Write + Seek>(kinds: &[UndescribedKind], out: W) -> Result<W, WriteError> {
    let (start_time, boot_time) = (START, START);
    let session = SessionHeader {
        start_ticks: 1,
        start_time,
        boot_time,
        logger: "highwater manifests".to_owned(),
        ..SessionHeader::default()
    };
    let mut writer = Writer::new(out, session)?;
    for (time, kind) in (2..).zip(kinds) {
        writer.write(&NewEvent {
            processor: 0,
            time,
            kind: HeaderKind::Event,
            pointer: kind.pointer,
            pid: Pid(0),
            tid: Tid(0),
            id: EventId::Provider { provider: kind.provider, id: kind.id },
            version: kind.version.into(),
            descriptor: kind.descriptor,
            extended: &[],
            payload: &[],
        })?;
    }
    writer.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use highwater_engine::problem::Problems;

    use super::*;
    use crate::etl::write::Descriptor;
    use crate::etl::{Guid, PointerSize, ReadBuffer, Source, TraceFile};
    use crate::events::{MOST_KINDS, manifest_events};

    #[test]
    fn every_kind_is_in_the_trace_as_it_was_recorded() {
        let kind = |n: usize| UndescribedKind {
            provider: Guid::new(n as u32 / 10, 2, 3, [4; 8]),
            id: n as u16 % 10,
            version: (n % 3) as u8,
            descriptor: Descriptor { channel: 16, level: 4, opcode: (n % 7) as u8, task: n as u16, keyword: 1 << (n % 64) },
            pointer: if n.is_multiple_of(2) { PointerSize::Eight } else { PointerSize::Four },
        };
        let mut kinds: Vec<_> = (0..MOST_KINDS).map(kind).collect();
        let bytes = write(&kinds, Cursor::new(Vec::new())).unwrap().into_inner().leak();
        let file = TraceFile::from_source(Source::Memory(bytes), "kinds.etl".to_owned()).unwrap();
        let (mut scratch, mut problems) = (ReadBuffer::default(), Problems::default());
        for buffer in &file.buffers {
            file.read_buffer(buffer, &mut scratch, &mut problems);
            for event in scratch.events() {
                assert_eq!((event.payload.len() * usize::from(event.time > 1), event.extended.count()), (0, 0));
            }
        }
        kinds.sort_unstable_by_key(|kind| (kind.provider.to_bytes(), kind.id, kind.version));
        assert_eq!((manifest_events(&file).undescribed(), problems.total()), (kinds, 0));
    }
}
