//! The responsible caller with the largest share of a group, in the measure by which the group is judged.
//!
//! Cost: the callers of the sites in the groups; for peaks and growth a pass over the rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::alive::alive_at;
use super::callers::{CallerFinder, CallerFrame};
use super::growth::slopes;
use super::measured::Measured;
use super::{Cancel, Cancelled, Index, SeriesOf, SourceLine, Totals, series};
use crate::model::{NodeId, ProcessId, SiteId};
use crate::names::{FrameKind, Names};
use crate::tables::KeyedMap;
use crate::units::{Interval, Ticks};

/// A measure of groups: used for their values, their limits, and the shares of their functions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Measure {
    /// Bytes alive at the first moment at which the group reaches its peak.
    Peak,
    /// Bytes alive at the end of the interval.
    Outstanding,
    /// Impacting size.
    Impacting,
    /// Growth in bytes per second.
    Growth,
    /// Bytes alive when the process ended.
    SizeAtExit,
    /// Blocks alive when the process ended.
    CountAtExit,
    /// Rows alive at any moment of the interval.
    Count,
    /// Bytes of the pages touched at the end of the interval in which no live block lies.
    Waste,
    /// Pages touched at the end of the interval.
    Touched,
    /// Bytes of the commit charge at the end of the interval that no committed range accounts for.
    Unknown,
}

impl Measure {
    /// Returns whether it is about whole heaps or the whole commit, so that a part of the stacks has none.
    pub(crate) fn is_of_whole_heaps(self) -> bool {
        self.is_of_pages() || self == Self::Unknown
    }

    /// Returns whether it is about pages, which only whole heaps have.
    pub fn is_of_pages(self) -> bool {
        matches!(self, Self::Waste | Self::Touched)
    }
}

/// The function with the largest share of a group.
#[derive(Clone, PartialEq, Debug)]
pub struct TopContributor {
    /// Name, as frames are printed.
    pub function: String,
    /// Its line with the largest share, if source lines are known.
    pub source: Option<SourceLine>,
    /// Its share.
    pub amount: f64,
}

/// The share of a function, and the shares of its lines in it.
#[derive(Clone, Default)]
struct Has {
    amount: f64,
    lines: BTreeMap<SourceLine, f64>,
}

impl Measured {
    /// Returns for each group in `wanted` the function with the largest share; `None` without stacks. Of equal
    /// functions it is the first by name.
    pub(crate) fn top_contributors(
        &self,
        index: &Index,
        totals: &Arc<Totals>,
        measure: Measure,
        wanted: &[usize],
        names: &Names,
        cancel: &Cancel,
    ) -> Result<Vec<Option<TopContributor>>, Cancelled> {
        if measure == Measure::Unknown {
            return Ok(vec![None; wanted.len()]);
        }
        if measure.is_of_pages() {
            return self.most_pinning(index, measure, wanted, names, cancel);
        }
        let mut turn = vec![None; self.groups.len()];
        (0u32..).zip(wanted).for_each(|(i, &group)| turn[group] = Some(i));
        let of_site: Vec<Option<u32>> = self.of_site.iter().map(|group| turn[(*group)? as usize]).collect();
        let amounts = self.amounts(index, totals, measure, wanted, &of_site, cancel)?;
        let sums = sums_by_place(index, names, &of_site, &amounts, cancel)?;
        let mut by_function: Vec<KeyedMap<String, Has>> = vec![KeyedMap::default(); wanted.len()];
        for ((group, _, caller), (amount, site)) in sums {
            if caller.node == NodeId::ROOT {
                continue;
            }
            let site = index.trace().site(site);
            let frame = caller.recorded(index.trace(), names, site);
            let has = by_function[group as usize].entry(frame.name(caller.level).to_string()).or_default();
            has.amount += amount;
            if let Some(line) = SourceLine::of(&frame, caller.level) {
                *has.lines.entry(line).or_default() += amount;
            }
        }
        Ok(by_function.into_iter().map(largest).collect())
    }

    /// Returns the amount of each site in the groups of `wanted`.
    fn amounts(
        &self,
        index: &Index,
        totals: &Arc<Totals>,
        measure: Measure,
        wanted: &[usize],
        of_site: &[Option<u32>],
        cancel: &Cancel,
    ) -> Result<Vec<f64>, Cancelled> {
        let sums = |number: &dyn Fn(&super::ByClass) -> f64| {
            (0..of_site.len() as u32).map(|i| number(totals.of(SiteId(i)))).collect::<Vec<f64>>()
        };
        Ok(match measure {
            Measure::Outstanding => sums(&|sums| sums.numbers().outstanding_to as f64),
            Measure::Impacting => sums(&|sums| sums.numbers().impacting as f64),
            Measure::Count => sums(&|sums| sums.numbers().count as f64),
            Measure::SizeAtExit => self.left.iter().map(|left| left.size as f64).collect(),
            Measure::CountAtExit => self.left.iter().map(|left| left.count as f64).collect(),
            Measure::Peak => {
                let moments = peak_moments(index, totals, of_site, wanted.len(), cancel)?;
                let moment = |group: &Option<u32>| group.map_or(Ticks::BEFORE_TRACE, |group| moments[group as usize]);
                let moments: Vec<Ticks> = of_site.iter().map(moment).collect();
                alive_at(index, &moments, cancel)?.into_iter().map(|alive| alive.size as f64).collect()
            }
            // Pages are answered by who pins them; nobody has what is not known.
            Measure::Waste | Measure::Touched | Measure::Unknown => vec![0.0; of_site.len()],
            Measure::Growth => {
                let sites: Vec<usize> = (0..of_site.len()).filter(|&i| of_site[i].is_some()).collect();
                let mut line_of = vec![None; of_site.len()];
                (0u32..).zip(&sites).for_each(|(line, &site)| line_of[site] = Some(line));
                let span = |&site: &usize| self.of_site[site].map_or_else(Interval::default, |group| self.spans[group as usize]);
                let spans: Vec<Interval> = sites.iter().map(span).collect();
                let mut amounts = vec![0.0; of_site.len()];
                let slopes = slopes(index, &line_of, &spans, cancel)?;
                sites.into_iter().zip(slopes).for_each(|(site, slope)| amounts[site] = slope.unwrap_or_default());
                amounts
            }
        })
    }
}

/// Returns for each line the moment after the change with which it first reaches its peak.
fn peak_moments(
    index: &Index,
    totals: &Arc<Totals>,
    of_site: &[Option<u32>],
    count: usize,
    cancel: &Cancel,
) -> Result<Vec<Ticks>, Cancelled> {
    let of = SeriesOf { site: of_site.to_vec(), count, is_stacked: false };
    let lines = series(index, totals, &of, 1, cancel)?;
    let moment = |line: super::Series| match line.points.first() {
        // The line starts at its peak.
        Some(&(from, value)) if value == line.peak => from,
        _ => line.peak_at.next(),
    };
    Ok(lines.into_iter().map(moment).collect())
}

/// A group, a process and a frame of its stacks.
type GroupPlace = (u32, ProcessId, CallerFrame);

/// An amount, and a site that determines the names of its place.
type AmountAt = (f64, SiteId);

/// Adds up amounts by place; sorted, so that further sums do not depend on hashing.
fn sums_by_place(
    index: &Index,
    names: &Names,
    of_site: &[Option<u32>],
    amounts: &[f64],
    cancel: &Cancel,
) -> Result<Vec<(GroupPlace, AmountAt)>, Cancelled> {
    let trace = index.trace();
    let mut looks = CallerFinder::new(trace, names, FrameKind::Innermost);
    let mut sums: KeyedMap<GroupPlace, AmountAt> = KeyedMap::default();
    for (i, group) in of_site.iter().enumerate() {
        if i.is_multiple_of(4096) {
            cancel.check()?;
        }
        let Some(group) = group.filter(|_| amounts[i] != 0.0) else { continue };
        let site = &trace.sites[i];
        let place = (group, site.caller, looks.caller(site).responsible);
        sums.entry(place).or_insert((0.0, SiteId(i as u32))).0 += amounts[i];
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable_by_key(|sum| sum.0);
    Ok(sums)
}

fn largest(functions: KeyedMap<String, Has>) -> Option<TopContributor> {
    let functions = functions.into_iter().filter(|(_, has)| has.amount > 0.0);
    let (function, Has { amount, lines }) =
        functions.max_by(|a, b| a.1.amount.total_cmp(&b.1.amount).then_with(|| b.0.cmp(&a.0)))?;
    let source = lines.into_iter().rev().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(line, _)| line);
    Some(TopContributor { function, source, amount })
}
