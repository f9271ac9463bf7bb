//! Copying and finding matches, for all three LZ77 formats.

use super::Error;
use crate::{u32_at, u64_at};

/// Writes the part of a match length for which its code has no room: `rest` in a byte; else 255, then
/// `length` in 16 bits, or a zero word and `length` in 32 bits.
pub(super) fn put_long_length(out: &mut Vec<u8>, rest: usize, length: u32) {
    out.push(rest.min(255) as u8);
    if rest < 255 {
        return;
    }
    match u16::try_from(length) {
        Ok(short) => out.extend(short.to_le_bytes()),
        Err(_) => {
            out.extend([0; 2]);
            out.extend(length.to_le_bytes());
        }
    }
}

/// Matches up to this length are copied byte by byte where they overlap themselves.
const SHORT: usize = 32;

/// Appends `length` bytes from `distance` back. Nothing before `base` is read and
/// nothing behind `end` written; `start` is where this stream's output begins.
pub(super) fn copy_match(out: &mut Vec<u8>, [start, base, end]: [usize; 3], distance: usize, length: usize) -> Result<(), Error> {
    let good = out.len() - start;
    if distance > out.len() - base {
        return Err(Error::BadDistance(good));
    }
    if length > end.saturating_sub(out.len()) {
        return Err(Error::BadLength(good));
    }
    let from = out.len() - distance;
    if distance >= length {
        out.extend_from_within(from..from + length);
    } else if length <= SHORT {
        for i in 0..length {
            out.push(out[from + i]);
        }
    } else {
        // The match overlaps its own output: copy all of it that exists; each copy doubles that.
        let mut left = length;
        while left > 0 {
            let n = left.min(out.len() - from);
            out.extend_from_within(from..from + n);
            left -= n;
        }
    }
    Ok(())
}

const HASH_BITS: u32 = 13;

/// An empty slot. Positions are 32 bits wide so that all slots fit into the first cache.
const NOWHERE: u32 = u32::MAX;

/// Finds earlier occurrences, favouring speed: one hash probe a position.
pub(super) struct Finder {
    heads: Vec<u32>,
}

impl Default for Finder {
    fn default() -> Self {
        Self { heads: vec![NOWHERE; 1 << HASH_BITS] }
    }
}

impl Finder {
    /// Distance and length of a match of at least four bytes at `at`, at most
    /// `window` back. It ends at the end of `input` at the latest.
    pub(super) fn find(&mut self, input: &[u8], at: usize, window: usize) -> Option<(usize, usize)> {
        let word = u32_at(input, at)?;
        let slot = (word.wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)) as usize;
        let candidate = std::mem::replace(&mut self.heads[slot], at as u32) as usize;
        let distance = at.checked_sub(candidate).filter(|&d| d > 0 && d <= window)?;
        // Most candidates only share a slot.
        if u32_at(input, candidate) != Some(word) {
            return None;
        }
        Some((distance, 4 + common_prefix(&input[at + 4..], &input[candidate + 4..])))
    }
}

/// Equal bytes at the start of both, compared by eight.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut at = 0;
    while let (Some(x), Some(y)) = (u64_at(a, at), u64_at(b, at)) {
        if x != y {
            return at + ((x ^ y).trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(x, y)| x == y).count()
}
