//! Where bytes come from: a file or a part of one, read by position, or memory (the
//! built-in demo).
//!
//! Positioned reads keep no cursor, so many workers share one handle, and a file
//! that shrinks under us gives a short read instead of a fault, as a mapping would.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::OpenError;

/// Bytes that can be read by position from any thread.
#[derive(Clone, Debug)]
pub enum Source {
    /// An open file.
    File(Arc<File>),
    /// A part of a file: a member that an archive stores uncompressed.
    Part {
        /// The file.
        file: Arc<File>,
        /// Where the part begins.
        start: u64,
        /// Its length.
        len: u64,
    },
    /// Bytes that live as long as the program.
    Memory(&'static [u8]),
}

impl Source {
    /// Opens a file for reading and lets other programs go on writing, renaming
    /// and deleting it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(windows)]
        {
            use std::os::windows::fs::OpenOptionsExt;
            const FILE_SHARE_READ_WRITE_DELETE: u32 = 1 | 2 | 4;
            options.share_mode(FILE_SHARE_READ_WRITE_DELETE);
        }
        let file = options.open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(Self::File(Arc::new(file)))
    }

    /// Opens a path that a user named; the error says clearly why it cannot be opened.
    pub fn open_file(path: &Path) -> Result<Self, OpenError> {
        let name = path.display().to_string();
        if path.is_dir() {
            return Err(OpenError::Directory(name)); // Windows would say "no permission"
        }
        // Opening a pipe would wait for a writer.
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(OpenError::NotATrace(name, "a device or a pipe"));
        }
        Self::open(path).map_err(|e| OpenError::from_io(name, e))
    }

    /// A part of this source; it must lie within.
    pub fn part(&self, start: u64, len: u64) -> Self {
        match self {
            Self::File(file) => Self::Part { file: Arc::clone(file), start, len },
            Self::Part { file, start: outer, .. } => {
                Self::Part { file: Arc::clone(file), start: outer.saturating_add(start), len }
            }
            Self::Memory(bytes) => {
                let start = usize::try_from(start).unwrap_or(usize::MAX).min(bytes.len());
                let len = usize::try_from(len).unwrap_or(usize::MAX).min(bytes.len() - start);
                Self::Memory(&bytes[start..start + len])
            }
        }
    }

    /// Length in bytes now; a growing file gives more later.
    pub fn len(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Part { len, .. } => Ok(*len),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Fills `buffer` from `offset` and returns how many bytes there were: fewer
    /// than asked for only at the end.
    pub fn read_at(&self, mut buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while !buffer.is_empty() {
            match self.read_some(buffer, offset + done as u64) {
                Ok(0) => break,
                Ok(n) => {
                    done += n;
                    buffer = &mut buffer[n..];
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }

    fn read_some(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => read_file(file, buffer, offset),
            Self::Part { file, start, len } => {
                let n = len.saturating_sub(offset).min(buffer.len() as u64) as usize;
                if n == 0 { Ok(0) } else { read_file(file, &mut buffer[..n], start.saturating_add(offset)) }
            }
            Self::Memory(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let n = buffer.len().min(bytes.len() - start);
                buffer[..n].copy_from_slice(&bytes[start..start + n]);
                Ok(n)
            }
        }
    }
}

#[cfg(unix)]
fn read_file(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_file(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stop_at_the_end() {
        let source = Source::Memory(b"highwater");
        let mut buffer = [0; 6];
        assert_eq!(source.read_at(&mut buffer, 4).unwrap(), 5);
        assert_eq!(&buffer[..5], b"water");
        assert_eq!(source.read_at(&mut buffer, u64::MAX / 2).unwrap(), 0);
    }

    #[test]
    fn a_part_of_a_file_ends_where_it_is_said_to() {
        use std::io::Write;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"before|highwater|behind").unwrap();
        let source = Source::Part { file: Arc::new(file), start: 7, len: 9 };
        let mut buffer = [0; 20];
        assert_eq!(source.len().unwrap(), 9);
        assert_eq!(source.read_at(&mut buffer, 4).unwrap(), 5);
        assert_eq!(&buffer[..5], b"water");
        assert_eq!(source.read_at(&mut buffer, 9).unwrap(), 0);
        assert_eq!(source.read_at(&mut buffer, u64::MAX).unwrap(), 0);
    }
}
