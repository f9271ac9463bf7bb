//! One `.etl` file: what it is, its buffers in file order, and one buffer at a
//! time, expanded, into memory that the caller reuses.
//!
//! Opening reads each buffer's header only (one small read a buffer). Nothing
//! that the session header claims is trusted for control flow: the chain of
//! buffer sizes is walked to the end of the file.

use std::io;
use std::path::Path;

use thiserror::Error;

use super::{BUFFER_HEADER, BufferInfo, EventId, Events, MAX_BUFFER, SessionHeader, Source, mode, u8_at, u16_at, u32_at, xpress};
use crate::problem::{ProblemKind, Problems};

/// Why nothing of a file can be read. Each message is one sentence for people and
/// names the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no such file.
    #[error("{0}: there is no such file; check the path")]
    NotFound(String),
    /// It is a directory.
    #[error("{0}: this is a directory; name an .etl file in it")]
    Directory(String),
    /// No right to read it.
    #[error("{0}: no permission to read this file; copy it or ask for access")]
    Denied(String),
    /// It has no bytes.
    #[error("{0}: the file is empty; record the trace again")]
    Empty(String),
    /// It is something else.
    #[error("{0}: this is not an ETW trace, but {1}; open an .etl file")]
    NotATrace(String, &'static str),
    /// Its clock cannot be compared with that of the files before it.
    #[error("{0}: {1}; open it on its own")]
    OtherCapture(String, String),
    /// The system could not read it.
    #[error("{0}: the system could not read the file ({1})")]
    Io(String, io::Error),
}

/// An open file and where its buffers are.
#[derive(Debug)]
pub struct TraceFile {
    source: Source,
    /// As the user named it.
    pub name: String,
    /// Length when it was opened.
    pub bytes: u64,
    /// What the session says of itself.
    pub header: SessionHeader,
    /// All buffers, in file order, the header buffer first.
    pub buffers: Vec<BufferInfo>,
    /// What was wrong with the chain of buffers.
    pub problems: Problems,
}

/// One expanded buffer in reused memory.
#[derive(Debug, Default)]
pub struct ReadBuffer {
    raw: Vec<u8>,
    expanded: Vec<u8>,
    end: usize,
    in_expanded: bool,
}

impl ReadBuffer {
    /// The events, in the order of the buffer.
    pub fn events(&self) -> Events<'_> {
        let bytes = if self.in_expanded { &self.expanded } else { &self.raw };
        Events::new(&bytes[..self.end.min(bytes.len())])
    }
}

impl TraceFile {
    /// Opens `path` and finds its buffers.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let name = path.display().to_string();
        if path.is_dir() {
            return Err(OpenError::Directory(name)); // Windows would say "no permission"
        }
        // Opening a pipe would wait for a writer.
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(OpenError::NotATrace(name, "a device or a pipe"));
        }
        match Source::open(path) {
            Ok(source) => Self::from_source(source, name),
            Err(e) => Err(open_error(name, e)),
        }
    }

    /// The same for bytes that are already at hand.
    pub fn from_source(source: Source, name: String) -> Result<Self, OpenError> {
        let bytes = source.len().map_err(|e| open_error(name.clone(), e))?;
        // Room for the largest possible session header event.
        let mut head = vec![0; 68 << 10];
        let n = source.read_at(&mut head, 0).map_err(|e| open_error(name.clone(), e))?;
        head.truncate(n);
        if bytes == 0 || n == 0 {
            return Err(OpenError::Empty(name));
        }
        if !looks_like_etl(&head) {
            return Err(OpenError::NotATrace(name, what_is_it(&head)));
        }
        let mut problems = Problems::default();
        let header = session_header(&head).unwrap_or_else(|| {
            problems.add(ProblemKind::DamagedHeader, &name, 0, "the session header is damaged; a 10 MHz clock is assumed");
            fallback_header()
        });
        let mut file = Self { source, name, bytes, header, buffers: Vec::new(), problems };
        file.index_buffers();
        Ok(file)
    }

    /// Walks the chain of buffer sizes to the end of the file. Where it breaks in a
    /// file with buffers of one size, it goes on at the next place where one is due.
    fn index_buffers(&mut self) {
        let stride = u64::from(self.header.buffer_size);
        let mut head = [0; BUFFER_HEADER];
        let mut offset = 0;
        let mut broken = false;
        while offset < self.bytes {
            let n = self.source.read_at(&mut head, offset).unwrap_or(0);
            if n < BUFFER_HEADER {
                self.problem(ProblemKind::TruncatedBuffer, offset, "the file ends inside a buffer header");
                break;
            }
            if let Some(info) = BufferInfo::parse(&head, offset) {
                offset += u64::from(info.size);
                self.buffers.push(info);
                broken = false;
                continue;
            }
            if !broken {
                self.problem(ProblemKind::BrokenChain, offset, "no buffer where one is due; looking for the next one");
            }
            broken = true;
            let can_resume =
                stride >= BUFFER_HEADER as u64 && offset.is_multiple_of(stride) && self.header.mode & mode::COMPRESSED == 0;
            if !can_resume {
                break;
            }
            offset += stride;
        }
    }

    fn problem(&mut self, kind: ProblemKind, offset: u64, detail: &str) {
        self.problems.add(kind, &self.name, offset, detail);
    }

    /// Reads and expands one buffer into `into`. What can be saved of a damaged one
    /// is there afterwards; the rest is in `problems`.
    pub fn read_buffer(&self, info: &BufferInfo, into: &mut ReadBuffer, problems: &mut Problems) {
        let size = info.size as usize;
        // A damaged size must not take more memory than the file has bytes.
        let there = usize::try_from(self.bytes.saturating_sub(info.offset)).unwrap_or(usize::MAX);
        into.raw.resize(size.min(there), 0);
        into.in_expanded = info.is_compressed();
        into.expanded.clear();
        into.end = 0;
        let n = match self.source.read_at(&mut into.raw, info.offset) {
            Ok(n) => n,
            Err(e) => {
                problems.add(
                    ProblemKind::ReadFailed,
                    &self.name,
                    info.offset,
                    format!("the system could not read this buffer: {e}"),
                );
                return;
            }
        };
        into.raw.truncate(n);
        if n < size {
            let detail = format!("the file ends {} bytes before the end of this buffer", size - n);
            problems.add(ProblemKind::TruncatedBuffer, &self.name, info.offset, detail);
        }
        if n <= BUFFER_HEADER {
            return;
        }
        if info.is_compressed() {
            self.expand(info, into, problems);
            return;
        }
        let (end, plausible) = info.valid_end(size);
        if !plausible {
            problems.add(
                ProblemKind::DamagedEvent,
                &self.name,
                info.offset,
                "the buffer header does not say where its data ends",
            );
        }
        into.end = end.min(n);
    }

    fn expand(&self, info: &BufferInfo, into: &mut ReadBuffer, problems: &mut Problems) {
        let capacity = match self.header.buffer_size as usize {
            size @ BUFFER_HEADER..=MAX_BUFFER => size,
            _ => MAX_BUFFER,
        };
        let (end, plausible) = info.valid_end(capacity);
        if !plausible {
            problems.add(
                ProblemKind::DamagedCompression,
                &self.name,
                info.offset,
                "the buffer header does not say how much data it holds",
            );
            return;
        }
        let input = &into.raw[BUFFER_HEADER..];
        into.expanded.extend_from_slice(&into.raw[..BUFFER_HEADER]);
        let result = xpress::decompress(input, &mut into.expanded, end - BUFFER_HEADER);
        into.end = into.expanded.len();
        let complete = into.raw.len() == info.size as usize;
        let fault = match result {
            Ok(used) if used == input.len() || !complete => return,
            Ok(used) => format!("{} bytes are left over after expanding", input.len() - used),
            Err(_) if !complete => return, // already reported as truncated
            Err(e) => format!("only {} of {} bytes could be expanded", e.good_bytes(), end - BUFFER_HEADER),
        };
        problems.add(ProblemKind::DamagedCompression, &self.name, info.offset, fault);
    }
}

fn open_error(name: String, e: io::Error) -> OpenError {
    match e.kind() {
        io::ErrorKind::NotFound => OpenError::NotFound(name),
        io::ErrorKind::IsADirectory => OpenError::Directory(name),
        io::ErrorKind::PermissionDenied => OpenError::Denied(name),
        _ => OpenError::Io(name, e),
    }
}

/// Cheap test on the first bytes: a header buffer with a session header event.
fn looks_like_etl(head: &[u8]) -> bool {
    let size_fits = u32_at(head, 0).is_some_and(|n| (BUFFER_HEADER..=MAX_BUFFER).contains(&(n as usize)));
    size_fits
        && u16_at(head, 0x36) == Some(4)
        && matches!(u8_at(head, 0x4A), Some(1 | 2))
        && u8_at(head, 0x4B) == Some(0xC0)
        && u16_at(head, 0x4E) == Some(0)
}

fn what_is_it(head: &[u8]) -> &'static str {
    match head {
        [b'%', b'P', b'D', b'F', ..] => "a PDF document",
        [b'P', b'K', 3 | 5 | 7, ..] => "a zip archive",
        [b'M', b'S', b'C', b'F', ..] => "a cabinet archive",
        [0xD0, 0xCF, 0x11, 0xE0, ..] => "a compound file (perhaps a .diagsession)",
        [b'M', b'Z', ..] => "a Windows program",
        [0x7F, b'E', b'L', b'F', ..] => "a Linux program",
        _ if head.iter().all(|&b| b == 0) => "a file of zeros",
        _ => "a file of another kind",
    }
}

fn session_header(head: &[u8]) -> Option<SessionHeader> {
    let event = Events::new(head).next()?.ok()?;
    match event.id {
        EventId::Hook(0) => SessionHeader::parse(event.payload, event.pointer, event.time),
        _ => None,
    }
}

/// What is assumed of a session that does not describe itself: nothing of its
/// buffers and machine, and the clock of current systems.
fn fallback_header() -> SessionHeader {
    SessionHeader { buffer_size: 0, os: (0, 0, 0), processors: 0, mode: 0, ..SessionHeader::default() }
}
