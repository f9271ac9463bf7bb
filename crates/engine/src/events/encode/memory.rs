//! Heap, VirtualAlloc and tracker payloads; layouts as in the reader's `memory`.

use super::Payload;
use crate::events::{CommittedRegion, PageRange, mem};

/// Which part of ntdll served a heap request: the main path.
const SOURCE_MAIN_PATH: u32 = 3;
/// A heap that grows.
const HEAP_GROWABLE: u32 = 2;

/// Create; version 3 adds three sizes.
pub fn heap_create(out: &mut Payload, version: u16, heap: u64) {
    out.word(heap).u32(HEAP_GROWABLE);
    if version >= 3 {
        const RESERVE: u64 = 1 << 20;
        const COMMIT: u64 = 0x2000;
        out.word(RESERVE).word(COMMIT).word(0);
    }
}

/// Destroy.
pub fn heap_destroy(out: &mut Payload, heap: u64) {
    out.word(heap);
}

/// Alloc.
pub fn heap_alloc(out: &mut Payload, heap: u64, address: u64, size: u64) {
    out.word(heap).word(size).word(address).u32(SOURCE_MAIN_PATH);
}

/// Free.
pub fn heap_free(out: &mut Payload, heap: u64, address: u64) {
    out.word(heap).word(address).u32(SOURCE_MAIN_PATH);
}

/// ReAlloc.
pub fn heap_realloc(out: &mut Payload, heap: u64, new: u64, old: u64, size: u64, old_size: u64) {
    out.word(heap).word(new).word(old).word(size).word(old_size).u32(SOURCE_MAIN_PATH);
}

/// VirtualAlloc and VirtualFree.
pub fn pages(out: &mut Payload, range: &PageRange) {
    out.word(range.base).word(range.size).u32(range.owner.0).u32(range.flags);
}

/// The start rundown of a region with committed pages.
pub fn pages_rundown(out: &mut Payload, region: &CommittedRegion) {
    let CommittedRegion { base, size, committed, owner } = *region;
    pages(out, &PageRange { base, size, owner, flags: mem::COMMIT | mem::RESERVE });
    out.word(committed);
}

/// UTF-16 units in a tracker's name field.
const NAME_UNITS: usize = 260;

/// Open and close of a tracker.
pub(crate) fn tracker_name(out: &mut Payload, heap: u64, name: &str) {
    out.u64(heap).u32(NAME_UNITS as u32).utf16_field(name, NAME_UNITS);
}

/// Tracker alloc.
pub fn tracker_alloc(out: &mut Payload, heap: u64, address: u64, size: u64) {
    out.u64(address).u64(size).u64(heap);
}

/// Tracker free.
pub fn tracker_free(out: &mut Payload, heap: u64, address: u64) {
    out.u64(address).u64(heap);
}

/// Tracker realloc.
pub fn tracker_realloc(out: &mut Payload, heap: u64, new: u64, old: u64, size: u64) {
    out.u64(new).u64(size).u64(old).u64(heap);
}
