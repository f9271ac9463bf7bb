//! Navigation to the place of a finding or to a heap: opens the tree down to it and selects it.

use std::sync::Arc;

use super::Stacks;
use crate::app::document::{Document, source_of};
use crate::model::{HeapId, NodeId};
use crate::query::{Finding, FindingKind, Key, LifetimeClass, Path, Recorded};

/// Opens all nodes on the way to the finding's place, and selects the last one.
pub fn open(view: &mut Stacks, finding: &Finding, document: &Document) {
    let trace = &document.trace;
    let Some(site) = finding.sites.first().map(|&site| trace.site(site)) else { return };
    // A finding about a whole layer is shown in the heap of its first site.
    let source = source_of(finding.process, finding.layer, Some(site.heap));
    let class = class_of(finding);
    let group: Vec<Key> = source.into_iter().chain([Key::Impacting(class.impacting()), Key::Class(class)]).collect();
    let toggled = Arc::make_mut(&mut view.toggled);
    for end in 1..=group.len() {
        toggled.insert(group[..end].into(), true);
    }
    let mut last = Path::from(group.as_slice());
    let names = document.known_names();
    for node in trace.stacks.path(finding.node).into_iter().filter(|&node| node != NodeId::ROOT) {
        let frame = Recorded::of(trace, &names, node, site.caller, site.first, false);
        for level in frame.shown(document.fold.is_any()) {
            let path: Path = group.iter().copied().chain([Key::of_frame(node, level)]).collect();
            // The node of the place itself stays closed: its children are for the user to open.
            if node != finding.node {
                toggled.insert(Arc::clone(&path), true);
            }
            last = path;
        }
    }
    view.select(trace, |line, table| line.await_line(last, table));
}

/// Opens all nodes above a heap, and selects it; the commit of a process is its layer.
pub fn open_heap(view: &mut Stacks, heap: HeapId, document: &Document) {
    let trace = &document.trace;
    let of = trace.heap(heap);
    let path = source_of(of.process, of.layer, Some(heap));
    let toggled = Arc::make_mut(&mut view.toggled);
    for end in 1..path.len() {
        toggled.insert(path[..end].into(), true);
    }
    view.select(trace, |line, table| line.await_line(path.into(), table));
}

/// The lifetime class of the rows that a finding is about, in its interval.
fn class_of(finding: &Finding) -> LifetimeClass {
    match finding.kind {
        FindingKind::Step if finding.is_fall => LifetimeClass::Aofi,
        FindingKind::Growth | FindingKind::Step => LifetimeClass::Aifo,
        FindingKind::Spikes | FindingKind::Churn => LifetimeClass::Aifi,
        FindingKind::Peak | FindingKind::AtExit | FindingKind::UnexplainedCommit | FindingKind::Fragmentation => {
            LifetimeClass::Aofo
        }
        FindingKind::Habit => match finding.habit {
            Some(habit) if habit.is_of_peak() => LifetimeClass::Aofo,
            _ => LifetimeClass::Aifi,
        },
    }
}
