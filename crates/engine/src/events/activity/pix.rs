//! PIX's counters and timing blocks (Microsoft-Graphics-Tools-PixMarkers), as WinPixEventRuntime writes them.
//!
//! | id | event | payload |
//! |-|-|-|
//! | 18, 22 | timing block, of the first and second format | number, bytes of the block: u32; the block |
//! | 19 | timing header | run-time version, bytes: u32; bytes of which no public layout exists |
//! | 20 | counter | value: f32; name: UTF-16, NUL |
//!
//! All versions are 0 (`runtime/lib/PIXETW.man` in microsoft/PixEvents; MIT, as are the other files named here).
//!
//! **A block** belongs to one thread (`shared/PEvtBlk.h`): two pointers, reserved u32, kind u32 (0: of a CPU), thread u32, process
//! u32, first and last time u64; then events in words of 64 bits up to an end mark (`PIXEventsBlockEndMarker` in
//! `include/PIXEventsCommon.h`). Times are those of QueryPerformanceCounter (`PIXGetTimestampCounter` in `include/pix3_win.h`), so
//! they are on the trace's clock if that is the same counter, and on no other. The decoder reads headers with pointers of 64 bits
//! only, so blocks of programs of 32 bits are not read here.
//!
//! **An event** begins with a word: 44 bits of its time, then in the second format 8 bits of metadata (on a GPU context, name of
//! bytes, colour), 5 of its type and 7 of its words in all (`PIXDecodeEventInfo` in `decoder/lib/PIXEventsFormat.h`); in the first
//! format 10 bits of its type and zeros. Times do not fall, so a lower part that falls carries (`BlockParser::ProcessEvents` in
//! `decoder/lib/BlockParser.cpp`). Behind it: a colour, a context, a name, arguments of a name with format specifiers
//! (`ReadEventWithFormatParameters` in `decoder/lib/EventReading.cpp`). Names of bytes are UTF-8. A name without its NUL was cut.
//!
//! Events on a GPU context were written when a command list was recorded, and say nothing of when a thread did what: they are
//! counted. So are types that the decoder skips. What ends the reading of a block, because nothing says where the next event
//! begins: types without a known length, names in a form that the decoder guesses, arguments that do not lead to an event.

use super::described::shortened;
use super::pix_text::{Name, text_of, words_of_arguments};
use crate::etl::{RawEvent, u32_at, u64_at, utf16z_at};
use crate::events::hooks::pix;
use crate::format::plain;
use crate::units::{PointerSize, Tid};

/// An event of PIX's run-time, blocks of allocators apart.
#[derive(Clone, PartialEq, Debug)]
pub enum PixEvent {
    /// The value of a counter from now on.
    Counter {
        /// Its name.
        name: Box<str>,
        /// The value, which is finite.
        value: f32,
    },
    /// Scopes and markers of one thread.
    Block(PixBlock),
    /// An event that is not read.
    Unread(PixDoubt),
}

/// A reason why an event of PIX is not read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PixDoubt {
    /// A timing header, whose layout is not public.
    Header,
    /// It has a form that is not known.
    Form,
    /// Its times are not on the trace's clock.
    Clock,
    /// A counter's value is no number.
    NoNumber,
}

/// Scopes and markers of one thread, in the order of their times.
#[derive(Clone, PartialEq, Debug)]
pub struct PixBlock {
    /// Number of the block in its process, counted up (`WriteBlock` in `runtime/dll/shared/WinPixEventRuntime.shared.cpp`).
    pub number: u32,
    /// The thread.
    pub tid: Tid,
    /// Raw times of the block's begin and end.
    pub times: (i64, i64),
    /// Its scopes and markers.
    pub steps: Vec<PixStep>,
    /// Events on GPU contexts, which are not read.
    pub of_gpu: u32,
    /// Events of types that are not known.
    pub unknown: u32,
    /// Names that the run-time cut for want of room.
    pub cut_names: u32,
    /// Whether it was read up to its end mark.
    pub is_whole: bool,
}

/// The begin or end of a scope, or a marker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PixStep {
    /// Raw time.
    pub at: i64,
    /// Its kind.
    pub what: PixWhat,
}

/// The kind of a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PixWhat {
    /// A scope with this name begins.
    Begin(Box<str>),
    /// The scope that began last ends.
    End,
    /// A marker.
    Marker(Box<str>),
}

/// Bytes of a block's header, with pointers of 64 bits.
const HEADER: usize = 48;
/// The word behind the last event.
pub(in crate::events) const END_MARK: u64 = 0xF_FF80;
/// Bits of a time in an event.
const TIME_BITS: u32 = 44;
/// Bits below the time.
pub(in crate::events) const TIME_SHIFT: u32 = 20;
/// An event of so many words may be longer.
const LONGEST: usize = 0x7F;
/// Metadata: on a GPU context; name of bytes; with a colour of its own.
pub(in crate::events) const ON_CONTEXT: u64 = 1;
const OF_BYTES: u64 = 2;
const COLOUR: u64 = 0xF0;

/// Reads an event; `Some(None)` for other events. `None` if it is too short. `is_qpc`: whether the trace's clock is
/// QueryPerformanceCounter.
pub(super) fn event(id: u16, raw: &RawEvent<'_>, is_qpc: bool) -> Option<Option<PixEvent>> {
    Some(match id {
        pix::TIMING_HEADER => Some(PixEvent::Unread(PixDoubt::Header)),
        pix::COUNTER => Some(counter(raw)?),
        pix::BLOCK_1 | pix::BLOCK_2 => Some(timing(raw, is_qpc)?),
        _ => None,
    })
}

fn counter(raw: &RawEvent<'_>) -> Option<PixEvent> {
    let value = f32::from_bits(u32_at(raw.payload, 0)?);
    let (name, end) = utf16z_at(raw.payload, 4)?;
    let is_terminated = end == raw.payload.len() && raw.payload.ends_with(&[0, 0]) && end.is_multiple_of(2) && end > 6;
    Some(match () {
        () if raw.version != 0 || !is_terminated => PixEvent::Unread(PixDoubt::Form),
        () if !value.is_finite() => PixEvent::Unread(PixDoubt::NoNumber),
        // Without the sign of a zero.
        () => PixEvent::Counter { name: text(&name), value: value + 0.0 },
    })
}

fn timing(raw: &RawEvent<'_>, is_qpc: bool) -> Option<PixEvent> {
    let (number, bytes) = (u32_at(raw.payload, 0)?, u32_at(raw.payload, 4)? as usize);
    let block = &raw.payload[8..];
    if raw.version != 0 || raw.pointer != PointerSize::Eight || bytes != block.len() || bytes < HEADER || !bytes.is_multiple_of(8)
    {
        return Some(PixEvent::Unread(PixDoubt::Form));
    }
    let (kind, tid, pid) = (u32_at(block, 20)?, Tid(u32_at(block, 24)?), u32_at(block, 28)?);
    let (begin, end) = (u64_at(block, 32)? as i64, u64_at(block, 40)? as i64);
    if kind != 0 || pid != raw.pid.0 {
        return Some(PixEvent::Unread(PixDoubt::Form));
    }
    // The block is written after its last event.
    if !is_qpc || begin < 0 || begin > end || end > raw.time {
        return Some(PixEvent::Unread(PixDoubt::Clock));
    }
    let mut read =
        PixBlock { number, tid, times: (begin, end), steps: Vec::new(), of_gpu: 0, unknown: 0, cut_names: 0, is_whole: false };
    let (words, _) = block[HEADER..].as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    read.is_whole = Walk { words: &words, at: 0, time: begin, block: &mut read }.events().is_some();
    Some(PixEvent::Block(read))
}

/// A name as it is kept.
fn text(name: &str) -> Box<str> {
    shortened(plain(name.trim())).into()
}

/// The way through the words of a block.
struct Walk<'a> {
    words: &'a [u64],
    at: usize,
    /// Raw time of the latest event.
    time: i64,
    block: &'a mut PixBlock,
}

/// Types of events, in both formats.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    End,
    Begin,
    Marker,
}

impl Walk<'_> {
    /// Reads events up to the end mark; `None` if that is not reached.
    fn events(&mut self) -> Option<()> {
        loop {
            let info = *self.words.get(self.at)?;
            if info == END_MARK {
                return Some(());
            }
            let time = self.time_of(info);
            if time > self.block.times.1 {
                return None;
            }
            self.time = time;
            match (info & 0x7F) as usize {
                0 => self.first_format(info)?,
                words => self.second_format(info, words)?,
            }
        }
    }

    fn time_of(&self, info: u64) -> i64 {
        const LOW: i64 = (1 << TIME_BITS) - 1;
        let time = (self.time & !LOW) | (info >> TIME_SHIFT) as i64;
        if time < self.time { time.saturating_add(LOW + 1) } else { time }
    }

    fn add(&mut self, kind: Kind, name: &Name) {
        self.block.cut_names += u32::from(name.is_cut);
        let text = || if name.is_cut { format!("{}\u{2026}", text(&name.text)).into() } else { text(&name.text) };
        let what = match kind {
            Kind::End => PixWhat::End,
            Kind::Begin => PixWhat::Begin(text()),
            Kind::Marker => PixWhat::Marker(text()),
        };
        self.block.steps.push(PixStep { at: self.time, what });
    }

    /// Reads an event that says how many words it has.
    fn second_format(&mut self, info: u64, length: usize) -> Option<()> {
        let words = self.words.get(self.at + 1..self.at + length)?;
        let metadata = info >> 12 & 0xFF;
        let kind = match info >> 7 & 0x1F {
            0 => Some(Kind::End),
            1 => Some(Kind::Begin),
            2 => Some(Kind::Marker),
            _ => None,
        };
        match kind {
            None => self.block.unknown += 1,
            Some(_) if metadata & ON_CONTEXT != 0 => self.block.of_gpu += 1,
            Some(Kind::End) => self.add(Kind::End, &Name::default()),
            Some(_) if length == LONGEST => return None,
            Some(kind) => {
                let words = if metadata & COLOUR == COLOUR { words.get(1..)? } else { words };
                let (name, rest) = Name::read(words, metadata & OF_BYTES != 0, 1);
                // Without arguments the name is no format.
                let name = if rest.is_empty() { name } else { Name { text: text_of(&name.text, rest), ..name } };
                self.add(kind, &name);
            }
        }
        // A length of 127 words says only that there are as many.
        if length == LONGEST {
            return None;
        }
        self.at += length;
        Some(())
    }

    /// Reads an event of the first format: its type says what follows.
    fn first_format(&mut self, info: u64) -> Option<()> {
        /// Bits that no event has.
        const RESERVED: u64 = 0x3FF;
        const ON_CONTEXT: u64 = 0x10;
        let kind = info >> 10 & 0x3FF;
        let is_of_gpu = kind & ON_CONTEXT != 0;
        let (kind, has_arguments) = match kind & !ON_CONTEXT {
            0 => (Kind::End, false),
            1 => (Kind::Begin, true),
            2 => (Kind::Begin, false),
            7 => (Kind::Marker, true),
            8 => (Kind::Marker, false),
            _ => return None,
        };
        if info & RESERVED != 0 {
            return None;
        }
        let colour = usize::from(kind != Kind::End);
        let mut words = self.words.get(self.at + 1 + colour + usize::from(is_of_gpu)..)?;
        let mut name = Name::default();
        if kind != Kind::End {
            (name, words) = Name::read_described(words)?;
            if has_arguments {
                let arguments = words_of_arguments(&name.text, words)?;
                let (arguments, rest) = words.split_at_checked(arguments)?;
                name.text = text_of(&name.text, arguments);
                words = rest;
            }
        }
        self.at = self.words.len() - words.len();
        if is_of_gpu {
            self.block.of_gpu += 1;
        } else {
            self.add(kind, &name);
        }
        // Arguments may be other than the format says: then no event follows.
        (!has_arguments || self.is_event_next()).then_some(())
    }

    /// Whether an event can stand at the present place (`IsValidEventInfo` in `decoder/lib/BlockParser.cpp`).
    fn is_event_next(&self) -> bool {
        self.words.get(self.at).is_some_and(|&info| {
            let is_known = match info & 0x7F {
                0 => info & 0x3FF == 0 && matches!(info >> 10 & 0x3EF, 0..=2 | 7 | 8),
                _ => info >> 7 & 0x1F <= 2,
            };
            info == END_MARK || is_known && (self.time..=self.block.times.1).contains(&self.time_of(info))
        })
    }
}

impl PixBlock {
    /// The part of it before a raw time, for a trace that ends there.
    pub fn before(mut self, end: i64) -> Option<Self> {
        self.steps.retain(|step| step.at < end);
        self.times.1 = self.times.1.min(end);
        (self.times.0 < end && !self.steps.is_empty()).then_some(self)
    }
}

#[cfg(test)]
mod tests;
