//! The file of a PDB as its reader may see it: no view is larger than the file, all views together are not much
//! larger, and reading ends when the result is not wanted any more. So a damaged header cannot fill the memory with
//! what it claims.

use std::fmt;
use std::fs;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pdb::{SourceSlice, SourceView};

use super::PdbError;
use super::guard::Work;
use crate::paths::open_regular;

/// Maximum bytes of a PDB; larger ones are refused, because reading one takes up to three times its size.
pub(super) const MAX_BYTES: u64 = 4 << 30;

/// Maximum bytes that are read, as a multiple of the file's size. Each stream is read once, some twice.
const READINGS: u64 = 3;

/// Bytes that are read at a time: a share may need a second for them, and then it is checked whether they are still wanted.
const PIECE: usize = 1 << 20;

/// A PDB that can be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PdbFile {
    /// A file.
    Path(PathBuf),
    /// Bytes in memory.
    Bytes(Arc<[u8]>),
}

impl PdbFile {
    /// Its length in bytes; 0 if that is not known.
    pub fn len(&self) -> u64 {
        match self {
            Self::Path(path) => fs::metadata(path).map_or(0, |meta| meta.len()),
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its path, if it is a file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            Self::Bytes(_) => None,
        }
    }
}

impl fmt::Display for PdbFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Bytes(_) => f.write_str("(in memory)"),
        }
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for PdbFile {
    fn from(path: &P) -> Self {
        Self::Path(path.as_ref().to_owned())
    }
}

/// A source of bytes.
trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// The file of a PDB, with limits for its reader.
pub(super) struct BoundedFile {
    file: Box<dyn ReadSeek>,
    len: u64,
    left: u64,
    work: Work,
}

impl BoundedFile {
    pub(super) fn open(file: &PdbFile, work: &Work) -> Result<Self, PdbError> {
        let (mut file, len): (Box<dyn ReadSeek>, u64) = match file {
            PdbFile::Path(path) => {
                let file = open_regular(path).map_err(|error| match error.kind() {
                    io::ErrorKind::InvalidInput => PdbError::NoPdb, // a folder, a pipe, a device
                    _ => error.into(),
                })?;
                let len = file.metadata()?.len();
                (Box::new(file), len)
            }
            PdbFile::Bytes(bytes) => (Box::new(Cursor::new(Arc::clone(bytes))), bytes.len() as u64),
        };
        if len > MAX_BYTES {
            return Err(PdbError::TooLarge(len >> 20, MAX_BYTES >> 20));
        }
        let mut magic = Vec::new();
        file.by_ref().take(HEADER).read_to_end(&mut magic)?;
        check_kind(&magic)?;
        if len < claimed(&magic) {
            return Err(PdbError::Damaged("it ends too early".to_owned()));
        }
        Ok(Self { file, len, left: len.saturating_mul(READINGS), work: work.clone() })
    }
}

/// Bytes of the header up to the number of pages.
const HEADER: u64 = 44;

/// Length of the file according to its header: bytes of a page at 32, number of pages at 40.
fn claimed(header: &[u8]) -> u64 {
    let number = |at: usize| header.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(u32::MAX, u32::from_le_bytes);
    u64::from(number(32)).saturating_mul(number(40).into())
}

/// Refuses files that cannot be read, by their first bytes and with the reason.
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

impl fmt::Debug for BoundedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BoundedFile({} bytes)", self.len)
    }
}

impl<'s> pdb::Source<'s> for BoundedFile {
    fn view(&mut self, slices: &[SourceSlice]) -> Result<Box<dyn SourceView<'s> + Send + Sync>, io::Error> {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let total: u64 = slices.iter().map(|slice| slice.size as u64).fold(0, u64::saturating_add);
        // The header is requested as a whole page, however small the file is.
        if total > self.len.max(4096) {
            return Err(damaged("a stream is larger than the file"));
        }
        self.left = self.left.checked_sub(total).ok_or_else(|| damaged("its streams overlap"))?;
        let mut bytes = vec![0; total as usize];
        let mut at = 0;
        for slice in slices {
            self.file.seek(SeekFrom::Start(slice.offset))?;
            let end = at + slice.size;
            while at < end {
                if self.work.is_stopped() {
                    return Err(io::Error::other("stopped"));
                }
                let piece = end.min(at + PIECE);
                self.file.read_exact(&mut bytes[at..piece])?;
                self.work.count((piece - at) as u64);
                at = piece;
            }
        }
        Ok(Box::new(View(bytes)))
    }
}

struct View(Vec<u8>);

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View({} bytes)", self.0.len())
    }
}

impl SourceView<'_> for View {
    fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use pdb::Source;

    use super::*;
    use crate::guard::{self, Stop};

    /// A share with a large file of zeros; the user changes his mind after some of it was read.
    struct Share {
        read: Arc<AtomicU64>,
        until: u64,
        stop: Stop,
    }

    impl Read for Share {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(0);
            let read = self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
            if read > self.until {
                self.stop.set();
            }
            Ok(buffer.len())
        }
    }

    impl Seek for Share {
        fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
            Ok(0)
        }
    }

    #[test]
    fn a_stream_of_a_large_file_is_read_in_pieces_until_nobody_wants_it() {
        let (read, stop, len) = (Arc::new(AtomicU64::new(0)), Stop::default(), 1 << 30);
        let share = Share { read: Arc::clone(&read), until: 8 << 20, stop: stop.clone() };
        let result = guard::run(guard::limit_of(len), &stop, move |work| {
            let mut file = BoundedFile { file: Box::new(share), len, left: len, work: work.clone() };
            Ok(file.view(&[SourceSlice { offset: 0, size: len as usize }]).is_ok())
        });
        assert!(matches!(result, Ok(false) | Err(PdbError::Stopped)), "{result:?}");
        assert!((8 << 20..16 << 20).contains(&read.load(Ordering::Relaxed)), "{} of {len} bytes", read.load(Ordering::Relaxed));
    }
}
