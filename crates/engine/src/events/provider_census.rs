//! The providers of a file's events, with their names and numbers of events: the names that a user can
//! give whose events are to be marks. Kernel events and events by which merging describes a trace are
//! left out.
//!
//! A name comes from the event itself (self-describing), from the descriptions that merging adds, from
//! the manifest that an EventSource of .NET sends along, or from the list of well-known providers.
//!
//! Cost: a pass over the headers of all events, and a hash operation for each that is not the kernel's.
//! Bounded: [`MOST`] providers a file; events of others are counted together.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::activity;
use super::hooks::{class, kernel_hook};
use super::provider_names::known_name;
use crate::etl::{BufferKind, EventId, Framed, Guid, RawEvent, ReadBuffer, TraceFile, extended_type, u16_at};
use crate::format::plain;
use crate::problem::Problems;
use crate::tables::KeyedMap;

/// Most providers of one file that are counted separately.
const MOST: usize = 4096;
/// Most ids of one provider that are counted separately.
const MOST_KINDS: usize = 64;
/// Characters of a name that are kept.
const MOST_OF_NAME: usize = 256;
/// Buffers that one worker takes at a time.
const RUN: usize = 64;

/// A provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderSeen {
    /// GUID of the provider, or class of classic events.
    pub guid: Guid,
    /// Its name, if it is known.
    pub name: Option<String>,
    /// Number of its events.
    pub events: u64,
    /// Its events by id, in the order of the ids; not all if there are very many.
    pub kinds: Vec<EventKind>,
}

/// Events of one provider with one id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventKind {
    /// The id; self-describing events often have 0.
    pub id: u16,
    /// Number of the events.
    pub events: u64,
    /// Sizes of the smallest and of the largest payload, in bytes.
    pub payload: (usize, usize),
}

impl EventKind {
    fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.payload = (self.payload.0.min(other.payload.0), self.payload.1.max(other.payload.1));
    }
}

/// Numbers of events by provider.
#[derive(Clone, Debug, Default)]
pub struct ProviderCensus {
    seen: KeyedMap<Guid, Seen>,
    left_out: u64,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    events: u64,
    name: Option<Box<str>>,
    kinds: BTreeMap<u16, EventKind>,
}

impl Seen {
    fn count(&mut self, kind: EventKind) {
        if self.kinds.len() < MOST_KINDS || self.kinds.contains_key(&kind.id) {
            self.kinds.entry(kind.id).and_modify(|known| known.add(&kind)).or_insert(kind);
        }
    }
}

/// The providers of a file.
pub fn providers(file: &TraceFile) -> ProviderCensus {
    let of_run = |(scratch, problems): &mut (ReadBuffer, Problems), run: &[crate::etl::BufferInfo]| {
        let mut census = ProviderCensus::default();
        for buffer in run.iter().filter(|buffer| buffer.kind != BufferKind::NoEvents) {
            // Problems of the buffer are reported when it is loaded.
            *problems = Problems::default();
            file.read_buffer(buffer, scratch, problems);
            census.take(scratch, None);
        }
        census
    };
    let runs: Vec<ProviderCensus> = file.buffers.par_chunks(RUN).map_init(Default::default, of_run).collect();
    runs.into_iter().fold(ProviderCensus::default(), ProviderCensus::plus)
}

impl ProviderCensus {
    /// Counts the events that were read, up to the offset `until` in the buffer.
    pub(super) fn take(&mut self, read: &ReadBuffer, until: Option<usize>) {
        let until = until.unwrap_or(usize::MAX);
        let mut events = read.events();
        while events.offset() < until {
            match events.next_framed() {
                Some(Framed::Other(event)) => self.count(&event),
                Some(Framed::Kernel(_)) => {}
                None => break,
            }
        }
    }

    fn count(&mut self, event: &RawEvent<'_>) {
        let guid = match event.id {
            EventId::Class { class: class::EVENT_METADATA, opcode } => {
                if let Some(Some(schema)) = activity::schema(opcode, event) {
                    self.name(schema.provider, || Some(schema.provider_name));
                }
                return;
            }
            EventId::Class { class: class::IMAGE_ID | class::SYSTEM_CONFIG_EX | class::LOST_EVENT, .. } => return,
            EventId::Class { class, .. } if kernel_hook(event.id).is_none() => class,
            EventId::Provider { provider, .. } => provider,
            EventId::Class { .. } | EventId::Hook(_) | EventId::Opaque => return,
        };
        match self.of(guid) {
            Some(seen) => {
                seen.events += 1;
                if let EventId::Provider { id, .. } = event.id {
                    let size = event.payload.len();
                    seen.count(EventKind { id, events: 1, payload: (size, size) });
                }
            }
            None => self.left_out += 1,
        }
        self.name(guid, || name_of(event));
    }

    fn of(&mut self, guid: Guid) -> Option<&mut Seen> {
        let is_full = self.seen.len() >= MOST;
        match self.seen.entry(guid) {
            std::collections::hash_map::Entry::Vacant(_) if is_full => None,
            entry => Some(entry.or_default()),
        }
    }

    /// Notes a name; the first one stays.
    fn name(&mut self, guid: Guid, name: impl FnOnce() -> Option<Box<str>>) {
        let Some(seen) = self.of(guid).filter(|seen| seen.name.is_none()) else { return };
        let name = name().filter(|name| !name.trim().is_empty());
        seen.name = name.map(|name| plain(&name.trim().chars().take(MOST_OF_NAME).collect::<String>()).into());
    }

    /// Adds the counts of later events, or of another file.
    #[must_use]
    pub fn plus(mut self, later: Self) -> Self {
        let mut all: Vec<(Guid, Seen)> = later.seen.into_iter().collect();
        all.sort_unstable_by_key(|(guid, _)| *guid); // which are left out depends on nothing else
        for (guid, Seen { events, name, kinds }) in all {
            match self.of(guid) {
                Some(seen) => {
                    seen.events += events;
                    kinds.into_values().for_each(|kind| seen.count(kind));
                }
                None => self.left_out += events,
            }
            self.name(guid, || name);
        }
        self.left_out += later.left_out;
        self
    }

    /// Providers that have events, the busiest first.
    pub fn list(&self) -> Vec<ProviderSeen> {
        let seen = |(&guid, seen): (&Guid, &Seen)| ProviderSeen {
            guid,
            name: seen.name.as_deref().or_else(|| known_name(guid)).map(str::to_owned),
            events: seen.events,
            kinds: seen.kinds.values().copied().collect(),
        };
        let mut list: Vec<ProviderSeen> = self.seen.iter().map(seen).filter(|seen| seen.events > 0).collect();
        list.sort_by_key(|seen| (std::cmp::Reverse(seen.events), seen.guid));
        list
    }

    /// Number of events of providers that are not counted separately.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

/// The provider's name, if the event has it.
fn name_of(event: &RawEvent<'_>) -> Option<Box<str>> {
    let traits = event.extended.into_iter().find(|item| item.kind == extended_type::PROVIDER_TRAITS);
    let name = traits.and_then(|item| activity::provider_name(item.data)).filter(|name| !name.is_empty());
    name.map(Into::into).or_else(|| name_in_manifest(event))
}

/// The name in the first piece of the manifest that an EventSource sends as an event; layout as in
/// PerfView's `ManifestEnvelope`: format, two bytes of a version, a magic byte, number of pieces,
/// number of this piece, XML.
fn name_in_manifest(event: &RawEvent<'_>) -> Option<Box<str>> {
    const MANIFEST: u16 = 0xFFFE;
    const HEAD: usize = 8;
    /// The provider is named right behind the XML's own opening.
    const LOOKED_AT: usize = 4096;
    let EventId::Provider { id: MANIFEST, .. } = event.id else { return None };
    let payload = event.payload;
    let [format, _, _, magic] = *payload.first_chunk()?;
    if (format, magic, u16_at(payload, 6)?) != (1, 0x5B, 0) {
        return None;
    }
    let xml = payload.get(HEAD..payload.len().min(HEAD + LOOKED_AT))?;
    let xml = String::from_utf8_lossy(xml);
    let (_, provider) = xml.split_once("<provider ")?;
    let (_, name) = provider.split('>').next()?.split_once("name=\"")?;
    name.split_once('"').map(|(name, _)| name.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::write::{Descriptor, NewEvent, Writer};
    use crate::etl::{Extended, ExtendedItem, HeaderKind, SessionHeader, Source};
    use crate::units::{Pid, PointerSize, Tid};

    const OWN: Guid = Guid::new(1, 2, 3, [4; 8]);
    const OTHER: Guid = Guid::new(2, 2, 3, [4; 8]);
    const SOURCE: Guid = Guid::new(3, 2, 3, [4; 8]);

    fn census(events: &[(EventId, HeaderKind, &[ExtendedItem<'_>], &[u8])]) -> ProviderCensus {
        let mut writer =
            Writer::new(std::io::Cursor::new(Vec::new()), SessionHeader { processors: 1, ..Default::default() }).unwrap();
        for (time, &(id, kind, extended, payload)) in (1_000..).zip(events) {
            let (pid, tid, pointer, descriptor) = (Pid(1), Tid(1), PointerSize::Eight, Descriptor::default());
            let event = NewEvent { processor: 0, time, kind, pointer, pid, tid, id, version: 0, descriptor, extended, payload };
            writer.write(&event).unwrap();
        }
        let bytes = writer.finish().unwrap().into_inner().leak();
        providers(&TraceFile::from_source(Source::Memory(bytes), "t.etl".to_owned()).unwrap())
    }

    fn event(provider: Guid, id: u16, payload: &[u8]) -> RawEvent<'_> {
        RawEvent {
            kind: HeaderKind::Event,
            pointer: PointerSize::Eight,
            time: 1,
            pid: Pid(1),
            tid: Tid(1),
            id: EventId::Provider { provider, id },
            version: 0,
            extended: Extended::default(),
            payload,
            offset: 0,
        }
    }

    #[test]
    fn providers_are_counted_and_called_what_any_of_their_events_says() {
        let traits = [8u8, 0, b'G', b'a', b'm', b'e', b's', 0];
        let named = [ExtendedItem { kind: extended_type::PROVIDER_TRAITS, data: &traits }];
        let of = |provider, id| EventId::Provider { provider, id };
        let manifest =
            [b"\x01\x01\x00\x5b\x01\0\0\0".as_slice(), br#"<x><provider guid="a" name="My-Source"><y name="z"/>"#].concat();
        let found = census(&[
            (of(OWN, 1), HeaderKind::Event, &[], b""),
            (of(OTHER, 1), HeaderKind::Event, &[], b""),
            (of(OWN, 2), HeaderKind::Event, &named, b""),
            (of(SOURCE, 0xFFFE), HeaderKind::Event, &[], &manifest),
            (of(class::DXGI, 42), HeaderKind::Event, &[], &[0; 16]),
            (EventId::Hook(0x0F2E), HeaderKind::PerfInfo, &[], &[0; 16]),
            (EventId::Class { class: class::IMAGE_ID, opcode: 0 }, HeaderKind::Full, &[], &[0; 16]),
            (of(OWN, 3), HeaderKind::Event, &[], b""),
        ]);
        let list: Vec<_> = found.list().into_iter().map(|seen| (seen.guid, seen.name, seen.events)).collect();
        let name = |name: &str| Some(name.to_owned());
        let expected = [(OWN, name("Games"), 3), (OTHER, None, 1), (SOURCE, name("My-Source"), 1)];
        assert_eq!(list[..3], expected);
        assert_eq!(list[3..], [(class::DXGI, name("Microsoft-Windows-DXGI"), 1)]);
        let twice = found.clone().plus(found);
        assert_eq!(twice.list()[0].events, 6);
    }

    #[test]
    fn events_are_told_by_id_with_the_size_of_their_payload() {
        let mut census = ProviderCensus::default();
        for (id, payload) in [(101, &b"12345678"[..]), (100, b"1234"), (101, b"12345678"), (100, b"123456")] {
            census.count(&event(OWN, id, payload));
        }
        let kind = |id, events, payload| EventKind { id, events, payload };
        let twice = census.clone().plus(census.clone());
        assert_eq!(census.list()[0].kinds, [kind(100, 2, (4, 6)), kind(101, 2, (8, 8))]);
        assert_eq!(twice.list()[0].kinds, [kind(100, 4, (4, 6)), kind(101, 4, (8, 8))]);
        (0..MOST_KINDS as u16 * 2).for_each(|id| census.count(&event(OWN, id, b"")));
        assert_eq!((census.list()[0].kinds.len(), census.list()[0].events), (MOST_KINDS, 4 + 2 * MOST_KINDS as u64));
    }

    #[test]
    fn more_providers_than_are_told_apart_are_counted_together() {
        let mut census = ProviderCensus::default();
        let guid = |n: u64| Guid::from_bytes(u128::from(n).to_le_bytes());
        (0..MOST as u64 + 10).chain([3]).for_each(|n| census.count(&event(guid(n), 1, b"")));
        assert_eq!((census.list().len(), census.left_out()), (MOST, 10));
        assert_eq!(
            census.list()[0],
            ProviderSeen { guid: guid(3), name: None, events: 2, kinds: vec![EventKind { id: 1, events: 2, payload: (0, 0) }] }
        );
    }

    #[test]
    fn damaged_manifests_name_nobody() {
        for payload in [
            &b""[..],
            b"\x01\x01\x00\x5b\x01\0\0",
            b"\x01\x01\x00\x5b\x01\0\0\0<provider name=",
            b"\x01\x01\x00\x5b\x01\0\0\0<provider name=\"a",
            b"\x01\x01\x00\x5b\x02\0\x01\0<provider name=\"a\"",
            b"\x02\x01\x00\x5b\x01\0\0\0<provider name=\"a\"",
            b"\x01\x01\x00\x5b\x01\0\0\0<provider></provider name=\"a\"",
        ] {
            assert_eq!(name_in_manifest(&event(OWN, 0xFFFE, payload)), None, "{payload:?}");
        }
    }
}
