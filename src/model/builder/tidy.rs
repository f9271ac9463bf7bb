//! Sites that turned out to be one, the same stack under many keys or known late, and
//! sites of which no row is left. Keys are defined again and again, each time for new
//! sites: without this they would grow with the capture, and with them every
//! publication and every question.
//!
//! Cost: a look at the sites and at the stacks; a pass over the rows, and another one if
//! any two sites are the same.

use rustc_hash::FxHashMap;

use super::{Builder, SiteKey};
use crate::model::SiteId;
use crate::model::stack::StackRef;

/// Fewer new sites than this are not worth the passes, and one is not worth more rows
/// than that; in debug builds it is, so that every test goes through them.
const WORTH_WHILE: usize = if cfg!(debug_assertions) { 4 } else { 1 << 14 };
const ROWS_A_SITE: usize = if cfg!(debug_assertions) { 256 } else { 8 };

impl Builder {
    /// Tidies up where so many sites have come that it costs little for each of them.
    pub(super) fn tidy_now_and_then(&mut self) {
        let many = WORTH_WHILE.max(self.tidy_sites).max(self.rows.len() / ROWS_A_SITE);
        if self.sites.len() - self.tidy_sites >= many {
            self.tidy();
        }
    }

    /// Joins sites with the same heap, stack and caller as far as stacks are known, drops
    /// those of no row, and forgets keys that nobody needs any more.
    pub(super) fn tidy(&mut self) {
        self.settle_framed();
        let Self { stacks, sites, pending, unmatched_frees, matcher, .. } = self;
        stacks.settle(|settle| {
            sites.iter_mut().for_each(|(key, _)| settle(&mut key.stack));
            pending.stacks().for_each(&mut *settle);
            unmatched_frees.stacks().for_each(&mut *settle);
            matcher.each_stack(settle);
        });
        self.join_sites();
    }

    /// The same at the end, where all stacks are what they are known to be by now. No row
    /// may come afterwards.
    pub(super) fn tidy_at_end(&mut self) {
        let Self { stacks, sites, .. } = self;
        sites.iter_mut().for_each(|(key, _)| key.stack = StackRef::node(stacks.resolve(key.stack)));
        self.join_sites();
    }

    fn join_sites(&mut self) {
        let is_used = self.rows.sites_in_use(self.sites.len());
        let mut index: FxHashMap<SiteKey, SiteId> = FxHashMap::default();
        let mut joined = Vec::new();
        let mut number = Vec::with_capacity(self.sites.len());
        for (&(key, first), is_used) in self.sites.iter().zip(is_used) {
            if !is_used {
                number.push(SiteId::UNKNOWN);
                continue;
            }
            let site = *index.entry(key).or_insert_with(|| {
                joined.push((key, first));
                SiteId((joined.len() - 1) as u32)
            });
            let known_since = &mut joined[site.0 as usize].1;
            *known_since = first.min(*known_since);
            number.push(site);
        }
        if joined.len() < self.sites.len() {
            self.rows.renumber_sites(&number);
            self.sites = joined;
        }
        self.site_index = index;
        self.tidy_sites = self.sites.len();
    }
}
