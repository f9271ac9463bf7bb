//! The numbers of an interval by groups, as `highwater report` prints them.

mod filter;
mod group;

use std::cmp::Reverse;
use std::sync::Arc;

use super::grouping::keys::{Identity, Named, SiteGroups, SiteKeys};
use super::grouping::{Grouped, Groups, RowKey};
use super::source_lines::{LineSums, Lines};
use super::{ByClass, Cancel, Cancelled, Fold, Functions, Index, Mask, SiteNames, SourceLine, Totals, totals};
use crate::model::{SiteId, Trace};
use crate::symbols::Names;
use crate::units::Interval;
pub use filter::ReportFilter;
pub use group::{Group, GroupNumbers};
pub(super) use group::{describe, first};

/// A part of a group's key; the layer is always part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Life of a process.
    Process,
    /// Handle or name of the heap.
    Heap,
    /// Recorded addresses of the stack.
    Stack,
    /// The same of the stack that freed; what never died is in the group of an empty one, with
    /// what was freed without a stack.
    FreedStack,
    /// Allocated C++ type.
    Type,
    /// Allocating thread; null also where no event tells it.
    Thread,
    /// Powers of two.
    Size,
    /// Decades of seconds; what never died is one group.
    Lifetime,
    /// Innermost function; null also where no stack was recorded.
    Function,
    /// Module of that function; null also where none is known.
    Module,
    /// Name that rules give to the stack.
    Tag,
    /// Responsible caller.
    Responsible,
    /// Responsible module; the address of a frame in none.
    ResponsibleModule,
    /// Who keeps it: of commit by its stack, of blocks their heap or tracker.
    Owner,
}

impl By {
    /// All keys.
    pub const ALL: [Self; 14] = [
        Self::Process,
        Self::Heap,
        Self::Stack,
        Self::FreedStack,
        Self::Type,
        Self::Thread,
        Self::Size,
        Self::Lifetime,
        Self::Function,
        Self::Module,
        Self::Tag,
        Self::Responsible,
        Self::ResponsibleModule,
        Self::Owner,
    ];

    /// Whether any of some keys follows from the functions of stacks.
    pub fn need_functions(by: &[Self]) -> bool {
        by.iter().any(|by| matches!(by, Self::Function | Self::Module | Self::Tag | Self::Responsible | Self::ResponsibleModule))
    }
}

/// What a report is asked.
#[derive(Clone, Debug)]
pub struct ReportRequest {
    /// The interval.
    pub interval: Interval,
    /// Key of the groups.
    pub by: Vec<By>,
    /// Which rows.
    pub filter: ReportFilter,
    /// At most so many groups.
    pub top: Option<usize>,
    /// By function and module: whether the allocator's run is left out.
    pub fold: Fold,
    /// By stack: whether the source lines of its frames are told.
    pub sources: bool,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Report {
    /// The interval.
    pub interval: Interval,
    /// Groups, by |impacting size|, then size, both falling, then by key.
    pub groups: Vec<Group>,
    /// How many there are, told or not.
    pub count: usize,
}

/// Answers a request. Cost: totals, a pass over the sites, and for the groups that
/// are kept their peaks and the names of their frames; by thread, size or lifetime, passes
/// over the rows.
pub fn report(index: &Index, request: &ReportRequest, cancel: &Cancel) -> Result<Report, Cancelled> {
    named_report(index, request, &Names::default(), cancel)
}

/// The same with the names of frames and types that are known.
pub fn named_report(index: &Index, request: &ReportRequest, names: &Names, cancel: &Cancel) -> Result<Report, Cancelled> {
    let mask = request.filter.named_mask(index.trace(), names, cancel)?;
    let asked = AskedReport { index, request, mask: &mask, totals: None, names, cancel };
    let GroupList { groups, count, .. } = asked.list()?;
    Ok(Report { interval: request.interval, groups, count })
}

/// The groups of a report, and which sites they are of.
pub(super) struct GroupList {
    pub(super) groups: Vec<Group>,
    /// How many there are, listed or not.
    count: usize,
    /// By site the place of its group in the list; means something only where sites tell all
    /// groups apart.
    pub(super) of_site: Vec<Option<u32>>,
}

/// The same of chosen sites, whatever the filter of the request says, with the sums of the interval.
pub(super) fn list_of_sites(
    index: &Index,
    request: &ReportRequest,
    (mask, totals): (&Mask, &Arc<Totals>),
    names: &Names,
    cancel: &Cancel,
) -> Result<GroupList, Cancelled> {
    AskedReport { index, request, mask, totals: Some(totals), names, cancel }.list()
}

/// Groups with equal numbers that are put into the order of their keys at a time.
pub(super) const LEVEL: usize = 1 << 12;

/// Tells the groups of [`named_report`] one after the other: only some of them are ever spelled out
/// at a time. The order is the same but where very many groups have equal numbers, which
/// then come in runs. `mask` has the sites that the filter of the request chooses.
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

/// Tells the numbers of each stack and process, with a site that has the stack; stacks with
/// equal numbers in the order in which they were met first. `mask` as in [`each_group`].
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

/// What is asked, and of what.
struct AskedReport<'a> {
    index: &'a Index,
    /// Its filter is not looked at: `mask` has what it chooses.
    request: &'a ReportRequest,
    mask: &'a Mask,
    /// The sums of the interval, if somebody has them.
    totals: Option<&'a Arc<Totals>>,
    names: &'a Names,
    cancel: &'a Cancel,
}

impl AskedReport<'_> {
    /// The first groups in the order of a report.
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

    /// Puts the rows into groups and hands these on.
    fn groups<T, E: From<Cancelled>>(
        &self,
        then: impl FnOnce(Named<'_>, &SiteGroups, &Groups<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let &Self { index, request, mask, totals, names, cancel } = self;
        let (trace, interval, by) = (index.trace(), request.interval, request.by.as_slice());
        let functions = functions_for(trace, names, by, cancel)?;
        let tags = tags_for(functions.as_ref(), by, cancel)?;
        let owners = owners_for(trace, names, by, cancel)?;
        let (tags, owners, sources) = (tags.as_ref(), owners.as_ref(), request.sources);
        let functions = functions.as_ref().map(|functions| (functions, request.fold));
        let named = Named { trace, names, by, functions, tags, owners, freed: None, lines: None, sources };
        let mut keys = SiteKeys::default();
        let sites: SiteGroups = keys.add(named, &Identity::of(trace), mask, cancel)?;
        let lines = self.lines(&sites, keys.len())?;
        let lines = lines.as_ref().map(|of_group| Lines { of_group, of_site: &sites.of_site });
        let (freed, named) = (sites.freed.as_ref(), Named { freed: sites.freed.as_ref(), lines, ..named });
        let grouped = Grouped { index, interval, mask, by, freed, totals };
        let groups = Groups::new(grouped, &sites.of_site, keys.len(), cancel)?;
        then(named, &sites, &groups)
    }
}

impl AskedReport<'_> {
    /// By group of sites the line of its responsible callers, if they are a key.
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

/// `None` if nothing takes part.
fn rank(sums: &ByClass) -> Option<Rank> {
    let numbers = sums.numbers();
    (!sums.is_empty()).then_some(Reverse((numbers.impacting.unsigned_abs(), numbers.size)))
}

/// A group that takes part.
struct Ranked {
    /// Its place among all.
    at: usize,
    rank: Rank,
    peak: u64,
}

/// All groups that take part, in the order of a report; equal ones as they were met.
fn ranked(groups: &Groups<'_>, cancel: &Cancel) -> Result<Vec<Ranked>, Cancelled> {
    let mut order: Vec<(Rank, usize)> = groups.sums.iter().zip(0..).filter_map(|(sums, at)| Some((rank(sums)?, at))).collect();
    order.sort_unstable();
    let places: Vec<usize> = order.iter().map(|(_, at)| *at).collect();
    let peaks = peaks(groups, &places, cancel)?;
    Ok(order.into_iter().zip(peaks).map(|((rank, at), peak)| Ranked { at, rank, peak }).collect())
}

/// A site of a group, and what tells its rows apart.
fn place(sites: &SiteGroups, groups: &Groups<'_>, i: usize) -> (SiteId, RowKey) {
    let (group, row) = groups.keys[i];
    // A group of sites has a first one.
    (sites.first[group as usize].unwrap_or(SiteId(0)), row)
}

/// The peaks of some groups.
fn peaks(groups: &Groups<'_>, order: &[usize], cancel: &Cancel) -> Result<Vec<u64>, Cancelled> {
    cancel.check()?;
    let mut place = vec![None; groups.keys.len()];
    order.iter().zip(0..).for_each(|(&group, i)| place[group] = Some(i));
    let now: Vec<u64> = order.iter().map(|&group| groups.sums[group].numbers().outstanding_from).collect();
    groups.peaks(&place, &now, cancel)
}

/// The functions of all sites, if a key asks for them.
pub(super) fn functions_for(trace: &Trace, names: &Names, by: &[By], cancel: &Cancel) -> Result<Option<Functions>, Cancelled> {
    By::need_functions(by).then(|| Functions::of(trace, names, Fold::Nothing, cancel)).transpose()
}

/// The tags of all sites, if a key asks for them.
pub(super) fn tags_for(functions: Option<&Functions>, by: &[By], cancel: &Cancel) -> Result<Option<SiteNames>, Cancelled> {
    let functions = functions.filter(|_| by.contains(&By::Tag));
    functions.map(|functions| super::tags(functions, cancel)).transpose()
}

/// The owners of all sites, if a key asks for them.
pub(super) fn owners_for(trace: &Trace, names: &Names, by: &[By], cancel: &Cancel) -> Result<Option<SiteNames>, Cancelled> {
    by.contains(&By::Owner).then(|| super::owners(trace, names, cancel)).transpose()
}
