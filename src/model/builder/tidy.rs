//! Sites, of those who allocate and of those who free, that turned out to be one, the same stack under many keys or known late, and
//! sites of which no row is left. Keys are defined again and again, each time for new
//! sites: without this they would grow with the capture, and with them every
//! publication and every question.
//!
//! Cost: a look at the sites and at the stacks; a pass over the rows, and another one if
//! any two sites are the same.

use super::Builder;
use crate::model::stack::StackRef;

/// Fewer new sites than this are not worth the passes, and one is not worth more rows
/// than that; in debug builds it is, so that every test goes through them.
const WORTH_WHILE: usize = if cfg!(debug_assertions) { 4 } else { 1 << 14 };
const ROWS_A_SITE: usize = if cfg!(debug_assertions) { 256 } else { 8 };

impl Builder {
    /// Tidies up where so many sites have come that it costs little for each of them.
    pub(super) fn tidy_now_and_then(&mut self) {
        let ((new, old), (new_free, old_free)) = (self.sites.untidy(), self.frees.sites.untidy());
        let many = WORTH_WHILE.max(old + old_free).max(self.rows.len() / ROWS_A_SITE);
        if new + new_free >= many {
            self.tidy();
        }
    }

    /// Joins sites with the same heap, stack and caller as far as stacks are known, drops
    /// those of no row, and forgets keys that nobody needs any more.
    pub(super) fn tidy(&mut self) {
        self.settle_framed();
        self.matcher.settle();
        self.settle_freed();
        let Self { stacks, sites, frees, pending, unmatched_frees, matcher, .. } = self;
        stacks.settle(|settle| {
            sites.stacks().chain(frees.sites.stacks()).for_each(&mut *settle);
            pending.stacks().for_each(&mut *settle);
            unmatched_frees.stacks().for_each(&mut *settle);
            matcher.each_stack(settle);
        });
        self.join_sites();
    }

    /// The same at the end, where all stacks are what they are known to be by now. No row
    /// may come afterwards.
    pub(super) fn tidy_at_end(&mut self) {
        let Self { stacks, sites, frees, .. } = self;
        let all = sites.stacks().chain(frees.sites.stacks());
        all.for_each(|stack| *stack = StackRef::node(stacks.resolve(*stack)));
        self.join_sites();
    }

    fn join_sites(&mut self) {
        let is_used = self.rows.sites_in_use(self.sites.len());
        if let Some(number) = self.sites.join(&is_used) {
            self.rows.renumber_sites(&number);
        }
        let frees = &mut self.frees.sites;
        let is_used = self.rows.free_sites_in_use(frees.len());
        if let Some(number) = frees.join(&is_used) {
            self.rows.renumber_free_sites(&number);
        }
    }
}
