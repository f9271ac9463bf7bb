//! Habits of sizes, at the peak of a layer: many small blocks of one size, and blocks just above a power of two. Only where the rules of
//! the allocator are known: NT heaps and mimalloc, as docs/what-if.md defines them.

use super::super::peak::Top;
use super::{Cost, FunctionGroups, Habit, Question, Sources, added};
use crate::model::SiteId;
use crate::query::alive::first_and_last;
use crate::query::fold::Visit;
use crate::query::what_if::Policy;
use crate::query::{Bucket, Cancelled};
use crate::units::{Layer, Ticks};

/// Least blocks of a function at the peak, for both habits.
const LEAST_BLOCKS: u64 = 1_000;

/// Least bytes that the change saves, and their part of the layer's peak.
const LEAST_SAVED: u64 = 64 << 10;
const LEAST_OF_PEAK: f64 = 0.05;

/// Equal blocks: least blocks, largest size, and their part of the function's blocks.
const LEAST_EQUAL: u64 = 10_000;
const SMALL: u64 = 64;
const NEARLY_ALL: f64 = 0.8;

/// Blocks in which a size just above a power of two matters: smaller ones are rounded to 16 everywhere.
const LEAST_ROUNDED: u64 = 128;

/// The blocks of a group at the peak.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// Blocks just above a power of two, with the bytes that they would save there.
    rounded: Bucket,
    /// The size that most blocks have, if more than half have one size, and how many more than the others (Boyer and
    /// Moore's vote; two of them can be added).
    vote: (u64, u64),
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.rounded.add(other.rounded);
        self.vote(other.vote);
    }

    fn vote(&mut self, (size, votes): (u64, u64)) {
        let own = &mut self.vote;
        *own = match () {
            () if own.0 == size => (size, own.1 + votes),
            () if own.1 >= votes => (own.0, own.1 - votes),
            () => (size, votes - own.1),
        };
    }
}

/// The groups that are looked at, with the moments and rules of their blocks.
struct Chosen<'a> {
    question: &'a Question<'a>,
    /// For each site the number of its group among those that are looked at, and the moment of the peak.
    of_site: Vec<Option<(u32, Ticks)>>,
    /// The rules of each of these groups.
    policies: Vec<Policy>,
}

/// Finds what saves enough, with the peak at which it was seen.
pub(super) fn find<'a>(
    question: &Question<'_>,
    sources: &Sources,
    groups: &FunctionGroups,
    (tops, held): (&'a [Top], &[Bucket]),
) -> Result<Vec<(Cost, &'a Top)>, Cancelled> {
    let count = groups.list.len();
    let mut of_group = vec![Bucket::default(); count];
    for (site, group) in (0..).map(SiteId).zip(&groups.of_site) {
        group.iter().for_each(|&group| of_group[group as usize].add(held[site.0 as usize]));
    }
    let top_of = |group: usize| {
        let source = &sources.list[groups.list[group].source];
        tops.iter().find(|top| (top.process, top.layer) == (source.process, source.layer))
    };
    let policy_of = |group: usize| policy(question, &sources.list[groups.list[group].source]);
    // No block saves more than half of its size by a smaller one, or of what it takes in an array.
    let can = |group: usize| {
        let Bucket { count, size } = of_group[group];
        let taken = size.saturating_add(count.saturating_mul(32));
        let top = top_of(group).filter(|top| count >= LEAST_BLOCKS && taken as f64 >= 2.0 * LEAST_OF_PEAK * top.bytes as f64);
        policy_of(group).zip(top)
    };
    let looked: Vec<(usize, Policy, &Top)> =
        (0..count).filter_map(|group| can(group).map(|(policy, top)| (group, policy, top))).collect();
    let mut number = vec![None; count];
    (0..).zip(&looked).for_each(|(n, &(group, _, top))| number[group] = Some((n, top.moment)));
    let of_site = groups.of_site.iter().map(|group| number[(*group)? as usize]).collect();
    let chosen = Chosen { question, of_site, policies: looked.iter().map(|&(_, policy, _)| policy).collect() };
    let Some(moments) = first_and_last(looked.iter().map(|&(_, _, top)| top.moment)) else { return Ok(Vec::new()) };
    let sums = chosen.sums(moments)?;
    let equal = chosen.equal(&sums.iter().map(|sums| sums.vote.0).collect::<Vec<_>>(), moments)?;
    let mut costs = Vec::new();
    for ((&(group, _, top), sums), same) in looked.iter().zip(&sums).zip(equal) {
        let is_enough = |saved: u64| saved >= LEAST_SAVED && saved as f64 >= LEAST_OF_PEAK * top.bytes as f64;
        let rounded = sums.rounded;
        if rounded.count >= LEAST_BLOCKS && is_enough(rounded.size) {
            costs.push((Cost { habit: Habit::RoundedUp, group, blocks: rounded, part: None }, top));
        }
        let is_most = same.count as f64 >= NEARLY_ALL * of_group[group].count as f64;
        if same.count >= LEAST_EQUAL && is_most && is_enough(same.size) {
            costs.push((Cost { habit: Habit::EqualBlocks, group, blocks: same, part: Some(sums.vote.0) }, top));
        }
    }
    Ok(costs)
}

/// The rules by which the blocks of a source take memory; `None` if they are not known.
fn policy(question: &Question<'_>, source: &super::Source) -> Option<Policy> {
    let heap = question.index.trace().heap(source.heap);
    match (source.layer, heap.name.as_deref()) {
        (Layer::Heap, _) => Some(Policy::NtHeap),
        (Layer::Tracker, Some("mimalloc")) => Some(Policy::Mimalloc),
        _ => None,
    }
}

impl Chosen<'_> {
    /// Calls `each` with the group and size of each block that is alive at its group's moment, with a state per worker that has an
    /// entry for each group. `moments` are the first and the last moment.
    fn fold<S: Clone + Send + Sync>(
        &self,
        none: &[S],
        (first, last): (Ticks, Ticks),
        each: impl Fn(&mut S, u32, u64) + Sync,
    ) -> Result<Vec<Vec<S>>, Cancelled> {
        let index = self.question.index;
        let (rows, deaths) = (index.visit(), index.trace().last_deaths());
        rows.fold_chunks(
            &Visit::mixed(rows.born_before(last)),
            self.question.cancel,
            || none.to_vec(),
            |sums, visited| {
                let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
                visited.each_alive(deaths, first, |at| {
                    if let Some((group, moment)) = self.of_site[sites[at].0 as usize]
                        && chunk.birth(at) < moment
                        && chunk.death(at) >= moment
                    {
                        each(&mut sums[group as usize], group, chunk.size(at));
                    }
                });
            },
        )
    }

    fn sums(&self, moments: (Ticks, Ticks)) -> Result<Vec<Sums>, Cancelled> {
        let none = vec![Sums::default(); self.policies.len()];
        let parts = self.fold(&none, moments, |sums, group, size| {
            if let Some(saved) = saved_below(self.policies[group as usize], size) {
                sums.rounded.add_row(saved);
            }
            sums.vote((size, 1));
        })?;
        Ok(added(none, &parts, Sums::add))
    }

    /// Returns the blocks that have the size of their group, with the bytes that they would save in an array.
    fn equal(&self, sizes: &[u64], moments: (Ticks, Ticks)) -> Result<Vec<Bucket>, Cancelled> {
        let none = vec![Bucket::default(); sizes.len()];
        let parts = self.fold(&none, moments, |sums, group, size| {
            if size == sizes[group as usize] && (1..=SMALL).contains(&size) {
                sums.add_row(self.policies[group as usize].taken(size).saturating_sub(size));
            }
        })?;
        Ok(added(none, &parts, |sums, part| sums.add(*part)))
    }
}

/// The bytes that a block would take less if it had the power of two below its size, if it is larger by at most an eighth.
fn saved_below(policy: Policy, size: u64) -> Option<u64> {
    let power = 1 << size.checked_sub(1)?.checked_ilog2()?;
    let is_just_above = size > LEAST_ROUNDED && size - power <= power / 8;
    is_just_above.then(|| policy.taken(size).saturating_sub(policy.taken(power)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_just_above_a_power_of_two_saves_what_its_class_is_larger() {
        assert_eq!(saved_below(Policy::Mimalloc, 1_025), Some(256));
        assert_eq!(saved_below(Policy::Mimalloc, 1_152), Some(256));
        assert_eq!(saved_below(Policy::NtHeap, 1_040), Some(0), "1,024 bytes take as much there");
        for (size, why) in [(1_024, "is one"), (1_153, "more than an eighth above"), (136, ""), (0, ""), (1, ""), (u64::MAX, "")]
        {
            let saved = saved_below(Policy::Mimalloc, size);
            assert_eq!(saved.is_some(), size == 136, "{size} {why}");
        }
    }

    #[test]
    fn votes_added_in_any_order_name_the_size_of_the_majority() {
        let sizes = [24, 8, 24, 24, 16, 24, 8, 24, 24];
        for parts in 1..=sizes.len() {
            let mut all = Sums::default();
            for part in sizes.chunks(parts) {
                let mut sums = Sums::default();
                part.iter().for_each(|&size| sums.vote((size, 1)));
                all.add(&sums);
            }
            assert_eq!(all.vote.0, 24, "{parts}");
        }
    }
}
