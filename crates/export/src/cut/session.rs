//! The session header of the trace that is written: that of the earliest file, with the losses of all files.

use crate::etl::{ClockKind, SessionHeader, TraceFile, mode};

/// The session header; `processors` are those of the file that is written.
pub(super) fn of(files: &[TraceFile], processors: u32, anonymises: bool) -> SessionHeader {
    let headers = || files.iter().map(|file| &file.header);
    let first = headers().min_by_key(|header| header.start_ticks).cloned().unwrap_or_default();
    let sum = |field: fn(&SessionHeader) -> u32| headers().map(field).fold(0, u32::saturating_add);
    let is_compressed = files.iter().any(|file| file.compression.is_some());
    let logger = match files {
        [file] if !anonymises => file.header.logger.clone(),
        _ => "Relogger".to_owned(),
    };
    let session = SessionHeader {
        buffer_size: BUFFER_SIZE,
        processors: processors.max(if files.len() == 1 { first.processors } else { 1 }).clamp(1, 0x0800),
        events_lost: sum(|header| header.events_lost),
        buffers_lost: sum(|header| header.buffers_lost),
        mode: mode::SEQUENTIAL | mode::RELOG | if is_compressed { mode::COMPRESSED } else { 0 },
        logger: if logger.len() > MOST_OF_NAME { "Relogger".to_owned() } else { logger },
        ..first
    };
    with_clock(session)
}

/// Each processor has one in memory, and at least one in the file. Any event fits, whatever headers claim.
pub(super) const BUFFER_SIZE: u32 = 128 << 10;

/// A name that leaves room for the rest of the header in a buffer.
const MOST_OF_NAME: usize = 1 << 12;

/// Ticks that only the performance counter's field can tell are called its ticks.
fn with_clock(session: SessionHeader) -> SessionHeader {
    let is_told = match session.clock {
        ClockKind::Qpc => true,
        ClockKind::System => session.frequency == 10_000_000,
        ClockKind::Cpu => session.frequency.is_multiple_of(1_000_000),
    };
    if is_told { session } else { SessionHeader { clock: ClockKind::Qpc, ..session } }
}
