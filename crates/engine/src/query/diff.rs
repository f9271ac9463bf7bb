//! Comparison of two intervals, of one trace or of two: groups with their numbers on both sides. [`matching`] decides
//! which processes and heaps correspond.
//!
//! Cost: that of the totals of two intervals once the groups are known ([`CommonGroups`]), then that of their peaks.

mod matching;

use std::cmp::Reverse;
use std::sync::Arc;

use serde::Serialize;

use super::grouping::keys::{Named, SiteGroups, SiteKeys, number};
use super::grouping::{Grouped, Groups, RowKey};
use super::numbers::{change, change_of_changes, known_or_null};
use super::report::{describe, first, functions_for, owners_for, tags_for};
use super::source_lines::{LineSums, Lines};
use super::{
    By, ByClass, Cancel, Cancelled, Fold, Functions, Group, GroupNumbers, Index, Mask, SiteNames, SourceLine, Totals, totals,
};
use crate::model::SiteId;
use crate::names::Names;
use crate::tables::KeyedMap;
use crate::units::Interval;

/// One side of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct DiffSide<'a> {
    /// The trace and a selection of its rows.
    pub index: &'a Index,
    /// The interval.
    pub interval: Interval,
    /// The selected sites and classes.
    pub mask: &'a Mask,
    /// Names of frames and types.
    pub names: &'a Names,
    /// Functions of all sites according to `names`, if known; finding them is the most expensive part.
    pub functions: Option<&'a Arc<Functions>>,
    /// Totals of the interval, if known.
    pub totals: Option<&'a Arc<Totals>>,
}

/// The numbers of a group on both sides; all zeros where a side lacks it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Compared {
    /// Numbers on the first side.
    pub a: GroupNumbers,
    /// Numbers on the second side.
    pub b: GroupNumbers,
    /// Second side minus first.
    pub delta: Delta,
}

/// Differences of numbers; may be [`UNKNOWN_CHANGE`](super::UNKNOWN_CHANGE).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct Delta {
    #[serde(serialize_with = "known_or_null")]
    pub outstanding_to: i64,
    #[serde(serialize_with = "known_or_null")]
    pub impacting_size: i64,
    #[serde(serialize_with = "known_or_null")]
    pub count: i64,
    #[serde(serialize_with = "known_or_null")]
    pub size: i64,
    #[serde(serialize_with = "known_or_null")]
    pub allocated_count: i64,
    #[serde(serialize_with = "known_or_null")]
    pub allocated_size: i64,
    #[serde(serialize_with = "known_or_null")]
    pub freed_count: i64,
    #[serde(serialize_with = "known_or_null")]
    pub freed_size: i64,
    #[serde(serialize_with = "known_or_null")]
    pub peak: i64,
}

impl Compared {
    fn new(a: GroupNumbers, b: GroupNumbers) -> Self {
        let delta = Delta {
            outstanding_to: change(a.outstanding_to, b.outstanding_to),
            impacting_size: change_of_changes(a.impacting_size, b.impacting_size),
            count: change(a.count, b.count),
            size: change(a.size, b.size),
            allocated_count: change(a.allocated_count, b.allocated_count),
            allocated_size: change(a.allocated_size, b.allocated_size),
            freed_count: change(a.freed_count, b.freed_count),
            freed_size: change(a.freed_size, b.freed_size),
            peak: change(a.peak, b.peak),
        };
        Self { a, b, delta }
    }
}

/// Index of a group among the groups of each side.
type Pair = [Option<usize>; 2];

/// Compares two sides. Sorts groups by |delta of outstanding_to|, then of allocated_size, both falling, then by key,
/// and returns at most `top`. Inside one trace all keys match exactly.
pub fn diff(sides: [DiffSide<'_>; 2], by: &[By], top: Option<usize>, cancel: &Cancel) -> Result<Vec<Group<Compared>>, Cancelled> {
    folded_diff(sides, by, Fold::Nothing, top, cancel)
}

/// Compares two sides like [`diff`], with groups by function or module taken from the innermost frame that `fold`
/// leaves.
pub fn folded_diff(
    sides: [DiffSide<'_>; 2],
    by: &[By],
    fold: Fold,
    top: Option<usize>,
    cancel: &Cancel,
) -> Result<Vec<Group<Compared>>, Cancelled> {
    CommonGroups::of(&sides, by, fold, cancel)?.compare(sides, top, |_| {}, cancel)
}

/// The groups of two sides, matched. They depend only on traces, names and masks; comparing other intervals or rows
/// costs only their sums.
pub struct CommonGroups {
    by: Vec<By>,
    /// Frames that are folded away before the function of a site is determined.
    fold: Fold,
    /// Functions by side, if a key needs them.
    functions: [Option<Arc<Functions>>; 2],
    tags: [Option<Arc<SiteNames>>; 2],
    owners: [Option<Arc<SiteNames>>; 2],
    sites: [Arc<SiteGroups>; 2],
    /// Number of site groups of both sides together.
    count: usize,
}

impl CommonGroups {
    /// Matches the groups of these sides, whatever their intervals. Cost: a pass over the sites; for two traces also a
    /// look at the frames of all sites if stacks are part of the key.
    pub fn of(sides: &[DiffSide<'_>; 2], by: &[By], fold: Fold, cancel: &Cancel) -> Result<Self, Cancelled> {
        let [a, b] = sides.each_ref().map(|side| side.index.trace());
        let is_one_trace = std::ptr::eq(a, b);
        let is_alike = is_one_trace && std::ptr::eq(sides[0].names, sides[1].names);
        let identities = matching::identities(a, b, (is_one_trace, is_alike));
        let functions = each_side(is_alike, |i| match sides[i].functions {
            Some(known) => Ok(Some(Arc::clone(known))),
            None => Ok(functions_for(sides[i].index.trace(), sides[i].names, by, cancel)?.map(Arc::new)),
        })?;
        let tags = each_side(is_alike, |i| Ok(tags_for(functions[i].as_deref(), by, cancel)?.map(Arc::new)))?;
        let owners = each_side(is_alike, |i| Ok(owners_for(sides[i].index.trace(), sides[i].names, by, cancel)?.map(Arc::new)))?;
        let named = [0, 1].map(|i| {
            let functions = functions[i].as_deref().map(|functions| (functions, fold));
            let DiffSide { index, names, .. } = sides[i];
            Named {
                trace: index.trace(),
                names,
                by,
                functions,
                tags: tags[i].as_deref(),
                owners: owners[i].as_deref(),
                freed: None,
                lines: None,
                sources: false,
                addresses: false,
            }
        });
        let mut keys = SiteKeys::default();
        let sites = each_side(is_alike && sides[0].mask == sides[1].mask, |i| {
            keys.add(named[i], &identities[i], sides[i].mask, cancel).map(Arc::new)
        })?;
        Ok(Self { by: by.to_vec(), fold, functions, tags, owners, sites, count: keys.len() })
    }

    /// Compares the sides, which must be those the groups were made for. Sorts by |delta of outstanding_to|, then of
    /// allocated_size, both falling, then by key, and returns at most `top`. `early` gets the groups before their
    /// peaks, which take longest, are known; the peaks are 0 then.
    pub fn compare(
        &self,
        sides: [DiffSide<'_>; 2],
        top: Option<usize>,
        early: impl FnOnce(&mut dyn Iterator<Item = &Group<Compared>>),
        cancel: &Cancel,
    ) -> Result<Vec<Group<Compared>>, Cancelled> {
        let (a, b) = rayon::join(|| self.groups(&sides, 0, cancel), || self.groups(&sides, 1, cancel));
        let groups = [a?, b?];
        let is_one_trace = std::ptr::eq(sides[0].index.trace(), sides[1].index.trace());
        let all = Paired { pairs: pairs(&groups, is_one_trace), groups };
        let ranks: Vec<_> = all.pairs.iter().map(|pair| all.rank(pair)).collect();
        let lines = self.lines(&sides, cancel)?;
        let mut kept = first(&ranks, top.unwrap_or(usize::MAX), |i| {
            let pair = &all.pairs[i];
            let side = usize::from(all.sums(pair, 0).is_empty());
            let (group, row) = pair[side].map_or((0, RowKey::default()), |i| all.groups[side].keys[i]);
            // A group of sites has a first site on each side where it has rows.
            let site = self.sites[side].first.get(group as usize).copied().flatten().unwrap_or(SiteId(0));
            let lines = lines.as_ref().map(|of_group| Lines { of_group, of_site: &self.sites[side].of_site });
            describe(Named { lines, ..self.named(&sides, side) }, site, row, all.compared(pair, [0; 2]))
        });
        early(&mut kept.iter().map(|(_, group)| group));
        let listed: Vec<Pair> = kept.iter().map(|(i, _)| all.pairs[*i]).collect();
        let peaks = [all.peaks(&listed, 0, cancel)?, all.peaks(&listed, 1, cancel)?];
        for (at, ((_, group), pair)) in kept.iter_mut().zip(&listed).enumerate() {
            group.numbers = all.compared(pair, [peaks[0][at], peaks[1][at]]);
        }
        Ok(kept.into_iter().map(|(_, group)| group).collect())
    }

    /// Returns for each group of sites the source line of its responsible caller, from both sides together, if it is a
    /// key.
    fn lines(&self, sides: &[DiffSide<'_>; 2], cancel: &Cancel) -> Result<Option<Vec<Option<SourceLine>>>, Cancelled> {
        if !self.by.contains(&By::Responsible) {
            return Ok(None);
        }
        let mut sums = LineSums::default();
        for (DiffSide { index, interval, mask, names, .. }, groups) in sides.iter().zip(&self.sites) {
            let totals = totals(index, *interval, cancel)?;
            sums.add((index.trace(), names), (&totals, mask), &groups.of_site, cancel)?;
        }
        Ok(Some(sums.largest(self.count)))
    }

    fn groups<'a>(&'a self, sides: &[DiffSide<'a>; 2], side: usize, cancel: &Cancel) -> Result<Groups<'a>, Cancelled> {
        let (DiffSide { index, interval, mask, totals, .. }, sites) = (sides[side], &self.sites[side]);
        let of = Grouped { index, interval, mask, by: &self.by, freed: sites.freed.as_ref(), totals };
        Groups::new(of, &sites.of_site, self.count, cancel)
    }

    fn named<'a>(&'a self, sides: &[DiffSide<'a>; 2], side: usize) -> Named<'a> {
        let functions = self.functions[side].as_deref().map(|functions| (functions, self.fold));
        let (of, freed) = (&sides[side], self.sites[side].freed.as_ref());
        let (trace, tags, owners) = (of.index.trace(), self.tags[side].as_deref(), self.owners[side].as_deref());
        Named {
            trace,
            names: of.names,
            by: &self.by,
            functions,
            tags,
            owners,
            freed,
            lines: None,
            sources: false,
            addresses: false,
        }
    }
}

/// The groups of both sides, and which of them correspond.
struct Paired<'a> {
    groups: [Groups<'a>; 2],
    pairs: Vec<Pair>,
}

impl Paired<'_> {
    fn sums(&self, pair: &Pair, side: usize) -> ByClass {
        pair[side].map_or_else(ByClass::default, |i| self.groups[side].sums[i])
    }

    /// Compares a pair. A side without the group has no peak either.
    fn compared(&self, pair: &Pair, peaks: [u64; 2]) -> Compared {
        let [a, b] = [0, 1].map(|side| GroupNumbers::new(&self.sums(pair, side), peaks[side]));
        Compared::new(a, b)
    }

    /// Sort key of a pair; `None` if neither side has rows.
    fn rank(&self, pair: &Pair) -> Option<Reverse<(u64, u64)>> {
        let takes_part = !self.sums(pair, 0).is_empty() || !self.sums(pair, 1).is_empty();
        let Delta { outstanding_to, allocated_size, .. } = self.compared(pair, [0; 2]).delta;
        takes_part.then_some(Reverse((outstanding_to.unsigned_abs(), allocated_size.unsigned_abs())))
    }

    /// Returns the peaks of some pairs on one side.
    fn peaks(&self, pairs: &[Pair], side: usize, cancel: &Cancel) -> Result<Vec<u64>, Cancelled> {
        let groups = &self.groups[side];
        let mut place = vec![None; groups.keys.len()];
        let places = (0..).zip(pairs).filter_map(|(at, pair)| Some((pair[side]?, at)));
        places.for_each(|(group, at)| place[group] = Some(at));
        let now: Vec<u64> = pairs.iter().map(|pair| self.sums(pair, side).numbers().outstanding_from).collect();
        groups.peaks(&place, &now, cancel)
    }
}

/// Computes a value for each side; if they are `alike`, the second gets a clone of the first.
fn each_side<T: Clone>(alike: bool, mut of: impl FnMut(usize) -> Result<T, Cancelled>) -> Result<[T; 2], Cancelled> {
    let first = of(0)?;
    let second = if alike { first.clone() } else { of(1)? };
    Ok([first, second])
}

/// Matches the groups of the two sides. Threads match only inside one trace.
fn pairs(groups: &[Groups<'_>], is_one_trace: bool) -> Vec<Pair> {
    if let [a, b] = groups
        && a.keys == b.keys
        && (is_one_trace || a.keys.iter().all(|key| key.1.thread.is_none()))
    {
        return (0..a.keys.len()).map(|i| [Some(i); 2]).collect();
    }
    let mut numbers = KeyedMap::default();
    let mut pairs: Vec<Pair> = Vec::new();
    for (side, groups) in groups.iter().enumerate() {
        for (i, key) in groups.keys.iter().enumerate() {
            let only = (key.1.thread.is_some() && !is_one_trace).then_some(side);
            let pair = number(&mut numbers, (*key, only)) as usize;
            pairs.resize(pairs.len().max(pair + 1), [None; 2]);
            pairs[pair][side] = Some(i);
        }
    }
    pairs
}
