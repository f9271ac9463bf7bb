//! Allocations by their C++ type: a grouping of sites, like every other. Layers nest and are never added, so a type has
//! a group in each layer.
//!
//! Cost: once per state of the names a look at up to 25 frames of each site, on all CPUs; then one pass over the sums
//! of the sites.

use std::sync::Arc;

use rayon::prelude::*;

use super::line_tree::NOBODY;
use super::naming::{UNKNOWN_TYPE, allocated_type};
use super::peaks::line_peaks;
use super::tree::sort_lines;
use super::{ByClass, Cancel, Cancelled, Index, LifetimeClass, Mask, Numbers, SeriesOf, Sort, Totals};
use crate::model::{SiteId, Trace};
use crate::names::Names;
use crate::tables::KeyedMap;
use crate::units::Layer;

/// A type in a layer, as a user can select it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeKey {
    /// Layer of memory.
    pub layer: Layer,
    /// Name; [`UNKNOWN_TYPE`] if the type is unknown.
    pub name: Arc<str>,
}

/// The type of each site, as far as names are known.
#[derive(Clone, Debug)]
pub struct Types {
    /// For each site, an index into `keys`.
    of_site: Vec<u32>,
    keys: Vec<TypeKey>,
}

/// The allocations of one type.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeGroup {
    /// The type.
    pub key: TypeKey,
    /// Its number in [`Types`].
    pub id: u32,
    /// Its numbers.
    pub numbers: Numbers,
}

/// Number of sites in one piece of work.
const PIECE: usize = 1 << 12;

impl Types {
    /// Determines the types of all sites.
    pub fn of(trace: &Trace, names: &Names, cancel: &Cancel) -> Result<Self, Cancelled> {
        let pieces: Result<Vec<Vec<Option<&str>>>, Cancelled> = trace
            .sites
            .par_chunks(PIECE)
            .map(|sites| {
                cancel.check()?;
                Ok(sites.iter().map(|site| allocated_type(trace, names, site)).collect())
            })
            .collect();
        let pieces = pieces?;
        let mut types = Self { of_site: Vec::with_capacity(trace.sites.len()), keys: Vec::new() };
        let mut index: KeyedMap<(Layer, &str), u32> = KeyedMap::default();
        for (site, name) in trace.sites.iter().zip(pieces.iter().flatten()) {
            let (layer, name) = (trace.layer_of(site), name.unwrap_or(UNKNOWN_TYPE));
            types.of_site.push(*index.entry((layer, name)).or_insert_with(|| {
                types.keys.push(TypeKey { layer, name: name.into() });
                types.keys.len() as u32 - 1
            }));
        }
        Ok(types)
    }

    /// Returns the number of types.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether there are no types.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the number of a site's type.
    pub fn of_site(&self, site: SiteId) -> u32 {
        self.of_site[site.0 as usize]
    }

    /// Returns a type by its number.
    pub fn key(&self, id: u32) -> &TypeKey {
        &self.keys[id as usize]
    }

    /// Returns the sites of one type; none if there is no such type (any more).
    pub fn mask(&self, trace: &Trace, key: &TypeKey) -> Mask {
        let id = self.keys.iter().position(|known| known == key).map(|id| id as u32);
        Mask::of_sites(trace, |site, _| Some(self.of_site(site)) == id)
    }

    /// Returns the types that have rows, sorted.
    pub fn groups(&self, totals: &Totals, mask: &Mask, sort: Sort) -> Vec<TypeGroup> {
        let mut sums = vec![ByClass::default(); self.keys.len()];
        for (site, buckets) in totals.sites() {
            let classes = mask.classes(site);
            if classes != 0 {
                sums[self.of_site(site) as usize].add(&buckets.only(classes));
            }
        }
        let group = |((id, key), sums): ((u32, &TypeKey), &ByClass)| TypeGroup { key: key.clone(), id, numbers: sums.numbers() };
        let taking_part = (0..).zip(&self.keys).zip(&sums).filter(|(_, sums)| !sums.is_empty());
        let mut groups: Vec<TypeGroup> = taking_part.map(group).collect();
        sort_lines(&mut groups, sort, |group| group.numbers, |group| (group.key.name.clone(), group.key.layer));
        groups
    }

    /// Returns for each type its index in `groups`.
    fn places(&self, groups: &[TypeGroup]) -> Vec<Option<u32>> {
        let mut places = vec![None; self.keys.len()];
        (0..).zip(groups).for_each(|(place, group)| places[group.id as usize] = Some(place));
        places
    }

    /// Returns the group of each site, for lines of a graph.
    pub fn series_of(&self, trace: &Trace, groups: &[TypeGroup], mask: &Mask) -> SeriesOf {
        let places = self.places(groups);
        let place = |site| places[self.of_site(site) as usize].filter(|_| mask.classes(site) != 0);
        SeriesOf::new(trace, groups.len(), place)
    }

    /// Returns stacked series for all sites of a layer; sites in none of the groups form the last series.
    pub fn stack_of(&self, trace: &Trace, layer: Layer, groups: &[TypeGroup], mask: &Mask) -> SeriesOf {
        let places = self.places(groups);
        let others = groups.len() as u32;
        let place = |site: SiteId| {
            let takes_part = trace.layer_of(trace.site(site)) == layer && mask.classes(site) != 0;
            takes_part.then(|| places[self.of_site(site) as usize].unwrap_or(others))
        };
        SeriesOf::new(trace, groups.len() + 1, place).stacked()
    }

    /// Returns the peaks of some groups. Cost: a pass over the events of the interval.
    pub fn peaks(
        &self,
        index: &Index,
        totals: &Totals,
        groups: &[TypeGroup],
        mask: &Mask,
        cancel: &Cancel,
    ) -> Result<Vec<u64>, Cancelled> {
        let now: Vec<u64> = groups.iter().map(|group| group.numbers.outstanding_from).collect();
        let places = self.places(groups);
        let lines_of = |(site, of): (SiteId, &u32)| {
            let place = places[*of as usize];
            LifetimeClass::ALL.map(|class| place.filter(|_| mask.has(site, class)).unwrap_or(NOBODY))
        };
        let lines_of = (0..).map(SiteId).zip(&self.of_site).map(lines_of).collect();
        line_peaks(index, totals.interval, &now, lines_of, |_| None, cancel)
    }
}
