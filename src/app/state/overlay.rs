//! The kinds of activity that can be drawn beside the lines of the graph.

use crate::model::Trace;

/// A kind of activity that can be drawn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Overlay {
    /// Marks on the time axis.
    Marks,
    /// The frames of a program, in a lane.
    Frames,
    /// CPU use, in a lane.
    Processors,
}

impl Overlay {
    /// All kinds, from top to bottom.
    pub const ALL: [Self; 3] = [Self::Marks, Self::Frames, Self::Processors];

    /// Whether a trace has data of this kind.
    pub fn is_in(self, trace: &Trace) -> bool {
        match self {
            Self::Marks => !trace.activity.marks.list.is_empty(),
            Self::Frames => trace.activity.presents.iter().any(|lane| lane.frames() > 0),
            Self::Processors => !trace.activity.samples.list.is_empty(),
        }
    }

    /// Name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Marks => "Marks",
            Self::Frames => "Frames",
            Self::Processors => "Processors",
        }
    }
}
