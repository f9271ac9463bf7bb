//! Commit: pages that get and lose their memory, and the rows of their ranges.

use super::super::ProcessId;
use super::super::commit::Cut;
use super::super::pending::{Ended, Freed, Waiting};
use super::super::rows::Row;
use super::super::stack::StackRef;
use super::{Builder, Origin};
use crate::events::{CommittedRegion, PageRange, mem};
use crate::units::{Layer, Ticks, Tid};

impl Builder {
    pub(super) fn virtual_alloc(&mut self, from: Origin, range: &PageRange) {
        let end = range.base.saturating_add(range.size);
        if range.flags & (mem::COMMIT | mem::RESERVE) == 0 || range.base >= end {
            return;
        }
        // An event that does not say who wrote it may be a parent's.
        let owner = self.processes.find_or_add(range.owner, from.time);
        let caller = if from.pid.is_known() { self.processes.acting(from.pid, from.time) } else { owner };
        if range.flags & mem::RESERVE != 0 {
            // Only what is free can be reserved: the release of what lies there was lost.
            for row in self.pages.supersede(owner, range.base, end) {
                self.kill(row, from.time);
            }
        }
        if range.flags & mem::COMMIT != 0 {
            self.commit(from, owner, caller, range.base, end);
        } else {
            self.pages.of(owner).reserve(range.base, end);
        }
    }

    /// Pages from before the trace, and the region that they lie in.
    pub(super) fn commit_rundown(&mut self, from: Origin, region: &CommittedRegion) {
        let &CommittedRegion { base, size, committed, owner } = region;
        // It ran before the trace, so a start to come is that of another life.
        let process = self.processes.acting(owner, from.time);
        let nobody = Origin { tid: Tid::NONE, time: Ticks::BEFORE_TRACE, ..from };
        self.commit(nobody, process, process, base, base.saturating_add(committed));
        self.pages.of(process).reserve(base, base.saturating_add(size));
        self.lineage.past += 1;
    }

    /// One row for each contiguous piece that was not committed yet.
    pub(super) fn commit(&mut self, from: Origin, owner: ProcessId, caller: ProcessId, base: u64, end: u64) {
        if base >= end {
            return;
        }
        let pieces = self.pages.of(owner).uncommitted(base, end);
        let heap = self.heaps.find_or_add(&self.processes, owner, Layer::Commit, 0);
        let site = self.site(heap, StackRef::NONE, caller, from.time);
        let first = self.rows.len() as u32;
        for piece in pieces {
            let (address, size) = (piece.0, piece.1 - piece.0);
            let row = Row { address, size, birth: from.time, death: Ticks::NEVER, site, thread: from.tid, freed_at: None };
            if let Some(row) = self.push(&row) {
                self.pages.of(owner).own(piece, row);
            }
        }
        self.pages.of(owner).reserve(base, end);
        if from.time != Ticks::BEFORE_TRACE {
            self.await_stack(from, Waiting::new(first..self.rows.len() as u32, true));
        }
    }

    pub(super) fn virtual_free(&mut self, from: Origin, range: &PageRange) {
        if range.flags & (mem::DECOMMIT | mem::RELEASE) == 0 {
            return;
        }
        let Some(owner) = self.processes.find(range.owner) else {
            self.unmatched_frees.add(Origin { pid: range.owner, ..from }, Layer::Commit, 0, range.base, StackRef::NONE);
            return;
        };
        let releases = range.flags & mem::RELEASE != 0;
        let pages = self.pages.of(owner);
        let mut end = range.base.saturating_add(range.size);
        if range.size == 0 {
            // As the program's call has it: all of the region.
            end = pages.reservation_end(range.base).unwrap_or(end);
        }
        let cuts = pages.decommit(range.base, end);
        let known = if releases { pages.release(range.base, end) } else { pages.is_reserved(range.base, end) };
        if cuts.is_empty() && !known {
            self.unmatched_frees.add(Origin { pid: range.owner, ..from }, Layer::Commit, 0, range.base, StackRef::NONE);
        }
        let ended = cuts.iter().map(|cut| Ended::Row(cut.row));
        let freed = ended.map(|ended| Freed { heap: self.heaps.find_or_add(&self.processes, owner, Layer::Commit, 0), ended });
        let freed: Vec<Freed> = freed.collect();
        for cut in cuts {
            self.cut_range(owner, cut, from.time);
        }
        self.await_stack(from, Waiting::new(0..0, true).freeing(freed));
    }

    /// Ends a part of a committed range. The rest stays alive as rows of its own,
    /// with the birth and site of the whole.
    fn cut_range(&mut self, owner: ProcessId, Cut { row, whole, part }: Cut, at: Ticks) {
        let original = self.rows.get(row);
        self.rows.pass(at);
        for rest in [(whole.0, part.0), (part.1, whole.1)] {
            if rest.0 < rest.1
                && let Some(piece) = self.push(&Row { address: rest.0, size: rest.1 - rest.0, ..original })
            {
                self.pages.of(owner).own(rest, piece);
                self.pieces.add(row, piece);
            }
        }
        if part != whole {
            self.rows.set_range(row, part.0, part.1 - part.0);
        }
        self.kill(row, at);
    }
}
