//! GUIDs in the mixed-endian binary form of Windows.

use std::fmt;

use thiserror::Error;

/// A GUID: the identity of a provider, an event class or a session. Its bytes are kept as two words, because each
/// event with a class is compared with several.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guid([u64; 2]);

impl Guid {
    /// From the 16 bytes of a file.
    #[inline]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        let whole = u128::from_le_bytes(bytes);
        Self([whole as u64, (whole >> 64) as u64])
    }

    /// From the printed groups, for example
    /// `Guid::new(0x9E814AAD, 0x3204, 0x11D2, [0x9A, 0x82, 0, 0x60, 0x08, 0xA8, 0x69, 0x39])`.
    #[inline]
    pub const fn new(a: u32, b: u16, c: u16, d: [u8; 8]) -> Self {
        let [a0, a1, a2, a3] = a.to_le_bytes();
        let [b0, b1] = b.to_le_bytes();
        let [c0, c1] = c.to_le_bytes();
        Self::from_bytes([a0, a1, a2, a3, b0, b1, c0, c1, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]])
    }

    /// The 16 bytes as they stand in a file.
    #[inline]
    pub const fn to_bytes(self) -> [u8; 16] {
        let [low, high] = self.0;
        ((high as u128) << 64 | low as u128).to_le_bytes()
    }

    /// Parses the printed form, without braces.
    fn bare(text: &str) -> Result<Self, NoGuid> {
        let groups: Vec<&str> = text.split('-').collect();
        let [a, b, c, d, e] = groups[..] else { return Err(NoGuid) };
        let number = |digits: &str, count: usize| {
            let is_hex = digits.len() == count && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            is_hex.then(|| u64::from_str_radix(digits, 16).ok()).flatten().ok_or(NoGuid)
        };
        let tail = (number(d, 4)? << 48 | number(e, 12)?).to_be_bytes();
        Ok(Self::new(number(a, 8)? as u32, number(b, 4)? as u16, number(c, 4)? as u16, tail))
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = &self.to_bytes();
        write!(f, "{:08X}", u32::from_le_bytes([b[0], b[1], b[2], b[3]]))?;
        write!(f, "-{:04X}", u16::from_le_bytes([b[4], b[5]]))?;
        write!(f, "-{:04X}-", u16::from_le_bytes([b[6], b[7]]))?;
        for (i, byte) in b[8..].iter().enumerate() {
            write!(f, "{}{byte:02X}", if i == 2 { "-" } else { "" })?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Guid {
    type Err = NoGuid;

    /// Parses the printed form in upper or lower case, with or without braces.
    fn from_str(text: &str) -> Result<Self, NoGuid> {
        Self::bare(text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text))
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Guid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Guid {
    /// Accepts only the form that is written: no user has typed it.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        Self::bare(&String::deserialize(deserializer)?).map_err(|NoGuid| D::Error::custom("a GUID is wanted"))
    }
}

/// The error for a text that is not a GUID.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("not a GUID")]
pub struct NoGuid;

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_the_form_people_know() {
        let heap = Guid::new(0x222962AB, 0x6180, 0x4B88, [0xA8, 0x25, 0x34, 0x6B, 0x75, 0xF2, 0xA2, 0x4A]);
        assert_eq!(heap.to_string(), "222962AB-6180-4B88-A825-346B75F2A24A");
        assert_eq!(Guid::from_bytes(heap.to_bytes()), heap);
        assert_eq!(heap.to_string().to_lowercase().parse(), Ok(heap));
        assert_eq!(format!("{{{heap}}}").parse(), Ok(heap));
        for other in [
            "",
            "{}",
            "222962AB-6180-4B88-A825",
            "222962AB-6180-4B88-A825-346B75F2A24",
            "+22962AB-6180-4B88-A825-346B75F2A24A",
            "{222962AB-6180-4B88-A825-346B75F2A24A",
            "{{222962AB-6180-4B88-A825-346B75F2A24A}}",
        ] {
            assert_eq!(other.parse::<Guid>(), Err(NoGuid), "{other}");
        }
    }
}
