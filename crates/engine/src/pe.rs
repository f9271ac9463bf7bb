//! Image files on disk: which build a file is. Used for traces that do not name its PDB, and by recordings, which add
//! that name.
//!
//! Format: PE/COFF (Microsoft, "PE Format"): headers, section table, debug directory
//! with a CodeView entry "RSDS": GUID, age, path of the PDB.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::etl::{Guid, guid_at, u16_at, u32_at};
use crate::paths;

/// The identity of a build of an image.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Build {
    /// Link time stamp, 0 if unknown.
    pub time_stamp: u32,
    /// Mapped size in bytes; a trace may have it rounded up to pages.
    pub size: u64,
    /// Checksum in the header, 0 if unknown.
    pub checksum: u32,
}

/// The result of comparing two builds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Likeness {
    /// Equal time stamp, checksum, or both, and equal size.
    Same,
    /// Equal size; the trace knows no more.
    SameSize,
    /// Different builds.
    Other,
}

/// The facts in the headers of an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    /// Which build it is.
    pub build: Build,
    /// Its PDB, if it names one.
    pub pdb: Option<CodeView>,
    /// Minimum size of its file in bytes: up to the end of its last section.
    pub bytes: u64,
    /// Whether it contains DWARF debug information, like MinGW builds.
    pub has_dwarf: bool,
}

/// The PDB that an image names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeView {
    /// GUID.
    pub guid: Guid,
    /// Age.
    pub age: u32,
    /// Path as the linker wrote it.
    pub path: String,
}

impl Build {
    /// Compares a build in a trace with a file. Every value that the trace knows must be equal in the file; a file
    /// without a time stamp or checksum differs from a file with it.
    pub fn compare(&self, file: &Self) -> Likeness {
        const PAGE: u64 = 0x1000;
        let pages = |build: &Self| build.size.div_ceil(PAGE);
        let known = [(self.time_stamp, file.time_stamp), (self.checksum, file.checksum)];
        let mut known = known.into_iter().filter(|(wanted, _)| *wanted != 0);
        let is_known = self.time_stamp != 0 || self.checksum != 0;
        match pages(self) == pages(file) && known.all(|(wanted, found)| wanted == found) {
            true if is_known => Likeness::Same,
            true => Likeness::SameSize,
            false => Likeness::Other,
        }
    }
}

/// Limits: the length of a PDB path, and the numbers of sections and of debug entries that are read.
const MAX_PATH: usize = 4096;
const MAX_SECTIONS: usize = 96;
const MAX_ENTRIES: usize = 64;

/// The headers of an image.
struct Headers {
    /// The COFF header, with the signature before it.
    head: Vec<u8>,
    optional: Vec<u8>,
    /// The section table.
    table: Vec<u8>,
    /// Offset of the data directories in the optional header.
    directories: usize,
}

fn headers(file: &mut File) -> Option<Headers> {
    let dos = bytes(file, 0, 64)?;
    let at = u64::from(u32_at(&dos, 60)?);
    let head = bytes(file, at, 24)?;
    if !dos.starts_with(b"MZ") || !head.starts_with(b"PE\0\0") {
        return None;
    }
    let sections = usize::from(u16_at(&head, 6)?).min(MAX_SECTIONS);
    let optional_size = u16_at(&head, 20)?;
    let optional = bytes(file, at + 24, optional_size.into())?;
    let directories = match u16_at(&optional, 0)? {
        0x10B => 96,
        0x20B => 112,
        _ => return None,
    };
    let table = bytes(file, at + 24 + u64::from(optional_size), sections * 40)?;
    Some(Headers { head, optional, table, directories })
}

/// Reads the headers of an image; `None` if it is not an image or not a regular file.
pub fn read(path: &Path) -> Option<Image> {
    let mut file = paths::open_regular(path).ok()?;
    let Headers { head, optional, table, directories } = headers(&mut file)?;
    let (size, checksum) = (u32_at(&optional, 56)?, u32_at(&optional, 64)?);
    const DEBUG: usize = 6;
    let debug = u32_at(&optional, directories + DEBUG * 8).zip(u32_at(&optional, directories + DEBUG * 8 + 4));
    let pdb = debug.and_then(|(rva, length)| {
        let entries = bytes(&mut file, offset_of(&table, rva)?, (length as usize).min(MAX_ENTRIES * 28))?;
        entries.chunks_exact(28).find_map(|entry| code_view(&mut file, entry))
    });
    let end = |section: &[u8]| Some(u64::from(u32_at(section, 20)?) + u64::from(u32_at(section, 16)?));
    let end = table.chunks_exact(40).filter_map(end).max().unwrap_or_default();
    let strings = string_table(&head);
    let has_dwarf = dwarf_sections(&mut file, strings, &table).iter().any(|section| section.name == ".debug_info");
    Some(Image { build: Build { time_stamp: u32_at(&head, 8)?, size: size.into(), checksum }, pdb, bytes: end, has_dwarf })
}

/// A debug section of an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DebugSection {
    /// Its name, such as `.debug_info`.
    pub name: String,
    /// Its offset in the file.
    pub offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The debug sections of an image, and its preferred base address. Addresses in the sections are absolute: they include
/// the base.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DebugSections {
    /// The preferred base address that the linker chose.
    pub image_base: u64,
    /// The sections, in the order of the file.
    pub list: Vec<DebugSection>,
}

/// Finds the DWARF sections of an image; `None` if it is not an image.
pub fn debug_sections(path: &Path) -> Option<DebugSections> {
    let mut file = paths::open_regular(path).ok()?;
    let Headers { head, optional, table, .. } = headers(&mut file)?;
    let image_base = match u16_at(&optional, 0)? {
        0x10B => u64::from(u32_at(&optional, 28)?),
        _ => u64::from(u32_at(&optional, 24)?) | u64::from(u32_at(&optional, 28)?) << 32,
    };
    let strings = string_table(&head);
    Some(DebugSections { image_base, list: dwarf_sections(&mut file, strings, &table) })
}

fn dwarf_sections(file: &mut File, strings: Option<u64>, table: &[u8]) -> Vec<DebugSection> {
    let one = |section: &[u8]| {
        let name = long_name(file, strings, section).filter(|name| name.starts_with(".debug_"))?;
        // Data behind the mapped bytes are padding.
        let bytes = u32_at(section, 8)?.min(u32_at(section, 16)?);
        Some(DebugSection { name, offset: u32_at(section, 20)?.into(), bytes: bytes.into() })
    };
    table.chunks_exact(40).filter_map(one).collect()
}

/// Offset of the string table with the long section names: behind the symbols, which have 18 bytes each.
fn string_table(head: &[u8]) -> Option<u64> {
    let (symbols, count) = (u32_at(head, 12)?, u32_at(head, 16)?);
    (symbols != 0).then(|| u64::from(symbols) + 18 * u64::from(count))
}

/// The name of a section if it is longer than 8 bytes: the header then has `/` and an offset in the string table.
fn long_name(file: &mut File, strings: Option<u64>, section: &[u8]) -> Option<String> {
    const LONGEST: usize = 24;
    let digits = section[..8].strip_prefix(b"/")?.split(|&byte| byte == 0).next()?;
    let place: u32 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let mut name = Vec::with_capacity(LONGEST);
    file.seek(SeekFrom::Start(strings? + u64::from(place))).ok()?;
    Read::by_ref(file).take(LONGEST as u64).read_to_end(&mut name).ok()?;
    String::from_utf8(name.split(|&byte| byte == 0).next()?.to_vec()).ok()
}

fn code_view(file: &mut File, entry: &[u8]) -> Option<CodeView> {
    const CODE_VIEW: u32 = 2;
    if u32_at(entry, 12)? != CODE_VIEW {
        return None;
    }
    let length = (u32_at(entry, 16)? as usize).min(24 + MAX_PATH);
    let data = bytes(file, u32_at(entry, 24)?.into(), length)?;
    if !data.starts_with(b"RSDS") {
        return None;
    }
    let path = data.get(24..)?.split(|&byte| byte == 0).next()?;
    Some(CodeView { guid: guid_at(&data, 4)?, age: u32_at(&data, 20)?, path: String::from_utf8_lossy(path).into_owned() })
}

/// Converts an RVA to a file offset.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_told_apart_by_what_is_known_of_them() {
        let file = Build { time_stamp: 7, size: 0x4FF0, checksum: 9 };
        let compare = |time_stamp, size, checksum| Build { time_stamp, size, checksum }.compare(&file);
        assert_eq!(compare(7, 0x5000, 9), Likeness::Same);
        assert_eq!(compare(7, 0x4FF0, 0), Likeness::Same);
        assert_eq!(compare(0, 0x5000, 9), Likeness::Same);
        assert_eq!(compare(0, 0x5000, 0), Likeness::SameSize);
        for (time_stamp, size, checksum) in [(8, 0x5000, 9), (7, 0x5000, 8), (0, 0x5000, 8), (0, 0x6000, 0), (7, 0x4000, 9)] {
            assert_eq!(compare(time_stamp, size, checksum), Likeness::Other);
        }
        let without = Build { checksum: 0, ..file };
        assert_eq!(file.compare(&without), Likeness::Other, "its linker wrote none");
        assert_eq!(Build { size: u64::MAX, ..file }.compare(&file), Likeness::Other);
    }

    /// Opening a pipe blocks until another process writes.
    #[cfg(unix)]
    #[test]
    fn a_pipe_in_place_of_an_image_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("a.dll");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || send.send(read(&pipe)));
        assert_eq!(receive.recv_timeout(std::time::Duration::from_secs(20)), Ok(None));
        assert_eq!(read(folder.path()), None);
    }
}
