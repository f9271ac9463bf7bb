//! Damage to a file: buffer headers, the session's description, compressed streams,
//! the order of buffers, and bytes anywhere.

use highwater::etl::BUFFER_HEADER;
use highwater::random::Random;

use super::base::{Base, Piece};
use super::record::{self, field, number};

/// Fields of a buffer header: place and width.
const HEADER: [(usize, usize); 15] = [
    (0x00, 4), // size
    (0x04, 4), // end of data, saved
    (0x08, 4), // end of data, current
    (0x0C, 4),
    (0x10, 8), // time
    (0x18, 8), // sequence
    (0x20, 8),
    (0x28, 1), // processor
    (0x28, 2), // processor, wide
    (0x2A, 2),
    (0x2C, 4), // state
    (0x30, 4), // end of data
    (0x34, 2), // flags
    (0x36, 2), // type
    (0x18, 2), // sequence, low half
];

/// Fields of the session's description with 8-byte pointers, counted from the
/// event's payload: place and width.
const SESSION: [(usize, usize); 12] = [
    (0x00, 4),  // size of buffers
    (0x0C, 4),  // processors
    (0x20, 4),  // mode
    (0x2C, 4),  // pointer size
    (0x30, 4),  // events lost
    (0x34, 4),  // MHz
    (0xF8, 8),  // start of the machine
    (0x100, 8), // frequency
    (0x108, 8), // start of the session
    (0x110, 4), // clock
    (0x114, 4), // buffers lost
    (0x118, 8), // name
];

/// The damaged file of one case: which base, and what was done, follow from `random`.
pub fn damaged(bases: &[Base], random: &mut Random) -> Vec<u8> {
    let base = &bases[random.index(bases.len())];
    let mut pieces = base.pieces.clone();
    let hits = 1 + random.skewed(8);
    let mut coarse = 0;
    for _ in 0..hits {
        let index = random.index(pieces.len());
        match random.below(20) {
            0..=11 => record::damage(&mut pieces[index], random),
            12 | 13 => header(&mut pieces, index, random),
            14 => session(&mut pieces[0], random),
            15 => stream(&mut pieces[index], random),
            16 | 17 => order(&mut pieces, bases, random),
            _ => coarse += 1,
        }
        if pieces.is_empty() {
            break;
        }
    }
    let mut bytes: Vec<u8> = pieces.into_iter().flat_map(|piece| piece.raw).collect();
    (0..coarse).for_each(|_| anywhere(&mut bytes, random));
    bytes.truncate(1 << 20);
    bytes
}

/// One field of a buffer's header.
fn header(pieces: &mut [Piece], index: usize, random: &mut Random) {
    let (at, width) = HEADER[random.index(HEADER.len())];
    let other = random.index(pieces.len());
    let theirs = pieces[other].raw.get(at..at + width).map(<[u8]>::to_vec);
    let raw = &mut pieces[index].raw;
    match (at, random.below(4)) {
        (0x34, 0..=2) => field(raw, at, 2, |old| old ^ 1 << random.below(8)),
        (0x36, 0..=2) => field(raw, at, 2, |_| random.below(8)),
        // The same as another buffer's.
        (_, 0) => {
            if let Some(theirs) = theirs {
                raw[at..at + width].copy_from_slice(&theirs);
            }
        }
        (0x00 | 0x04 | 0x30, 1 | 2) => field(raw, at, 4, |old| old.wrapping_add(random.below(129)).wrapping_sub(64)),
        _ => field(raw, at, width, |old| number(old, random)),
    }
}

/// One field of the session's description.
fn session(piece: &mut Piece, random: &mut Random) {
    let (at, width) = SESSION[random.index(SESSION.len())];
    let at = BUFFER_HEADER + 0x20 + at;
    if at == BUFFER_HEADER + 0x40 && random.one_in(2) {
        field(&mut piece.raw, at, 4, |old| old ^ 0x0400_0000); // compressed or not
        return;
    }
    field(&mut piece.raw, at, width, |old| number(old, random));
}

/// What stands behind a buffer's header, compressed or not.
fn stream(piece: &mut Piece, random: &mut Random) {
    let raw = &mut piece.raw;
    if raw.len() <= BUFFER_HEADER + 8 {
        return;
    }
    let at = BUFFER_HEADER + random.index(raw.len() - BUFFER_HEADER);
    match random.below(5) {
        0 => raw[at] = random.bits() as u8,
        1 => field(raw, at, 4, |_| [0, 0xFFFF_FFFF, 0x8000_0000, 0xFFFF][random.index(4)]),
        2 => raw.truncate(at),
        3 => {
            let len = random.index(40);
            let noise: Vec<u8> = (0..len).map(|_| random.bits() as u8).collect();
            raw.splice(at..at, noise);
        }
        _ => {
            let len = random.index(40).min(raw.len() - at);
            raw.drain(at..at + len);
        }
    }
    // As often as not the header knows of the new size.
    if random.one_in(2) {
        let size = (raw.len() as u32).to_le_bytes();
        raw[..4].copy_from_slice(&size);
    }
}

/// Buffers in another order, twice, gone, or from another trace.
fn order(pieces: &mut Vec<Piece>, bases: &[Base], random: &mut Random) {
    let (a, b) = (random.index(pieces.len()), random.index(pieces.len()));
    match random.below(4) {
        0 => pieces.swap(a, b),
        1 => {
            let copy = pieces[a].clone();
            pieces.insert(b, copy);
        }
        2 => drop(pieces.remove(a)),
        _ => {
            let other = &bases[random.index(bases.len())].pieces;
            let stranger = other[random.index(other.len())].clone();
            pieces.insert(b, stranger);
        }
    }
}

/// Flips, cuts, repetitions, noise and zeros, wherever they fall.
fn anywhere(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.index(bytes.len());
    let len = (1 + random.skewed(600) as usize).min(bytes.len() - at);
    match random.below(7) {
        0 | 1 => bytes[at] ^= 1 << random.below(8),
        2 => bytes[at..at + len].iter_mut().for_each(|byte| *byte = random.bits() as u8),
        3 => bytes[at..at + len].fill(0),
        4 => bytes.truncate(at),
        5 => {
            let copy = bytes[at..at + len].to_vec();
            let to = random.index(bytes.len());
            bytes.splice(to..to, copy);
        }
        _ => drop(bytes.drain(at..at + len)),
    }
}
