//! The sessions of a file: which of its buffers count, and their numbers in one order across sessions.
//!
//! * Files can hold several sessions (append mode). Each begins with a header buffer, or at least
//!   begins to number its buffers anew; here the numbers go on. A session whose clock cannot be
//!   compared with that of the first is left out.
//! * Circular files begin anywhere; sequence numbers give the order.
//! * Compressed buffers say how much they hold. Those that together claim an impossible amount are left
//!   out, so that a small file never becomes a large amount of work.

use std::collections::HashSet;

use super::buffer::MAX_RATIO;
use super::walk::Walker;
use super::{BufferInfo, BufferKind, Expandable, SessionHeader, mode};
use crate::problem::{FileProblem, Problems};

/// State of the sessions up to some buffer.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// Sequence numbers of this session, as its buffers have them.
    seen: HashSet<i64>,
    /// Number that is added to them, and the first resulting number that no buffer has yet.
    base: i64,
    next: i64,
    /// The session that is being left out: where it began, the reason, and its buffers so far.
    left_out: Option<(u64, &'static str, u64)>,
    /// Expanded size of all compressed buffers, in bytes.
    expanded: u64,
    /// The buffers left out because they would expand to too much: offset of the first, and their
    /// number.
    excess: Option<(u64, u64)>,
    /// Losses of sessions behind the first.
    pub(super) more_lost: (u32, u32),
}

/// Where problems are reported.
pub(super) struct Report<'a> {
    pub(super) name: &'a str,
    pub(super) problems: &'a mut Problems,
}

impl Report<'_> {
    pub(super) fn tell(&mut self, kind: FileProblem, offset: u64, detail: String) {
        self.problems.add(kind, self.name, offset, detail);
    }
}

impl Sessions {
    /// The next buffer, with its number across sessions; `None` if it is left out.
    pub(super) fn take(&mut self, mut info: BufferInfo, walker: &Walker<'_>, report: &mut Report<'_>) -> Option<BufferInfo> {
        if info.offset > 0
            && info.kind == BufferKind::Header
            && let Some(header) = walker.session_at(&info)
        {
            self.begin(&info, &header, walker.first, report);
        } else if !self.seen.insert(info.sequence) && walker.first.mode & mode::CIRCULAR == 0 {
            // A session began to count anew without a header buffer.
            self.count_anew(info.sequence);
        }
        if let Some((_, _, n)) = &mut self.left_out {
            *n += 1;
            return None;
        }
        if !self.affords(&info, walker.expandable) {
            self.excess.get_or_insert((info.offset, 0)).1 += 1;
            return None;
        }
        info.sequence = info.sequence.saturating_add(self.base);
        self.next = self.next.max(info.sequence.saturating_add(1));
        Some(info)
    }

    /// Whether the compressed buffers up to this one can expand to as much as they claim. (The claim of
    /// a refused buffer is not added.)
    fn affords(&mut self, info: &BufferInfo, expandable: Expandable) -> bool {
        if !info.is_compressed() {
            return true;
        }
        let expanded = self.expanded.saturating_add(info.expanded_size() as u64);
        let bytes = info.offset.saturating_add(info.size.into());
        let is_possible = expanded <= expandable.up_to(bytes);
        if is_possible {
            self.expanded = expanded;
        }
        is_possible
    }

    /// Starts a session whose first buffer has this number.
    fn count_anew(&mut self, sequence: i64) {
        self.base = self.next.saturating_sub(sequence);
        // A new table: emptying one takes time proportional to its capacity, and a file can have a session a buffer.
        self.seen = HashSet::from_iter([sequence]);
    }

    fn begin(&mut self, info: &BufferInfo, header: &SessionHeader, first: &SessionHeader, report: &mut Report<'_>) {
        self.tell_left_out(report);
        self.count_anew(info.sequence);
        self.left_out = first.clock_conflict(header).map(|reason| (info.offset, reason, 0));
        let (events, buffers) = &mut self.more_lost;
        *events = events.saturating_add(header.events_lost);
        *buffers = buffers.saturating_add(header.buffers_lost);
    }

    /// Called at the end of the file: reports what was left out.
    pub(super) fn end(&mut self, report: &mut Report<'_>) {
        self.tell_left_out(report);
        if let Some((offset, buffers)) = self.excess.take() {
            let detail = format!(
                "from here on {buffers} buffers claim to hold over {MAX_RATIO} times as much as the file takes, which no recording \
                 does; they were left out"
            );
            report.tell(FileProblem::DamagedCompression, offset, detail);
        }
    }

    fn tell_left_out(&mut self, report: &mut Report<'_>) {
        if let Some((offset, reason, n)) = self.left_out.take() {
            let detail = format!("the session that was appended here {reason} the first one; its {n} buffers were left out");
            report.tell(FileProblem::ClockMismatch, offset, detail);
        }
    }
}

/// Reports the buffers that a full circular file has overwritten.
pub(super) fn tell_overwritten(buffers: &[BufferInfo], first: &SessionHeader, report: &mut Report<'_>) {
    let oldest = buffers.iter().skip(1).map(|buffer| buffer.sequence).min();
    if let Some(n) = oldest.filter(|&oldest| oldest > 1 && first.mode & mode::CIRCULAR != 0) {
        let detail =
            format!("a circular file: its oldest {} buffers were overwritten, so what was allocated before is not known", n - 1);
        report.tell(FileProblem::Overwritten, 0, detail);
    }
}
