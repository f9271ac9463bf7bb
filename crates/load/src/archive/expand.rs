//! Expands a stream of an archive into a temporary file, within a budget.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use super::Progress;
use crate::etl::Source;
use crate::format;
use crate::open_error::OpenError;

/// The limit of all expanded bytes: enough for any real recording, too little for an archive that was made to fill the disk.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: u64,
    total: u64,
}

impl Budget {
    /// The number of bytes that is always allowed.
    pub const FREE: u64 = 1 << 30;
    /// The allowed multiple of the archive's size. Traces with any content shrink by 5 to 30; deflate gives at most 1032.
    pub(crate) const RATIO: u64 = 200;

    /// The budget of an archive of `bytes` bytes.
    pub(crate) fn of_archive(bytes: u64) -> Self {
        let total = bytes.saturating_mul(Self::RATIO).max(Self::FREE);
        Self { left: total, total }
    }

    /// Checks that the size declared by the archive is within the budget.
    pub(super) fn check(self, archive: &str, declared: u64) -> Result<(), OpenError> {
        if declared <= self.left { Ok(()) } else { Err(self.exceeded(archive)) }
    }

    #[cfg(test)]
    pub(super) fn set_left(&mut self, left: u64) {
        self.left = left;
    }

    fn exceeded(self, archive: &str) -> OpenError {
        let most = format::bytes(self.total);
        let reason = format!(
            "its traces would take more than {most}, which no real recording does; if you trust it, unpack it and open the .etl files"
        );
        OpenError::Archive(archive.to_owned(), reason)
    }
}

/// A buffered reader of a source, for the libraries.
pub(super) type Reader<'s> = BufReader<Cursor<'s>>;

/// A source with a read position.
pub(super) struct Cursor<'s> {
    source: &'s Source,
    len: u64,
    at: u64,
}

/// A reader at the start of `source` that reads `ahead` bytes ahead.
pub(super) fn reader(source: &Source, ahead: usize) -> io::Result<Reader<'_>> {
    Ok(BufReader::with_capacity(ahead, Cursor { source, len: source.len()?, at: 0 }))
}

impl Read for Cursor<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read_at(buffer, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for Cursor<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// The expansion of a member of an archive.
pub(super) struct Expansion<'a> {
    pub(super) archive: &'a str,
    pub(super) budget: &'a mut Budget,
    /// Size of all members in bytes; `done` counts the bytes expanded so far.
    pub(super) total: u64,
    pub(super) done: &'a mut u64,
    pub(super) progress: &'a mut Progress<'a>,
}

/// The expanded data, and what was wrong with them.
pub(super) struct Expanded {
    pub(super) source: Source,
    pub(super) bytes: u64,
    pub(super) fault: Option<String>,
}

impl Expansion<'_> {
    /// Copies `from` into a temporary file, up to its end or its first fault.
    pub(super) fn run(&mut self, from: &mut dyn Read) -> Result<Expanded, OpenError> {
        let no_room = |e: io::Error| {
            let reason = format!("no room to expand it ({e}); free some space in the temporary folder, or unpack it elsewhere");
            OpenError::Archive(self.archive.to_owned(), reason)
        };
        let mut file = tempfile::tempfile().map_err(no_room)?;
        let mut chunk = vec![0; 256 << 10];
        let mut bytes = 0;
        let fault = loop {
            match from.read(&mut chunk) {
                Ok(0) => break None,
                Ok(n) => {
                    self.budget.left =
                        self.budget.left.checked_sub(n as u64).ok_or_else(|| self.budget.exceeded(self.archive))?;
                    file.write_all(&chunk[..n]).map_err(no_room)?;
                    bytes += n as u64;
                    *self.done += n as u64;
                    if !(self.progress)(*self.done, self.total.max(*self.done)) {
                        return Err(OpenError::Stopped);
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => break Some(e.to_string()),
            }
        };
        Ok(Expanded { source: source_of(file), bytes, fault })
    }
}

fn source_of(file: File) -> Source {
    Source::File(Arc::new(file))
}
