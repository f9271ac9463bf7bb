//! The query worker's answers about the open trace so far. An answer can be older than the state that
//! the window shows, so each says which state it is about.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::alignment::Laid;
use super::filters::Filters;
use super::graph::{Graph, GraphLine, LineOf};
use crate::model::{HeapId, ProcessId};
use crate::query::{ByClass, Series};
use crate::tables::KeyedMap;
use crate::units::{Interval, Layer, Ticks};

/// The latest answers.
#[derive(Default)]
pub struct Answers {
    /// Of all rows of the trace.
    pub overview: Arc<Overview>,
    /// Of the rows that the filters leave, with those filters.
    pub left: Option<(Filters, Arc<Overview>)>,
    pub graph: Option<Graph>,
    /// Whether the worker panicked over the latest query; the window shows why.
    pub failed: bool,
    pub lifetime_band: Option<LifetimeBand>,
    /// Lines of the trace that is laid over the graph.
    pub laid: Option<Laid>,
    /// Committed bytes in the lanes of heaps and trackers.
    pub committed: Vec<CommittedLine>,
    pub pins: Option<(Interval, Vec<ByClass>)>,
    /// By heap.
    pub numbers: Vec<SourceNumbers>,
}

impl Answers {
    /// The numbers of a heap after filtering; `None` until they have been computed.
    pub fn numbers(&self, heap: HeapId) -> Option<SourceNumbers> {
        self.numbers.get(heap.0 as usize).copied()
    }
}

/// The numbers of a source after filtering, in the interval of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SourceNumbers {
    /// Outstanding size at the interval's right edge.
    pub at_end: u64,
    /// Impacting Size.
    pub change: i64,
}

impl From<&ByClass> for SourceNumbers {
    fn from(sums: &ByClass) -> Self {
        let sums = sums.numbers();
        Self { at_end: sums.outstanding_to, change: sums.impacting }
    }
}

impl SourceNumbers {
    /// The sum for two sources of one layer.
    pub fn plus(self, other: Self) -> Self {
        Self { at_end: self.at_end.saturating_add(other.at_end), change: self.change.saturating_add(other.change) }
    }
}

/// Bytes committed in the reservations that hold the live blocks of a line.
#[derive(Debug)]
pub struct CommittedLine {
    /// The line of live bytes to which it belongs.
    pub of: LineOf,
    /// The parts of the view in which it is known, in order.
    pub parts: Vec<GraphLine>,
}

impl CommittedLine {
    /// The committed bytes at a moment, if they are known.
    pub fn value_at(&self, at: Ticks) -> Option<u64> {
        self.parts.iter().map(|part| &part.line).find(|line| line.is_known_at(at)).map(|line| line.value_at(at))
    }

    /// The largest number of bytes in the view.
    pub fn peak(&self) -> u64 {
        self.parts.iter().map(|part| part.line.peak).max().unwrap_or(0)
    }
}

/// A layer of a process.
pub type LayerOf = (ProcessId, Layer);

/// Small lines over the whole trace, for the overview and the list of sources.
#[derive(Debug, Default)]
pub struct Overview {
    /// By heap.
    pub heaps: Vec<Series>,
    /// Of all heaps of a layer, if it has several.
    pub layers: KeyedMap<LayerOf, Series>,
    /// The only heap of a layer, if it has just one.
    pub only: KeyedMap<LayerOf, HeapId>,
}

impl Overview {
    pub fn heap(&self, heap: HeapId) -> Option<&Series> {
        self.heaps.get(heap.0 as usize)
    }

    pub fn layer(&self, of: LayerOf) -> Option<&Series> {
        self.layers.get(&of).or_else(|| self.heap(*self.only.get(&of)?))
    }

    /// The largest size of a heap, as far as it is known.
    pub fn peak(&self, heap: usize) -> u64 {
        self.heaps.get(heap).map_or(0, |line| line.peak)
    }

    /// The largest size of a layer, as far as it is known.
    pub fn peak_of(&self, of: LayerOf) -> u64 {
        self.layer(of).map_or(0, |line| line.peak)
    }

    /// The layer of a process with the largest peak, and its line; the first of equal ones.
    pub fn largest_layer(&self) -> Option<(LayerOf, &Series)> {
        let all: BTreeSet<LayerOf> = self.layers.keys().chain(self.only.keys()).copied().collect();
        let lines = all.into_iter().filter_map(|of| Some((of, self.layer(of)?)));
        lines.rev().max_by_key(|(_, line)| line.peak)
    }

    /// Whether any heap has any memory.
    pub fn has_any(&self) -> bool {
        self.heaps.iter().any(|line| line.peak > 0)
    }

    /// Whether a heap may have memory: it is not known to be empty throughout.
    pub fn may_have(&self, heap: usize) -> bool {
        heap >= self.heaps.len() || self.peak(heap) > 0
    }
}

impl LifetimeBand {
    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.spans[..]) + self.line.as_ref().map_or(0, |(_, line)| line.bytes())
    }
}

/// The lifetimes of the row selected in a table.
#[derive(Debug)]
pub struct LifetimeBand {
    /// When any of its allocations was alive.
    pub spans: Vec<Interval>,
    /// Its outstanding size and its layer; `None` if it spans several layers.
    pub line: Option<(LayerOf, GraphLine)>,
}
