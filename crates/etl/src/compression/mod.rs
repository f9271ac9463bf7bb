//! The three compression formats of Windows' buffers, each with a reader and a writer of its own, and
//! the choice among them.
//!
//! No stream contains its length, so the exact output size is part of each reader's contract: it
//! appends exactly that many bytes or ends in an [`Error`] with the good part kept. Hostile input never
//! makes it write past that size or read outside the output so far. Memory: the output, plus a table of
//! 64 KiB for Huffman codes.
//!
//! No reliable field says which form a trace uses: public readers (snail-server) take it from the first
//! buffer's state, and of that field's values only the one of XPRESS was ever seen. A form is right if
//! it gives exactly the size that the buffer's header claims and uses up its input exactly; see
//! [`expand`].

pub mod huffman;
pub mod lznt1;
mod matches;
#[cfg(test)]
mod tests;
pub mod xpress;

/// How a buffer is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Algorithm {
    /// LZ77 without Huffman codes, as in all public traces.
    #[default]
    Xpress,
    /// LZNT1, as in NTFS.
    Lznt1,
    /// LZ77 with Huffman codes.
    XpressHuffman,
}

impl Algorithm {
    /// All forms, the likeliest first.
    pub const ALL: [Self; 3] = [Self::Xpress, Self::Lznt1, Self::XpressHuffman];

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xpress => "XPRESS",
            Self::Lznt1 => "LZNT1",
            Self::XpressHuffman => "XPRESS-Huffman",
        }
    }

    /// Windows' number of the form (`COMPRESSION_FORMAT_*`).
    pub fn number(self) -> u16 {
        match self {
            Self::Lznt1 => 2,
            Self::Xpress => 3,
            Self::XpressHuffman => 4,
        }
    }

    /// Appends exactly `size` bytes to `out` and returns how many bytes of `input`
    /// were used. On an error the good part stays in `out`.
    pub fn decompress(self, input: &[u8], out: &mut Vec<u8>, size: usize) -> Result<usize, Error> {
        match self {
            Self::Xpress => xpress::decompress(input, out, size),
            Self::Lznt1 => lznt1::decompress(input, out, size),
            Self::XpressHuffman => huffman::decompress(input, out, size),
        }
    }

    /// Compresses `input`, favouring speed.
    pub fn compress(self, input: &[u8]) -> Vec<u8> {
        match self {
            Self::Xpress => xpress::compress(input),
            Self::Lznt1 => lznt1::compress(input),
            Self::XpressHuffman => huffman::compress(input),
        }
    }
}

/// Why a stream could not be expanded. `usize` is the number of good output bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The input ended first.
    InputEnds(usize),
    /// A match reaches back before the start.
    BadDistance(usize),
    /// A match length that no encoder writes, or data that run past the output.
    BadLength(usize),
    /// A chunk or a table of codes that no encoder writes.
    BadCode(usize),
}

impl Error {
    /// How much output was good before the fault.
    pub fn good_bytes(self) -> usize {
        match self {
            Self::InputEnds(n) | Self::BadDistance(n) | Self::BadLength(n) | Self::BadCode(n) => n,
        }
    }
}

/// Why no form fits: the failure of the expected one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// The size is right, but this many bytes of input are left over.
    LeftOver(usize),
    /// It ended in an error.
    Broken(Error),
}

/// Appends exactly `size` bytes to `out`, by the first form that gives exactly that and uses up
/// `input`. Tries the `expected` form first, then the others; returns the one that fits. If none fits,
/// `out` keeps the output of the expected one.
pub fn expand(input: &[u8], out: &mut Vec<u8>, size: usize, expected: Algorithm) -> Result<Algorithm, Misfit> {
    let start = out.len();
    let misfit = match expected.decompress(input, out, size) {
        Ok(used) if used == input.len() => return Ok(expected),
        Ok(used) => Misfit::LeftOver(input.len() - used),
        Err(error) => Misfit::Broken(error),
    };
    let mut other_out = Vec::new();
    for other in Algorithm::ALL.into_iter().filter(|&other| other != expected) {
        other_out.clear();
        if other.decompress(input, &mut other_out, size) == Ok(input.len()) {
            out.truncate(start);
            out.append(&mut other_out);
            return Ok(other);
        }
    }
    Err(misfit)
}
