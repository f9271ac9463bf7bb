//! What is different between two intervals, of one trace or of two: groups with their
//! numbers on both sides ([`matching`] says what is the same there).
//!
//! Cost: that of two reports; between traces also a look at the frames of all sites if
//! stacks tell groups apart.

mod matching;

use std::cmp::Reverse;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::grouping::keys::{Named, SiteKeys, number};
use super::grouping::{Grouped, Groups, RowKey};
use super::report::{describe, first, functions_for, tags_for};
use super::{By, ByClass, Cancel, Cancelled, Functions, Group, GroupNumbers, Index, Mask, Totals};
use crate::model::SiteId;
use crate::symbols::Names;
use crate::units::Interval;

/// What one side is about.
#[derive(Clone, Copy, Debug)]
pub struct DiffSide<'a> {
    /// Trace, and which of its rows.
    pub index: &'a Index,
    /// The interval.
    pub interval: Interval,
    /// Which sites and classes.
    pub mask: &'a Mask,
    /// What frames and types are called.
    pub names: &'a Names,
    /// The functions of all sites by these names, if they are known: to find them costs most.
    pub functions: Option<&'a Functions>,
    /// The sums of the interval, if they are known.
    pub totals: Option<&'a Arc<Totals>>,
}

/// The numbers of a group on both sides; all zeros where a side lacks it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Compared {
    /// On the first side.
    pub a: GroupNumbers,
    /// On the second.
    pub b: GroupNumbers,
    /// Second minus first.
    pub delta: Delta,
}

/// Differences, clamped to what a signed number holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct Delta {
    pub outstanding_to: i64,
    pub impacting_size: i64,
    pub count: i64,
    pub size: i64,
    pub allocated_count: i64,
    pub allocated_size: i64,
    pub freed_count: i64,
    pub freed_size: i64,
    pub peak: i64,
}

impl Compared {
    fn new(a: GroupNumbers, b: GroupNumbers) -> Self {
        let delta = Delta {
            outstanding_to: difference(b.outstanding_to, a.outstanding_to),
            impacting_size: b.impacting_size.saturating_sub(a.impacting_size),
            count: difference(b.count, a.count),
            size: difference(b.size, a.size),
            allocated_count: difference(b.allocated_count, a.allocated_count),
            allocated_size: difference(b.allocated_size, a.allocated_size),
            freed_count: difference(b.freed_count, a.freed_count),
            freed_size: difference(b.freed_size, a.freed_size),
            peak: difference(b.peak, a.peak),
        };
        Self { a, b, delta }
    }
}

fn difference(b: u64, a: u64) -> i64 {
    (i128::from(b) - i128::from(a)).clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// Where a group stands among those of each side.
type Pair = [Option<usize>; 2];

/// The groups of both sides, by |delta of outstanding_to|, then of allocated_size, both
/// falling, then by key; at most `top`. Inside one trace all keys match exactly.
pub fn diff(sides: [DiffSide<'_>; 2], by: &[By], top: Option<usize>, cancel: &Cancel) -> Result<Vec<Group<Compared>>, Cancelled> {
    folded_diff(sides, by, false, top, cancel)
}

/// The same. With `fold` functions and modules are the innermost ones that are not the
/// allocator's.
pub fn folded_diff(
    sides: [DiffSide<'_>; 2],
    by: &[By],
    fold: bool,
    top: Option<usize>,
    cancel: &Cancel,
) -> Result<Vec<Group<Compared>>, Cancelled> {
    diff_before_peaks(sides, (by, fold, top), |_| {}, cancel)
}

/// The same. `early` is told the groups as soon as only their peaks are missing, which take
/// longest: they are 0 in it.
pub fn diff_before_peaks(
    sides: [DiffSide<'_>; 2],
    (by, fold, top): (&[By], bool, Option<usize>),
    early: impl FnOnce(&mut dyn Iterator<Item = &Group<Compared>>),
    cancel: &Cancel,
) -> Result<Vec<Group<Compared>>, Cancelled> {
    let [a, b] = sides.map(|side| side.index.trace());
    let is_one_trace = std::ptr::eq(a, b);
    let is_alike = is_one_trace && std::ptr::eq(sides[0].names, sides[1].names);
    let identities = matching::identities(a, b, (is_one_trace, is_alike));
    let new = |side: &DiffSide<'_>| match side.functions {
        Some(_) => Ok(None),
        None => functions_for(side.index.trace(), side.names, by, cancel),
    };
    let new = [new(&sides[0])?, if is_alike { None } else { new(&sides[1])? }];
    let known = [0, 1].map(|i| sides[i].functions.or(new[i].as_ref()));
    let functions = [0, 1].map(|i| known[i].or(known[0].filter(|_| is_alike)));
    let tags = |i: usize| tags_for(sides[i].index.trace(), functions[i], by, cancel);
    let tags = [tags(0)?, if is_alike { None } else { tags(1)? }];
    let tags = [tags[0].as_ref(), tags[1].as_ref().or(tags[0].as_ref().filter(|_| is_alike))];
    let named = [0, 1].map(|i| {
        let functions = functions[i].map(|functions| (functions, fold));
        Named { trace: sides[i].index.trace(), names: sides[i].names, by, functions, tags: tags[i], freed: None }
    });
    let mut keys = SiteKeys::default();
    let mut sites_of = |i: usize| keys.add(named[i], &identities[i], sides[i].mask, cancel);
    let is_same = is_alike && sides[0].mask == sides[1].mask;
    let a = sites_of(0)?;
    let b = if is_same { None } else { Some(sites_of(1)?) };
    let sites = [&a, b.as_ref().unwrap_or(&a)];
    let mut groups: Vec<Groups<'_>> = Vec::new();
    for (DiffSide { index, interval, mask, totals, .. }, sites) in sides.into_iter().zip(sites) {
        let of = Grouped { index, interval, mask, by, freed: sites.freed.as_ref(), totals };
        groups.push(Groups::new(of, sites.of_site.clone(), keys.len(), cancel)?);
    }
    let pairs = pairs(&groups, is_one_trace);
    let sums = |pair: &Pair, side: usize| pair[side].map_or_else(ByClass::default, |i| groups[side].sums[i]);
    let compared = |pair: &Pair, peaks: [u64; 2]| {
        let [a, b] = [0, 1].map(|side| GroupNumbers::new(&sums(pair, side), peaks[side]));
        // A side that lacks the group has no peak either.
        Compared::new(a, b)
    };
    let rank = |pair: &Pair| {
        let takes_part = !sums(pair, 0).is_empty() || !sums(pair, 1).is_empty();
        let Delta { outstanding_to, allocated_size, .. } = compared(pair, [0; 2]).delta;
        takes_part.then_some(Reverse((outstanding_to.unsigned_abs(), allocated_size.unsigned_abs())))
    };
    let ranks: Vec<_> = pairs.iter().map(rank).collect();
    let mut kept = first(&ranks, top.unwrap_or(usize::MAX), |i| {
        let side = usize::from(sums(&pairs[i], 0).is_empty());
        let (group, row) = pairs[i][side].map_or((0, RowKey::default()), |i| groups[side].keys[i]);
        // A group of sites has a first one on a side where something takes part.
        let site = sites[side].first.get(group as usize).copied().flatten().unwrap_or(SiteId(0));
        describe(Named { freed: sites[side].freed.as_ref(), ..named[side] }, site, row, Compared::default())
    });
    kept.iter_mut().for_each(|(i, group)| group.numbers = compared(&pairs[*i], [0; 2]));
    early(&mut kept.iter().map(|(_, group)| group));
    let mut peaks = Vec::new();
    for (side, groups) in groups.iter().enumerate() {
        let mut place = vec![None; groups.keys.len()];
        let pair_of = |(i, _): &(usize, Group<Compared>)| pairs[*i];
        let places = (0..).zip(kept.iter().map(pair_of)).filter_map(|(at, pair)| Some((pair[side]?, at)));
        places.for_each(|(group, at)| place[group] = Some(at));
        let now: Vec<u64> = kept.iter().map(|(i, _)| sums(&pairs[*i], side).numbers().outstanding_from).collect();
        peaks.push(groups.peaks(&place, &now, cancel)?);
    }
    for (at, (i, group)) in kept.iter_mut().enumerate() {
        group.numbers = compared(&pairs[*i], [peaks[0][at], peaks[1][at]]);
    }
    Ok(kept.into_iter().map(|(_, group)| group).collect())
}

/// Which groups of the two sides are the same. Threads are, only inside one trace.
fn pairs(groups: &[Groups<'_>], is_one_trace: bool) -> Vec<Pair> {
    if let [a, b] = groups
        && a.keys == b.keys
        && (is_one_trace || a.keys.iter().all(|key| key.1.thread.is_none()))
    {
        return (0..a.keys.len()).map(|i| [Some(i); 2]).collect();
    }
    let mut numbers = FxHashMap::default();
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
