//! The kinds of events of providers with a manifest that a trace has, each (provider, id, version) once: those that it
//! describes with their description, the others with the header fields by which they can be looked up in the manifest.
//!
//! Left out are events that describe themselves (TraceLogging).
//!
//! Cost: for kernel events one comparison, for others their header and a lookup. Bounded: [`MOST_KINDS`] kinds of either
//! sort.

use rayon::prelude::*;

use super::activity::{EventKey, EventSchema};
use super::hooks::class;
use crate::etl::write::Descriptor;
use crate::etl::{
    BufferInfo, BufferKind, EventId, Framed, Guid, HeaderKind, RawEvent, ReadBuffer, TraceFile, extended_type, u8_at, u16_at,
    u64_at,
};
use crate::problem::Problems;
use crate::tables::KeyedMap;
use crate::units::PointerSize;

/// Most kinds that are kept; a large trace of all providers of a system has some hundreds.
pub const MOST_KINDS: usize = 4096;

/// Header fields of one kind of event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UndescribedKind {
    /// The provider.
    pub provider: Guid,
    /// Event id.
    pub id: u16,
    /// Event version.
    pub version: u8,
    /// The other fields of its descriptor, as the first such event has them.
    pub descriptor: Descriptor,
    /// Pointer size of the first such event.
    pub pointer: PointerSize,
}

impl UndescribedKind {
    /// The kind of event.
    pub fn key(&self) -> EventKey {
        (self.provider, self.id, self.version)
    }
}

/// Descriptions of events by installed manifests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Described {
    /// A TRACE_EVENT_INFO for each kind of event that a manifest defines.
    pub infos: Vec<Vec<u8>>,
    /// Why descriptions are missing, if something failed. Events without a manifest are no failure.
    pub failure: Option<String>,
}

/// Kinds of events of providers with a manifest.
#[derive(Clone, Debug, Default)]
pub struct ManifestEvents {
    kinds: KeyedMap<EventKey, UndescribedKind>,
    described: KeyedMap<EventKey, EventSchema>,
}

impl ManifestEvents {
    /// Notes an event, given with all its bytes.
    #[inline]
    pub fn note(&mut self, event: &[u8]) {
        // Header types of kernel events, which are nearly all events (`HeaderKind`).
        const KERNEL: [u8; 6] = [1, 2, 3, 4, 0x10, 0x11];
        if event.get(2).is_some_and(|kind| !KERNEL.contains(kind)) {
            self.note_other(event);
        }
    }

    fn note_other(&mut self, event: &[u8]) {
        let Some(raw) = RawEvent::parse(event) else { return };
        match raw.id {
            EventId::Provider { provider, id } => {
                let Some(kind) = kind_of(event, &raw, (provider, id)) else { return };
                let key = (provider, id, kind.version);
                if self.kinds.contains_key(&key) || self.kinds.len() >= MOST_KINDS {
                    return;
                }
                if !describes_itself(&raw) {
                    self.kinds.insert(key, kind);
                }
            }
            EventId::Class { class: class::EVENT_METADATA, opcode: EventSchema::OPCODE } => {
                if let Some(schema) = EventSchema::from_info(raw.payload)
                    && self.described.len() < MOST_KINDS
                {
                    self.described.entry(schema.key()).or_insert(schema);
                }
            }
            _ => {}
        }
    }

    /// Adds the kinds of another part of the trace.
    pub fn plus(mut self, other: &Self) -> Self {
        let room = |len: usize| MOST_KINDS.saturating_sub(len);
        for kind in other.sorted(false).into_iter().take(room(self.kinds.len())) {
            self.kinds.entry(kind.key()).or_insert(kind);
        }
        for schema in other.descriptions().into_iter().take(room(self.described.len())) {
            self.described.entry(schema.key()).or_insert(schema);
        }
        self
    }

    /// The kinds without a description, by provider, id and version.
    pub fn undescribed(&self) -> Vec<UndescribedKind> {
        self.sorted(true)
    }

    /// The descriptions, by provider, id and version.
    pub fn descriptions(&self) -> Vec<EventSchema> {
        let mut all: Vec<EventSchema> = self.described.values().cloned().collect();
        all.sort_unstable_by_key(|schema| (schema.provider.to_bytes(), schema.id, schema.version));
        all
    }

    fn sorted(&self, only_undescribed: bool) -> Vec<UndescribedKind> {
        let is_wanted = |(key, _): &(&EventKey, &UndescribedKind)| !only_undescribed || !self.described.contains_key(*key);
        let mut all: Vec<UndescribedKind> = self.kinds.iter().filter(is_wanted).map(|(_, kind)| *kind).collect();
        all.sort_unstable_by_key(|kind| (kind.provider.to_bytes(), kind.id, kind.version));
        all
    }
}

/// The kinds of events of providers with a manifest in a file.
pub fn manifest_events(file: &TraceFile) -> ManifestEvents {
    /// Buffers that one worker takes at a time.
    const RUN: usize = 64;
    let of_run = |(scratch, problems): &mut (ReadBuffer, Problems), run: &[BufferInfo]| {
        let mut found = ManifestEvents::default();
        for buffer in run.iter().filter(|buffer| buffer.kind != BufferKind::NoEvents) {
            // Problems of the buffer are reported when it is loaded.
            *problems = Problems::default();
            file.read_buffer(buffer, scratch, problems);
            let mut events = scratch.events();
            while let Some(framed) = events.next_framed() {
                if let Framed::Other(event) = framed {
                    found.note(events.bytes_of(&event));
                }
            }
        }
        found
    };
    let runs: Vec<ManifestEvents> = file.buffers.par_chunks(RUN).map_init(Default::default, of_run).collect();
    runs.into_iter().fold(ManifestEvents::default(), |all, more| all.plus(&more))
}

/// The header fields of an event of a provider (EVENT_HEADER, `etl::event`).
fn kind_of(event: &[u8], raw: &RawEvent<'_>, (provider, id): (Guid, u16)) -> Option<UndescribedKind> {
    if raw.kind != HeaderKind::Event {
        return None;
    }
    let descriptor = Descriptor {
        channel: u8_at(event, 0x2B)?,
        level: u8_at(event, 0x2C)?,
        opcode: u8_at(event, 0x2D)?,
        task: u16_at(event, 0x2E)?,
        keyword: u64_at(event, 0x30)?,
    };
    Some(UndescribedKind { provider, id, version: u8::try_from(raw.version).ok()?, descriptor, pointer: raw.pointer })
}

/// Whether an event needs no manifest of the system: it has its own description, or it is one (of an EventSource).
fn describes_itself(raw: &RawEvent<'_>) -> bool {
    /// The event in which an EventSource of .NET sends its manifest.
    const MANIFEST: u16 = 0xFFFE;
    let is_manifest = matches!(raw.id, EventId::Provider { id: MANIFEST, .. });
    is_manifest || raw.extended.into_iter().any(|item| item.kind == extended_type::SCHEMA)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::etl::write::{NewEvent, Writer};
    use crate::etl::{ExtendedItem, SessionHeader, Source};
    use crate::units::{Pid, Tid};

    const PROVIDER: Guid = Guid::new(0x1234, 2, 3, [4; 8]);

    fn event<'a>(
        id: EventId,
        version: u16,
        kind: HeaderKind,
        extended: &'a [ExtendedItem<'a>],
        payload: &'a [u8],
    ) -> NewEvent<'a> {
        NewEvent {
            processor: 0,
            time: 1,
            kind,
            pointer: PointerSize::Eight,
            pid: Pid(1),
            tid: Tid(2),
            id,
            version,
            descriptor: Descriptor { channel: 9, level: 4, opcode: 11, task: 0x123, keyword: 0x8000_0000_0000_0010 },
            extended,
            payload,
        }
    }

    /// The kinds of these events, read from a trace of them.
    fn noted(events: &[NewEvent<'_>]) -> ManifestEvents {
        let mut w = Writer::new(Cursor::new(Vec::new()), SessionHeader::default()).unwrap();
        events.iter().for_each(|event| w.write(event).unwrap());
        let bytes = w.finish().unwrap().into_inner().leak();
        manifest_events(&TraceFile::from_source(Source::Memory(bytes), "a.etl".to_owned()).unwrap())
    }

    #[test]
    fn each_kind_of_event_with_a_manifest_is_there_once_with_its_descriptor() {
        let of = |id| EventId::Provider { provider: PROVIDER, id };
        let item = [ExtendedItem { kind: extended_type::SCHEMA, data: &[3, 0, 0] }];
        let stack = [ExtendedItem { kind: extended_type::STACK_TRACE64, data: &[0; 16] }];
        let all = noted(&[
            event(of(7), 1, HeaderKind::Event, &stack, b"payload"),
            event(of(7), 1, HeaderKind::Event, &[], b"another"),
            event(of(7), 0, HeaderKind::Event, &[], b""),
            event(of(5), 0, HeaderKind::Event, &item, b"describes itself"),
            event(of(0xFFFE), 0, HeaderKind::Event, &[], b"<manifest>"),
            event(EventId::Hook(0x0120), 2, HeaderKind::System, &[], b""),
            event(EventId::Class { class: PROVIDER, opcode: 3 }, 2, HeaderKind::Full, &[], b""),
        ]);
        let kinds = all.undescribed();
        assert_eq!(kinds.iter().map(|kind| (kind.id, kind.version)).collect::<Vec<_>>(), [(7, 0), (7, 1)]);
        let descriptor = Descriptor { channel: 9, level: 4, opcode: 11, task: 0x123, keyword: 0x8000_0000_0000_0010 };
        assert!(kinds.iter().all(|kind| kind.descriptor == descriptor && kind.provider == PROVIDER));
    }

    #[test]
    fn what_the_trace_describes_is_not_asked_about() {
        let of = |id| EventId::Provider { provider: PROVIDER, id };
        let info = EventSchema::named((PROVIDER, 7, 1), "Game", "Level", "").to_info();
        let class = EventId::Class { class: class::EVENT_METADATA, opcode: EventSchema::OPCODE };
        let described = noted(&[event(class, 0, HeaderKind::Full, &[], &info)]);
        let kinds = noted(&[event(of(7), 1, HeaderKind::Event, &[], b""), event(of(8), 1, HeaderKind::Event, &[], b"")]);
        assert_eq!(kinds.undescribed().len(), 2);
        assert_eq!(described.descriptions().iter().map(|schema| &*schema.name).collect::<Vec<_>>(), ["Level"]);
        for both in [kinds.clone().plus(&described), described.clone().plus(&kinds)] {
            assert_eq!(both.undescribed().iter().map(|kind| kind.id).collect::<Vec<_>>(), [8]);
        }
    }

    #[test]
    fn a_trace_of_very_many_kinds_takes_no_more_memory() {
        let mut all = ManifestEvents::default();
        let kind = |n: u32| UndescribedKind {
            provider: Guid::new(n, 0, 0, [0; 8]),
            id: 0,
            version: 0,
            descriptor: Descriptor::default(),
            pointer: PointerSize::Eight,
        };
        let more = |from: u32| {
            let kinds = (from..from + 3000).map(|n| ((kind(n).provider, 0, 0), kind(n))).collect();
            ManifestEvents { kinds, ..ManifestEvents::default() }
        };
        for from in [0, 3000, 6000] {
            all = all.plus(&more(from));
        }
        assert_eq!(all.undescribed().len(), MOST_KINDS);
        // Bytes that are no event are nothing.
        for len in 0..0x60 {
            let mut bytes = vec![0; len];
            bytes.get_mut(2..4).into_iter().for_each(|head| head.copy_from_slice(&[0x13, 0xC0]));
            ManifestEvents::default().note(&bytes);
        }
    }
}
