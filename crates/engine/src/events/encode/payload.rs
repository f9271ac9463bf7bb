//! A payload under construction, in memory that is reused from event to event.

use crate::etl::Guid;
use crate::units::PointerSize;

/// Little-endian fields, one behind the other, without padding.
#[derive(Debug)]
pub struct Payload {
    bytes: Vec<u8>,
    pointer: PointerSize,
}

impl Default for Payload {
    fn default() -> Self {
        Self { bytes: Vec::with_capacity(2048), pointer: PointerSize::Eight }
    }
}

impl Payload {
    /// Empties it for an event with pointers of this size.
    pub fn restart(&mut self, pointer: PointerSize) -> &mut Self {
        self.bytes.clear();
        self.pointer = pointer;
        self
    }

    /// Whether pointers have 4 bytes.
    pub fn is_narrow(&self) -> bool {
        self.pointer == PointerSize::Four
    }

    /// The bytes put so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.bytes.push(value);
        self
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// A pointer or size of the event's width; a narrow one drops the upper half.
    pub fn word(&mut self, value: u64) -> &mut Self {
        match self.pointer {
            PointerSize::Four => self.u32(value as u32),
            PointerSize::Eight => self.u64(value),
        }
    }

    /// Several pointers or sizes.
    pub fn words(&mut self, values: &[u64]) -> &mut Self {
        let from = self.bytes.len();
        let width = self.pointer.bytes();
        self.bytes.resize(from + width * values.len(), 0);
        let slots = &mut self.bytes[from..];
        match self.pointer {
            PointerSize::Four => {
                for (slot, value) in slots.chunks_exact_mut(4).zip(values) {
                    slot.copy_from_slice(&(*value as u32).to_le_bytes());
                }
            }
            PointerSize::Eight => {
                for (slot, value) in slots.chunks_exact_mut(8).zip(values) {
                    slot.copy_from_slice(&value.to_le_bytes());
                }
            }
        }
        self
    }

    /// A GUID in its binary form.
    pub fn guid(&mut self, guid: Guid) -> &mut Self {
        self.raw(&guid.to_bytes())
    }

    /// A NUL-terminated UTF-16 string.
    pub fn utf16z(&mut self, text: &str) -> &mut Self {
        self.bytes.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
        self
    }

    /// A field of exactly `units` UTF-16 units, the last of them NUL.
    pub fn utf16_field(&mut self, text: &str, units: usize) -> &mut Self {
        let padded = text.encode_utf16().take(units.saturating_sub(1)).chain(std::iter::repeat(0));
        self.bytes.extend(padded.take(units).flat_map(u16::to_le_bytes));
        self
    }

    /// A NUL-terminated byte string.
    pub(crate) fn ansi(&mut self, text: &str) -> &mut Self {
        self.raw(text.as_bytes()).u8(0)
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// `count` zero bytes.
    pub fn zeros(&mut self, count: usize) -> &mut Self {
        self.bytes.resize(self.bytes.len() + count, 0);
        self
    }
}
