//! Reads one buffer at a time, expanded, into memory that the caller reuses; or a part of one, where
//! the whole would take too much memory.
//!
//! A part of an uncompressed buffer is read alone. A compressed buffer is expanded whole for each part,
//! because XPRESS cannot begin in the middle.

use std::ops::Range;

use super::compression::{Algorithm, Misfit, expand};
use super::{BUFFER_HEADER, BufferInfo, Events, MAX_BUFFER, TraceFile};
use crate::problem::{FileProblem, Problems};
use crate::text;

/// No event is larger: its size has 16 bits.
const MAX_EVENT: usize = 1 << 16;

/// The events of one buffer or of a part of it, expanded, in reused memory.
#[derive(Debug, Default)]
pub struct ReadBuffer {
    raw: Vec<u8>,
    expanded: Vec<u8>,
    in_expanded: bool,
    /// Where the events are in these bytes.
    events: Range<usize>,
    /// Their offset in the buffer; `None` if they begin at its start.
    from: Option<usize>,
    /// Whether the buffer has more bytes behind them.
    is_cut: bool,
}

impl ReadBuffer {
    /// The events, in the order of the buffer.
    #[inline]
    pub fn events(&self) -> Events<'_> {
        let bytes = if self.in_expanded { &self.expanded } else { &self.raw };
        let end = self.events.end.min(bytes.len());
        match self.from {
            None => Events::new(&bytes[..end]),
            Some(from) => Events::of_part(bytes.get(self.events.start..end).unwrap_or_default(), from),
        }
    }

    /// Offset in the buffer from which on events may be cut off, because more of the buffer follows;
    /// `None` if it was read to its end.
    #[inline]
    pub fn cut(&self) -> Option<usize> {
        let end = self.from.unwrap_or(0) + self.events.len();
        self.is_cut.then(|| end.saturating_sub(MAX_EVENT))
    }

    /// Frees memory of more than `most` bytes, which only an unusually large buffer needs.
    pub fn trim(&mut self, most: usize) {
        for bytes in [&mut self.raw, &mut self.expanded] {
            if bytes.capacity() > most {
                *bytes = Vec::new();
            }
        }
    }
}

impl TraceFile {
    /// Reads and expands one buffer into `into`. Of a damaged one, `into` gets what can be saved; the
    /// rest is reported in `problems`.
    pub fn read_buffer<K>(&self, info: &BufferInfo, into: &mut ReadBuffer, problems: &mut Problems<K>)
    where
        K: From<FileProblem> + Copy + Ord,
    {
        self.read(info, (0, usize::MAX), into, problems);
    }

    /// Reads a part of a buffer: at least `most` bytes of events from offset `from` on, where an
    /// event begins, or 0. See [`ReadBuffer::cut`] for where it ends.
    pub fn read_part<K>(&self, info: &BufferInfo, from: usize, most: usize, into: &mut ReadBuffer, problems: &mut Problems<K>)
    where
        K: From<FileProblem> + Copy + Ord,
    {
        self.read(info, (from, most), into, problems);
    }

    /// Reads a buffer or a part of one; returns how it was compressed if that is certain.
    pub(super) fn read<K: From<FileProblem> + Copy + Ord>(
        &self,
        info: &BufferInfo,
        (from, most): (usize, usize),
        into: &mut ReadBuffer,
        problems: &mut Problems<K>,
    ) -> Option<Algorithm> {
        let mut problem = |kind, detail: String| {
            problems.add_stretch(kind, &self.name, info.offset..info.offset + u64::from(info.size), detail);
        };
        let size = info.size as usize;
        let (end, plausible) = info.valid_end(size);
        let enough = from.saturating_add(most).saturating_add(MAX_EVENT);
        into.in_expanded = info.is_compressed();
        into.from = (from > 0).then_some(from);
        into.is_cut = !into.in_expanded && enough < end;
        into.expanded.clear();
        into.events = 0..0;
        let wanted = match into.from {
            _ if into.in_expanded => 0..size,
            _ if into.is_cut => from..enough,
            Some(from) => from..end.max(from),
            None => 0..size,
        };
        // A damaged size must not take more memory than the file has bytes.
        let start = info.offset + wanted.start as u64;
        let there = usize::try_from(self.bytes.saturating_sub(start)).unwrap_or(usize::MAX);
        into.raw.resize(wanted.len().min(there), 0);
        let n = match self.source.read_at(&mut into.raw, start) {
            Ok(n) => n,
            Err(e) => {
                problem(FileProblem::ReadFailed, format!("the system could not read this buffer: {e}"));
                return None;
            }
        };
        into.raw.truncate(n);
        if n < wanted.len() {
            into.is_cut = false;
            if from == 0 || !into.in_expanded {
                let detail = format!("the file ends {} bytes before the end of this buffer", size - wanted.start - n);
                problem(FileProblem::TruncatedBuffer, detail);
            }
        }
        if from == 0 && n <= BUFFER_HEADER {
            return None;
        }
        if info.is_compressed() {
            // Problems are reported with the first part only.
            let algorithm = self.expand(info, into, |kind, detail| {
                if from == 0 {
                    problem(kind, detail);
                }
            });
            into.events = from..into.expanded.len();
            return algorithm;
        }
        if !plausible && from == 0 {
            problem(FileProblem::DamagedEvent, "the buffer header does not say where its data ends".to_owned());
        }
        into.events = 0..(end - wanted.start.min(end)).min(n);
        None
    }

    fn expand(
        &self,
        info: &BufferInfo,
        into: &mut ReadBuffer,
        mut problem: impl FnMut(FileProblem, String),
    ) -> Option<Algorithm> {
        let capacity = self.capacity().min(info.most_expanded());
        let (end, plausible) = info.valid_end(capacity);
        if !plausible {
            let claim = info.claimed_end();
            let detail = if claim > capacity as u64 {
                let (bytes, claim) = (text::bytes(info.size.into()), text::bytes(claim));
                format!("this buffer of {bytes} claims to hold {claim}, which no recorded buffer does; it was left out")
            } else {
                "the buffer header does not say how much data it holds".to_owned()
            };
            problem(FileProblem::DamagedCompression, detail);
            return None;
        }
        let (input, size) = (&into.raw[BUFFER_HEADER.min(into.raw.len())..], end - BUFFER_HEADER);
        into.expanded.extend_from_slice(&into.raw[..BUFFER_HEADER.min(into.raw.len())]);
        let expected = self.compression.unwrap_or_default();
        if into.raw.len() < info.size as usize {
            // Already reported as truncated; what is there is as good as it can be.
            let _ = expected.decompress(input, &mut into.expanded, size);
            return None;
        }
        let fault = match expand(input, &mut into.expanded, size, expected) {
            Ok(algorithm) => return Some(algorithm),
            Err(Misfit::LeftOver(n)) => format!("{n} bytes are left over after expanding"),
            Err(Misfit::Broken(e)) => format!("only {} of {size} bytes could be expanded", e.good_bytes()),
        };
        problem(FileProblem::DamagedCompression, fault);
        None
    }

    /// Limit on the expanded size of a compressed buffer: the session's buffer size, but at least 1
    /// MiB, because a smaller claim is no reason to lose a buffer.
    fn capacity(&self) -> usize {
        match self.header.buffer_size as usize {
            size @ BUFFER_HEADER..=MAX_BUFFER => size.max(1 << 20),
            _ => MAX_BUFFER,
        }
    }
}
