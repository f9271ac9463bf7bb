//! `WMI_BUFFER_HEADER`: the 72 bytes before each buffer's events, the same on 32-
//! and 64-bit systems since Windows Vista (System Informer's `ntwmi.h`, Geoff
//! Chappell's notes; checked on 63 public traces).

use super::{i64_at, u8_at, u16_at, u32_at};

/// Bytes of the buffer header; the first event stands right behind it.
pub const BUFFER_HEADER: usize = 0x48;

/// Largest buffer that is accepted: Windows allows no larger ones since version 8, and only 1 MiB
/// before (documentation of `EVENT_TRACE_PROPERTIES`). A larger claim is damage.
pub const MAX_BUFFER: usize = 16 << 20;

/// A compressed buffer may expand to at most this many times its own size. Those of real traces expand
/// to 5 to 30 times; plain XPRESS can be made to give 10,000 times.
pub(super) const MAX_RATIO: usize = 200;

/// A compressed buffer may always expand to this many bytes: one event of zeros shrinks to nothing.
const ALWAYS_EXPANDED: usize = 1 << 20;

/// Limit on the expanded size of all compressed buffers of a file: a multiple of its size on disk. For
/// a file in an archive that is its packed size, so that the archive's and the buffers' compression
/// together are bounded as either alone is.
#[derive(Clone, Copy, Debug)]
pub struct Expandable {
    /// Bytes of the file.
    bytes: u64,
    /// Bytes that the file takes on disk.
    packed: u64,
    /// Bytes that are always allowed.
    always: u64,
}

impl Expandable {
    /// A file that is not in an archive.
    pub const PLAIN: Self = Self { bytes: 1, packed: 1, always: MAX_BUFFER as u64 };

    /// One of `members` members of an archive, whose `bytes` bytes take `packed` bytes there.
    pub fn member(bytes: u64, packed: u64, members: usize) -> Self {
        let always = (MAX_BUFFER as u64 / members.max(1) as u64).max(ALWAYS_EXPANDED as u64);
        Self { bytes: bytes.max(1), packed: packed.min(bytes), always }
    }

    /// Limit on the expanded size of the compressed buffers in the first `bytes` bytes.
    pub(super) fn up_to(self, bytes: u64) -> u64 {
        let packed = u128::from(bytes) * u128::from(self.packed) / u128::from(self.bytes);
        u64::try_from(packed * MAX_RATIO as u128).unwrap_or(u64::MAX).saturating_add(self.always)
    }
}

/// Bits of `BufferFlag`.
pub mod flag {
    /// Written by a flush before it was full.
    pub const FLUSH_MARKER: u16 = 0x01;
    /// Events were lost before this buffer.
    pub const EVENTS_LOST: u16 = 0x02;
    /// A whole buffer was lost before this one.
    pub const BUFFER_LOST: u16 = 0x04;
    /// The processor field has 16 bits instead of 8.
    pub const PROC_INDEX: u16 = 0x20;
    /// Everything behind the header is one compressed stream.
    pub const COMPRESSED: u16 = 0x40;
}

/// Contents of a buffer, from `BufferType`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferKind {
    /// Events.
    Events,
    /// The session header event first, then events.
    Header,
    /// Clock references or markers without events.
    NoEvents,
}

/// One buffer of a file, as its header describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BufferInfo {
    /// Where it starts in the file.
    pub offset: u64,
    /// Bytes it takes in the file, header included.
    pub size: u32,
    /// Processor whose stream it belongs to.
    pub processor: u16,
    /// Its place among the buffers of all processors. In a file that several sessions
    /// were appended to, numbers go on where those of the session before ended.
    pub sequence: i64,
    /// Bits of [`flag`].
    pub flags: u16,
    /// Kind of its contents.
    pub kind: BufferKind,
    /// End of valid data as the header claims it (two fields, the more reliable first).
    claimed_ends: [u32; 2],
}

impl BufferInfo {
    /// Reads the header at the start of `bytes`; `None` if it is too short or its
    /// size field impossible.
    pub fn parse(bytes: &[u8], offset: u64) -> Option<Self> {
        let header = bytes.get(..BUFFER_HEADER)?;
        let size = u32_at(header, 0)?;
        if (size as usize) < BUFFER_HEADER || size as usize > MAX_BUFFER {
            return None;
        }
        let flags = u16_at(header, 0x34)?;
        let processor =
            if flags & flag::PROC_INDEX != 0 { u16_at(header, 0x28)? & 0x07FF } else { u16::from(u8_at(header, 0x28)?) };
        let kind = match u16_at(header, 0x36)? {
            4 => BufferKind::Header,
            3 | 6 => BufferKind::NoEvents,
            _ => BufferKind::Events,
        };
        Some(Self {
            offset,
            size,
            processor,
            sequence: i64_at(header, 0x18)?,
            flags,
            kind,
            claimed_ends: [u32_at(header, 0x30)?, u32_at(header, 0x04)?],
        })
    }

    /// Sort key that puts the buffers of one processor into the order of time. (The order in the file
    /// is not enough: circular files begin anywhere.)
    #[inline]
    pub fn order(&self) -> (i64, u64) {
        (self.sequence, self.offset)
    }

    /// Whether the data behind the header is compressed.
    #[inline]
    pub fn is_compressed(&self) -> bool {
        self.flags & flag::COMPRESSED != 0
    }

    /// Limit on its expanded size, header included, if it is compressed.
    pub(super) fn most_expanded(&self) -> usize {
        (self.size as usize).saturating_mul(MAX_RATIO).clamp(ALWAYS_EXPANDED, MAX_BUFFER)
    }

    /// End of the data as the header claims it, possible or not.
    pub(super) fn claimed_end(&self) -> u64 {
        self.claimed_ends[0].into()
    }

    /// Its size once expanded, header included; only the header's if the claimed end is impossible.
    pub fn expanded_size(&self) -> usize {
        if !self.is_compressed() {
            return self.size as usize;
        }
        match self.valid_end(self.most_expanded()) {
            (end, true) => end,
            (_, false) => BUFFER_HEADER,
        }
    }

    /// End of the events, counted from the buffer's start, at most `capacity`;
    /// `false` if the header's claims were impossible and the capacity was taken.
    #[inline]
    pub fn valid_end(&self, capacity: usize) -> (usize, bool) {
        let plausible = |end: &&u32| (BUFFER_HEADER..=capacity).contains(&(**end as usize));
        match self.claimed_ends.iter().find(plausible) {
            Some(&end) => (end as usize, true),
            None => (capacity, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(size: u32, offset: u32, saved: u32, flags: u16) -> Vec<u8> {
        let mut bytes = vec![0; BUFFER_HEADER];
        bytes[0..4].copy_from_slice(&size.to_le_bytes());
        bytes[4..8].copy_from_slice(&saved.to_le_bytes());
        bytes[0x28] = 3;
        bytes[0x29] = 8; // the alignment byte of old systems
        bytes[0x30..0x34].copy_from_slice(&offset.to_le_bytes());
        bytes[0x34..0x36].copy_from_slice(&flags.to_le_bytes());
        bytes
    }

    #[test]
    fn what_is_packed_twice_may_hold_what_its_packed_bytes_may() {
        const MB: u64 = 1 << 20;
        let plain = Expandable::PLAIN;
        assert_eq!((plain.up_to(0), plain.up_to(MB)), (16 * MB, 216 * MB));
        assert_eq!(Expandable::member(8 * MB, 8 * MB, 1).up_to(8 * MB), 1616 * MB);
        let packed = Expandable::member(8 * MB, MB, 4);
        assert_eq!((packed.up_to(0), packed.up_to(4 * MB), packed.up_to(8 * MB)), (4 * MB, 104 * MB, 204 * MB));
        assert_eq!(Expandable::member(MB, 9 * MB, 1000).up_to(MB), 201 * MB, "no more than it has, and a buffer always");
        assert_eq!(Expandable::member(0, 0, 0).up_to(u64::MAX), 16 * MB);
    }

    #[test]
    fn the_processor_field_has_the_width_that_the_flag_says() {
        let narrow = BufferInfo::parse(&header(0x1000, 0x100, 0, 0), 0).unwrap();
        assert_eq!(narrow.processor, 3);
        let wide = BufferInfo::parse(&header(0x1000, 0x100, 0, flag::PROC_INDEX), 0).unwrap();
        assert_eq!(wide.processor, 0x0803 & 0x07FF);
    }

    #[test]
    fn the_end_of_data_is_the_first_possible_claim() {
        let end = |offset, saved| BufferInfo::parse(&header(0x1000, offset, saved, 0), 0).unwrap().valid_end(0x1000);
        assert_eq!(end(0x200, 0x100), (0x200, true));
        assert_eq!(end(0x2000, 0x100), (0x100, true));
        assert_eq!(end(0, 0), (0x1000, false));
    }

    #[test]
    fn a_buffer_takes_as_many_bytes_as_the_readme_says() {
        assert_eq!(size_of::<BufferInfo>(), 40);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(BufferInfo::parse(&header(0x47, 0, 0, 0), 0).is_none());
        assert!(BufferInfo::parse(&header(u32::MAX, 0, 0, 0), 0).is_none());
        assert!(BufferInfo::parse(&[0; 71], 0).is_none());
    }
}
