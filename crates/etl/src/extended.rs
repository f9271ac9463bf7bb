//! Extended data items: data that manifest events may carry besides their payload, call stacks among
//! them (System Informer's `ntwmi.h`).

use super::{align8, u16_at};

/// Numbers of extended data items.
pub mod extended_type {
    /// u64 match id, then 4-byte return addresses.
    pub const STACK_TRACE32: u16 = 5;
    /// u64 match id, then 8-byte return addresses.
    pub const STACK_TRACE64: u16 = 6;
    /// Description of a self-describing event, its size first.
    pub const SCHEMA: u16 = 11;
    /// Traits of a self-describing provider, their size first.
    pub const PROVIDER_TRAITS: u16 = 12;
    /// u64 match id, u32 stack key.
    pub const STACK_KEY32: u16 = 17;
    /// u64 match id, u64 stack key.
    pub const STACK_KEY64: u16 = 18;
}

/// The extended items of one event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extended<'a>(&'a [u8]);

/// One extended item.
#[derive(Clone, Copy, Debug)]
pub struct ExtendedItem<'a> {
    /// Number of [`extended_type`].
    pub kind: u16,
    /// Its data.
    pub data: &'a [u8],
}

impl ExtendedItem<'_> {
    /// Whether it holds the event's call stack, as addresses or as a key.
    pub fn is_stack(&self) -> bool {
        use extended_type::{STACK_KEY32, STACK_KEY64, STACK_TRACE32, STACK_TRACE64};
        matches!(self.kind, STACK_TRACE32 | STACK_TRACE64 | STACK_KEY32 | STACK_KEY64)
    }
}

impl<'a> Extended<'a> {
    /// Splits the bytes behind an EVENT header into items and payload. `None` if the chain of items
    /// runs past the event.
    pub(super) fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let mut at = 0;
        loop {
            let linkage = u16_at(bytes, at + 4)?;
            let data = u16_at(bytes, at + 6)? as usize;
            let end = at + 8 + data;
            if end > bytes.len() {
                return None;
            }
            at += align8(8 + data);
            if linkage & 1 == 0 {
                // The last item of an event without payload may lack its padding.
                let at = at.min(bytes.len());
                return Some((Self(&bytes[..at]), &bytes[at..]));
            }
        }
    }
}

impl<'a> Iterator for Extended<'a> {
    type Item = ExtendedItem<'a>;

    #[inline]
    fn next(&mut self) -> Option<ExtendedItem<'a>> {
        let kind = u16_at(self.0, 2)?;
        let size = u16_at(self.0, 6)? as usize;
        let data = self.0.get(8..8 + size)?;
        self.0 = self.0.get(align8(8 + size)..).unwrap_or_default();
        Some(ExtendedItem { kind, data })
    }
}
