//! Names of sites: one text per site, used as a grouping.

use std::sync::Arc;

use super::Mask;
use super::texts::Texts;
use crate::model::{SiteId, Trace};

/// The name of each site, for one state of the names of functions.
#[derive(Clone, Debug)]
pub struct SiteNames {
    /// For each site, a number in `names`.
    of_site: Vec<u32>,
    names: Texts,
}

impl SiteNames {
    /// The names of all sites, given their numbers.
    pub(super) fn new(of_site: Vec<u32>, names: Texts) -> Self {
        Self { of_site, names }
    }

    /// Returns the number of a site's name.
    pub fn of_site(&self, site: SiteId) -> u32 {
        self.of_site[site.0 as usize]
    }

    /// Returns a name by its number.
    pub fn name(&self, number: u32) -> &Arc<str> {
        self.names.text(number)
    }

    /// Returns the sites with a name; none if no site has it (any more).
    pub fn mask(&self, trace: &Trace, name: &str) -> Mask {
        let wanted = self.names.number(name);
        Mask::of_sites(trace, |site, _| Some(self.of_site(site)) == wanted)
    }
}
