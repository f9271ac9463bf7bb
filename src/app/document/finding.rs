//! Goes to a finding: one click sets interval, filter and tree.

use std::sync::Arc;

use super::Document;
use crate::app::state::filters::{Chip, Filters, Predicate};
use crate::model::{HeapId, ProcessId};
use crate::query::{Finding, FindingKind, Key, Path};
use crate::units::{Interval, Layer, Ticks};

impl Document {
    /// Selects the finding's interval, with some room around it in the view, and filters to its heap.
    pub(in crate::app) fn go_to_finding(&mut self, finding: &Finding) {
        let (interval, span) = (finding.interval, self.trace.span);
        let room = (interval.len() / 4).max(span.len() / 50);
        let around =
            Interval { from: Ticks(interval.from.0.saturating_sub(room)), to: Ticks(interval.to.0.saturating_add(room)) };
        let view = if interval.len() > span.len() / 2 { span } else { self.clamp(around) };
        let source: Path = source_of(finding.process, finding.layer, finding.heap).into();
        let mut filters = Filters::default();
        filters.add(Chip::only(Predicate::Under(Arc::clone(&source))));
        let selection = Some(match finding.kind {
            // Only the allocations that were alive at the peak.
            FindingKind::Peak => Interval { from: interval.to, to: interval.to },
            _ => interval,
        });
        self.history.go_and_select(view, filters, selection);
        self.choose_lines();
        self.ask();
    }
}

/// The path of a process, layer and heap in the tree.
pub fn source_of(process: ProcessId, layer: Layer, heap: Option<HeapId>) -> Vec<Key> {
    let heap = heap.filter(|_| layer != Layer::Commit).map(Key::Heap);
    [Key::Process(process), Key::Layer(layer)].into_iter().chain(heap).collect()
}
