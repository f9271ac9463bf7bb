//! The file of saved names, which is searched in place: only the blocks with addresses that are asked about are read.
//!
//! ```text
//! head:    magic, identity of the PDB, length of the file, number of blocks, bytes of the facts, checksum, facts, directory
//! blocks:  each of some consecutive addresses, with their frames and the strings of these
//! ```
//!
//! The directory has for each block its first and last address, its length and its checksum; blocks follow each other without
//! gaps. A block refers to nothing outside it. All numbers are little-endian, checksums are CRC-32. A file of another form, of
//! another PDB, or with a length, checksum or number that does not fit is damaged.
//!
//! Cost: a read of the head (16 bytes per block of [`BLOCK`] addresses), then one of each stretch of blocks with addresses that
//! are asked about. Memory: the head, and at most a stretch of [`STRETCH`] bytes or one block.

use std::io::{self, Write};
use std::ops::Range;

use super::Saved;
use super::block::{self, Block};
use crate::PdbKey;
use crate::etl::{Guid, Source};
use crate::names::{ModuleNames, NameTables};

/// The first bytes of each file; the number is that of the form.
const MAGIC: &[u8; 8] = b"HWNAMES2";

/// Bytes before the facts: magic, GUID, age, length of the file, number of blocks, bytes of the facts, checksum.
const FIXED: usize = 8 + 16 + 4 + 8 + 4 + 4 + 4;

/// Bytes of a block's place in the directory.
const PLACE: usize = 16;

/// Addresses of a block: with their names a few kilobytes, so that few bytes are read for one address.
const BLOCK: usize = 64;

/// Bytes that are read at once, at most, unless a block is larger.
const STRETCH: u64 = 1 << 20;

/// Maximum bytes of a file; larger ones are not ours.
const MAX_FILE: u64 = 1 << 30;

/// The file is damaged, of another form or of another PDB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Damaged;

/// A block in the file.
#[derive(Clone, Copy, Debug)]
struct Place {
    first: u32,
    last: u32,
    start: u64,
    length: u32,
    sum: u32,
}

/// Writes the file of a PDB's names.
pub(super) fn write(out: &mut impl Write, key: PdbKey, saved: &Saved) -> io::Result<()> {
    let (mut facts, mut directory, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
    put_facts(&mut facts, saved);
    let addresses = saved.names.tables().addresses.len();
    for start in (0..addresses).step_by(BLOCK) {
        let begin = blocks.len();
        let (first, last) = block::encode(&saved.names, start..(start + BLOCK).min(addresses), &mut blocks);
        let bytes = &blocks[begin..];
        let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        [first, last, length, crc32fast::hash(bytes)].iter().for_each(|n| directory.extend_from_slice(&n.to_le_bytes()));
    }
    let mut head = Vec::with_capacity(FIXED + facts.len() + directory.len());
    head.extend_from_slice(MAGIC);
    head.extend_from_slice(&key.guid.to_bytes());
    head.extend_from_slice(&key.age.to_le_bytes());
    let length = FIXED + facts.len() + directory.len() + blocks.len();
    head.extend_from_slice(&(length as u64).to_le_bytes());
    head.extend_from_slice(&((directory.len() / PLACE) as u32).to_le_bytes());
    head.extend_from_slice(&(facts.len() as u32).to_le_bytes());
    let sum = head_sum(&head, &facts, &directory);
    head.extend_from_slice(&sum.to_le_bytes());
    head.append(&mut facts);
    head.append(&mut directory);
    out.write_all(&head)?;
    out.write_all(&blocks)
}

/// Reads the names of these addresses, which are in order, or of all.
pub(super) fn read(source: &Source, key: PdbKey, asked: Option<&[u32]>) -> Result<Saved, Damaged> {
    let (facts, places) = open(source, key)?;
    let mut saved = get_facts(&facts).ok_or(Damaged)?;
    let mut tables = NameTables::default();
    let stretches = match asked {
        Some(asked) => stretches(&places, asked),
        None => stretches_of(places.iter().enumerate().map(|(i, _)| (i, 0..0)), &places),
    };
    let mut bytes = Vec::new();
    for stretch in stretches {
        let (Some((front, _)), Some((back, _))) = (stretch.first(), stretch.last()) else { continue };
        let (start, end) = (places[*front].start, places[*back].start + u64::from(places[*back].length));
        bytes.resize((end - start) as usize, 0);
        read_all(source, &mut bytes, start)?;
        for (number, range) in stretch {
            let Place { first, last, start: at, length, sum } = places[number];
            let bytes = &bytes[(at - start) as usize..][..length as usize];
            if crc32fast::hash(bytes) != sum {
                return Err(Damaged);
            }
            let block = Block::of(bytes, first, last).ok_or(Damaged)?;
            block.add_to(&mut tables, asked.map(|asked| &asked[range])).ok_or(Damaged)?;
        }
    }
    saved.names = ModuleNames::from_tables(tables).ok_or(Damaged)?;
    Ok(saved)
}

/// Reads the head: the facts, and the places of the blocks.
fn open(source: &Source, key: PdbKey) -> Result<(Vec<u8>, Vec<Place>), Damaged> {
    let bytes = source.len().map_err(|_| Damaged)?;
    let mut fixed = [0; FIXED];
    read_all(source, &mut fixed, 0)?;
    let mut reader = Reader(&fixed);
    let magic = reader.take(MAGIC.len()).ok_or(Damaged)?;
    let guid = reader.take(16).and_then(|guid| guid.try_into().ok()).map(Guid::from_bytes).ok_or(Damaged)?;
    let found = PdbKey { guid, age: reader.number().ok_or(Damaged)? };
    let length = reader.long().ok_or(Damaged)?;
    let [blocks, of_facts, sum] = reader.numbers().ok_or(Damaged)?;
    let of_directory = u64::from(blocks) * PLACE as u64;
    let blocks_start = FIXED as u64 + u64::from(of_facts) + of_directory;
    if magic != MAGIC || found != key || length != bytes || bytes > MAX_FILE || blocks_start > bytes {
        return Err(Damaged);
    }
    let mut facts = vec![0; (blocks_start - FIXED as u64) as usize];
    read_all(source, &mut facts, FIXED as u64)?;
    let directory = facts.split_off(of_facts as usize);
    if head_sum(&fixed[..FIXED - 4], &facts, &directory) != sum {
        return Err(Damaged);
    }
    let places = places(&directory, blocks_start, bytes).ok_or(Damaged)?;
    Ok((facts, places))
}

/// The places of the blocks, which are in order and end where the file ends.
fn places(directory: &[u8], mut start: u64, end: u64) -> Option<Vec<Place>> {
    let mut reader = Reader(directory);
    let mut places: Vec<Place> = Vec::with_capacity(directory.len() / PLACE);
    for _ in 0..directory.len() / PLACE {
        let [first, last, length, sum] = reader.numbers()?;
        let is_behind = places.last().is_none_or(|before| before.last < first);
        if !is_behind || last < first {
            return None;
        }
        places.push(Place { first, last, start, length, sum });
        start = start.checked_add(length.into())?;
    }
    (start == end).then_some(places)
}

/// A block by its number, with the addresses that are asked about in it, by their numbers.
type Asked = (usize, Range<usize>);

/// The blocks in which the addresses that are asked about can be, in stretches that are read at once.
fn stretches(places: &[Place], asked: &[u32]) -> Vec<Vec<Asked>> {
    let (mut wanted, mut block, mut at) = (Vec::new(), 0, 0);
    while let Some(&rva) = asked.get(at) {
        block += places[block..].partition_point(|place| place.last < rva);
        let Some(place) = places.get(block) else { break };
        at += asked[at..].partition_point(|&rva| rva < place.first);
        let behind = at + asked[at..].partition_point(|&rva| rva <= place.last);
        if behind > at {
            wanted.push((block, at..behind));
        }
        (block, at) = (block + 1, behind);
    }
    stretches_of(wanted.into_iter(), places)
}

fn stretches_of(wanted: impl Iterator<Item = Asked>, places: &[Place]) -> Vec<Vec<Asked>> {
    let mut all: Vec<Vec<Asked>> = Vec::new();
    let mut start = 0;
    for asked in wanted {
        let place = &places[asked.0];
        let is_next = |stretch: &&mut Vec<Asked>| stretch.last().is_some_and(|(before, _)| before + 1 == asked.0);
        match all.last_mut().filter(is_next) {
            Some(stretch) if place.start + u64::from(place.length) - start <= STRETCH => stretch.push(asked),
            _ => {
                start = place.start;
                all.push(vec![asked]);
            }
        }
    }
    all
}

fn read_all(source: &Source, into: &mut [u8], start: u64) -> Result<(), Damaged> {
    let read = source.read_at(into, start).map_err(|_| Damaged)?;
    if read == into.len() { Ok(()) } else { Err(Damaged) }
}

fn head_sum(fixed: &[u8], facts: &[u8], directory: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    [fixed, facts, directory].iter().for_each(|part| sum.update(part));
    sum.finalize()
}

fn put_facts(out: &mut Vec<u8>, saved: &Saved) {
    out.extend_from_slice(&u32::from(saved.fastlink).to_le_bytes());
    out.extend_from_slice(&(saved.source.len() as u32).to_le_bytes());
    out.extend_from_slice(&saved.file_bytes.to_le_bytes());
    out.extend_from_slice(saved.source.as_bytes());
    out.extend_from_slice(saved.file.as_bytes());
}

fn get_facts(facts: &[u8]) -> Option<Saved> {
    let mut reader = Reader(facts);
    let [fastlink, source] = reader.numbers()?;
    let file_bytes = reader.long()?;
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
    let source = text(reader.take(source as usize)?)?;
    Some(Saved { source, file: text(reader.0)?, file_bytes, fastlink: fastlink != 0, ..Saved::default() })
}

/// Reads from the front of some bytes.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(front)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    pub(super) fn numbers<const N: usize>(&mut self) -> Option<[u32; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Some(numbers)
    }
}
