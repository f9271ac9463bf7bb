//! The layers of processes that have several heaps. The window draws each as one line, so their activity is summed up together with that
//! of the heaps: later it would take another pass over all events.

use std::collections::BTreeMap;

use super::feed::NOBODY;
use crate::model::{ProcessId, Trace};
use crate::units::Layer;

/// The layer of each heap.
#[derive(Debug)]
pub(super) struct Layers {
    /// [`NOBODY`] for a heap without sites, or without another one in its layer.
    of_heap: Vec<u32>,
    count: usize,
}

impl Layers {
    /// Finds the layers; `None` if all of them have one heap.
    pub(super) fn of(trace: &Trace) -> Option<Self> {
        let mut has_sites = vec![false; trace.heaps.len()];
        trace.sites.iter().for_each(|site| has_sites[site.heap.0 as usize] = true);
        let mut heaps: BTreeMap<(ProcessId, Layer), Vec<usize>> = BTreeMap::new();
        for (heap, of) in trace.heaps.iter().enumerate().filter(|(heap, _)| has_sites[*heap]) {
            heaps.entry((of.process, of.layer)).or_default().push(heap);
        }
        heaps.retain(|_, heaps| heaps.len() > 1);
        let mut of_heap = vec![NOBODY; trace.heaps.len()];
        for (layer, heaps) in (0..).zip(heaps.values()) {
            heaps.iter().for_each(|&heap| of_heap[heap] = layer);
        }
        (!heaps.is_empty()).then_some(Self { of_heap, count: heaps.len() })
    }

    /// Returns the layer of each heap, or [`NOBODY`].
    pub(super) fn of_heap(&self) -> &[u32] {
        &self.of_heap
    }

    /// Returns the number of layers.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns the series of each layer, given that of each heap with sites; `None` if a series is not exactly one layer.
    pub(super) fn series(&self, of_heap: &[u32], count: usize) -> Option<Vec<u32>> {
        let mut of_layer = vec![None; self.count];
        for (&layer, &series) in self.of_heap.iter().zip(of_heap) {
            let known = match of_layer.get_mut(layer as usize) {
                Some(known) => *known.get_or_insert(series),
                None => NOBODY,
            };
            if known != series {
                return None;
            }
        }
        let mut is_taken = vec![false; count];
        let mut take = |series: u32| series == NOBODY || !std::mem::replace(&mut is_taken[series as usize], true);
        let of_layer: Vec<u32> = of_layer.into_iter().map(|series| series.unwrap_or(NOBODY)).collect();
        of_layer.iter().all(|&series| take(series)).then_some(of_layer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_layers_only_if_they_have_all_their_heaps_and_no_others() {
        // Two layers of two heaps, one heap of its own layer, one without sites.
        let layers = Layers { of_heap: vec![0, 1, NOBODY, 0, 1, NOBODY], count: 2 };
        let of = |of_heap: [u32; 6]| layers.series(&of_heap, 3);
        const NO: u32 = NOBODY;
        assert_eq!(of([2, 0, NO, 2, 0, NO]), Some(vec![2, 0]));
        assert_eq!(of([NO, 1, NO, NO, 1, NO]), Some(vec![NO, 1]), "not all layers are drawn");
        assert_eq!(of([0, 1, NO, 0, NO, NO]), None, "a heap is missing");
        assert_eq!(of([0, 1, 2, 0, 1, NO]), None, "a heap that is no layer of several");
        assert_eq!(of([0, 0, NO, 0, 0, NO]), None, "both are one series");
        assert_eq!(of([0, 1, NO, 2, 1, NO]), None, "one is two series");
    }
}
