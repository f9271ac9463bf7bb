//! Transients: a source's level rises and is back soon. Those of one place are one finding.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::claim::Claim;
use super::shape::{self, quantile};
use super::source::{BINS, Source, Sources, envelope};
use super::{FindingKind, Question};
use crate::model::SiteId;
use crate::query::{Bucket, Cancelled};
use crate::units::{Interval, Ticks};

/// Share of its layer that a spike must have, at least; one alone must have more.
const LEAST_SHARE: f64 = 0.05;
const LEAST_SHARE_ALONE: f64 = 0.15;

/// Spikes of one source, at most.
const MOST: usize = 256;

/// One excursion of a source's line.
struct Excursion {
    /// In the list of sources.
    source: usize,
    /// Rows born from here on until the top may be part of it.
    born_from: Ticks,
    rise: Ticks,
    top: Ticks,
    fall: Ticks,
    /// Rows that die before here may be part of it.
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
    let mut groups: Vec<((usize, usize), Vec<(usize, Bucket)>)> = Vec::new();
    for (n, (excursion, sums)) in excursions.iter().zip(&made_by).enumerate() {
        let places = &sources.list[excursion.source].places;
        let of = |site: &SiteId| sums.get(site).copied().unwrap_or_default();
        let amounts: Vec<f64> = places.sites.iter().map(|site| of(site).size as f64).collect();
        // Most of it must come and go, or something else happened.
        if amounts.iter().sum::<f64>() < 0.5 * excursion.height {
            continue;
        }
        let place = places.holder(&amounts);
        let mut bucket = Bucket::default();
        places.under(place).iter().for_each(|site| bucket.add(of(site)));
        let key = (excursion.source, place);
        match groups.iter_mut().find(|group| group.0 == key) {
            Some(group) => group.1.push((n, bucket)),
            None => groups.push((key, vec![(n, bucket)])),
        }
    }
    Ok(groups.into_iter().filter_map(|(key, members)| claim(question, sources, key, &members, &excursions)).collect())
}

/// When a spike rises above half its height and falls below.
fn locate(source: usize, of: &Source, spike: &shape::Spike) -> Excursion {
    let tick = |bin: f64| Ticks(of.life.from.0.saturating_add((of.life.len() as f64 * bin / BINS as f64) as i64));
    let width = spike.to as f64 - spike.from as f64;
    // The bins of the line begin up to half a bin elsewhere.
    let (first, end) = (tick(spike.from as f64 - 1.0), tick(spike.to as f64 + 1.0));
    let inside = || of.series.points.iter().filter(|point| first <= point.0 && point.0 <= end);
    let half = spike.base + spike.height / 2.0;
    let rise = inside().find(|point| point.1 as f64 >= half).map_or(first, |point| point.0);
    let highest = inside().map(|point| point.1).max().unwrap_or(0);
    let top = inside().find(|point| point.1 == highest).map_or(rise, |point| point.0);
    let fall = inside().filter(|point| point.0 >= top).find(|point| (point.1 as f64) < half).map_or(end, |point| point.0);
    let born_from = tick(spike.from as f64 - 1.0 - width);
    Excursion { source, born_from, rise, top, fall, dead_by: tick(spike.to as f64 + 1.0 + width), height: spike.height }
}

/// By excursion and site the rows that came shortly before its top, were alive at it and
/// went soon. Cost: a parallel pass over the rows, with two searches for some.
fn rows_of(
    question: &Question<'_>,
    sources: &Sources,
    excursions: &[Excursion],
) -> Result<Vec<FxHashMap<SiteId, Bucket>>, Cancelled> {
    if excursions.is_empty() {
        return Ok(Vec::new());
    }
    let trace = question.index.trace();
    // Those of a source stand together, in order of time.
    let mut of_heap = vec![0..0; trace.heaps.len()];
    for (i, source) in sources.list.iter().enumerate() {
        let start = excursions.partition_point(|excursion| excursion.source < i);
        of_heap[source.heap.0 as usize] = start..excursions.partition_point(|excursion| excursion.source <= i);
    }
    let chunks: Vec<_> = trace.rows.chunks().collect();
    let none = || vec![FxHashMap::<SiteId, Bucket>::default(); excursions.len()];
    chunks
        .par_iter()
        .try_fold(none, |mut sums, chunk| {
            question.cancel.check()?;
            for (at, &site) in chunk.sites().iter().enumerate() {
                let range = of_heap[trace.site(site).heap.0 as usize].clone();
                if range.is_empty() || question.mask.classes(site) == 0 {
                    continue;
                }
                let birth = chunk.birth(at);
                let next = range.start + excursions[range.clone()].partition_point(|excursion| excursion.top < birth);
                if let Some(excursion) = excursions[..range.end].get(next)
                    && birth >= excursion.born_from
                    && (excursion.top.next()..=excursion.dead_by).contains(&chunk.death(at))
                {
                    sums[next].entry(site).or_default().add_row(chunk.size(at));
                }
            }
            Ok(sums)
        })
        .try_reduce(none, |mut a, b| {
            for (a, b) in a.iter_mut().zip(b) {
                #[allow(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
                for (site, bucket) in b {
                    a.entry(site).or_default().add(bucket);
                }
            }
            Ok(a)
        })
}

fn claim(
    question: &Question<'_>,
    sources: &Sources,
    (source, place): (usize, usize),
    members: &[(usize, Bucket)],
    excursions: &[Excursion],
) -> Option<Claim> {
    let source = &sources.list[source];
    let median = |members: &[&(usize, Bucket)]| quantile(&members.iter().map(|m| m.1.size as f64).collect::<Vec<_>>(), 0.5);
    let all: Vec<_> = members.iter().collect();
    let usual = median(&all);
    let alike: Vec<_> = all.into_iter().filter(|m| (0.5 * usual..=2.0 * usual).contains(&(m.1.size as f64))).collect();
    let (first, last) = (&excursions[alike.first()?.0], &excursions[alike.last()?.0]);
    let height = median(&alike);
    let clock = &question.index.trace().clock;
    let seconds = |from: Ticks, to: Ticks| clock.seconds(to) - clock.seconds(from);
    if alike.len() == 1 {
        let is_at_start = seconds(source.life.from, first.rise) < 0.1 * seconds(source.life.from, source.life.to);
        if is_at_start || height < LEAST_SHARE_ALONE * source.layer_peak as f64 {
            return None;
        }
    }
    let period = (alike.len() > 1).then(|| seconds(first.rise, last.rise) / (alike.len() - 1) as f64);
    Some(Claim {
        bytes: height as u64,
        count: alike.iter().map(|m| m.1.count).sum(),
        period,
        repeats: Some(alike.len() as u64),
        interval: Interval { from: first.rise, to: last.fall.next() },
        ..Claim::at(FindingKind::Spikes, source, place)
    })
}
