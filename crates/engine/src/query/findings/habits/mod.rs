//! Habits: ways of allocating that cost time or bytes and that a small change of the code ends. Each is about one function in
//! one heap or tracker, and says what the change would save. Small shares are not reported.
//!
//! Cost: one parallel pass over the rows for requests, if a function has enough of them, and two over the blocks alive at the
//! peaks, if a function holds enough of those.

mod requests;
mod sizes;

use super::claim::Claim;
use super::function_groups::{FunctionGroup, FunctionGroups};
use super::kind::FindingKind;
use super::peak::Top;
use super::question::Question;
use super::source::{Source, Sources};
use crate::model::SiteId;
use crate::query::{Bucket, Cancelled};

/// A way of allocating.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Habit {
    /// Blocks that are freed before their thread allocates again.
    Temporary,
    /// Blocks that a larger one replaces, again and again: a container that grows without a reserved size.
    Growing,
    /// Blocks that another thread frees than allocates them.
    CrossThread,
    /// Many small blocks of one size, each with a rounding and a header of its own.
    EqualBlocks,
    /// Blocks just above a power of two, which the allocator rounds up to its next size.
    RoundedUp,
}

impl Habit {
    /// Whether it is about the blocks alive at a peak, not about requests.
    pub fn is_of_peak(self) -> bool {
        matches!(self, Self::EqualBlocks | Self::RoundedUp)
    }

    /// All habits.
    pub const ALL: [Self; 5] = [Self::Temporary, Self::Growing, Self::CrossThread, Self::EqualBlocks, Self::RoundedUp];

    /// Returns the name in the machine interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Temporary => "temporary",
            Self::Growing => "growing",
            Self::CrossThread => "cross_thread",
            Self::EqualBlocks => "equal_blocks",
            Self::RoundedUp => "rounded_up",
        }
    }
}

/// The cost of a habit in one group: its blocks, and the bytes that the change would save (of blocks freed by other
/// threads, their own).
#[derive(Clone, Copy, Debug)]
struct Cost {
    habit: Habit,
    group: usize,
    blocks: Bucket,
    /// For equal blocks: their size. For blocks freed by other threads: all blocks of the group.
    part: Option<u64>,
}

pub(super) fn find(
    question: &Question<'_>,
    sources: &Sources,
    groups: &FunctionGroups,
    (tops, held): (&[Top], &[Bucket]),
) -> Result<Vec<Claim>, Cancelled> {
    let mut claims = Vec::new();
    for cost in requests::find(question, groups)? {
        let group = &groups.list[cost.group];
        let source = &sources.list[group.source];
        let born = |site: SiteId| question.totals.of(site).numbers().allocated.size;
        claims.push(claim(source, group, &cost, born));
    }
    for (cost, top) in sizes::find(question, sources, groups, (tops, held))? {
        let group = &groups.list[cost.group];
        let source = &sources.list[group.source];
        let alive = |site: SiteId| held[site.0 as usize].size;
        claims.push(Claim { interval: top.interval, ..claim(source, group, &cost, alive) });
    }
    Ok(claims)
}

/// The states of all workers added up; each has an entry for each group.
fn added<S>(mut all: Vec<S>, parts: &[Vec<S>], add: impl Fn(&mut S, &S)) -> Vec<S> {
    for part in parts {
        all.iter_mut().zip(part).for_each(|(all, part)| add(all, part));
    }
    all
}

/// The claim of a cost, at that place of its function that has most by `bytes`.
fn claim(source: &Source, group: &FunctionGroup, cost: &Cost, bytes: impl Fn(SiteId) -> u64) -> Claim {
    let sum = |&place: &usize| source.places.own(place).iter().map(|&site| bytes(site)).fold(0, u64::saturating_add);
    let most = group.places.iter().copied().max_by_key(|place| (sum(place), std::cmp::Reverse(*place))).unwrap_or(0);
    // The sites of the named place come first.
    let others = group.places.iter().filter(|&&place| place != most);
    let sites = source.places.own(most).iter().chain(others.flat_map(|&place| source.places.own(place))).copied().collect();
    let Bucket { count, size } = cost.blocks;
    Claim { habit: Some(cost.habit), bytes: size, count, part: cost.part, sites, ..Claim::at(FindingKind::Habit, source, most) }
}
