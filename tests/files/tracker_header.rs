//! Events of `tracker/highwater.h` as it wrote them (`tracker/tests/story.txt`, by `scripts/tracker.sh`): our own encoder
//! writes the same bytes, and they are read as trackers.

use std::io::Cursor;

use crate::common::trace::session;
use highwater::etl::write::{Descriptor, NewEvent, Writer};
use highwater::etl::{EventId, HeaderKind, Source, TraceFile};
use highwater::events::encode::RecordWriter;
use highwater::events::{Event, Record};
use highwater::load::{Capture, Unwatched, load};
use highwater::problem::Problems;
use highwater::units::{Layer, Pid, PointerSize, Ticks, Tid};

const STORY: &str = include_str!("../../tracker/tests/story.txt");
const PROVIDER: &str = "988917C5-5748-42A8-A127-A9A2285265D5";
const START: i64 = 1_000;
const PID: Pid = Pid(40);
const TID: Tid = Tid(8);

/// Id, version, channel, level, opcode and task, the keyword, the payload.
fn told() -> Vec<([u16; 6], u64, Vec<u8>)> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let numbers: Vec<u16> = words[..6].iter().map(|word| word.parse().unwrap()).collect();
        let payload = (0..words[7].len() / 2).map(|n| u8::from_str_radix(&words[7][2 * n..2 * n + 2], 16).unwrap());
        (numbers.try_into().unwrap(), u64::from_str_radix(words[6], 16).unwrap(), payload.collect())
    };
    STORY.lines().filter(|text| !text.starts_with('#')).map(line).collect()
}

/// A trace of the header's events, one a tick.
fn written() -> Vec<u8> {
    let mut writer = Writer::new(Cursor::new(Vec::new()), session(false)).unwrap();
    for (n, ([id, version, channel, level, opcode, task], keyword, payload)) in told().iter().enumerate() {
        let descriptor =
            Descriptor { channel: *channel as u8, level: *level as u8, opcode: *opcode as u8, task: *task, keyword: *keyword };
        let event = NewEvent {
            processor: 0,
            time: START + n as i64,
            kind: HeaderKind::Event,
            pointer: PointerSize::Eight,
            pid: PID,
            tid: TID,
            id: EventId::Provider { provider: PROVIDER.parse().unwrap(), id: *id },
            version: *version,
            descriptor,
            extended: &[],
            payload,
        };
        writer.write(&event).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The story that `tracker/tests/events.c` tells.
fn story() -> Vec<Event> {
    let layer = Layer::Tracker;
    let (textures, other) = (0x2000_0000, 0x2000_0220);
    let named = |heap, name: &str| Event::HeapOpen { layer, heap, name: Some(name.into()) };
    vec![
        named(textures, "Textures"), // told to the session that starts
        named(other, "Größe 漢字"),
        Event::Alloc { layer, heap: textures, address: 0x3000_0000, size: 4096 },
        Event::Alloc { layer, heap: textures, address: 0x3000_1000, size: 512 },
        Event::Alloc { layer, heap: other, address: 0x3000_0000, size: 32 },
        Event::Realloc { layer, heap: textures, old: 0x3000_1000, new: 0x3000_2000, size: 1024 },
        Event::Free { layer, heap: textures, address: 0x3000_0000 },
        named(other, "Größe 漢字"), // again, to one that asks
        named(textures, "Textures"),
        Event::HeapClose { layer, heap: other, name: Some("Größe 漢字".into()) },
    ]
}

#[test]
fn our_encoder_writes_the_headers_bytes() {
    let mut writer = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), session(false)).unwrap());
    for (n, event) in story().into_iter().enumerate() {
        writer.put(0, &Record { time: START + n as i64, pid: PID, tid: TID, event }, &[]).unwrap();
    }
    assert!(writer.finish().unwrap().into_inner() == written(), "tracker/tests/story.txt has other events than these");
}

#[test]
fn the_headers_events_are_read_as_trackers() {
    let file = TraceFile::from_source(Source::Memory(written().leak()), "header.etl".to_owned()).unwrap();
    let trace = load(&Capture { files: vec![file], problems: Problems::default() }, &mut Unwatched).unwrap();
    let of = |row: highwater::model::Row| {
        let heap = trace.heap(trace.sites[row.site.0 as usize].heap);
        let name = heap.name.as_ref().map_or_else(String::new, ToString::to_string);
        (name, row.address, row.size, row.birth.0, (row.death != Ticks::NEVER).then_some(row.death.0))
    };
    let mut rows: Vec<_> =
        trace.rows.chunks().flat_map(|chunk| chunk.rows().map(|(_, row)| of(row)).collect::<Vec<_>>()).collect();
    rows.sort();
    // A name that is sent again opens no second tracker and ends no block.
    let expected = [
        ("Größe 漢字", 0x3000_0000, 32, 4, Some(9)),
        ("Textures", 0x3000_0000, 4096, 2, Some(6)),
        ("Textures", 0x3000_1000, 512, 3, Some(5)),
        ("Textures", 0x3000_2000, 1024, 5, None),
    ];
    assert_eq!(rows, expected.map(|(name, address, size, birth, death)| (name.to_owned(), address, size, birth, death)));
    assert!(trace.problems.is_empty());
}
