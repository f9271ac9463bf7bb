//! XPRESS with Huffman codes: blocks of 64 KiB of output, each with a table of code
//! lengths (Microsoft's open specification MS-XCA, sections 2.1 and 2.2). No public
//! trace uses it; proven on the specification's examples, by round trips and
//! against an unrelated decoder (`scripts/check-writer.sh`).
//!
//! Codes and bytes share one stream: codes come in words of 16 bits, and the
//! reader is always two words ahead, so that bytes stand behind words whose bits
//! are used only later. The writer replays what the reader will do.
//!
//! The output size is part of the contract; see [`super`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Error;
use super::matches::{Finder, copy_match, put_long_length};
use crate::{u16_at, u32_at};

const BLOCK: usize = 1 << 16;
const SYMBOLS: usize = 512;
const TABLE: usize = SYMBOLS / 2;
const MAX_BITS: usize = 15;
/// Ends the stream; also the shortest match one byte back.
const END: usize = 256;
/// A distance has at most 15 bits behind its leading one.
const WINDOW: usize = (1 << 16) - 1;

/// Appends exactly `size` bytes to `out` and returns how many bytes of `input`
/// were used. On an error the good part stays in `out`. Time is linear in `size`,
/// with some 30 microseconds for each block's table.
pub fn decompress(input: &[u8], out: &mut Vec<u8>, size: usize) -> Result<usize, Error> {
    let start = out.len();
    let end = start + size;
    // The size is only a claim: reserve what is usual, and more only as output is written.
    out.reserve(size.min(input.len().saturating_mul(16)));
    let mut codes = Vec::new();
    let mut at = 0;
    while out.len() < end {
        let good = out.len() - start;
        let table = input.get(at..at + TABLE).ok_or(Error::InputEnds(good))?;
        read_codes(table, &mut codes).ok_or(Error::BadCode(good))?;
        let mut bits = Bits::new(input, at + TABLE);
        block(&mut bits, &codes, out, [start, start, end])?;
        at = bits.at;
    }
    Ok(at)
}

/// Expands one block, up to its end or the end of the output.
fn block(bits: &mut Bits<'_>, codes: &[u16], out: &mut Vec<u8>, bounds: [usize; 3]) -> Result<(), Error> {
    let [start, _, end] = bounds;
    let block_end = out.len() + BLOCK;
    while out.len() < end.min(block_end) {
        let good = out.len() - start;
        let symbol = bits.symbol(codes).ok_or(Error::InputEnds(good))?;
        if symbol < 256 {
            out.push(symbol as u8);
            continue;
        }
        let (length, distance_bits) = ((symbol - 256) & 15, (symbol - 256) >> 4);
        let length = bits.match_length(length).ok_or(Error::InputEnds(good))?;
        let distance = (1 << distance_bits) + bits.take(distance_bits).ok_or(Error::InputEnds(good))?;
        copy_match(out, bounds, distance, length.saturating_add(3))?;
    }
    // Encoders write an end mark, although the size gives the end, too.
    if out.len() == end && usize::from(codes[bits.peek()] >> 4) == END {
        bits.symbol(codes);
    }
    Ok(())
}

/// Fills `codes`, a table by the next 15 bits: symbol and length of its code. `None` if the lengths are
/// not those of a complete code.
fn read_codes(table: &[u8], codes: &mut Vec<u16>) -> Option<()> {
    codes.clear();
    let length = |symbol: usize| usize::from(table[symbol / 2] >> (symbol % 2 * 4) & 15);
    for bits in 1..=MAX_BITS {
        for symbol in (0..SYMBOLS).filter(|&symbol| length(symbol) == bits) {
            let entry = (symbol << 4 | bits) as u16;
            codes.resize(codes.len() + (1 << (MAX_BITS - bits)), entry);
            if codes.len() > 1 << MAX_BITS {
                return None;
            }
        }
    }
    (codes.len() == 1 << MAX_BITS).then_some(())
}

/// The bits and bytes of one block.
struct Bits<'a> {
    input: &'a [u8],
    /// Where the next word or byte is.
    at: usize,
    /// Unread bits, the next one highest.
    word: u32,
    /// Unread bits beyond 16; below 0 a word is due.
    spare: i32,
    /// Bits read past the end of the input, where zeros are assumed.
    missing: i32,
}

impl<'a> Bits<'a> {
    fn new(input: &'a [u8], at: usize) -> Self {
        let mut bits = Self { input, at, word: 0, spare: -16, missing: 0 };
        bits.load();
        bits.load();
        bits
    }

    fn load(&mut self) {
        match u16_at(self.input, self.at) {
            Some(word) => {
                self.word |= u32::from(word) << -self.spare;
                self.at += 2;
            }
            None => self.missing += 16,
        }
        self.spare += 16;
    }

    fn peek(&self) -> usize {
        (self.word >> (32 - MAX_BITS)) as usize
    }

    fn skip(&mut self, n: usize) -> Option<()> {
        self.word <<= n;
        self.spare -= n as i32;
        if self.spare < 0 {
            self.load();
        }
        (self.missing <= self.spare + 16).then_some(())
    }

    fn take(&mut self, n: usize) -> Option<usize> {
        // A shift by all 32 bits (`n` is 0) would overflow; the value is 0 then.
        let value = self.word.checked_shr(32 - n as u32).unwrap_or(0) as usize;
        self.skip(n)?;
        Some(value)
    }

    fn symbol(&mut self, codes: &[u16]) -> Option<usize> {
        let entry = codes[self.peek()];
        self.skip(usize::from(entry & 15))?;
        Some(usize::from(entry >> 4))
    }

    /// Reads the rest of a match length from its code. Returns the length minus 3.
    fn match_length(&mut self, code: usize) -> Option<usize> {
        if code < 15 {
            return Some(code);
        }
        if self.missing > 0 {
            return None; // only half a word is left
        }
        let byte = *self.input.get(self.at)?;
        self.at += 1;
        if byte < 255 {
            return Some(usize::from(byte) + 15);
        }
        let word = u16_at(self.input, self.at)?;
        self.at += 2;
        if word != 0 {
            return Some(word.into());
        }
        let long = u32_at(self.input, self.at)?;
        self.at += 4;
        Some(long as usize)
    }
}

/// Compresses `input`, favouring speed.
pub fn compress(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(input.len() / 2 + TABLE);
    let mut finder = Finder::default();
    for base in (0..input.len()).step_by(BLOCK) {
        let end = input.len().min(base + BLOCK);
        let mut items = find_items(&input[..end], base, &mut finder);
        if end == input.len() {
            items.push(Item { symbol: END as u16, length: 0, distance: 0 });
        }
        write_block(&items, &mut out);
    }
    out
}

/// A literal, a match, or the end.
struct Item {
    symbol: u16,
    /// Length of a match, minus 3.
    length: u32,
    distance: u32,
}

fn find_items(input: &[u8], base: usize, finder: &mut Finder) -> Vec<Item> {
    let mut items = Vec::new();
    let mut at = base;
    while at < input.len() {
        match finder.find(input, at, WINDOW) {
            Some((distance, length)) => {
                at += length;
                let (length, distance) = (length as u32 - 3, distance as u32);
                let symbol = 256 + (distance.ilog2() << 4) + length.min(15);
                items.push(Item { symbol: symbol as u16, length, distance });
            }
            None => {
                items.push(Item { symbol: input[at].into(), length: 0, distance: 0 });
                at += 1;
            }
        }
    }
    items
}

fn write_block(items: &[Item], out: &mut Vec<u8>) {
    let mut counts = [0u32; SYMBOLS];
    for item in items {
        counts[usize::from(item.symbol)] += 1;
    }
    let lengths = code_lengths(counts);
    out.extend(lengths.chunks_exact(2).map(|pair| pair[0] | pair[1] << 4));
    let codes = canonical_codes(&lengths);
    let mut writer = BitWriter::new(out);
    for item in items {
        let symbol = usize::from(item.symbol);
        writer.put(codes[symbol].into(), lengths[symbol].into());
        if symbol >= 256 && item.distance > 0 {
            writer.put_length(item.length);
            let bits = item.distance.ilog2();
            writer.put(item.distance - (1 << bits), bits);
        }
    }
    writer.finish();
}

/// Lengths of a complete code of at most 15 bits, shorter for more frequent symbols. At least two
/// symbols get a code.
fn code_lengths(mut counts: [u32; SYMBOLS]) -> [u8; SYMBOLS] {
    for spare in [0, END] {
        if counts.iter().filter(|&&n| n > 0).count() < 2 {
            counts[spare] = counts[spare].max(1);
        }
    }
    loop {
        let lengths = huffman_lengths(&counts);
        if lengths.iter().all(|&n| usize::from(n) <= MAX_BITS) {
            return lengths;
        }
        // Flatter counts give a flatter tree.
        for n in counts.iter_mut().filter(|n| **n > 0) {
            *n = n.div_ceil(2);
        }
    }
}

fn huffman_lengths(counts: &[u32; SYMBOLS]) -> [u8; SYMBOLS] {
    let mut parents = vec![0; SYMBOLS];
    let used = (0..SYMBOLS).filter(|&symbol| counts[symbol] > 0);
    let mut queue: BinaryHeap<_> = used.map(|symbol| Reverse((counts[symbol], symbol))).collect();
    while let (Some(Reverse((a, first))), Some(Reverse((b, second)))) = (queue.pop(), queue.pop()) {
        let node = parents.len();
        parents.push(0);
        (parents[first], parents[second]) = (node, node);
        queue.push(Reverse((a + b, node)));
        if queue.len() == 1 {
            break;
        }
    }
    let mut lengths = [0; SYMBOLS];
    for (symbol, length) in lengths.iter_mut().enumerate() {
        let mut node = symbol;
        while parents[node] != 0 {
            node = parents[node];
            *length += 1;
        }
    }
    lengths
}

fn canonical_codes(lengths: &[u8; SYMBOLS]) -> [u16; SYMBOLS] {
    let mut codes = [0; SYMBOLS];
    let mut next = 0;
    for bits in 1..=MAX_BITS {
        next <<= 1;
        for symbol in (0..SYMBOLS).filter(|&symbol| usize::from(lengths[symbol]) == bits) {
            codes[symbol] = next;
            next += 1;
        }
    }
    codes
}

/// Writes words at the places where the reader will look for them.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// Places of words whose bits are not known yet, the next one first.
    places: [usize; 2],
    /// Bits of the next word, the first one highest.
    word: u32,
    used: u32,
}

impl<'a> BitWriter<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        let places = [out.len(), out.len() + 2];
        out.extend([0; 4]);
        Self { out, places, word: 0, used: 0 }
    }

    /// Writes the lowest `n` bits of `value`; `n` is at most 15.
    fn put(&mut self, value: u32, n: u32) {
        self.word |= value << (32 - self.used - n).min(31);
        self.used += n;
        // The reader has loaded the word behind this one, and now loads a third.
        if self.used > 16 {
            self.store();
            self.places = [self.places[1], self.out.len()];
            self.out.extend([0; 2]);
            self.word <<= 16;
            self.used -= 16;
        }
    }

    fn store(&mut self) {
        let word = (self.word >> 16) as u16;
        self.out[self.places[0]..self.places[0] + 2].copy_from_slice(&word.to_le_bytes());
    }

    fn put_length(&mut self, length: u32) {
        let Some(rest) = length.checked_sub(15) else { return };
        put_long_length(self.out, rest as usize, length);
    }

    fn finish(mut self) {
        self.store();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(input: &[u8], size: usize) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        decompress(input, &mut out, size).map(|_| out)
    }

    /// A table from (place, bytes), and what follows it.
    fn stream(table: &[(usize, &[u8])], rest: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; TABLE];
        for (at, part) in table {
            bytes[*at..at + part.len()].copy_from_slice(part);
        }
        bytes.extend(rest);
        bytes
    }

    /// The examples of MS-XCA, section 3.
    #[test]
    fn vectors_of_the_specification() {
        let lengths: &[u8] = &[0x50, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x45, 0x44, 0x04];
        let letters = stream(
            &[(0x30, lengths), (0x80, &[4])],
            &[0xd8, 0x52, 0x3e, 0xd7, 0x94, 0x11, 0x5b, 0xe9, 0x19, 0x5f, 0xf9, 0xd6, 0x7c, 0xdf, 0x8d, 4, 0, 0, 0, 0],
        );
        let mut out = Vec::new();
        assert_eq!(decompress(&letters, &mut out, 26), Ok(letters.len()));
        assert_eq!(out, (b'a'..=b'z').collect::<Vec<_>>());

        let repeated = stream(&[(0x30, &[0x30, 0x23]), (0x80, &[2]), (0x8F, &[0x20])], &[0xa8, 0xdc, 0, 0, 0xff, 0x26, 1]);
        let mut out = Vec::new();
        assert_eq!(decompress(&repeated, &mut out, 300), Ok(repeated.len()));
        assert_eq!(out, b"abc".repeat(100));
    }

    #[test]
    fn long_matches_and_full_blocks_survive() {
        for n in [1, 2, 3, 17, 18, 19, 272, 273, 274, 65_535, 65_536, 65_537, 65_540, 131_072, 200_000] {
            let data = vec![7; n];
            let packed = compress(&data);
            let mut out = Vec::new();
            assert_eq!(decompress(&packed, &mut out, n), Ok(packed.len()), "{n}");
            assert_eq!(out, data, "{n}");
        }
    }

    #[test]
    fn a_length_of_32_bits_is_read() {
        // Codes of one bit: 0 is the letter a, 1 a match one byte back with a long length.
        let packed = stream(&[(0x30, &[0x10]), (0x87, &[0x10])], &[0, 0x40, 0, 0, 255, 0, 0, 0x6D, 0x38, 1, 0]);
        assert_eq!(expand(&packed, 0x1_386D + 3), Err(Error::BadLength(1)));
        assert_eq!(expand(&packed, 1 + 0x1_386D + 3).unwrap(), vec![b'a'; 0x1_386D + 4]);
    }

    #[test]
    fn rare_symbols_get_codes_of_at_most_15_bits() {
        let mut counts = [0; SYMBOLS];
        for (i, n) in counts.iter_mut().take(30).enumerate() {
            *n = 1u32 << i; // a tree of depth 29
        }
        let lengths = code_lengths(counts);
        assert!(lengths.iter().all(|&n| n <= 15) && lengths[29] < lengths[0]);
        let sum: u32 = lengths.iter().filter(|&&n| n > 0).map(|&n| 1 << (15 - n)).sum();
        assert_eq!(sum, 1 << 15, "the code is complete");
    }

    #[test]
    fn faults_end_in_errors_with_the_good_length() {
        assert_eq!(expand(&[0; 255], 1), Err(Error::InputEnds(0)));
        assert_eq!(expand(&[0; 300], 1), Err(Error::BadCode(0))); // no code at all
        assert_eq!(expand(&[0x11; 300], 1), Err(Error::BadCode(0))); // far too many of one bit
        // Codes of one bit for the letter a and a match one byte back.
        let codes = |rest: &[u8]| stream(&[(0x30, &[0x10]), (0x80, &[1])], rest);
        assert_eq!(expand(&codes(&[0xFF, 0xFF, 0, 0]), 9), Err(Error::BadDistance(0)));
        assert_eq!(expand(&codes(&[0, 0x40, 0, 0]), 3), Err(Error::BadLength(1)));
        assert_eq!(expand(&codes(&[0, 0]), 99), Err(Error::InputEnds(16)));
        // Half a word is no length of a match.
        let half = stream(&[(0x30, &[0x10]), (0x87, &[0x10])], &[0, 0x40, 7]);
        assert_eq!(expand(&half, 99), Err(Error::InputEnds(1)));
    }
}
