//! OLE compound files, the older kind of `.diagsession`: a file system in a file. A stream is a chain of sectors, so
//! each trace is copied out of it. Most are also packed by Visual Studio's diagnostics hub ([`super::hub`]).
//!
//! Storages and streams have short generated names; the names that Visual Studio shows are in property sets that are not read.
//!
//! The library keeps the directory in memory and finds a stream by its path, name by name among siblings in a tree that
//! may be unbalanced. So its input is limited: first the size of the sector tables, then the depth and number of the
//! entries that it visits. Cost: each stream is looked up once, and its first 4 KiB are read.

use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use cfb::{CompoundFile, OpenOptions};

use super::expand::{Expansion, reader};
use super::hub::HubReader;
use super::{
    Budget, Contents, Format, MAX_ENTRIES, MAX_TRACES, Member, Others, Progress, Reader, head_of, looks_like_etl, member_name,
};
use crate::etl::{Source, u16_at, u32_at};
use crate::format::plain;
use crate::open_error::OpenError;
use crate::problem::{ProblemKind, Problems};

/// A trace in the compound file.
struct Found {
    path: PathBuf,
    /// Size of the stream in bytes.
    size: u64,
    /// Whether it is packed by the diagnostics hub.
    packed: bool,
}

/// Maximum nesting of storages; recordings have two or three levels.
const MAX_DEPTH: usize = 16;
/// Maximum number of streams; recordings have some dozens.
const MAX_STREAMS: usize = 4096;

pub(super) fn open(source: &Source, name: &str, progress: &mut Progress<'_>) -> Result<Contents, OpenError> {
    let bytes = source.len().map_err(|e| OpenError::from_io(name.to_owned(), e))?;
    let refuse = |reason: String| OpenError::Archive(name.to_owned(), reason);
    if !has_plausible_tables(source, bytes) {
        return Err(refuse("this compound file is damaged (it has more tables than sectors); copy it again".to_owned()));
    }
    // Small pieces first, to read the start of many streams; larger ones later, to read a few completely.
    let (found, others) = find(&mut compound(source, name, 4 << 10)?).map_err(refuse)?;
    if found.is_empty() {
        return Err(others.refusal(name, "this compound file (.diagsession)"));
    }
    if found.len() > MAX_TRACES {
        return Err(refuse(format!("this file holds more than {MAX_TRACES} traces; export those of one recording")));
    }
    let mut problems = Problems::default();
    let file = &mut compound(source, name, 4 << 20)?;
    let members = take(file, (name, bytes), found, Budget::of_archive(bytes), &mut problems, progress)?;
    Ok(Contents { format: Format::Diagsession, members, problems })
}

/// Opens the compound file; streams are read in pieces of this size in bytes.
fn compound<'s>(source: &'s Source, name: &str, piece: usize) -> Result<CompoundFile<Reader<'s>>, OpenError> {
    // Reads one sector ahead: the library seeks to each sector, which discards data read beyond it.
    let reader = reader(source, 4 << 10).map_err(|e| OpenError::from_io(name.to_owned(), e))?;
    let damaged = |e| OpenError::Archive(name.to_owned(), format!("this compound file is damaged ({e}); copy it again"));
    OpenOptions::new().max_buffer_size(piece).open_with(reader).map_err(damaged)
}

/// Whether the header and its chain name no more FAT sectors than the file has sectors; the library would read a sector
/// as often as it is named. (Layout: MS-CFB, sections 2.2 and 2.5.)
fn has_plausible_tables(source: &Source, bytes: u64) -> bool {
    const FREE: u32 = 0xFFFF_FFFF;
    const LAST_SECTOR: u32 = 0xFFFF_FFFA;
    let named = |ids: &[u8]| ids.chunks_exact(4).filter(|id| *id != FREE.to_le_bytes()).count() as u64;
    let mut head = [0; 512];
    if source.read_at(&mut head, 0).is_ok_and(|n| n < head.len()) {
        return true; // the library reports the error
    }
    let sector = if u16_at(&head, 0x1E) == Some(12) { 4096 } else { 512 };
    let sectors = bytes / sector + 1;
    let mut tables = named(&head[0x4C..]);
    let mut next = u32_at(&head, 0x44).unwrap_or(FREE);
    let mut chunk = vec![0; sector as usize];
    for _ in 0..sectors {
        let is_read =
            next <= LAST_SECTOR && source.read_at(&mut chunk, (u64::from(next) + 1) * sector).is_ok_and(|n| n == chunk.len());
        if !is_read || tables > sectors {
            break;
        }
        let (ids, link) = chunk.split_at(chunk.len() - 4);
        tables += named(ids);
        next = u32_at(link, 0).unwrap_or(FREE);
    }
    tables <= sectors
}

/// Finds all streams that are traces by their content. The error says which limit is exceeded.
fn find(file: &mut CompoundFile<Reader<'_>>) -> Result<(Vec<Found>, Others), String> {
    let mut streams: Vec<(PathBuf, u64)> = Vec::new();
    for entry in file.walk().take(MAX_ENTRIES) {
        if entry.path().components().count() > MAX_DEPTH + 1 {
            return Err(format!(
                "this compound file has storages nested over {MAX_DEPTH} deep, which no recording has; copy it again"
            ));
        }
        if entry.is_stream() {
            streams.push((entry.path().to_owned(), entry.len()));
        }
        if streams.len() > MAX_STREAMS {
            return Err(format!("this compound file has more than {MAX_STREAMS} streams, which no recording has; copy it again"));
        }
    }
    let (mut found, mut others) = (Vec::new(), Others::default());
    for (path, size) in streams {
        let (head, unpacked) = heads(file, &path);
        if looks_like_etl(&head) {
            found.push(Found { path, size, packed: false });
        } else if looks_like_etl(&unpacked) {
            found.push(Found { path, size, packed: true });
        } else {
            others.note(&path.display().to_string(), if unpacked.is_empty() { &head } else { &unpacked });
        }
    }
    Ok((found, others))
}

/// The first bytes of a stream, and the first bytes after unpacking it as the diagnostics hub packs.
fn heads(file: &mut CompoundFile<Reader<'_>>, path: &Path) -> (Vec<u8>, Vec<u8>) {
    let Ok(mut stream) = file.open_stream(path) else { return Default::default() };
    let head = head_of(&mut stream).unwrap_or_default();
    if looks_like_etl(&head) || stream.rewind().is_err() {
        return (head, Vec::new());
    }
    (head, head_of(&mut HubReader::new(stream)).unwrap_or_default())
}

fn take(
    file: &mut CompoundFile<Reader<'_>>,
    (name, mut left): (&str, u64),
    found: Vec<Found>,
    mut budget: Budget,
    problems: &mut Problems,
    progress: &mut Progress<'_>,
) -> Result<Vec<Member>, OpenError> {
    let total = found.iter().fold(0u64, |sum, found| sum.saturating_add(found.size));
    let mut done = 0;
    let mut members = Vec::new();
    for found in found {
        // Streams can share sectors; all together must not count more than the file has.
        let packed = found.size.min(left);
        left -= packed;
        let path = plain(&found.path.display().to_string());
        let member = member_name(name, path.trim_start_matches(['/', '\\']));
        let stream = file.open_stream(&found.path).map_err(|e| OpenError::from_io(member.clone(), e))?;
        let mut from: Box<dyn Read> = if found.packed { Box::new(HubReader::new(stream)) } else { Box::new(stream) };
        let mut expansion = Expansion { archive: name, budget: &mut budget, total, done: &mut done, progress: &mut *progress };
        let expanded = expansion.run(&mut *from)?;
        if let Some(fault) = expanded.fault {
            let detail = format!("this member's data are damaged after {} bytes: {fault}", expanded.bytes);
            problems.add(ProblemKind::DamagedArchive, &member, expanded.bytes, detail);
        }
        members.push(Member { name: member, source: expanded.source, packed: Some(packed) });
    }
    Ok(members)
}
