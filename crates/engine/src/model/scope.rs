//! The part of a capture that is read into a trace, where all of it would not fit into memory.

use std::collections::BTreeSet;

use crate::units::{Layer, Pid, Ticks};

/// Processes by id; an id means all of its lives.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Processes {
    /// All.
    #[default]
    All,
    /// These.
    Only(BTreeSet<Pid>),
    /// All but these.
    Except(BTreeSet<Pid>),
}

impl Processes {
    /// Whether a process is one of them.
    pub fn has(&self, pid: Pid) -> bool {
        match self {
            Self::All => true,
            Self::Only(these) => these.contains(&pid),
            Self::Except(these) => !these.contains(&pid),
        }
    }
}

/// The memory that is read: that of these processes (commit belongs to the process whose pages they
/// are, not to the one that asked for them), in these layers, with stacks or without.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// Processes whose memory is read.
    pub processes: Processes,
    /// Layers that are read, outermost first.
    pub layers: Vec<Layer>,
    /// Whether allocations get their call stacks.
    pub stacks: bool,
}

impl Default for Scope {
    fn default() -> Self {
        Self { processes: Processes::All, layers: Layer::ALL.to_vec(), stacks: true }
    }
}

impl Scope {
    /// Whether nothing is left out.
    pub fn is_all(&self) -> bool {
        self.processes == Processes::All && self.stacks && Layer::ALL.into_iter().all(|layer| self.layers.contains(&layer))
    }

    /// Whether memory of a process in a layer is read.
    pub fn has(&self, pid: Pid, layer: Layer) -> bool {
        self.layers.contains(&layer) && self.processes.has(pid)
    }
}

/// Treatment of a trace that outgrows its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WhenFull {
    /// It ends there.
    #[default]
    Cut,
    /// It forgets the rows that ended first, and ends only when that does not help.
    Forget,
}

/// Where reading stopped for want of room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// Everything before this moment was read, and nothing of memory after it.
    pub at: Ticks,
    /// The resource that ran out.
    pub reason: CutReason,
    /// Whether stacks are missing, too, that came later for events before the cut.
    pub stacks_missing: bool,
}

/// A resource that a load ran out of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutReason {
    /// The memory that may be used.
    Memory,
    /// Numbers for rows, or for frees and other ends of rows: 2^32 - 1 of each.
    Numbers,
}
