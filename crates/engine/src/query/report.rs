//! The numbers of an interval by group: the output of `highwater report`.

mod filter;
mod group;

use std::cmp::Reverse;
use std::sync::Arc;

use super::grouping::keys::{Identity, Named, SiteGroups, SiteKeys};
use super::grouping::{Grouped, Groups, RowKey};
use super::source_lines::{LineSums, Lines};
use super::{By, ByClass, Cancel, Cancelled, Fold, Functions, Index, Mask, SiteNames, SourceLine, Totals, totals};
use crate::model::{SiteId, Trace};
use crate::names::Names;
use crate::units::Interval;
pub use filter::ReportFilter;
use group::LEVEL;
pub use group::{Group, GroupNumbers};
pub(super) use group::{describe, first};

/// A query for a report.
#[derive(Clone, Debug)]
pub struct ReportRequest {
    /// The interval.
    pub interval: Interval,
    /// Key of the groups.
    pub by: Vec<By>,
    /// The rows to count.
    pub filter: ReportFilter,
    /// Largest number of groups to return.
    pub top: Option<usize>,
    /// With groups by function or module, which frames are folded away.
    pub fold: Fold,
    /// With groups by stack, whether the source lines of frames are returned.
    pub sources: bool,
}

/// A report.
#[derive(Clone, Debug)]
pub struct Report {
    /// The interval.
    pub interval: Interval,
    /// Groups, by |impacting size|, then size, both falling, then by key.
    pub groups: Vec<Group>,
    /// Number of all groups, including those not returned.
    pub count: usize,
}

/// Computes a report without names. Cost: totals, a pass over the sites, and for the returned groups their peaks and
/// the names of their frames; by thread, size or lifetime, passes over the rows.
pub fn report(index: &Index, request: &ReportRequest, cancel: &Cancel) -> Result<Report, Cancelled> {
    named_report(index, request, &Names::default(), cancel)
}

/// Computes a report with the known names of frames and types.
pub fn named_report(index: &Index, request: &ReportRequest, names: &Names, cancel: &Cancel) -> Result<Report, Cancelled> {
    let mask = request.filter.named_mask(index.trace(), names, cancel)?;
    let asked = AskedReport { index, request, mask: &mask, totals: None, names, cancel };
    let GroupList { groups, count, .. } = asked.list()?;
    Ok(Report { interval: request.interval, groups, count })
}

/// The groups of a report, and the group of each site.
pub(super) struct GroupList {
    pub(super) groups: Vec<Group>,
    /// Number of all groups, including those not listed.
    count: usize,
    /// Index of each site's group in the list; only meaningful if the site alone determines the group.
    pub(super) of_site: Vec<Option<u32>>,
}

/// Lists the groups of the sites in `mask`, ignoring the filter of the request, given the totals of the interval.
pub(super) fn list_of_sites(
    index: &Index,
    request: &ReportRequest,
    (mask, totals): (&Mask, &Arc<Totals>),
    names: &Names,
    cancel: &Cancel,
) -> Result<GroupList, Cancelled> {
    AskedReport { index, request, mask, totals: Some(totals), names, cancel }.list()
}

/// Calls `each` with the groups of [`named_report`] one by one, so that only some of them are in memory at a time. The
/// order is the same, except that very many groups with equal numbers are sorted in separate runs. `mask` must have the
/// sites that the filter of the request selects.
pub fn each_group<E: From<Cancelled>>(
    index: &Index,
    request: &ReportRequest,
    mask: &Mask,
    names: &Names,
    cancel: &Cancel,
    mut each: impl FnMut(Group) -> Result<(), E>,
) -> Result<(), E> {
    let asked = AskedReport { index, request, mask, totals: None, names, cancel };
    if request.top.is_some_and(|top| top <= LEVEL) {
        return asked.list()?.groups.into_iter().try_for_each(each);
    }
    asked.groups(|named, sites, groups| {
        let mut left = request.top.unwrap_or(usize::MAX);
        let ranked = ranked(groups, cancel)?;
        for level in ranked.chunk_by(|a, b| a.rank == b.rank).flat_map(|level| level.chunks(LEVEL)) {
            let spelled = level.iter().map(|group| {
                let (site, row) = place(sites, groups, group.at);
                describe(named, site, row, GroupNumbers::new(&groups.sums[group.at], group.peak))
            });
            let mut spelled: Vec<Group> = spelled.collect();
            spelled.sort_by(Group::compare_keys);
            for group in spelled {
                left = match left.checked_sub(1) {
                    Some(left) => left,
                    None => return Ok(()),
                };
                each(group)?;
            }
        }
        Ok(())
    })
}

/// Calls `each` with the numbers of each stack and process, and a site that has the stack. Stacks with equal numbers
/// come in the order of their first sites. `mask` is as in [`each_group`].
pub fn each_stack<E: From<Cancelled>>(
    index: &Index,
    request: &ReportRequest,
    mask: &Mask,
    names: &Names,
    cancel: &Cancel,
    mut each: impl FnMut(SiteId, &GroupNumbers) -> Result<(), E>,
) -> Result<(), E> {
    let request = ReportRequest { by: vec![By::Process, By::Stack], ..request.clone() };
    let asked = AskedReport { index, request: &request, mask, totals: None, names, cancel };
    asked.groups(|_, sites, groups| {
        for Ranked { at, peak, .. } in ranked(groups, cancel)? {
            each(place(sites, groups, at).0, &GroupNumbers::new(&groups.sums[at], peak))?;
        }
        Ok(())
    })
}

/// A request with all its inputs.
pub(super) struct AskedReport<'a> {
    pub(super) index: &'a Index,
    /// The request; its filter is ignored, since `mask` has the selected sites.
    pub(super) request: &'a ReportRequest,
    pub(super) mask: &'a Mask,
    /// Totals of the interval, if known.
    pub(super) totals: Option<&'a Arc<Totals>>,
    pub(super) names: &'a Names,
    pub(super) cancel: &'a Cancel,
}

impl AskedReport<'_> {
    /// Returns the first groups in the order of a report.
    fn list(&self) -> Result<GroupList, Cancelled> {
        let &Self { request, cancel, .. } = self;
        self.groups(|named, sites, groups| {
            let ranks: Vec<_> = groups.sums.iter().map(rank).collect();
            let mut kept = first(&ranks, request.top.unwrap_or(usize::MAX), |i| {
                let (site, row) = place(sites, groups, i);
                describe(named, site, row, GroupNumbers::new(&groups.sums[i], 0))
            });
            let order: Vec<usize> = kept.iter().map(|(i, _)| *i).collect();
            let peaks = peaks(groups, &order, cancel)?;
            kept.iter_mut().zip(peaks).for_each(|((_, group), peak)| group.numbers.peak = peak);
            let mut turn = vec![None; groups.keys.len()];
            (0..).zip(&order).for_each(|(i, &group)| turn[group] = Some(i));
            let of_site = sites.of_site.iter().map(|group| *turn.get((*group)? as usize)?).collect();
            let count = ranks.iter().flatten().count();
            Ok(GroupList { groups: kept.into_iter().map(|(_, group)| group).collect(), count, of_site })
        })
    }

    /// Groups the rows and passes the groups to `then`.
    fn groups<T, E: From<Cancelled>>(
        &self,
        then: impl FnOnce(Named<'_>, &SiteGroups, &Groups<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let &Self { index, request, mask, totals, cancel, .. } = self;
        self.site_groups(|named, sites, count| {
            let freed = sites.freed.as_ref();
            let grouped = Grouped { index, interval: request.interval, mask, by: &request.by, freed, totals };
            let groups = Groups::new(grouped, &sites.of_site, count, cancel)?;
            then(named, sites, &groups)
        })
    }

    /// Groups the sites and passes the groups and their number to `then`.
    pub(super) fn site_groups<T, E: From<Cancelled>>(
        &self,
        then: impl FnOnce(Named<'_>, &SiteGroups, usize) -> Result<T, E>,
    ) -> Result<T, E> {
        let &Self { index, request, mask, names, cancel, .. } = self;
        let (trace, by) = (index.trace(), request.by.as_slice());
        let functions = functions_for(trace, names, by, cancel)?;
        let tags = tags_for(functions.as_ref(), by, cancel)?;
        let owners = owners_for(trace, names, by, cancel)?;
        let (tags, owners, sources) = (tags.as_ref(), owners.as_ref(), request.sources);
        let functions = functions.as_ref().map(|functions| (functions, request.fold));
        let named = Named { trace, names, by, functions, tags, owners, freed: None, lines: None, sources, addresses: true };
        let mut keys = SiteKeys::default();
        let sites: SiteGroups = keys.add(named, &Identity::of(trace), mask, cancel)?;
        let lines = self.lines(&sites, keys.len())?;
        let lines = lines.as_ref().map(|of_group| Lines { of_group, of_site: &sites.of_site });
        then(Named { freed: sites.freed.as_ref(), lines, ..named }, &sites, keys.len())
    }
}

impl AskedReport<'_> {
    /// Returns for each site group the source line of its responsible caller, if that is a key.
    fn lines(&self, sites: &SiteGroups, groups: usize) -> Result<Option<Vec<Option<SourceLine>>>, Cancelled> {
        let &Self { index, request, mask, names, cancel, .. } = self;
        if !request.by.contains(&By::Responsible) || names.is_empty() {
            return Ok(None);
        }
        let totals = match self.totals {
            Some(known) => Arc::clone(known),
            None => Arc::new(totals(index, request.interval, cancel)?),
        };
        let mut sums = LineSums::default();
        sums.add((index.trace(), names), (&totals, mask), &sites.of_site, cancel)?;
        Ok(Some(sums.largest(groups)))
    }
}

type Rank = Reverse<(u64, u64)>;

/// Sort key of a group; `None` if it has no rows.
fn rank(sums: &ByClass) -> Option<Rank> {
    let numbers = sums.numbers();
    (!sums.is_empty()).then_some(Reverse((numbers.impacting.unsigned_abs(), numbers.size)))
}

/// A group that has rows.
struct Ranked {
    /// Index among all groups.
    at: usize,
    rank: Rank,
    peak: u64,
}

/// Returns all groups that have rows, in the order of a report; equal ones in order of appearance.
fn ranked(groups: &Groups<'_>, cancel: &Cancel) -> Result<Vec<Ranked>, Cancelled> {
    let mut order: Vec<(Rank, usize)> = groups.sums.iter().zip(0..).filter_map(|(sums, at)| Some((rank(sums)?, at))).collect();
    order.sort_unstable();
    let places: Vec<usize> = order.iter().map(|(_, at)| *at).collect();
    let peaks = peaks(groups, &places, cancel)?;
    Ok(order.into_iter().zip(peaks).map(|((rank, at), peak)| Ranked { at, rank, peak }).collect())
}

/// Returns a site of a group, and its row key.
fn place(sites: &SiteGroups, groups: &Groups<'_>, i: usize) -> (SiteId, RowKey) {
    let (group, row) = groups.keys[i];
    // Every site group has a first site.
    (sites.first[group as usize].unwrap_or(SiteId(0)), row)
}

/// Returns the peaks of some groups.
fn peaks(groups: &Groups<'_>, order: &[usize], cancel: &Cancel) -> Result<Vec<u64>, Cancelled> {
    cancel.check()?;
    let mut place = vec![None; groups.keys.len()];
    order.iter().zip(0..).for_each(|(&group, i)| place[group] = Some(i));
    let now: Vec<u64> = order.iter().map(|&group| groups.sums[group].numbers().outstanding_from).collect();
    groups.peaks(&place, &now, cancel)
}

/// Returns the functions of all sites, if a key needs them.
pub(super) fn functions_for(trace: &Trace, names: &Names, by: &[By], cancel: &Cancel) -> Result<Option<Functions>, Cancelled> {
    By::need_functions(by).then(|| Functions::of(trace, names, Fold::Nothing, cancel)).transpose()
}

/// Returns the tags of all sites, if a key needs them.
pub(super) fn tags_for(functions: Option<&Functions>, by: &[By], cancel: &Cancel) -> Result<Option<SiteNames>, Cancelled> {
    let functions = functions.filter(|_| by.contains(&By::Tag));
    functions.map(|functions| super::tags(functions, cancel)).transpose()
}

/// Returns the owners of all sites, if a key needs them.
pub(super) fn owners_for(trace: &Trace, names: &Names, by: &[By], cancel: &Cancel) -> Result<Option<SiteNames>, Cancelled> {
    by.contains(&By::Owner).then(|| super::owners(trace, names, cancel)).transpose()
}
