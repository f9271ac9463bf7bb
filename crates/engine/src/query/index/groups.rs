//! Groups of sites by number, stored in as few bytes as possible: every event looks up the group of its site, so the
//! table should fit into the cache.

use super::feed::NOBODY;
use crate::model::SiteId;

/// The group of each site; [`NOBODY`] for sites without one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Groups {
    Few(Vec<u8>),
    Several(Vec<u16>),
    Many(Vec<u32>),
}

/// Stand for [`NOBODY`] in [`Groups::Few`] and [`Groups::Several`].
const NOBODY_OF_FEW: u8 = u8::MAX;
const NOBODY_OF_SEVERAL: u16 = u16::MAX;

impl Groups {
    /// Builds the table from the group of each site; groups are numbers below `count`.
    pub(super) fn new(of: impl Iterator<Item = Option<u32>>, count: usize) -> Self {
        if count <= NOBODY_OF_FEW.into() {
            Self::Few(of.map(|group| group.map_or(NOBODY_OF_FEW, |group| group as u8)).collect())
        } else if count <= NOBODY_OF_SEVERAL.into() {
            Self::Several(of.map(|group| group.map_or(NOBODY_OF_SEVERAL, |group| group as u16)).collect())
        } else {
            Self::Many(of.map(|group| group.unwrap_or(NOBODY)).collect())
        }
    }

    /// Returns the group of a site.
    #[inline]
    pub(super) fn of(&self, site: SiteId) -> u32 {
        match self {
            Self::Few(groups) => match groups[site.0 as usize] {
                NOBODY_OF_FEW => NOBODY,
                group => group.into(),
            },
            Self::Several(groups) => match groups[site.0 as usize] {
                NOBODY_OF_SEVERAL => NOBODY,
                group => group.into(),
            },
            Self::Many(groups) => groups[site.0 as usize],
        }
    }

    /// Returns the bytes in memory.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::Few(groups) => groups.capacity(),
            Self::Several(groups) => groups.capacity() * 2,
            Self::Many(groups) => groups.capacity() * 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_their_numbers_however_many_there_are() {
        for count in [0, 1, 255, 256, 65_535, 65_536] {
            let groups = Groups::new((0..count).map(Some).chain([None]), count as usize);
            assert!((0..count).all(|group| groups.of(SiteId(group)) == group), "{count}");
            assert_eq!(groups.of(SiteId(count)), NOBODY);
        }
    }
}
