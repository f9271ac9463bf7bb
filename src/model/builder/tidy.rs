//! Sites, of those who allocate and of those who free, that turned out to be one, the same stack
//! under many keys or known late, and sites of which no row is left. Keys are defined again and
//! again, each time for new sites: without this they would grow with the capture, and with them
//! every publication and every question.
//!
//! Cost: a look at the sites and at the stacks, a hash operation or two for each of those that
//! were not known; a pass over the rows if any two sites are the same, and another one at the end.

use super::Builder;
use crate::model::SiteId;
use crate::model::attach::Attach;
use crate::model::stack::StackRef;

/// Fewer new sites than this are not worth the passes, and one is not worth more rows
/// than that; in debug builds it is, so that every test goes through them.
const WORTH_WHILE: usize = if cfg!(debug_assertions) { 4 } else { 1 << 14 };
const ROWS_A_SITE: usize = if cfg!(debug_assertions) { 256 } else { 8 };

impl Builder {
    /// Tidies up where so many sites have come that it costs little for each of them.
    pub(super) fn tidy_now_and_then(&mut self) {
        let tables = [&self.attach.sites, &self.attach.frees.sites, &self.attach.samples.sites].map(|sites| sites.untidy());
        let (new, old) = tables.into_iter().fold((0, 0), |(all_new, all_old), (new, old)| (all_new + new, all_old + old));
        let rows = self.lives.rows.len() + self.activity.samples.len();
        let many = WORTH_WHILE.max(old).max(rows / ROWS_A_SITE);
        if new >= many {
            self.tidy();
        }
    }

    /// Joins sites with the same heap, stack and caller as far as stacks are known, and forgets
    /// keys that nobody needs any more; once rows are forgotten, also sites of no row.
    pub(super) fn tidy(&mut self) {
        self.settle_framed();
        self.lives.matcher.settle();
        self.attach.settle_freed(&mut self.lives);
        self.attach.settle_stacks(&mut self.lives);
        let (number, free_number) = self.join_sites(self.limit.forgotten.is_some());
        for (number, frees) in [(number, false), (free_number, true)] {
            number.into_iter().for_each(|number| self.attach.stacks.renumber_sites(&number, frees));
        }
    }

    /// The same at the end, where all stacks are what they are known to be by now. No row
    /// may come afterwards.
    pub(super) fn tidy_at_end(&mut self) {
        let Attach { stacks, sites, frees, samples, .. } = &mut self.attach;
        sites.loosen();
        frees.sites.loosen();
        samples.sites.loosen();
        let all = sites.stacks().chain(frees.sites.stacks()).chain(samples.sites.stacks());
        all.for_each(|stack| *stack = StackRef::node(stacks.resolve(*stack)));
        self.join_sites(true);
    }

    /// Joins sites that are the same by now, and drops those of no row if that is asked for. Returns
    /// what their numbers are now, those of who frees apart, if any is another.
    fn join_sites(&mut self, drop_unused: bool) -> (Option<Vec<SiteId>>, Option<Vec<SiteId>>) {
        let Attach { sites, frees, samples, .. } = &mut self.attach;
        samples.sites.join(None).iter().for_each(|number| self.activity.samples.renumber(number));
        let rows = &mut self.lives.rows;
        let used = drop_unused.then(|| rows.sites_in_use(sites.len()));
        let number = sites.join(used);
        number.iter().for_each(|number| rows.renumber_sites(number));
        let freeing = &mut frees.sites;
        let used = drop_unused.then(|| rows.free_sites_in_use(freeing.len()));
        let free_number = freeing.join(used);
        free_number.iter().for_each(|number| rows.renumber_free_sites(number));
        (number, free_number)
    }

    /// Tells rows that came with their frames their sites.
    pub(super) fn settle_framed(&mut self) {
        let (attach, mut rooms) = self.attach();
        attach.settle_framed(&mut rooms);
    }
}
