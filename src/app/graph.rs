//! The lines of the graph: one a heap, one a C++ type, or the types of a layer one on
//! the other.

use egui_plot::PlotPoint;

use crate::model::{Clock, HeapId};
use crate::query::{Series, TypeKey};
use crate::units::{Layer, Ticks};

/// What there is a line for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Split {
    /// Each heap, tracker and process's commit.
    #[default]
    Heaps,
    /// Each allocated type in each layer, as far as they are large.
    Types,
    /// The types of one layer, stacked: layers nest, so their sizes are never added.
    Stack(Layer),
}

/// Whose line it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LineOf {
    Heap(HeapId),
    /// With its rank, for the colour.
    Type(u32, TypeKey),
    /// All types of a layer without a line of their own.
    OtherTypes(u32, Layer),
}

impl LineOf {
    /// Which colour it has.
    pub fn color(&self) -> usize {
        match self {
            Self::Heap(heap) => heap.0 as usize,
            Self::Type(rank, _) | Self::OtherTypes(rank, _) => *rank as usize,
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
    pub split: Split,
    /// Of a stack the lowest first; each goes as high as all up to it.
    pub lines: Vec<GraphLine>,
}

impl Graph {
    pub fn new(clock: Clock, split: Split, lines: Vec<(LineOf, Series)>) -> Self {
        let point = |&(t, value): &(Ticks, u64)| PlotPoint::new(clock.seconds(t), value as f64);
        let line = |(of, line): (LineOf, Series)| GraphLine { of, points: line.points.iter().map(point).collect(), line };
        Self { split, lines: lines.into_iter().map(line).collect() }
    }

    pub fn is_stacked(&self) -> bool {
        matches!(self.split, Split::Stack(_))
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
