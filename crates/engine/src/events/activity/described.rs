//! Events that describe their fields: self-describing ones (TraceLogging) in an extended item, events
//! of a manifest in the description that merging adds to the trace (EventMetadata, whose payload is the
//! TRACE_EVENT_INFO of Windows' event helper).
//!
//! Values are formatted as far as their layout is known: at the first field with an unknown layout, the
//! list ends with an ellipsis. Layouts: Microsoft's `TraceLoggingProvider.h` and `tdh.h`, as their
//! documentation and PerfView's parser have them; checked on public traces.
//!
//! Bounded: [`MAX_FIELDS`] fields, [`MAX_NAME`] units a name, [`MAX_TEXT`] bytes of text.

use std::fmt::{self, Write as _};

use crate::etl::{Guid, RawEvent, address_at, ansi_at, guid_at, i64_at, u8_at, u16_at, u32_at, u64_at, utf16_field, utf16z_at};
use crate::units::PointerSize;

/// Most fields of one event that are read.
const MAX_FIELDS: usize = 64;

/// Most UTF-16 units of a name in a description. (Many names can point to the same text.)
const MAX_NAME: usize = 64;

/// Most bytes of text that are made of one event.
pub(super) const MAX_TEXT: usize = 512;

/// Storage type of a value; both kinds of descriptions use these numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InType(pub u16);

#[allow(missing_docs, reason = "the names are those of the format")]
impl InType {
    pub(crate) const NULL: Self = Self(0);
    pub const UNICODE_STRING: Self = Self(1);
    pub(crate) const ANSI_STRING: Self = Self(2);
    pub(crate) const INT8: Self = Self(3);
    pub(crate) const UINT8: Self = Self(4);
    pub(crate) const INT16: Self = Self(5);
    pub(crate) const UINT16: Self = Self(6);
    pub(crate) const INT32: Self = Self(7);
    pub const UINT32: Self = Self(8);
    pub const INT64: Self = Self(9);
    pub(crate) const UINT64: Self = Self(10);
    pub(crate) const FLOAT: Self = Self(11);
    pub const DOUBLE: Self = Self(12);
    pub const BOOLEAN: Self = Self(13);
    pub const GUID: Self = Self(15);
    pub const POINTER: Self = Self(16);
    pub const FILETIME: Self = Self(17);
    pub(crate) const HEX_INT32: Self = Self(20);
    pub(crate) const HEX_INT64: Self = Self(21);
    pub(crate) const COUNTED_STRING: Self = Self(22);
    pub(crate) const COUNTED_ANSI: Self = Self(23);
    pub(crate) const STRUCT: Self = Self(24);
    pub(crate) const COUNTED_STRING_OF_TDH: Self = Self(300);
    pub(crate) const COUNTED_ANSI_OF_TDH: Self = Self(301);
    pub const SIZE: Self = Self(308);
}

/// Value of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FieldValue {
    /// A number without sign.
    Number(u64),
    /// A number with a sign.
    Signed(i64),
    /// A number that is shown in hex.
    Address(u64),
    /// Anything else, as it is shown.
    Text(String),
}

impl FieldValue {
    /// The number, if it is one of at least zero.
    pub(in crate::events) fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) | Self::Address(number) => Some(*number),
            Self::Signed(number) => u64::try_from(*number).ok(),
            Self::Text(_) => None,
        }
    }
}

impl fmt::Display for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Signed(number) => write!(f, "{number}"),
            Self::Address(number) => write!(f, "{number:#x}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// A field of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: Box<str>,
    /// How it is stored.
    pub stored: InType,
    /// Whether it is a single value; lists and other fields with a length of their own are not read.
    pub is_single: bool,
}

/// Name and fields of one kind of event of a provider with a manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventSchema {
    /// The provider.
    pub provider: Guid,
    /// Its name, or empty.
    pub provider_name: Box<str>,
    /// Event id.
    pub id: u16,
    /// Event version.
    pub version: u8,
    /// Name of the event.
    pub name: Box<str>,
    /// Its fields, in order.
    pub fields: Box<[Field]>,
}

/// Provider, id and version of a kind of event.
pub type EventKey = (Guid, u16, u8);

impl EventSchema {
    /// The kind of event that it describes.
    pub fn key(&self) -> EventKey {
        (self.provider, self.id, self.version)
    }

    /// Formats one event as text.
    pub fn text(&self, payload: &[u8], pointer: PointerSize) -> String {
        described(&self.name, &self.fields, payload, pointer)
    }
}

/// Formats an event as text: its name and the values of its fields.
fn described(name: &str, fields: &[Field], payload: &[u8], pointer: PointerSize) -> String {
    let values = Values { payload, pointer, at: 0 };
    let mut text = name.to_owned();
    // A single field is shown without its name: `Level loaded`, not `text=Level loaded`.
    let is_single = fields.len() == 1;
    for (n, value) in values.of(fields).enumerate() {
        let Some((field, value)) = value else {
            text.push_str(if n == 0 { " \u{2026}" } else { ", \u{2026}" });
            break;
        };
        let separator = if n > 0 {
            ", "
        } else if text.is_empty() {
            ""
        } else {
            ": "
        };
        // Writing into a string cannot fail.
        let _ = match is_single {
            true => write!(text, "{separator}{value}"),
            false => write!(text, "{separator}{field}={value}"),
        };
        if text.len() > MAX_TEXT {
            break;
        }
    }
    shortened(text)
}

/// Cuts a text to [`MAX_TEXT`] bytes, with an ellipsis.
pub(super) fn shortened(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let end = (0..=MAX_TEXT).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text.push('\u{2026}');
    }
    text
}

/// Reads the values of a payload one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values<'a> {
    payload: &'a [u8],
    pointer: PointerSize,
    at: usize,
}

impl<'a> Values<'a> {
    /// Name and value of each field. The first field that cannot be read gives `None`, which is the
    /// last item.
    fn of(mut self, fields: &'a [Field]) -> impl Iterator<Item = Option<(&'a str, FieldValue)>> {
        let mut is_over = false;
        fields.iter().map_while(move |field| {
            if is_over {
                return None;
            }
            let value = if field.is_single { self.next(field.stored) } else { None };
            is_over = value.is_none();
            Some(value.map(|value| (&*field.name, value)))
        })
    }

    fn next(&mut self, stored: InType) -> Option<FieldValue> {
        use FieldValue::{Address, Number, Signed, Text};
        let (payload, at) = (self.payload, self.at);
        let (size, value) = match stored {
            InType::NULL => (0, Text(String::new())),
            InType::UNICODE_STRING => utf16z_at(payload, at).map(|(text, end)| (end - at, Text(text)))?,
            InType::ANSI_STRING => ansi_at(payload, at).map(|(text, end)| (end - at, Text(text)))?,
            InType::INT8 => (1, Signed((u8_at(payload, at)? as i8).into())),
            InType::UINT8 => (1, Number(u8_at(payload, at)?.into())),
            InType::INT16 => (2, Signed((u16_at(payload, at)? as i16).into())),
            InType::UINT16 => (2, Number(u16_at(payload, at)?.into())),
            InType::INT32 => (4, Signed((u32_at(payload, at)? as i32).into())),
            InType::UINT32 => (4, Number(u32_at(payload, at)?.into())),
            InType::INT64 => (8, Signed(i64_at(payload, at)?)),
            InType::UINT64 | InType::FILETIME => (8, Number(u64_at(payload, at)?)),
            InType::FLOAT => (4, Text(f32::from_bits(u32_at(payload, at)?).to_string())),
            InType::DOUBLE => (8, Text(f64::from_bits(u64_at(payload, at)?).to_string())),
            InType::BOOLEAN => (4, Text((u32_at(payload, at)? != 0).to_string())),
            InType::GUID => (16, Text(guid_at(payload, at)?.to_string())),
            InType::POINTER | InType::SIZE => (self.pointer.bytes(), Address(address_at(payload, at, self.pointer)?)),
            InType::HEX_INT32 => (4, Address(u32_at(payload, at)?.into())),
            InType::HEX_INT64 => (8, Address(u64_at(payload, at)?)),
            InType::COUNTED_STRING | InType::COUNTED_STRING_OF_TDH => {
                let bytes = counted(payload, at)?;
                (2 + bytes.len(), Text(utf16_field(bytes)))
            }
            InType::COUNTED_ANSI | InType::COUNTED_ANSI_OF_TDH => {
                let bytes = counted(payload, at)?;
                (2 + bytes.len(), Text(ansi_at(bytes, 0)?.0))
            }
            _ => return None,
        };
        self.at = at.checked_add(size)?;
        Some(value)
    }
}

/// The bytes of a string that stand behind their number (16 bits).
fn counted(payload: &[u8], at: usize) -> Option<&[u8]> {
    let size = usize::from(u16_at(payload, at)?);
    payload.get(at + 2..at + 2 + size)
}

/// Formats a self-describing event as text; `metadata` is its extended item with the description, whose
/// first word is its size. `None` if the description is damaged.
pub(super) fn self_described(metadata: &[u8], payload: &[u8], pointer: PointerSize) -> Option<String> {
    let (name, fields) = self_description(metadata)?;
    Some(described(&name, &fields, payload, pointer))
}

/// Names and values of a self-describing event's fields, as far as they can be read; given to `read` with the name of
/// the event. `None` if the description is damaged.
pub(in crate::events) fn with_self_described<T>(
    metadata: &[u8],
    payload: &[u8],
    pointer: PointerSize,
    read: impl FnOnce(&str, &mut dyn Iterator<Item = (&str, FieldValue)>) -> T,
) -> Option<T> {
    let (name, fields) = self_description(metadata)?;
    let mut values = Values { payload, pointer, at: 0 }.of(&fields).map_while(|value| value);
    Some(read(&name, &mut values))
}

/// The name of a self-describing event, and its fields.
fn self_description(metadata: &[u8]) -> Option<(String, Vec<Field>)> {
    let size = usize::from(u16_at(metadata, 0)?);
    let metadata = metadata.get(..size)?;
    let (name, mut at) = ansi_at(metadata, skip_tags(metadata, 2)?)?;
    let mut fields = Vec::new();
    while at < metadata.len() && fields.len() < MAX_FIELDS {
        let (field, end) = self_described_field(metadata, at)?;
        fields.push(field);
        at = end;
    }
    Some((name, fields))
}

/// The offset behind a chain of bytes of which all but the last have their upper bit set.
fn skip_tags(bytes: &[u8], mut at: usize) -> Option<usize> {
    while u8_at(bytes, at)? & 0x80 != 0 {
        at += 1;
    }
    Some(at + 1)
}

fn self_described_field(metadata: &[u8], at: usize) -> Option<(Field, usize)> {
    const TYPE: u8 = 0x1F;
    const LIST: u8 = 0x60;
    const FIXED: u8 = 0x20;
    const CUSTOM: u8 = 0x60;
    const CHAIN: u8 = 0x80;
    let (name, mut at) = ansi_at(metadata, at)?;
    let stored = u8_at(metadata, at)?;
    at += 1;
    if stored & CHAIN != 0 {
        let shown = u8_at(metadata, at)?;
        at += 1;
        if shown & CHAIN != 0 {
            at = skip_tags(metadata, at)?;
        }
    }
    match stored & LIST {
        FIXED => at += 2,
        CUSTOM => at += 2 + usize::from(u16_at(metadata, at)?),
        _ => {}
    }
    let in_type = InType((stored & TYPE).into());
    // The fields of a structure follow as if it were not there.
    let in_type = if in_type == InType::STRUCT && stored & LIST == 0 { InType::NULL } else { in_type };
    let field = Field { name: name.into(), stored: in_type, is_single: stored & LIST == 0 };
    Some((field, at))
}

/// The name of a self-describing event's provider, from the extended item with its `traits`.
pub(in crate::events) fn provider_name(traits: &[u8]) -> Option<String> {
    let size = usize::from(u16_at(traits, 0)?);
    Some(shortened(ansi_at(traits.get(..size)?, 2)?.0))
}

/// The schema that merging adds for an event of a provider with a manifest; `Some(None)` for the other
/// events of that class. `None` if the description is cut off.
pub(in crate::events) fn schema(opcode: u8, raw: &RawEvent<'_>) -> Option<Option<EventSchema>> {
    if opcode != EventSchema::OPCODE {
        return Some(None);
    }
    Some(Some(EventSchema::from_info(raw.payload)?))
}

impl EventSchema {
    /// Opcode of the events of class `EVENT_METADATA` that hold a TRACE_EVENT_INFO.
    pub(crate) const OPCODE: u8 = 32;

    /// Offset of the decoding source in a TRACE_EVENT_INFO; [`EventSchema::OF_MANIFEST`] says that a manifest is the source.
    pub const AT_SOURCE: usize = 0x30;

    /// The decoding source of events with a manifest (DecodingSourceXMLFile of `tdh.h`).
    pub const OF_MANIFEST: u32 = 0;

    /// Reads a TRACE_EVENT_INFO. `None` if it is cut off.
    pub fn from_info(bytes: &[u8]) -> Option<Self> {
        const FIRST_PROPERTY: usize = 0x70;
        const PROPERTY: usize = 24;
        const IS_STRUCT: u32 = 1;
        const HAS_LENGTH: u32 = 2;
        const HAS_COUNT: u32 = 4;
        let text = |at: usize| -> Option<Box<str>> {
            let offset = u32_at(bytes, at)? as usize;
            let end = bytes.len().min(offset.saturating_add(2 * MAX_NAME));
            let text = if offset == 0 { String::new() } else { utf16z_at(bytes.get(..end)?, offset)?.0 };
            Some(text.trim().into())
        };
        let id = u16_at(bytes, 0x20)?;
        let count = u32_at(bytes, 0x68)? as usize;
        let field = |n: usize| {
            let at = FIRST_PROPERTY + n * PROPERTY;
            let flags = u32_at(bytes, at)?;
            let in_type = InType(u16_at(bytes, at + 8)?);
            let (count, length) = (u16_at(bytes, at + 16)?, u16_at(bytes, at + 18)?);
            let is_text = [InType::UNICODE_STRING, InType::ANSI_STRING].contains(&in_type);
            let is_single = flags & (IS_STRUCT | HAS_LENGTH | HAS_COUNT) == 0 && count <= 1 && !(is_text && length != 0);
            Some(Field { name: text(at + 4)?, stored: in_type, is_single })
        };
        let fields: Option<Vec<Field>> = (0..count.min(MAX_FIELDS)).map(field).collect();
        let key = (guid_at(bytes, 0)?, id, u8_at(bytes, 0x22)?);
        let named = Self::named(key, &text(0x34)?, &text(0x44)?, &text(0x48)?);
        Some(Self { fields: fields?.into(), ..named })
    }

    /// A schema without fields, of an event of a provider, by id and version, whose task and opcode have these names.
    pub fn named((provider, id, version): (Guid, u16, u8), provider_name: &str, task: &str, opcode: &str) -> Self {
        let [task, opcode] = [task, opcode].map(|name| name.trim().trim_start_matches("win:"));
        let name: Box<str> = match (task, opcode) {
            ("", "") => format!("event {id}").into(),
            ("", name) | (name, "") => name.into(),
            // The opcode "Info" adds nothing to the name of the task.
            (task, "Info" | "info") => task.into(),
            (task, opcode) => format!("{task} {opcode}").into(),
        };
        Self { provider, provider_name: provider_name.trim().into(), id, version, name, fields: Box::default() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn info() -> Vec<u8> {
        let field = |name: &str, stored| Field { name: name.into(), stored, is_single: true };
        let key = (Guid::new(1, 2, 3, [4; 8]), 7, 1);
        let fields = [field("level", InType::UNICODE_STRING), field("wave", InType::UINT32)].into();
        EventSchema { fields, ..EventSchema::named(key, "My-Game", "Level", "win:Start") }.to_info()
    }

    #[test]
    fn a_description_comes_back_with_names_and_fields() {
        let schema = EventSchema::from_info(&info()).unwrap();
        assert_eq!((&*schema.provider_name, &*schema.name, schema.id, schema.version), ("My-Game", "Level Start", 7, 1));
        let payload: Vec<u8> = "Dust\0".encode_utf16().flat_map(u16::to_le_bytes).chain([5, 0, 0, 0]).collect();
        assert_eq!(schema.text(&payload, PointerSize::Eight), "Level Start: level=Dust, wave=5");
        for len in 0..info().len() {
            // Cut off, it is none, or one with shorter names.
            let cut = EventSchema::from_info(&info()[..len]);
            assert!(cut.is_none_or(|cut| cut.fields.len() == 2), "{len}");
        }
        let names = |task, opcode| EventSchema::named((Guid::new(1, 2, 3, [4; 8]), 7, 0), "", task, opcode).name;
        assert_eq!([&*names("", ""), &*names("Level", "win:Info"), &*names("", "Stop")], ["event 7", "Level", "Stop"]);
    }

    proptest! {
        /// Bytes of any kind are read without panics, into no more than is bounded.
        #[test]
        fn a_hostile_description_is_bounded(
            changes in prop::collection::vec((0usize..300, any::<u8>()), 0..40),
            cut in 0usize..400,
            payload in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut bytes = info();
            bytes.resize(400, 0x41);
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            bytes.truncate(cut);
            if let Some(schema) = EventSchema::from_info(&bytes) {
                prop_assert!(schema.fields.len() <= MAX_FIELDS);
                prop_assert!(schema.fields.iter().all(|field| field.name.chars().count() <= MAX_NAME));
                prop_assert!(schema.provider_name.chars().count() <= MAX_NAME);
                for pointer in [PointerSize::Four, PointerSize::Eight] {
                    // With the ellipsis.
                    prop_assert!(schema.text(&payload, pointer).len() <= MAX_TEXT + 3);
                }
                // Written again, it is read as before.
                prop_assert_eq!(EventSchema::from_info(&schema.to_info()).map(|again| again.fields), Some(schema.fields));
            }
        }
    }
}
