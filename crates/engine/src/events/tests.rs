//! Payload layouts that no public trace holds, on bytes put together by hand from
//! the documented offsets, so that reader and writer cannot agree on a mistake.

use super::hooks::{hook, tracker};
use super::{CommittedRegion, Event, PageRange, memory};
use crate::etl::{EventId, Extended, HeaderKind, RawEvent};
use crate::units::{Layer, Pid, PointerSize, Tid};

/// An event with this payload, for a decoder that looks at nothing else of it.
pub(super) fn raw(pointer: PointerSize, version: u16, payload: &[u8]) -> RawEvent<'_> {
    RawEvent {
        kind: HeaderKind::System,
        pointer,
        time: 7,
        pid: Pid(1),
        tid: Tid(2),
        id: EventId::Opaque,
        version,
        extended: Extended::default(),
        payload,
        offset: 0,
    }
}

/// Numbers of 4 and 8 bytes, one behind the other.
fn bytes(fields: &[(u64, usize)]) -> Vec<u8> {
    fields.iter().flat_map(|&(value, width)| value.to_le_bytes()[..width].to_vec()).collect()
}

#[test]
fn heap_payloads_have_fields_of_the_events_own_width() {
    for (pointer, p, length) in [(PointerSize::Eight, 8, 44), (PointerSize::Four, 4, 24)] {
        // Handle, new address, old address, new size, old size, source.
        let realloc = bytes(&[(0x1D, p), (0x200, p), (0x100, p), (64, p), (32, p), (3, 4)]);
        assert_eq!(realloc.len(), length);
        let expected = Event::Realloc { layer: Layer::Heap, heap: 0x1D, old: 0x100, new: 0x200, size: 64 };
        assert_eq!(memory::heap(hook::HEAP_REALLOC, &raw(pointer, 2, &realloc)), Some(expected));
        // Handle, size, address, source.
        let alloc = bytes(&[(0x1D, p), (40, p), (0x300, p), (2, 4)]);
        let expected = Event::Alloc { layer: Layer::Heap, heap: 0x1D, address: 0x300, size: 40 };
        assert_eq!(memory::heap(hook::HEAP_ALLOC, &raw(pointer, 2, &alloc)), Some(expected));
        assert_eq!(memory::heap(hook::HEAP_ALLOC, &raw(pointer, 2, &alloc[..2 * p - 1])), None, "too short");
    }
}

#[test]
fn a_heap_payload_that_is_as_long_as_the_other_width_makes_it_has_that_width() {
    let layer = Layer::Heap;
    for (p, said) in [(4, PointerSize::Eight), (8, PointerSize::Four)] {
        let told = |hook, payload: &[u8]| memory::heap(hook, &raw(said, 2, payload));
        let realloc = bytes(&[(0x1D, p), (0x200, p), (0x100, p), (64, p), (32, p), (3, 4)]);
        let expected = Event::Realloc { layer, heap: 0x1D, old: 0x100, new: 0x200, size: 64 };
        assert_eq!(told(hook::HEAP_REALLOC, &realloc), Some(expected));
        let alloc = bytes(&[(0x1D, p), (40, p), (0x300, p), (2, 4)]);
        assert_eq!(told(hook::HEAP_ALLOC, &alloc), Some(Event::Alloc { layer, heap: 0x1D, address: 0x300, size: 40 }));
        let free = bytes(&[(0x1D, p), (0x300, p), (2, 4)]);
        assert_eq!(told(hook::HEAP_FREE, &free), Some(Event::Free { layer, heap: 0x1D, address: 0x300 }));
        for create in [bytes(&[(0x1D, p), (2, 4)]), bytes(&[(0x1D, p), (2, 4), (1, p), (2, p), (3, p)])] {
            assert_eq!(told(hook::HEAP_CREATE, &create), Some(Event::HeapOpen { layer, heap: 0x1D, name: None }));
        }
        assert_eq!(told(hook::HEAP_DESTROY, &bytes(&[(0x1D, p)])), Some(Event::HeapClose { layer, heap: 0x1D, name: None }));
    }
}

#[test]
fn page_payloads_name_their_owner_behind_two_words() {
    for (pointer, p) in [(PointerSize::Eight, 8), (PointerSize::Four, 4)] {
        let fields = [(0x7000_0000, p), (0x1_0000, p), (4660, 4), (0x3000, 4)];
        let range = PageRange { base: 0x7000_0000, size: 0x1_0000, owner: Pid(4660), flags: 0x3000 };
        let plain = bytes(&fields);
        assert_eq!(memory::pages(hook::VIRTUAL_ALLOC, &raw(pointer, 2, &plain)), Some(Event::VirtualAlloc(range)));
        assert_eq!(memory::pages(hook::VIRTUAL_FREE, &raw(pointer, 2, &plain)), Some(Event::VirtualFree(range)));
        let rundown = [bytes(&fields), bytes(&[(0x4000, p)])].concat();
        let region = CommittedRegion { base: range.base, size: 0x1_0000, committed: 0x4000, owner: range.owner };
        let read = memory::pages(hook::VIRTUAL_RUNDOWN_START, &raw(pointer, 2, &rundown));
        assert_eq!(read, Some(Event::CommitRundown(region)));
    }
}

#[test]
fn tracker_payloads_are_as_wide_in_32_bit_programs() {
    for pointer in [PointerSize::Eight, PointerSize::Four] {
        let alloc = bytes(&[(0x500, 8), (48, 8), (7, 8)]);
        let expected = Event::Alloc { layer: Layer::Tracker, heap: 7, address: 0x500, size: 48 };
        assert_eq!(memory::tracker_event(tracker::ALLOC, &raw(pointer, 2, &alloc)), Some(expected));
        let free = bytes(&[(0x500, 8), (7, 8)]);
        let expected = Event::Free { layer: Layer::Tracker, heap: 7, address: 0x500 };
        assert_eq!(memory::tracker_event(tracker::FREE, &raw(pointer, 2, &free)), Some(expected));
        let realloc = bytes(&[(0x600, 8), (96, 8), (0x500, 8), (7, 8)]);
        let expected = Event::Realloc { layer: Layer::Tracker, heap: 7, old: 0x500, new: 0x600, size: 96 };
        assert_eq!(memory::tracker_event(tracker::REALLOC, &raw(pointer, 2, &realloc)), Some(expected));
    }
}

#[test]
fn a_trackers_name_is_a_fixed_field_cut_at_its_end() {
    let mut open = bytes(&[(7, 8), (260, 4)]);
    open.extend("Pool".encode_utf16().flat_map(u16::to_le_bytes));
    open.resize(532, 0);
    let named = |name: &str| Some(Event::HeapOpen { layer: Layer::Tracker, heap: 7, name: Some(name.into()) });
    assert_eq!(memory::tracker_event(tracker::OPEN, &raw(PointerSize::Eight, 2, &open)), named("Pool"));
    open[8] = 2; // a length of two units
    open[9] = 0;
    assert_eq!(memory::tracker_event(tracker::OPEN, &raw(PointerSize::Eight, 2, &open)), named("Po"));
}
