//! Which heaps have a line on the graph: the largest ones that pass the filter; the user's own switches take precedence.

use std::cmp::Reverse;

use super::answers::Overview;
use crate::app::base::by_hand::ByHand;
use crate::model::{HeapId, Trace};
use crate::query::{Filter, Key};

/// Lines of the graph at first; the user can switch on more.
const FIRST_LINES: usize = 8;
/// Maximum number of lines: more could not be told apart, and would slow down each frame.
const MAX_LINES: usize = 32;

/// The heaps that have a line.
#[derive(Clone, Debug, Default)]
pub struct HeapLines {
    by_hand: ByHand<HeapId>,
    heaps: Vec<HeapId>,
}

impl HeapLines {
    /// Heaps with a line, in order.
    pub fn heaps(&self) -> &[HeapId] {
        &self.heaps
    }

    /// How the user switched a heap's line; `None` if they did not.
    pub fn by_hand(&self, heap: HeapId) -> Option<bool> {
        self.by_hand.get(heap)
    }

    /// All that the user switched.
    pub fn choices(&self) -> Vec<(HeapId, bool)> {
        self.by_hand.all().collect()
    }

    /// Replaces the user's own switches.
    pub fn set_choices(&mut self, heaps: &[(HeapId, bool)]) {
        self.by_hand = heaps.iter().copied().collect();
    }

    /// Chooses again; returns whether the choice changed. If the filter selects only heaps that are
    /// switched off, they are shown anyway. Heaps that the overview knows to be empty throughout are
    /// left out.
    pub fn choose(&mut self, trace: &Trace, filter: &Filter, overview: &Overview) -> bool {
        let mut ranked: Vec<usize> = sources(trace, filter, overview).collect();
        ranked.sort_by_key(|&heap| Reverse(overview.peak(heap)));
        let is_wanted = |&(rank, heap): &(usize, &usize)| self.by_hand.get(HeapId(*heap as u32)).unwrap_or(rank < FIRST_LINES);
        let mut lines: Vec<usize> = ranked.iter().enumerate().filter(is_wanted).map(|(_, &heap)| heap).take(MAX_LINES).collect();
        if lines.is_empty() && !filter.is_all() {
            lines = ranked.into_iter().take(FIRST_LINES).collect();
        }
        lines.sort_unstable();
        let heaps: Vec<HeapId> = lines.into_iter().map(|heap| HeapId(heap as u32)).collect();
        let before = std::mem::replace(&mut self.heaps, heaps);
        before != self.heaps
    }

    /// Shows or hides a heap's line, whatever its size.
    pub fn show(&mut self, heap: HeapId, shown: bool) {
        self.by_hand.switch(heap, shown);
    }

    /// Renumbers the heaps; those without a new number are dropped.
    pub fn renumber(&mut self, number: impl Fn(HeapId) -> Option<HeapId>) {
        self.by_hand.renumber(number);
    }
}

/// The heaps that pass the filter and are not known to be empty.
pub fn sources(trace: &Trace, filter: &Filter, overview: &Overview) -> impl Iterator<Item = usize> {
    (0..trace.heaps.len()).filter(|&heap| overview.may_have(heap) && admits(trace, filter, heap))
}

/// Whether the filter lets any of a heap's rows through.
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
