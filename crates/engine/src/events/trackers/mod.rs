//! Trackers of other providers: events of allocators, and of any provider that a mapping describes, as blocks of a tracker.
//!
//! A mapping says which events of a provider allocate and free, where their fields are, and how trackers are called
//! ([`file`]); the ones that are built in are such a file, too. Trackers have no handle in these events. They get one that
//! follows from the name, so that all parts of a trace agree on it without a table in common.
//!
//! Events without the fields of the name (a free that gives only an address) are of the tracker of their provider that has
//! a block there. Blocks of such providers have a mark in their handle, and the replay keeps who has them.
//!
//! Sources of layouts: `builtin.toml`.

mod fields;
mod file;
mod silent;

use std::sync::{Arc, LazyLock};

use xxhash_rust::xxh3::xxh3_64;

use super::activity::{FieldValue, provider_name, with_self_described};
use super::{Event, names};
use crate::etl::{EventId, Guid, RawEvent, extended_type};
use crate::format::plain;
use crate::units::Layer;
use fields::{FieldType, NameTemplate};

/// Providers whose events are blocks of trackers. The default are those that are built in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrackerProviders(Arc<[TrackerProvider]>);

/// A provider whose events are blocks of trackers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrackerProvider {
    /// The provider.
    pub provider: Guid,
    /// Its name, if it was given by name.
    name: Option<String>,
    /// The provider as the file gives it.
    pub label: String,
    template: NameTemplate,
    events: Vec<TrackerEvent>,
    /// The handle of the only tracker, if the name has no fields; else the bits that all its handles have.
    handle: u64,
    /// Whether it is built in.
    pub is_built_in: bool,
}

/// An event that begins or ends blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
struct TrackerEvent {
    key: EventKey,
    version: Option<u8>,
    does: Does,
    /// The fields up to the last that is used.
    fields: Vec<FieldUse>,
    /// Whether it has all fields of the tracker's name.
    has_name: bool,
}

/// How an event is known.
#[derive(Clone, PartialEq, Eq, Debug)]
enum EventKey {
    Id(u16),
    /// A self-describing event.
    Name(String),
}

/// The effect of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Does {
    Allocate,
    Free,
    Reallocate,
}

/// The meaning of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Address,
    Size,
    Old,
}

impl Role {
    const ALL: [Self; 3] = [Self::Address, Self::Size, Self::Old];

    fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Size => "size",
            Self::Old => "old",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// A field of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
struct FieldUse {
    field: String,
    /// Its type; self-describing events give it themselves.
    ty: Option<FieldType>,
    role: Option<Role>,
    /// Its place among the fields of the tracker's name.
    in_name: Option<usize>,
}

impl FieldUse {
    fn is_used(&self) -> bool {
        self.role.is_some() || self.in_name.is_some()
    }
}

/// Bits of the handle of a tracker that has none in its events. Addresses of programs never have the upper one.
mod handle {
    /// Made of the tracker's name.
    pub(super) const MADE: u64 = 1 << 63;
    /// Some events of the provider do not say which of its trackers they mean.
    pub(super) const SHARED: u64 = 1 << 62;
    /// With [`SHARED`]: the bits of the name; those between are of the provider.
    pub(super) const NAME: u64 = (1 << 41) - 1;
}

/// Whether a handle was made of a tracker's name.
pub fn is_made_handle(layer: Layer, handle: u64) -> bool {
    layer == Layer::Tracker && handle & handle::MADE != 0
}

/// The bits that all trackers of a provider have in common, if some of its events do not say which of them they mean.
#[inline(always)]
pub fn shared_handle(layer: Layer, handle: u64) -> Option<u64> {
    const BOTH: u64 = handle::MADE | handle::SHARED;
    (layer == Layer::Tracker && handle & BOTH == BOTH).then_some(handle & !handle::NAME)
}

/// A block event of a mapped provider.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum TrackerReading {
    /// An event that no mapping describes.
    Unmapped,
    /// An event that changes nothing: a free of address 0.
    Nothing,
    /// An event that cannot be what the mapping says.
    Bad,
    /// A block begins or ends; the name of its tracker, if the event gives it.
    Block(Event, Option<String>),
}

static BUILT_IN: LazyLock<TrackerProviders> = LazyLock::new(|| {
    // A test parses it.
    let all = file::parsed(include_str!("builtin.toml")).unwrap_or_default();
    TrackerProviders(all.into_iter().map(|one| TrackerProvider { is_built_in: true, ..one }).collect())
});

impl Default for TrackerProviders {
    fn default() -> Self {
        BUILT_IN.clone()
    }
}

impl TrackerProviders {
    /// The mappings: first those of the user, then those that are built in.
    pub fn list(&self) -> &[TrackerProvider] {
        &self.0
    }

    /// These mappings, in place of those of the same providers.
    fn replaced_by(&self, newer: &[TrackerProvider]) -> Self {
        let kept = self.0.iter().filter(|old| newer.iter().all(|new| new.provider != old.provider));
        Self(newer.iter().chain(kept).cloned().collect())
    }

    /// The mapping of an event's provider.
    fn of(&self, raw: &RawEvent<'_>) -> Option<&TrackerProvider> {
        let EventId::Provider { provider, .. } = raw.id else { return None };
        if let Some(found) = self.0.iter().find(|one| one.provider == provider) {
            return Some(found);
        }
        // Programs may give a provider a name from which its GUID does not follow.
        if self.0.iter().all(|one| one.name.is_none()) {
            return None;
        }
        let traits = raw.extended.into_iter().find(|item| item.kind == extended_type::PROVIDER_TRAITS)?;
        let name = provider_name(traits.data)?;
        self.0.iter().find(|one| one.name.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(&name)))
    }

    /// Whether events with this id are read only as a mapping says.
    pub(super) fn replaces(&self, provider: Guid) -> bool {
        self.0.iter().any(|one| one.provider == provider)
    }

    /// Whether an event is of a mapping of the user.
    pub fn is_users(&self, raw: &RawEvent<'_>) -> bool {
        self.of(raw).is_some_and(|provider| !provider.is_built_in)
    }

    /// Reads an event.
    pub(super) fn event(&self, raw: &RawEvent<'_>) -> TrackerReading {
        let Some(provider) = self.of(raw) else { return TrackerReading::Unmapped };
        provider.read(raw)
    }
}

impl TrackerProvider {
    fn new(provider: Guid, name: Option<String>, label: String, template: NameTemplate, events: Vec<TrackerEvent>) -> Self {
        let handle = if template.fields.is_empty() {
            handle::MADE | xxh3_64(tracker_name(&template.name(&[])).as_bytes()) >> 2
        } else if events.iter().all(TrackerEvent::has_name) {
            handle::MADE
        } else {
            let common = xxh3_64(&provider.to_bytes()) >> 2 & !handle::NAME;
            handle::MADE | handle::SHARED | common
        };
        Self { provider, name, label, template, events, handle, is_built_in: false }
    }

    /// Ids of its events; empty if some are known by name.
    pub fn ids(&self) -> Vec<u16> {
        let ids = self.events.iter().map(|event| if let EventKey::Id(id) = event.key { Some(id) } else { None });
        ids.collect::<Option<_>>().unwrap_or_default()
    }

    /// The name of its trackers, as the file gives it, if all are one tracker.
    pub(crate) fn only_name(&self) -> Option<String> {
        self.template.fields.is_empty().then(|| tracker_name(&self.template.name(&[])))
    }

    /// The handle of the tracker with a name.
    fn handle_of(&self, name: &str) -> u64 {
        let of_name = xxh3_64(name.as_bytes());
        match self.handle & handle::SHARED {
            0 => handle::MADE | of_name >> 2,
            _ => self.handle | (of_name & handle::NAME).max(1),
        }
    }

    fn read(&self, raw: &RawEvent<'_>) -> TrackerReading {
        let EventId::Provider { id, .. } = raw.id else { return TrackerReading::Unmapped };
        let mut values = FieldValues::default();
        let of_id =
            |event: &&TrackerEvent| event.key == EventKey::Id(id) && event.version.is_none_or(|it| u16::from(it) == raw.version);
        if let Some(event) = self.events.iter().find(of_id) {
            return match values.take_payload(event, raw) {
                Some(()) => self.block(event, values),
                None => TrackerReading::Bad,
            };
        }
        if self.events.iter().any(|event| event.key == EventKey::Id(id)) {
            return TrackerReading::Bad; // of another version
        }
        let Some(schema) = raw.extended.into_iter().find(|item| item.kind == extended_type::SCHEMA) else {
            return TrackerReading::Unmapped;
        };
        let read = with_self_described(schema.data, raw.payload, raw.pointer, |name, fields| {
            let event = self.events.iter().find(|event| event.key.is_named(name))?;
            let is_version = event.version.is_none_or(|it| u16::from(it) == raw.version);
            fields.for_each(|(field, value)| values.take(event, field, value));
            Some((event, is_version))
        });
        match read {
            None | Some(None) => TrackerReading::Unmapped,
            Some(Some((_, false))) => TrackerReading::Bad,
            Some(Some((event, true))) => self.block(event, values),
        }
    }

    /// The block that an event begins or ends, given the values of its fields.
    fn block(&self, event: &TrackerEvent, values: FieldValues) -> TrackerReading {
        use TrackerReading::{Bad, Nothing};
        let FieldValues { address, size, old, in_name } = values;
        let (heap, name) = match () {
            () if self.template.fields.is_empty() => (self.handle, self.only_name()),
            () if !event.has_name => (self.handle, None),
            () => {
                let values: Option<Vec<FieldValue>> = in_name.into_iter().collect();
                let Some(values) = values.filter(|values| values.len() == self.template.fields.len()) else { return Bad };
                let name = tracker_name(&self.template.name(&values));
                (self.handle_of(&name), Some(name))
            }
        };
        let Some(address) = address else { return Bad };
        let layer = Layer::Tracker;
        let event = match event.does {
            Does::Free if address == 0 => return Nothing,
            Does::Free => Event::Free { layer, heap, address },
            _ if address == 0 => return Bad,
            Does::Allocate => {
                let Some(size) = size else { return Bad };
                Event::Alloc { layer, heap, address, size }
            }
            Does::Reallocate => {
                let (Some(size), Some(old)) = (size, old) else { return Bad };
                Event::Realloc { layer, heap, old, new: address, size }
            }
        };
        TrackerReading::Block(event, name)
    }
}

impl EventKey {
    fn is_named(&self, name: &str) -> bool {
        matches!(self, Self::Name(known) if known == name)
    }
}

impl TrackerEvent {
    fn new(key: EventKey, version: Option<u8>, does: Does, mut fields: Vec<FieldUse>, of_name: usize) -> Self {
        let has_name = fields.iter().filter(|field| field.in_name.is_some()).count() == of_name;
        fields.truncate(fields.iter().rposition(FieldUse::is_used).map_or(0, |last| last + 1));
        Self { key, version, does, fields, has_name }
    }

    fn has_name(&self) -> bool {
        self.has_name
    }

    /// Whether one event could be both.
    fn overlaps(&self, other: &Self) -> bool {
        self.key == other.key && (self.version == other.version || self.version.is_none() || other.version.is_none())
    }
}

/// A tracker's name in the form in which it is kept.
fn tracker_name(text: &str) -> String {
    names::name(plain(text))
}

/// Values of the fields that are used.
#[derive(Debug, Default)]
struct FieldValues {
    address: Option<u64>,
    size: Option<u64>,
    old: Option<u64>,
    in_name: Vec<Option<FieldValue>>,
}

impl FieldValues {
    /// Reads the fields of a payload; `None` if it is too short.
    fn take_payload(&mut self, event: &TrackerEvent, raw: &RawEvent<'_>) -> Option<()> {
        let mut at = 0;
        for field in &event.fields {
            let (value, end) = field.ty?.read(raw.payload, at, raw.pointer)?;
            self.put(field, value);
            at = end;
        }
        Some(())
    }

    /// Takes a field of a self-describing event, if it is one that is used.
    fn take(&mut self, event: &TrackerEvent, name: &str, value: FieldValue) {
        if let Some(field) = event.fields.iter().find(|field| field.field == name) {
            self.put(field, value);
        }
    }

    fn put(&mut self, field: &FieldUse, value: FieldValue) {
        let place = match field.role {
            Some(Role::Address) => Some(&mut self.address),
            Some(Role::Size) => Some(&mut self.size),
            Some(Role::Old) => Some(&mut self.old),
            None => None,
        };
        if let Some(place) = place {
            *place = value.number();
        }
        if let Some(number) = field.in_name {
            if self.in_name.len() <= number {
                self.in_name.resize(number + 1, None);
            }
            self.in_name[number] = Some(value);
        }
    }
}

#[cfg(test)]
mod tests;
