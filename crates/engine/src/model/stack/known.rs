//! Sites that are kept beside a stack, or beside a key that is not defined yet, so that the next event
//! with it finds its site by the look-up of the stack alone.

use crate::model::{HeapId, SiteId};

/// Allocations, or frees, in a heap: each have sites of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::model) struct SiteUser(u32);

impl SiteUser {
    /// Set for frees: no trace has half as many heaps as there are ids.
    const FREES: u32 = 1 << 31;
    const NOBODY: Self = Self(u32::MAX);

    pub(in crate::model) fn allocating(heap: HeapId) -> Self {
        Self(heap.0)
    }

    pub(in crate::model) fn freeing(heap: HeapId) -> Self {
        Self(heap.0 | Self::FREES)
    }

    pub(in crate::model) fn heap(self) -> HeapId {
        HeapId(self.0 & !Self::FREES)
    }

    pub(in crate::model) fn frees(self) -> bool {
        self.0 & Self::FREES != 0
    }
}

/// The latest sites of a stack, beside the stack itself: the look-up of the stack brings them into the
/// cache.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct KnownSites {
    sites: [(SiteUser, SiteId); 6],
    turn: u8,
}

impl Default for KnownSites {
    fn default() -> Self {
        Self { sites: [(SiteUser::NOBODY, SiteId(u32::MAX)); 6], turn: 0 }
    }
}

impl KnownSites {
    /// The site of allocations or frees in a heap by the heap's own process.
    pub(in crate::model) fn of(&self, user: SiteUser) -> Option<SiteId> {
        self.sites.iter().find(|(one, _)| *one == user).map(|(_, site)| *site)
    }

    /// Whether there is no room for another site.
    pub(in crate::model) fn is_full(&self) -> bool {
        usize::from(self.turn) >= self.sites.len()
    }

    /// Remembers a site, in place of the oldest.
    pub(in crate::model) fn add(&mut self, user: SiteUser, site: SiteId) {
        self.sites[usize::from(self.turn) % self.sites.len()] = (user, site);
        let after = usize::from(self.turn) + 1;
        self.turn = if after < 2 * self.sites.len() { after } else { self.sites.len() } as u8;
    }

    /// Gives the sites of allocations, or those of frees, their new numbers; sites without one are
    /// dropped.
    pub(super) fn renumber(&mut self, number: &[SiteId], frees: bool) {
        let old = std::mem::take(self);
        for (user, site) in old.sites.into_iter().take(old.turn.into()) {
            let new = if user.frees() == frees { number.get(site.0 as usize).copied() } else { None };
            match new.unwrap_or(site) {
                SiteId::UNKNOWN => {}
                site => self.add(user, site),
            }
        }
    }
}

/// Where a user-mode key that is not defined yet was found; it is looked up again if it is not there
/// any more.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct KeyPlace(pub(super) u32);

/// Where a whole stack was found; it is looked up again if it is not there any more.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct WholePlace(pub(super) u32);

/// No place: no table has so many buckets, and if one had, the entry in it would be compared.
pub(super) const NOWHERE: u32 = u32::MAX;

impl Default for KeyPlace {
    fn default() -> Self {
        Self(NOWHERE)
    }
}

impl Default for WholePlace {
    fn default() -> Self {
        Self(NOWHERE)
    }
}
