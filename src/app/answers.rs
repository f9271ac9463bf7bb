//! What the query worker has answered so far about the open trace. Answers can be older
//! than the state that the window shows, so each knows what it is about.

use super::graph::Graph;
use crate::model::HeapId;
use crate::query::{ByClass, Series, UnmatchedGroup};
use crate::units::Interval;

/// The latest answers.
#[derive(Default)]
pub struct Answers {
    pub overview: Vec<Series>,
    pub(super) unmatched: Option<(Vec<UnmatchedGroup>, usize)>,
    pub graph: Option<Graph>,
    /// Whether the worker broke over the latest query; the window says why.
    pub failed: bool,
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
