//! Which counters are drawn, and their lines: the user's choice, or the commit
//! charge where nothing else is drawn.

use std::collections::BTreeSet;

use egui_plot::PlotPoint;

use crate::model::{CounterId, Trace};
use crate::query::{CounterGroup, Series, counter_groups, default_counter};
use crate::units::Interval;

/// State of the counters of a document.
#[derive(Default)]
pub struct Counters {
    /// The user's choice, once there is one.
    chosen: Option<BTreeSet<CounterId>>,
    /// What is drawn.
    shown: Vec<CounterId>,
    /// All of them, by owner.
    pub groups: Vec<CounterGroup>,
    /// Whether those of processes without allocations are listed too.
    pub list_all: bool,
    /// The latest answer: interval, and the lines that were asked for.
    pub answer: Option<(Interval, Vec<CounterLine>)>,
}

/// A line of the graph.
pub struct CounterLine {
    pub id: CounterId,
    pub line: Series,
    /// The line in seconds and bytes, ready to be drawn.
    pub points: Vec<PlotPoint>,
}

impl Counters {
    /// The trace has grown, or other lines are drawn.
    pub fn update(&mut self, trace: &Trace, other_lines: bool) {
        let listed: usize = self.groups.iter().map(|group| group.counters.len()).sum();
        if listed != trace.counters.len() || trace.complete {
            self.groups = counter_groups(trace);
        }
        self.shown = match &self.chosen {
            Some(chosen) => chosen.iter().copied().collect(),
            None if other_lines => Vec::new(),
            None => default_counter(trace).into_iter().collect(),
        };
    }

    /// Shows a counter's line or not; from now on only the user's choices count.
    pub fn show(&mut self, id: CounterId, shown: bool) {
        let chosen = self.chosen.get_or_insert_with(|| self.shown.iter().copied().collect());
        if shown {
            chosen.insert(id);
        } else {
            chosen.remove(&id);
        }
    }

    pub fn shown(&self) -> &[CounterId] {
        &self.shown
    }

    pub fn is_shown(&self, id: CounterId) -> bool {
        self.shown.contains(&id)
    }

    /// Takes an answer.
    pub fn take(&mut self, trace: &Trace, view: Interval, ids: Vec<CounterId>, lines: Vec<Series>) {
        let seconds = |t| trace.clock.seconds(t);
        let line = |(id, line): (CounterId, Series)| {
            let points = line.points.iter().map(|&(t, value)| PlotPoint::new(seconds(t), value as f64)).collect();
            CounterLine { id, line, points }
        };
        self.answer = Some((view, ids.into_iter().zip(lines).map(line).collect()));
    }

    pub fn lines(&self) -> &[CounterLine] {
        self.answer.as_ref().map_or(&[], |(_, lines)| lines)
    }
}
