//! Spikes: a source's level rises and soon falls back. Those of one place form one finding.

use super::claim::Claim;
use super::kind::FindingKind;
use super::question::Question;
use super::shape::{self, quantile};
use super::source::{BINS, Source, Sources, envelope};
use crate::model::SiteId;
use crate::query::{Bucket, Cancelled};
use crate::tables::KeyedMap;
use crate::units::{Interval, Ticks};

/// Smallest share of the layer's peak for a spike; a single one needs more.
const LEAST_SHARE: f64 = 0.05;
const LEAST_SHARE_ALONE: f64 = 0.15;

/// Largest number of spikes of one source.
const MOST: usize = 256;

/// A short excursion of a source's line.
struct Excursion {
    /// Index in the list of sources.
    source: usize,
    /// Rows born between this moment and the top may belong to it.
    born_from: Ticks,
    rise: Ticks,
    top: Ticks,
    /// Rows that die up to this moment may belong to it.
    dead_by: Ticks,
    height: f64,
}

pub(super) fn find(question: &Question<'_>, sources: &Sources) -> Result<Vec<Claim>, Cancelled> {
    let mut excursions = Vec::new();
    for (i, source) in sources.list.iter().enumerate() {
        question.cancel.check()?;
        let (low, high) = envelope(&source.series, source.life, BINS);
        let mut spikes = shape::spikes(&low, &high);
        spikes.retain(|spike| spike.height >= LEAST_SHARE * source.layer_peak as f64);
        spikes.truncate(MOST);
        excursions.extend(spikes.into_iter().map(|spike| locate(i, source, &spike)));
    }
    let made_by = rows_of(question, sources, &excursions)?;
    let mut claims = Vec::new();
    for (i, source) in sources.list.iter().enumerate() {
        let of_source: Vec<usize> = (0..excursions.len()).filter(|&n| excursions[n].source == i).collect();
        for (place, members) in groups(source, &of_source, &excursions, &made_by) {
            claims.extend(claim(question, source, place, &members, &excursions));
        }
    }
    Ok(claims)
}

/// Blocks that were allocated for an excursion and freed soon after it.
#[derive(Clone, Copy)]
struct Blocks {
    sum: Bucket,
    /// From the first allocation to just after the last free.
    interval: Interval,
}

impl Blocks {
    /// No blocks yet.
    fn none() -> Self {
        Self { sum: Bucket::default(), interval: Interval { from: Ticks::NEVER, to: Ticks(i64::MIN) } }
    }

    fn add_row(&mut self, size: u64, birth: Ticks, death: Ticks) {
        self.sum.add_row(size);
        self.interval = Interval { from: self.interval.from.min(birth), to: self.interval.to.max(death.next()) };
    }

    fn plus(self, other: &Self) -> Self {
        let (own, others) = (self.interval, other.interval);
        let interval = Interval { from: own.from.min(others.from), to: own.to.max(others.to) };
        Self { sum: self.sum.plus(other.sum), interval }
    }
}

/// Index of an excursion, and the blocks of a place in it.
type Member = (usize, Blocks);

/// Groups excursions by the place that causes them, the most frequent place first.
fn groups(
    source: &Source,
    of_source: &[usize],
    excursions: &[Excursion],
    made_by: &[KeyedMap<SiteId, Blocks>],
) -> Vec<(usize, Vec<Member>)> {
    let places = &source.places;
    let of = |n: usize, site: &SiteId| made_by[n].get(site).copied().unwrap_or_else(Blocks::none);
    let mut makers: Vec<(usize, u64)> = Vec::new();
    for &n in of_source {
        let amounts: Vec<f64> = places.sites.iter().map(|site| of(n, site).sum.size as f64).collect();
        // Most of the excursion must be temporary memory; otherwise something else happened.
        if amounts.iter().sum::<f64>() < 0.5 * excursions[n].height {
            continue;
        }
        let place = places.holder(&amounts);
        // An excursion made by many places together is general activity.
        if places.is_whole(place) {
            continue;
        }
        match makers.iter_mut().find(|maker| maker.0 == place) {
            Some(maker) => maker.1 += 1,
            None => makers.push((place, 1)),
        }
    }
    makers.sort_by_key(|&(place, count)| (std::cmp::Reverse(count), place));
    let mut free: Vec<usize> = of_source.to_vec();
    let mut groups = Vec::new();
    for (place, _) in makers {
        let sum = |n: usize| places.under(place).iter().fold(Blocks::none(), |all, site| all.plus(&of(n, site)));
        // Another place may be active at the same time, so only this place's bytes count.
        let members: Vec<Member> = free.iter().map(|&n| (n, sum(n))).filter(|(_, blocks)| blocks.sum.size > 0).collect();
        let usual = quantile(&members.iter().map(|member| member.1.sum.size as f64).collect::<Vec<_>>(), 0.5);
        let is_alike = |member: &Member| (0.5 * usual..=2.0 * usual).contains(&(member.1.sum.size as f64));
        let members: Vec<Member> = members.into_iter().filter(is_alike).collect();
        free.retain(|n| members.iter().all(|member| member.0 != *n));
        groups.push((place, members));
    }
    groups
}

/// Finds when a spike rises above half its height, and where its top is.
fn locate(source: usize, of: &Source, spike: &shape::Spike) -> Excursion {
    let tick = |bin: f64| Ticks(of.life.from.0.saturating_add((of.life.len() as f64 * bin / BINS as f64) as i64));
    let width = spike.to as f64 - spike.from as f64;
    // The bins of the line can be offset by up to half a bin.
    let (first, end) = (tick(spike.from as f64 - 1.0), tick(spike.to as f64 + 1.0));
    let inside = || of.series.points.iter().filter(|point| first <= point.0 && point.0 <= end);
    let half = spike.base + spike.height / 2.0;
    let rise = inside().find(|point| point.1 as f64 >= half).map_or(first, |point| point.0);
    let highest = inside().map(|point| point.1).max().unwrap_or(0);
    let top = inside().find(|point| point.1 == highest).map_or(rise, |point| point.0);
    let born_from = tick(spike.from as f64 - 1.0 - width);
    Excursion { source, born_from, rise, top, dead_by: tick(spike.to as f64 + 1.0 + width), height: spike.height }
}

/// Returns for each excursion, by site, the rows that were allocated shortly before its top, were alive at it and were
/// freed soon after. Cost: a parallel pass over the rows, with a binary search for those of sources with excursions.
fn rows_of(
    question: &Question<'_>,
    sources: &Sources,
    excursions: &[Excursion],
) -> Result<Vec<KeyedMap<SiteId, Blocks>>, Cancelled> {
    if excursions.is_empty() {
        return Ok(Vec::new());
    }
    let trace = question.index.trace();
    // Excursions of a source are adjacent and in time order.
    let mut of_heap = vec![0..0; trace.heaps.len()];
    for (i, source) in sources.list.iter().enumerate() {
        let start = excursions.partition_point(|excursion| excursion.source < i);
        of_heap[source.heap.0 as usize] = start..excursions.partition_point(|excursion| excursion.source <= i);
    }
    let none = || vec![KeyedMap::<SiteId, Blocks>::default(); excursions.len()];
    let parts = question.index.fold(question.cancel, none, |sums, visited| {
        let (chunk, sites) = (&visited.chunk, visited.chunk.sites());
        visited.each(|at| {
            let site = sites[at];
            let range = of_heap[trace.site(site).heap.0 as usize].clone();
            if range.is_empty() || question.mask.classes(site) == 0 {
                return;
            }
            let (birth, death) = (chunk.birth(at), chunk.death(at));
            let next = range.start + excursions[range.clone()].partition_point(|excursion| excursion.top < birth);
            if let Some(excursion) = excursions[..range.end].get(next)
                && birth >= excursion.born_from
                && (excursion.top.next()..=excursion.dead_by).contains(&death)
            {
                sums[next].entry(site).or_insert_with(Blocks::none).add_row(chunk.size(at), birth, death);
            }
        });
    })?;
    let mut all = none();
    for part in parts {
        for (sums, more) in all.iter_mut().zip(part) {
            #[allow(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
            for (site, blocks) in more {
                let sum = sums.entry(site).or_insert_with(Blocks::none);
                *sum = sum.plus(&blocks);
            }
        }
    }
    Ok(all)
}

fn claim(question: &Question<'_>, source: &Source, place: usize, members: &[Member], excursions: &[Excursion]) -> Option<Claim> {
    let (first, last) = (&excursions[members.first()?.0], &excursions[members.last()?.0]);
    let height = quantile(&members.iter().map(|member| member.1.sum.size as f64).collect::<Vec<_>>(), 0.5);
    let clock = &question.index.trace().clock;
    let seconds = |from: Ticks, to: Ticks| clock.seconds(to) - clock.seconds(from);
    if members.len() == 1 {
        let is_at_start = seconds(source.life.from, first.rise) < 0.1 * seconds(source.life.from, source.life.to);
        if is_at_start || height < LEAST_SHARE_ALONE * source.layer_peak as f64 {
            return None;
        }
    }
    let period = (members.len() > 1).then(|| seconds(first.rise, last.rise) / (members.len() - 1) as f64);
    Some(Claim {
        bytes: height as u64,
        count: members.iter().map(|member| member.1.sum.count).sum(),
        period,
        repeats: Some(members.len() as u64),
        interval: members.iter().fold(Blocks::none(), |all, member| all.plus(&member.1)).interval,
        ..Claim::at(FindingKind::Spikes, source, place)
    })
}
