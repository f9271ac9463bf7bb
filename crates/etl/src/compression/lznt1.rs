//! LZNT1: chunks of 4096 bytes, each compressed on its own. How a token's bits are split into distance
//! and length changes as the chunk fills (Microsoft's open specification MS-XCA, section 2.5). No
//! public trace uses it; tested on the specification's example, by round trips and against an unrelated
//! decoder (`scripts/check-writer.sh`).
//!
//! The output size is part of the contract; see [`super`].

use super::Error;
use super::matches::{Finder, copy_match};
use crate::u16_at;

/// Output bytes of a chunk.
const CHUNK: usize = 4096;
const COMPRESSED: u16 = 0x8000;
/// Bits 12 to 14 of every chunk header.
const SIGNATURE: u16 = 0x3000;
const SIGNATURE_MASK: u16 = 0x7000;

/// Appends exactly `size` bytes to `out` and returns how many bytes of `input`
/// were used. On an error the good part stays in `out`. Time is linear in `size`.
pub fn decompress(input: &[u8], out: &mut Vec<u8>, size: usize) -> Result<usize, Error> {
    let start = out.len();
    let end = start + size;
    // The size is only a claim: reserve what is usual, and more only as output is written.
    out.reserve(size.min(input.len().saturating_mul(16)));
    let mut at = 0;
    while out.len() < end {
        let good = out.len() - start;
        let header = u16_at(input, at).ok_or(Error::InputEnds(good))?;
        if header == 0 {
            return Err(Error::InputEnds(good)); // the end mark
        }
        if header & SIGNATURE_MASK != SIGNATURE {
            return Err(Error::BadCode(good));
        }
        at += 2;
        let data_end = at + usize::from(header & 0x0FFF) + 1;
        let data = &input[at..data_end.min(input.len())];
        let chunk_end = end.min(out.len() + CHUNK);
        if header & COMPRESSED != 0 {
            chunk(data, out, [start, out.len(), chunk_end])?;
        } else {
            let room = chunk_end - out.len();
            out.extend_from_slice(&data[..data.len().min(room)]);
            if data.len() > room {
                return Err(Error::BadLength(out.len() - start));
            }
        }
        if data_end > input.len() {
            return Err(Error::InputEnds(out.len() - start));
        }
        at = data_end;
    }
    // The end mark is optional.
    if u16_at(input, at) == Some(0) {
        at += 2;
    }
    Ok(at)
}

/// Expands one compressed chunk: a byte of flags, lowest bit first, before every eight items.
fn chunk(data: &[u8], out: &mut Vec<u8>, bounds: [usize; 3]) -> Result<(), Error> {
    let [start, base, end] = bounds;
    let mut at = 0;
    while at < data.len() {
        let flags = data[at];
        at += 1;
        for item in 0..8 {
            if at == data.len() {
                return Ok(());
            }
            let good = out.len() - start;
            if flags >> item & 1 == 0 {
                if out.len() == end {
                    return Err(Error::BadLength(good));
                }
                out.push(data[at]);
                at += 1;
                continue;
            }
            let token = u16_at(data, at).ok_or(Error::InputEnds(good))?;
            at += 2;
            let length_bits = 16 - distance_bits(out.len() - base);
            let distance = usize::from(token >> length_bits) + 1;
            let length = usize::from(token & ((1 << length_bits) - 1)) + 3;
            copy_match(out, bounds, distance, length)?;
        }
    }
    Ok(())
}

/// How many bits of a token hold the distance, with `n` bytes of the chunk written.
fn distance_bits(n: usize) -> u32 {
    n.next_power_of_two().trailing_zeros().clamp(4, 12)
}

/// Compresses `input`, favouring speed.
pub fn compress(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(input.len() / 2);
    let mut finder = Finder::default();
    for base in (0..input.len()).step_by(CHUNK) {
        let end = input.len().min(base + CHUNK);
        let header_at = out.len();
        out.extend([0; 2]);
        compress_chunk(&input[..end], base, &mut finder, &mut out);
        let mut header = SIGNATURE | COMPRESSED;
        if out.len() - header_at - 2 >= end - base {
            out.truncate(header_at + 2);
            out.extend_from_slice(&input[base..end]);
            header = SIGNATURE;
        }
        header |= (out.len() - header_at - 3) as u16;
        out[header_at..header_at + 2].copy_from_slice(&header.to_le_bytes());
    }
    out
}

fn compress_chunk(input: &[u8], base: usize, finder: &mut Finder, out: &mut Vec<u8>) {
    let (mut at, mut item, mut flags_at) = (base, 8, 0);
    while at < input.len() {
        if item == 8 {
            (item, flags_at) = (0, out.len());
            out.push(0);
        }
        match finder.find(input, at, at - base) {
            Some((distance, length)) => {
                let length_bits = 16 - distance_bits(at - base);
                let length = length.min((1 << length_bits) + 2);
                let token = (distance - 1) << length_bits | (length - 3);
                out.extend((token as u16).to_le_bytes());
                out[flags_at] |= 1 << item;
                at += length;
            }
            None => {
                out.push(input[at]);
                at += 1;
            }
        }
        item += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(input: &[u8], size: usize) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        decompress(input, &mut out, size).map(|_| out)
    }

    /// The example of MS-XCA, section 3.3: a tune in letters.
    #[test]
    fn the_example_of_the_specification() {
        let packed = [
            0x38, 0xb0, 0x88, 0x46, 0x23, 0x20, 0x00, 0x20, 0x47, 0x20, 0x41, 0x00, 0x10, 0xa2, 0x47, 0x01, 0xa0, 0x45, 0x20,
            0x44, 0x00, 0x08, 0x45, 0x01, 0x50, 0x79, 0x00, 0xc0, 0x45, 0x20, 0x05, 0x24, 0x13, 0x88, 0x05, 0xb4, 0x02, 0x4a,
            0x44, 0xef, 0x03, 0x58, 0x02, 0x8c, 0x09, 0x16, 0x01, 0x48, 0x45, 0x00, 0xbe, 0x00, 0x9e, 0x00, 0x04, 0x01, 0x18,
            0x90, 0x00,
        ];
        let tune = "F# F# G A A G F# E D D E F# F# E E F# F# G A A G F# E D D E F# E D D E E F# D E F# G F# D E F# G F# \
                    E D E A F# F# G A A G F# E D D E F# E D D\0";
        let mut out = Vec::new();
        assert_eq!(decompress(&packed, &mut out, tune.len()), Ok(packed.len()));
        assert_eq!(String::from_utf8(out).unwrap(), tune);
    }

    #[test]
    fn the_split_of_a_token_moves_with_the_bytes_written() {
        let bits: Vec<u32> = [1, 16, 17, 32, 33, 64, 65, 2048, 2049, 4095].map(distance_bits).to_vec();
        assert_eq!(bits, [4, 4, 5, 5, 6, 6, 7, 11, 12, 12]);
    }

    #[test]
    fn the_mark_of_the_end_is_part_of_the_stream() {
        let mut packed = compress(b"abcabcabcabc");
        assert_eq!(expand(&packed, 12).unwrap(), b"abcabcabcabc");
        packed.extend([0, 0]);
        assert_eq!(decompress(&packed, &mut Vec::new(), 12), Ok(packed.len()));
        assert_eq!(expand(&packed, 13), Err(Error::InputEnds(12)));
    }

    #[test]
    fn faults_end_in_errors_with_the_good_length() {
        assert_eq!(expand(&[], 1), Err(Error::InputEnds(0)));
        assert_eq!(expand(&[0x02, 0x90, 0, b'a', b'b'], 2), Err(Error::BadCode(0)));
        // A raw chunk that is longer than its data, and one that is longer than what is left.
        assert_eq!(expand(&[0x04, 0x30, b'a', b'b'], 5), Err(Error::InputEnds(2)));
        assert_eq!(expand(&[0x04, 0x30, 1, 2, 3, 4, 5], 3), Err(Error::BadLength(3)));
        // A match before anything was written, half a token, a match past the size.
        assert_eq!(expand(&[0x02, 0xB0, 1, 0, 0], 3), Err(Error::BadDistance(0)));
        assert_eq!(expand(&[0x02, 0xB0, 2, b'a', 0], 4), Err(Error::InputEnds(1)));
        assert_eq!(expand(&[0x03, 0xB0, 2, b'a', 1, 0], 4), Err(Error::BadLength(1)));
    }
}
