//! Which counters are drawn, and their lines. Without any other line it is the commit charge; the
//! user's own switches take precedence.

use std::collections::BTreeSet;
use std::sync::Arc;

use egui_plot::PlotPoint;

use super::graph::points;
use crate::app::base::by_hand::ByHand;
use crate::model::{CounterId, Trace};
use crate::query::{CounterGroup, Series, counter_groups, default_counter};
use crate::units::Interval;

/// State of the counters of a document.
#[derive(Default)]
pub struct Counters {
    by_hand: ByHand<CounterId>,
    /// The counters drawn now.
    shown: Vec<CounterId>,
    /// All of them, by owner.
    pub groups: Vec<CounterGroup>,
    /// Whether counters of processes without allocations are listed too.
    pub list_all: bool,
    /// The latest answer: the interval, and the requested lines.
    pub answer: Option<(Interval, Vec<CounterLine>)>,
}

/// A line of the graph.
pub struct CounterLine {
    pub id: CounterId,
    pub line: Series,
    /// The line in seconds and bytes, ready to be drawn.
    pub points: Arc<[PlotPoint]>,
}

impl Counters {
    /// Chooses again after the trace has grown or other lines are drawn; returns whether the choice changed.
    pub fn update(&mut self, trace: &Trace, other_lines: bool) -> bool {
        let listed: usize = self.groups.iter().map(|group| group.counters.len()).sum();
        if listed != trace.counters.len() || trace.complete {
            self.groups = counter_groups(trace);
        }
        let mut shown: BTreeSet<CounterId> = default_counter(trace).filter(|_| !other_lines).into_iter().collect();
        for (id, is_on) in self.by_hand.all() {
            if is_on {
                shown.insert(id)
            } else {
                shown.remove(&id)
            };
        }
        let before = std::mem::replace(&mut self.shown, shown.into_iter().collect());
        before != self.shown
    }

    /// A copy of the user's choices, without answers; [`Counters::update`] finds the counters again.
    pub fn choices(&self) -> Self {
        let Self { by_hand, shown, groups: _, list_all, answer: _ } = self;
        Self { by_hand: by_hand.clone(), shown: shown.clone(), groups: Vec::new(), list_all: *list_all, answer: None }
    }

    /// Shows or hides a counter's line, whatever else is drawn.
    pub fn show(&mut self, id: CounterId, shown: bool) {
        self.by_hand.switch(id, shown);
    }

    /// Renumbers the counters; those without a new number are dropped.
    pub fn renumber(&mut self, number: impl Fn(CounterId) -> Option<CounterId>) {
        self.by_hand.renumber(number);
        (self.groups, self.answer) = (Vec::new(), None);
    }

    pub fn shown(&self) -> &[CounterId] {
        &self.shown
    }

    pub fn is_shown(&self, id: CounterId) -> bool {
        self.shown.contains(&id)
    }

    /// Stores an answer.
    pub fn take(&mut self, trace: &Trace, view: Interval, ids: Vec<CounterId>, lines: Vec<Series>) {
        let line = |(id, line): (CounterId, Series)| CounterLine { id, points: points(trace.clock, &line), line };
        self.answer = Some((view, ids.into_iter().zip(lines).map(line).collect()));
    }

    pub fn lines(&self) -> &[CounterLine] {
        self.answer.as_ref().map_or(&[], |(_, lines)| lines)
    }
}
