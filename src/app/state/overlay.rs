//! The kinds of activity that can be drawn beside the lines of the graph.

use crate::events::SegmentGroup;
use crate::model::Trace;
use crate::query::main_gpu;

/// A kind of activity that can be drawn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Overlay {
    /// Marks on the time axis.
    Marks,
    /// The frames of a program, in a lane.
    Frames,
    /// CPU use, in a lane.
    Processors,
    /// GPU memory of a program, in a lane.
    Gpu(SegmentGroup),
}

impl Overlay {
    /// All kinds, from top to bottom.
    pub const ALL: [Self; 5] =
        [Self::Marks, Self::Frames, Self::Processors, Self::Gpu(SegmentGroup::Local), Self::Gpu(SegmentGroup::NonLocal)];

    /// Whether a trace has data of this kind.
    pub fn is_in(self, trace: &Trace) -> bool {
        match self {
            Self::Marks => !trace.activity.marks.list.is_empty(),
            Self::Frames => trace.activity.presents.iter().any(|lane| lane.frames() > 0),
            Self::Processors => !trace.activity.samples.list.is_empty(),
            Self::Gpu(group) => main_gpu(trace, group, None).is_some(),
        }
    }

    /// Name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Marks => "Marks",
            Self::Frames => "Frames",
            Self::Processors => "Processors",
            Self::Gpu(SegmentGroup::Local) => "GPU memory, local",
            Self::Gpu(SegmentGroup::NonLocal) => "GPU memory, non-local",
        }
    }
}
