//! The user's history: the visible interval, the selection, the filters, the notes, the marks and the pins. Every step can
//! be undone and redone.

use std::sync::Arc;
use std::time::Instant;

use super::filters::Filters;
use super::notes::Notes;
use crate::units::{Interval, Ticks};

/// Wheel steps closer together than this are one step of the history.
const STEP_SECONDS: f32 = 0.6;

/// One stop of the history.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HistoryStop {
    /// The visible interval.
    pub view: Interval,
    pub filters: Filters,
    /// The selected interval.
    pub selection: Option<Interval>,
    /// The notes on the time axis.
    pub notes: Notes,
    /// The user's marks, in order: edges of generations.
    pub marks: Arc<[Ticks]>,
    /// The pins, in order.
    pub pins: Arc<[Ticks]>,
}

/// The current stop, with those to go back and forward to.
#[derive(Clone, Debug)]
pub struct History {
    now: HistoryStop,
    back: Vec<HistoryStop>,
    forward: Vec<HistoryStop>,
    last_step: Option<Instant>,
}

impl History {
    pub fn new(view: Interval) -> Self {
        Self { now: HistoryStop { view, ..HistoryStop::default() }, back: Vec::new(), forward: Vec::new(), last_step: None }
    }

    pub fn view(&self) -> Interval {
        self.now.view
    }

    pub fn filters(&self) -> &Filters {
        &self.now.filters
    }

    /// All filters, including those to go back and forward to, for renumbering.
    pub fn all_filters(&mut self) -> impl Iterator<Item = &mut Filters> {
        self.stops().map(|stop| &mut stop.filters)
    }

    fn stops(&mut self) -> impl Iterator<Item = &mut HistoryStop> {
        self.back.iter_mut().chain(&mut self.forward).chain([&mut self.now])
    }

    /// Extends stops that show the whole trace after it has grown, including those to go back to.
    pub fn grow(&mut self, all: Interval, to: Interval) {
        self.stops().filter(|stop| stop.view == all).for_each(|stop| stop.view = to);
    }

    /// Changes the view without a step in the history, to follow a growing trace.
    pub fn follow(&mut self, view: Interval) {
        self.now.view = view;
    }

    /// The selected interval.
    pub fn selection(&self) -> Option<Interval> {
        self.now.selection
    }

    /// The notes on the time axis.
    pub fn notes(&self) -> &Notes {
        &self.now.notes
    }

    /// The user's marks.
    pub fn marks(&self) -> &[Ticks] {
        &self.now.marks
    }

    /// Changes the marks; the stops to go forward to are forgotten.
    pub fn mark(&mut self, marks: Vec<Ticks>) {
        self.go_to(HistoryStop { marks: marks.into(), ..self.now.clone() });
    }

    /// The pins.
    pub fn pins(&self) -> &[Ticks] {
        &self.now.pins
    }

    /// Changes the pins; the stops to go forward to are forgotten.
    pub fn pin(&mut self, pins: Vec<Ticks>) {
        self.go_to(HistoryStop { pins: pins.into(), ..self.now.clone() });
    }

    /// Changes the notes; the stops to go forward to are forgotten.
    pub fn note(&mut self, notes: Notes) {
        self.go_to(HistoryStop { notes, ..self.now.clone() });
    }

    /// Goes to another view; the stops to go forward to are forgotten.
    pub fn go(&mut self, view: Interval) {
        self.go_to(HistoryStop { view, ..self.now.clone() });
    }

    /// Goes to another view and clears the selection.
    pub fn go_into(&mut self, view: Interval) {
        self.go_to(HistoryStop { view, selection: None, ..self.now.clone() });
    }

    /// Selects an interval or nothing. While a drag `goes_on` it is one step.
    pub fn select(&mut self, selection: Option<Interval>, goes_on: bool) {
        if goes_on {
            self.now.selection = selection;
        } else {
            self.go_to(HistoryStop { selection, ..self.now.clone() });
        }
    }

    /// Changes the filters; the stops to go forward to are forgotten.
    pub fn filter(&mut self, filters: Filters) {
        self.go_to(HistoryStop { filters, ..self.now.clone() });
    }

    /// Changes view, filters and selection in one step.
    pub fn go_and_select(&mut self, view: Interval, filters: Filters, selection: Option<Interval>) {
        self.go_to(HistoryStop { view, filters, selection, ..self.now.clone() });
    }

    /// Goes to the place of a saved investigation, in one step.
    pub fn resume(&mut self, place: HistoryStop) {
        self.go_to(place);
    }

    /// A copy of the stops at which one step leads.
    pub fn nearby(&self) -> Self {
        let nearest = |stops: &[HistoryStop]| stops.last().cloned().into_iter().collect();
        let (back, forward) = (nearest(&self.back), nearest(&self.forward));
        Self { now: self.now.clone(), back, forward, last_step: self.last_step }
    }

    /// The current stop.
    pub fn now(&self) -> &HistoryStop {
        &self.now
    }

    fn go_to(&mut self, to: HistoryStop) {
        if to != self.now {
            self.back.push(std::mem::replace(&mut self.now, to));
            self.forward.clear();
        }
        self.last_step = None;
    }

    /// Makes a small step; steps close in time are merged.
    pub fn step(&mut self, to: Interval) {
        let goes_on = self.last_step.is_some_and(|at| at.elapsed().as_secs_f32() < STEP_SECONDS);
        if goes_on {
            self.now.view = to;
        } else {
            self.go(to);
        }
        self.last_step = Some(Instant::now());
    }

    pub fn back(&mut self) {
        if let Some(stop) = self.back.pop() {
            self.forward.push(std::mem::replace(&mut self.now, stop));
        }
    }

    pub fn forward(&mut self) {
        if let Some(stop) = self.forward.pop() {
            self.back.push(std::mem::replace(&mut self.now, stop));
        }
    }

    pub fn can_go_back(&self) -> bool {
        !self.back.is_empty()
    }

    pub fn can_go_forward(&self) -> bool {
        !self.forward.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ticks;

    fn interval(from: i64, to: i64) -> Interval {
        Interval { from: Ticks(from), to: Ticks(to) }
    }

    #[test]
    fn back_and_forward_visit_the_same_views() {
        let views = [interval(0, 100), interval(10, 50), interval(20, 30)];
        let mut history = History::new(views[0]);
        history.go(views[1]);
        history.go(views[2]);
        history.go(views[2]);
        history.back();
        assert_eq!(history.view(), views[1], "staying where one is leaves no step");
        history.back();
        history.back();
        assert_eq!(history.view(), views[0]);
        history.forward();
        history.go(interval(1, 2));
        assert!(!history.can_go_forward(), "a new way forgets the old ways forward");
        history.back();
        assert_eq!(history.view(), views[1]);
    }

    #[test]
    fn a_note_is_a_step_like_any_other() {
        use crate::app::state::notes::with_note;
        let mut history = History::new(interval(0, 100));
        history.note(with_note(history.notes(), Ticks(5), "leak"));
        history.go(interval(10, 50));
        history.back();
        assert_eq!((history.view(), history.notes().len()), (interval(0, 100), 1));
        history.back();
        assert!(history.notes().is_empty());
        history.forward();
        assert_eq!(&*history.notes()[0].text, "leak");
    }

    #[test]
    fn marks_and_pins_are_steps_of_their_own() {
        let mut history = History::new(interval(0, 100));
        history.pin(vec![Ticks(5)]);
        history.pin(vec![Ticks(5), Ticks(9)]);
        history.mark(vec![Ticks(7)]);
        history.mark(vec![Ticks(7)]);
        history.go(interval(10, 50));
        history.pin(Vec::new());
        assert!(history.pins().is_empty());
        history.back();
        assert_eq!((history.pins(), history.marks()), (&[Ticks(5), Ticks(9)][..], &[Ticks(7)][..]));
        history.back();
        history.back();
        assert_eq!((history.pins().len(), history.marks().len()), (2, 0), "setting the same marks again is no step");
        history.back();
        assert_eq!(history.pins(), [Ticks(5)]);
        history.forward();
        history.forward();
        assert_eq!((history.pins().len(), history.marks()), (2, &[Ticks(7)][..]));
    }

    #[test]
    fn what_was_filtered_comes_back_too() {
        use crate::app::state::filters::{Chip, Predicate};
        let mut filters = Filters::default();
        filters.add(Chip::only(Predicate::Under([crate::query::Key::Layer(crate::units::Layer::Heap)].into())));
        let mut history = History::new(interval(0, 100));
        history.filter(filters.clone());
        history.go(interval(10, 50));
        history.back();
        assert_eq!((history.view(), history.filters()), (interval(0, 100), &filters));
        history.back();
        assert!(history.filters().is_all() && !history.can_go_back());
        history.forward();
        assert_eq!(history.filters(), &filters);
    }

    #[test]
    fn a_drag_is_one_step_and_what_was_selected_comes_back() {
        let mut history = History::new(interval(0, 100));
        history.select(Some(interval(10, 11)), false);
        for to in 12..50 {
            history.select(Some(interval(10, to)), true);
        }
        history.go_into(interval(10, 49));
        assert_eq!(history.selection(), None);
        history.back();
        assert_eq!((history.view(), history.selection()), (interval(0, 100), Some(interval(10, 49))));
        history.go(interval(20, 30));
        assert_eq!(history.selection(), Some(interval(10, 49)), "it stays wherever one looks");
        history.back();
        history.back();
        assert!(history.selection().is_none() && !history.can_go_back());
        history.forward();
        assert_eq!(history.selection(), Some(interval(10, 49)));
    }

    #[test]
    fn views_of_all_there_is_grow_with_it_wherever_they_are() {
        let (all, later) = (interval(0, 100), interval(0, 200));
        let mut history = History::new(all);
        history.go(interval(10, 50));
        history.go(all);
        history.back();
        history.grow(all, later);
        assert_eq!(history.view(), interval(10, 50));
        history.forward();
        assert_eq!(history.view(), later);
        history.back();
        history.back();
        assert_eq!(history.view(), later);
    }

    #[test]
    fn a_turn_of_the_wheel_is_one_step() {
        let mut history = History::new(interval(0, 100));
        for from in 1..20 {
            history.step(interval(from, 100));
        }
        history.back();
        assert_eq!(history.view(), interval(0, 100));
    }
}
