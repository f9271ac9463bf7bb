//! Damage to what stands inside a buffer: event headers, times and payloads. The
//! buffer is written anew afterwards, so that its own header is right.

use highwater::etl::BUFFER_HEADER;
use highwater::events::{hook, tracker};
use highwater::random::Random;

use super::base::{Piece, Place};

/// Numbers at which arithmetic breaks.
pub const EDGES: [u64; 22] = [
    0,
    1,
    7,
    8,
    0xFF,
    0xFFF,
    0x1000,
    0x7FFF,
    0xFFFF,
    0x1_0000,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    0x1_0000_0000,
    0x7FFF_FFFF_F000,
    0x7FFF_FFFF_FFFF_FFFE,
    0x7FFF_FFFF_FFFF_FFFF,
    0x8000_0000_0000_0000,
    0x8000_0000_0000_0001,
    0xFFFF_FFFF_FFFF_F000,
    0xFFFF_FFFF_FFFF_FFFE,
    u64::MAX,
];

/// A number in place of `old`: an edge, a near one, one bit off, or any.
pub fn number(old: u64, random: &mut Random) -> u64 {
    match random.below(6) {
        0..=2 => EDGES[random.index(EDGES.len())],
        3 => old.wrapping_add(random.below(17)).wrapping_sub(8),
        4 => old ^ 1 << random.below(64),
        _ => random.bits(),
    }
}

/// Changes a little-endian field of `width` bytes, if it is there.
pub fn field(bytes: &mut [u8], at: usize, width: usize, change: impl FnOnce(u64) -> u64) {
    let Some(slot) = bytes.get_mut(at..at + width) else { return };
    let mut word = [0; 8];
    word[..width].copy_from_slice(slot);
    slot.copy_from_slice(&change(u64::from_le_bytes(word)).to_le_bytes()[..width]);
}

/// Types of event headers that readers know.
const TYPES: [u8; 13] = [0x01, 0x02, 0x03, 0x04, 0x0A, 0x14, 0x0B, 0x15, 0x0D, 0x10, 0x11, 0x12, 0x13];

/// Hooks of events that change what is alive, or who did it.
const HOOKS: [u16; 20] = [
    hook::HEAP_RANGE_CREATE,
    hook::HEAP_SNAPSHOT,
    hook::MEM_INFO,
    hook::MEM_INFO_WS,
    hook::HEAP_CREATE,
    hook::HEAP_ALLOC,
    hook::HEAP_REALLOC,
    hook::HEAP_DESTROY,
    hook::HEAP_FREE,
    hook::VIRTUAL_ALLOC,
    hook::VIRTUAL_FREE,
    hook::VIRTUAL_RUNDOWN_START,
    hook::PROCESS_START,
    hook::PROCESS_END,
    hook::IMAGE_LOAD,
    hook::IMAGE_UNLOAD,
    hook::STACK,
    hook::STACK_KEY_RUNDOWN,
    hook::STACK_KEY_REF_USER,
    hook::STACK_KEY_REF_KERNEL,
];

/// Does one thing to the events of a buffer.
pub fn damage(piece: &mut Piece, random: &mut Random) {
    let places = piece.events();
    let Some(&place) = places.get(random.index(places.len())) else { return };
    let plain = &mut piece.plain;
    match random.below(20) {
        0 => {
            let at = place.at + size_at(plain, place);
            field(plain, at, 2, |old| size(old, random));
        }
        1 => plain[place.at + 2] = if random.one_in(4) { random.bits() as u8 } else { TYPES[random.index(TYPES.len())] },
        2 => plain[place.at + 3] = [0x90, 0xC0, 0xFF, 0x00, 0x80][random.index(5)],
        3 => version(plain, place, random),
        4 | 5 => identity(plain, place, random),
        6 | 7 => time(plain, place, &places, random),
        8 => field(plain, place.at + [8, 12][random.index(2)], 4, |old| number(old, random)),
        9..=11 => word(plain, place, random),
        12 | 13 => borrow(plain, place, &places, random),
        14 => text(plain, place, random),
        15 => item(plain, place, random),
        16 => resize(plain, place, random),
        _ => rearrange(plain, &places, random),
    }
    piece.rebuild();
}

fn is_kernel(plain: &[u8], place: Place) -> bool {
    matches!(plain[place.at + 2], 0x01..=0x04 | 0x10 | 0x11)
}

/// Where the size stands in the header.
fn size_at(plain: &[u8], place: Place) -> usize {
    if is_kernel(plain, place) { 4 } else { 0 }
}

/// Where the time stands.
fn time_at(plain: &[u8], place: Place) -> usize {
    place.at + if matches!(plain[place.at + 2], 0x10 | 0x11) { 8 } else { 0x10 }
}

fn size(old: u64, random: &mut Random) -> u64 {
    match random.below(4) {
        0 => old.wrapping_add(random.below(33)).wrapping_sub(16),
        1 => random.below(0x60),
        _ => number(old, random),
    }
}

fn version(plain: &mut [u8], place: Place, random: &mut Random) {
    match plain[place.at + 2] {
        0x12 | 0x13 => plain[(place.at + 0x2A).min(place.at + place.len - 1)] = random.below(8) as u8,
        _ => {
            let at = place.at + if is_kernel(plain, place) { 0 } else { 6 };
            field(plain, at, 2, |old| if random.one_in(2) { random.below(8) } else { number(old, random) });
        }
    }
}

/// Makes it another event.
fn identity(plain: &mut [u8], place: Place, random: &mut Random) {
    match plain[place.at + 2] {
        0x12 | 0x13 => {
            let id = u64::from(tracker::ALLOC) + random.below(6);
            field(plain, place.at + 0x28, 2, |_| id);
            field(plain, place.at + 4, 2, |old| if random.one_in(3) { old ^ [1, 0x100][random.index(2)] } else { old });
        }
        0x0A | 0x14 | 0x0B | 0x15 => plain[place.at + 4] = HOOKS[random.index(HOOKS.len())] as u8,
        _ => {
            let hook = if random.one_in(8) { random.bits() as u16 } else { HOOKS[random.index(HOOKS.len())] };
            field(plain, place.at + 6, 2, |_| hook.into());
        }
    }
}

/// Far away, just beside, or the same as another event's.
fn time(plain: &mut [u8], place: Place, places: &[Place], random: &mut Random) {
    let other = places[random.index(places.len())];
    let (at, from) = (time_at(plain, place), time_at(plain, other));
    match random.below(3) {
        0 => field(plain, at, 8, |old| number(old, random)),
        1 => field(plain, at, 8, |old| old.wrapping_add(random.below(1 << 24)).wrapping_sub(1 << 23)),
        _ => {
            let Some(bytes) = plain.get(from..from + 8).map(<[u8]>::to_vec) else { return };
            field(plain, at, 8, |_| u64::from_le_bytes(bytes.try_into().unwrap()));
        }
    }
}

/// A word or double word of the payload.
fn word(plain: &mut [u8], place: Place, random: &mut Random) {
    let words = (place.len - place.header) / 4;
    if words == 0 {
        return;
    }
    let width = if random.one_in(2) { 4 } else { 8 };
    let at = place.at + place.header + 4 * random.index(words);
    field(plain, at, width, |old| number(old, random));
}

/// A part of another event's payload: its address, its heap, its process.
fn borrow(plain: &mut [u8], place: Place, places: &[Place], random: &mut Random) {
    let other = places[random.index(places.len())];
    let room = (place.len - place.header).min(other.len - other.header);
    if room < 8 {
        return;
    }
    let (from, len) = match random.below(3) {
        0 => (0, room),
        _ => (4 * random.index(room / 4 - 1), 8),
    };
    let (from_at, to_at) = (other.at + other.header + from, place.at + place.header + from);
    plain.copy_within(from_at..from_at + len, to_at);
}

/// The ends of strings: gone, early, or in the middle of a character.
fn text(plain: &mut [u8], place: Place, random: &mut Random) {
    let payload = &mut plain[place.at + place.header..place.at + place.len];
    let tail = payload.len().min(random.index(64));
    let from = payload.len() - tail;
    let fills: [&[u8]; 8] = [
        &[0x41, 0],
        &[0, 0],
        &[0xFF, 0xFF],
        &[0x00, 0xD8],
        &[0x80, 0xC3],
        // What a terminal obeys, what turns the direction of writing, what a spreadsheet computes.
        &[0x1B, 0, b'[', 0, b'2', 0, b'J', 0, 0x9B, 0],
        &[0x2E, 0x20, 0x66, 0x20, b'\n', 0],
        b"=+-@\t\r\n",
    ];
    let fill = fills[random.index(fills.len())];
    for (byte, with) in payload[from..].iter_mut().zip(fill.iter().cycle()) {
        *byte = *with;
    }
}

/// The header of the first extended item, or where one would stand.
fn item(plain: &mut [u8], place: Place, random: &mut Random) {
    let at = place.at + 0x50;
    match random.below(4) {
        0 => field(plain, at + 2, 2, |_| [5, 6, 17, 18, 11][random.index(5)]),
        1 => field(plain, at + 4, 2, |old| old ^ 1),
        2 => field(plain, at + 6, 2, |old| size(old, random)),
        _ => field(plain, place.at + 4, 2, |old| old ^ 1),
    }
}

/// A longer or shorter payload with the size that fits.
fn resize(plain: &mut Vec<u8>, place: Place, random: &mut Random) {
    let payload = place.len - place.header;
    let wanted = match random.below(3) {
        0 => random.index(payload + 1),
        1 => payload + random.index(64),
        _ => payload + random.index(6000),
    };
    let size_at = place.at + size_at(plain, place);
    let filled: Vec<u8> = (0..wanted.next_multiple_of(8)).map(|_| random.bits() as u8).collect();
    let keep = payload.min(wanted);
    let mut new = plain[place.at + place.header..][..keep].to_vec();
    new.extend_from_slice(&filled[keep..]);
    new.truncate((place.header + wanted).next_multiple_of(8) - place.header);
    plain.splice(place.at + place.header..place.at + place.len, new);
    field(plain, size_at, 2, |_| (place.header + wanted) as u64);
}

/// Events twice, gone, in another order, or overwritten.
fn rearrange(plain: &mut Vec<u8>, places: &[Place], random: &mut Random) {
    let (a, b) = (places[random.index(places.len())], places[random.index(places.len())]);
    let bytes = |plain: &[u8], place: Place| plain[place.at..place.at + place.len].to_vec();
    match random.below(5) {
        0 => {
            let copy = bytes(plain, a);
            let times = 1 + random.index(3);
            for _ in 0..times {
                plain.splice(b.at..b.at, copy.iter().copied());
            }
        }
        1 => drop(plain.splice(a.at..a.at + a.len, [])),
        2 => {
            let (first, second) = if a.at <= b.at { (a, b) } else { (b, a) };
            if first.at < second.at {
                let (one, two) = (bytes(plain, first), bytes(plain, second));
                plain.splice(second.at..second.at + second.len, one);
                plain.splice(first.at..first.at + first.len, two);
            }
        }
        3 => {
            let fill = [0, 0xFF, 0xC0][random.index(3)];
            plain[a.at..a.at + a.len].fill(fill);
        }
        _ => {
            let end = a.at.max(BUFFER_HEADER);
            plain.truncate(end + random.index(a.len));
        }
    }
}
