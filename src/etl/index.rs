//! Where a file's buffers are and in which order they come, found by walking the
//! chain of buffer sizes to the end of the file.
//!
//! Reads each buffer's header only (one small read a buffer) and believes nothing
//! that the session header claims:
//!
//! * Uncompressed files have buffers of one size. Where the chain breaks, the walk
//!   goes on at the next place where a buffer is due; a buffer that claims another
//!   size is only believed if the next one stands where it says.
//! * Space that was reserved but never written (preallocated files, sessions that
//!   crashed) is zeros; a tail of them is one note.
//! * Files can hold several sessions (append mode): each begins with a header buffer
//!   or at least begins to count its buffers anew; here the numbers go on. One whose
//!   clock cannot be compared with the first is left out.
//! * Circular files begin anywhere; sequence numbers give the order.
//! * Compressed buffers say how much they hold. What all of them together cannot is left
//!   out, so that a small file never becomes a large amount of work.
//!
//! A file that is still written is walked as far as it goes, and on from there later.
//! A buffer that is not all there, zeros, and what only bytes to come can explain are
//! then "not yet" and no problem. What a growing file was found to hold can differ from
//! what the whole one does (its first buffers decide about the size of all), so whoever
//! followed one walks it once more when it has its end.
//!
//! Format facts: Geoff Chappell's notes, Microsoft's description of the logging mode
//! constants. No public trace is known that was appended to or that wrapped around.

use rustc_hash::FxHashSet;

use super::buffer::MAX_RATIO;
use super::file::session_header;
use super::{BUFFER_HEADER, BufferInfo, BufferKind, MAX_BUFFER, SessionHeader, Source, mode};
use crate::problem::{ProblemKind, Problems};

/// What a walk finds.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) buffers: Vec<BufferInfo>,
    /// Losses of sessions behind the first.
    pub(super) more_lost: (u32, u32),
}

/// Walks the chain of buffers of a file of `bytes` bytes.
pub(super) fn walk(source: &Source, name: &str, bytes: u64, first: &SessionHeader, problems: &mut Problems) -> Index {
    let mut place = Walked::default();
    let mut walk = Walk::new(source, (name, bytes), first, &mut place, problems);
    walk.at.stride = walk.common_size();
    walk.run();
    walk.tell_left_out();
    walk.tell_excess();
    walk.note_what_was_overwritten();
    walk.index
}

/// Goes on with the walk of a file that is still written and has `bytes` bytes by now;
/// returns the buffers that came.
pub(super) fn walk_on(at: &mut Walked, source: &Source, bytes: u64, first: &SessionHeader) -> Vec<BufferInfo> {
    let mut problems = Problems::default(); // they are told when the file is whole
    let mut walk = Walk { may_grow: true, ..Walk::new(source, ("", bytes), first, at, &mut problems) };
    walk.settle_stride();
    walk.run();
    walk.index.buffers
}

/// How far a walk has come.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Where the next buffer is due.
    offset: u64,
    /// The size of all buffers, if they have one, ...
    stride: Option<u64>,
    /// ... and whether enough of a growing file was there to be sure of it.
    is_stride_sure: bool,
    /// Sequence numbers of this session, as its buffers have them.
    seen: FxHashSet<i64>,
    /// What is added to them, and the first number that no buffer has yet.
    base: i64,
    next: i64,
    /// Where a session began that is left out, why, and how many buffers it has so far.
    left_out: Option<(u64, &'static str, u64)>,
    /// Bytes of all compressed buffers when they are expanded, ...
    expanded: u64,
    /// ... and what is left out because it would be too many.
    excess: Option<Excess>,
}

/// Compressed buffers that are left out: where the first was, and how many there are.
#[derive(Debug)]
struct Excess {
    offset: u64,
    buffers: u64,
}

struct Walk<'a> {
    source: &'a Source,
    name: &'a str,
    bytes: u64,
    /// Whether more bytes may come.
    may_grow: bool,
    first: &'a SessionHeader,
    at: &'a mut Walked,
    index: Index,
    problems: &'a mut Problems,
}

/// So many buffers behind the first tell whether all have its size.
const LOOK_AT: u64 = 3;

/// What the first bytes of a place in the file are.
enum Place {
    Buffer(BufferInfo),
    /// No buffer header.
    Other {
        zeros: bool,
        /// There are fewer bytes than a header has.
        short: bool,
    },
}

impl<'a> Walk<'a> {
    fn new(
        source: &'a Source,
        (name, bytes): (&'a str, u64),
        first: &'a SessionHeader,
        at: &'a mut Walked,
        problems: &'a mut Problems,
    ) -> Self {
        let index = Index { buffers: Vec::new(), more_lost: (0, 0) };
        Self { source, name, bytes, may_grow: false, first, at, index, problems }
    }

    fn run(&mut self) {
        while self.at.offset < self.bytes {
            let offset = self.at.offset;
            match self.look(offset) {
                Place::Buffer(info) if self.may_grow && !self.is_there(&info) => return,
                Place::Buffer(info) => {
                    let info = self.with_credible_size(info);
                    self.at.offset += u64::from(info.size);
                    self.take(info);
                }
                Place::Other { zeros, short } => match self.pass_over(offset, zeros, short) {
                    Some(next) => self.at.offset = next,
                    None => return,
                },
            }
        }
    }

    /// Whether all of a buffer is there, and if its size is odd also what tells whether
    /// that can be.
    fn is_there(&self, info: &BufferInfo) -> bool {
        let size = u64::from(info.size);
        let needed = match self.at.stride {
            Some(stride) if size != stride && !info.is_compressed() => size.max(stride) + BUFFER_HEADER as u64,
            _ => size,
        };
        needed <= self.bytes.saturating_sub(info.offset)
    }

    /// Looks for the size of all buffers until enough of them are there.
    fn settle_stride(&mut self) {
        let Some(first) = self.buffer_at(0).filter(|_| !self.at.is_stride_sure) else { return };
        self.at.stride = self.common_size();
        self.at.is_stride_sure = self.bytes >= LOOK_AT * u64::from(first.size) + BUFFER_HEADER as u64;
    }

    fn look(&self, offset: u64) -> Place {
        let mut head = [0; BUFFER_HEADER];
        let n = self.source.read_at(&mut head, offset).unwrap_or(0);
        match BufferInfo::parse(&head[..n], offset) {
            Some(info) => Place::Buffer(info),
            None => Place::Other { zeros: head[..n].iter().all(|&byte| byte == 0), short: n < BUFFER_HEADER },
        }
    }

    fn buffer_at(&self, offset: u64) -> Option<BufferInfo> {
        match self.look(offset) {
            Place::Buffer(info) => Some(info),
            Place::Other { .. } => None,
        }
    }

    /// The size of an uncompressed file's buffers: that of the first, unless the next
    /// ones show that they differ. (One that differs may be damaged.)
    fn common_size(&self) -> Option<u64> {
        let size = u64::from(self.buffer_at(0)?.size);
        let sizes = (1..=LOOK_AT).map(|i| self.buffer_at(i * size).map(|buffer| u64::from(buffer.size)));
        let (mut same, mut differ) = (false, false);
        for next in sizes {
            same |= next == Some(size);
            differ |= next.is_some_and(|next| next != size);
        }
        (!self.first.is_compressed() && (same || !differ)).then_some(size)
    }

    /// Corrects a size that only this buffer believes in.
    fn with_credible_size(&mut self, mut info: BufferInfo) -> BufferInfo {
        let (Some(stride), size) = (self.at.stride, u64::from(info.size)) else { return info };
        if size == stride || info.is_compressed() {
            return info;
        }
        let next = |size: u64| self.buffer_at(info.offset + size).map(|next| u64::from(next.size));
        // A session that was appended may have buffers of a size of its own.
        let begins_session = info.kind == BufferKind::Header && (next(size) == Some(size) || info.offset + size == self.bytes);
        if begins_session {
            self.at.stride = Some(size);
            return info;
        }
        if next(size) == Some(stride) && next(stride) != Some(stride) {
            return info;
        }
        let detail = format!("this buffer says that it has {size} bytes; like all others it has {stride}");
        self.problems.add(ProblemKind::BrokenChain, self.name, info.offset, detail);
        info.size = stride as u32;
        info
    }

    /// Reports what stands at `offset` instead of a buffer, and finds the next one.
    fn pass_over(&mut self, offset: u64, mut zeros: bool, short: bool) -> Option<u64> {
        if self.may_grow && (zeros || short) {
            return None; // not written yet
        }
        let mut next = offset;
        while let Some(stride) = self.at.stride {
            next += stride;
            if next >= self.bytes {
                break;
            }
            match self.look(next) {
                Place::Buffer(_) => {
                    let detail = format!("no buffers from here for {} bytes; what follows was read", next - offset);
                    self.problems.add(ProblemKind::BrokenChain, self.name, offset, detail);
                    return Some(next);
                }
                Place::Other { zeros: also, .. } => zeros &= also,
            }
        }
        if self.may_grow {
            return None;
        }
        let left = self.bytes - offset;
        let (kind, detail) = if zeros && self.all_zeros(offset) {
            (ProblemKind::UnwrittenTail, format!("the last {left} bytes are zeros: reserved, but never written"))
        } else if short {
            (ProblemKind::TruncatedBuffer, "the file ends inside a buffer header".to_owned())
        } else {
            (ProblemKind::BrokenChain, format!("no buffer where one is due; the last {left} bytes could not be read"))
        };
        self.problems.add(kind, self.name, offset, detail);
        None
    }

    fn all_zeros(&self, mut offset: u64) -> bool {
        let mut chunk = vec![0; 1 << 20];
        while offset < self.bytes {
            match self.source.read_at(&mut chunk, offset) {
                Ok(0) => return true,
                Ok(n) if chunk[..n].iter().all(|&byte| byte == 0) => offset += n as u64,
                _ => return false,
            }
        }
        true
    }

    fn take(&mut self, mut info: BufferInfo) {
        if info.offset > 0
            && info.kind == BufferKind::Header
            && let Some(header) = self.session_at(&info)
        {
            self.begin_session(&info, &header);
        } else if !self.at.seen.insert(info.sequence) && self.first.mode & mode::CIRCULAR == 0 {
            // Counted anew without a header buffer.
            self.count_anew(info.sequence);
        }
        if let Some((_, _, n)) = &mut self.at.left_out {
            *n += 1;
            return;
        }
        if !self.affords(&info) {
            self.at.excess.get_or_insert(Excess { offset: info.offset, buffers: 0 }).buffers += 1;
            return;
        }
        info.sequence = info.sequence.saturating_add(self.at.base);
        self.at.next = self.at.next.max(info.sequence.saturating_add(1));
        self.index.buffers.push(info);
    }

    /// Whether so much can come out of the file up to and with this buffer. (The claim of
    /// one that is not believed costs nothing.)
    fn affords(&mut self, info: &BufferInfo) -> bool {
        if !info.is_compressed() {
            return true;
        }
        let expanded = self.at.expanded.saturating_add(info.expanded_size() as u64);
        let bytes = info.offset.saturating_add(info.size.into());
        let is_possible = expanded <= bytes.saturating_mul(MAX_RATIO as u64).saturating_add(MAX_BUFFER as u64);
        if is_possible {
            self.at.expanded = expanded;
        }
        is_possible
    }

    fn tell_excess(&mut self) {
        if let Some(Excess { offset, buffers }) = self.at.excess.take() {
            let detail = format!(
                "from here on {buffers} buffers claim to hold over {MAX_RATIO} times as much as the file takes, which no recording \
                 does; they were left out"
            );
            self.problems.add(ProblemKind::DamagedCompression, self.name, offset, detail);
        }
    }

    /// The session header event at the start of a header buffer.
    fn session_at(&self, info: &BufferInfo) -> Option<SessionHeader> {
        // The two names in it have at most 1024 characters.
        let mut head = vec![0; (info.size as usize).min(8 << 10)];
        let n = self.source.read_at(&mut head, info.offset).ok()?;
        session_header(&head[..n])
    }

    /// A session begins with this number.
    fn count_anew(&mut self, sequence: i64) {
        self.at.base = self.at.next.saturating_sub(sequence);
        self.at.seen.clear();
        self.at.seen.insert(sequence);
    }

    fn begin_session(&mut self, info: &BufferInfo, header: &SessionHeader) {
        self.tell_left_out();
        self.count_anew(info.sequence);
        self.at.left_out = self.first.clock_conflict(header).map(|reason| (info.offset, reason, 0));
        let (events, buffers) = &mut self.index.more_lost;
        *events = events.saturating_add(header.events_lost);
        *buffers = buffers.saturating_add(header.buffers_lost);
    }

    fn tell_left_out(&mut self) {
        if let Some((offset, reason, n)) = self.at.left_out.take() {
            let detail = format!("the session that was appended here {reason} the first one; its {n} buffers were left out");
            self.problems.add(ProblemKind::ClockMismatch, self.name, offset, detail);
        }
    }

    /// A ring that is full has lost its beginning.
    fn note_what_was_overwritten(&mut self) {
        let oldest = self.index.buffers.iter().skip(1).map(|buffer| buffer.sequence).min();
        if let Some(n) = oldest.filter(|&oldest| oldest > 1 && self.first.mode & mode::CIRCULAR != 0) {
            let detail = format!(
                "a circular file: its oldest {} buffers were overwritten, so what was allocated before is not known",
                n - 1
            );
            self.problems.add(ProblemKind::Overwritten, self.name, 0, detail);
        }
    }
}
