//! Opens `.etl` files and finds their buffers.
//!
//! Opening reads only the header of each buffer (one small read a buffer, many at once where buffers
//! have one size), and one or a few whole buffers of a compressed file. Nothing that the session header claims is trusted for control flow.

use std::path::Path;

use super::error::{OpenError, looks_like_etl};
use super::file::{PLAIN, TraceFile};
use super::header::header_of;
use super::walk::Walker;
use super::{BUFFER_HEADER, BufferInfo, Expandable, ReadBuffer, SessionHeader, Source, index, mode, u8_at};
use crate::problem::{FileProblem, Problems};
use crate::text;

impl TraceFile {
    /// Opens a file that is no archive, and finds its buffers.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::from_source(Source::open_file(path)?, path.display().to_string())
    }

    /// Opens a trace from bytes that are already at hand.
    pub fn from_source(source: Source, name: String) -> Result<Self, OpenError> {
        Self::from_archive(source, name, Expandable::PLAIN)
    }

    /// Opens a trace in an archive, whose compressed buffers may hold no more than `expandable`.
    pub fn from_archive(source: Source, name: String, expandable: Expandable) -> Result<Self, OpenError> {
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
        let mut problems = Problems::new();
        let (header, written) = header_of(&head).unwrap_or_else(|| {
            problems.add(FileProblem::DamagedHeader, &name, 0, "the session header is damaged; a 10 MHz clock is assumed");
            (fallback_header(), None)
        });
        let walker = Walker { source: &source, bytes, first: &header, expandable };
        let index = index::walk(walker, &name, &mut problems);
        tell_missing(&name, bytes, (&header, written), index.met, &mut problems);
        let buffers = index.buffers;
        let mut file = Self { source, name, container: PLAIN, bytes, header, buffers, streams: 0, compression: None, problems };
        file.header.events_lost = file.header.events_lost.saturating_add(index.more_lost.0);
        file.header.buffers_lost = file.header.buffers_lost.saturating_add(index.more_lost.1);
        file.correct_header(&head);
        file.find_compression();
        Ok(file)
    }

    /// Replaces impossible claims about the machine.
    fn correct_header(&mut self, head: &[u8]) {
        let mut seen = vec![false; 1 << 16];
        for buffer in &self.buffers {
            seen[usize::from(buffer.processor)] = true;
        }
        self.streams = seen.iter().filter(|&&seen| seen).count();
        let processors = self.streams as u32;
        if !(processors..=MAX_PROCESSORS).contains(&self.header.processors) {
            self.header.processors = processors;
        }
        if !matches!(self.header.pointer_size, 4 | 8) {
            // The width of the header event itself.
            self.header.pointer_size = if u8_at(head, BUFFER_HEADER + 2) == Some(1) { 4 } else { 8 };
        }
    }

    /// Finds out which compression the buffers use, to try it first for each: that of the first
    /// readable buffer among the first few.
    pub(super) fn find_compression(&mut self) {
        const TRIED: usize = 4;
        let mut scratch = ReadBuffer::default();
        let compressed: Vec<&BufferInfo> = self.buffers.iter().filter(|buffer| buffer.is_compressed()).take(TRIED).collect();
        if !compressed.is_empty() {
            // Problems with them are reported when they are read for good.
            let found =
                compressed.into_iter().find_map(|info| self.read(info, (0, usize::MAX), &mut scratch, &mut Problems::new()));
            self.compression = Some(found.unwrap_or_default());
        }
    }
}

/// Reports buffers that are missing. A session that has ended says how many it wrote: a file with fewer
/// was cut, or copied before it was complete. (In all real files at hand both numbers are equal. A ring
/// has fewer: it overwrites.)
fn tell_missing(name: &str, bytes: u64, (header, written): (&SessionHeader, Option<u32>), met: u64, problems: &mut Problems) {
    let Some(written) = written.map(u64::from).filter(|&written| written > met && header.mode & mode::CIRCULAR == 0) else {
        return;
    };
    let (missing, written) = (text::count(written - met), text::count(written));
    let detail = format!("{missing} of the {written} buffers that were written are not in the file: it was cut; copy it again");
    problems.add(FileProblem::MissingBuffers, name, bytes, detail);
}

/// Most processors that Windows supports.
const MAX_PROCESSORS: u32 = 2048;

/// Header of a session that does not describe itself: nothing is known of its buffers and machine, and
/// its clock is that of current systems.
fn fallback_header() -> SessionHeader {
    SessionHeader { buffer_size: 0, os: (0, 0, 0), processors: 0, mode: 0, ..SessionHeader::default() }
}
