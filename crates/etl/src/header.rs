//! `TRACE_LOGFILE_HEADER`, the payload of a file's first event: clock, start time,
//! losses and names (Geoff Chappell's notes, dissect.etl; checked on 63 traces).

use super::{EventId, Events, i64_at, u8_at, u32_at, utf16z_at};
use crate::ids::PointerSize;

/// The clock that the ticks of a trace count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockKind {
    /// The performance counter.
    Qpc,
    /// System time in units of 100 ns.
    System,
    /// The processor's cycle counter.
    Cpu,
}

impl ClockKind {
    /// Name in the machine interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Qpc => "qpc",
            Self::System => "system",
            Self::Cpu => "cpu",
        }
    }
}

/// Description of the session that wrote a file. `end_time` and `buffers_written` are left out on
/// purpose: sessions that were not closed properly leave them wrong, and those of closed ones are used
/// only to find missing buffers.
#[derive(Clone, PartialEq, Debug)]
pub struct SessionHeader {
    /// Size of the session's buffers in memory, bytes; the capacity of compressed ones.
    pub buffer_size: u32,
    /// Windows version: major, minor, build.
    pub os: (u8, u8, u32),
    /// Number of processors.
    pub processors: u32,
    /// Bytes of a pointer on the machine that logged, as the header claims. Each event has a pointer
    /// size of its own.
    pub pointer_size: u32,
    /// Bits of `LogFileMode`.
    pub mode: u32,
    /// Events that did not reach the file.
    pub events_lost: u32,
    /// Buffers that did not reach the file.
    pub buffers_lost: u32,
    /// The clock that the ticks count.
    pub clock: ClockKind,
    /// Ticks a second, at least 1.
    pub frequency: u64,
    /// Raw clock value of the header event; it corresponds to `start_time`.
    pub start_ticks: i64,
    /// Start of the session, FILETIME (100 ns since 1601, UTC); 0 if unknown.
    pub start_time: i64,
    /// Start of the machine, FILETIME, as the header gives it (about ±0.5 s).
    pub boot_time: i64,
    /// Name of the session.
    pub logger: String,
}

/// Sessions of one boot agree in the time of tick 0 to well below this, in 100 ns.
const SAME_BOOT: u64 = 10 * 10_000_000;

/// Bits of `LogFileMode`.
pub mod mode {
    /// Buffers are written one after the other.
    pub const SEQUENTIAL: u32 = 0x0000_0001;
    /// The file is a ring behind its first buffer: the newest overwrite the oldest.
    pub const CIRCULAR: u32 = 0x0000_0002;
    /// Sessions are written one behind the other into one file.
    pub const APPEND: u32 = 0x0000_0004;
    /// The file has its full size from the start; what is not written yet is zeros.
    pub const PREALLOCATE: u32 = 0x0000_0020;
    /// Merged or rewritten from other files.
    pub const RELOG: u32 = 0x0001_0000;
    /// Buffers may be compressed.
    pub const COMPRESSED: u32 = 0x0400_0000;
}

impl Default for SessionHeader {
    /// A plain session of one processor on a current system: 64 KiB buffers, a 10 MHz clock.
    fn default() -> Self {
        Self {
            buffer_size: 64 << 10,
            os: (10, 0, 26_100),
            processors: 1,
            pointer_size: 8,
            mode: mode::SEQUENTIAL,
            events_lost: 0,
            buffers_lost: 0,
            clock: ClockKind::Qpc,
            frequency: 10_000_000,
            start_ticks: 0,
            start_time: 0,
            boot_time: 0,
            logger: String::new(),
        }
    }
}

impl SessionHeader {
    /// Reads the payload of the header event, which stands at raw time `start_ticks`
    /// and has pointers of the width of its own header. `None` if it is too short.
    pub fn parse(payload: &[u8], pointer: PointerSize, start_ticks: i64) -> Option<Self> {
        // Two pointers in the middle shift what follows, and the time zone block is
        // followed by padding, so that both forms differ by 8 from 0x48 on.
        let wide = match pointer {
            PointerSize::Four => 0,
            PointerSize::Eight => 8,
        };
        let clock = match u32_at(payload, 0x108 + wide)? {
            2 => ClockKind::System,
            3 => ClockKind::Cpu,
            _ => ClockKind::Qpc,
        };
        let mhz = u64::from(u32_at(payload, 0x34)?);
        let perf_freq = u64::try_from(i64_at(payload, 0xF8 + wide)?).unwrap_or(0);
        let frequency = match clock {
            ClockKind::Qpc => perf_freq,
            ClockKind::System => 10_000_000,
            ClockKind::Cpu => mhz * 1_000_000,
        };
        Some(Self {
            buffer_size: u32_at(payload, 0)?,
            os: (u8_at(payload, 4)?, u8_at(payload, 5)?, u32_at(payload, 8)?),
            processors: u32_at(payload, 0x0C)?,
            pointer_size: u32_at(payload, 0x2C)?,
            mode: u32_at(payload, 0x20)?,
            events_lost: u32_at(payload, 0x30)?,
            buffers_lost: u32_at(payload, 0x10C + wide)?,
            clock,
            // An absurd frequency would make seconds overflow; 10 MHz is what current systems use.
            frequency: if (1..=1 << 40).contains(&frequency) { frequency } else { 10_000_000 },
            start_ticks,
            start_time: i64_at(payload, 0x100 + wide)?,
            boot_time: i64_at(payload, 0xF0 + wide)?,
            logger: utf16z_at(payload, 0x110 + wide).map(|(name, _)| name).unwrap_or_default(),
        })
    }

    /// Number of buffers that the session wrote, if it ended properly: while it runs, its end time is
    /// 0.
    pub(super) fn written(payload: &[u8]) -> Option<u32> {
        let end_time = i64_at(payload, 0x10)?;
        u32_at(payload, 0x24).filter(|&written| written != 0 && end_time != 0)
    }

    /// Why times of `other` cannot be compared with those of this session, as the end
    /// of a sentence about `other`; `None` if they can.
    pub fn clock_conflict(&self, other: &Self) -> Option<&'static str> {
        if self.clock != other.clock || self.frequency != other.frequency {
            return Some("has another clock than");
        }
        let known = self.start_time != 0 && other.start_time != 0;
        let same_boot = self.clock_zero().abs_diff(other.clock_zero()) <= SAME_BOOT;
        (known && !same_boot).then_some("was recorded in another boot of the machine than")
    }

    /// Whether the file says that its buffers are compressed.
    pub fn is_compressed(&self) -> bool {
        self.mode & mode::COMPRESSED != 0
    }

    /// The machine's start as the clock gives it: FILETIME of tick 0. Files of one
    /// boot agree in it to well below a second.
    pub fn clock_zero(&self) -> i64 {
        let since = i128::from(self.start_ticks) * 10_000_000 / i128::from(self.frequency);
        (i128::from(self.start_time) - since).clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// The session header event at the start of a header buffer, if it is whole.
pub(super) fn session_header(head: &[u8]) -> Option<SessionHeader> {
    header_of(head).map(|(header, _)| header)
}

/// The session header event of a header buffer, and the number of buffers written if the session has
/// ended.
pub(super) fn header_of(head: &[u8]) -> Option<(SessionHeader, Option<u32>)> {
    let event = Events::new(head).next()?;
    match event.id {
        EventId::Hook(0) => {
            let header = SessionHeader::parse(event.payload, event.pointer, event.time)?;
            Some((header, SessionHeader::written(event.payload)))
        }
        _ => None,
    }
}
