//! Bounds-checked little-endian fields: every function returns `None` past the end.

use super::Guid;
use crate::ids::PointerSize;

/// `n` rounded up to a multiple of 8, the alignment of events and buffer data.
#[inline]
pub const fn align8(n: usize) -> usize {
    (n + 7) & !7
}

#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// One byte.
#[inline]
pub fn u8_at(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

/// Two bytes.
#[inline]
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

/// Four bytes.
#[inline]
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

/// Eight bytes.
#[inline]
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// Eight bytes, signed.
#[inline]
pub fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    array(bytes, at).map(i64::from_le_bytes)
}

/// A pointer or size of the event's own width.
#[inline]
pub fn address_at(bytes: &[u8], at: usize, pointer: PointerSize) -> Option<u64> {
    match pointer {
        PointerSize::Four => u32_at(bytes, at).map(u64::from),
        PointerSize::Eight => u64_at(bytes, at),
    }
}

/// A GUID in its binary form.
#[inline]
pub fn guid_at(bytes: &[u8], at: usize) -> Option<Guid> {
    array(bytes, at).map(Guid::from_bytes)
}

/// A NUL-terminated UTF-16 string and the offset behind it. A missing NUL ends
/// the string at the end of `bytes`; broken surrogates become U+FFFD.
pub fn utf16z_at(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    let tail = bytes.get(at..)?;
    let mut units = Vec::new();
    let mut next = bytes.len();
    for (i, pair) in tail.chunks_exact(2).enumerate() {
        let unit = u16::from_le_bytes([pair[0], pair[1]]);
        if unit == 0 {
            next = at + 2 * i + 2;
            break;
        }
        units.push(unit);
    }
    Some((String::from_utf16_lossy(&units), next))
}

/// A fixed field of UTF-16 units, cut at its first NUL.
pub fn utf16_field(bytes: &[u8]) -> String {
    utf16z_at(bytes, 0).map(|(text, _)| text).unwrap_or_default()
}

/// A NUL-terminated byte string, read as UTF-8 where it is valid, and the offset
/// behind it. A missing NUL ends it at the end of `bytes`.
pub fn ansi_at(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    let tail = bytes.get(at..)?;
    let len = tail.iter().position(|&b| b == 0).unwrap_or(tail.len());
    let text = match std::str::from_utf8(&tail[..len]) {
        Ok(text) => text.to_owned(),
        // The system's ANSI code page is not recorded; Latin-1 keeps every byte visible.
        Err(_) => tail[..len].iter().map(|&b| char::from(b)).collect(),
    };
    Some((text, (at + len + 1).min(bytes.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_past_the_end_are_none() {
        let bytes = [1, 2, 3];
        assert_eq!(u16_at(&bytes, 1), Some(0x0302));
        assert_eq!(u16_at(&bytes, 2), None);
        assert_eq!(u32_at(&bytes, usize::MAX), None);
        assert_eq!(utf16z_at(&bytes, 4), None);
        assert_eq!(ansi_at(&bytes, 3), Some((String::new(), 3)));
    }

    #[test]
    fn strings_end_at_nul_or_at_the_end() {
        let bytes = [b'a', 0, b'b', 0, 0, 0, b'c', 0];
        assert_eq!(utf16z_at(&bytes, 0), Some(("ab".to_owned(), 6)));
        assert_eq!(utf16z_at(&bytes, 6), Some(("c".to_owned(), 8)));
        assert_eq!(ansi_at(b"x\xE9\0y", 0), Some(("x\u{e9}".to_owned(), 3)));
    }
}
