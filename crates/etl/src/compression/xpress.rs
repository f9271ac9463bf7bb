//! XPRESS in its plain form (LZ77 without Huffman codes), as buffers of compressed
//! traces use it: Microsoft's open specification MS-XCA, section 2.4; proven on
//! all compressed buffers of public traces and on the vectors of section 3.
//!
//! The stream has no length of its own, so the exact output size is part of the
//! contract. Hostile input ends in an error and never writes past that size.

use super::Error;
use super::matches::{Finder, copy_match, put_long_length};
use crate::{u16_at, u32_at};

/// Appends exactly `size` bytes to `out` and returns how many bytes of `input`
/// were used. On an error the good part stays in `out`. Time is linear in `size`.
pub fn decompress(input: &[u8], out: &mut Vec<u8>, size: usize) -> Result<usize, Error> {
    let base = out.len();
    let end = base + size;
    // The size is a claim: memory beyond the usual is taken when there is something to put into it.
    out.reserve(size.min(input.len().saturating_mul(16)));
    let mut at = 0;
    let mut half_byte = None; // the byte whose high nibble the next long match takes
    let (mut flags, mut flags_left) = (0u32, 0);
    while out.len() < end {
        let good = out.len() - base;
        if flags_left == 0 {
            flags = u32_at(input, at).ok_or(Error::InputEnds(good))?;
            at += 4;
            flags_left = 32;
        }
        flags_left -= 1;
        if flags >> flags_left & 1 == 0 {
            out.push(*input.get(at).ok_or(Error::InputEnds(good))?);
            at += 1;
            continue;
        }
        let token = u16_at(input, at).ok_or(Error::InputEnds(good))?;
        at += 2;
        let length = match_length(input, &mut at, &mut half_byte, token, good)?;
        copy_match(out, [base, base, end], (token >> 3) as usize + 1, length)?;
    }
    // Encoders open the next word of flags as soon as one is full: a stream that ends right there has
    // an unused one (1 in 32 buffers of real traces).
    if flags_left == 0 && input.get(at..at + 4) == Some(&[0xFF; 4]) {
        at += 4;
    }
    Ok(at)
}

/// The length of a match: three bits in the token, then a nibble, a byte, a word
/// or a double word, each step only if the one before is full.
fn match_length(input: &[u8], at: &mut usize, half_byte: &mut Option<usize>, token: u16, good: usize) -> Result<usize, Error> {
    let ends = Error::InputEnds(good);
    let mut length = (token & 7) as usize;
    if length == 7 {
        let nibble = match half_byte.take() {
            Some(shared) => input[shared] >> 4,
            None => {
                let byte = *input.get(*at).ok_or(ends)?;
                *half_byte = Some(*at);
                *at += 1;
                byte & 15
            }
        };
        length = nibble as usize;
        if length == 15 {
            length = *input.get(*at).ok_or(ends)? as usize;
            *at += 1;
            if length == 255 {
                length = u16_at(input, *at).ok_or(ends)? as usize;
                *at += 2;
                if length == 0 {
                    length = u32_at(input, *at).ok_or(ends)? as usize;
                    *at += 4;
                }
                length = length.checked_sub(15 + 7).ok_or(Error::BadLength(good))?;
            }
            length += 15;
        }
        length += 7;
    }
    Ok(length + 3)
}

/// Compresses `input`, favouring speed: one hash probe a position.
pub fn compress(input: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::default();
    let mut finder = Finder::default();
    let mut at = 0;
    while at < input.len() {
        match finder.find(input, at, WINDOW) {
            Some((distance, length)) => {
                encoder.put_match(distance, length);
                at += length;
            }
            None => {
                encoder.put_literal(input[at]);
                at += 1;
            }
        }
    }
    encoder.finish()
}

/// A token has 13 bits for the distance.
const WINDOW: usize = 1 << 13;

#[derive(Default)]
struct Encoder {
    out: Vec<u8>,
    flags_at: usize,
    flags: u32,
    flag_count: u32,
    half_byte: Option<usize>,
}

impl Encoder {
    fn flag(&mut self, bit: u32) {
        if self.flag_count.is_multiple_of(32) {
            self.store_flags();
            self.flags_at = self.out.len();
            self.out.extend([0; 4]);
            self.flags = 0;
        }
        self.flags |= bit << (31 - self.flag_count % 32);
        self.flag_count += 1;
    }

    fn store_flags(&mut self) {
        if let Some(slot) = self.out.get_mut(self.flags_at..self.flags_at + 4) {
            slot.copy_from_slice(&self.flags.to_le_bytes());
        }
    }

    fn put_literal(&mut self, byte: u8) {
        self.flag(0);
        self.out.push(byte);
    }

    fn put_match(&mut self, distance: usize, length: usize) {
        self.flag(1);
        let length = length - 3;
        let token = ((distance - 1) << 3) | length.min(7);
        self.out.extend((token as u16).to_le_bytes());
        let Some(rest) = length.checked_sub(7) else { return };
        let nibble = rest.min(15) as u8;
        match self.half_byte.take() {
            Some(shared) => self.out[shared] |= nibble << 4,
            None => {
                self.half_byte = Some(self.out.len());
                self.out.push(nibble);
            }
        }
        let Some(rest) = rest.checked_sub(15) else { return };
        put_long_length(&mut self.out, rest, length as u32);
    }

    /// Unused flag bits are set, as in the specification's examples.
    fn finish(mut self) -> Vec<u8> {
        match self.flag_count % 32 {
            0 => {
                self.store_flags();
                self.out.extend(u32::MAX.to_le_bytes());
            }
            used => {
                self.flags |= u32::MAX >> used;
                self.store_flags();
            }
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(input: &[u8], size: usize) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        decompress(input, &mut out, size).map(|_| out)
    }

    #[test]
    fn vectors_of_the_specification() {
        let mut letters = vec![0x3f, 0, 0, 0];
        letters.extend(b'a'..=b'z');
        assert_eq!(expand(&letters, 26).unwrap(), (b'a'..=b'z').collect::<Vec<_>>());
        assert_eq!(compress(&(b'a'..=b'z').collect::<Vec<_>>()), letters);

        let repeated = [0xff, 0xff, 0xff, 0x1f, 0x61, 0x62, 0x63, 0x17, 0, 0x0f, 0xff, 0x26, 1];
        assert_eq!(expand(&repeated, 300).unwrap(), b"abc".repeat(100));
        let ours = compress(&b"abc".repeat(100));
        assert_eq!(ours, repeated);
    }

    #[test]
    fn a_last_word_of_flags_that_nobody_uses_belongs_to_the_stream() {
        let data: Vec<u8> = (0..32).collect(); // 32 literals fill the flags
        let packed = compress(&data);
        assert_eq!(packed.len(), 4 + 32 + 4);
        let mut out = Vec::new();
        assert_eq!(decompress(&packed, &mut out, 32), Ok(packed.len()));
        assert_eq!(out, data);
    }

    #[test]
    fn faults_end_in_errors_with_the_good_length() {
        assert_eq!(expand(&[], 1), Err(Error::InputEnds(0)));
        // A match before anything was written.
        assert_eq!(expand(&[0, 0, 0, 0x80, 0, 0], 3), Err(Error::BadDistance(0)));
        // A word length below 22.
        assert_eq!(expand(&[0, 0, 0, 0x40, b'a', 7, 0, 15, 255, 21, 0], 99), Err(Error::BadLength(1)));
        // A match that is longer than what is left.
        assert_eq!(expand(&[0, 0, 0, 0x40, b'a', 6, 0], 5), Err(Error::BadLength(1)));
    }

    #[test]
    fn very_long_matches_survive() {
        for n in [9, 10, 24, 25, 279, 280, 281, 65_000, 65_537, 65_538, 65_539, 200_000] {
            let data = vec![7; n];
            assert_eq!(expand(&compress(&data), n).unwrap(), data, "{n}");
        }
    }
}
