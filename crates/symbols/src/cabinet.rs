//! Compressed files of symbol stores (`name.pd_`): a Microsoft cabinet with one file,
//! compressed with MSZIP or LZX.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, Write};
use std::path::Path;

use super::PdbError;
use super::guard::{self, Stop, Work};
use super::source::MAX_BYTES;
use crate::paths::open_regular;

/// First bytes of a cabinet.
#[cfg(feature = "symsrv")]
pub(super) const MAGIC: &[u8] = b"MSCF";

/// Expands the first file of a cabinet to `to`, which must not exist. `progress` is called with the number of
/// expanded bytes.
pub(super) fn expand(from: &Path, to: &Path, stop: &Stop, progress: &dyn Fn(u64)) -> Result<(), PdbError> {
    let (cabinet, to) = (open_regular(from)?, to.to_owned());
    let limit = guard::limit_of(cabinet.metadata()?.len());
    guard::run_watched(limit, stop, progress, move |work| copy_first(cabinet, || Ok(File::create_new(&to)?), work).map(drop))
}

/// Expands the first file of a cabinet in memory.
pub(super) fn expand_bytes(cabinet: &'static [u8], stop: &Stop) -> Result<Vec<u8>, PdbError> {
    let limit = guard::limit_of(cabinet.len() as u64);
    guard::run(limit, stop, move |work| copy_first(Cursor::new(cabinet), || Ok(Vec::new()), work))
}

/// Writes the first file of a cabinet to the result of `open`, which is called once the file is known to be there.
fn copy_first<W: Write>(
    cabinet: impl Read + Seek,
    open: impl FnOnce() -> Result<W, PdbError>,
    work: &Work,
) -> Result<W, PdbError> {
    let damaged = |error: io::Error| PdbError::Damaged(format!("it cannot be expanded: {error}"));
    let mut cabinet = cab::Cabinet::new(cabinet).map_err(damaged)?;
    let mut folders = cabinet.folder_entries().flat_map(|folder| folder.file_entries().map(move |file| (folder, file)));
    let (folder, file) = folders.next().ok_or_else(|| PdbError::Damaged("it is an empty cabinet".to_owned()))?;
    if let cab::CompressionType::Quantum(..) = folder.compression_type() {
        return Err(PdbError::Kind("a cabinet compressed with Quantum, which is not supported"));
    }
    let name = file.name().to_owned();
    let mut reader = cabinet.read_file(&name).map_err(damaged)?.take(MAX_BYTES);
    let mut out = open()?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        work.check()?;
        let length = reader.read(&mut buffer).map_err(damaged)?;
        if length == 0 {
            return Ok(out);
        }
        out.write_all(&buffer[..length])?;
        work.count(length as u64);
    }
}
