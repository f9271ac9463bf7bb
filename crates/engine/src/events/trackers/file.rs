//! Mappings of providers' events to trackers, as a file: TOML with `[[tracker]]` tables.
//!
//! The file is untrusted input: it is read like [`crate::toml_file`] describes. An error is one sentence with its line.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::fields::{FieldType, NameTemplate, is_field_name};
use super::{Does, EventKey, FieldUse, Role, TrackerEvent, TrackerProvider, TrackerProviders};
use crate::events::{guid_of_name, known_guid};
use crate::toml_file::{self, BadText};

/// Largest file, in bytes.
const MAX_FILE: u64 = 256 << 10;
/// Most providers of a file, and most events of one.
const MOST: usize = 256;
/// Most fields of an event.
const MOST_FIELDS: usize = 64;
/// Longest text of a file, in bytes.
const MAX_TEXT: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    tracker: Vec<WrittenTracker>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTracker {
    provider: Spanned<String>,
    name: Spanned<String>,
    #[serde(default)]
    event: Vec<Spanned<WrittenEvent>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenEvent {
    id: Option<u16>,
    name: Option<Spanned<String>>,
    version: Option<u8>,
    does: Spanned<String>,
    fields: Spanned<String>,
}

impl TrackerProviders {
    /// Reads a file; its mappings replace the built-in ones of their providers. An error is one sentence with the file's
    /// name, and the line if it is known.
    pub fn from_file(path: &Path) -> Result<Self, String> {
        toml_file::read(path, MAX_FILE, Self::parse)
    }

    /// Parses the text of a file; its mappings replace the built-in ones of their providers.
    pub fn parse(text: &str) -> Result<Self, BadText> {
        Ok(Self::default().replaced_by(&parsed(text)?))
    }
}

/// The mappings in a text, in their order.
pub(super) fn parsed(text: &str) -> Result<Vec<TrackerProvider>, BadText> {
    let written: Written = toml_file::parse(text)?;
    let mut all: Vec<TrackerProvider> = Vec::new();
    for tracker in written.tracker {
        let place = tracker.provider.span();
        let refuse = |what: String| BadText::at(text, &place, what);
        let provider = provider(text, tracker)?;
        if all.iter().any(|other| other.provider == provider.provider) {
            return Err(refuse(format!("{} is mapped twice", provider.label)));
        }
        if all.len() >= MOST {
            return Err(refuse(format!("more than {MOST} providers are mapped")));
        }
        all.push(provider);
    }
    Ok(all)
}

fn provider(text: &str, written: WrittenTracker) -> Result<TrackerProvider, BadText> {
    let refuse = |place: &Range<usize>, what: String| BadText::at(text, place, what);
    let WrittenTracker { provider, name, event: written_events } = written;
    for long in [&provider, &name] {
        if long.get_ref().len() > MAX_TEXT {
            return Err(refuse(&long.span(), format!("the text is longer than {MAX_TEXT} bytes")));
        }
    }
    let label = provider.get_ref().trim().to_owned();
    if label.is_empty() {
        return Err(refuse(&provider.span(), "a tracker needs its provider's GUID or name".to_owned()));
    }
    let guid = label.parse().ok();
    let template = NameTemplate::parse(name.get_ref()).map_err(|what| refuse(&name.span(), what))?;
    if written_events.is_empty() || written_events.len() > MOST {
        let what = format!("a tracker needs between 1 and {MOST} [[tracker.event]]");
        return Err(refuse(&provider.span(), what));
    }
    let mut events: Vec<TrackerEvent> = Vec::new();
    for written in written_events {
        let place = written.span();
        let event = event(text, written, &template)?;
        if events.iter().any(|other| other.overlaps(&event)) {
            return Err(refuse(&place, "this event is mapped twice".to_owned()));
        }
        events.push(event);
    }
    let provider = guid.or_else(|| known_guid(&label)).unwrap_or_else(|| guid_of_name(&label));
    Ok(TrackerProvider::new(provider, guid.is_none().then(|| label.clone()), label, template, events))
}

fn event(text: &str, written: Spanned<WrittenEvent>, template: &NameTemplate) -> Result<TrackerEvent, BadText> {
    let place = written.span();
    let WrittenEvent { id, name, version, does, fields } = written.into_inner();
    let key = key(text, &place, id, name)?;
    let Some((does, needed)) = meaning(does.get_ref()) else {
        return Err(BadText::at(text, &does.span(), "does must be allocate, free or reallocate"));
    };
    let place = fields.span();
    let refuse = |what: String| BadText::at(text, &place, what);
    let uses = uses(fields.get_ref(), &key, needed, template).map_err(refuse)?;
    if let Some(role) = needed.iter().find(|role| uses.iter().all(|field| field.role != Some(**role))) {
        return Err(refuse(format!("the field {} is missing", role.name())));
    }
    let event = TrackerEvent::new(key, version, does, uses, template.fields.len());
    if does == Does::Allocate && !event.has_name() {
        return Err(refuse("an allocation needs all fields of the tracker's name".to_owned()));
    }
    Ok(event)
}

fn key(text: &str, place: &Range<usize>, id: Option<u16>, name: Option<Spanned<String>>) -> Result<EventKey, BadText> {
    match (id, name) {
        (Some(id), None) => Ok(EventKey::Id(id)),
        (None, Some(name)) if (1..=MAX_TEXT).contains(&name.get_ref().len()) => Ok(EventKey::Name(name.into_inner())),
        (None, Some(name)) => Err(BadText::at(text, &name.span(), "the name of an event is empty or too long")),
        _ => Err(BadText::at(text, place, "an event needs its id, or its name if it describes itself, not both")),
    }
}

/// The effect of an event, and the fields that it needs.
fn meaning(does: &str) -> Option<(Does, &'static [Role])> {
    match does {
        "allocate" => Some((Does::Allocate, &[Role::Address, Role::Size])),
        "free" => Some((Does::Free, &[Role::Address])),
        "reallocate" => Some((Does::Reallocate, &[Role::Old, Role::Address, Role::Size])),
        _ => None,
    }
}

/// The fields of an event, in their order; the error says what is wrong.
fn uses(words: &str, key: &EventKey, needed: &[Role], template: &NameTemplate) -> Result<Vec<FieldUse>, String> {
    let mut uses: Vec<FieldUse> = Vec::new();
    for word in words.split_whitespace() {
        let (field, ty) = typed(word, matches!(key, EventKey::Name(_)))?;
        if !is_field_name(field) {
            return Err(format!("{field} is not a field name"));
        }
        let role = Role::named(field).filter(|role| needed.contains(role));
        let in_name = template.fields.iter().position(|known| known == field);
        let is_passed_over = matches!(ty, Some(FieldType::Bytes(_)));
        if (role.is_some() && ty.is_some_and(|ty| !ty.is_number())) || (in_name.is_some() && is_passed_over) {
            return Err(format!("{field} cannot be of this type"));
        }
        if field != "_" && uses.iter().any(|other| other.field == field) {
            return Err(format!("{field} is there twice"));
        }
        if uses.len() >= MOST_FIELDS {
            return Err(format!("an event has at most {MOST_FIELDS} fields"));
        }
        uses.push(FieldUse { field: field.to_owned(), ty, role, in_name });
    }
    Ok(uses)
}

/// The name of a field and its type, which self-describing events give themselves.
fn typed(word: &str, describes_itself: bool) -> Result<(&str, Option<FieldType>), String> {
    match word.split_once(':') {
        Some(_) if describes_itself => {
            Err("an event that describes itself has the types of its fields: give their names only".to_owned())
        }
        Some((field, ty)) => match FieldType::parse(ty) {
            Some(ty) => Ok((field, Some(ty))),
            None => Err(format!("{ty} is not a type: u8 u16 u32 u64 ptr utf8z utf16z guid bytes(N)")),
        },
        None if describes_itself => Ok((word, None)),
        None => Err(format!("the field {word} needs a type, like {word}:u64")),
    }
}
