//! The layers of processes. The window draws each as one line, so their activity is summed up together with that of the heaps: later it
//! would take another pass over all events.

use std::collections::BTreeMap;

use super::feed::NOBODY;
use crate::model::{ProcessId, Trace};
use crate::units::Layer;

/// The layer of each heap. Layers have numbers that stay while a trace grows: those of their first heaps.
#[derive(Debug)]
pub(super) struct Layers {
    of_heap: Vec<u32>,
    /// Whether each heap has sites; else it has no series.
    has_sites: Vec<bool>,
}

impl Layers {
    /// Finds the layers.
    pub(super) fn of(trace: &Trace) -> Self {
        let mut has_sites = vec![false; trace.heaps.len()];
        trace.sites.iter().for_each(|site| has_sites[site.heap.0 as usize] = true);
        let mut first: BTreeMap<(ProcessId, Layer), u32> = BTreeMap::new();
        let of_heap = (0..).zip(&trace.heaps).map(|(heap, of)| *first.entry((of.process, of.layer)).or_insert(heap)).collect();
        Self { of_heap, has_sites }
    }

    /// Returns whether some layer has several heaps. If not, the activity of heaps says all.
    pub(super) fn differ_from_heaps(&self) -> bool {
        (0..).zip(&self.of_heap).any(|(heap, layer)| heap != *layer)
    }

    /// Returns the layer of each heap.
    pub(super) fn of_heap(&self) -> &[u32] {
        &self.of_heap
    }

    /// Returns the series of each layer, or [`NOBODY`], given that of each heap with sites; `None` if a series is not exactly one
    /// layer.
    pub(super) fn series(&self, of_heap: &[u32], count: usize) -> Option<Vec<u32>> {
        let mut of_layer = vec![None; self.of_heap.len()];
        for ((&layer, &series), _) in self.of_heap.iter().zip(of_heap).zip(&self.has_sites).filter(|(_, has_sites)| **has_sites) {
            if *of_layer[layer as usize].get_or_insert(series) != series {
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
        // Two layers of two heaps, and one of a single heap; the last heap has no sites.
        let layers = Layers { of_heap: vec![0, 1, 2, 0, 1, 1], has_sites: vec![true, true, true, true, true, false] };
        let of = |of_heap: [u32; 6]| layers.series(&of_heap, 3);
        const NO: u32 = NOBODY;
        assert_eq!(of([2, 0, 1, 2, 0, NO]), Some(vec![2, 0, 1, NO, NO, NO]));
        assert_eq!(of([NO, 1, NO, NO, 1, NO]), Some(vec![NO, 1, NO, NO, NO, NO]), "not all layers are drawn");
        assert_eq!(of([0, 1, NO, 0, NO, NO]), None, "a heap is missing");
        assert_eq!(of([0, 0, NO, 0, 0, NO]), None, "both are one series");
        assert_eq!(of([0, 1, NO, 2, 1, NO]), None, "one is two series");
        assert!(layers.differ_from_heaps());
        assert!(!Layers { of_heap: vec![0, 1], has_sites: vec![true; 2] }.differ_from_heaps());
    }
}
