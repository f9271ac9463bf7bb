//! Updates of a document whose trace grows: the user's choices keep their meaning.

use std::sync::Arc;

use super::Document;
use crate::app::jobs::drop_aside;
use crate::model::Trace;
use crate::query::{KeyMap, Path};
use crate::units::{Interval, Ticks};

impl Document {
    /// Takes a newer version of the trace. A view of the whole trace keeps showing all of it. Returns the new keys of
    /// `chosen` nodes, if keys have changed.
    pub(in crate::app) fn update(&mut self, trace: Arc<Trace>, chosen: Vec<Path>) -> Option<KeyMap> {
        let (view, old) = (self.view(), self.trace.span);
        self.history.grow(old, trace.span);
        if view != old && self.follows_end && view.to == old.to {
            let by = trace.span.to.0 - old.to.0;
            self.history.follow(Interval { from: Ticks(view.from.0 + by), to: trace.span.to });
        }
        self.growing = !trace.complete;
        let map = self.renumber(&trace, chosen);
        drop_aside(std::mem::replace(&mut self.trace, trace));
        self.choose_lines();
        self.needs_query = true;
        map
    }

    /// Ends the growth: the trace stays as far as it was loaded.
    pub fn stop_growing(&mut self) {
        self.growing = false;
        self.ask();
    }

    /// Whether the trace no longer grows.
    pub fn is_settled(&self) -> bool {
        !self.growing
    }

    /// Whether loading was stopped before the end.
    pub fn is_partial(&self) -> bool {
        !self.growing && !self.trace.complete
    }

    /// Renumbers the user's choices, if rows were dropped or the trace was loaded again.
    fn renumber(&mut self, trace: &Trace, mut chosen: Vec<Path>) -> Option<KeyMap> {
        chosen.extend(self.history.all_filters().flat_map(|filters| filters.paths().cloned()));
        let map = KeyMap::new(&self.trace, trace, &chosen)?;
        self.history.all_filters().for_each(|filters| filters.renumber(&map));
        if trace.builder() != self.trace.builder() {
            self.lines.renumber(|heap| map.heap(heap));
            self.lanes.renumber(&map);
            self.colors.renumber(&map);
            let firsts = std::mem::take(&mut self.first_heaps).into_iter();
            self.first_heaps =
                firsts.filter_map(|((process, layer), heap)| Some(((map.process(process)?, layer), map.heap(heap)?))).collect();
            let closed = std::mem::take(&mut self.source_choice.closed).into_iter();
            self.source_choice.closed = closed.filter_map(|(process, layer)| Some((map.process(process)?, layer))).collect();
            self.overlays.renumber();
            self.counters.renumber(|counter| map.counter(counter));
            // A preview is followed by a load that numbers sources alike: the graph stays until the next one is there.
            if !map.keeps_sources() {
                drop_aside(std::mem::take(&mut self.answers));
            }
        }
        Some(map)
    }
}
