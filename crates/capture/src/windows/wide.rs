//! Conversion to and from Windows strings: UTF-16 with a NUL at the end.

use std::ffi::OsStr;
use std::os::windows::ffi::OsStrExt;

/// Converts to UTF-16 with a final NUL. Text behind an inner NUL is cut off.
pub(super) fn wide(text: impl AsRef<OsStr>) -> Vec<u16> {
    text.as_ref().encode_wide().take_while(|unit| *unit != 0).chain([0]).collect()
}

/// Converts from UTF-16, up to the first NUL or the end.
pub(super) fn narrow(units: &[u16]) -> String {
    let end = units.iter().position(|unit| *unit == 0).unwrap_or(units.len());
    String::from_utf16_lossy(&units[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_and_ends_at_the_first_zero() {
        for text in ["", "highwater-kernel", "Größe 漢字 🎮"] {
            assert_eq!(narrow(&wide(text)), text);
        }
        assert_eq!(narrow(&wide("a\0b")), "a");
        assert_eq!(narrow(&[0x61, 0x62]), "ab");
    }
}
