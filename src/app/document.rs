//! The open trace as the user sees it: view, selection, filters, pins, marks, and the latest answers
//! for them. Pure state: no drawing, no computing, and no views; of these it knows a [`ViewSummary`].

mod activity;
mod commands;
mod finding;
mod growing;
mod imagined;
mod lines;
mod offers;
mod resuming;
mod steps;

use std::sync::Arc;

use crate::app::jobs::{Answer, Ask, JobId, Part, Query, Request, drop_aside};
use crate::app::services::comparison::Comparison;
use crate::app::services::names::Names;
use crate::app::services::providers::Providers;
use crate::app::state::alignment::Alignment;
use crate::app::state::answers::{Answers, LayerOf, Overview};
use crate::app::state::counters::Counters;
use crate::app::state::filters::{Filters, Scope};
pub use crate::app::state::graph::Split;
use crate::app::state::graph::{Arrangement, Graph};
use crate::app::state::heap_lines::HeapLines;
use crate::app::state::history::History;
use crate::app::state::ids::{Reading, Tab, ViewId};
use crate::app::state::inputs::short_name;
use crate::app::state::lanes::Lanes;
use crate::app::state::line_colors::LineColors;
use crate::app::state::overlays::Overlays;
use crate::app::state::provider_choice::ProviderChoice;
use crate::app::state::source_list::{SourceChoice, SourceList};
use crate::load::Input;
use crate::model::{HeapId, Trace};
use crate::query::{Fold, Path};
use crate::stack_rules::StackRules;
use crate::tables::KeyedMap;
use crate::units::{Interval, Ticks};
use crate::{paths, symbols};
pub use finding::{FoundStops, source_of};
pub use steps::lasting;

/// Bins of all lines together: many lines are drawn more coarsely, each without losing a peak, so that
/// the cost of a frame stays the same.
const ALL_BINS: usize = 8000;

/// The properties of the visible views on which the document depends.
#[derive(Clone, Debug, Default)]
pub struct ViewSummary {
    /// The kind of lines that the graph has.
    pub split: Split,
    /// The selected row whose lifetimes are drawn on the graph.
    pub highlight: Option<Path>,
    /// The search text of the active view, if that can be searched.
    pub searched: Option<String>,
    /// Whether the active view has a selected row.
    pub has_selected: bool,
    /// Whether a view shows the moment of the graph's cursor.
    pub follows_cursor: bool,
}

pub struct Document {
    pub job: JobId,
    pub inputs: Vec<Input>,
    /// Protects the input files from being overwritten.
    pub files: Arc<paths::Reading>,
    pub trace: Arc<Trace>,
    /// Whether the trace is still being loaded.
    growing: bool,
    /// Whether the user watches or has watched the trace grow: a view that ends at the trace's end follows it meanwhile, and
    /// lanes keep their places.
    pub follows_end: bool,
    pub history: History,
    /// The cursor: a moment drawn as a line on the graph while the pointer is elsewhere.
    pub cursor: Option<Ticks>,
    /// The moment under the graph's cursor, if a view follows it.
    pub moment: Option<Ticks>,
    /// The tab that search, keys and menus act on.
    pub tab: Tab,
    /// Whether that is only the tab of the trace before, and none that the user has chosen for this one.
    pub tab_is_left: bool,
    /// All visible tabs, including `tab`.
    in_sight: Vec<Tab>,
    /// Points across the graph; follows from its width.
    pub bins: usize,
    pub answers: Answers,
    pub counters: Counters,
    pub overlays: Overlays,
    pub source_list: SourceList,
    pub source_choice: SourceChoice,
    /// The providers whose events were made marks when the trace was loaded.
    pub providers_read: ProviderChoice,
    /// The providers that have events in the trace.
    pub providers: Providers,
    /// Names of frames and types, once the trace is live or no longer grows.
    pub names: Option<Names>,
    /// Which frames are folded away.
    pub fold: Fold,
    /// The wording and layout of table lines.
    pub reading: Reading,
    /// Another trace to compare with, and where it is laid over the graph; `None` if it is not drawn.
    pub comparison: Comparison,
    pub alignment: Option<Alignment>,
    views: ViewSummary,
    /// The findings that were gone to, each with the stop of the history to which it belongs.
    pub found: FoundStops,
    arrangement: Arrangement,
    lanes: Lanes,
    lines: HeapLines,
    colors: LineColors,
    /// The first heap of each layer in a trace that grows before the user's eyes: it has the colour of its layer for good.
    first_heaps: KeyedMap<LayerOf, HeapId>,
    needs_query: bool,
    user_acted: bool,
    /// The interval of the tables when a mouse button went down; `None` while none is down.
    held_since: Option<Interval>,
}

impl Document {
    /// Decimals of seconds: milliseconds, and in a short view a hundredth of it.
    pub fn decimals(&self) -> usize {
        let view = self.view();
        let length = self.trace.clock.seconds(view.to) - self.trace.clock.seconds(view.from);
        (2.0 - length.max(1e-6).log10()).ceil().clamp(3.0, 9.0) as usize
    }

    pub fn new(job: JobId, inputs: Vec<Input>, files: Arc<paths::Reading>, trace: Arc<Trace>) -> Self {
        let mut counters = Counters::default();
        counters.update(&trace, !trace.heaps.is_empty());
        let mut source_list = SourceList::default();
        let source_choice = SourceChoice::default();
        source_list.sources(&trace, &Overview::default(), &counters, &source_choice);
        let tab = Tab::View(ViewId::Stacks);
        Self {
            job,
            inputs,
            files,
            counters,
            growing: !trace.complete,
            follows_end: false,
            history: History::new(trace.span),
            trace,
            cursor: None,
            moment: None,
            tab,
            tab_is_left: false,
            in_sight: vec![tab],
            bins: 600,
            answers: Answers::default(),
            source_list,
            source_choice,
            overlays: Overlays::default(),
            providers_read: ProviderChoice::default(),
            providers: Providers::default(),
            names: None,
            fold: Fold::Foreign,
            reading: Reading::default(),
            comparison: Comparison::default(),
            alignment: Some(Alignment::default()),
            views: ViewSummary::default(),
            found: FoundStops::default(),
            arrangement: Arrangement::default(),
            lanes: Lanes::default(),
            lines: HeapLines::default(),
            colors: LineColors::default(),
            first_heaps: KeyedMap::default(),
            needs_query: true,
            user_acted: true,
            held_since: None,
        }
    }

    /// Whether table lines keep their places: they do not jump while the user drags.
    pub fn holds_order(&self) -> bool {
        self.held_since.is_some()
    }

    /// Holds the order of table lines while a mouse button is down.
    pub fn hold_order(&mut self, is_held: bool) {
        let interval = self.interval();
        match (is_held, self.held_since) {
            (true, None) => self.held_since = Some(interval),
            (false, Some(before)) => {
                self.held_since = None;
                if before != interval {
                    self.ask(); // sorts the lines again
                }
            }
            _ => {}
        }
    }

    /// File names, for the title.
    pub fn name(&self) -> String {
        short_name(&self.inputs)
    }

    /// Shows all frames, or folds away those outside the user's code.
    pub fn show_all_frames(&mut self, all: bool) {
        self.fold = if all { Fold::Nothing } else { Fold::Foreign };
        self.ask();
    }

    /// Changes the wording and layout of table lines.
    pub fn read_as(&mut self, reading: Reading) {
        self.reading = reading;
        self.ask();
    }

    /// Asks again, with new names of frames and types.
    pub fn show_names(&mut self) {
        self.ask();
    }

    /// Applies these rules from now on.
    pub fn set_rules(&mut self, rules: &Arc<StackRules>) {
        self.names.iter_mut().for_each(|names| names.set_rules(rules));
        self.comparison.opened_mut().into_iter().for_each(|opened| opened.set_rules(rules));
        self.show_names();
    }

    /// The names known so far.
    pub fn known_names(&self) -> Arc<symbols::Names> {
        self.names.as_ref().map(|names| Arc::clone(names.known())).unwrap_or_default()
    }

    /// The interval of the tables: the selection, or else the view.
    pub fn interval(&self) -> Interval {
        self.selection().unwrap_or_else(|| self.view())
    }

    /// The interval selected on the graph.
    pub fn selection(&self) -> Option<Interval> {
        self.history.selection()
    }

    /// The pins, in order.
    pub fn pins(&self) -> &[Ticks] {
        self.history.pins()
    }

    /// The user's marks, in order: edges of generations.
    pub fn marks(&self) -> &[Ticks] {
        self.history.marks()
    }

    /// The interval that the graph shows.
    pub fn view(&self) -> Interval {
        self.history.view()
    }

    /// Whether a visible view shows the moment of the graph's cursor.
    pub fn follows_cursor(&self) -> bool {
        self.views.follows_cursor
    }

    pub fn needs_query(&self) -> bool {
        self.needs_query
    }

    /// Whether the next query was caused by the user and not by the growing trace; resets the flag.
    pub fn user_acted(&mut self) -> bool {
        std::mem::take(&mut self.user_acted)
    }

    /// Takes note of changed views.
    pub(super) fn summarize(&mut self, views: ViewSummary) {
        if self.views.highlight != views.highlight {
            self.answers.lifetime_band = None; // they belong to the previous highlight
        }
        self.views = views;
    }

    /// The request for the present state, with those of the views.
    pub(super) fn next_request(&mut self, asks: Vec<Arc<dyn Ask>>) -> Request {
        self.needs_query = false;
        let pins = match *self.pins() {
            [a, b] => Some(Interval::new(a, b)),
            _ => None,
        };
        let query = Query {
            document: self.job,
            trace: Arc::clone(&self.trace),
            growing: self.growing,
            view: self.view(),
            interval: self.interval(),
            heaps: self.lines.heaps().to_vec(),
            lanes: self.lanes.all().to_vec(),
            counters: self.counters.shown().to_vec(),
            overlays: self.asked_overlays(),
            bins: self.bins.min(ALL_BINS / self.line_count().max(1)),
            filters: self.filters().clone(),
            names: self.known_names(),
            fold: self.fold,
            split: self.graph_split(),
            arrangement: self.arrangement,
            highlight: self.views.highlight.clone(),
            pins,
            laid: self.laid_over(),
        };
        Request { query, asks }
    }

    /// Whether an answer is about this trace: one about another load uses other heap numbers.
    pub(super) fn accepts(&self, answer: &Answer) -> bool {
        answer.document == self.job && answer.builder == self.trace.builder()
    }

    /// Stores an answer that is accepted and not about a view.
    pub(super) fn take_answer(&mut self, answer: Answer) {
        let answers = &mut self.answers;
        match answer.part {
            Part::Overview(lines) => {
                drop_aside(std::mem::replace(&mut answers.overview, lines));
                self.note_first_heaps();
                self.choose_lines(); // the largest heaps are only known now
            }
            Part::Left(filters, lines) => {
                drop_aside(answers.left.replace((filters, lines)));
                self.choose_lines(); // the largest heaps after filtering are only known now
            }
            Part::Graph(split, lines) => {
                answers.graph = Some(Graph::new(self.trace.clock, split, lines));
                self.choose_colors();
            }
            Part::View(..) => {} // the workspace has given it to the view
            Part::Counters { view, ids, lines } => self.counters.take(&self.trace, view, ids, lines),
            Part::OverlayAnswer(happened) => drop_aside(std::mem::replace(&mut self.overlays.answer, *happened)),
            Part::Sources { trace, by_heap } => {
                let led = self.source_list.leading_layer().map(|sum| sum.layer);
                self.source_list.layers(&trace, &by_heap);
                // Views that follow the leading layer were asked before it was known.
                self.needs_query |= self.source_list.leading_layer().map(|sum| sum.layer) != led;
                answers.numbers = by_heap.iter().map(Into::into).collect();
                answers.failed = false;
            }
            Part::Committed(lines) => answers.committed = lines,
            Part::Laid(lines) => answers.laid = Some(lines),
            Part::LifetimeBand(lives) => answers.lifetime_band = lives,
            Part::Failed(_) => answers.failed = true,
            Part::Pins { interval, by_heap } => answers.pins = Some((interval, by_heap)),
        }
    }

    /// Marks the state as changed, so that a new query is sent.
    pub(super) fn ask(&mut self) {
        self.needs_query = true;
        self.user_acted = true;
    }

    pub fn set_bins(&mut self, bins: usize) {
        if self.bins != bins {
            self.bins = bins;
            self.ask();
        }
    }

    /// The current filters.
    pub fn filters(&self) -> &Filters {
        self.history.filters()
    }

    /// The rows that count now.
    pub fn scope(&self) -> Scope {
        self.filters().scope(self.interval())
    }

    /// Small lines of the filtered rows, once they are known.
    pub fn left(&self) -> Option<&Overview> {
        self.answers.left.as_ref().filter(|(filters, _)| filters == self.filters()).map(|(_, left)| &**left)
    }

    /// The search text of the active table.
    pub fn searched(&self) -> Option<&str> {
        self.views.searched.as_deref()
    }

    /// The visible tabs besides the graph.
    pub fn in_sight(&self) -> &[Tab] {
        &self.in_sight
    }

    /// All visible views, the one with the keys first.
    pub fn views_in_sight(&self) -> Vec<ViewId> {
        let view = |tab: &Tab| if let Tab::View(view) = *tab { Some(view) } else { None };
        let others = self.in_sight.iter().filter(|tab| **tab != self.tab).filter_map(view);
        view(&self.tab).into_iter().chain(others).collect()
    }

    /// Takes note that other tabs are visible now, `tab` being the active one.
    pub(super) fn look_at(&mut self, tab: Tab, in_sight: Vec<Tab>) {
        (self.tab, self.in_sight) = (tab, in_sight);
        self.ask();
    }

    /// The view that search, keys and menus act on; `None` if that tab is not a view.
    pub fn view_in_sight(&self) -> Option<ViewId> {
        match self.tab {
            Tab::View(view) => Some(view),
            Tab::Symbols | Tab::Trace => None,
        }
    }
}
