//! Carries out the user's commands on the open trace: changes of view, selection, filters, pins, marks
//! and lines. Then everything that depends on them is requested again.

use super::Document;
use crate::app::commands::DocCommand;
use crate::app::state::filters::{Chip, Filters, Predicate};
use crate::app::state::history::History;
use crate::app::state::ids::MOST_MARKS;
use crate::app::state::notes::with_note;
use crate::query::Path;
use crate::units::{Interval, Ticks};

impl Document {
    /// Carries out a command that concerns no view.
    pub(in crate::app) fn carry_out(&mut self, command: DocCommand) {
        match command {
            DocCommand::Select(selection) => self.history.select(selection, false),
            DocCommand::SelectOn(selection) => self.history.select(Some(selection), true),
            DocCommand::ZoomToSelection => {
                if let Some(selection) = self.selection().filter(|selection| !selection.is_empty()) {
                    self.history.go_into(self.clamp(selection));
                }
            }
            DocCommand::ZoomInto(interval) => self.history.go_into(self.clamp(interval)),
            DocCommand::Zoom(interval) => self.history.go(self.clamp(interval)),
            DocCommand::ZoomOn { view, before } if before == self.view() => self.history.go(self.clamp(view)),
            DocCommand::ZoomOn { view, .. } => self.history.follow(self.clamp(view)),
            DocCommand::ZoomStep(interval) => self.history.step(self.clamp(interval)),
            DocCommand::ZoomOut => self.history.go(self.trace.span),
            DocCommand::Back => self.go(History::back),
            DocCommand::Forward => self.go(History::forward),
            DocCommand::Pin(at) => self.pin(at),
            DocCommand::ClearPins => self.history.pin(Vec::new()),
            DocCommand::Mark(at) => self.mark(at.unwrap_or(self.trace.span.to)),
            DocCommand::MarkEvenly(parts) => self.mark_evenly(parts),
            DocCommand::ClearMarks => self.history.mark(Vec::new()),
            DocCommand::MarkAll(mut marks) => {
                marks.sort_unstable();
                marks.dedup();
                marks.truncate(MOST_MARKS);
                self.history.mark(marks);
            }
            DocCommand::Note(at, text) => {
                self.history.note(with_note(self.history.notes(), at, &text));
                return; // no number depends on a note
            }
            DocCommand::Align(alignment) => self.alignment = alignment,
            DocCommand::Resume(place) => self.resume(*place),
            DocCommand::PutCursor(at) => {
                self.cursor = at;
                return; // no number depends on the cursor
            }
            DocCommand::ShowMoment(at) => {
                let before = std::mem::replace(&mut self.moment, at);
                if before == at || !self.follows_cursor() {
                    return;
                }
            }
            DocCommand::StepTo(stop) => {
                if !self.step_to(stop) {
                    return;
                }
            }
            DocCommand::ChooseChain(chain) => self.overlays.chain = Some(chain),
            DocCommand::Ask => {}
            DocCommand::Filter(path) => self.filter_to(path),
            DocCommand::AddChip(chip) => self.change_filters(|filters| filters.add(chip)),
            DocCommand::RemoveChip(what) => self.change_filters(|filters| filters.remove(&what)),
            DocCommand::ChangeChips { away, add } => self.change_filters(|filters| {
                away.iter().for_each(|what| filters.remove(what));
                add.into_iter().for_each(|chip| filters.add(chip));
            }),
            DocCommand::TurnChip(what) => self.change_filters(|filters| filters.turn(&what)),
            DocCommand::ClearFilter => self.change_filters(|filters| *filters = Filters::default()),
            DocCommand::ShowLine(of, shown) => self.show_line(&of, shown),
            DocCommand::OpenLane(of, to) => {
                self.lanes.open(of, to);
                self.choose_lines();
            }
            DocCommand::FindSources(text) => {
                self.source_choice.search = text;
                self.choose_lines();
            }
            DocCommand::CloseSource(of, closed) => {
                let known = &mut self.source_choice.closed;
                _ = if closed { known.insert(of) } else { known.remove(&of) };
                self.choose_lines();
            }
            DocCommand::ListAllCounters(all) => {
                self.counters.list_all = all;
                self.choose_lines();
            }
            // The workspace carries these out, with the views.
            DocCommand::GoToFinding(_)
            | DocCommand::GoToPlace(_)
            | DocCommand::Unselect
            | DocCommand::GoToFound
            | DocCommand::Search(_) => {}
            DocCommand::ShowTab(tab) => (self.tab, self.tab_is_left) = (tab, false),
        }
        self.ask();
    }

    /// Filters to a node of the tree.
    fn filter_to(&mut self, path: Option<Path>) {
        self.change_filters(|filters| match path {
            Some(path) => filters.add(Chip::only(Predicate::Under(path))),
            None => filters.remove_node(),
        });
    }

    pub(super) fn change_filters(&mut self, change: impl FnOnce(&mut Filters)) {
        let mut filters = self.filters().clone();
        change(&mut filters);
        self.history.filter(filters);
        self.choose_lines();
    }

    pub(super) fn clamp(&self, interval: Interval) -> Interval {
        let span = self.trace.span;
        let (from, to) = (interval.from.max(span.from), interval.to.min(span.to));
        if from < to { Interval { from, to } } else { self.view() }
    }

    /// Goes one step through the history.
    fn go(&mut self, step: fn(&mut History)) {
        let before = self.filters().clone();
        step(&mut self.history);
        if before != *self.filters() {
            self.choose_lines();
        }
    }

    fn pin(&mut self, at: Ticks) {
        let mut pins = self.pins().to_vec();
        if pins.len() < 2 {
            pins.push(at);
        } else if let Some(nearer) = pins.iter_mut().min_by_key(|pin| pin.0.abs_diff(at.0)) {
            *nearer = at;
        }
        pins.sort_unstable();
        self.history.pin(pins);
    }

    /// Sets a mark, or removes the one that is there.
    fn mark(&mut self, at: Ticks) {
        let mut marks = self.marks().to_vec();
        match marks.binary_search(&at) {
            Ok(known) => _ = marks.remove(known),
            Err(place) if marks.len() < MOST_MARKS => marks.insert(place, at),
            Err(_) => {}
        }
        self.history.mark(marks);
    }

    fn mark_evenly(&mut self, parts: usize) {
        let interval = self.interval();
        let edge = |i: usize| interval.from.0 as i128 + i128::from(interval.len()) * i as i128 / parts.max(1) as i128;
        self.history.mark((1..parts).map(|i| Ticks(edge(i) as i64)).collect());
    }

    /// The command for the next press of Escape.
    pub fn escape(&self) -> DocCommand {
        if self.selection().is_some() {
            DocCommand::Select(None)
        } else if self.cursor.is_some() {
            DocCommand::PutCursor(None)
        } else if !self.pins().is_empty() {
            DocCommand::ClearPins
        } else if self.views.has_selected {
            DocCommand::Unselect
        } else if self.searched().is_some_and(|text| !text.is_empty()) {
            DocCommand::Search(String::new())
        } else if let Some(chip) = self.filters().chips().last() {
            DocCommand::RemoveChip(chip.what.clone())
        } else {
            DocCommand::ClearFilter
        }
    }
}
