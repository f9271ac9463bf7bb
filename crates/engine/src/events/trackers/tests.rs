use super::*;
use crate::etl::{Extended, HeaderKind, PointerSize};
use crate::units::{Pid, Tid};

const GAME: &str = "11111111-2222-3333-4444-555555555555";

fn event<'a>(provider: &str, id: u16, version: u16, payload: &'a [u8]) -> RawEvent<'a> {
    let provider = provider.parse().unwrap();
    RawEvent {
        kind: HeaderKind::Event,
        pointer: PointerSize::Eight,
        time: 1,
        pid: Pid(7),
        tid: Tid(8),
        id: EventId::Provider { provider, id },
        version,
        extended: Extended::default(),
        payload,
        offset: 0,
    }
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A file with one provider.
fn mapping(name: &str, events: &str) -> TrackerProviders {
    TrackerProviders::parse(&format!("[[tracker]]\nprovider = \"{GAME}\"\nname = \"{name}\"\n{events}")).unwrap()
}

fn told(reading: TrackerReading) -> (Event, String) {
    match reading {
        TrackerReading::Block(event, name) => (event, name.unwrap_or_default()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_built_in_file_can_be_read() {
    let all = file::parsed(include_str!("builtin.toml")).unwrap();
    assert_eq!(all.iter().map(|one| one.events.len()).collect::<Vec<_>>(), [2, 2]);
    assert!(TrackerProviders::default().list().iter().all(|one| one.is_built_in));
}

#[test]
fn mimalloc_and_pix_are_read_as_their_manifests_say() {
    // Ids and layouts: etw.man of microsoft/mimalloc, PIXETW.man of microsoft/PixEvents.
    const MIMALLOC: &str = "138F4DBB-EE04-4899-AA0A-572AD4475779";
    const PIX: &str = "8819CA17-7FAA-4184-AFB7-A4120CA793CD";
    let all = TrackerProviders::default();
    let (alloc, name) = told(all.event(&event(MIMALLOC, 100, 1, &bytes(&[0x1000, 64]))));
    let Event::Alloc { layer: Layer::Tracker, heap, address: 0x1000, size: 64 } = alloc else { panic!("{alloc:?}") };
    assert_eq!(name, "mimalloc");
    let free = told(all.event(&event(MIMALLOC, 101, 1, &bytes(&[0x1000])))).0;
    assert_eq!(free, Event::Free { layer: Layer::Tracker, heap, address: 0x1000 });
    assert_eq!(all.event(&event(MIMALLOC, 100, 1, &bytes(&[0x1000]))), TrackerReading::Bad, "the size is missing");
    assert_eq!(all.event(&event(MIMALLOC, 101, 1, &[0; 7])), TrackerReading::Bad);
    assert_eq!(all.event(&event(MIMALLOC, 102, 1, &[0; 16])), TrackerReading::Unmapped);

    let pix = |id: u16| [&3u16.to_le_bytes()[..], &bytes(&[0x2000, 256])[..if id == 16 { 16 } else { 8 }]].concat();
    let (alloc, name) = told(all.event(&event(PIX, 16, 0, &pix(16))));
    let Event::Alloc { heap: pix_heap, address: 0x2000, size: 256, .. } = alloc else { panic!("{alloc:?}") };
    assert_eq!(name, "PIX allocator 3");
    assert!(pix_heap != heap && is_made_handle(Layer::Tracker, pix_heap) && shared_handle(Layer::Tracker, pix_heap).is_none());
    let free = told(all.event(&event(PIX, 17, 0, &pix(17)))).0;
    assert_eq!(free, Event::Free { layer: Layer::Tracker, heap: pix_heap, address: 0x2000 });
    // A pointer of a 32-bit program has four bytes.
    let narrow = [&3u16.to_le_bytes()[..], &0x2000u32.to_le_bytes(), &256u64.to_le_bytes()].concat();
    let narrow = RawEvent { pointer: PointerSize::Four, ..event(PIX, 16, 0, &narrow) };
    assert_eq!(told(all.event(&narrow)).0, Event::Alloc { layer: Layer::Tracker, heap: pix_heap, address: 0x2000, size: 256 });
}

#[test]
fn address_zero_is_no_block() {
    let all = mapping(
        "Pool",
        "[[tracker.event]]\nid = 1\ndoes = \"allocate\"\nfields = \"address:u64 size:u64\"\n\
        [[tracker.event]]\nid = 2\ndoes = \"free\"\nfields = \"address:u64\"",
    );
    assert_eq!(all.event(&event(GAME, 1, 0, &bytes(&[0, 8]))), TrackerReading::Bad);
    assert_eq!(all.event(&event(GAME, 2, 0, &bytes(&[0]))), TrackerReading::Nothing);
}

#[test]
fn an_event_of_another_version_is_bad_where_the_file_gives_one() {
    let all = mapping("Pool", "[[tracker.event]]\nid = 1\nversion = 2\ndoes = \"free\"\nfields = \"address:u64\"");
    assert!(matches!(all.event(&event(GAME, 1, 2, &bytes(&[9]))), TrackerReading::Block(..)));
    assert_eq!(all.event(&event(GAME, 1, 3, &bytes(&[9]))), TrackerReading::Bad);
}

#[test]
fn a_free_without_the_name_is_of_the_provider() {
    let all = mapping(
        "Pool {pool}",
        "[[tracker.event]]\nid = 1\ndoes = \"allocate\"\nfields = \"pool:u8 address:u64 size:u64\"\n\
        [[tracker.event]]\nid = 2\ndoes = \"free\"\nfields = \"address:u64\"",
    );
    let payload = [&[5u8][..], &bytes(&[0x40, 8])].concat();
    let (Event::Alloc { heap, .. }, name) = told(all.event(&event(GAME, 1, 0, &payload))) else { panic!() };
    assert_eq!(name, "Pool 5");
    let (Event::Free { heap: common, .. }, none) = told(all.event(&event(GAME, 2, 0, &bytes(&[0x40])))) else { panic!() };
    assert_eq!(none, "");
    assert_eq!(shared_handle(Layer::Tracker, heap), Some(common));
    assert_eq!(shared_handle(Layer::Tracker, common), Some(common));
    assert_ne!(heap, common);
}

#[test]
fn a_file_replaces_the_built_in_mapping_of_its_providers_only() {
    let text = "[[tracker]]\nprovider = \"138f4dbb-ee04-4899-aa0a-572ad4475779\"\nname = \"Mine\"\n\
        [[tracker.event]]\nid = 7\ndoes = \"free\"\nfields = \"address:u64\"";
    let all = TrackerProviders::parse(text).unwrap();
    let names: Vec<_> = all.list().iter().map(|one| (one.only_name(), one.is_built_in)).collect();
    assert_eq!(names, [(Some("Mine".to_owned()), false), (None, true)]);
}

#[test]
fn bad_files_are_refused_with_their_line() {
    let event = |event: &str| format!("[[tracker]]\nprovider = \"{GAME}\"\nname = \"A {{x}}\"\n\n[[tracker.event]]\n{event}");
    let free = "does = \"free\"\nfields = \"address:u64\"";
    let cases = [
        ("[[tracker]]\nname = \"A\"".to_owned(), 1, "provider"),
        ("[[tracker]]\nprovider = \"\"\nname = \"A\"".to_owned(), 2, "GUID or name"),
        ("[[tracker]]\nprovider = \"P\"\nname = \"A {\"".to_owned(), 3, "brace"),
        ("[[tracker]]\nprovider = \"P\"\nname = \"A\"".to_owned(), 2, "[[tracker.event]]"),
        ("color = 1".to_owned(), 1, "color"),
        (event("does = \"free\"\nfields = \"address:u64\""), 5, "id"),
        (event(&format!("id = 1\nname = \"a\"\n{free}")), 5, "not both"),
        (event("id = 1\ndoes = \"leak\"\nfields = \"address:u64\""), 7, "allocate, free or reallocate"),
        (event("id = 1\ndoes = \"free\"\nfields = \"address\""), 8, "needs a type"),
        (event("id = 1\ndoes = \"free\"\nfields = \"address:u63\""), 8, "not a type"),
        (event("id = 1\ndoes = \"free\"\nfields = \"size:u64\""), 8, "address is missing"),
        (event("id = 1\ndoes = \"free\"\nfields = \"address:utf8z\""), 8, "of this type"),
        (event("id = 1\ndoes = \"free\"\nfields = \"address:u64 address:u64\""), 8, "twice"),
        (event("id = 1\ndoes = \"allocate\"\nfields = \"address:u64 size:u64\""), 8, "all fields of the tracker's name"),
        (event("name = \"Freed\"\ndoes = \"free\"\nfields = \"address:u64\""), 8, "names only"),
        (event(&format!("id = 1\n{free}\n\n[[tracker.event]]\nid = 1\n{free}")), 10, "twice"),
    ];
    for (text, line, what) in cases {
        let bad = TrackerProviders::parse(&text).unwrap_err();
        assert!(bad.line == Some(line) && bad.what.contains(what), "{text}\n{bad}");
    }
}
