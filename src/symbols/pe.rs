//! The identity that an image on disk names: for traces that do not hold it.
//!
//! Format: PE/COFF (Microsoft, "PE Format"): headers, section table, debug directory
//! with a CodeView entry "RSDS": GUID, age, path of the PDB.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::PdbKey;
use crate::etl::Guid;
use crate::model::PdbId;

/// What an image says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Image {
    pub(super) time_stamp: u32,
    /// Bytes mapped.
    pub(super) size: u32,
    pub(super) pdb: Option<PdbId>,
}

impl Image {
    /// Identity of its PDB.
    pub(super) fn key(&self) -> Option<PdbKey> {
        self.pdb.as_ref().map(PdbKey::from)
    }
}

/// Longest path of a PDB, sections and debug entries that are looked at.
const MAX_PATH: usize = 4096;
const MAX_SECTIONS: usize = 96;
const MAX_ENTRIES: usize = 64;

/// Reads the headers of an image; `None` if it is none.
pub(super) fn read(path: &Path) -> Option<Image> {
    let mut file = File::open(path).ok()?;
    let dos = bytes(&mut file, 0, 64)?;
    let at = u64::from(u32_at(&dos, 60)?);
    let head = bytes(&mut file, at, 24)?;
    if !dos.starts_with(b"MZ") || !head.starts_with(b"PE\0\0") {
        return None;
    }
    let sections = usize::from(u16_at(&head, 6)?).min(MAX_SECTIONS);
    let optional_size = u16_at(&head, 20)?;
    let optional = bytes(&mut file, at + 24, optional_size.into())?;
    let size = u32_at(&optional, 56)?;
    let directories = match u16_at(&optional, 0)? {
        0x10B => 96,
        0x20B => 112,
        _ => return None,
    };
    let table = bytes(&mut file, at + 24 + u64::from(optional_size), sections * 40)?;
    const DEBUG: usize = 6;
    let debug = u32_at(&optional, directories + DEBUG * 8).zip(u32_at(&optional, directories + DEBUG * 8 + 4));
    let pdb = debug.and_then(|(rva, length)| {
        let entries = bytes(&mut file, offset_of(&table, rva)?, (length as usize).min(MAX_ENTRIES * 28))?;
        entries.chunks_exact(28).find_map(|entry| code_view(&mut file, entry))
    });
    Some(Image { time_stamp: u32_at(&head, 8)?, size, pdb })
}

fn code_view(file: &mut File, entry: &[u8]) -> Option<PdbId> {
    const CODE_VIEW: u32 = 2;
    if u32_at(entry, 12)? != CODE_VIEW {
        return None;
    }
    let length = (u32_at(entry, 16)? as usize).min(24 + MAX_PATH);
    let data = bytes(file, u32_at(entry, 24)?.into(), length)?;
    if !data.starts_with(b"RSDS") {
        return None;
    }
    let guid = Guid::from_bytes(data.get(4..20)?.try_into().ok()?);
    let path = data.get(24..)?.split(|&byte| byte == 0).next()?;
    Some(PdbId { guid, age: u32_at(&data, 20)?, path: String::from_utf8_lossy(path).into_owned() })
}

/// Where an rva stands in the file.
fn offset_of(sections: &[u8], rva: u32) -> Option<u64> {
    sections.chunks_exact(40).find_map(|section| {
        let (size, start) = (u32_at(section, 16)?.max(u32_at(section, 8)?), u32_at(section, 12)?);
        let inside = rva.checked_sub(start).filter(|&inside| inside < size)?;
        Some(u64::from(u32_at(section, 20)?) + u64::from(inside))
    })
}

fn bytes(file: &mut File, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut buffer = vec![0; length];
    file.seek(SeekFrom::Start(at)).ok()?;
    file.read_exact(&mut buffer).ok()?;
    Some(buffer)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
