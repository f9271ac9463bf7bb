//! The lines of the graph: one for each layer of a process, heap or C++ type, or the types of one layer stacked.

use std::sync::Arc;

use egui_plot::PlotPoint;
use serde::{Deserialize, Serialize};

use super::overlay::Overlay;
use crate::model::{Clock, CounterId, HeapId, ProcessId, Trace};
use crate::query::{KeyMap, Series, TypeKey};
use crate::units::{Layer, Ticks};

/// The arrangement of the lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrangement {
    /// One below the other, each with a scale of its own.
    #[default]
    Lanes,
    /// All lines on one scale.
    Together,
}

/// The kind of lines that the graph has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Split {
    /// Each layer of a process, or each heap, tracker and process's commit, as the user chooses.
    #[default]
    Sources,
    /// The largest allocated types of each layer.
    Types,
    /// The types of one layer, stacked: layers nest, so their sizes are never added.
    Stack(Layer),
}

/// The subject of a line.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LineOf {
    /// All heaps of a layer in a process.
    Layer(ProcessId, Layer),
    Heap(HeapId),
    /// A part of an expanded lane: a type or a function of a layer in a process.
    Part(ProcessId, Layer, Arc<str>),
    Type(TypeKey),
    /// All types of a layer that have no line of their own.
    OtherTypes(Layer),
    Counter(CounterId),
    /// Something the programs did: marks, frames or CPU use.
    Overlay(Overlay),
}

impl LineOf {
    /// The subject of a heap's own line. Commit has one heap per process, which stands for its layer.
    pub fn of_heap(trace: &Trace, id: HeapId) -> Self {
        let heap = trace.heap(id);
        if heap.layer == Layer::Commit { Self::Layer(heap.process, heap.layer) } else { Self::Heap(id) }
    }

    /// The subject with new numbers of heaps, processes and counters; `None` if it no longer exists.
    pub fn renumbered(&self, map: &KeyMap) -> Option<Self> {
        Some(match self {
            Self::Layer(process, layer) => Self::Layer(map.process(*process)?, *layer),
            Self::Heap(heap) => Self::Heap(map.heap(*heap)?),
            Self::Part(process, layer, name) => Self::Part(map.process(*process)?, *layer, Arc::clone(name)),
            Self::Counter(counter) => Self::Counter(map.counter(*counter)?),
            Self::Type(_) | Self::OtherTypes(_) | Self::Overlay(_) => self.clone(),
        })
    }
}

/// A line.
#[derive(Debug)]
pub struct GraphLine {
    pub of: LineOf,
    pub line: Series,
    /// The line in seconds and bytes, ready to be drawn.
    pub points: Arc<[PlotPoint]>,
}

impl GraphLine {
    pub fn new(clock: Clock, of: LineOf, line: Series) -> Self {
        Self { of, points: points(clock, &line), line }
    }

    /// Bytes that its points take.
    pub fn bytes(&self) -> usize {
        self.line.bytes() + size_of_val(&self.points[..])
    }
}

/// A line in seconds and bytes.
pub fn points(clock: Clock, line: &Series) -> Arc<[PlotPoint]> {
    line.points.iter().map(|&(t, value)| PlotPoint::new(clock.seconds(t), value as f64)).collect()
}

/// The lines of the view.
pub struct Graph {
    pub split: Split,
    /// In a stack the lowest first; each line is the sum of itself and all lines below it.
    pub lines: Vec<GraphLine>,
}

impl Graph {
    pub fn new(clock: Clock, split: Split, lines: Vec<(LineOf, Series)>) -> Self {
        let lines = lines.into_iter().map(|(of, line)| GraphLine::new(clock, of, line)).collect();
        Self { split, lines }
    }

    pub fn is_stacked(&self) -> bool {
        matches!(self.split, Split::Stack(_))
    }

    /// The line with this subject.
    pub fn line(&self, of: &LineOf) -> Option<&GraphLine> {
        self.lines.iter().find(|line| line.of == *of)
    }

    /// The outstanding size of each line at `t`, and the total of a stack. Lines of another view that
    /// do not reach `t` are left out.
    pub fn values_at(&self, t: Ticks) -> (Vec<(&LineOf, u64)>, Option<u64>) {
        let mut below = 0;
        let of_line = |line: &GraphLine| line.line.is_known_at(t).then(|| line.line.value_at(t));
        let values = self.lines.iter().filter_map(|line| {
            let value = of_line(line)?;
            let base = std::mem::replace(&mut below, if self.is_stacked() { value } else { 0 });
            Some((&line.of, value.saturating_sub(base)))
        });
        let values = values.collect();
        (values, self.lines.last().filter(|_| self.is_stacked()).and_then(of_line))
    }

    /// The peak of the highest line.
    pub fn peak(&self) -> u64 {
        self.lines.iter().map(|line| line.line.peak).max().unwrap_or(0)
    }
}
