//! Marks: moments that somebody gave a text.
//!
//! | who | what | payload |
//! |-|-|-|
//! | `xperf -m`, `wpr -marker` | PerfInfo Mark, type 34 | text, bytes up to a NUL |
//! | UIforETW's `ETWMark…` | providers Multi-… | see [`of_known`] |
//! | a provider that the user named | any event | as it describes itself |

use super::super::hooks::class;
use super::MarkProviders;
use super::described::{self_described, shortened};
use crate::etl::{EventId, Guid, RawEvent, ansi_at, extended_type, u32_at, utf16z_at};
use crate::units::PointerSize;

/// Somebody marked a moment.
#[derive(Clone, PartialEq, Debug)]
pub struct MarkEvent {
    /// Who: provider or class.
    pub provider: Guid,
    /// Its name, if it is known.
    pub provider_name: Option<Box<str>>,
    /// What it says.
    pub text: MarkText,
    /// Milliseconds that it looks back on, if it ends something.
    pub lasted_ms: Option<f32>,
}

/// What a mark says.
#[derive(Clone, PartialEq, Debug)]
pub enum MarkText {
    /// This.
    Known(Box<str>),
    /// What its provider's description will tell.
    Untold(Untold),
}

/// An event that does not describe itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Untold {
    /// Which.
    pub id: u16,
    /// Of which version.
    pub version: u8,
    /// Pointers in its payload.
    pub pointer: PointerSize,
    /// The beginning of its payload.
    pub payload: Box<[u8]>,
}

/// Bytes of a payload that are kept until it is described.
const MAX_PAYLOAD: usize = 256;

/// A mark in the kernel's own session.
pub(super) fn of_trace(raw: &RawEvent<'_>) -> Option<MarkEvent> {
    let (text, _) = ansi_at(raw.payload, 0)?;
    Some(known(class::PERF_INFO, None, text, None))
}

fn known(provider: Guid, name: Option<&str>, text: String, lasted_ms: Option<f32>) -> MarkEvent {
    let text = MarkText::Known(shortened(text).into());
    MarkEvent { provider, provider_name: name.map(Into::into), text, lasted_ms }
}

/// Events of UIforETW's providers; their names are those of its manifest.
pub(super) fn of_known(provider: Guid, id: u16, raw: &RawEvent<'_>) -> Option<Option<MarkEvent>> {
    let Some((_, name)) = class::UI_FOR_ETW.iter().find(|(guid, _)| *guid == provider) else { return Some(None) };
    let _ = (id, u32_at(raw.payload, 0), name);
    Some(None)
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
            Some(text) => MarkText::Known(text.into()),
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

/// What an event without a description says: its number, and the text that it is, if it is one.
impl Untold {
    /// In words.
    pub fn text(&self) -> String {
        let text = utf16z_at(&self.payload, 0).filter(|(text, end)| *end == self.payload.len() && is_readable(text));
        let text = text.or_else(|| ansi_at(&self.payload, 0).filter(|(text, end)| *end == self.payload.len() && is_readable(text)));
        match text {
            Some((text, _)) => shortened(format!("event {}: {text}", self.id)),
            None => format!("event {}", self.id),
        }
    }
}

fn is_readable(text: &str) -> bool {
    text.chars().count() > 1 && text.chars().all(|c| !c.is_control() && c != '\u{FFFD}')
}
