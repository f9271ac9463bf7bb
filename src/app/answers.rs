//! What the query worker has answered so far about the open trace. Answers can be older
//! than the state that the window shows, so each knows what it is about.

use std::sync::Arc;

use super::graph::Graph;
use crate::model::{HeapId, Trace};
use crate::query::{ByClass, Series, Tree, TreeRow, UnmatchedGroup};
use crate::units::Interval;

/// The latest answers.
#[derive(Default)]
pub struct Answers {
    pub overview: Vec<Series>,
    pub(super) unmatched: Option<(Vec<UnmatchedGroup>, usize)>,
    pub graph: Option<Graph>,
    pub table: Option<Table>,
    /// Whether the worker broke over the latest query; the window says why.
    pub failed: bool,
    pub peaks: Vec<u64>,
    pub spans: Vec<Interval>,
    pub pins: Option<(Interval, Vec<ByClass>)>,
    /// By heap.
    pub(super) changes: Vec<i64>,
}

impl Answers {
    /// Impacting Size of all of a heap, whatever the filter leaves of it; `None` as long
    /// as nobody has added it up.
    pub fn change(&self, heap: HeapId) -> Option<i64> {
        self.changes.get(heap.0 as usize).copied()
    }
}

/// The lines of the table. A growing trace can be ahead of them.
#[derive(Debug)]
pub struct Table {
    pub interval: Interval,
    pub trace: Arc<Trace>,
    pub tree: Arc<Tree>,
    /// What was searched for.
    pub search: String,
    /// The first line with that in its name.
    pub found: Option<usize>,
}

impl Table {
    /// One line, spelled out.
    pub fn row(&self, index: usize) -> Option<TreeRow> {
        self.tree.row(&self.trace, index)
    }
}
