//! Commit: pages that get and lose their memory, and the rows of their ranges.

use super::{Builder, Origin};
use crate::events::{CommittedRegion, PageRange, mem};
use crate::model::ProcessId;
use crate::model::allocations::{Ended, EndedRow, TouchedRange};
use crate::model::attach::Waiting;
use crate::model::rows::Row;
use crate::model::stack::StackRef;
use crate::units::{Layer, Ticks, Tid};

/// A release with one of these flags frees no addresses: placeholders are split off, or joined.
const PLACEHOLDERS: u32 = mem::PRESERVE_PLACEHOLDER | mem::COALESCE_PLACEHOLDERS;

impl Builder {
    pub(super) fn virtual_alloc(&mut self, from: Origin, range: &PageRange) {
        let end = range.base.saturating_add(range.size);
        if range.flags & (mem::COMMIT | mem::RESERVE) == 0 || range.base >= end {
            return;
        }
        // An event without a process may be written by a parent.
        let owner = self.world.processes.find_or_add(range.owner, from.time);
        let caller = if from.pid.is_known() { self.world.processes.acting(from.pid, from.time) } else { owner };
        if range.flags & mem::RESERVE != 0 {
            // Only free addresses can be reserved: the release of the pages there was lost.
            for row in self.allocations.pages.supersede(owner, range.base, end) {
                self.allocations.kill(row, from.time);
            }
        }
        if range.flags & mem::COMMIT != 0 {
            self.commit(from, owner, caller, range.base, end);
        } else {
            self.allocations.pages.reserve(owner, range.base, end, from.time);
        }
    }

    /// Adds pages from before the trace, and the region that they lie in.
    pub(super) fn commit_rundown(&mut self, from: Origin, region: &CommittedRegion) {
        let &CommittedRegion { base, size, committed, owner } = region;
        // It ran before the trace, so a start that comes later is that of another process with its id.
        let process = self.world.processes.acting(owner, from.time);
        let nobody = Origin { tid: Tid::NONE, time: Ticks::BEFORE_TRACE, ..from };
        self.commit(nobody, process, process, base, base.saturating_add(committed));
        self.allocations.pages.reserve(process, base, base.saturating_add(size), Ticks::BEFORE_TRACE);
        self.lineage.past += 1;
    }

    /// Adds one row for each contiguous piece that was not committed yet.
    pub(super) fn commit(&mut self, from: Origin, owner: ProcessId, caller: ProcessId, base: u64, end: u64) {
        if base >= end {
            return;
        }
        let pieces = self.allocations.pages.of(owner).uncommitted(base, end);
        let heap = self.world.commit_heap(owner);
        let site = self.attach.site(heap, StackRef::NONE, caller, from.time);
        let first = self.allocations.rows.len() as u32;
        for piece in pieces {
            let (address, size) = (piece.0, piece.1 - piece.0);
            let row = from.row((address, size), site);
            if let Some(row) = self.push(&row) {
                self.allocations.pages.of(owner).own(piece, row);
            }
        }
        self.allocations.pages.reserve(owner, base, end, from.time);
        if from.time != Ticks::BEFORE_TRACE {
            self.await_stack(from, Waiting::new(first..self.allocations.rows.len() as u32, true));
        }
    }

    pub(super) fn virtual_free(&mut self, from: Origin, range: &PageRange) {
        if range.flags & (mem::DECOMMIT | mem::RELEASE) == 0 {
            return;
        }
        let Some(owner) = self.world.processes.find(range.owner) else {
            // The end of a process freed all that it had.
            if !self.world.processes.has_been(range.owner) {
                let freed = self.free_unknown_pages(from, range);
                self.await_stack(from, Waiting::new(0..0, true).freeing(freed.into_iter().collect()));
            }
            return;
        };
        let releases = range.flags & mem::RELEASE != 0;
        let (pages, at) = (&mut self.allocations.pages, from.time);
        let mut end = range.base.saturating_add(range.size);
        if range.size == 0 {
            // Size 0 means all of the region, as in the program's call.
            end = pages.reservation_end(owner, range.base).unwrap_or(end);
        }
        let cuts = pages.of(owner).decommit(range.base, end);
        let mut unknown = None;
        let known = match releases {
            true => pages.release(owner, range.base, end, at),
            false => pages.is_reserved(owner, range.base, end),
        };
        if releases && range.flags & PLACEHOLDERS != 0 {
            pages.reserve(owner, range.base, end, at);
        } else if cuts.is_empty() && !known {
            unknown = self.free_unknown_pages(from, range);
        }
        let ended = |cut: &TouchedRange| Ended { heap: self.world.commit_heap(owner), row: EndedRow::Known(cut.row) };
        let freed: Vec<Ended> = cuts.iter().map(ended).chain(unknown).collect();
        for cut in cuts {
            self.cut_range(owner, cut, from.time);
        }
        self.await_stack(from, Waiting::new(0..0, true).freeing(freed));
    }

    /// Notes a free of pages of which no commit and no reservation was seen.
    fn free_unknown_pages(&mut self, from: Origin, range: &PageRange) -> Option<Ended> {
        let (place, size) = ((Layer::Commit, 0, range.base), range.size.min(u64::MAX - range.base));
        self.allocations.free_unknown(Origin { pid: range.owner, ..from }, place, Some(size))
    }

    fn await_stack(&mut self, from: Origin, waiting: Waiting) {
        let (attach, mut rooms) = self.attach();
        attach.await_stack(&mut rooms, from, waiting);
    }

    /// Ends a part of a committed range. The rest stays alive as rows of its own, with the birth and
    /// site of the whole range.
    fn cut_range(&mut self, owner: ProcessId, TouchedRange { row, whole, part }: TouchedRange, at: Ticks) {
        let original = Row { site: self.attach.row_sites.of(row), ..self.allocations.rows.get(row) };
        self.allocations.rows.pass(at);
        for rest in [(whole.0, part.0), (part.1, whole.1)] {
            if rest.0 < rest.1
                && let Some(piece) = self.push(&Row { address: rest.0, size: rest.1 - rest.0, ..original })
            {
                self.allocations.pages.of(owner).own(rest, piece);
                self.attach.split(row, piece);
            }
        }
        if part != whole {
            self.allocations.rows.set_range(row, part.0, part.1 - part.0);
        }
        self.allocations.kill(row, at);
    }
}
