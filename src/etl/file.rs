//! One `.etl` file: what it is, its buffers in file order, and one buffer at a
//! time, expanded, into memory that the caller reuses.
//!
//! Opening reads each buffer's header only (one small read a buffer), and of a
//! compressed file one buffer or a few. Nothing that the session header claims is
//! trusted for control flow.

use std::path::Path;

use super::compression::{Algorithm, Misfit, expand};
use super::error::{OpenError, looks_like_etl};
use super::{BUFFER_HEADER, BufferInfo, EventId, Events, MAX_BUFFER, SessionHeader, Source, index, u8_at};
use crate::problem::{ProblemKind, Problems};

/// In what a trace lay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// A file of its own.
    #[default]
    Etl,
    /// A zip archive.
    Zip,
    /// A session of Visual Studio's profiler.
    Diagsession,
}

impl Format {
    /// Name in the machine interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etl => "etl",
            Self::Zip => "zip",
            Self::Diagsession => "diagsession",
        }
    }
}

/// An open file and where its buffers are.
#[derive(Debug)]
pub struct TraceFile {
    pub(super) source: Source,
    /// As the user named it.
    pub name: String,
    /// In what it lay.
    pub format: Format,
    /// Length when it was opened.
    pub bytes: u64,
    /// What the session says of itself, as far as that is possible. Losses are those
    /// of all sessions of the file.
    pub header: SessionHeader,
    /// All buffers, in file order, the header buffer first.
    pub buffers: Vec<BufferInfo>,
    /// How compressed buffers are compressed; `None` if there are none.
    pub compression: Option<Algorithm>,
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
    /// Opens a file that is no archive, and finds its buffers.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::from_source(Source::open_file(path)?, path.display().to_string())
    }

    /// The same for bytes that are already at hand.
    pub fn from_source(source: Source, name: String) -> Result<Self, OpenError> {
        let bytes = source.len().map_err(|e| OpenError::from_io(name.clone(), e))?;
        // Room for the largest possible session header event.
        let mut head = vec![0; 68 << 10];
        let n = source.read_at(&mut head, 0).map_err(|e| OpenError::from_io(name.clone(), e))?;
        head.truncate(n);
        if bytes == 0 || n == 0 {
            return Err(OpenError::Empty(name));
        }
        if !looks_like_etl(&head) {
            return Err(OpenError::not_a_trace(&name, &head));
        }
        let mut problems = Problems::default();
        let header = session_header(&head).unwrap_or_else(|| {
            problems.add(ProblemKind::DamagedHeader, &name, 0, "the session header is damaged; a 10 MHz clock is assumed");
            fallback_header()
        });
        let index = index::walk(&source, &name, bytes, &header, &mut problems);
        let buffers = index.buffers;
        let mut file = Self { source, name, format: Format::Etl, bytes, header, buffers, compression: None, problems };
        file.header.events_lost = file.header.events_lost.saturating_add(index.more_lost.0);
        file.header.buffers_lost = file.header.buffers_lost.saturating_add(index.more_lost.1);
        file.correct_header(&head);
        file.find_compression();
        Ok(file)
    }

    /// Replaces claims about the machine that cannot be.
    fn correct_header(&mut self, head: &[u8]) {
        let mut seen = vec![false; 1 << 16];
        for buffer in &self.buffers {
            seen[usize::from(buffer.processor)] = true;
        }
        let processors = seen.iter().filter(|&&seen| seen).count() as u32;
        if !(processors..=MAX_PROCESSORS).contains(&self.header.processors) {
            self.header.processors = processors;
        }
        if !matches!(self.header.pointer_size, 4 | 8) {
            // The width of the header event itself.
            self.header.pointer_size = if u8_at(head, BUFFER_HEADER + 2) == Some(1) { 4 } else { 8 };
        }
    }

    /// Finds out how the buffers are compressed, so that each is first read like
    /// that: by the first one that can be read at all, of the first few.
    pub(super) fn find_compression(&mut self) {
        const TRIED: usize = 4;
        let mut scratch = ReadBuffer::default();
        let compressed: Vec<&BufferInfo> = self.buffers.iter().filter(|buffer| buffer.is_compressed()).take(TRIED).collect();
        if !compressed.is_empty() {
            // What is wrong with them is told when they are read for good.
            let found = compressed.into_iter().find_map(|info| self.read(info, &mut scratch, &mut Problems::default()));
            self.compression = Some(found.unwrap_or_default());
        }
    }

    /// Reads and expands one buffer into `into`. What can be saved of a damaged one
    /// is there afterwards; the rest is in `problems`.
    pub fn read_buffer(&self, info: &BufferInfo, into: &mut ReadBuffer, problems: &mut Problems) {
        self.read(info, into, problems);
    }

    /// The same; returns how the buffer was compressed if that is certain.
    fn read(&self, info: &BufferInfo, into: &mut ReadBuffer, problems: &mut Problems) -> Option<Algorithm> {
        let size = info.size as usize;
        let mut problem = |kind, detail: String| {
            problems.add_stretch(kind, &self.name, info.offset..info.offset + u64::from(info.size), detail);
        };
        // A damaged size must not take more memory than the file has bytes.
        let there = usize::try_from(self.bytes.saturating_sub(info.offset)).unwrap_or(usize::MAX);
        into.raw.resize(size.min(there), 0);
        into.in_expanded = info.is_compressed();
        into.expanded.clear();
        into.end = 0;
        let n = match self.source.read_at(&mut into.raw, info.offset) {
            Ok(n) => n,
            Err(e) => {
                problem(ProblemKind::ReadFailed, format!("the system could not read this buffer: {e}"));
                return None;
            }
        };
        into.raw.truncate(n);
        if n < size {
            let detail = format!("the file ends {} bytes before the end of this buffer", size - n);
            problem(ProblemKind::TruncatedBuffer, detail);
        }
        if n <= BUFFER_HEADER {
            return None;
        }
        if info.is_compressed() {
            return self.expand(info, into, problem);
        }
        let (end, plausible) = info.valid_end(size);
        if !plausible {
            problem(ProblemKind::DamagedEvent, "the buffer header does not say where its data ends".to_owned());
        }
        into.end = end.min(n);
        None
    }

    fn expand(
        &self,
        info: &BufferInfo,
        into: &mut ReadBuffer,
        mut problem: impl FnMut(ProblemKind, String),
    ) -> Option<Algorithm> {
        let (end, plausible) = info.valid_end(self.capacity());
        if !plausible {
            let detail = "the buffer header does not say how much data it holds";
            problem(ProblemKind::DamagedCompression, detail.to_owned());
            return None;
        }
        let (input, size) = (&into.raw[BUFFER_HEADER..], end - BUFFER_HEADER);
        into.expanded.extend_from_slice(&into.raw[..BUFFER_HEADER]);
        let expected = self.compression.unwrap_or_default();
        if into.raw.len() < info.size as usize {
            // Already reported as truncated; what is there is as good as it can be.
            let _ = expected.decompress(input, &mut into.expanded, size);
            into.end = into.expanded.len();
            return None;
        }
        let result = expand(input, &mut into.expanded, size, expected);
        into.end = into.expanded.len();
        let fault = match result {
            Ok(algorithm) => return Some(algorithm),
            Err(Misfit::LeftOver(n)) => format!("{n} bytes are left over after expanding"),
            Err(Misfit::Broken(e)) => format!("only {} of {size} bytes could be expanded", e.good_bytes()),
        };
        problem(ProblemKind::DamagedCompression, fault);
        None
    }

    /// What a compressed buffer may expand to, at most. A header's claim below what
    /// memory affords anyway is no reason to lose a buffer.
    fn capacity(&self) -> usize {
        match self.header.buffer_size as usize {
            size @ BUFFER_HEADER..=MAX_BUFFER => size.max(1 << 20),
            _ => MAX_BUFFER,
        }
    }
}

/// Windows has no more.
const MAX_PROCESSORS: u32 = 2048;

/// The session header event at the start of a header buffer, if it is whole.
pub(super) fn session_header(head: &[u8]) -> Option<SessionHeader> {
    header_of(head).map(|(header, _)| header)
}

/// The same, and how many buffers the session wrote if it says that it has ended.
pub(super) fn header_of(head: &[u8]) -> Option<(SessionHeader, Option<u32>)> {
    let event = Events::new(head).next()?;
    match event.id {
        EventId::Hook(0) => {
            let header = SessionHeader::parse(event.payload, event.pointer, event.time)?;
            Some((header, SessionHeader::written(event.payload)))
        }
        _ => None,
    }
}

/// What is assumed of a session that does not describe itself: nothing of its
/// buffers and machine, and the clock of current systems.
fn fallback_header() -> SessionHeader {
    SessionHeader { buffer_size: 0, os: (0, 0, 0), processors: 0, mode: 0, ..SessionHeader::default() }
}
