//! Sites, which say who did something where, interned while stacks may still be unknown: one table for
//! allocations, one for frees.

use crate::model::stack::{Interner, StackRef, map_bytes};
use crate::model::{HeapId, ProcessId, Site, SiteId};
use crate::tables::KeyedMap;
use crate::units::Ticks;

/// A site as interned while stacks may still be unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::model) struct SiteKey {
    pub(super) heap: HeapId,
    pub(super) stack: StackRef,
    pub(super) caller: ProcessId,
}

/// Sites, with the time of the first event of each.
#[derive(Debug, Default)]
pub(in crate::model) struct SiteTable {
    list: Vec<(SiteKey, Ticks)>,
    index: KeyedMap<SiteKey, SiteId>,
    /// Number of sites when they were tidied up last.
    tidied: usize,
    /// Sites in the index whose stack may change.
    unsettled: Vec<SiteId>,
    /// Unsettled sites while they are out of the index.
    loosened: Vec<SiteId>,
    /// Sites that nobody can ask for until their stack is known; in no index.
    unasked: Vec<SiteId>,
}

impl SiteTable {
    /// Number of sites.
    pub(in crate::model) fn len(&self) -> usize {
        self.list.len()
    }

    /// The key of a site.
    pub(super) fn key(&self, site: SiteId) -> SiteKey {
        self.list[site.0 as usize].0
    }

    /// The stack of a site.
    pub(in crate::model) fn stack_of(&self, site: SiteId) -> StackRef {
        self.key(site).stack
    }

    /// The site of a key that occurs at `first`.
    pub(super) fn intern(&mut self, key: SiteKey, first: Ticks) -> SiteId {
        let Self { list, index, unsettled, .. } = self;
        let site = *index.entry(key).or_insert_with(|| {
            let site = SiteId(list.len() as u32);
            list.push((key, first));
            if !key.stack.is_known() {
                unsettled.push(site);
            }
            site
        });
        let known_since = &mut list[site.0 as usize].1;
        *known_since = first.min(*known_since);
        site
    }

    /// Adds a site that nobody else can ask for until its stack is known.
    pub(super) fn add(&mut self, key: SiteKey, first: Ticks) -> SiteId {
        let site = SiteId(self.list.len() as u32);
        self.list.push((key, first));
        self.unasked.push(site);
        site
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> u64 {
        let lists = self.list.capacity() * 24 + (self.unsettled.capacity() + self.unasked.capacity()) * 4;
        lists as u64 + map_bytes(self.index.capacity(), 16)
    }

    /// All stacks.
    pub(in crate::model) fn stacks(&mut self) -> impl Iterator<Item = &mut StackRef> {
        self.list.iter_mut().map(|(key, _)| &mut key.stack)
    }

    /// Number of sites added since they were tidied up, and their number then.
    pub(in crate::model) fn untidy(&self) -> (usize, usize) {
        (self.list.len() - self.tidied, self.tidied)
    }

    /// Called before stacks are settled: takes sites whose stack may change out of the index, until
    /// [`SiteTable::join`] puts them back.
    pub(in crate::model) fn loosen(&mut self) {
        for &site in &self.unsettled {
            self.index.remove(&self.list[site.0 as usize].0);
        }
        self.loosened.append(&mut self.unsettled);
    }

    /// Joins sites that are equal by now, and drops those that are not `used`, if that is given.
    /// Returns the new numbers of sites, if any has another.
    pub(in crate::model) fn join(&mut self, used: Option<Vec<bool>>) -> Option<Vec<SiteId>> {
        let mut number: Vec<SiteId> = (0..self.list.len() as u32).map(SiteId).collect();
        let is_known = |site: &SiteId| self.list[site.0 as usize].0.stack.is_known();
        let (known, unasked): (Vec<_>, Vec<_>) = std::mem::take(&mut self.unasked).into_iter().partition(is_known);
        let loosened = std::mem::take(&mut self.loosened);
        // In their order, so that a site that stands for others does so for good.
        let mut is_new = vec![false; self.list.len()];
        loosened.iter().chain(&known).for_each(|site| is_new[site.0 as usize] = true);
        for site in sites_that(&is_new) {
            self.put(site, &mut number);
        }
        let unsettled: Vec<_> = loosened.into_iter().filter(|site| !self.key(*site).stack.is_known()).collect();
        let mut stay: Vec<bool> = number.iter().zip(0..).map(|(number, site)| number.0 == site).collect();
        if let Some(used) = used {
            // A site is also that of all rows whose sites were joined with it.
            let mut joined = vec![false; stay.len()];
            number.iter().zip(used).for_each(|(number, used)| joined[number.0 as usize] |= used);
            stay.iter_mut().zip(joined).for_each(|(stay, used)| *stay &= used);
        }
        let is_changed = stay.contains(&false);
        if is_changed {
            self.drop_others(&stay, &mut number);
        }
        self.tidied = self.list.len();
        let left = |sites: Vec<SiteId>| {
            sites.into_iter().map(|site| number[site.0 as usize]).filter(|&site| site != SiteId::UNKNOWN).collect()
        };
        (self.unsettled, self.unasked) = (left(unsettled), left(unasked));
        is_changed.then_some(number)
    }

    /// Puts a site into the index, or joins it with the equal one there; `number` has the site that
    /// stands for each.
    fn put(&mut self, site: SiteId, number: &mut [SiteId]) {
        let (key, first) = self.list[site.0 as usize];
        let known = self.index.entry(key).or_insert(site);
        if *known != site {
            let (stays, goes) = (site.min(*known), site.max(*known));
            *known = stays;
            number[goes.0 as usize] = stays;
            let since = first.min(self.list[stays.0 as usize].1).min(self.list[goes.0 as usize].1);
            self.list[stays.0 as usize].1 = since;
        }
    }

    /// Drops sites that do not `stay`. `number` has the site that stands for each, and afterwards its
    /// new number.
    fn drop_others(&mut self, stay: &[bool], number: &mut [SiteId]) {
        let mut left = 0;
        for (site, stays) in stay.iter().enumerate() {
            let stands_for = number[site].0 as usize;
            number[site] = if *stays {
                self.list[left as usize] = self.list[site];
                left += 1;
                SiteId(left - 1)
            } else if stands_for < site {
                number[stands_for] // has its new number already
            } else {
                SiteId::UNKNOWN
            };
        }
        self.list.truncate(left as usize);
        self.index.retain(|_, site| {
            *site = number[site.0 as usize];
            *site != SiteId::UNKNOWN
        });
    }

    /// The sites as they are known now.
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

/// The sites whose entry is true.
fn sites_that(are: &[bool]) -> impl Iterator<Item = SiteId> + '_ {
    (0..).map(SiteId).zip(are).filter(|(_, are)| **are).map(|(site, _)| site)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Frames, StackPart};

    /// A key for a stack of a heap.
    fn key(heap: u32, stack: StackRef) -> SiteKey {
        SiteKey { heap: HeapId(heap), stack, caller: ProcessId(0) }
    }

    fn settled(sites: &mut SiteTable, stacks: &mut Interner, used: Option<Vec<bool>>) -> Option<Vec<SiteId>> {
        sites.loosen();
        stacks.settle(|settle| sites.stacks().for_each(settle));
        sites.join(used)
    }

    #[test]
    fn sites_that_turn_out_to_be_the_same_become_the_first_of_them() {
        let (mut sites, mut stacks) = (SiteTable::default(), Interner::default());
        let user = StackPart::User;
        let (early, late) = (stacks.key(user, 1, 0), stacks.key(user, 2, 0));
        let plain = stacks.frames(Frames::new(&[10]));
        let known = [
            sites.add(key(1, early), Ticks(9)),
            sites.intern(key(1, plain), Ticks(5)),
            sites.intern(key(1, late), Ticks(3)),
            sites.intern(key(2, early), Ticks(4)),
        ];
        assert_eq!(known, [0, 1, 2, 3].map(SiteId));
        stacks.define(user, 1, Frames::new(&[10]), 8);
        let number = settled(&mut sites, &mut stacks, None).unwrap();
        assert_eq!(number, [0, 0, 1, 2].map(SiteId));
        assert_eq!((sites.list[0].1, sites.untidy()), (Ticks(5), (0, 3)));
        assert_eq!(sites.intern(key(1, plain), Ticks(6)), SiteId(0));
        assert_eq!(sites.intern(key(2, plain), Ticks(6)), SiteId(2));

        // The one that stood first stays first, whichever was known before.
        let other = stacks.frames(Frames::new(&[20]));
        assert_eq!(sites.intern(key(1, other), Ticks(2)), SiteId(3));
        let late = sites.list[1].0.stack;
        assert_eq!(sites.intern(key(1, late), Ticks(7)), SiteId(1));
        stacks.define(user, 2, Frames::new(&[20]), 9);
        assert_eq!(settled(&mut sites, &mut stacks, None), Some([0, 1, 2, 1].map(SiteId).to_vec()));
        assert_eq!((sites.intern(key(1, other), Ticks(8)), sites.list[1].1), (SiteId(1), Ticks(2)));
        assert_eq!(settled(&mut sites, &mut stacks, None), None, "nothing is left to do");

        let number = settled(&mut sites, &mut stacks, Some(vec![false, true, true])).unwrap();
        assert_eq!(number, [SiteId::UNKNOWN, SiteId(0), SiteId(1)]);
        assert_eq!(sites.intern(key(1, other), Ticks(8)), SiteId(0));
        assert_eq!(sites.intern(key(1, plain), Ticks(8)), SiteId(2), "it is a new one");
    }
}
