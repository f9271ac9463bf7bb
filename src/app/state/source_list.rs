//! Data that panels show in every frame and that rarely changes. It is computed once for each change of
//! trace, overview or sums, so that a frame does not go through all heaps. Cost: a sort of the heaps
//! for each change.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::answers::{LayerOf, Overview, SourceNumbers};
use super::counters::Counters;
use crate::model::{CounterId, HeapId, ProcessId, Trace};
use crate::query::{ByClass, Earlier, Series, heap_label, layer_label};
use crate::tables::KeyedMap;
use crate::units::{Layer, Ticks};

/// One line of the panel of sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    Process(ProcessId),
    /// How much of a process that was already running when the trace began is known.
    Earlier(ProcessId, Earlier),
    Layer(ProcessId, Layer),
    Heap(HeapId),
    /// The heading of the counters.
    Counters,
    /// The owner of some counters, by its group.
    CounterOwner(usize),
    Counter(CounterId),
    /// The switch for the counters of other processes, and how many of these there are.
    OtherCounters(usize),
}

impl Source {
    /// Height of its row in points.
    pub fn height(self) -> f32 {
        match self {
            Self::Process(_) => 26.0,
            Self::Layer(..) | Self::Heap(_) => 38.0,
            Self::Counters => 28.0,
            Self::Earlier(..) | Self::CounterOwner(_) | Self::Counter(_) => 20.0,
            Self::OtherCounters(_) => 24.0,
        }
    }
}

/// The user's choices for the list of sources.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceChoice {
    /// List only sources with this text in their name, and their parents.
    pub search: String,
    /// Collapsed processes and layers.
    pub closed: BTreeSet<(ProcessId, Option<Layer>)>,
}

/// The summaries that panels show.
#[derive(Debug, Default)]
pub struct SourceList {
    /// Processes ordered by their largest heap, with their layers and heaps; then the counters.
    pub sources: Vec<Source>,
    /// The filtered numbers of each layer of a process, in the interval of the tables.
    pub numbers: KeyedMap<LayerOf, SourceNumbers>,
    /// The top of each row in points, and finally the bottom of the last one.
    pub tops: Vec<f32>,
    /// Whether more than one process has heaps, so that names need the process.
    pub has_many_processes: bool,
    /// Sums of each layer that has any rows in the interval.
    pub layers: Vec<LayerSum>,
}

/// The sums of one layer in the interval of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LayerSum {
    pub layer: Layer,
    /// Impacting Size.
    pub impacting: i64,
    /// Bytes alive at the end.
    pub outstanding: u64,
}

impl SourceList {
    /// Rebuilds the list of sources after a change of the trace, its overview, the counters or the user's choices.
    pub fn sources(&mut self, trace: &Trace, overview: &Overview, counters: &Counters, choice: &SourceChoice) {
        self.sources = heaps(trace, overview, choice);
        self.sources.extend(counter_sources(trace, counters));
        let mut end = 0.0;
        self.tops = vec![end];
        self.tops.extend(self.sources.iter().map(|source| {
            end += source.height();
            end
        }));
        let mut processes = trace.heaps.iter().map(|heap| heap.process);
        let first = processes.next();
        self.has_many_processes = processes.any(|process| Some(process) != first);
    }

    /// Rebuilds the sums from the filtered numbers by heap.
    pub fn layers(&mut self, trace: &Trace, by_heap: &[ByClass]) {
        self.numbers.clear();
        for (heap, sums) in trace.heaps.iter().zip(by_heap) {
            let sum = self.numbers.entry((heap.process, heap.layer)).or_default();
            *sum = sum.plus(sums.into());
        }
        let sum = |layer| {
            let of_layer = trace.heaps.iter().zip(by_heap).filter(|(heap, _)| heap.layer == layer);
            let mut sums = ByClass::default();
            of_layer.for_each(|(_, heap)| sums.add(heap));
            let numbers = sums.numbers();
            let (impacting, outstanding) = (numbers.impacting, numbers.outstanding_to);
            (!sums.is_empty()).then_some(LayerSum { layer, impacting, outstanding })
        };
        self.layers = Layer::ALL.into_iter().filter_map(sum).collect();
    }

    /// The layer that changed most; if none did, as at an instant, the one with the most outstanding.
    pub fn leading_layer(&self) -> Option<LayerSum> {
        self.layers.iter().copied().max_by_key(|sum| (sum.impacting.unsigned_abs(), sum.outstanding))
    }
}

fn heaps(trace: &Trace, overview: &Overview, choice: &SourceChoice) -> Vec<Source> {
    let peak = |heap: usize| overview.peak(heap);
    let mut heaps: Vec<usize> = (0..trace.heaps.len()).filter(|&heap| peak(heap) > 0).collect();
    let mut largest = vec![0; trace.processes.len()];
    for &heap in &heaps {
        let process = trace.heaps[heap].process.0 as usize;
        largest[process] = largest[process].max(peak(heap));
    }
    let search = choice.search.trim().to_lowercase();
    if !search.is_empty() {
        heaps.retain(|&heap| names(trace, heap).iter().any(|name| name.to_lowercase().contains(&search)));
    }
    heaps.sort_by_key(|&h| {
        let heap = &trace.heaps[h];
        (Reverse(largest[heap.process.0 as usize]), heap.process, heap.layer, Reverse(peak(h)))
    });
    // A search shows its matches even in collapsed parents.
    let is_closed = |of: (ProcessId, Option<Layer>)| search.is_empty() && choice.closed.contains(&of);
    let mut sources = Vec::new();
    let (mut process, mut layer) = (None, None);
    for h in heaps {
        let heap = &trace.heaps[h];
        if process.replace(heap.process) != Some(heap.process) {
            sources.push(Source::Process(heap.process));
            let outstanding = |at| outstanding(trace, overview, heap.process, at);
            let earlier = Earlier::of(trace, heap.process, outstanding).filter(|earlier| earlier.latest.is_some());
            sources.extend(earlier.map(|earlier| Source::Earlier(heap.process, earlier)));
            layer = None;
        }
        if is_closed((heap.process, None)) {
            continue;
        }
        if layer.replace(heap.layer) != Some(heap.layer) {
            sources.push(Source::Layer(heap.process, heap.layer));
        }
        // Commit has one heap, which is the layer itself.
        if heap.layer != Layer::Commit && !is_closed((heap.process, Some(heap.layer))) {
            sources.push(Source::Heap(HeapId(h as u32)));
        }
    }
    sources
}

/// Bytes outstanding in the largest layer of a process, as far as the overview knows; `None` if it had
/// pages when the trace began.
fn outstanding(trace: &Trace, overview: &Overview, process: ProcessId, at: Ticks) -> Option<u64> {
    let line = |layer| overview.layer((process, layer));
    let at_start = |line: &Series| line.points.first().is_some_and(|&(t, bytes)| t <= trace.span.from && bytes > 0);
    match line(Layer::Commit).is_some_and(at_start) {
        true => None,
        false => Some(Layer::ALL.into_iter().filter_map(line).map(|line| line.value_at(at)).max().unwrap_or(0)),
    }
}

/// The names under which the search finds a heap.
fn names(trace: &Trace, heap: usize) -> [String; 3] {
    let heap = &trace.heaps[heap];
    [trace.process_name(heap.process), layer_label(heap.layer).to_owned(), heap_label(heap)]
}

/// Counters by owner; those of processes without allocations only if they are asked for.
fn counter_sources(trace: &Trace, counters: &Counters) -> Vec<Source> {
    let groups = &counters.groups;
    if groups.is_empty() {
        return Vec::new();
    }
    let mut sources = vec![Source::Counters];
    // Without allocations there is nothing else to list.
    let all = counters.list_all || trace.heaps.is_empty();
    for (index, group) in groups.iter().enumerate().filter(|(_, group)| all || group.is_main) {
        sources.push(Source::CounterOwner(index));
        sources.extend(group.counters.iter().map(|id| Source::Counter(*id)));
    }
    let others = groups.iter().filter(|group| !group.is_main).count();
    if others > 0 && !trace.heaps.is_empty() {
        sources.push(Source::OtherCounters(others));
    }
    sources
}
