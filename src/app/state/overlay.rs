//! The kinds of activity that can be drawn beside the lines of the graph.

use crate::events::SegmentGroup;
use crate::model::{Counter, CounterKind, ProcessId, Trace};
use crate::query::{has_commit, has_faults, main_gpu};

/// A kind of activity that can be drawn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Overlay {
    /// Marks on the time axis.
    Marks,
    /// The memory that the system gave a process, in a lane: commit charge and working sets.
    Memory,
    /// The commit of a process by what it is for, stacked, in a lane.
    Commit,
    /// The frames of a program, in a lane.
    Frames,
    /// CPU use, in a lane.
    Processors,
    /// Page faults, in a lane.
    Faults,
    /// GPU memory of a program, in a lane.
    Gpu(SegmentGroup),
}

impl Overlay {
    /// All kinds, from top to bottom.
    pub const ALL: [Self; 8] = [
        Self::Marks,
        Self::Memory,
        Self::Commit,
        Self::Frames,
        Self::Processors,
        Self::Faults,
        Self::Gpu(SegmentGroup::Local),
        Self::Gpu(SegmentGroup::NonLocal),
    ];

    /// Whether a trace has data of this kind.
    pub fn is_in(self, trace: &Trace) -> bool {
        match self {
            Self::Marks => !trace.activity.marks.list.is_empty(),
            Self::Memory => {
                let is_it = |counter: &Counter| {
                    counter.kind == CounterKind::Commit && counter.process.is_some_and(|of| has_rows(trace, of))
                };
                trace.counters.iter().any(is_it)
            }
            Self::Commit => has_commit(trace),
            Self::Frames => trace.activity.presents.iter().any(|lane| lane.frames() > 0),
            Self::Processors => !trace.activity.samples.list.is_empty(),
            Self::Faults => has_faults(trace),
            Self::Gpu(group) => main_gpu(trace, group, None).is_some(),
        }
    }

    /// Whether it is drawn only if the user asks for it: it takes room, and a pass over all rows.
    pub fn is_hidden_at_first(self) -> bool {
        self == Self::Commit
    }

    /// The name in files, which never changes.
    pub fn key(self) -> &'static str {
        match self {
            Self::Marks => "marks",
            Self::Memory => "system_memory",
            Self::Commit => "commit",
            Self::Frames => "frames",
            Self::Processors => "processors",
            Self::Faults => "faults",
            Self::Gpu(SegmentGroup::Local) => "gpu_local",
            Self::Gpu(SegmentGroup::NonLocal) => "gpu_non_local",
        }
    }

    /// The kind with this name in files.
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.key() == key)
    }

    /// Name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Marks => "Marks",
            Self::Memory => "System memory",
            Self::Commit => "Commit",
            Self::Frames => "Frames",
            Self::Processors => "CPU",
            Self::Faults => "Page faults",
            Self::Gpu(SegmentGroup::Local) => "GPU memory, local",
            Self::Gpu(SegmentGroup::NonLocal) => "GPU memory, non-local",
        }
    }
}

/// Whether a process has allocations.
fn has_rows(trace: &Trace, process: ProcessId) -> bool {
    trace.heaps.iter().any(|heap| heap.process == process)
}
