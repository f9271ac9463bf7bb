//! Goes to a finding: one click sets interval, filter and tree.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Document;
use crate::app::state::filters::{Chip, Filters, Predicate};
use crate::app::state::history::HistoryStop;
use crate::app::state::ids::{Tab, ViewId};
use crate::model::{HeapId, ProcessId};
use crate::query::{Finding, FindingKind, Habit, Key, Path};
use crate::units::{Interval, Layer, Ticks};

/// A finding that was gone to.
#[derive(Clone)]
pub struct FoundStop {
    /// The stop of the history at which its place is selected.
    stop: HistoryStop,
    /// The view that selects it.
    pub view: ViewId,
    pub finding: Finding,
    /// The tab from which the user went to it.
    pub from: Tab,
}

/// Findings that were gone to.
#[derive(Clone, Default)]
pub struct FoundStops(Arc<VecDeque<FoundStop>>);

impl FoundStops {
    /// Findings that are kept: the latest.
    const MOST: usize = 64;

    /// Notes that a view selects the place of a finding at a stop, to which the user went from a tab.
    pub fn note(&mut self, stop: HistoryStop, (from, view): (Tab, ViewId), finding: Finding) {
        let all = Arc::make_mut(&mut self.0);
        all.retain(|known| known.stop != stop);
        all.push_back(FoundStop { stop, view, finding, from });
        if all.len() > Self::MOST {
            all.pop_front();
        }
    }

    /// The finding of a stop.
    pub fn at(&self, stop: &HistoryStop) -> Option<&FoundStop> {
        self.0.iter().find(|known| known.stop == *stop)
    }

    /// Forgets all, whose ids mean nothing in another version of the trace.
    pub fn clear(&mut self) {
        self.0 = Arc::default();
    }
}

impl Document {
    /// Selects the finding's interval, with some room around it in the view, and filters to its heap.
    pub(in crate::app) fn go_to_finding(&mut self, finding: &Finding) {
        let (selection, span) = (self.interval_of(finding), self.trace.span);
        let interval = if selection.is_empty() { finding.interval } else { selection };
        let room = (interval.len() / 4).max(span.len() / 50);
        let around =
            Interval { from: Ticks(interval.from.0.saturating_sub(room)), to: Ticks(interval.to.0.saturating_add(room)) };
        let view = if interval.len() > span.len() / 2 { span } else { self.clamp(around) };
        let source: Path = source_of(finding.process, finding.layer, finding.heap).into();
        let mut filters = Filters::default();
        filters.add(Chip::only(Predicate::Under(Arc::clone(&source))));
        self.history.go_and_select(view, filters, Some(selection));
        self.choose_lines();
        self.ask();
    }

    /// The interval to select for a finding: of a step with a second before and after it, in which the level is
    /// known; of a peak, and of what was alive at an exit, its moment, so that only what was alive counts.
    fn interval_of(&self, finding: &Finding) -> Interval {
        let (Interval { from, to }, span) = (finding.interval, self.trace.span);
        match finding.kind {
            FindingKind::Peak | FindingKind::UnexplainedCommit | FindingKind::Fragmentation => Interval { from: to, to },
            FindingKind::AtExit => Interval { from, to: from },
            FindingKind::Habit if finding.habit.is_some_and(Habit::is_of_peak) => Interval { from: to, to },
            FindingKind::Step => {
                let room = self.trace.clock.frequency.min(span.len() as u64 / 20) as i64;
                self.clamp(Interval { from: Ticks(from.0.saturating_sub(room)), to: Ticks(to.0.saturating_add(room)) })
            }
            _ => finding.interval,
        }
    }
}

/// The path of a process, layer and heap in the tree.
pub fn source_of(process: ProcessId, layer: Layer, heap: Option<HeapId>) -> Vec<Key> {
    let heap = heap.filter(|_| layer != Layer::Commit).map(Key::Heap);
    [Key::Process(process), Key::Layer(layer)].into_iter().chain(heap).collect()
}
