//! Notes which stacks freed, in the rows that ended or, until these are known, in the log.

use super::frees::Frees;
use super::sites::SiteKey;
use super::{Attach, Rooms};
use crate::model::SiteId;
use crate::model::allocations::{AllocationTable, Ended, EndedRow};
use crate::model::origin::Origin;
use crate::model::stack::StackRef;
use crate::units::{Layer, Pid, Ticks};

impl Attach {
    #[inline(always)]
    pub(super) fn await_freeing_stack(&mut self, rooms: &mut Rooms<'_>, from: Origin, ended: Ended) {
        if self.reads {
            self.frees.await_stack(from, ended);
            self.take_early(rooms, from);
        }
    }

    /// Notes that process `pid` freed with this stack, as far as it is known by now.
    #[inline(never)]
    pub(super) fn tell_freed(&mut self, rooms: &mut Rooms<'_>, ended: Ended, stack: StackRef, pid: Pid, at: Ticks) {
        if stack == StackRef::NONE {
            return;
        }
        let Ended { heap, row } = ended;
        if let EndedRow::Unmatched(number) = row {
            return self.frees.unmatched.push((number, stack));
        }
        let owner = rooms.world.heap(heap);
        // Another process can free pages.
        let caller = if owner.layer == Layer::Commit { rooms.world.processes.find(pid) } else { None };
        let key = SiteKey { heap, stack, caller: caller.unwrap_or(owner.process) };
        let at = if let EndedRow::Known(row) = row { rooms.allocations.rows.death(row) } else { at };
        let site = self.frees.sites.intern(key, at);
        self.tell_freeing_site(row, site);
    }

    /// Notes that a block, whose row is not known yet, was freed with this stack by its own process.
    pub(super) fn tell_freed_block(&mut self, Ended { heap, row }: Ended, stack: StackRef, at: Ticks) {
        if stack != StackRef::NONE {
            let site = self.frees.sites.intern(SiteKey { heap, stack, caller: self.owner(heap) }, at);
            self.tell_freeing_site(row, site);
        }
    }

    /// Notes the site of a free.
    #[inline(always)]
    pub(super) fn tell_freeing_site(&mut self, row: EndedRow, site: SiteId) {
        self.frees.any = true;
        match row {
            EndedRow::Known(row) => self.row_sites.set_freed_at(row, site),
            EndedRow::Unmatched(_) => {} // it has a stack, and no site
            EndedRow::In(slot) => self.frees.log.push((slot, site)),
        }
    }

    /// Sets the known sites of frees in their rows, and the stacks of frees that ended none. To be
    /// called after `allocations::Matcher::settle`.
    pub(in crate::model) fn settle_freed(&mut self, allocations: &mut AllocationTable) {
        let Self { frees: Frees { log, unmatched: unknown, sites, .. }, row_sites, .. } = self;
        unknown.drain(..).for_each(|(number, stack)| allocations.set_unmatched_stack(number, stack));
        let mut unmatched = Vec::new();
        for (slot, site) in log.drain(..) {
            match allocations.matcher.ended_at(slot) {
                Some(row) => row_sites.set_freed_at(row, site),
                None => unmatched.push((slot, sites.key(site).stack)),
            }
        }
        allocations.matcher.tell_unmatched(unmatched);
    }

    /// Replaces slots, which are about to be released, by rows in all that waits for a stack, if the
    /// free ended one. To be called after `allocations::Matcher::settle`.
    pub(in crate::model) fn leave_slots(&mut self, allocations: &mut AllocationTable) {
        self.settle_freed(allocations);
        let Self { frees, pending, keyed, .. } = self;
        for ended in frees.waiting().chain(pending.newly_freed()).chain(keyed.freed()) {
            if let Some(row) = allocations.ended_row(*ended) {
                *ended = EndedRow::Known(row);
            }
        }
    }
}
