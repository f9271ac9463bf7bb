//! A file that is still being written: finds the buffers that came since the last look.
//!
//! A file is taken for complete only when its session header says when the session ended and how many
//! buffers it wrote; until then both are 0 in the files of [`Writer`](super::write::Writer) and of ETW.
//! The new buffers are returned as a [`TraceFile`] of their own, so everything that reads files reads
//! such parts, too.
//!
//! Cost of a look: the size of the file, its first 8 KiB, and the header of each new buffer.

use super::error::looks_like_etl;
use super::file::PLAIN;
use super::header::header_of;
use super::index::{Walked, walk_on};
use super::{BUFFER_HEADER, OpenError, SNIFF, SessionHeader, Source, TraceFile};
use crate::problem::Problems;

/// How far a growing file was read.
#[derive(Debug, Default)]
pub struct Growth {
    walked: Walked,
    /// Number of buffers that the session wrote, if its header says that it has ended.
    written: Option<u32>,
    /// Number of buffers found.
    found: u64,
}

/// Why a file cannot be followed any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lost {
    /// It has fewer bytes than it had.
    Shrunk,
    /// It belongs to another session now.
    Replaced,
    /// The system cannot read it.
    Unreadable,
}

impl Lost {
    /// The end of a sentence about the file.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Shrunk => "became shorter",
            Self::Replaced => "was replaced by another one",
            Self::Unreadable => "could not be read any more",
        }
    }
}

impl Growth {
    /// Starts to follow a file; no buffers are read yet. `None` if its session header is not written
    /// yet.
    pub fn begin(source: Source, name: String) -> Result<Option<(TraceFile, Self)>, OpenError> {
        let head = head(&source).map_err(|e| OpenError::from_io(name.clone(), e))?;
        if head.len() >= SNIFF && !looks_like_etl(&head) && head.iter().any(|&byte| byte != 0) {
            return Err(OpenError::not_a_trace(&name, &head));
        }
        let Some((header, _)) = header_of(&head) else {
            let is_there =
                super::u32_at(&head, 0).is_some_and(|size| head.len() as u64 >= u64::from(size).clamp(SNIFF as u64, HEAD));
            let refusal =
                || OpenError::Refused(format!("{name}: the session header is damaged; open the file when it grows no more"));
            return if is_there && head.iter().any(|&byte| byte != 0) { Err(refusal()) } else { Ok(None) };
        };
        let file = TraceFile {
            source,
            name,
            container: PLAIN,
            bytes: 0,
            header,
            buffers: Vec::new(),
            streams: 0,
            compression: None,
            problems: Problems::new(),
        };
        Ok(Some((file, Self::default())))
    }

    /// Looks for new buffers. Adds them to `file`, and returns them as a file of their own with only
    /// these buffers; `None` if there are none.
    pub fn go_on(&mut self, file: &mut TraceFile) -> Result<Option<TraceFile>, Lost> {
        // Read the header first: once it is complete, everything else is there.
        let head = head(&file.source).map_err(|_| Lost::Unreadable)?;
        let bytes = file.source.len().map_err(|_| Lost::Unreadable)?;
        if bytes < file.bytes {
            return Err(Lost::Shrunk);
        }
        let Some((header, written)) = header_of(&head) else { return Err(Lost::Replaced) };
        if !is_same_session(&header, &file.header) {
            return Err(Lost::Replaced);
        }
        (file.bytes, file.header) = (bytes, header);
        let buffers = walk_on(&mut self.walked, &file.source, bytes, &file.header);
        file.buffers.extend_from_slice(&buffers);
        (self.written, self.found) = (written, file.buffers.len() as u64);
        let part = (!buffers.is_empty()).then(|| file.part(buffers));
        file.compression = file.compression.or(part.as_ref().and_then(|part| part.compression));
        Ok(part)
    }

    /// Whether, at the last look, the header said that the session has ended and all its buffers were
    /// there.
    pub fn is_closed(&self) -> bool {
        self.written.is_some_and(|written| u64::from(written) == self.found)
    }

    /// Whether, at the last look, the header said that the session has ended. Its number of buffers may
    /// differ from that found: some may still come (a file that is being copied), and in some files it
    /// differs for good.
    pub fn says_closed(&self) -> bool {
        self.written.is_some()
    }

    /// The file as opening it finds it, limited to the bytes of the last look.
    pub fn whole(&self, file: &TraceFile) -> Result<TraceFile, OpenError> {
        TraceFile::from_source(file.source.part(0, file.bytes), file.name.clone())
    }
}

impl TraceFile {
    /// A copy of the file with only these buffers.
    pub fn part(&self, buffers: Vec<super::BufferInfo>) -> Self {
        let mut part = Self {
            source: self.source.clone(),
            name: self.name.clone(),
            header: self.header.clone(),
            buffers,
            problems: Problems::new(),
            ..*self
        };
        if part.compression.is_none() {
            part.find_compression();
        }
        part
    }

    /// Closes the file and keeps what was read of it.
    pub fn let_go(&mut self) {
        self.source = Source::Memory(&[]);
    }
}

/// Room for the header of a buffer and a session header with the two longest names.
const HEAD: u64 = BUFFER_HEADER as u64 + (8 << 10);

fn head(source: &Source) -> std::io::Result<Vec<u8>> {
    let mut head = vec![0; HEAD as usize];
    let n = source.read_at(&mut head, 0)?;
    head.truncate(n);
    Ok(head)
}

/// Whether two headers are of one session: the fields that a running session never changes are equal.
pub fn is_same_session(a: &SessionHeader, b: &SessionHeader) -> bool {
    let fixed = |header: &SessionHeader| (header.start_ticks, header.start_time, header.frequency, header.logger.clone());
    fixed(a) == fixed(b)
}

#[cfg(test)]
mod tests;
