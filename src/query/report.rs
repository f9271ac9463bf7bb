//! The numbers of an interval by groups, as `highwater report` prints them.

mod filter;
mod group;

use std::cmp::Reverse;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::functions::innermost;
use super::naming::{UNKNOWN_TYPE, allocated_type, stack_labels};
use super::nest::NOBODY;
use super::peaks::{line_peaks, row_peaks};
use super::{
    ByClass, Cancel, Cancelled, FunctionId, Functions, Index, LifetimeClass, Mask, ModuleName, SeriesOf, Totals, series, totals,
};
use crate::model::{NodeId, ProcessId, Row, Site, SiteId, Trace};
use crate::symbols::Names;
use crate::units::{Interval, Layer, Tid};
pub use filter::ReportFilter;
pub use group::{Group, GroupNumbers};

/// A part of a group's key; the layer is always part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Life of a process.
    Process,
    /// Handle or name of the heap.
    Heap,
    /// Recorded addresses of the stack.
    Stack,
    /// Allocated C++ type.
    Type,
    /// Allocating thread; null also where no event tells it.
    Thread,
    /// Innermost function; null also where no stack was recorded.
    Function,
    /// Module of that function; null also where none is known.
    Module,
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
    /// Whether functions and modules are those of the innermost frame that is not the
    /// allocator's.
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

/// What is asked of what.
#[derive(Clone, Copy)]
struct Asked<'a> {
    trace: &'a Trace,
    by: &'a [By],
    names: &'a Names,
    /// If they are asked for, and whether the allocator's are left out.
    functions: Option<(&'a Functions, bool)>,
}

/// What tells groups apart.
#[derive(Clone, PartialEq, Eq, Hash)]
struct GroupKey {
    process: Option<ProcessId>,
    layer: Layer,
    heap: Option<String>,
    stack: Option<NodeId>,
    allocated_type: Option<Arc<str>>,
    thread: Option<Tid>,
    function: Option<FunctionId>,
    module: Option<ModuleName>,
}

/// Answers a request. Cost: totals, a pass over the sites, and for the groups that
/// are kept their peaks and the names of their frames; by thread, passes over the rows.
pub fn report(index: &Index, request: &ReportRequest, cancel: &Cancel) -> Result<Report, Cancelled> {
    named_report(index, request, &Names::default(), cancel)
}

/// The same with the names of frames and types that are known.
pub fn named_report(index: &Index, request: &ReportRequest, names: &Names, cancel: &Cancel) -> Result<Report, Cancelled> {
    let (trace, interval, by) = (index.trace(), request.interval, &request.by);
    let mask = request.filter.mask(trace);
    let by_thread = by.contains(&By::Thread);
    let by_function = by.contains(&By::Function) || by.contains(&By::Module);
    let functions = if by_function { Some(Functions::of(trace, names, false, cancel)?) } else { None };
    let asked = Asked { trace, by, names, functions: functions.as_ref().map(|functions| (functions, request.fold)) };
    let groups = if by_thread { Groups::of_rows(asked, &mask) } else { Groups::of_sites(asked, &mask) };
    let totals = if by_thread { None } else { Some(totals(index, interval, cancel)?) };
    let sums = match &totals {
        Some(totals) => groups.sums_of_sites(totals),
        None => groups.sums_of_rows(trace, interval, cancel)?,
    };
    let kept = keep(asked, &groups.keys, &sums, request.top.unwrap_or(usize::MAX));
    cancel.check()?;
    let mut place = vec![None; groups.keys.len()];
    kept.iter().enumerate().for_each(|(i, (group, _))| place[*group] = Some(i as u32));
    let place_of = |group: Option<u32>| group.and_then(|group| place[group as usize]);
    let peaks = match &totals {
        Some(totals) => {
            let of = SeriesOf::new(trace, kept.len(), |site| place_of(groups.of_site[site.0 as usize]));
            peaks(index, totals, &of, cancel)?
        }
        None => {
            let now: Vec<u64> = kept.iter().map(|(_, group)| group.numbers.outstanding_from).collect();
            row_peaks(index, interval, &now, |row| place_of(groups.of(row)), cancel)?
        }
    };
    let groups = kept.into_iter().zip(peaks).map(|((_, group), peak)| group.with_peak(peak)).collect();
    Ok(Report { interval, groups })
}

/// The largest sizes of the kept groups of sites: from what is prepared for whole
/// heaps, else by a pass over the events.
fn peaks(index: &Index, totals: &Totals, of: &SeriesOf, cancel: &Cancel) -> Result<Vec<u64>, Cancelled> {
    if index.knows(of) {
        return Ok(series(index, totals, of, 1, cancel)?.into_iter().map(|line| line.peak).collect());
    }
    let now = totals.by_series(of, |numbers| numbers.outstanding_from);
    let lines_of = of.site.iter().map(|group| [group.unwrap_or(NOBODY); 4]).collect();
    line_peaks(index, totals.interval, &now, lines_of, |_| None, cancel)
}

/// The first `top` groups in which rows take part, with their numbers but the peak.
/// Names are only made for those that can be among them.
fn keep(asked: Asked<'_>, keys: &[(GroupKey, SiteId)], sums: &[ByClass], top: usize) -> Vec<(usize, Group)> {
    let rank = |i: usize| {
        let numbers = sums[i].numbers();
        Reverse((numbers.impacting.unsigned_abs(), numbers.size))
    };
    let mut order: Vec<usize> = (0..keys.len()).filter(|&i| !sums[i].is_empty()).collect();
    order.sort_by_key(|&i| rank(i));
    match top.checked_sub(1) {
        None => order.clear(),
        // Those that are level with the last one compete by their names.
        Some(last) if last < order.len() => order.truncate(order.partition_point(|&i| rank(i) <= rank(order[last]))),
        Some(_) => {}
    }
    let mut groups: Vec<(usize, Group)> = order.into_iter().map(|i| (i, describe(asked, &keys[i], &sums[i]))).collect();
    groups.sort_by(|(i, a), (j, b)| rank(*i).cmp(&rank(*j)).then_with(|| compare_keys(a, b)));
    groups.truncate(top);
    groups
}

/// The groups that a request asks for.
struct Groups {
    /// Their keys, and a site of each.
    keys: Vec<(GroupKey, SiteId)>,
    index: FxHashMap<GroupKey, u32>,
    of_site: Vec<Option<u32>>,
    /// Where the thread tells groups apart, it is the row that has one.
    of_thread: Option<FxHashMap<(SiteId, Tid), u32>>,
}

impl Groups {
    fn of_sites(asked: Asked<'_>, mask: &Mask) -> Self {
        let trace = asked.trace;
        let mut types = FxHashSet::default();
        let mut groups =
            Self { keys: Vec::new(), index: FxHashMap::default(), of_site: vec![None; trace.sites.len()], of_thread: None };
        let heap_keys: Vec<Option<String>> = trace.heaps.iter().map(|heap| heap.key()).collect();
        for (i, site) in trace.sites.iter().enumerate() {
            let id = SiteId(i as u32);
            if mask.classes(id) != 0 {
                groups.of_site[i] = Some(groups.add(group_key(asked, (id, site), &heap_keys, &mut types), id));
            }
        }
        groups
    }

    fn of_rows(asked: Asked<'_>, mask: &Mask) -> Self {
        let sites = Self::of_sites(asked, mask);
        let mut groups = Self { keys: Vec::new(), index: FxHashMap::default(), of_site: sites.of_site.clone(), of_thread: None };
        let mut of_thread = FxHashMap::default();
        for (_, row) in asked.trace.rows.chunks().flat_map(|chunk| chunk.rows()) {
            let Some(group) = groups.of_site[row.site.0 as usize] else { continue };
            of_thread.entry((row.site, row.thread)).or_insert_with(|| {
                let key = GroupKey { thread: Some(row.thread), ..sites.keys[group as usize].0.clone() };
                groups.add(key, row.site)
            });
        }
        groups.of_thread = Some(of_thread);
        groups
    }

    fn add(&mut self, key: GroupKey, site: SiteId) -> u32 {
        *self.index.entry(key.clone()).or_insert_with(|| {
            self.keys.push((key, site));
            (self.keys.len() - 1) as u32
        })
    }

    fn of(&self, row: &Row) -> Option<u32> {
        match &self.of_thread {
            Some(groups) => groups.get(&(row.site, row.thread)).copied(),
            None => self.of_site[row.site.0 as usize],
        }
    }

    fn sums_of_sites(&self, totals: &Totals) -> Vec<ByClass> {
        let mut sums = vec![ByClass::default(); self.keys.len()];
        for (site, buckets) in totals.sites() {
            if let Some(group) = self.of_site[site.0 as usize] {
                sums[group as usize].add(buckets);
            }
        }
        sums
    }

    fn sums_of_rows(&self, trace: &Trace, interval: Interval, cancel: &Cancel) -> Result<Vec<ByClass>, Cancelled> {
        let mut sums = vec![ByClass::default(); self.keys.len()];
        for chunk in trace.rows.chunks() {
            cancel.check()?;
            for (_, row) in chunk.rows() {
                if let (Some(class), Some(group)) = (LifetimeClass::of(row.birth, row.death, interval), self.of(&row)) {
                    sums[group as usize].get_mut(class).add_row(row.size);
                }
            }
        }
        Ok(sums)
    }
}

fn group_key(
    Asked { trace, by, names, functions }: Asked<'_>,
    (id, site): (SiteId, &Site),
    heap_keys: &[Option<String>],
    types: &mut FxHashSet<Arc<str>>,
) -> GroupKey {
    let wants = |key| by.contains(&key);
    let mut type_key = || {
        let name = allocated_type(trace, names, site).unwrap_or(UNKNOWN_TYPE);
        let known = types.get(name).cloned().unwrap_or_else(|| name.into());
        types.insert(Arc::clone(&known));
        known
    };
    let function = functions.and_then(|(functions, fold)| innermost(functions, id, fold));
    let module = function.zip(functions).and_then(|(function, (functions, _))| functions.module(function));
    GroupKey {
        process: wants(By::Process).then(|| trace.process_of(site)),
        layer: trace.layer_of(site),
        heap: if wants(By::Heap) { heap_keys[site.heap.0 as usize].clone() } else { None },
        stack: wants(By::Stack).then_some(site.stack),
        allocated_type: if wants(By::Type) { Some(type_key()) } else { None },
        thread: None,
        function: function.filter(|_| wants(By::Function)),
        module: module.filter(|_| wants(By::Module)),
    }
}

fn describe(Asked { trace, names, functions, .. }: Asked<'_>, (key, site): &(GroupKey, SiteId), sums: &ByClass) -> Group {
    let process = key.process.map(|id| trace.process(id));
    Group {
        process: process.map(|p| p.label()),
        pid: process.map(|p| p.pid.0),
        process_start_s: process.and_then(|p| p.start).map(|t| trace.clock.seconds(t)),
        layer: key.layer.name(),
        heap: key.heap.clone(),
        stack: key.stack.map(|_| stack_labels(trace, names, trace.site(*site))),
        allocated_type: key.allocated_type.as_deref().map(str::to_owned),
        thread: key.thread.filter(|t| t.is_known()).map(|t| t.0),
        function: functions.zip(key.function).map(|((functions, _), id)| functions.name(id).to_string()),
        module: functions.zip(key.module).map(|((functions, _), id)| functions.module_name(id).to_owned()),
        numbers: GroupNumbers::new(sums, 0),
    }
}

fn compare_keys(a: &Group, b: &Group) -> std::cmp::Ordering {
    let start = |g: &Group| g.process_start_s.unwrap_or(f64::NEG_INFINITY);
    let key = |g: &Group| (g.process.clone(), g.pid);
    key(a).cmp(&key(b)).then(start(a).total_cmp(&start(b))).then_with(|| {
        let rest = (a.layer, &a.heap, &a.stack, &a.allocated_type, a.thread, &a.function, &a.module);
        rest.cmp(&(b.layer, &b.heap, &b.stack, &b.allocated_type, b.thread, &b.function, &b.module))
    })
}
