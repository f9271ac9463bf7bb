//! The format in which Visual Studio's diagnostics hub packs the streams of a compound file: blocks of chunks of at
//! most 64 KiB, each stored or compressed with XPRESS-Huffman, with checksums.
//!
//! ```text
//! block: u32 bytes when unpacked, u32 bytes of all its chunks
//! chunk: u32 CRC-32 unpacked, u32 bytes unpacked, u32 CRC-32 packed, u32 bytes packed
//! ```
//! A chunk whose two sizes are equal is stored. (Source: the reader of traplol/trace-render, tested there on recordings
//! of Visual Studio.)

use std::io::{self, Read};

use crate::etl::compression::Algorithm;
use crate::etl::u32_at;

/// Maximum size of a chunk in bytes.
const MAX_CHUNK: usize = 64 << 10;

/// Unpacks a stream while it is read. Keeps one chunk in memory.
pub(super) struct HubReader<R> {
    from: R,
    /// Bytes of chunks left in this block.
    block_left: u64,
    packed: Vec<u8>,
    chunk: Vec<u8>,
    at: usize,
}

impl<R: Read> HubReader<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, block_left: 0, packed: Vec::new(), chunk: Vec::new(), at: 0 }
    }

    /// Unpacks the next chunk; `false` at the end.
    fn next_chunk(&mut self) -> io::Result<bool> {
        while self.block_left == 0 {
            let mut block = [0; 8];
            // The stream may only end between blocks.
            let n = self.from.by_ref().take(8).read(&mut block)?;
            if n == 0 {
                return Ok(false);
            }
            self.from.read_exact(&mut block[n..])?;
            self.block_left = u32_at(&block, 4).unwrap_or(0).into();
        }
        let mut head = [0; 16];
        self.from.read_exact(&mut head)?;
        let field = |at| u32_at(&head, at).unwrap_or(0);
        let (crc, size, packed_size) = (field(0), field(4) as usize, field(12) as usize);
        let taken = 16 + packed_size as u64;
        if size == 0 || size > MAX_CHUNK || packed_size > size || taken > self.block_left {
            return Err(fault("a chunk has an impossible size"));
        }
        self.block_left -= taken;
        self.packed.resize(packed_size, 0);
        self.from.read_exact(&mut self.packed)?;
        self.chunk.clear();
        self.at = 0;
        if packed_size == size {
            self.chunk.extend_from_slice(&self.packed);
        } else if Algorithm::XpressHuffman.decompress(&self.packed, &mut self.chunk, size).is_err() {
            return Err(fault("a chunk cannot be unpacked"));
        }
        if crc32fast::hash(&self.chunk) != crc {
            self.chunk.clear();
            return Err(fault("the check sum of a chunk is wrong"));
        }
        Ok(true)
    }
}

fn fault(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

impl<R: Read> Read for HubReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() && !self.next_chunk()? {
            return Ok(0);
        }
        let n = buffer.len().min(self.chunk.len() - self.at);
        buffer[..n].copy_from_slice(&self.chunk[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}
