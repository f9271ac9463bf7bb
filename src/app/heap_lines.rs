//! Which heaps have a line on the graph: the user's choice where there is one, else
//! the largest of what the filter lets through.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use crate::model::{HeapId, Trace};
use crate::query::{Filter, Key, Series};

/// Lines of the graph at first; more can be switched on one by one.
const FIRST_LINES: usize = 8;
/// Lines of the graph at most: more cannot be told apart, and would cost each frame.
const MAX_LINES: usize = 32;

/// See the module.
#[derive(Debug, Default)]
pub struct HeapLines {
    /// Choices of the user; without one, the largest heaps are shown.
    shown: FxHashMap<usize, bool>,
    /// Which heaps have a line, by heap.
    visible: Vec<bool>,
    heaps: Vec<HeapId>,
}

impl HeapLines {
    /// Whether a heap has a line.
    pub fn has(&self, heap: usize) -> bool {
        self.visible.get(heap).is_some_and(|&shown| shown)
    }

    /// Heaps with a line, in order.
    pub fn heaps(&self) -> &[HeapId] {
        &self.heaps
    }

    /// Decides anew. A filter on heaps that are all switched off shows them all the same.
    pub fn choose(&mut self, trace: &Trace, filter: &Filter, overview: &[Series]) {
        let peak = |heap: usize| overview.get(heap).map_or(0, |line| line.peak);
        let mut admitted: Vec<usize> = (0..trace.heaps.len()).filter(|&heap| admits(trace, filter, heap)).collect();
        admitted.sort_by_key(|&heap| Reverse(peak(heap)));
        let chosen = |heap: &&usize| self.shown.get(*heap).copied().unwrap_or(false);
        let mut lines: Vec<usize> = admitted.iter().filter(chosen).copied().take(MAX_LINES).collect();
        if lines.is_empty() {
            lines = admitted.into_iter().take(FIRST_LINES).collect();
        }
        self.visible = vec![false; trace.heaps.len()];
        lines.iter().for_each(|&heap| self.visible[heap] = true);
        lines.sort_unstable();
        self.heaps = lines.into_iter().map(|heap| HeapId(heap as u32)).collect();
    }

    /// Shows a heap's line or not; from now on only the user's choices count.
    pub fn show(&mut self, trace: &Trace, heap: usize, shown: bool) {
        if self.shown.is_empty() {
            self.shown = (0..trace.heaps.len()).map(|heap| (heap, self.has(heap))).collect();
        }
        self.shown.insert(heap, shown);
    }
}

/// Whether the filter lets anything of a heap through.
fn admits(trace: &Trace, filter: &Filter, heap: usize) -> bool {
    let id = HeapId(heap as u32);
    let heap = trace.heap(id);
    let fits = |key: &Key| match *key {
        Key::Process(process) => heap.process == process,
        Key::Layer(layer) => heap.layer == layer,
        Key::Heap(wanted) => id == wanted,
        _ => true,
    };
    filter.is_all() || filter.any.iter().any(|path| path.iter().all(fits))
}
