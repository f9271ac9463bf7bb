//! The part of the trie of paths that some sites use: those of one process in one layer, mostly a small part of the
//! whole. Cost: a visit of each path on the way, and a sort of them.

use super::paths::{Functions, PathId};
use crate::model::{ProcessId, SiteId, Trace};
use crate::query::{ByClass, Mask, Totals};
use crate::tables::KeyedMap;
use crate::units::Layer;

/// The process and layer whose numbers are added up; layers nest, so they are never added to each other.
pub(super) type Owner = (ProcessId, Layer);

/// Returns the sites that have rows, grouped by owner, in the order of their first sites.
pub(super) fn by_owner(trace: &Trace, totals: &Totals, mask: &Mask) -> Vec<(Owner, Vec<(SiteId, ByClass)>)> {
    let mut owners: KeyedMap<Owner, usize> = KeyedMap::default();
    let mut out: Vec<(Owner, Vec<(SiteId, ByClass)>)> = Vec::new();
    for (site, buckets) in totals.sites() {
        let buckets = buckets.only(mask.classes(site));
        if buckets.is_empty() {
            continue;
        }
        let heap = trace.heap(trace.site(site).heap);
        let owner = (heap.process, heap.layer);
        let at = *owners.entry(owner).or_insert_with(|| {
            out.push((owner, Vec::new()));
            out.len() - 1
        });
        out[at].1.push((site, buckets));
    }
    out
}

/// Index of each path in the current part; allocated once and reused.
pub(super) struct Scratch(Vec<u32>);

const NOWHERE: u32 = u32::MAX;

impl Scratch {
    pub(super) fn new(functions: &Functions) -> Self {
        Self(vec![NOWHERE; functions.paths()])
    }
}

/// Some paths with all their ancestors except the root; callers come before callees.
pub(super) struct Part {
    pub(super) paths: Vec<PathId>,
    /// Index of the parent of each path, or [`Part::OUTSIDE`].
    pub(super) parent: Vec<u32>,
    /// Index of the path of each site, or [`Part::OUTSIDE`] for a site without a stack.
    pub(super) at: Vec<u32>,
}

impl Part {
    pub(super) const OUTSIDE: u32 = NOWHERE;

    pub(super) fn of(functions: &Functions, sites: &[(SiteId, ByClass)], Scratch(place): &mut Scratch) -> Self {
        let mut paths: Vec<PathId> = Vec::new();
        for (site, _) in sites {
            let mut path = functions.path(*site);
            while path != PathId::ROOT && place[path.0 as usize] == NOWHERE {
                place[path.0 as usize] = 0;
                paths.push(path);
                path = functions.parent(path);
            }
        }
        paths.sort_unstable();
        (0..).zip(&paths).for_each(|(at, path)| place[path.0 as usize] = at);
        let parent = paths.iter().map(|&path| place[functions.parent(path).0 as usize]).collect();
        let at = sites.iter().map(|(site, _)| place[functions.path(*site).0 as usize]).collect();
        paths.iter().for_each(|path| place[path.0 as usize] = NOWHERE);
        Self { paths, parent, at }
    }

    /// Adds up the sites of each path itself.
    pub(super) fn own(&self, sites: &[(SiteId, ByClass)]) -> Vec<ByClass> {
        let mut sums = vec![ByClass::default(); self.paths.len()];
        for (&at, (_, buckets)) in self.at.iter().zip(sites) {
            if let Some(sum) = sums.get_mut(at as usize) {
                sum.add(buckets);
            }
        }
        sums
    }

    /// Adds the sums of each path to its ancestors.
    pub(super) fn with_inside(&self, mut sums: Vec<ByClass>) -> Vec<ByClass> {
        for at in (0..sums.len()).rev() {
            let sum = sums[at];
            if let Some(around) = sums.get_mut(self.parent[at] as usize) {
                around.add(&sum);
            }
        }
        sums
    }
}
