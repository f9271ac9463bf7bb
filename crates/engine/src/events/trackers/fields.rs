//! Fields of an event, as a mapping names them and as they are read.

use std::fmt::Write as _;

use crate::etl::{PointerSize, address_at, ansi_at, guid_at, u8_at, u16_at, u32_at, u64_at, utf16z_at};
use crate::events::activity::FieldValue;

/// Type of a field in the payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FieldType {
    U8,
    U16,
    U32,
    U64,
    /// As wide as pointers are in the event's header.
    Pointer,
    /// UTF-8 up to a zero.
    Utf8,
    /// UTF-16 up to a zero.
    Utf16,
    Guid,
    /// So many bytes, which are passed over.
    Bytes(usize),
}

/// Most bytes of a field that is passed over: no event is longer.
const MOST_BYTES: usize = 1 << 16;

impl FieldType {
    /// The type with a name; `None` if there is none.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "ptr" => Self::Pointer,
            "utf8z" => Self::Utf8,
            "utf16z" => Self::Utf16,
            "guid" => Self::Guid,
            _ => {
                let count = name.strip_prefix("bytes(")?.strip_suffix(')')?.parse().ok()?;
                return (count <= MOST_BYTES).then_some(Self::Bytes(count));
            }
        })
    }

    /// Whether it is a number, which an address or a size has to be.
    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64 | Self::Pointer)
    }

    /// Reads a value at an offset, and gives the offset behind it; `None` if the payload ends before.
    pub(super) fn read(self, payload: &[u8], at: usize, pointer: PointerSize) -> Option<(FieldValue, usize)> {
        let number = |value: u64, size: usize| Some((FieldValue::Number(value), at + size));
        match self {
            Self::U8 => number(u8_at(payload, at)?.into(), 1),
            Self::U16 => number(u16_at(payload, at)?.into(), 2),
            Self::U32 => number(u32_at(payload, at)?.into(), 4),
            Self::U64 => number(u64_at(payload, at)?, 8),
            Self::Pointer => Some((FieldValue::Address(address_at(payload, at, pointer)?), at + pointer.bytes())),
            Self::Utf8 => ansi_at(payload, at).map(|(text, end)| (FieldValue::Text(text), end)),
            Self::Utf16 => utf16z_at(payload, at).map(|(text, end)| (FieldValue::Text(text), end)),
            Self::Guid => Some((FieldValue::Text(guid_at(payload, at)?.to_string()), at + 16)),
            Self::Bytes(count) => {
                payload.get(at..at.checked_add(count)?)?;
                Some((FieldValue::Text(String::new()), at + count))
            }
        }
    }
}

/// A part of a tracker's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NamePart {
    Text(String),
    /// The field with this number among the fields of the name.
    Field(usize),
}

/// A tracker's name with fields in braces.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct NameTemplate {
    parts: Vec<NamePart>,
    /// Names of its fields, each once.
    pub(super) fields: Vec<String>,
}

impl NameTemplate {
    /// The template in a text; the error says what is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut template = Self::default();
        let mut rest = text;
        while let Some(open) = rest.find(['{', '}']) {
            template.add_text(&rest[..open]);
            let inside = rest[open..].strip_prefix('{').and_then(|inside| inside.split_once('}'));
            let Some((field, behind)) = inside else { return Err("a brace of the name has no other one".to_owned()) };
            if !is_field_name(field) || field == "_" {
                return Err(format!("{{{field}}} in the name is not a field"));
            }
            let number = template.fields.iter().position(|known| known == field).unwrap_or_else(|| {
                template.fields.push(field.to_owned());
                template.fields.len() - 1
            });
            template.parts.push(NamePart::Field(number));
            rest = behind;
        }
        template.add_text(rest);
        if template.parts.is_empty() { Err("a tracker needs a name".to_owned()) } else { Ok(template) }
    }

    fn add_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.parts.push(NamePart::Text(text.to_owned()));
        }
    }

    /// The name with these values of its fields.
    pub(super) fn name(&self, values: &[FieldValue]) -> String {
        let mut name = String::new();
        for part in &self.parts {
            // Writing into a string cannot fail.
            let _ = match part {
                NamePart::Text(text) => write!(name, "{text}"),
                NamePart::Field(number) => values.get(*number).map_or(Ok(()), |value| write!(name, "{value}")),
            };
        }
        name
    }
}

/// Whether a text can be the name of a field.
pub(super) fn is_field_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_fields_filled_in_and_bad_ones_are_refused() {
        let template = NameTemplate::parse("Pool {pool} of {owner}, {pool}").unwrap();
        assert_eq!(template.fields, ["pool", "owner"]);
        let values = [FieldValue::Number(7), FieldValue::Text("Audio".to_owned())];
        assert_eq!(template.name(&values), "Pool 7 of Audio, 7");
        assert_eq!(NameTemplate::parse("mimalloc").unwrap().name(&[]), "mimalloc");
        for bad in ["", "{", "a}", "{}", "{a", "{_}", "{a b}"] {
            assert!(NameTemplate::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn values_are_read_in_the_width_of_their_type_and_not_beyond_the_payload() {
        let payload = [1, 2, 3, 4, 5, 6, 7, 8, b'a', 0];
        let read = |ty: &str, at, pointer| FieldType::parse(ty).unwrap().read(&payload, at, pointer);
        let eight = PointerSize::Eight;
        assert_eq!(read("u16", 0, eight), Some((FieldValue::Number(0x201), 2)));
        assert_eq!(read("ptr", 0, PointerSize::Four), Some((FieldValue::Address(0x0403_0201), 4)));
        assert_eq!(read("ptr", 0, eight), Some((FieldValue::Address(0x0807_0605_0403_0201), 8)));
        assert_eq!(read("utf8z", 8, eight), Some((FieldValue::Text("a".to_owned()), 10)));
        assert_eq!(read("bytes(3)", 7, eight).map(|(_, end)| end), Some(10));
        for (ty, at) in [("u64", 3), ("guid", 0), ("bytes(4)", 7), ("ptr", 9), ("u8", 10)] {
            assert_eq!(read(ty, at, eight), None, "{ty}");
        }
        for bad in ["u9", "bytes", "bytes()", "bytes(-1)", "bytes(99999999)", ""] {
            assert_eq!(FieldType::parse(bad), None, "{bad}");
        }
    }
}
