//! Looks up the sites of rows, and of frees, whose stack is given by a key.

use super::Attach;
use super::keyed::{AwaitedKeys, KeyOwner, KeyedRow};
use super::sites::SiteKey;
use crate::model::allocations::{Ended, EndedRow};
use crate::model::origin::Origin;
use crate::model::stack::{KeyPlace, SiteUser, StackRef};
use crate::model::{HeapId, RowId, SiteId};
use crate::units::Ticks;

/// Least number of rows that wait together.
const TOGETHER: usize = 256;

impl Attach {
    /// Makes a row wait for the meaning of its key, which was given at a raw time.
    #[inline(always)]
    pub(super) fn await_key(&mut self, from: Origin, (heap, row): (HeapId, RowId), key: u64, time: i64) {
        self.await_meaning(from, (heap, KeyOwner::Began(row)), key, time);
    }

    /// Makes a free wait for the meaning of its key, which was given at a raw time.
    pub(super) fn await_freeing_key(&mut self, from: Origin, ended: Ended, key: u64, time: i64) {
        self.await_meaning(from, (ended.heap, KeyOwner::Freed(ended.row)), key, time);
    }

    #[inline(always)]
    pub(super) fn await_meaning(&mut self, from: Origin, (heap, owner): (HeapId, KeyOwner), key: u64, time: i64) {
        self.keyed.rows.push(KeyedRow { owner, heap, at: from.time, key, time });
        self.keyed.keys.add(key);
        self.keyed.may_be_fresh |= self.stacks.is_fresh(time);
        if self.keyed.rows.len() > self.keyed.limit {
            self.settle_keyed(from.raw);
            self.keyed.limit = TOGETHER.max(self.keyed.rows.len() * 2);
        }
    }

    /// A key is about to be defined: sets the sites of rows that mean the stack for which it stood
    /// until now.
    pub(super) fn settle_key(&mut self, key: u64, time: i64) {
        if self.keyed.may_be_fresh || self.keyed.keys.may_have(key) {
            self.settle_keyed(time);
        }
    }

    /// Sets the sites of rows whose key was given up to a raw time.
    #[inline(never)]
    pub(in crate::model) fn settle_keyed(&mut self, time: i64) {
        let mut rows = std::mem::take(&mut self.keyed.rows);
        // All look-ups are begun before the first is needed.
        let places: Vec<KeyPlace> = rows.iter().map(|keyed| self.stacks.place_of_key(keyed.key)).collect();
        let mut place = places.into_iter();
        rows.retain(|keyed| {
            let place = place.next().unwrap_or_default();
            if keyed.time > time {
                return true;
            }
            self.give_key((keyed.heap, keyed.owner), (keyed.key, place), keyed.time, || keyed.at);
            false
        });
        self.keyed.keys = AwaitedKeys::default();
        rows.iter().for_each(|keyed| self.keyed.keys.add(keyed.key));
        self.keyed.may_be_fresh = false;
        self.keyed.rows = rows;
    }

    /// Sets the site of a row or free from its key, which was given at the raw time `time` and found at
    /// `place`; `at` returns when the row began, or was freed.
    #[inline(always)]
    pub(super) fn give_key(
        &mut self,
        (heap, owner): (HeapId, KeyOwner),
        (key, place): (u64, KeyPlace),
        time: i64,
        at: impl FnOnce() -> Ticks,
    ) {
        if let KeyOwner::Freed(EndedRow::Unmatched(number)) = owner {
            let (stack, _) = self.stacks.key_and_sites(key, time);
            return self.frees.unmatched.push((number, stack));
        }
        let user = match owner {
            KeyOwner::Began(_) => SiteUser::allocating(heap),
            KeyOwner::Freed(_) => SiteUser::freeing(heap),
        };
        let known = self.stacks.site_of_key(place, key, user, time);
        let site = known.unwrap_or_else(|| self.keyed_site(user, (key, time), at()));
        match owner {
            KeyOwner::Began(row) => self.row_sites.set(row, site),
            KeyOwner::Freed(row) => self.tell_freeing_site(row, site),
        }
    }

    /// The site of a block in a heap that began or was freed at the moment `at`; its key was given at a
    /// raw time.
    #[inline(never)]
    fn keyed_site(&mut self, user: SiteUser, (key, time): (u64, i64), at: Ticks) -> SiteId {
        let caller = self.owner(user.heap());
        let Self { stacks, sites, frees, .. } = self;
        let sites = if user.frees() { &mut frees.sites } else { sites };
        let (stack, known) = stacks.key_and_sites(key, time);
        let key = SiteKey { heap: user.heap(), stack, caller };
        match known {
            Some(known) => known.of(user).unwrap_or_else(|| {
                if known.is_full() {
                    return sites.intern(key, at);
                }
                // No site can have it yet: each definition gives a key a new meaning.
                let site = sites.add(key, at);
                known.add(user, site);
                site
            }),
            None => sites.intern(key, at),
        }
    }

    /// Gives rows that still wait at a raw time a site without a stack, for a publication.
    pub(in crate::model) fn name_keyed(&mut self, now: i64) {
        self.settle_keyed(now);
        for i in 0..self.keyed.rows.len() {
            let KeyedRow { owner: KeyOwner::Began(row), heap, at, .. } = self.keyed.rows[i] else { continue };
            let site = self.site(heap, StackRef::NONE, self.owner(heap), at);
            self.row_sites.set(row, site);
        }
    }
}
