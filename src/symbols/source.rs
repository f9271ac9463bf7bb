//! A PDB's file as its reader may see it: no view is larger than the file, all views
//! together are not much larger, and reading ends when nobody wants it any more.
//! So what a damaged header claims cannot fill the memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use pdb::{SourceSlice, SourceView};

use super::{PdbError, Stop};

/// Larger PDBs are refused: reading one takes up to three times its size.
pub(super) const MAX_BYTES: u64 = 4 << 30;

/// How often the whole file may be read. Each stream is read once, some twice.
const READINGS: u64 = 3;

/// See the module.
#[derive(Debug)]
pub(super) struct BoundedFile {
    file: File,
    len: u64,
    left: u64,
    stop: Stop,
}

impl BoundedFile {
    pub(super) fn open(path: &Path, stop: &Stop) -> Result<Self, PdbError> {
        // Asked before it is opened: Windows opens no folder, and a pipe would wait.
        if !path.metadata()?.is_file() {
            return Err(PdbError::NoPdb);
        }
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        if len > MAX_BYTES {
            return Err(PdbError::TooLarge(len >> 20, MAX_BYTES >> 20));
        }
        let mut magic = Vec::new();
        Read::by_ref(&mut file).take(HEADER).read_to_end(&mut magic)?;
        check_kind(&magic)?;
        if len < claimed(&magic) {
            return Err(PdbError::Damaged("it ends too early".to_owned()));
        }
        Ok(Self { file, len, left: len.saturating_mul(READINGS), stop: stop.clone() })
    }
}

/// Bytes of the header up to the number of pages.
const HEADER: u64 = 44;

/// Length of the file as its header tells it: bytes of a page at 32, pages at 40.
fn claimed(header: &[u8]) -> u64 {
    let number = |at: usize| header.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(u32::MAX, u32::from_le_bytes);
    u64::from(number(32)).saturating_mul(number(40).into())
}

/// Tells by the first bytes what cannot be read, and why.
pub(super) fn check_kind(magic: &[u8]) -> Result<(), PdbError> {
    const KINDS: [(&[u8], &str); 4] = [
        (b"BSJB", "a portable PDB, which describes .NET code only"),
        (b"Microsoft MSFZ Container", "a PDB in the compressed container MSFZ, which is not supported"),
        (b"Microsoft C/C++ program database 2.00", "a PDB of the format before Visual C++ 7, which is not supported"),
        (b"MSCF", "a compressed file (CAB); expand it first, or give it in a symbol store"),
    ];
    for (start, kind) in KINDS {
        if magic.starts_with(&start[..start.len().min(32)]) {
            return Err(PdbError::Kind(kind));
        }
    }
    if magic.starts_with(b"Microsoft C/C++ MSF 7.00\r\n\x1aDS") { Ok(()) } else { Err(PdbError::NoPdb) }
}

impl<'s> pdb::Source<'s> for BoundedFile {
    fn view(&mut self, slices: &[SourceSlice]) -> Result<Box<dyn SourceView<'s> + Send + Sync>, io::Error> {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        if self.stop.is_set() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "stopped"));
        }
        let total: u64 = slices.iter().map(|slice| slice.size as u64).fold(0, u64::saturating_add);
        // The header is asked for as a whole page, however small the file is.
        if total > self.len.max(4096) {
            return Err(damaged("a stream is larger than the file"));
        }
        self.left = self.left.checked_sub(total).ok_or_else(|| damaged("its streams overlap"))?;
        let mut bytes = vec![0; total as usize];
        let mut at = 0;
        for slice in slices {
            self.file.seek(SeekFrom::Start(slice.offset))?;
            self.file.read_exact(&mut bytes[at..at + slice.size])?;
            at += slice.size;
        }
        Ok(Box::new(View(bytes)))
    }
}

struct View(Vec<u8>);

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "View({} bytes)", self.0.len())
    }
}

impl SourceView<'_> for View {
    fn as_slice(&self) -> &[u8] {
        &self.0
    }
}
