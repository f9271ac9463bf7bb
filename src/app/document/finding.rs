//! Going to what a finding speaks of: one click sets interval, filter and tree.

use std::sync::Arc;

use super::{Document, Tab};
use crate::app::filters::{Chip, Filters, Predicate};
use crate::model::{HeapId, NodeId, ProcessId};
use crate::query::{Finding, FindingKind, Key, LifetimeClass, Path, Recorded};
use crate::units::{Interval, Layer, Ticks};

impl Document {
    /// Makes the finding's interval the selection, with some room around it in the view;
    /// filters to its heap; opens the tree down to its place and selects that.
    pub(super) fn go_to_finding(&mut self, finding: &Finding) {
        let (interval, span) = (finding.interval, self.trace.span);
        let room = (interval.len() / 4).max(span.len() / 50);
        let around =
            Interval { from: Ticks(interval.from.0.saturating_sub(room)), to: Ticks(interval.to.0.saturating_add(room)) };
        let view = if interval.len() > span.len() / 2 { span } else { self.clamp(around) };
        let source: Path = source(finding.process, finding.layer, finding.heap).into();
        let mut filters = Filters::default();
        filters.add(Chip::only(Predicate::Under(Arc::clone(&source))));
        let selection = Some(match finding.kind {
            // What was alive then, and nothing else.
            FindingKind::Peak => Interval { from: interval.to, to: interval.to },
            _ => interval,
        });
        self.history.go_and_select(view, filters, (self.selection, selection));
        self.selection = selection;
        self.filters_changed();
        self.show_tab(Tab::Table);
        self.search.clear();
        self.open_way(finding);
    }

    /// Opens all nodes on the way to the finding's place, and selects the last.
    fn open_way(&mut self, finding: &Finding) {
        let Some(site) = finding.sites.first().map(|&site| self.trace.site(site)) else { return };
        // Of a whole layer the heap in which the place is.
        let source = source(finding.process, finding.layer, Some(site.heap));
        let class = class_of(finding.kind);
        let group: Vec<Key> = source.into_iter().chain([Key::Impacting(class.impacting()), Key::Class(class)]).collect();
        let toggled = Arc::make_mut(&mut self.toggled);
        for end in 1..=group.len() {
            toggled.insert(group[..end].into(), true);
        }
        let mut last = Path::from(group.as_slice());
        let names = self.names.as_ref().map(|names| Arc::clone(names.known())).unwrap_or_default();
        for node in self.trace.stacks.path(finding.node).into_iter().filter(|&node| node != NodeId::ROOT) {
            let frame = Recorded::of(&self.trace, &names, node, site.caller, site.first, false);
            for level in frame.shown(self.fold) {
                let path: Path = group.iter().copied().chain([Key::of_frame(node, level)]).collect();
                // What is below the place is for the user to open.
                if node != finding.node {
                    toggled.insert(Arc::clone(&path), true);
                }
                last = path;
            }
        }
        self.select(|line, table| line.await_line(last, table));
    }
}

/// Process, layer and heap, as the tree has them.
fn source(process: ProcessId, layer: Layer, heap: Option<HeapId>) -> Vec<Key> {
    let heap = heap.filter(|_| layer != Layer::Commit).map(Key::Heap);
    [Key::Process(process), Key::Layer(layer)].into_iter().chain(heap).collect()
}

/// The rows that a finding is about, in its interval.
fn class_of(kind: FindingKind) -> LifetimeClass {
    match kind {
        FindingKind::Growth | FindingKind::Step => LifetimeClass::Aifo,
        FindingKind::Spikes | FindingKind::Churn => LifetimeClass::Aifi,
        FindingKind::Peak | FindingKind::AtExit | FindingKind::UnexplainedCommit => LifetimeClass::Aofo,
    }
}
