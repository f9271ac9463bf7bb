//! The view and the views before and after it.

use std::time::Instant;

use crate::units::Interval;

/// Wheel steps closer than this are one step of the history.
const STEP_SECONDS: f32 = 0.6;

/// What the graph shows, and the way there.
#[derive(Clone, Debug)]
pub struct History {
    view: Interval,
    back: Vec<Interval>,
    forward: Vec<Interval>,
    last_step: Option<Instant>,
}

impl History {
    pub fn new(view: Interval) -> Self {
        Self { view, back: Vec::new(), forward: Vec::new(), last_step: None }
    }

    pub fn view(&self) -> Interval {
        self.view
    }

    /// All there is has grown: views of all of it go on showing all of it, also those on
    /// the way back.
    pub fn grow(&mut self, all: Interval, to: Interval) {
        let views = self.back.iter_mut().chain(&mut self.forward).chain([&mut self.view]);
        views.filter(|view| **view == all).for_each(|view| *view = to);
    }

    /// Changes the view without leaving a trace: it follows what grows.
    pub fn follow(&mut self, view: Interval) {
        self.view = view;
    }

    /// Goes to another view; the ways forward are forgotten.
    pub fn go(&mut self, to: Interval) {
        if to != self.view {
            self.back.push(std::mem::replace(&mut self.view, to));
            self.forward.clear();
        }
        self.last_step = None;
    }

    /// Goes on by a small step; steps close in time are one.
    pub fn step(&mut self, to: Interval) {
        let goes_on = self.last_step.is_some_and(|at| at.elapsed().as_secs_f32() < STEP_SECONDS);
        if goes_on {
            self.view = to;
        } else {
            self.go(to);
        }
        self.last_step = Some(Instant::now());
    }

    pub fn back(&mut self) {
        if let Some(view) = self.back.pop() {
            self.forward.push(std::mem::replace(&mut self.view, view));
        }
    }

    pub fn forward(&mut self) {
        if let Some(view) = self.forward.pop() {
            self.back.push(std::mem::replace(&mut self.view, view));
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
