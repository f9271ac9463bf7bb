//! Sites that turned out to be one: the same stack under many keys, or known late.
//! Whatever is kept for each site of a complete trace is kept once.
//!
//! Cost: a look at the sites, and a pass over the rows if any two are the same.

use rustc_hash::FxHashMap;

use super::Builder;
use crate::model::{HeapId, NodeId, ProcessId, SiteId};

impl Builder {
    /// Joins sites with the same heap, stack and caller. No row may come afterwards.
    pub(super) fn join_sites(&mut self) {
        let mut index: FxHashMap<(HeapId, NodeId, ProcessId), usize> = FxHashMap::default();
        let mut joined = Vec::new();
        let mut number = Vec::with_capacity(self.sites.len());
        for &(key, first) in &self.sites {
            let stack = self.stacks.resolve(key.stack);
            let at = *index.entry((key.heap, stack, key.caller)).or_insert_with(|| {
                joined.push((key, first));
                joined.len() - 1
            });
            joined[at].1 = first.min(joined[at].1);
            number.push(SiteId(at as u32));
        }
        if joined.len() < self.sites.len() {
            self.rows.renumber_sites(&number);
            self.sites = joined;
            self.site_index.clear();
        }
    }
}
