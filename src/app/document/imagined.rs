//! Steps of the user that are only imagined, to find out what the window would ask after them.
//!
//! A step is carried out on copies of what it changes, by the same code as a real one; then everything is as before. Cost:
//! the copies, which are small, and that of the step.

use super::{Document, FoundStops, ViewSummary};
use crate::app::state::answers::LifetimeBand;
use crate::app::state::counters::Counters;
use crate::app::state::heap_lines::HeapLines;
use crate::app::state::history::History;
use crate::app::state::ids::Tab;
use crate::app::state::lanes::Lanes;
use crate::app::state::line_colors::LineColors;
use crate::units::Ticks;

/// The state that steps change, while copies of it are in its place.
pub struct Reality {
    history: History,
    cursor: Option<Ticks>,
    tab: Tab,
    tab_is_left: bool,
    in_sight: Vec<Tab>,
    lifetime_band: Option<LifetimeBand>,
    counters: Counters,
    views: ViewSummary,
    found: FoundStops,
    lanes: Lanes,
    lines: HeapLines,
    colors: LineColors,
    needs_query: bool,
    user_acted: bool,
}

impl Document {
    /// Puts copies in the place of what a step through the history, to another tab or to a finding changes.
    pub(in crate::app) fn imagine(&mut self) -> Reality {
        let (history, counters) = (self.history.nearby(), self.counters.choices());
        Reality {
            history: std::mem::replace(&mut self.history, history),
            cursor: self.cursor,
            tab: self.tab,
            tab_is_left: self.tab_is_left,
            in_sight: self.in_sight.clone(),
            lifetime_band: self.answers.lifetime_band.take(),
            counters: std::mem::replace(&mut self.counters, counters),
            views: self.views.clone(),
            found: self.found.clone(),
            lanes: self.lanes.clone(),
            lines: self.lines.clone(),
            colors: self.colors.clone(),
            needs_query: self.needs_query,
            user_acted: self.user_acted,
        }
    }

    /// Puts everything back where it was.
    pub(in crate::app) fn wake(&mut self, reality: Reality) {
        let Reality { history, cursor, tab, tab_is_left, in_sight, lifetime_band, counters, .. } = reality;
        (self.history, self.cursor, self.counters) = (history, cursor, counters);
        (self.tab, self.tab_is_left, self.in_sight) = (tab, tab_is_left, in_sight);
        self.answers.lifetime_band = lifetime_band;
        let Reality { views, found, lanes, lines, colors, needs_query, user_acted, .. } = reality;
        (self.views, self.found, self.lanes, self.lines, self.colors) = (views, found, lanes, lines, colors);
        (self.needs_query, self.user_acted) = (needs_query, user_acted);
    }
}
