//! The numbers of an interval by groups, as `highwater report` prints them.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::changes::{changes, peaks};
use super::{Bucket, ByClass, Cancel, Cancelled, LifetimeClass, Mask, frame_label, totals};
use crate::model::{HeapId, NodeId, ProcessId, Site, SiteId, Trace};
use crate::units::{Interval, Layer, Tid};

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
}

/// Which rows a report is about; a row must fit all that is given.
#[derive(Clone, Debug, Default)]
pub struct ReportFilter {
    /// Name of a process in any case, or its id.
    pub process: Option<String>,
    /// Layer.
    pub layer: Option<Layer>,
    /// Handle in hex, or name of a tracker, in any case.
    pub heap: Option<String>,
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
}

/// One group of a report; keys that were not asked for are null. Bytes and counts.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct Group {
    pub process: Option<String>,
    pub pid: Option<u32>,
    pub process_start_s: Option<f64>,
    pub layer: &'static str,
    pub heap: Option<String>,
    /// Outermost frame first.
    pub stack: Option<Vec<String>>,
    #[serde(rename = "type")]
    pub allocated_type: Option<String>,
    pub thread: Option<u32>,
    pub outstanding_from: u64,
    pub outstanding_to: u64,
    pub peak: u64,
    pub count: u64,
    pub size: u64,
    pub allocated_count: u64,
    pub allocated_size: u64,
    pub freed_count: u64,
    pub freed_size: u64,
    pub impacting_size: i64,
    pub aifi: Bucket,
    pub aifo: Bucket,
    pub aofi: Bucket,
    pub aofo: Bucket,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Report {
    /// The interval.
    pub interval: Interval,
    /// Groups, by |impacting size|, then size, both falling, then by key.
    pub groups: Vec<Group>,
}

/// Name of the C++ type of allocations whose type is not known.
const UNKNOWN_TYPE: &str = "(unknown type)";

/// What tells groups apart.
#[derive(Clone, PartialEq, Eq, Hash)]
struct GroupKey {
    process: Option<ProcessId>,
    layer: Layer,
    heap: Option<String>,
    stack: Option<NodeId>,
    thread: Option<Tid>,
}

/// Answers a request. Cost: two scans of the rows, a sort of the changes inside
/// the interval, and the names of the frames of the groups that are kept.
pub fn report(trace: &Trace, request: &ReportRequest, cancel: &Cancel) -> Result<Report, Cancelled> {
    let interval = request.interval;
    let mask = request.filter.mask(trace);
    let (keys, group_of) = group_sites(trace, &request.by, &mask);
    let totals = totals(trace, interval, cancel)?;
    let mut sums = vec![ByClass::default(); keys.len()];
    for (site, buckets) in totals.sites() {
        if let Some(group) = group_of[site.0 as usize] {
            sums[group as usize].add(buckets);
        }
    }
    let changes = changes(trace, interval, cancel, |row, _| group_of[row.site.0 as usize])?;
    let peaks = peaks(&changes, sums.iter().map(|s| s.numbers().outstanding_from.into()).collect(), |_| None);
    let mut groups: Vec<Group> = (0..keys.len())
        .filter(|&i| !sums[i].is_empty())
        .map(|i| Group { peak: peaks[i], ..describe(trace, &keys[i], &request.by, &sums[i]) })
        .collect();
    groups.sort_by(|a, b| {
        let numbers = |g: &Group| (g.impacting_size.unsigned_abs(), g.size);
        numbers(b).cmp(&numbers(a)).then_with(|| compare_keys(a, b))
    });
    groups.truncate(request.top.unwrap_or(usize::MAX));
    Ok(Report { interval, groups })
}

impl ReportFilter {
    fn mask(&self, trace: &Trace) -> Mask {
        let same = |wanted: &str, name: &str| wanted.to_lowercase() == name.to_lowercase();
        let process_fits = |id: ProcessId| {
            let process = trace.process(id);
            self.process.as_ref().is_none_or(|wanted| same(wanted, &process.label()) || wanted.parse() == Ok(process.pid.0))
        };
        let heap_fits = |id: HeapId| {
            let heap = trace.heap(id);
            process_fits(heap.process)
                && self.layer.is_none_or(|layer| layer == heap.layer)
                && self.heap.as_ref().is_none_or(|wanted| heap.key().is_some_and(|key| same(wanted, &key)))
        };
        let fits: Vec<bool> = (0..trace.heaps.len()).map(|i| heap_fits(HeapId(i as u32))).collect();
        Mask::of_sites(trace, |_, site| fits[site.heap.0 as usize])
    }
}

/// The distinct keys of the wanted sites, and each site's group.
fn group_sites(trace: &Trace, by: &[By], mask: &Mask) -> (Vec<(GroupKey, SiteId)>, Vec<Option<u32>>) {
    let mut keys = Vec::new();
    let mut index: FxHashMap<GroupKey, u32> = FxHashMap::default();
    let heap_keys: Vec<Option<String>> = trace.heaps.iter().map(|heap| heap.key()).collect();
    let groups = trace.sites.iter().enumerate().map(|(i, site)| {
        let id = SiteId(i as u32);
        if mask.classes(id) == 0 {
            return None;
        }
        let key = group_key(trace, by, site, &heap_keys);
        Some(*index.entry(key.clone()).or_insert_with(|| {
            keys.push((key, id));
            (keys.len() - 1) as u32
        }))
    });
    let groups = groups.collect();
    (keys, groups)
}

fn group_key(trace: &Trace, by: &[By], site: &Site, heap_keys: &[Option<String>]) -> GroupKey {
    let wants = |key| by.contains(&key);
    GroupKey {
        process: wants(By::Process).then(|| trace.process_of(site)),
        layer: trace.layer_of(site),
        heap: if wants(By::Heap) { heap_keys[site.heap.0 as usize].clone() } else { None },
        stack: wants(By::Stack).then_some(site.stack),
        thread: wants(By::Thread).then_some(site.thread),
    }
}

fn describe(trace: &Trace, (key, site): &(GroupKey, SiteId), by: &[By], sums: &ByClass) -> Group {
    use LifetimeClass::{Aifi, Aifo, Aofi, Aofo};
    let process = key.process.map(|id| trace.process(id));
    let (aifi, aifo, aofi, aofo) = (sums.get(Aifi), sums.get(Aifo), sums.get(Aofi), sums.get(Aofo));
    let (allocated, freed) = (aifi.plus(aifo), aifi.plus(aofi));
    let numbers = sums.numbers();
    Group {
        process: process.map(|p| p.label()),
        pid: process.map(|p| p.pid.0),
        process_start_s: process.and_then(|p| p.start).map(|t| trace.clock.seconds(t)),
        layer: key.layer.name(),
        heap: key.heap.clone(),
        stack: key.stack.map(|node| stack_labels(trace, trace.site(*site), node)),
        allocated_type: by.contains(&By::Type).then(|| UNKNOWN_TYPE.to_owned()),
        thread: key.thread.filter(|t| t.is_known()).map(|t| t.0),
        outstanding_from: numbers.outstanding_from,
        outstanding_to: numbers.outstanding_to,
        peak: 0,
        count: numbers.count,
        size: numbers.size,
        allocated_count: allocated.count,
        allocated_size: allocated.size,
        freed_count: freed.count,
        freed_size: freed.size,
        impacting_size: numbers.impacting,
        aifi,
        aifo,
        aofi,
        aofo,
    }
}

fn stack_labels(trace: &Trace, site: &Site, node: NodeId) -> Vec<String> {
    let label = |node: NodeId| frame_label(trace, site.caller, trace.stacks.address(node), site.first);
    trace.stacks.path(node).into_iter().map(label).collect()
}

fn compare_keys(a: &Group, b: &Group) -> std::cmp::Ordering {
    let start = |g: &Group| g.process_start_s.unwrap_or(f64::NEG_INFINITY);
    let key = |g: &Group| (g.process.clone(), g.pid);
    key(a)
        .cmp(&key(b))
        .then(start(a).total_cmp(&start(b)))
        .then_with(|| (a.layer, &a.heap, &a.stack, a.thread).cmp(&(b.layer, &b.heap, &b.stack, b.thread)))
}
