//! Who freed the rows of a chunk: a separate column, which exists only if the stack of any free in the
//! chunk is known.

use std::sync::Arc;

use super::chunk_size::CHUNK;
use crate::model::SiteId;

/// No site, among sites of frees.
const NOBODY: SiteId = SiteId(u32::MAX);

/// A site in [`Trace::free_sites`](crate::model::Trace::free_sites) by row. Publications share the
/// column: it is copied when it changes after one.
#[derive(Clone, Debug, Default)]
pub(super) struct FreedColumn(Option<Arc<Vec<SiteId>>>);

impl FreedColumn {
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<SiteId> {
        self.0.as_ref().map(|sites| sites[at]).filter(|&site| site != NOBODY)
    }

    pub(super) fn set(&mut self, at: usize, site: SiteId) {
        let sites = self.0.get_or_insert_with(|| Arc::new(vec![NOBODY; CHUNK]));
        if sites[at] != site {
            Arc::make_mut(sites)[at] = site;
        }
    }

    /// The sites of the first rows as numbers; empty if the site of no row's free is known.
    pub(super) fn numbers(&self, rows: usize) -> Vec<u32> {
        self.0.iter().flat_map(|sites| sites.iter().take(rows)).map(|site| site.0).collect()
    }

    /// The column with these [numbers](Self::numbers); `None` if any is not one of so many sites.
    pub(super) fn of_numbers(numbers: Vec<u32>, sites: u32) -> Option<Self> {
        let is_known = |&number: &u32| number < sites || number == NOBODY.0;
        let is_good = numbers.iter().all(is_known);
        let column = (!numbers.is_empty()).then(|| Arc::new(numbers.into_iter().map(SiteId).collect()));
        is_good.then_some(Self(column))
    }

    /// Whether the site of any row's free is known.
    pub(super) fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// All sites of the column.
    pub(super) fn sites(&self) -> impl Iterator<Item = SiteId> + '_ {
        self.0.iter().flat_map(|sites| sites.iter().copied()).filter(|&site| site != NOBODY)
    }

    /// Gives the sites their new numbers.
    pub(super) fn renumber(&mut self, number: impl Fn(SiteId) -> SiteId) {
        let changes = |site: &SiteId| *site != NOBODY && number(*site) != *site;
        if let Some(sites) = self.0.as_mut().filter(|sites| sites.iter().any(changes)) {
            Arc::make_mut(sites).iter_mut().filter(|site| **site != NOBODY).for_each(|site| *site = number(*site));
        }
    }

    /// Bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |sites| sites.capacity() * size_of::<SiteId>())
    }
}
