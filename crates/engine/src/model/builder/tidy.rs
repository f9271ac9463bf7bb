//! Joins sites, of allocations and of frees, that turned out to be equal (the same stack under many
//! keys or known late), and drops sites of which no row is left. Keys are defined again and again, each
//! time for new sites: without this they would grow with the capture, and with them every publication
//! and every query.
//!
//! Cost: a look at the sites and at the stacks, a hash operation or two for each site whose stack was
//! not known; a pass over the rows if any two sites are equal, and another one at the end.

use super::Builder;
use crate::model::SiteId;
use crate::model::attach::Attach;
use crate::model::stack::StackRef;

/// Least new sites that are worth the passes, and most rows a new site for which they are; both are low
/// in debug builds, so that every test goes through the passes.
const WORTH_WHILE: usize = if cfg!(debug_assertions) { 4 } else { 1 << 14 };
const ROWS_A_SITE: usize = if cfg!(debug_assertions) { 256 } else { 8 };

impl Builder {
    /// Tidies up once so many sites have come that it costs little for each of them.
    pub(super) fn tidy_now_and_then(&mut self) {
        if self.is_untidy() {
            self.tidy();
        }
    }

    /// Whether so many sites have come; perhaps fewer while they are away.
    pub(super) fn is_untidy(&self) -> bool {
        let (new, old) = self.attach.untidy();
        let rows = self.allocations.rows.len() + self.activity.samples.len() + self.activity.faults.len();
        let many = WORTH_WHILE.max(old).max(rows / ROWS_A_SITE);
        new >= many
    }

    /// Joins sites with the same heap, stack and caller as far as stacks are known, and forgets keys
    /// that are no longer needed; once rows were forgotten, also drops sites of no row.
    pub(super) fn tidy(&mut self) {
        self.attach.settle_framed();
        self.allocations.matcher.settle();
        self.attach.settle_freed(&mut self.allocations);
        self.attach.settle_stacks(&mut self.allocations);
        let (number, free_number) = self.join_sites(self.limit.forgotten.is_some());
        for (number, frees) in [(number, false), (free_number, true)] {
            number.into_iter().for_each(|number| self.attach.stacks.renumber_sites(&number, frees));
        }
    }

    /// Tidies up at the end, when no stack will become better known. No row may come afterwards.
    pub(super) fn tidy_at_end(&mut self) {
        let Attach { stacks, sites, frees, samples, .. } = &mut *self.attach;
        sites.loosen();
        frees.sites.loosen();
        samples.sites.loosen();
        let all = sites.stacks().chain(frees.sites.stacks()).chain(samples.sites.stacks());
        all.for_each(|stack| *stack = StackRef::node(stacks.resolve(*stack)));
        self.join_sites(true);
    }

    /// Joins sites that are equal by now, and drops those of no row if `drop_unused`. Returns the new
    /// numbers of sites, those of frees apart, if any is another.
    fn join_sites(&mut self, drop_unused: bool) -> (Option<Vec<SiteId>>, Option<Vec<SiteId>>) {
        let Attach { sites, frees, samples, row_sites: rows, .. } = &mut *self.attach;
        if let Some(number) = samples.sites.join(None) {
            self.activity.samples.renumber(&number);
            self.activity.faults.renumber(&number);
        }
        let used = drop_unused.then(|| rows.sites_in_use(sites.len()));
        let number = sites.join(used);
        number.iter().for_each(|number| rows.renumber_sites(number));
        let freeing = &mut frees.sites;
        let used = drop_unused.then(|| rows.free_sites_in_use(freeing.len()));
        // A stack that turned out to be empty tells nothing of the free, whichever came first, the free or its meaning.
        let tells = |used: Vec<bool>| freeing.stacks().zip(used).map(|(stack, used)| used && *stack != StackRef::NONE).collect();
        let used = used.map(tells);
        let free_number = freeing.join(used);
        free_number.iter().for_each(|number| rows.renumber_free_sites(number));
        (number, free_number)
    }
}
