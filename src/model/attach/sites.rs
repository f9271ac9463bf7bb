//! Who did something where, interned while stacks may still be unknown: one table of those
//! who allocated, one of those who freed.

use rustc_hash::FxHashMap;

use crate::model::stack::{Interner, StackRef, map_bytes};
use crate::model::{HeapId, ProcessId, Site, SiteId};
use crate::units::Ticks;

/// A site as interned while stacks may still be unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::model) struct SiteKey {
    pub(super) heap: HeapId,
    pub(super) stack: StackRef,
    pub(super) caller: ProcessId,
}

/// Sites, and when each was first met.
#[derive(Debug, Default)]
pub(in crate::model) struct SiteTable {
    list: Vec<(SiteKey, Ticks)>,
    index: FxHashMap<SiteKey, SiteId>,
    /// How many there were when they were tidied up last.
    tidied: usize,
}

impl SiteTable {
    /// Number of sites.
    pub(in crate::model) fn len(&self) -> usize {
        self.list.len()
    }

    /// What a site is.
    pub(super) fn key(&self, site: SiteId) -> SiteKey {
        self.list[site.0 as usize].0
    }

    /// The site of a key that is met at `first`.
    pub(super) fn intern(&mut self, key: SiteKey, first: Ticks) -> SiteId {
        let Self { list, index, .. } = self;
        let site = *index.entry(key).or_insert_with(|| {
            list.push((key, first));
            SiteId((list.len() - 1) as u32)
        });
        let known_since = &mut list[site.0 as usize].1;
        *known_since = first.min(*known_since);
        site
    }

    /// A site that nobody else can ask for.
    pub(super) fn add(&mut self, key: SiteKey, first: Ticks) -> SiteId {
        self.list.push((key, first));
        SiteId((self.list.len() - 1) as u32)
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> u64 {
        self.list.capacity() as u64 * 24 + map_bytes(self.index.capacity(), 16)
    }

    /// All stacks.
    pub(in crate::model) fn stacks(&mut self) -> impl Iterator<Item = &mut StackRef> {
        self.list.iter_mut().map(|(key, _)| &mut key.stack)
    }

    /// How many came since they were tidied up, and how many there were then.
    pub(in crate::model) fn untidy(&self) -> (usize, usize) {
        (self.list.len() - self.tidied, self.tidied)
    }

    /// Joins those that are the same by now, and drops those that are not `used`. Returns
    /// their new numbers, if any is another.
    pub(in crate::model) fn join(&mut self, used: &[bool]) -> Option<Vec<SiteId>> {
        let mut joined = Self::default();
        let mut number = Vec::with_capacity(self.list.len());
        for (&(key, first), is_used) in self.list.iter().zip(used) {
            number.push(if *is_used { joined.intern(key, first) } else { SiteId::UNKNOWN });
        }
        joined.tidied = joined.list.len();
        let is_changed = joined.list.len() < self.list.len();
        if !is_changed {
            joined.list = std::mem::take(&mut self.list); // with the room that it has for more
        }
        *self = joined;
        is_changed.then_some(number)
    }

    /// As they are known now.
    pub(in crate::model) fn published(&self, stacks: &mut Interner) -> Vec<Site> {
        let site = |&(key, first): &(SiteKey, Ticks)| Site {
            heap: key.heap,
            stack: stacks.resolve(key.stack),
            caller: key.caller,
            first,
        };
        self.list.iter().map(site).collect()
    }
}
