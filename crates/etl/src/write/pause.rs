//! Hands a file over to another writer, even in another process, with the events that are not in the
//! file yet.

use std::io::{Seek, SeekFrom, Write};

use super::super::{BUFFER_HEADER, SessionHeader};
use super::{OpenBuffer, WriteError, Writer, check};

/// State of a writer that is not in its file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Paused {
    /// Bytes of the file.
    pub bytes: u64,
    /// Buffers in the file, the header buffer included.
    pub written: u32,
    /// Raw time of the last event.
    pub last_time: i64,
    /// Events that wait for their buffers to be full.
    pub open: Vec<PausedBuffer>,
}

/// Events of a processor that wait for their buffer to be full.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PausedBuffer {
    /// Their processor.
    pub processor: u16,
    /// Raw time of the last of them.
    pub last_time: i64,
    /// Their bytes, as they stand in a buffer behind its header.
    pub events: Vec<u8>,
}

impl<W: Write + Seek> Writer<W> {
    /// Returns what another writer needs to continue the file as it is now ([`Writer::resume`]). For
    /// files that are not compressed, and of which this writer dropped no buffer.
    pub fn pause(&mut self) -> Result<Paused, WriteError> {
        let bytes = self.out.stream_position()? - self.start;
        let open = self.open.iter().enumerate().filter(|(_, buffer)| buffer.bytes.len() > BUFFER_HEADER);
        let open = open.map(|(processor, buffer)| PausedBuffer {
            processor: processor as u16,
            last_time: buffer.last_time,
            events: buffer.bytes[BUFFER_HEADER..].to_vec(),
        });
        Ok(Paused { bytes, written: self.written, last_time: self.last_time, open: open.collect() })
    }

    /// Continues a file that begins where `out` does; bytes behind the paused file are overwritten.
    /// `session` is what the file was begun with.
    pub fn resume(out: W, session: SessionHeader, paused: Paused) -> Result<Self, WriteError> {
        check(&session)?;
        let mut writer = Self::on(out, session, 0);
        writer.out.seek(SeekFrom::Start(paused.bytes))?;
        (writer.written, writer.last_time) = (paused.written, paused.last_time);
        let capacity = writer.session.buffer_size as usize;
        for PausedBuffer { processor, last_time, events } in paused.open {
            let buffer = writer.open.get_mut(usize::from(processor)).ok_or(WriteError::NoSuchProcessor(processor))?;
            if !events.len().is_multiple_of(8) || events.len() + BUFFER_HEADER > capacity {
                return Err(WriteError::BadSession("what was to be written next does not fit into a buffer"));
            }
            *buffer = OpenBuffer { last_time, ..OpenBuffer::default() };
            buffer.make_ready(capacity);
            buffer.bytes.extend_from_slice(&events);
        }
        Ok(writer)
    }
}
