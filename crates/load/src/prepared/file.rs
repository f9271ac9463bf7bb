//! The file of a prepared trace.
//!
//! ```text
//! MAGIC, blocks, facts (key, names, needed memory, length and checksum of each block), head, trailer
//! ```
//!
//! The trailer says where the parts are and has their checksum, so a file that was cut anywhere has none at its end. All numbers
//! are little-endian; checksums are xxh3, a block's over its parts one after the other.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::etl::Source;
use crate::model::{BlockSink, BlockSource};
use crate::paths::open_regular;
use crate::stored::{Damaged, In, Out, Stored};

/// The first bytes of each file, and the last; the number is that of the format.
const MAGIC: [u8; 16] = *b"highwater-trace1";

/// Bytes of the trailer: lengths of blocks, facts, head and file, a checksum, and the magic.
const TRAILER: usize = 5 * 8 + MAGIC.len();

/// Key, names of files, needed memory, and length and checksum of each block.
type Facts = ((Vec<u8>, Vec<String>), (u64, Vec<(u64, u64)>));

/// A prepared trace that is being written.
pub(super) struct Sink<'a> {
    file: &'a mut File,
    blocks: Vec<(u64, u64)>,
    bytes: u64,
    go_on: &'a mut dyn FnMut() -> bool,
}

impl<'a> Sink<'a> {
    /// Begins a file. `go_on` is called for each block; if it returns `false`, writing fails as interrupted.
    pub(super) fn begin(file: &'a mut File, go_on: &'a mut dyn FnMut() -> bool) -> io::Result<Self> {
        file.write_all(&MAGIC)?;
        Ok(Self { file, blocks: Vec::new(), bytes: MAGIC.len() as u64, go_on })
    }

    /// Writes everything behind the blocks; returns the length of the file.
    pub(super) fn finish(self, key: &[u8], names: &[String], needs: u64, head: &[u8]) -> io::Result<u64> {
        let mut facts = Out::default();
        let all: Facts = ((key.to_vec(), names.to_vec()), (needs, self.blocks));
        all.put(&mut facts);
        let facts = facts.finish();
        let bytes = self.bytes + facts.len() as u64 + head.len() as u64 + TRAILER as u64;
        let lengths = [self.bytes, facts.len() as u64, head.len() as u64, bytes];
        self.file.write_all(&facts)?;
        self.file.write_all(head)?;
        self.file.write_all(&trailer(lengths, sum(lengths, &facts, head)))?;
        self.file.flush()?;
        Ok(bytes)
    }
}

impl BlockSink for Sink<'_> {
    fn put(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        if !(self.go_on)() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let (mut length, mut sum) = (0, 0);
        for part in parts {
            self.file.write_all(part)?;
            length += part.len() as u64;
            sum = xxh3_64_with_seed(part, sum);
        }
        self.bytes += length;
        self.blocks.push((length, sum));
        Ok(())
    }
}

fn trailer(lengths: [u64; 4], sum: u64) -> Vec<u8> {
    let numbers = lengths.into_iter().chain([sum]).flat_map(u64::to_le_bytes);
    numbers.chain(MAGIC).collect()
}

/// The checksum of everything but the blocks.
fn sum(lengths: [u64; 4], facts: &[u8], head: &[u8]) -> u64 {
    let start = lengths.into_iter().fold(0, |sum, length| xxh3_64_with_seed(&length.to_le_bytes(), sum));
    xxh3_64_with_seed(head, xxh3_64_with_seed(facts, start))
}

/// A prepared trace that is being read.
#[derive(Debug)]
pub(super) struct PreparedFile {
    source: Source,
    bytes: u64,
    key: Vec<u8>,
    names: Vec<String>,
    needs: u64,
    head: Vec<u8>,
    /// Length of each block, where it begins, and its checksum.
    lengths: Vec<u64>,
    blocks: Vec<(u64, u64)>,
}

impl PreparedFile {
    /// Opens a file; `None` if there is none, or its facts and head alone take more than `budget` bytes of memory.
    pub(super) fn open(path: &Path, budget: u64) -> Result<Option<Self>, Damaged> {
        match open_regular(path) {
            Ok(file) => Self::read(Source::File(Arc::new(file)), budget),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(_) => Err(Damaged),
        }
    }

    fn read(source: Source, budget: u64) -> Result<Option<Self>, Damaged> {
        let bytes = source.len().map_err(|_| Damaged)?;
        let take = |offset: u64, length: u64| -> Result<Vec<u8>, Damaged> {
            let mut taken = vec![0; usize::try_from(length).map_err(|_| Damaged)?];
            let read = source.read_at(&mut taken, offset).map_err(|_| Damaged)?;
            if read == taken.len() { Ok(taken) } else { Err(Damaged) }
        };
        let end = take(bytes.checked_sub(TRAILER as u64).ok_or(Damaged)?, TRAILER as u64)?;
        let number = |at: usize| end.get(at * 8..).and_then(<[u8]>::first_chunk).map_or(0, |number| u64::from_le_bytes(*number));
        let lengths @ [of_blocks, of_facts, of_head, of_all] = [0, 1, 2, 3].map(number);
        let together = [of_blocks, of_facts, of_head, TRAILER as u64].into_iter().try_fold(0u64, u64::checked_add);
        let is_whole = end.ends_with(&MAGIC) && together == Some(bytes) && of_all == bytes;
        if !is_whole || take(0, MAGIC.len() as u64)? != MAGIC {
            return Err(Damaged);
        }
        if of_facts.max(of_head) > budget {
            return Ok(None);
        }
        let (facts, head) = (take(of_blocks, of_facts)?, take(of_blocks + of_facts, of_head)?);
        if sum(lengths, &facts, &head) != number(4) {
            return Err(Damaged);
        }
        let mut facts = In::new(&facts)?;
        let ((key, names), (needs, sums)) = Facts::get(&mut facts)?;
        facts.end()?;
        let mut start = MAGIC.len() as u64;
        let (mut blocks, mut lengths) = (Vec::with_capacity(sums.len()), Vec::with_capacity(sums.len()));
        for (length, sum) in sums {
            blocks.push((start, sum));
            lengths.push(length);
            start = start.checked_add(length).filter(|&end| end <= of_blocks).ok_or(Damaged)?;
        }
        if start != of_blocks {
            return Err(Damaged);
        }
        Ok(Some(Self { source, bytes, key, names, needs, head, lengths, blocks }))
    }

    /// The origin of the trace.
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Names of the files in the capture.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Bytes of memory that the trace needs.
    pub(super) fn needs(&self) -> u64 {
        self.needs
    }

    /// Length of the file.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Everything of the trace that is not in blocks.
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }
}

impl BlockSource for PreparedFile {
    fn lengths(&self) -> &[u64] {
        &self.lengths
    }

    fn read(&self, number: usize, parts: &mut [&mut [u8]]) -> Result<(), Damaged> {
        let (&length, &(mut at, expected)) = self.lengths.get(number).zip(self.blocks.get(number)).ok_or(Damaged)?;
        if parts.iter().map(|part| part.len() as u64).sum::<u64>() != length {
            return Err(Damaged);
        }
        let mut sum = 0;
        for part in parts {
            let read = self.source.read_at(part, at).map_err(|_| Damaged)?;
            if read != part.len() {
                return Err(Damaged);
            }
            at += read as u64;
            sum = xxh3_64_with_seed(part, sum);
        }
        if sum == expected { Ok(()) } else { Err(Damaged) }
    }
}
