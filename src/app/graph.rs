//! The lines of the graph: one a heap, or one a C++ type.

use egui_plot::PlotPoint;

use crate::model::{Clock, HeapId};
use crate::query::{Series, TypeKey};
use crate::units::Ticks;

/// What there is a line for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Split {
    /// Each heap, tracker and process's commit.
    #[default]
    Heaps,
    /// Each allocated type in each layer, as far as they are large.
    Types,
}

/// Whose line it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LineOf {
    Heap(HeapId),
    /// With its rank, for the colour.
    Type(u32, TypeKey),
}

impl LineOf {
    /// Which colour it has.
    pub fn color(&self) -> usize {
        match self {
            Self::Heap(heap) => heap.0 as usize,
            Self::Type(rank, _) => *rank as usize,
        }
    }
}

/// A line.
pub struct GraphLine {
    pub of: LineOf,
    pub line: Series,
    /// The same in seconds and bytes, ready to be drawn.
    pub points: Vec<PlotPoint>,
}

/// The lines of the view.
pub struct Graph {
    pub lines: Vec<GraphLine>,
}

impl Graph {
    pub fn new(clock: Clock, lines: Vec<(LineOf, Series)>) -> Self {
        let point = |&(t, value): &(Ticks, u64)| PlotPoint::new(clock.seconds(t), value as f64);
        let line = |(of, line): (LineOf, Series)| GraphLine { of, points: line.points.iter().map(point).collect(), line };
        Self { lines: lines.into_iter().map(line).collect() }
    }

    /// Where the highest line ends.
    pub fn peak(&self) -> u64 {
        self.lines.iter().map(|line| line.line.peak).max().unwrap_or(0)
    }
}
