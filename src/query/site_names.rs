//! Names of sites: a grouping of them by one text each.

use std::sync::Arc;

use super::Mask;
use crate::model::{SiteId, Trace};
use crate::tables::KeyedMap;

/// The name of each site, for one state of the names of functions.
#[derive(Clone, Debug, Default)]
pub struct SiteNames {
    /// By site, indices of `names`.
    of_site: Vec<u32>,
    names: Vec<Arc<str>>,
}

impl SiteNames {
    /// The number of a site's name.
    pub fn of_site(&self, site: SiteId) -> u32 {
        self.of_site[site.0 as usize]
    }

    /// A name, by its number.
    pub fn name(&self, number: u32) -> &Arc<str> {
        &self.names[number as usize]
    }

    /// The sites of that name; none if none has it (any more).
    pub fn mask(&self, trace: &Trace, name: &str) -> Mask {
        let wanted = self.names.iter().position(|known| **known == *name).map(|number| number as u32);
        Mask::of_sites(trace, |site, _| Some(self.of_site(site)) == wanted)
    }
}

/// Collects them.
#[derive(Default)]
pub(super) struct SiteNamesBuilder {
    names: Vec<Arc<str>>,
    index: KeyedMap<Arc<str>, u32>,
}

impl SiteNamesBuilder {
    /// The number of a name.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let (name, number): (Arc<str>, u32) = (name.into(), self.names.len() as u32);
        self.names.push(Arc::clone(&name));
        self.index.insert(name, number);
        number
    }

    /// The names of all sites, from their numbers.
    pub(super) fn of_sites(self, of_site: Vec<u32>) -> SiteNames {
        SiteNames { of_site, names: self.names }
    }
}
