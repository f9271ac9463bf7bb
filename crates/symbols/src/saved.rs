//! Resolved names on disk, so that the next trace with the same build of a module shows them at once.
//!
//! One file per module, in the layout of a symbol store: the arrays of [`ModuleNames`] as they are in memory, little
//! endian, with a checksum. A file that is incomplete or of another form is as good as none.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;

use super::{PdbKey, cache, depot};
use crate::names::{ModuleNames, NameTables, RawFrame};
use crate::paths::open_regular;

const MAGIC: &[u8; 8] = b"HWNAMES1";

/// Maximum bytes of all files together.
const LIMIT: u64 = 512 << 20;

/// Maximum bytes of a file; larger ones are not ours.
const MAX_FILE: u64 = 1 << 30;

/// Saved names, and where they came from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Saved {
    pub(super) names: ModuleNames,
    /// Where the PDB came from.
    pub(super) source: String,
    /// Path of the PDB.
    pub(super) file: String,
    pub(super) file_bytes: u64,
    pub(super) fastlink: bool,
}

/// A folder of saved names.
#[derive(Clone, Debug)]
pub(super) struct SavedNames(PathBuf);

impl SavedNames {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    fn place(&self, pdb: &str, key: PdbKey) -> PathBuf {
        depot::place(&self.0, &format!("{pdb}.names"), &key.folder())
    }

    /// Loads the names that were saved for a PDB, which is given by its file name.
    pub(super) fn load(&self, pdb: &str, key: PdbKey) -> Option<Saved> {
        let path = self.place(pdb, key);
        let mut bytes = Vec::new();
        open_regular(&path).ok()?.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
        let saved = decode(&bytes)?;
        cache::touch(&path);
        Some(saved)
    }

    /// Saves names in place of those that were there.
    pub(super) fn save(&self, pdb: &str, key: PdbKey, saved: &Saved) -> io::Result<()> {
        let path = self.place(pdb, key);
        let done = depot::put(&path, |draft| fs::write(draft, encode(saved)));
        depot::trim(&self.0, LIMIT, &path);
        done
    }

    /// Removes saved names.
    pub(super) fn remove(&self, pdb: &str, key: PdbKey) {
        let _ = fs::remove_file(self.place(pdb, key));
    }
}

fn encode(saved: &Saved) -> Vec<u8> {
    let names = saved.names.tables();
    let mut out = MAGIC.to_vec();
    let mut number = |n: u32| out.extend_from_slice(&n.to_le_bytes());
    let lengths = [names.addresses.len(), names.frames.len(), names.sites.len(), names.ends.len(), names.text.len()];
    lengths.iter().for_each(|&length| number(length as u32));
    for &(rva, end) in names.addresses.iter().chain(&names.sites) {
        number(rva);
        number(end);
    }
    for frame in &names.frames {
        [frame.function, frame.file, frame.line].into_iter().for_each(&mut number);
    }
    names.ends.iter().copied().for_each(&mut number);
    number(u32::from(saved.fastlink));
    number(saved.source.len() as u32);
    number(saved.file.len() as u32);
    out.extend_from_slice(&saved.file_bytes.to_le_bytes());
    for text in [&names.text, &saved.source, &saved.file] {
        out.extend_from_slice(text.as_bytes());
    }
    let sum = crc32fast::hash(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    out
}

/// Reads from the front of some bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(front)
    }

    fn numbers<const N: usize>(&mut self, count: usize) -> Option<impl Iterator<Item = [u32; N]> + 'a> {
        let bytes = self.take(count.checked_mul(4 * N)?)?;
        let number = |bytes: &[u8], i: usize| u32::from_le_bytes([0, 1, 2, 3].map(|b| bytes[4 * i + b]));
        Some(bytes.chunks_exact(4 * N).map(move |row| std::array::from_fn(|i| number(row, i))))
    }

    fn text(&mut self, length: u32) -> Option<String> {
        std::str::from_utf8(self.take(length as usize)?).ok().map(str::to_owned)
    }
}

fn decode(bytes: &[u8]) -> Option<Saved> {
    let (body, sum) = bytes.split_last_chunk::<4>()?;
    let mut reader = Reader(body.strip_prefix(MAGIC)?);
    if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
        return None;
    }
    let [addresses, frames, sites, ends, text] = reader.numbers::<5>(1)?.next()?;
    let pair = |[a, b]: [u32; 2]| (a, b);
    let mut names = NameTables {
        addresses: reader.numbers(addresses as usize)?.map(pair).collect(),
        sites: reader.numbers(sites as usize)?.map(pair).collect(),
        frames: reader.numbers(frames as usize)?.map(|[function, file, line]| RawFrame { function, file, line }).collect(),
        ends: reader.numbers(ends as usize)?.map(|[end]| end).collect(),
        text: String::new(),
    };
    let [fastlink, source, file] = reader.numbers(1)?.next()?;
    let file_bytes = u64::from_le_bytes(reader.take(8)?.try_into().ok()?);
    names.text = reader.text(text)?;
    let (source, file) = (reader.text(source)?, reader.text(file)?);
    // The checksum protects against faults of the disk, not against whoever wrote the file.
    let names = ModuleNames::from_tables(names)?;
    reader.0.is_empty().then_some(Saved { names, source, file, file_bytes, fastlink: fastlink != 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::Guid;
    use crate::names::{Frame, NamesBuilder};

    fn some() -> Saved {
        let mut builder = NamesBuilder::default();
        builder.add(0x10, [Frame { function: "größe", file: Some("a.cpp"), line: Some(3) }]);
        builder.add(0x20, []);
        builder.add_site(0x11, "Foo");
        let names = builder.finish();
        Saved { names, source: "/store".to_owned(), file: "/store/a.pdb".to_owned(), file_bytes: 7, fastlink: true }
    }

    #[test]
    fn what_is_saved_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let saved = SavedNames::new(folder.path().to_owned());
        let key = PdbKey { guid: Guid::from_bytes([3; 16]), age: 1 };
        assert_eq!(saved.load("a.pdb", key), None);
        saved.save("a.pdb", key, &some()).unwrap();
        saved.save("a.pdb", key, &some()).unwrap();
        assert_eq!(saved.load("a.pdb", key), Some(some()));
        assert_eq!(saved.load("a.pdb", PdbKey { age: 2, ..key }), None);
        saved.remove("a.pdb", key);
        assert_eq!(saved.load("a.pdb", key), None);
        assert_eq!(decode(&encode(&Saved::default())), Some(Saved::default()));
    }

    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        let bytes = encode(&some());
        for i in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[i] ^= 0x41;
            assert_eq!(decode(&damaged), None, "byte {i}");
            assert_eq!(decode(&bytes[..i]), None, "the first {i} bytes");
            // A damaged file with a correct checksum is read as it is, or refused.
            let body = damaged.len() - 4;
            let sum = crc32fast::hash(&damaged[..body]);
            damaged[body..].copy_from_slice(&sum.to_le_bytes());
            if let Some(saved) = decode(&damaged) {
                for rva in [0x10, 0x20] {
                    saved.names.frames(rva).into_iter().flatten().for_each(|frame| assert!(frame.function.len() < 100));
                }
            }
        }
    }
}
