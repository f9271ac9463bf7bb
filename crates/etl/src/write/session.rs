//! The two headers that are not an event's: `WMI_BUFFER_HEADER` before each
//! buffer, and the header buffer with `TRACE_LOGFILE_HEADER`.
//!
//! Fields that readers ignore have the values that public traces have there.

use super::super::{BUFFER_HEADER, ClockKind, EventId, HeaderKind, SessionHeader, align8, flag, mode};
use super::{Descriptor, NewEvent};
use crate::compression::Algorithm;
use crate::ids::{Pid, PointerSize, Tid};

/// Header fields that differ between buffers.
pub(super) struct BufferHeader {
    pub(super) size: u32,
    pub(super) end: u32,
    pub(super) time: i64,
    pub(super) sequence: i64,
    pub(super) processor: u16,
    pub(super) flags: u16,
}

const STATE_FLUSH: u32 = 3;
const TYPE_HEADER: u16 = 4;
const FILETIME_SECOND: i128 = 10_000_000;

impl BufferHeader {
    /// Fills the room for a header at the start of `bytes`.
    pub(super) fn put(&self, session: &SessionHeader, algorithm: Algorithm, bytes: &mut [u8]) {
        let is_first = self.sequence == 0;
        // Merged files keep no session ids; the first buffer's state tells the compression.
        let merged = session.mode & mode::RELOG != 0;
        let logger_id: u16 = if merged { 0 } else { 3 };
        let state = match is_first {
            true if session.is_compressed() => algorithm.number().into(),
            true if merged => 0,
            _ => STATE_FLUSH,
        };
        put32(bytes, 0x00, self.size);
        put32(bytes, 0x04, self.end);
        put32(bytes, 0x08, self.end);
        put32(bytes, 0x0C, 0);
        put64(bytes, 0x10, self.time);
        put64(bytes, 0x18, self.sequence);
        put64(bytes, 0x20, 0);
        put16(bytes, 0x28, self.processor);
        put16(bytes, 0x2A, logger_id);
        put32(bytes, 0x2C, state);
        put32(bytes, 0x30, self.end);
        put16(bytes, 0x34, self.flags);
        put16(bytes, 0x36, if is_first { TYPE_HEADER } else { 0 });
        bytes[0x38..BUFFER_HEADER].fill(0);
    }
}

/// The file's first buffer. `written` and `end_time` are 0 while the session runs.
pub(super) fn header_buffer(session: &SessionHeader, algorithm: Algorithm, written: u32, end_time: i64) -> Vec<u8> {
    let payload = log_file_header(session, written, end_time);
    let event = header_event(session, &payload);
    let mut bytes = vec![0; BUFFER_HEADER];
    // Its kind fits its id, so nothing can fail here.
    let _ = event.put(event.size(), &mut bytes);
    let end = bytes.len();
    let size = if session.is_compressed() { end.next_multiple_of(0x200) } else { session.buffer_size as usize };
    let header = BufferHeader {
        size: size as u32,
        end: end as u32,
        time: 0,
        sequence: 0,
        processor: 0,
        flags: flag::FLUSH_MARKER | flag::PROC_INDEX,
    };
    header.put(session, algorithm, &mut bytes);
    bytes.resize(size, 0xFF);
    bytes
}

/// Bytes of the header event with its padding.
pub(super) fn event_len(session: &SessionHeader) -> usize {
    align8(header_event(session, &log_file_header(session, 0, 0)).size())
}

fn header_event<'a>(session: &SessionHeader, payload: &'a [u8]) -> NewEvent<'a> {
    NewEvent {
        processor: 0,
        time: session.start_ticks,
        kind: HeaderKind::System,
        pointer: pointer(session),
        pid: Pid(4),
        tid: Tid(8),
        id: EventId::Hook(0),
        version: 2,
        descriptor: Descriptor::default(),
        extended: &[],
        payload,
    }
}

fn pointer(session: &SessionHeader) -> PointerSize {
    if session.pointer_size == 4 { PointerSize::Four } else { PointerSize::Eight }
}

/// `TRACE_LOGFILE_HEADER` in its form on disk and the two names behind it.
fn log_file_header(session: &SessionHeader, written: u32, end_time: i64) -> Vec<u8> {
    let p = pointer(session).bytes();
    let mut bytes = vec![0; 0x108 + 2 * p];
    let (major, minor, build) = session.os;
    // Log format 2.0 tells old readers that they cannot read the buffers.
    let format =
        if session.is_compressed() || session.buffer_size > 1 << 20 || session.processors > 256 { [2, 0] } else { [1, 5] };
    let mhz = match session.clock {
        ClockKind::Cpu => (session.frequency / 1_000_000) as u32,
        ClockKind::Qpc | ClockKind::System => 2_400,
    };
    let qpc = if session.clock == ClockKind::Qpc { session.frequency as i64 } else { 10_000_000 };
    put32(&mut bytes, 0x00, session.buffer_size);
    bytes[4..8].copy_from_slice(&[major, minor, format[0], format[1]]);
    put32(&mut bytes, 0x08, build);
    put32(&mut bytes, 0x0C, session.processors);
    put64(&mut bytes, 0x10, end_time);
    put32(&mut bytes, 0x18, 156_250); // timer resolution, 100 ns units
    put32(&mut bytes, 0x20, session.mode);
    put32(&mut bytes, 0x24, written);
    put32(&mut bytes, 0x28, 1);
    put32(&mut bytes, 0x2C, session.pointer_size);
    put32(&mut bytes, 0x30, session.events_lost);
    put32(&mut bytes, 0x34, mhz);
    // Two pointers and the time zone, all zero: UTC.
    let tail = 0xE8 + 2 * p;
    put64(&mut bytes, tail, session.boot_time);
    put64(&mut bytes, tail + 0x08, qpc);
    put64(&mut bytes, tail + 0x10, session.start_time);
    put32(&mut bytes, tail + 0x18, clock_number(session.clock));
    put32(&mut bytes, tail + 0x1C, session.buffers_lost);
    let file_name = if session.mode & mode::RELOG != 0 { "[multiple files]" } else { "" };
    for name in [session.logger.as_str(), file_name] {
        bytes.extend(name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
    }
    bytes
}

fn clock_number(clock: ClockKind) -> u32 {
    match clock {
        ClockKind::Qpc => 1,
        ClockKind::System => 2,
        ClockKind::Cpu => 3,
    }
}

/// The time in a buffer's header: merged files have system time there, others the raw clock.
pub(super) fn buffer_time(session: &SessionHeader, ticks: i64) -> i64 {
    if session.mode & mode::RELOG != 0 { filetime_of(session, ticks) } else { ticks }
}

/// System time of a raw clock value.
pub(super) fn filetime_of(session: &SessionHeader, ticks: i64) -> i64 {
    let since = (i128::from(ticks) - i128::from(session.start_ticks)) * FILETIME_SECOND / i128::from(session.frequency.max(1));
    (i128::from(session.start_time) + since).clamp(0, i64::MAX.into()) as i64
}

fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

fn put32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn put64(bytes: &mut [u8], at: usize, value: i64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}
