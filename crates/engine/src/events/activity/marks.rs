//! Marks: moments to which somebody gave a text.
//!
//! | who | what | payload |
//! |-|-|-|
//! | `xperf -m`, `wpr -marker` | PerfInfo Mark, type 34 | text, bytes up to a NUL |
//! | UIforETW's `ETWMark…` | providers Multi-… | see [`of_ui_for_etw`] |
//! | a provider that the user named | any event | as it describes itself |

use super::super::hooks::class;
use super::MarkProviders;
use super::described::{self_described, shortened};
use crate::etl::{EventId, Guid, RawEvent, ansi_at, extended_type, u32_at, utf16z_at};
use crate::events::provider_names::known_name;
use crate::format::plain;
use crate::units::PointerSize;

/// A moment that somebody marked.
#[derive(Clone, PartialEq, Debug)]
pub struct MarkEvent {
    /// Provider or event class that wrote it.
    pub provider: Guid,
    /// Its name, if it is known.
    pub provider_name: Option<Box<str>>,
    /// Its text.
    pub text: MarkText,
    /// Duration in milliseconds up to its moment, if it ends something.
    pub lasted_ms: Option<f32>,
}

/// The text of a mark.
#[derive(Clone, PartialEq, Debug)]
pub enum MarkText {
    /// It is known.
    Known(Box<str>),
    /// It follows from a description that its provider gives later in the trace.
    Untold(Untold),
}

/// An event that does not describe itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Untold {
    /// Event id.
    pub id: u16,
    /// Event version.
    pub version: u8,
    /// Pointer size of its payload.
    pub pointer: PointerSize,
    /// The beginning of its payload.
    pub payload: Box<[u8]>,
}

/// Most bytes of a payload that are kept until it is described.
const MAX_PAYLOAD: usize = 256;

/// Reads a mark of the kernel's own session.
pub(super) fn of_trace(raw: &RawEvent<'_>) -> Option<MarkEvent> {
    let bytes = raw.payload;
    // Declared as UTF-16, but everybody writes bytes: its content decides.
    let is_wide = bytes.len() > 3 && bytes.as_chunks::<2>().0.iter().all(|&[_, high]| high == 0);
    let (text, _) = if is_wide { utf16z_at(bytes, 0)? } else { ansi_at(bytes, 0)? };
    Some(known(class::PERF_INFO, None, &text, None))
}

fn known(provider: Guid, name: Option<&str>, text: &str, lasted_ms: Option<f32>) -> MarkEvent {
    let text = MarkText::Known(shortened(plain(text.trim())).into());
    MarkEvent { provider, provider_name: name.map(Into::into), text, lasted_ms }
}

/// Reads marks and scopes of UIforETW's providers; ids and payloads are those of its manifest. A scope
/// becomes a mark at its end, with its duration. `Some(None)` for their other events.
pub(super) fn of_ui_for_etw(provider: Guid, id: u16, raw: &RawEvent<'_>) -> Option<Option<MarkEvent>> {
    const SCOPE_END: u16 = 101;
    const MARK: u16 = 102;
    const MARK_WIDE: u16 = 114;
    // Event id, how many numbers follow the text, and whether they are integers.
    const WITH_NUMBERS: [(u16, usize, bool); 8] = [
        (104, 1, true),
        (105, 2, true),
        (118, 3, true),
        (119, 4, true),
        (106, 1, false),
        (107, 2, false),
        (116, 3, false),
        (117, 4, false),
    ];
    let bytes = raw.payload;
    let mark = |text: &str, lasted| Some(Some(known(provider, known_name(provider), text, lasted)));
    match id {
        MARK => mark(&ansi_at(bytes, 0)?.0, None),
        MARK_WIDE => mark(&utf16z_at(bytes, 0)?.0, None),
        SCOPE_END => {
            let (text, at) = ansi_at(bytes, 0)?;
            mark(&text, Some(f32::from_bits(u32_at(bytes, at + 4)?)))
        }
        _ => {
            let Some((_, count, is_whole)) = WITH_NUMBERS.iter().find(|(with, ..)| *with == id) else { return Some(None) };
            let (mut text, at) = ansi_at(bytes, 0)?;
            text.truncate(text.trim_end().len());
            for n in 0..*count {
                let word = u32_at(bytes, at + 4 * n)?;
                let number = if *is_whole { (word as i32).to_string() } else { f32::from_bits(word).to_string() };
                text.push_str(if n == 0 { ": " } else { ", " });
                text.push_str(&number);
            }
            mark(&text, None)
        }
    }
}

impl MarkProviders {
    /// The mark that an event is, if its provider was named.
    pub(super) fn mark(&self, raw: &RawEvent<'_>) -> Option<MarkEvent> {
        let (provider, id) = match raw.id {
            EventId::Provider { provider, id } => (provider, id),
            EventId::Class { class, opcode } => (class, opcode.into()),
            EventId::Hook(_) | EventId::Opaque => return None,
        };
        let item = |kind| raw.extended.into_iter().find(|item| item.kind == kind).map(|item| item.data);
        let name = item(extended_type::PROVIDER_TRAITS).and_then(super::described::provider_name);
        if !self.has(provider, name.as_deref()) {
            return None;
        }
        let described = item(extended_type::SCHEMA).and_then(|schema| self_described(schema, raw.payload, raw.pointer));
        let text = match described {
            Some(text) => MarkText::Known(plain(text.trim()).into()),
            None => MarkText::Untold(Untold {
                id,
                version: raw.version as u8,
                pointer: raw.pointer,
                payload: raw.payload[..raw.payload.len().min(MAX_PAYLOAD)].into(),
            }),
        };
        Some(MarkEvent { provider, provider_name: name.map(Into::into), text, lasted_ms: None })
    }
}

/// The fallback text of an event without a description: its number, and its payload if that is text.
impl Untold {
    /// Formats it as text.
    pub fn text(&self) -> String {
        let text = utf16z_at(&self.payload, 0).filter(|(text, end)| *end == self.payload.len() && is_readable(text));
        let text =
            text.or_else(|| ansi_at(&self.payload, 0).filter(|(text, end)| *end == self.payload.len() && is_readable(text)));
        match text {
            Some((text, _)) => shortened(format!("event {}: {text}", self.id)),
            None => format!("event {}", self.id),
        }
    }
}

fn is_readable(text: &str) -> bool {
    text.chars().count() > 1 && text.chars().all(|c| !c.is_control() && c != '\u{FFFD}')
}
