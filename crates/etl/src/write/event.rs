//! Writes one event into a buffer: the inverse of what [`RawEvent`](crate::RawEvent) reads, header
//! forms as described there.

use super::WriteError;
use crate::event::{EVENT_CLASSIC, EVENT_EXTENDED};
use crate::ids::{Pid, PointerSize, Tid};
use crate::{EventId, ExtendedItem, HeaderKind, align8};

/// An event to write.
#[derive(Clone, Copy, Debug)]
pub struct NewEvent<'a> {
    /// Processor whose stream it joins.
    pub processor: u16,
    /// Raw clock value.
    pub time: i64,
    /// Form of its header.
    pub kind: HeaderKind,
    /// Pointer size of its payload.
    pub pointer: PointerSize,
    /// Process, for headers that have one.
    pub pid: Pid,
    /// Thread, for headers that have one.
    pub tid: Tid,
    /// Which event: a hook for SYSTEM, COMPACT and PERFINFO, a class for FULL and
    /// INSTANCE, a provider or a class for EVENT.
    pub id: EventId,
    /// Version of the payload; kernel and EVENT headers have room for 8 bits.
    pub version: u16,
    /// The rest of an EVENT header's descriptor; FULL and INSTANCE take the level.
    pub descriptor: Descriptor,
    /// Extended items, for EVENT headers only.
    pub extended: &'a [ExtendedItem<'a>],
    /// Bytes behind the header and the extended items.
    pub payload: &'a [u8],
}

/// Fields of an event's descriptor besides its id and version, as its manifest defines them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Descriptor {
    /// Channel.
    pub channel: u8,
    /// Level; 4 is informational.
    pub level: u8,
    /// Opcode.
    pub opcode: u8,
    /// Task.
    pub task: u16,
    /// Keywords.
    pub keyword: u64,
}

/// The largest fixed header.
const MAX_HEADER: usize = 0x50;

impl NewEvent<'_> {
    /// Bytes of the whole event, without the padding to the next one.
    #[inline]
    pub fn size(&self) -> usize {
        let items: usize = self.extended.iter().map(|item| align8(8 + item.data.len())).sum();
        self.kind.header_len() + items + self.payload.len()
    }

    /// Appends the event and its padding. `size` is that of [`NewEvent::size`],
    /// known to fit into 16 bits. After an error `out` is as before.
    pub(super) fn put(&self, size: usize, out: &mut Vec<u8>) -> Result<(), WriteError> {
        let header = self.header(size as u16)?;
        out.extend_from_slice(&header[..self.kind.header_len()]);
        if !self.extended.is_empty() {
            self.put_items(out);
        }
        out.extend_from_slice(self.payload);
        // Buffers begin aligned, so the length in the buffer gives the padding.
        out.resize(align8(out.len()), 0);
        Ok(())
    }

    fn put_items(&self, out: &mut Vec<u8>) {
        for (i, item) in self.extended.iter().enumerate() {
            let size = align8(8 + item.data.len());
            let linked = u16::from(i + 1 < self.extended.len());
            for field in [size as u16, item.kind, linked, item.data.len() as u16] {
                out.extend_from_slice(&field.to_le_bytes());
            }
            out.extend_from_slice(item.data);
            out.resize(align8(out.len()), 0);
        }
    }

    fn header(&self, size: u16) -> Result<[u8; MAX_HEADER], WriteError> {
        let mut h = [0; MAX_HEADER];
        h[2] = self.kind.type_byte(self.pointer).ok_or(WriteError::WrongKind("an event that can be written"))?;
        h[3] = 0xC0;
        match self.kind {
            HeaderKind::System | HeaderKind::Compact | HeaderKind::PerfInfo => self.kernel_header(size, &mut h)?,
            _ => self.provider_header(size, &mut h)?,
        }
        if self.kind != HeaderKind::Event && !self.extended.is_empty() {
            return Err(WriteError::WrongKind("extended items"));
        }
        Ok(h)
    }

    fn kernel_header(&self, size: u16, h: &mut [u8; MAX_HEADER]) -> Result<(), WriteError> {
        let EventId::Hook(hook) = self.id else { return Err(WriteError::WrongKind("anything but a kernel hook")) };
        h[0] = self.version as u8;
        h[4..6].copy_from_slice(&size.to_le_bytes());
        h[6..8].copy_from_slice(&hook.to_le_bytes());
        if self.kind == HeaderKind::PerfInfo {
            h[8..16].copy_from_slice(&self.time.to_le_bytes());
        } else {
            self.put_thread_and_time(h);
        }
        Ok(())
    }

    fn provider_header(&self, size: u16, h: &mut [u8; MAX_HEADER]) -> Result<(), WriteError> {
        h[0..2].copy_from_slice(&size.to_le_bytes());
        self.put_thread_and_time(h);
        let (guid, id, opcode, classic) = match (self.kind, self.id) {
            (HeaderKind::Event, EventId::Provider { provider, id }) => (provider, id, self.descriptor.opcode, 0),
            (HeaderKind::Event, EventId::Class { class, opcode }) => (class, 0, opcode, EVENT_CLASSIC),
            (_, EventId::Class { class, opcode }) => (class, 0, opcode, 0),
            _ => return Err(WriteError::WrongKind("an event of this kind of id")),
        };
        h[0x18..0x28].copy_from_slice(&guid.to_bytes());
        let Descriptor { channel, level, task, keyword, .. } = self.descriptor;
        if self.kind == HeaderKind::Event {
            let items = if self.extended.is_empty() { 0 } else { EVENT_EXTENDED };
            h[4..6].copy_from_slice(&(items | classic).to_le_bytes());
            h[0x28..0x2A].copy_from_slice(&id.to_le_bytes());
            h[0x2A..0x2E].copy_from_slice(&[self.version as u8, channel, level, opcode]);
            h[0x2E..0x30].copy_from_slice(&task.to_le_bytes());
            h[0x30..0x38].copy_from_slice(&keyword.to_le_bytes());
        } else {
            h[4] = opcode;
            h[5] = level;
            h[6..8].copy_from_slice(&self.version.to_le_bytes());
        }
        Ok(())
    }

    fn put_thread_and_time(&self, h: &mut [u8; MAX_HEADER]) {
        h[8..12].copy_from_slice(&self.tid.0.to_le_bytes());
        h[12..16].copy_from_slice(&self.pid.0.to_le_bytes());
        h[0x10..0x18].copy_from_slice(&self.time.to_le_bytes());
    }
}
