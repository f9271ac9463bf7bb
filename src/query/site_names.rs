//! Names of sites: one text per site, used as a grouping.

use std::sync::Arc;

use super::Mask;
use crate::model::{SiteId, Trace};
use crate::tables::KeyedMap;

/// The name of each site, for one state of the names of functions.
#[derive(Clone, Debug, Default)]
pub struct SiteNames {
    /// For each site, an index into `names`.
    of_site: Vec<u32>,
    names: Vec<Arc<str>>,
}

impl SiteNames {
    /// Returns the number of a site's name.
    pub fn of_site(&self, site: SiteId) -> u32 {
        self.of_site[site.0 as usize]
    }

    /// Returns a name by its number.
    pub fn name(&self, number: u32) -> &Arc<str> {
        &self.names[number as usize]
    }

    /// Returns the sites with a name; none if no site has it (any more).
    pub fn mask(&self, trace: &Trace, name: &str) -> Mask {
        let wanted = self.names.iter().position(|known| **known == *name).map(|number| number as u32);
        Mask::of_sites(trace, |site, _| Some(self.of_site(site)) == wanted)
    }
}

/// Collects the names of sites.
#[derive(Default)]
pub(super) struct SiteNamesBuilder {
    names: Vec<Arc<str>>,
    index: KeyedMap<Arc<str>, u32>,
}

impl SiteNamesBuilder {
    /// Returns the number of a name; a new name gets the next number.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let (name, number): (Arc<str>, u32) = (name.into(), self.names.len() as u32);
        self.names.push(Arc::clone(&name));
        self.index.insert(name, number);
        number
    }

    /// Returns the names of all sites, given their numbers.
    pub(super) fn of_sites(self, of_site: Vec<u32>) -> SiteNames {
        SiteNames { of_site, names: self.names }
    }
}
