//! Where bytes come from: a file read by position, or memory (the built-in demo).
//!
//! Positioned reads keep no cursor, so many workers share one handle, and a file
//! that shrinks under us gives a short read instead of a fault, as a mapping would.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Bytes that can be read by position from any thread.
#[derive(Debug)]
pub enum Source {
    /// An open file.
    File(File),
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
        Ok(Self::File(file))
    }

    /// Length in bytes now; a growing file gives more later.
    pub fn len(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
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
            #[cfg(unix)]
            Self::File(file) => std::os::unix::fs::FileExt::read_at(file, buffer, offset),
            #[cfg(windows)]
            Self::File(file) => std::os::windows::fs::FileExt::seek_read(file, buffer, offset),
            Self::Memory(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let n = buffer.len().min(bytes.len() - start);
                buffer[..n].copy_from_slice(&bytes[start..start + n]);
                Ok(n)
            }
        }
    }
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
}
