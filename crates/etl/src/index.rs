//! The buffers of a file and their order, from a walk to the end of a whole file ([`walk`]) or along
//! one that is still being written ([`walk_on`]).
//!
//! Nothing that the session header claims is believed:
//!
//! * Uncompressed files have buffers of one size. Where the chain breaks, the walk
//!   goes on at the next place where a buffer is due; a buffer that claims another
//!   size is only believed if the next one stands where it says.
//! * Space that was reserved but never written (preallocated files, sessions that crashed) is zeros;
//!   zeros up to the end of the file are reported once.
//! * For several sessions in one file see [`super::sessions`].
//!
//! A file that is still being written is walked as far as it goes, and later on from there. An
//! incomplete buffer, zeros, and anything that only later bytes can explain then mean "not yet" and are
//! no problem. The buffers found in a growing file can differ from those of the whole one (its first
//! buffers decide about the size of all), so whoever followed a file walks it again when it is
//! complete.
//!
//! Format facts: Geoff Chappell's notes, Microsoft's description of the logging mode
//! constants. No public trace is known that was appended to or that wrapped around.

use super::ahead::Ahead;
use super::sessions::{Report, Sessions, tell_overwritten};
use super::walk::{Credible, Stands, Walker};
use super::{BufferInfo, Expandable, SessionHeader, Source};
use crate::problem::{FileProblem, Problems};

/// Result of a walk.
#[derive(Debug)]
pub(super) struct BufferIndex {
    pub(super) buffers: Vec<BufferInfo>,
    /// Events and buffers lost in the sessions behind the first.
    pub(super) more_lost: (u32, u32),
    /// Number of buffers, with those that are left out and those in whose place is something else.
    pub(super) met: u64,
}

/// Walks the chain of buffers of a whole file.
pub(super) fn walk(walker: Walker<'_>, name: &str, problems: &mut Problems) -> BufferIndex {
    walk_with(Ahead::default(), walker, name, problems)
}

/// Walks the chain of buffers as [`walk`] does, with headers that are read ahead in this way.
pub(super) fn walk_with(mut ahead: Ahead, walker: Walker<'_>, name: &str, problems: &mut Problems) -> BufferIndex {
    let Walker { bytes, first, .. } = walker;
    let mut report = Report { name, problems };
    let mut at = Walked { usual: walker.common_size(), ..Walked::default() };
    let mut buffers = Vec::new();
    while at.offset < bytes {
        match ahead.look(&walker, at.offset, at.usual) {
            Stands::Buffer(info) => buffers.extend(at.pass(info, &walker, &mut report)),
            Stands::Other { zeros, short } => {
                let gap = walker.gap(at.offset, at.usual, zeros);
                let Some(next) = gap.next else {
                    tell_end(&walker, at.offset, (gap.zeros, short), &mut report);
                    break;
                };
                at.skip_to(next, &mut report);
            }
        }
    }
    at.sessions.end(&mut report);
    tell_overwritten(&buffers, first, &mut report);
    BufferIndex { buffers, more_lost: at.sessions.more_lost, met: at.met }
}

/// Continues the walk of a file that is still being written and has `bytes` bytes by now. Returns the
/// new buffers. Problems are reported only when the file is whole.
pub(super) fn walk_on(at: &mut Walked, source: &Source, bytes: u64, first: &SessionHeader) -> Vec<BufferInfo> {
    let walker = Walker { source, bytes, first, expandable: Expandable::PLAIN };
    let mut unread = Problems::new();
    let mut report = Report { name: "", problems: &mut unread };
    at.settle_usual_size(&walker);
    let mut buffers = Vec::new();
    while at.offset < bytes {
        match walker.look(at.offset) {
            Stands::Buffer(info) if walker.has_all_of(&info, at.usual) => {
                buffers.extend(at.pass(info, &walker, &mut report));
            }
            Stands::Other { zeros: false, short: false } => match walker.gap(at.offset, at.usual, false).next {
                Some(next) => at.skip_to(next, &mut report),
                None => break,
            },
            // Not written yet.
            Stands::Buffer(_) | Stands::Other { .. } => break,
        }
    }
    buffers
}

/// How far a walk has come.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Where the next buffer is due.
    offset: u64,
    /// The size of all buffers, if they have a common one.
    usual: Option<u64>,
    /// Whether enough of a growing file was there to be sure of that size.
    is_usual_sure: bool,
    /// Number of buffers passed, and of places where one was due.
    met: u64,
    sessions: Sessions,
}

impl Walked {
    /// Determines the common size of the buffers, again until enough of them are there to be sure.
    fn settle_usual_size(&mut self, walker: &Walker<'_>) {
        if !self.is_usual_sure
            && let Some(is_sure) = walker.is_common_size_sure()
        {
            (self.usual, self.is_usual_sure) = (walker.common_size(), is_sure);
        }
    }

    /// Passes a buffer; `None` if it is left out.
    fn pass(&mut self, mut info: BufferInfo, walker: &Walker<'_>, report: &mut Report<'_>) -> Option<BufferInfo> {
        match walker.credible_size(&info, self.usual) {
            Credible::Own => {}
            Credible::OfSession => self.usual = Some(info.size.into()),
            Credible::Usual(usual) => {
                let detail = format!("this buffer says that it has {} bytes; like all others it has {usual}", info.size);
                report.tell(FileProblem::BrokenChain, info.offset, detail);
                info.size = usual as u32;
            }
        }
        self.offset += u64::from(info.size);
        self.met += 1;
        self.sessions.take(info, walker, report)
    }

    /// Skips bytes that are no buffers.
    fn skip_to(&mut self, next: u64, report: &mut Report<'_>) {
        let detail = format!("no buffers from here for {} bytes; what follows was read", next - self.offset);
        report.tell(FileProblem::BrokenChain, self.offset, detail);
        self.met += self.usual.map_or(0, |usual| (next - self.offset).div_ceil(usual.max(1)));
        self.offset = next;
    }
}

/// Reports what stands at the end of a file instead of buffers.
fn tell_end(walker: &Walker<'_>, offset: u64, (zeros, short): (bool, bool), report: &mut Report<'_>) {
    let left = walker.bytes - offset;
    let (kind, detail) = if zeros && walker.is_zeros_from(offset) {
        (FileProblem::UnwrittenTail, format!("the last {left} bytes are zeros: reserved, but never written"))
    } else if short {
        (FileProblem::TruncatedBuffer, "the file ends inside a buffer header".to_owned())
    } else {
        (FileProblem::BrokenChain, format!("no buffer where one is due; the last {left} bytes could not be read"))
    };
    report.tell(kind, offset, detail);
}
