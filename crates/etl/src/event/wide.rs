//! Fast path for events with one of the two headers that the kernel of a 64-bit system writes: nearly
//! all heap events and their stacks. The headers are short, so one check of the bytes left in the
//! buffer, and one of the first eight bytes, is enough to read them.
//!
//! All else (other headers, performance counters, a short event at the end of a buffer) is left to
//! [`Events::next_framed`], which knows all forms.
//!
//! Cost: some 15 instructions, a third of what the general way takes.

use super::Events;
use crate::align8;
use crate::ids::{Pid, Tid};

/// Bytes of the longer header, and of the payload behind it that is read at once.
const HEAD: usize = 0x20 + 8 * WORDS;
const WORDS: usize = 3;

/// One of the two headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WideHeader {
    /// With thread, process and times.
    System,
    /// Without thread, process and times.
    PerfInfo,
}

/// An event with one of these headers.
#[derive(Clone, Copy, Debug)]
pub struct WideEvent<'a> {
    /// Group in the high byte, type in the low byte.
    pub hook: u16,
    /// Raw clock value.
    pub time: i64,
    /// Process of the header, [`Pid::NONE`] if it has none.
    pub pid: Pid,
    /// Thread of the header, [`Tid::NONE`] if it has none.
    pub tid: Tid,
    /// The first words of the payload. Past its end ([`WideEvent::payload_len`]) they are arbitrary.
    pub words: [u64; WORDS],
    /// Rest of the buffer from the event's first byte on, at least `size` bytes.
    rest: &'a [u8],
    header: usize,
    size: usize,
}

impl<'a> WideEvent<'a> {
    /// Bytes of the payload.
    #[inline(always)]
    pub fn payload_len(&self) -> usize {
        self.size - self.header
    }

    /// The payload from offset `at` on; empty past its end.
    #[inline(always)]
    pub fn payload_from(&self, at: usize) -> &'a [u8] {
        self.rest.get(self.header + at..self.size).unwrap_or_default()
    }
}

impl<'a> Events<'a> {
    /// The next event, if it has this header. It stays the next one until it is [passed](Self::pass).
    /// (One call tests one header, so that the fields it reads stay in registers.)
    #[inline(always)]
    pub fn peek_wide(&self, header: WideHeader) -> Option<WideEvent<'a>> {
        let rest = self.buffer.get(self.at..)?;
        let head = rest.first_chunk::<HEAD>()?;
        let first = word(head, 0);
        let size = usize::from((first >> 32) as u16);
        // The version's low byte can be anything; its high byte announces performance counters.
        let (form, len) = match header {
            WideHeader::System => (0xC002_0000, 0x20),
            WideHeader::PerfInfo => (0xC011_0000, 0x10),
        };
        if first as u32 & 0xFFFF_FF00 != form || size < len || size > rest.len() {
            return None;
        }
        let (time, pid, tid) = match header {
            WideHeader::System => (word(head, 0x10), Pid((word(head, 8) >> 32) as u32), Tid(word(head, 8) as u32)),
            WideHeader::PerfInfo => (word(head, 8), Pid::NONE, Tid::NONE),
        };
        let words = [word(head, len), word(head, len + 8), word(head, len + 16)];
        Some(WideEvent { hook: (first >> 48) as u16, time: time as i64, pid, tid, words, rest, header: len, size })
    }

    /// Moves on behind the event that [`Events::peek_wide`] returned.
    #[inline(always)]
    pub fn pass(&mut self, event: &WideEvent<'a>) {
        self.at += align8(event.size);
    }
}

#[inline(always)]
fn word(head: &[u8; HEAD], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| head[at + i]))
}
