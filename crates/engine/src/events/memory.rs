//! Heap, VirtualAlloc and tracker payloads.
//!
//! No public trace holds any of them. The heap and VirtualAlloc structures are those of System
//! Informer's `ntwmi.h`; heap events are written by ntdll with either width of pointers. The header
//! says which; but a payload that has exactly the length of the other width, and not that of its own,
//! is read with the other (ntdll of a 32-bit program may log under the header of either). Tracker
//! events have 8-byte fields in 32-bit programs too, so their layout does not depend on the header.

use super::hooks::{hook, tracker};
use super::names;
use super::{CommittedRegion, Event, PageRange};
use crate::etl::{RawEvent, address_at, u32_at, u64_at, utf16_field};
use crate::units::{Layer, Pid, PointerSize};

/// Heap, size and address of a [`hook::HEAP_ALLOC`]; `None` if the payload is too short.
#[inline(always)]
pub(super) fn heap_alloc(payload: &[u8], pointer: PointerSize) -> Option<[u64; 3]> {
    words(payload, heap_width(hook::HEAP_ALLOC, payload.len(), pointer))
}

/// Heap and address of a [`hook::HEAP_FREE`].
#[inline(always)]
pub(super) fn heap_free(payload: &[u8], pointer: PointerSize) -> Option<[u64; 2]> {
    words(payload, heap_width(hook::HEAP_FREE, payload.len(), pointer))
}

/// The width of a heap event's fields: that of its header, unless its length fits only the other.
/// Lengths are those of `ntwmi.h`; of some events two versions are known.
#[inline(always)]
pub(super) fn heap_width(hook: u16, len: usize, header: PointerSize) -> PointerSize {
    // Lengths of both versions, with fields of eight bytes and of four.
    let known: [[usize; 2]; 2] = match hook {
        hook::HEAP_ALLOC => [[28; 2], [16; 2]],
        hook::HEAP_FREE => [[20; 2], [12; 2]],
        hook::HEAP_REALLOC => [[44; 2], [24; 2]],
        hook::HEAP_CREATE => [[12, 36], [8, 20]],
        hook::HEAP_DESTROY => [[8; 2], [4; 2]],
        hook::HEAP_EXPAND | hook::HEAP_CONTRACT => [[52, 60], [28, 32]],
        _ => return header,
    };
    let is = |width: usize| known[width].contains(&len);
    match header {
        PointerSize::Eight if is(1) && !is(0) => PointerSize::Four,
        PointerSize::Four if is(0) && !is(1) => PointerSize::Eight,
        as_said => as_said,
    }
}

/// The first fields, of the event's pointer width, with one check of the length.
#[inline(always)]
fn words<const N: usize>(payload: &[u8], pointer: PointerSize) -> Option<[u64; N]> {
    let payload = payload.get(..N * pointer.bytes())?;
    let mut words = [0; N];
    for (i, word) in words.iter_mut().enumerate() {
        *word = address_at(payload, i * pointer.bytes(), pointer)?;
    }
    Some(words)
}

/// Heap events, group 10; `None` if the payload is too short.
pub(super) fn heap(hook: u16, &RawEvent { payload, pointer, .. }: &RawEvent<'_>) -> Option<Event> {
    let layer = Layer::Heap;
    let pointer = heap_width(hook, payload.len(), pointer);
    Some(match hook {
        hook::HEAP_CREATE => {
            let [heap] = words(payload, pointer)?;
            Event::HeapOpen { layer, heap, name: None }
        }
        hook::HEAP_DESTROY => {
            let [heap] = words(payload, pointer)?;
            Event::HeapClose { layer, heap, name: None }
        }
        hook::HEAP_ALLOC => {
            let [heap, size, address] = heap_alloc(payload, pointer)?;
            Event::Alloc { layer, heap, address, size }
        }
        hook::HEAP_FREE => {
            let [heap, address] = heap_free(payload, pointer)?;
            Event::Free { layer, heap, address }
        }
        _ => {
            let [heap, new, old, size] = words(payload, pointer)?;
            Event::Realloc { layer, heap, old, new, size }
        }
    })
}

/// VirtualAlloc, VirtualFree and the start rundown of regions with committed pages.
pub(super) fn pages(hook: u16, raw: &RawEvent<'_>) -> Option<Event> {
    let [base, size] = words(raw.payload, raw.pointer)?;
    let after = 2 * raw.pointer.bytes();
    let (owner, flags) = (Pid(u32_at(raw.payload, after)?), u32_at(raw.payload, after + 4)?);
    let range = PageRange { base, size, owner, flags };
    Some(match hook {
        hook::VIRTUAL_ALLOC => Event::VirtualAlloc(range),
        hook::VIRTUAL_FREE => Event::VirtualFree(range),
        _ => {
            let committed = address_at(raw.payload, after + 8, raw.pointer)?;
            Event::CommitRundown(CommittedRegion { base, size, committed: committed.min(size), owner })
        }
    })
}

/// Events of Visual Studio's provider for custom heaps; `id` is known to be one of its ids.
pub(super) fn tracker_event(id: u16, &RawEvent { payload, .. }: &RawEvent<'_>) -> Option<Event> {
    let (layer, pointer) = (Layer::Tracker, PointerSize::Eight);
    Some(match id {
        tracker::ALLOC => {
            let [address, size, heap] = words(payload, pointer)?;
            Event::Alloc { layer, heap, address, size }
        }
        tracker::FREE => {
            let [address, heap] = words(payload, pointer)?;
            Event::Free { layer, heap, address }
        }
        tracker::REALLOC => {
            let [new, size, old, heap] = words(payload, pointer)?;
            Event::Realloc { layer, heap, old, new, size }
        }
        tracker::OPEN => {
            let [heap] = words(payload, pointer)?;
            Event::HeapOpen { layer, heap, name: tracker_name(payload)? }
        }
        _ => {
            let [heap] = words(payload, pointer)?;
            Event::HeapClose { layer, heap, name: tracker_name(payload)? }
        }
    })
}

/// The name, from a field of fixed length, cut at its first NUL; an empty name is none.
fn tracker_name(payload: &[u8]) -> Option<Option<Box<str>>> {
    u64_at(payload, 0)?;
    let units = u32_at(payload, 8)? as usize;
    let field = payload.get(12..)?;
    let field = &field[..field.len().min(units.saturating_mul(2))];
    let name = names::name(utf16_field(field));
    Some((!name.is_empty()).then(|| name.into()))
}
