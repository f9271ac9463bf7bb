//! Frees of blocks and pages that were not alive: allocated before a trace that began too late, or whose allocation was
//! lost. They are grouped by who freed.
//!
//! Frees in a heap of which nothing else is known have no [`Heap`](crate::model::Heap), so that they are no rows and no
//! sites: the frees of one process, heap and stack are a *place* here, which is named as a site would be.
//!
//! Cost: a pass over the frees that the trace keeps with their details; names are looked up once a place.

use std::cmp::Reverse;

use rayon::prelude::*;
use serde::Serialize;

use super::callers::callers;
use super::naming::{NO_STACK_KEY, frames_of_stack};
use super::{By, Caller, CallerFrame, Cancel, Cancelled, Fold, FrameName, Key, Path, ReportFilter};
use crate::events::{is_made_handle, shared_handle};
use crate::model::{HeapId, NodeId, ProcessId, Site, Trace, UnmatchedFree, unknown_label};
use crate::names::{FrameKind, Names};
use crate::tables::KeyedMap;
use crate::units::{Interval, Layer, Pid, Ticks};

/// The keys by which frees can be grouped: what a free tells of itself and of its stack.
pub const UNMATCHED_KEYS: [By; 7] =
    [By::Process, By::Heap, By::Stack, By::Function, By::Module, By::Responsible, By::ResponsibleModule];

/// A question about unmatched frees.
#[derive(Clone, Debug)]
pub struct UnmatchedRequest {
    /// When they happened.
    pub interval: Interval,
    /// Keys of the groups, of [`UNMATCHED_KEYS`]; the layer is always one.
    pub by: Vec<By>,
    /// Conditions on process, layer, heap and frames.
    pub filter: ReportFilter,
    /// Nodes of the tree that they must be below, as far as process, layer and heap go; none for all.
    pub under: Vec<Path>,
    /// Whether functions and modules are those behind the allocator's run.
    pub fold: Fold,
}

/// Frees with the same keys; keys that were not requested are null. Names are those of the machine interface.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the names are those of the machine interface")]
pub struct UnmatchedGroup {
    pub process: Option<String>,
    pub pid: Option<u32>,
    pub process_start_s: Option<f64>,
    pub layer: &'static str,
    pub heap: Option<String>,
    /// Frames of the freeing stack, outermost first.
    pub stack: Option<Vec<String>>,
    /// Responsible caller of the freeing stack; with a stack it is always there.
    pub responsible: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub responsible_module: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Number of frees.
    pub count: u64,
    /// Bytes of the freed pages, an upper bound; null for heaps and trackers, which do not tell sizes.
    pub size: Option<u64>,
    /// Times of the first and of the last free.
    #[serde(skip)]
    pub times: (Ticks, Ticks),
}

/// Frees of one process in one heap with one stack.
#[derive(Clone, Copy, Debug)]
struct Place {
    pid: Pid,
    /// The process, and the moment at which its frames are named; `None` if nothing else is known of it.
    site: Option<Site>,
    heap: Option<HeapId>,
    layer: Layer,
    handle: u64,
    stack: NodeId,
    sums: Sums,
}

#[derive(Clone, Copy, Debug)]
struct Sums {
    count: u64,
    size: Option<u64>,
    times: (Ticks, Ticks),
}

impl Sums {
    fn of(free: &UnmatchedFree) -> Self {
        Self { count: 1, size: free.size, times: (free.time, free.time) }
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.size = self.size.zip(other.size).map(|(a, b)| a.saturating_add(b));
        self.times = (self.times.0.min(other.times.0), self.times.1.max(other.times.1));
    }
}

/// Returns sites that stand for the places of unmatched frees, whose frames need names.
pub fn unmatched_sites(trace: &Trace) -> Vec<Site> {
    places(trace, trace.span).into_iter().filter_map(|place| place.site).collect()
}

/// Returns the groups, by size, then by number of frees, both falling, then by their keys.
pub fn unmatched(
    trace: &Trace,
    names: &Names,
    request: &UnmatchedRequest,
    cancel: &Cancel,
) -> Result<Vec<UnmatchedGroup>, Cancelled> {
    let mut places = places(trace, request.interval);
    places.retain(|place| place.passes(trace, &request.filter) && place.is_under(&request.under));
    let sites: Vec<Site> = places.iter().map(|place| place.site.unwrap_or(NOBODY)).collect();
    let callers = callers(trace, sites.par_iter(), names, FrameKind::Innermost, cancel)?;
    let mut sums: KeyedMap<Keys, Sums> = KeyedMap::default();
    for ((place, site), caller) in places.iter().zip(&sites).zip(&callers) {
        cancel.check()?;
        if let Some(keys) = Keys::of((trace, names), request, place, (site, caller)) {
            sums.entry(keys).and_modify(|sums| sums.add(&place.sums)).or_insert(place.sums);
        }
    }
    let mut groups: Vec<(Keys, Sums)> = sums.into_iter().collect();
    let rank = |sums: &Sums| (Reverse(sums.size), Reverse(sums.count));
    groups.sort_unstable_by(|(a_keys, a), (b_keys, b)| rank(a).cmp(&rank(b)).then_with(|| a_keys.cmp(b_keys)));
    Ok(groups.into_iter().map(|(keys, sums)| keys.group(trace, sums)).collect())
}

/// The process of a place of which nothing is known. Its frames are addresses.
const NOBODY: Site = Site { heap: HeapId(0), stack: NodeId::ROOT, caller: ProcessId(0), first: Ticks(0) };

/// Adds up the frees of an interval by place, in the order of the first free of each.
fn places(trace: &Trace, interval: Interval) -> Vec<Place> {
    let mut index = KeyedMap::default();
    let mut places: Vec<Place> = Vec::new();
    let made = MadeHeaps::of(trace);
    let first = trace.unmatched.partition_point(|free| free.time < interval.from);
    for free in trace.unmatched[first..].iter().take_while(|free| free.time < interval.to) {
        let process = trace.process_of_free(free);
        let free = &UnmatchedFree { heap: free.heap.or_else(|| made.find(process, free)), ..*free };
        let at = *index.entry((free.pid, process, free.heap, free.layer, free.handle, free.stack)).or_insert(places.len());
        match places.get_mut(at) {
            Some(place) => place.sums.add(&Sums::of(free)),
            None => places.push(Place::new(free, process)),
        }
    }
    places
}

/// Trackers whose handles were made of their names: a free before the first allocation is of the same tracker, if its event
/// tells which.
struct MadeHeaps(KeyedMap<(ProcessId, u64), HeapId>);

impl MadeHeaps {
    fn of(trace: &Trace) -> Self {
        let heaps = (0..).map(HeapId).zip(&trace.heaps);
        let made = heaps.filter(|(_, heap)| is_made_handle(heap.layer, heap.handle));
        let mut first = KeyedMap::default();
        made.for_each(|(id, heap)| _ = first.entry((heap.process, heap.handle)).or_insert(id));
        Self(first)
    }

    fn find(&self, process: Option<ProcessId>, free: &UnmatchedFree) -> Option<HeapId> {
        let tells = is_made_handle(free.layer, free.handle) && shared_handle(free.layer, free.handle) != Some(free.handle);
        self.0.get(&(process?, free.handle)).copied().filter(|_| tells)
    }
}

impl Place {
    fn new(free: &UnmatchedFree, process: Option<ProcessId>) -> Self {
        let UnmatchedFree { time, pid, layer, handle, heap, stack, .. } = *free;
        let site = process.map(|caller| Site { heap: heap.unwrap_or(NOBODY.heap), stack, caller, first: time });
        Self { pid, site, heap, layer, handle, stack, sums: Sums::of(free) }
    }

    /// The heap as reports name it; `None` for commit, and for a free that does not tell which tracker of its provider it
    /// means.
    fn heap_key(&self, trace: &Trace) -> Option<String> {
        match (self.heap, self.layer) {
            (Some(heap), _) => trace.heap(heap).key(),
            (None, Layer::Commit) => None,
            (None, layer) if is_made_handle(layer, self.handle) => {
                trace.tracker_names.get(&self.handle).map(|name| name.to_string())
            }
            (None, Layer::Heap | Layer::Tracker) => Some(format!("{:#x}", self.handle)),
        }
    }

    /// Whether process, layer and heap are those that are wanted.
    fn passes(&self, trace: &Trace, filter: &ReportFilter) -> bool {
        let process = (self.pid, self.site.map(|site| site.caller));
        let is_called = |wanted: &String| trace.is_process_called(process, wanted);
        let is_heap = |wanted: &String| self.heap_key(trace).is_some_and(|key| key.to_lowercase() == wanted.to_lowercase());
        filter.process.as_ref().is_none_or(is_called)
            && filter.layer.is_none_or(|layer| layer == self.layer)
            && filter.heap.as_ref().is_none_or(is_heap)
    }

    /// Whether it is below any of some nodes of the tree.
    fn is_under(&self, nodes: &[Path]) -> bool {
        let admits = |key: &Key| match key {
            Key::Process(process) => self.site.is_some_and(|site| site.caller == *process),
            Key::Layer(layer) => self.layer == *layer,
            Key::Heap(heap) => self.layer == Layer::Commit || self.heap == Some(*heap),
            Key::Impacting(_) | Key::Class(_) | Key::Frame(_) | Key::Inlined(..) | Key::Inside(..) | Key::Row(_) => true,
        };
        nodes.is_empty() || nodes.iter().any(|path| path.iter().all(admits))
    }

    /// The frames of the stack as text, outermost first.
    fn frames(&self, trace: &Trace, names: &Names) -> Vec<String> {
        match self.site {
            Some(site) => frames_of_stack(trace, names, self.stack, site.caller, site.first),
            None => {
                let address = |node| FrameName::At(trace.stacks.address(node)).to_string();
                trace.stacks.path(self.stack).into_iter().map(address).collect()
            }
        }
    }

    /// The printed names of a frame and of its module, which is the frame itself where there is none. `None` without a
    /// stack.
    fn name(&self, (trace, names): (&Trace, &Names), frame: CallerFrame) -> Option<(String, String)> {
        if self.stack == NodeId::ROOT {
            return None;
        }
        let Some(site) = self.site else {
            let address = FrameName::At(trace.stacks.address(self.stack)).to_string();
            return Some((address.clone(), address));
        };
        // An innermost frame that includes all that is inlined there has no level of its own.
        let recorded = frame.recorded(trace, names, &site);
        let level = recorded.shown(false).last().map_or(0, |last| last.min(frame.level));
        let name = recorded.name(level);
        Some((name.to_string(), name.module().map_or_else(|| name.to_string(), str::to_owned)))
    }
}

/// The keys of a group; those that were not requested are `None`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Keys {
    process: Option<(Pid, Option<ProcessId>)>,
    layer: Layer,
    heap: Option<String>,
    stack: Option<Vec<String>>,
    responsible: Option<String>,
    responsible_module: Option<String>,
    function: Option<String>,
    module: Option<String>,
}

impl Keys {
    /// The keys of a place; `None` if its frames are not those that are wanted.
    fn of(
        (trace, names): (&Trace, &Names),
        request: &UnmatchedRequest,
        place: &Place,
        (site, caller): (&Site, &Caller),
    ) -> Option<Self> {
        let UnmatchedRequest { by, filter, fold, .. } = request;
        let wants = |key| by.contains(&key);
        let stack = (wants(By::Stack) || !filter.sites.is_all()).then(|| place.frames(trace, names));
        if stack.as_ref().is_some_and(|frames| !filter.sites.fits(frames)) {
            return None;
        }
        let name = |frame| place.name((trace, names), frame);
        let responsible = || name(caller.responsible).unwrap_or_else(|| (NO_STACK_KEY.to_owned(), NO_STACK_KEY.to_owned()));
        let innermost = || name(fold.innermost(site, caller));
        Some(Self {
            process: wants(By::Process).then_some((place.pid, place.site.map(|site| site.caller))),
            layer: place.layer,
            heap: if wants(By::Heap) { place.heap_key(trace) } else { None },
            stack: stack.filter(|_| wants(By::Stack)),
            responsible: (wants(By::Responsible) || wants(By::Stack)).then(|| responsible().0),
            responsible_module: wants(By::ResponsibleModule).then(|| responsible().1),
            function: if wants(By::Function) { innermost().map(|(function, _)| function) } else { None },
            module: if wants(By::Module) { innermost().map(|(_, module)| module) } else { None },
        })
    }

    fn group(self, trace: &Trace, Sums { count, size, times }: Sums) -> UnmatchedGroup {
        let process = self.process.and_then(|(_, process)| process).map(|process| trace.process(process));
        let unknown = |(pid, _): (Pid, _)| if pid.is_known() { unknown_label(pid) } else { "Unknown".to_owned() };
        UnmatchedGroup {
            process: process.map(|process| process.label()).or_else(|| self.process.map(unknown)),
            pid: self.process.map(|(pid, _)| pid).filter(|pid| pid.is_known()).map(|pid| pid.0),
            process_start_s: process.and_then(|process| process.start).map(|start| trace.clock.seconds(start)),
            layer: self.layer.name(),
            heap: self.heap,
            stack: self.stack,
            responsible: self.responsible,
            responsible_module: self.responsible_module,
            function: self.function,
            module: self.module,
            count,
            size,
            times,
        }
    }
}
