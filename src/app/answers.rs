//! What the query worker has answered so far about the open trace. Answers can be older
//! than the state that the window shows, so each knows what it is about.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::filters::Filters;
use super::graph::{Graph, GraphLine};
use crate::model::{HeapId, ProcessId};
use crate::query::{ByClass, Series, UnmatchedGroup};
use crate::tables::KeyedMap;
use crate::units::{Interval, Layer};

/// The latest answers.
#[derive(Default)]
pub struct Answers {
    /// Of all rows: what the trace has.
    pub overview: Arc<Overview>,
    /// Of the rows that filters leave, and which filters.
    pub(super) left: Option<(Filters, Arc<Overview>)>,
    pub(super) unmatched: Option<(Vec<UnmatchedGroup>, usize)>,
    pub graph: Option<Graph>,
    /// Whether the worker broke over the latest query; the window says why.
    pub failed: bool,
    pub lives: Option<Lives>,
    pub pins: Option<(Interval, Vec<ByClass>)>,
    /// By heap.
    pub(super) numbers: Vec<SourceNumbers>,
}

impl Answers {
    /// What the filters leave of a heap; `None` as long as nobody has added it up.
    pub fn numbers(&self, heap: HeapId) -> Option<SourceNumbers> {
        self.numbers.get(heap.0 as usize).copied()
    }
}

/// What the filters leave of a source in the interval of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SourceNumbers {
    /// Outstanding at its right edge.
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
    /// Of two sources of one layer.
    pub fn plus(self, other: Self) -> Self {
        Self { at_end: self.at_end.saturating_add(other.at_end), change: self.change.saturating_add(other.change) }
    }
}

/// A layer of a process.
pub type LayerOf = (ProcessId, Layer);

/// Small lines over the whole trace.
#[derive(Debug, Default)]
pub struct Overview {
    /// By heap.
    pub heaps: Vec<Series>,
    /// Of all heaps of a layer, where it has several.
    pub layers: KeyedMap<LayerOf, Series>,
    /// The only heap of a layer, where it has one.
    pub only: KeyedMap<LayerOf, HeapId>,
}

impl Overview {
    pub fn heap(&self, heap: HeapId) -> Option<&Series> {
        self.heaps.get(heap.0 as usize)
    }

    pub fn layer(&self, of: LayerOf) -> Option<&Series> {
        self.layers.get(&of).or_else(|| self.heap(*self.only.get(&of)?))
    }

    /// Largest size of a heap, as far as it is known.
    pub fn peak(&self, heap: usize) -> u64 {
        self.heaps.get(heap).map_or(0, |line| line.peak)
    }

    /// The same of a layer.
    pub fn peak_of(&self, of: LayerOf) -> u64 {
        self.layer(of).map_or(0, |line| line.peak)
    }

    /// The layer of a process with the largest peak, and its line; of equal ones the first.
    pub fn largest_layer(&self) -> Option<(LayerOf, &Series)> {
        let all: BTreeSet<LayerOf> = self.layers.keys().chain(self.only.keys()).copied().collect();
        let lines = all.into_iter().filter_map(|of| Some((of, self.layer(of)?)));
        lines.rev().max_by_key(|(_, line)| line.peak)
    }

    /// Whether there is anything at all.
    pub fn has_any(&self) -> bool {
        self.heaps.iter().any(|line| line.peak > 0)
    }

    /// Whether there may be something of a heap: it is not known to be empty throughout.
    pub fn may_have(&self, heap: usize) -> bool {
        heap >= self.heaps.len() || self.peak(heap) > 0
    }
}

/// The lives of what is selected in a table.
#[derive(Debug)]
pub struct Lives {
    /// When any of it was alive.
    pub spans: Vec<Interval>,
    /// Its outstanding size, and the layer in which it is; nothing where there are several.
    pub line: Option<(LayerOf, GraphLine)>,
}
