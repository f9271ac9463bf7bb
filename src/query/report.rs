//! The numbers of an interval by groups, as `highwater report` prints them.

mod filter;
mod group;

use std::cmp::Reverse;
use std::sync::Arc;

use super::grouping::keys::{Identity, Named, SiteGroups, SiteKeys};
use super::grouping::{Grouped, Groups};
use super::{ByClass, Cancel, Cancelled, Functions, Index, Mask, Tags, Totals};
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
}

impl By {
    /// All keys.
    pub const ALL: [Self; 11] = [
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
    ];

    /// Whether any of some keys follows from the functions of stacks.
    pub fn need_functions(by: &[Self]) -> bool {
        by.iter().any(|by| matches!(by, Self::Function | Self::Module | Self::Tag))
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
    /// By function and module: whether the allocator's innermost frames are left out.
    pub fold: bool,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Report {
    /// The interval.
    pub interval: Interval,
    /// Groups, by |impacting size|, then size, both falling, then by key.
    pub groups: Vec<Group>,
}

/// Answers a request. Cost: totals, a pass over the sites, and for the groups that
/// are kept their peaks and the names of their frames; by thread, size or lifetime, passes
/// over the rows.
pub fn report(index: &Index, request: &ReportRequest, cancel: &Cancel) -> Result<Report, Cancelled> {
    named_report(index, request, &Names::default(), cancel)
}

/// The same with the names of frames and types that are known.
pub fn named_report(index: &Index, request: &ReportRequest, names: &Names, cancel: &Cancel) -> Result<Report, Cancelled> {
    let ReportRequest { interval, ref by, top, fold, .. } = *request;
    let mask = request.filter.named_mask(index.trace(), names, cancel)?;
    let groups = list(index, Listed { interval, by, mask: &mask, fold, top, totals: None }, names, cancel)?.groups;
    Ok(Report { interval, groups })
}

/// What is listed.
#[derive(Clone, Copy)]
pub(super) struct Listed<'a> {
    pub(super) interval: Interval,
    pub(super) by: &'a [By],
    pub(super) mask: &'a Mask,
    pub(super) fold: bool,
    pub(super) top: Option<usize>,
    /// The sums of the interval, if somebody has them.
    pub(super) totals: Option<&'a Arc<Totals>>,
}

/// The groups of a report.
pub(super) struct GroupList {
    pub(super) groups: Vec<Group>,
    /// By site the place of its group in the list; means something only where sites tell all
    /// groups apart.
    pub(super) of_site: Vec<Option<u32>>,
}

/// The groups in which rows take part, in the order of a report.
pub(super) fn list(index: &Index, listed: Listed<'_>, names: &Names, cancel: &Cancel) -> Result<GroupList, Cancelled> {
    let Listed { interval, by, mask, fold, top, totals } = listed;
    let trace = index.trace();
    let functions = functions_for(trace, names, by, cancel)?;
    let tags = tags_for(trace, functions.as_ref(), by, cancel)?;
    let functions = functions.as_ref().map(|functions| (functions, fold));
    let named = Named { trace, names, by, functions, tags: tags.as_ref(), freed: None };
    let mut keys = SiteKeys::default();
    let sites: SiteGroups = keys.add(named, &Identity::of(trace), mask, cancel)?;
    let (freed, named) = (sites.freed.as_ref(), Named { freed: sites.freed.as_ref(), ..named });
    let grouped = Grouped { index, interval, mask, by, freed, totals };
    let groups = Groups::new(grouped, &sites.of_site, keys.len(), cancel)?;
    let rank = |sums: &ByClass| {
        let numbers = sums.numbers();
        (!sums.is_empty()).then_some(Reverse((numbers.impacting.unsigned_abs(), numbers.size)))
    };
    let ranks: Vec<_> = groups.sums.iter().map(rank).collect();
    let mut kept = first(&ranks, top.unwrap_or(usize::MAX), |i| {
        let (group, row) = groups.keys[i];
        // A group of sites has a first one.
        let site = sites.first[group as usize].unwrap_or(SiteId(0));
        describe(named, site, row, GroupNumbers::new(&groups.sums[i], 0))
    });
    cancel.check()?;
    let mut place = vec![None; groups.keys.len()];
    kept.iter().zip(0..).for_each(|((group, _), i)| place[*group] = Some(i));
    let now: Vec<u64> = kept.iter().map(|(_, group)| group.numbers.outstanding_from).collect();
    let peaks = groups.peaks(&place, &now, cancel)?;
    kept.iter_mut().zip(peaks).for_each(|((_, group), peak)| group.numbers.peak = peak);
    let of_site = sites.of_site.iter().map(|group| *place.get((*group)? as usize)?).collect();
    Ok(GroupList { groups: kept.into_iter().map(|(_, group)| group).collect(), of_site })
}

/// The functions of all sites, if a key asks for them.
pub(super) fn functions_for(trace: &Trace, names: &Names, by: &[By], cancel: &Cancel) -> Result<Option<Functions>, Cancelled> {
    By::need_functions(by).then(|| Functions::of(trace, names, false, cancel)).transpose()
}

/// The tags of all sites, if a key asks for them.
pub(super) fn tags_for(
    trace: &Trace,
    functions: Option<&Functions>,
    by: &[By],
    cancel: &Cancel,
) -> Result<Option<Tags>, Cancelled> {
    let functions = functions.filter(|_| by.contains(&By::Tag));
    functions.map(|functions| Tags::of(trace, functions, cancel)).transpose()
}
