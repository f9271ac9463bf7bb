//! Event framing inside one buffer: every header kind and its size rule (System
//! Informer's `ntwmi.h`, Geoff Chappell's notes; SYSTEM, FULL, PERFINFO and EVENT kinds
//! checked on public traces).
//!
//! Cost: one pass, nothing allocated. A damaged header ends the buffer.

mod wide;

use super::{BUFFER_HEADER, Extended, Guid, align8, guid_at, i64_at, u8_at, u16_at, u32_at};
use crate::ids::{Pid, PointerSize, Tid};
pub use wide::{WideEvent, WideHeader};

/// The forms of event headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderKind {
    /// Kernel event with thread, process and times.
    System,
    /// Kernel event with thread and process, without times.
    Compact,
    /// Kernel event without thread and process.
    PerfInfo,
    /// Classic provider event, known by class GUID and type.
    Full,
    /// Classic provider event with instance ids.
    Instance,
    /// Manifest or self-describing event.
    Event,
    /// WPP message.
    Message,
    /// A failed event in an error frame.
    Error,
}

impl HeaderKind {
    /// Kind and pointer size from byte 2 of a header whose byte 3 is 0xC0.
    const fn from_type(byte: u8) -> Option<(Self, PointerSize)> {
        use PointerSize::{Eight, Four};
        Some(match byte {
            0x01 => (Self::System, Four),
            0x02 => (Self::System, Eight),
            0x03 => (Self::Compact, Four),
            0x04 => (Self::Compact, Eight),
            0x0A => (Self::Full, Four),
            0x14 => (Self::Full, Eight),
            0x0B => (Self::Instance, Four),
            0x15 => (Self::Instance, Eight),
            0x0D => (Self::Error, Eight),
            0x10 => (Self::PerfInfo, Four),
            0x11 => (Self::PerfInfo, Eight),
            0x12 => (Self::Event, Four),
            0x13 => (Self::Event, Eight),
            _ => return None,
        })
    }

    /// Byte 2 of such a header, the inverse of `from_type`; `None` for messages and error frames.
    pub(super) fn type_byte(self, pointer: PointerSize) -> Option<u8> {
        let (narrow, wide) = match self {
            Self::System => (0x01, 0x02),
            Self::Compact => (0x03, 0x04),
            Self::Full => (0x0A, 0x14),
            Self::Instance => (0x0B, 0x15),
            Self::PerfInfo => (0x10, 0x11),
            Self::Event => (0x12, 0x13),
            Self::Message | Self::Error => return None,
        };
        Some(match pointer {
            PointerSize::Four => narrow,
            PointerSize::Eight => wide,
        })
    }

    /// Bytes of the fixed header.
    #[inline]
    pub const fn header_len(self) -> usize {
        match self {
            Self::System => 0x20,
            Self::Compact => 0x18,
            Self::PerfInfo => 0x10,
            Self::Full => 0x30,
            Self::Instance => 0x48,
            Self::Event => 0x50,
            Self::Message => 8,
            Self::Error => 4,
        }
    }
}

/// Identity of an event, in the terms of its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventId {
    /// Kernel hook: group in the high byte, type in the low byte.
    Hook(u16),
    /// Class GUID and type of a classic event.
    Class {
        /// Event class.
        class: Guid,
        /// Event type within the class.
        opcode: u8,
    },
    /// Provider and id of a manifest event.
    Provider {
        /// Provider.
        provider: Guid,
        /// Event id.
        id: u16,
    },
    /// A WPP message or an error frame; only its size is used.
    Opaque,
}

/// One event, borrowed from its buffer.
#[derive(Clone, Copy, Debug)]
pub struct RawEvent<'a> {
    /// Form of its header.
    pub kind: HeaderKind,
    /// Pointer size of its payload.
    pub pointer: PointerSize,
    /// Raw clock value; 0 for opaque events, which say no more than their size.
    pub time: i64,
    /// Process of the header, [`Pid::NONE`] if it has none.
    pub pid: Pid,
    /// Thread of the header, [`Tid::NONE`] if it has none.
    pub tid: Tid,
    /// Which event.
    pub id: EventId,
    /// Version of the payload.
    pub version: u16,
    /// Extended data items.
    pub extended: Extended<'a>,
    /// Bytes behind the header and its extended items.
    pub payload: &'a [u8],
    /// Where the event starts, counted from the buffer's start.
    pub offset: usize,
}

impl<'a> RawEvent<'a> {
    /// Reads a single event from its bytes ([`Events::bytes_of`]).
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let Frame { kind, pointer, size } = frame(bytes, u32_at(bytes, 0)?).ok()?;
        let bytes = bytes.get(..size)?;
        if is_kernel(kind) { kernel(bytes, kind, pointer, 0).map(Self::from) } else { other(bytes, kind, pointer, 0) }
    }

    /// Offset of the time in the event's bytes; `None` for opaque events, which have none.
    #[inline]
    pub fn time_at(&self) -> Option<usize> {
        match self.kind {
            HeaderKind::PerfInfo => Some(8),
            HeaderKind::Message | HeaderKind::Error => None,
            _ => Some(0x10),
        }
    }
}

/// An event with a kernel header. These headers are the shortest, and nearly all heap events and their
/// stacks have one.
#[derive(Clone, Copy, Debug)]
pub struct KernelEvent<'a> {
    /// Form of its header.
    pub kind: HeaderKind,
    /// Pointer size of its payload.
    pub pointer: PointerSize,
    /// Raw clock value.
    pub time: i64,
    /// Process of the header, [`Pid::NONE`] if it has none.
    pub pid: Pid,
    /// Thread of the header, [`Tid::NONE`] if it has none.
    pub tid: Tid,
    /// Group in the high byte, type in the low byte.
    pub hook: u16,
    /// Version of the payload.
    pub version: u16,
    /// Bytes behind the header and its performance counters.
    pub payload: &'a [u8],
    /// Where the event starts, counted from the buffer's start.
    pub offset: usize,
}

impl<'a> From<KernelEvent<'a>> for RawEvent<'a> {
    #[inline]
    fn from(event: KernelEvent<'a>) -> Self {
        let KernelEvent { kind, pointer, time, pid, tid, hook, version, payload, offset } = event;
        let (id, extended) = (EventId::Hook(hook), Extended::default());
        Self { kind, pointer, time, pid, tid, id, version, extended, payload, offset }
    }
}

/// An event, by the kind of its header.
#[derive(Clone, Copy, Debug)]
pub enum Framed<'a> {
    /// One with a kernel header.
    Kernel(KernelEvent<'a>),
    /// Any other.
    Other(RawEvent<'a>),
}

impl<'a> From<Framed<'a>> for RawEvent<'a> {
    #[inline]
    fn from(framed: Framed<'a>) -> Self {
        match framed {
            Framed::Kernel(event) => event.into(),
            Framed::Other(event) => event,
        }
    }
}

/// An impossible event header; the rest of the buffer cannot be split into events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventDamage {
    /// Its offset from the buffer's start.
    pub offset: usize,
    /// The reason, for people.
    pub reason: &'static str,
}

/// Iterator over the events of one (expanded) buffer with its header, or of a part of one. It also ends
/// at damage.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    buffer: &'a [u8],
    at: usize,
    /// Where `buffer` begins in the buffer if it is a part of one.
    base: usize,
    damage: Option<EventDamage>,
}

impl<'a> Events<'a> {
    /// Events in `buffer`, which begins with the buffer header and ends with the valid data.
    #[inline]
    pub fn new(buffer: &'a [u8]) -> Self {
        Self { buffer, at: BUFFER_HEADER, base: 0, damage: None }
    }

    /// Events in a part of a buffer, which begins with an event at `base`.
    pub(super) fn of_part(part: &'a [u8], base: usize) -> Self {
        Self { buffer: part, at: 0, base, damage: None }
    }

    /// Offset of the next event, counted from the buffer's start.
    #[inline(always)]
    pub fn offset(&self) -> usize {
        self.base + self.at
    }

    /// Whether all bytes were read.
    #[inline]
    pub fn is_at_end(&self) -> bool {
        self.at >= self.buffer.len()
    }

    /// All bytes of one of its events, without the padding before the next.
    #[inline]
    pub fn bytes_of(&self, event: &RawEvent<'_>) -> &'a [u8] {
        let rest = event.offset.checked_sub(self.base).and_then(|at| self.buffer.get(at..)).unwrap_or_default();
        let size = u32_at(rest, 0).and_then(|marker| frame(rest, marker).ok()).map_or(0, |frame| frame.size);
        rest.get(..size).unwrap_or_default()
    }

    /// The damage that ended it; `None` if it ended with the data.
    #[inline]
    pub fn damage(&self) -> Option<EventDamage> {
        self.damage
    }

    /// The next event. (Decoders of all events treat kernel events apart from the start: one form for
    /// both would have to be put together in memory.)
    #[inline(always)]
    pub fn next_framed(&mut self) -> Option<Framed<'a>> {
        let rest = self.buffer.get(self.at..)?;
        let marker = u32_at(rest, 0)?;
        const FILLER: u32 = 0xFFFF_FFFF;
        if marker == FILLER {
            self.at = self.buffer.len();
            return None;
        }
        let offset = self.offset();
        let Frame { kind, pointer, size } = match frame(rest, marker) {
            Ok(frame) => frame,
            Err(reason) => return self.end_at_damage(reason),
        };
        let Some(bytes) = rest.get(..size) else { return self.end_at_damage("event runs past its buffer") };
        if is_kernel(kind) {
            let Some(event) = kernel(bytes, kind, pointer, offset) else { return self.end_at_damage(TOO_LONG) };
            self.at += align8(size);
            return Some(Framed::Kernel(event));
        }
        let Some(event) = other(bytes, kind, pointer, offset) else { return self.end_at_damage(TOO_LONG) };
        self.at += align8(size);
        Some(Framed::Other(event))
    }

    #[cold]
    fn end_at_damage<T>(&mut self, reason: &'static str) -> Option<T> {
        self.damage = Some(EventDamage { offset: self.offset(), reason });
        self.at = self.buffer.len();
        None
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = RawEvent<'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.next_framed().map(RawEvent::from)
    }
}

/// Kind and pointer size by byte 2 of a header. A table, because a branch for each kind would be
/// mispredicted as often as kinds change.
static KINDS: [Option<(HeaderKind, PointerSize)>; 256] = {
    let mut kinds = [None; 256];
    let mut byte = 0;
    while byte < kinds.len() {
        kinds[byte] = HeaderKind::from_type(byte as u8);
        byte += 1;
    }
    kinds
};

/// Bytes of fixed headers by kind.
static HEADER_LEN: [usize; 8] = {
    use HeaderKind::{Compact, Error, Event, Full, Instance, Message, PerfInfo, System};
    let mut lengths = [0; 8];
    let kinds = [System, Compact, PerfInfo, Full, Instance, Event, Message, Error];
    let mut i = 0;
    while i < kinds.len() {
        lengths[kinds[i] as usize] = kinds[i].header_len();
        i += 1;
    }
    lengths
};

const TOO_LONG: &str = "extended items run past their event";

/// Fields from the first bytes of an event.
struct Frame {
    kind: HeaderKind,
    pointer: PointerSize,
    /// Bytes without padding, at least those of the fixed header.
    size: usize,
}

/// The frame of the event at the start of `rest`.
#[inline(always)]
fn frame(rest: &[u8], marker: u32) -> Result<Frame, &'static str> {
    let (kind, pointer) = match (marker >> 24) as u8 {
        0xC0 => KINDS[usize::from((marker >> 16) as u8)].ok_or("unknown event header type")?,
        0x90 => (HeaderKind::Message, PointerSize::Eight),
        _ => return Err("no event header where one is due"),
    };
    let size = if is_kernel(kind) { u16_at(rest, 4).ok_or("event header cut off")? } else { marker as u16 };
    let size = usize::from(size);
    if size < HEADER_LEN[kind as usize] {
        return Err("event smaller than its header");
    }
    Ok(Frame { kind, pointer, size })
}

#[inline(always)]
fn is_kernel(kind: HeaderKind) -> bool {
    matches!(kind, HeaderKind::System | HeaderKind::Compact | HeaderKind::PerfInfo)
}

/// Reads the fields of a kernel header, whose fixed part is known to be there.
#[inline(always)]
fn kernel(bytes: &[u8], kind: HeaderKind, pointer: PointerSize, offset: usize) -> Option<KernelEvent<'_>> {
    // A chunk of fixed length, so that its fields are read without bounds checks.
    let (head, rest) = bytes.split_first_chunk::<16>()?;
    let (version, hook) = (u16_at(head, 0)?, u16_at(head, 6)?);
    let (time, tid, pid, payload) = if kind == HeaderKind::PerfInfo {
        (i64_at(head, 8)?, Tid::NONE, Pid::NONE, rest)
    } else {
        let (&time, rest) = rest.split_first_chunk()?;
        let times = if kind == HeaderKind::System { 8 } else { 0 };
        (i64::from_le_bytes(time), Tid(u32_at(head, 8)?), Pid(u32_at(head, 12)?), rest.get(times..)?)
    };
    let payload = if version >> 8 == 0 { payload } else { payload.get(counters_len(version)..)? };
    Some(KernelEvent { kind, pointer, time, pid, tid, hook, version: version & 0xFF, payload, offset })
}

/// Reads the fields of a header that is not a kernel header.
#[inline(never)]
fn other(bytes: &[u8], kind: HeaderKind, pointer: PointerSize, offset: usize) -> Option<RawEvent<'_>> {
    let tid = || u32_at(bytes, 8).map(Tid);
    let pid = || u32_at(bytes, 12).map(Pid);
    let mut event = RawEvent {
        kind,
        pointer,
        time: 0,
        pid: Pid::NONE,
        tid: Tid::NONE,
        id: EventId::Opaque,
        version: 0,
        extended: Extended::default(),
        payload: bytes.get(HEADER_LEN[kind as usize]..)?,
        offset,
    };
    match kind {
        HeaderKind::Full | HeaderKind::Instance => {
            event.version = u16_at(bytes, 6)?;
            (event.tid, event.pid) = (tid()?, pid()?);
            event.time = i64_at(bytes, 0x10)?;
            event.id = EventId::Class { class: guid_at(bytes, 0x18)?, opcode: u8_at(bytes, 4)? };
        }
        HeaderKind::Event => {
            let flags = u16_at(bytes, 4)?;
            (event.tid, event.pid) = (tid()?, pid()?);
            event.time = i64_at(bytes, 0x10)?;
            event.version = u16::from(u8_at(bytes, 0x2A)?);
            let provider = guid_at(bytes, 0x18)?;
            event.id = if flags & EVENT_CLASSIC != 0 {
                EventId::Class { class: provider, opcode: u8_at(bytes, 0x2D)? }
            } else {
                EventId::Provider { provider, id: u16_at(bytes, 0x28)? }
            };
            if flags & EVENT_EXTENDED != 0 {
                (event.extended, event.payload) = Extended::split(event.payload)?;
            }
        }
        HeaderKind::System | HeaderKind::Compact | HeaderKind::PerfInfo | HeaderKind::Message | HeaderKind::Error => {}
    }
    Some(event)
}

pub(super) const EVENT_EXTENDED: u16 = 0x0001;
pub(super) const EVENT_CLASSIC: u16 = 0x0100;

/// Bytes of performance counters between a kernel header and its payload, which
/// the high byte of the version announces (not met in public traces).
fn counters_len(version: u16) -> usize {
    let index = usize::from(version & 0x8000 != 0);
    let counters = (version >> 8 & 7) as usize;
    8 * (index + counters)
}

#[cfg(test)]
mod tests;
