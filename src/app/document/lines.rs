//! The lines of the graph, their arrangement and their colours.

use std::sync::Arc;

use super::Document;
use crate::app::state::alignment::Alignment;
use crate::app::state::answers::{CommittedLine, LayerOf};
use crate::app::state::graph::{Arrangement, GraphLine, LineOf, Split};
use crate::app::state::lanes::{Lane, Parts};
use crate::app::state::overlay::Overlay;
use crate::model::{HeapId, Trace};

impl Document {
    /// The kind of lines that the graph has.
    pub fn graph_split(&self) -> Split {
        self.views.split
    }

    /// The arrangement of the lines.
    pub fn arrangement(&self) -> Arrangement {
        self.arrangement
    }

    /// Changes the arrangement of the lines.
    pub fn arrange(&mut self, arrangement: Arrangement) {
        self.arrangement = arrangement;
        self.choose_lines();
        self.ask();
    }

    /// The lanes of sources, from top to bottom.
    pub fn lanes(&self) -> &[Lane] {
        self.lanes.all()
    }

    /// Heaps with a line, in order, if all lines share one scale.
    pub fn heap_lines(&self) -> &[HeapId] {
        self.lines.heaps()
    }

    /// The number of a line's colour, if it is drawn.
    pub fn color_of(&self, line: &LineOf) -> Option<usize> {
        self.colors.of(&self.color_key(line))
    }

    /// The number of the colour of all that a layer of a process has, whatever the filters leave of it, if it is drawn.
    pub fn color_of_whole(&self, (process, layer): LayerOf) -> Option<usize> {
        self.colors.of(&LineOf::Layer(process, layer))
    }

    /// Whether a heap has no line but the one of its lane, in which the filters leave no other heap.
    fn is_lane_alone(&self, heap: HeapId) -> bool {
        let is_it = |lane: &Lane| lane.only == Some(heap) && !lane.heaps.contains(&heap);
        self.arrangement == Arrangement::Lanes && self.lanes.all().iter().any(is_it)
    }

    /// Whether a line of the list of sources is drawn, or any line inside it.
    pub fn shows(&self, line: &LineOf) -> bool {
        let is_inside = |heap: &HeapId| {
            let heap = self.trace.heap(*heap);
            *line == LineOf::Layer(heap.process, heap.layer)
        };
        self.color_of(line).is_some() || self.arrangement == Arrangement::Together && self.lines.heaps().iter().any(is_inside)
    }

    /// The trace to lay over the graph, and where: lanes of sources can show another trace.
    pub(super) fn laid_over(&self) -> Option<(Arc<Trace>, Alignment)> {
        let has_lanes = self.arrangement == Arrangement::Lanes && self.graph_split() == Split::Sources && self.is_settled();
        let other = self.comparison.opened().filter(|_| has_lanes)?;
        Some((Arc::clone(&other.ready.trace), self.alignment.clone()?))
    }

    /// The line of the other trace in a lane, with the name of that trace.
    pub fn laid_line(&self, of: &LineOf) -> Option<(&GraphLine, &str)> {
        let LineOf::Layer(process, layer) = of else { return None };
        let (other, laid) = (self.comparison.opened()?, self.answers.laid.as_ref()?);
        let is_current = self.alignment.is_some() && laid.of.as_ptr() == Arc::as_ptr(&other.ready.trace);
        let (_, line) = laid.lines.iter().find(|(of, _)| *of == (*process, *layer)).filter(|_| is_current)?;
        Some((line, &other.name))
    }

    /// The bytes committed in the reservations of a lane's live blocks, if they are known.
    pub fn committed_line(&self, of: &LineOf) -> Option<&CommittedLine> {
        self.answers.committed.iter().find(|line| line.of == *of)
    }

    /// The drawn line that contains a heap: its own, or that of its layer.
    pub fn line_with(&self, heap: HeapId) -> Option<LineOf> {
        let own = LineOf::Heap(heap);
        let of = self.trace.heap(heap);
        let layer = LineOf::Layer(of.process, of.layer);
        [own, layer].into_iter().find(|line| self.color_of(line).is_some())
    }

    /// Shows or hides a line, whatever its size.
    pub(super) fn show_line(&mut self, of: &LineOf, shown: bool) {
        match *of {
            LineOf::Layer(process, layer) if self.arrangement == Arrangement::Together => {
                self.heaps_of((process, layer)).into_iter().for_each(|heap| self.lines.show(heap, shown));
            }
            LineOf::Layer(process, layer) => self.lanes.show((process, layer), shown),
            LineOf::Heap(heap) => {
                let heap_of = self.trace.heap(heap);
                let of = (heap_of.process, heap_of.layer);
                if !shown && self.is_lane_alone(heap) {
                    self.lanes.show(of, false);
                }
                let is_opened = self.lanes.get(of).is_some_and(|lane| lane.opened == Some(Parts::Heaps));
                if self.arrangement == Arrangement::Lanes && shown && !is_opened {
                    // Only its own lane, without the layer's other heaps.
                    self.heaps_of(of).into_iter().for_each(|other| self.lines.show(other, other == heap));
                    self.lanes.show(of, true);
                    self.lanes.open(of, Some(Parts::Heaps));
                }
                self.lines.show(heap, shown);
            }
            LineOf::Counter(counter) => self.counters.show(counter, shown),
            LineOf::Overlay(what) => self.overlays.show(what, shown),
            LineOf::Part(..) | LineOf::Type(_) | LineOf::OtherTypes(_) => {}
        }
        self.choose_lines();
    }

    fn heaps_of(&self, (process, layer): LayerOf) -> Vec<HeapId> {
        let heaps = (0..).map(HeapId).zip(&self.trace.heaps);
        heaps.filter(|(_, heap)| (heap.process, heap.layer) == (process, layer)).map(|(id, _)| id).collect()
    }

    /// Chooses again which heaps, layers and counters have a line. If the choice differs from the last
    /// query's, a new query is needed.
    pub(super) fn choose_lines(&mut self) {
        let filter = self.history.filters().under();
        let all = Arc::clone(&self.answers.overview);
        let known = self.answers.left.as_ref().filter(|(filters, left)| filters == self.filters() && left.has_any());
        // Until the filtered sizes are known, and if the filters leave nothing, all rows are used.
        let overview = known.map_or(all, |(_, left)| Arc::clone(left));
        self.needs_query |= self.lines.choose(&self.trace, &filter, &overview);
        self.needs_query |= self.lanes.choose(&self.trace, &filter, &overview, &self.lines, self.follows_end);
        self.needs_query |= self.counters.update(&self.trace, !self.lines.heaps().is_empty());
        self.source_list.sources(&self.trace, &self.answers.overview, &self.counters, &self.source_choice);
        self.choose_colors();
    }

    /// The number of source lines on the graph.
    pub(super) fn line_count(&self) -> usize {
        match self.arrangement {
            Arrangement::Lanes => self.lanes.all().iter().map(|lane| 1 + lane.heaps.len()).sum(),
            Arrangement::Together => self.lines.heaps().len(),
        }
    }

    /// The line by which a line's colour is known: a lane in which the filters leave one heap has that heap's colour, and
    /// the only heap of a layer that of its layer, however lines are arranged and whatever heaps come later.
    fn color_key(&self, line: &LineOf) -> LineOf {
        let overview = &self.answers.overview;
        let heap = match *line {
            LineOf::Heap(heap) => Some(heap),
            // Of several heaps, as far as that is known.
            LineOf::Layer(process, layer) if overview.layers.contains_key(&(process, layer)) => {
                let lane = self.lanes.get((process, layer)).filter(|_| self.arrangement == Arrangement::Lanes);
                lane.and_then(|lane| lane.only)
            }
            _ => None,
        };
        let Some(heap) = heap else { return line.clone() };
        let of = self.trace.heap(heap);
        let layer = (of.process, of.layer);
        match overview.only.get(&layer).or_else(|| self.first_heaps.get(&layer)) {
            Some(only) if *only == heap => LineOf::Layer(layer.0, layer.1),
            _ => LineOf::Heap(heap),
        }
    }

    /// Notes which heaps are the only ones of their layers while the trace grows before the user's eyes: their colour does
    /// not change when another heap comes.
    pub(super) fn note_first_heaps(&mut self) {
        if self.follows_end {
            let firsts = &mut self.first_heaps;
            self.answers.overview.only.iter().for_each(|(&layer, &heap)| _ = firsts.entry(layer).or_insert(heap));
        }
    }

    /// Gives each drawn line a colour.
    pub(super) fn choose_colors(&mut self) {
        let mut drawn: Vec<LineOf> = Vec::new();
        match (self.graph_split(), self.arrangement) {
            (Split::Sources, Arrangement::Lanes) => {
                drawn.extend(self.lanes.all().iter().map(|lane| LineOf::Layer(lane.of.0, lane.of.1)));
                drawn.extend(self.lanes.all().iter().flat_map(|lane| &lane.heaps).copied().map(LineOf::Heap));
            }
            (Split::Sources, Arrangement::Together) => {
                drawn.extend(self.lines.heaps().iter().map(|&heap| LineOf::of_heap(&self.trace, heap)));
            }
            (Split::Types | Split::Stack(_), _) => {}
        }
        drawn.extend(self.counters.shown().iter().copied().map(LineOf::Counter));
        let others = self.answers.graph.iter().flat_map(|graph| &graph.lines).map(|line| &line.of);
        drawn.extend(others.filter(|of| matches!(of, LineOf::Part(..) | LineOf::Type(_) | LineOf::OtherTypes(_))).cloned());
        let mut keys: Vec<LineOf> = Vec::new();
        // The lane of system memory draws a whole layer, whatever is filtered.
        let has_memory = self.arrangement == Arrangement::Lanes && self.draws(Overlay::Memory);
        let whole = self.memory_in_scope().filter(|_| has_memory).map(|(process, layer)| LineOf::Layer(process, layer));
        for key in drawn.iter().map(|line| self.color_key(line)).chain(whole) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        self.colors.assign(keys);
    }
}
