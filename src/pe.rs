//! Images on disk: where a path of the kernel's leads, and which build a file is. For
//! traces that do not say it, and for recordings, which shall.
//!
//! Format: PE/COFF (Microsoft, "PE Format"): headers, section table, debug directory
//! with a CodeView entry "RSDS": GUID, age, path of the PDB.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::etl::{Guid, guid_at, u16_at, u32_at};

/// What an image says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    /// Link time stamp.
    pub time_stamp: u32,
    /// Bytes mapped.
    pub size: u32,
    /// Its PDB, if it names one.
    pub pdb: Option<CodeView>,
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

/// Longest path of a PDB, sections and debug entries that are looked at.
const MAX_PATH: usize = 4096;
const MAX_SECTIONS: usize = 96;
const MAX_ENTRIES: usize = 64;

/// Reads the headers of an image; `None` if it is none.
pub fn read(path: &Path) -> Option<Image> {
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

/// Where a path leads on this machine that the kernel gave an image. `volumes` are NT
/// paths of volumes and their drives.
pub fn on_disk(path: &str, volumes: &[(String, String)]) -> Option<PathBuf> {
    let strip = |prefix: &str| {
        let head = path.get(..prefix.len()).filter(|head| head.eq_ignore_ascii_case(prefix))?;
        path.get(head.len()..)
    };
    for (nt, drive) in volumes {
        if let Some(rest) = strip(nt).filter(|rest| nt.ends_with('\\') || rest.starts_with('\\')) {
            return local_path(&format!("{}\\{}", drive.trim_end_matches('\\'), rest.trim_start_matches('\\')));
        }
    }
    if let Some(rest) = strip(r"\SystemRoot\") {
        return local_path(&format!(r"{}\{rest}", std::env::var("SystemRoot").ok()?));
    }
    local_path(strip(r"\??\").unwrap_or(path))
}

/// A path that names the same file wherever we are; another system's does not.
pub fn absolute_path(path: &str) -> Option<PathBuf> {
    Some(PathBuf::from(path)).filter(|path| path.is_absolute())
}

/// The same for a path that a trace names: traces come from others, and whoever opens
/// a share tells its server who asks.
pub fn local_path(path: &str) -> Option<PathBuf> {
    let is_slash = |byte: Option<&u8>| matches!(byte, Some(b'\\' | b'/'));
    let is_share = is_slash(path.as_bytes().first()) && is_slash(path.as_bytes().get(1));
    absolute_path(path).filter(|_| !is_share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_found_where_their_volume_is_mounted() {
        let root = if cfg!(windows) { r"C:" } else { "/mnt" };
        let volumes = vec![(r"\Device\HarddiskVolume3".to_owned(), root.to_owned())];
        let found = on_disk(r"\device\harddiskvolume3\Test\a.exe", &volumes);
        assert_eq!(found, local_path(&format!(r"{root}\Test\a.exe")));
        assert_eq!(on_disk(r"\Device\HarddiskVolume33\a.exe", &volumes), local_path(r"\Device\HarddiskVolume33\a.exe"));
        for share in [r"\\server\share\a.exe", "//server/share/a.exe", r"\\?\UNC\server\a.exe"] {
            assert_eq!(on_disk(share, &volumes), None);
        }
        if !cfg!(windows) {
            assert_eq!(on_disk("/opt/a.exe", &volumes), Some("/opt/a.exe".into()));
            assert_eq!(on_disk(r"C:\a.exe", &volumes), None);
        }
    }
}
