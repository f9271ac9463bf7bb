//! The sites of rows: at which each was allocated and, if that is known, freed.
//!
//! They are apart from the other columns, because they are known later and found by another thread
//! ([`attach`](crate::model::attach)).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::{CHUNK, CHUNK_BITS, FreedColumn, RowId, SiteColumn, split};
use crate::model::SiteId;
use crate::model::renumbering::Renumbering;

/// The sites of all rows, in chunks as those of the rows.
#[derive(Debug, Default)]
pub(in crate::model) struct RowSites {
    sealed: Vec<SiteColumn>,
    /// The chunk that is being filled.
    open: Vec<SiteId>,
    /// Sites of frees, by chunk, up to the last that has any.
    freed: Vec<FreedColumn>,
}

impl RowSites {
    /// Number of rows.
    fn len(&self) -> usize {
        (self.sealed.len() << CHUNK_BITS) + self.open.len()
    }

    /// Adds the site of the next row.
    #[inline(always)]
    pub(in crate::model) fn push(&mut self, site: SiteId) {
        if self.open.len() == CHUNK {
            self.seal();
        }
        self.open.push(site);
    }

    /// Adds rows without a site until there are `rows`.
    pub(in crate::model) fn extend_to(&mut self, rows: usize) {
        while let Some(more) = rows.checked_sub(self.len()).filter(|&more| more > 0) {
            if self.open.len() == CHUNK {
                self.seal();
            }
            let len = self.open.len() + more;
            self.open.resize(len.min(CHUNK), SiteId::UNKNOWN);
        }
    }

    #[inline(never)]
    fn seal(&mut self) {
        self.sealed.push(Arc::new(std::mem::replace(&mut self.open, Vec::with_capacity(CHUNK))));
    }

    /// The site of a row.
    pub(in crate::model) fn of(&self, id: RowId) -> SiteId {
        let (chunk, at) = split(id);
        self.sealed.get(chunk).map_or_else(|| self.open[at], |sites| sites[at])
    }

    /// Sets the site of a row.
    #[inline(always)]
    pub(in crate::model) fn set(&mut self, id: RowId, site: SiteId) {
        let (chunk, at) = split(id);
        match self.sealed.get_mut(chunk) {
            Some(sites) => Arc::make_mut(sites)[at] = site,
            None => self.open[at] = site,
        }
    }

    fn freed_at(&self, id: RowId) -> Option<SiteId> {
        let (chunk, at) = split(id);
        self.freed.get(chunk)?.get(at)
    }

    /// Sets the site of a row's free.
    pub(in crate::model) fn set_freed_at(&mut self, id: RowId, site: SiteId) {
        let (chunk, at) = split(id);
        if self.freed.len() <= chunk {
            self.freed.resize_with(chunk + 1, FreedColumn::default);
        }
        self.freed[chunk].set(at, site);
    }

    /// For each of the sites of frees, whether any row has it.
    pub(in crate::model) fn free_sites_in_use(&self, sites: usize) -> Vec<bool> {
        in_use(sites, &self.freed, FreedColumn::sites)
    }

    /// Gives all freed rows the new numbers of their sites of frees.
    pub(in crate::model) fn renumber_free_sites(&mut self, number: &[SiteId]) {
        let new = |site: SiteId| number.get(site.0 as usize).copied().unwrap_or(site);
        self.freed.par_iter_mut().for_each(|freed| freed.renumber(new));
    }

    /// For each of the sites, whether any row has it.
    pub(in crate::model) fn sites_in_use(&self, sites: usize) -> Vec<bool> {
        let columns: Vec<&[SiteId]> = self.sealed.iter().map(|sites| sites.as_slice()).chain([self.open.as_slice()]).collect();
        in_use(sites, &columns, |sites| sites.iter().copied())
    }

    /// Gives all rows the new numbers of their sites; rows without one stay without.
    pub(in crate::model) fn renumber_sites(&mut self, number: &[SiteId]) {
        let new = |site: SiteId| number.get(site.0 as usize).copied().unwrap_or(site);
        self.sealed.par_iter_mut().for_each(|sites| {
            // A column that others hold too is only copied if it must be.
            if sites.iter().any(|&site| new(site) != site) {
                Arc::make_mut(sites).iter_mut().for_each(|site| *site = new(*site));
            }
        });
        self.open.iter_mut().for_each(|site| *site = new(*site));
    }

    /// Gives rows their new numbers; the sites of those without one are dropped.
    pub(in crate::model) fn renumber(&mut self, numbers: &Renumbering) {
        let mut old = std::mem::take(self);
        for id in (0..old.len() as u32).map(RowId) {
            if let Some(new) = numbers.of(id) {
                self.push(old.of(id));
                old.freed_at(id).into_iter().for_each(|site| self.set_freed_at(new, site));
            }
            // Chunks that nobody else holds are freed one by one.
            let (chunk, at) = split(id);
            if at + 1 == CHUNK {
                old.freed.get_mut(chunk).into_iter().for_each(|freed| *freed = FreedColumn::default());
                old.sealed.get_mut(chunk).into_iter().for_each(|sites| *sites = Arc::default());
            }
        }
    }

    /// The columns as they are now, for a publication.
    pub(super) fn columns(&self) -> (Vec<SiteColumn>, Vec<FreedColumn>) {
        let mut sites = self.sealed.clone();
        if !self.open.is_empty() {
            sites.push(Arc::new(self.open.clone()));
        }
        (sites, self.freed.clone())
    }
}

/// For each of so many sites, whether it occurs in any of the columns.
fn in_use<'c, C: Sync, S: Iterator<Item = SiteId>>(
    count: usize,
    columns: &'c [C],
    sites: impl Fn(&'c C) -> S + Sync,
) -> Vec<bool> {
    let is_used: Vec<AtomicBool> = (0..count).map(|_| AtomicBool::new(false)).collect();
    columns.par_iter().for_each(|column| {
        for site in sites(column) {
            if let Some(used) = is_used.get(site.0 as usize)
                && !used.load(Ordering::Relaxed)
            {
                used.store(true, Ordering::Relaxed);
            }
        }
    });
    is_used.into_iter().map(AtomicBool::into_inner).collect()
}
