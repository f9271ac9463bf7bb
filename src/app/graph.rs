//! The lines of the graph: one a layer of a process, a heap or a C++ type, or the types of a
//! layer one on the other.

use std::sync::Arc;

use egui_plot::PlotPoint;
use serde::{Deserialize, Serialize};

use super::happenings::Happening;
use crate::model::{Clock, CounterId, HeapId, ProcessId, Trace};
use crate::query::{KeyMap, Series, TypeKey};
use crate::units::{Layer, Ticks};

/// How the lines stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrangement {
    /// One below the other, each with a scale of its own.
    #[default]
    Lanes,
    /// All in one scale.
    Together,
}

/// What there is a line for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Split {
    /// Each layer of a process, or each heap, tracker and process's commit: the user's choice.
    #[default]
    Sources,
    /// Each allocated type in each layer, as far as they are large.
    Types,
    /// The types of one layer, stacked: layers nest, so their sizes are never added.
    Stack(Layer),
}

/// Whose line it is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LineOf {
    /// All heaps of a layer in a process.
    Layer(ProcessId, Layer),
    Heap(HeapId),
    /// What a lane is opened to: a type or a function of a layer in a process.
    Part(ProcessId, Layer, Arc<str>),
    Type(TypeKey),
    /// All types of a layer without a line of their own.
    OtherTypes(Layer),
    Counter(CounterId),
    /// What programs did meanwhile.
    Happening(Happening),
}

impl LineOf {
    /// What a heap's own line is called; commit is a layer and its only heap in one.
    pub fn of_heap(trace: &Trace, id: HeapId) -> Self {
        let heap = trace.heap(id);
        if heap.layer == Layer::Commit { Self::Layer(heap.process, heap.layer) } else { Self::Heap(id) }
    }

    /// The same where heaps and processes have other numbers, if it is still there.
    pub fn renumbered(&self, map: &KeyMap) -> Option<Self> {
        Some(match self {
            Self::Layer(process, layer) => Self::Layer(map.process(*process)?, *layer),
            Self::Heap(heap) => Self::Heap(map.heap(*heap)?),
            Self::Part(process, layer, name) => Self::Part(map.process(*process)?, *layer, Arc::clone(name)),
            Self::Counter(counter) => Self::Counter(map.counter(*counter)?),
            Self::Type(_) | Self::OtherTypes(_) | Self::Happening(_) => self.clone(),
        })
    }
}

/// A line.
#[derive(Debug)]
pub struct GraphLine {
    pub of: LineOf,
    pub line: Series,
    /// The same in seconds and bytes, ready to be drawn.
    pub points: Arc<[PlotPoint]>,
}

impl GraphLine {
    pub fn new(clock: Clock, of: LineOf, line: Series) -> Self {
        Self { of, points: points(clock, &line), line }
    }
}

/// A line in seconds and bytes.
pub fn points(clock: Clock, line: &Series) -> Arc<[PlotPoint]> {
    line.points.iter().map(|&(t, value)| PlotPoint::new(clock.seconds(t), value as f64)).collect()
}

/// The lines of the view.
pub struct Graph {
    pub split: Split,
    /// Of a stack the lowest first; each goes as high as all up to it.
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

    /// The line of something.
    pub fn line(&self, of: &LineOf) -> Option<&GraphLine> {
        self.lines.iter().find(|line| line.of == *of)
    }

    /// What is outstanding of each at `t`, and of a stack in all; nothing where the lines
    /// of another view do not reach.
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

    /// Where the highest line ends.
    pub fn peak(&self) -> u64 {
        self.lines.iter().map(|line| line.line.peak).max().unwrap_or(0)
    }
}
