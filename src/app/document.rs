//! The open trace as the user sees it: view, selection, filter, open nodes, pins,
//! and the latest answers to all that. Pure state: no drawing, no computing.

mod finding;
mod growing;
mod lines;
mod steps;

use std::sync::Arc;

use super::answers::{Answers, Overview};
use super::beside::{Beside, short_name};
use super::commands::DocCommand;
use super::counters::Counters;
use super::digest::{Digest, SourceChoice};
use super::filters::{Chip, Filters, Predicate};
pub use super::graph::Split;
use super::graph::{Arrangement, Graph};
use super::happenings::Happenings;
use super::heap_lines::HeapLines;
use super::history::History;
use super::jobs::{Answer, JobId, Part, Query, drop_aside};
use super::lanes::Lanes;
use super::line_colors::LineColors;
use super::names::Names;
use super::providers::Providers;
use super::views::{Pane, ViewId, Views};
use crate::load::Input;
use crate::model::Trace;
use crate::query::{Path, UnmatchedGroup, Words};
use crate::symbols;
use crate::units::{Interval, Ticks};
pub use finding::source_of;
pub use steps::{Stop, lasting};

/// What the lower part shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tab {
    /// One of the views.
    View(ViewId),
    /// Modules and what is known of them.
    Symbols,
    /// What the files hold and what is wrong with them.
    Trace,
}

/// How lines of tables read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Whether calls without choice share a line.
    pub chains: bool,
    /// What lifetime classes are called.
    pub words: Words,
}

impl Default for Reading {
    fn default() -> Self {
        Self { chains: true, words: Words::Plain }
    }
}

/// Marks of a document: more generations cannot be told apart.
pub const MOST_MARKS: usize = 100;

/// Bins of all lines together: many lines are drawn more coarsely, each without
/// losing a peak, so that a frame costs the same.
const ALL_BINS: usize = 8000;

pub struct Document {
    pub job: JobId,
    pub inputs: Vec<Input>,
    pub trace: Arc<Trace>,
    /// Whether the trace is still being loaded.
    growing: bool,
    /// Whether a view of the end stays one while the trace grows.
    pub follows_end: bool,
    pub history: History,
    pub pins: Vec<Ticks>,
    /// The user's marks, in order: edges of generations.
    pub marks: Vec<Ticks>,
    /// A moment that is looked at: a line on the graph while the pointer is elsewhere.
    pub cursor: Option<Ticks>,
    /// What search, keys and menus act on.
    pub tab: Tab,
    /// What can be seen, that among it.
    in_sight: Vec<Tab>,
    /// Points across the graph, set by its width.
    pub bins: usize,
    pub answers: Answers,
    pub counters: Counters,
    pub happenings: Happenings,
    pub digest: Digest,
    pub source_choice: SourceChoice,
    /// Whose events were made marks when it was loaded.
    pub marked: Vec<String>,
    /// Who wrote events.
    pub providers: Providers,
    /// Names of frames and types, once the trace does not grow any more.
    pub names: Option<Names>,
    /// Whether frames of the allocator are left out.
    pub fold: bool,
    /// How lines of tables read.
    pub reading: Reading,
    pub views: Views,
    /// Another trace to compare with.
    pub beside: Beside,
    /// Whose lives the graph paints.
    highlight: Option<Path>,
    arrangement: Arrangement,
    lanes: Lanes,
    lines: HeapLines,
    colors: LineColors,
    needs_query: bool,
    user_acted: bool,
    /// What the tables showed when a button of the mouse went down, while it is down.
    held_since: Option<Interval>,
}

impl Document {
    pub fn new(job: JobId, inputs: Vec<Input>, trace: Arc<Trace>) -> Self {
        let mut counters = Counters::default();
        counters.update(&trace, !trace.heaps.is_empty());
        let mut digest = Digest::default();
        let source_choice = SourceChoice::default();
        digest.sources(&trace, &Overview::default(), &counters, &source_choice);
        let views = Views::default();
        let tab = views.first().map_or(Tab::Trace, Tab::View);
        Self {
            job,
            inputs,
            counters,
            growing: !trace.complete,
            follows_end: false,
            history: History::new(trace.span),
            trace,
            pins: Vec::new(),
            marks: Vec::new(),
            cursor: None,
            tab,
            in_sight: vec![tab],
            bins: 600,
            answers: Answers::default(),
            digest,
            source_choice,
            happenings: Happenings::default(),
            marked: Vec::new(),
            providers: Providers::default(),
            names: None,
            fold: true,
            reading: Reading::default(),
            views,
            beside: Beside::default(),
            highlight: None,
            arrangement: Arrangement::default(),
            lanes: Lanes::default(),
            lines: HeapLines::default(),
            colors: LineColors::default(),
            needs_query: true,
            user_acted: true,
            held_since: None,
        }
    }

    /// Whether lines of tables keep their places: while the user drags, what is looked at stays.
    pub fn holds_order(&self) -> bool {
        self.held_since.is_some()
    }

    /// Whether a button of the mouse is down.
    pub fn hold_order(&mut self, is_held: bool) {
        let interval = self.interval();
        match (is_held, self.held_since) {
            (true, None) => self.held_since = Some(interval),
            (false, Some(before)) => {
                self.held_since = None;
                if before != interval {
                    self.ask(); // in the order that is due
                }
            }
            _ => {}
        }
    }

    /// File names, for the title.
    pub fn name(&self) -> String {
        short_name(&self.inputs)
    }

    /// Leaves the frames of the allocator out, or shows them.
    pub fn fold_allocators(&mut self, fold: bool) {
        self.fold = fold;
        self.ask();
    }

    /// Lets the lines of tables read otherwise.
    pub fn read_as(&mut self, reading: Reading) {
        self.reading = reading;
        self.ask();
    }

    /// There are new names of frames and types.
    pub fn show_names(&mut self) {
        self.ask();
    }

    /// What is known of names by now.
    pub fn known_names(&self) -> Arc<symbols::Names> {
        self.names.as_ref().map(|names| Arc::clone(names.known())).unwrap_or_default()
    }

    /// What the tables show: the selection, or the view.
    pub fn interval(&self) -> Interval {
        self.selection().unwrap_or_else(|| self.view())
    }

    /// What is selected on the graph.
    pub fn selection(&self) -> Option<Interval> {
        self.history.selection()
    }

    /// What the graph shows.
    pub fn view(&self) -> Interval {
        self.history.view()
    }

    pub fn needs_query(&self) -> bool {
        self.needs_query
    }

    /// Whether the user, and not the growing trace, asked for what is next; once.
    pub fn user_acted(&mut self) -> bool {
        std::mem::take(&mut self.user_acted)
    }

    /// The query for the present state, if it has not been asked yet.
    pub fn next_query(&mut self) -> Option<Query> {
        if !std::mem::take(&mut self.needs_query) {
            return None;
        }
        let pins = match self.pins[..] {
            [a, b] => Some(Interval::new(a, b)),
            _ => None,
        };
        let highlight = self.panes_in_sight().find_map(Pane::highlight);
        if self.highlight != highlight {
            self.answers.lives = None; // those of the one before
            self.highlight.clone_from(&highlight);
        }
        Some(Query {
            document: self.job,
            trace: Arc::clone(&self.trace),
            growing: self.growing,
            view: self.view(),
            interval: self.interval(),
            heaps: self.lines.heaps().to_vec(),
            lanes: self.lanes.all().to_vec(),
            counters: self.counters.shown().to_vec(),
            happenings: self.asked_happenings(),
            bins: self.bins.min(ALL_BINS / self.line_count().max(1)),
            filters: self.filters().clone(),
            names: self.known_names(),
            fold: self.fold,
            split: self.graph_split(),
            arrangement: self.arrangement,
            asks: self.views.ask(&self.views_in_sight(), self),
            highlight,
            pins,
        })
    }

    pub fn take_answer(&mut self, answer: Answer) {
        // What was asked of another load speaks of other heaps.
        if answer.document != self.job || answer.builder != self.trace.builder() {
            return;
        }
        let answers = &mut self.answers;
        match answer.part {
            Part::Overview(lines) => {
                drop_aside(std::mem::replace(&mut answers.overview, lines));
                self.choose_lines(); // only now it is known which heaps are the largest
            }
            Part::Unmatched(groups, all) => answers.unmatched = Some((groups, all)),
            Part::Graph(split, lines) => {
                answers.graph = Some(Graph::new(self.trace.clock, split, lines));
                self.choose_colors();
            }
            Part::View(view, answer) if self.in_sight.contains(&Tab::View(view)) || self.views.is_always_asked(view) => {
                answers.failed = false;
                if self.views.take(view, answer, &self.trace) {
                    self.ask();
                }
            }
            Part::View(..) => {} // nobody keeps it up any more
            Part::Counters { view, ids, lines } => self.counters.take(&self.trace, view, ids, lines),
            Part::Happened(happened) => drop_aside(std::mem::replace(&mut self.happenings.answer, *happened)),
            Part::Sources { trace, by_heap, numbers } => {
                self.digest.layers(&trace, &by_heap, &numbers);
                answers.numbers = numbers;
                answers.failed = false;
            }
            Part::Lives(lives) => answers.lives = lives,
            Part::Failed(_) => answers.failed = true,
            Part::Pins { interval, by_heap } => answers.pins = Some((interval, by_heap)),
        }
    }

    /// Frees of unknown blocks by place, and of how many places, once that is known.
    pub fn unmatched(&self) -> Option<(&[UnmatchedGroup], usize)> {
        self.answers.unmatched.as_ref().map(|(groups, all)| (groups.as_slice(), *all))
    }

    /// Changes what has to be asked.
    fn ask(&mut self) {
        self.needs_query = true;
        self.user_acted = true;
    }

    pub fn set_bins(&mut self, bins: usize) {
        if self.bins != bins {
            self.bins = bins;
            self.ask();
        }
    }

    pub fn carry_out(&mut self, command: DocCommand) {
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
            DocCommand::ZoomStep(interval) => self.history.step(self.clamp(interval)),
            DocCommand::ZoomOut => self.history.go(self.trace.span),
            DocCommand::Back => self.go(History::back),
            DocCommand::Forward => self.go(History::forward),
            DocCommand::Pin(at) => self.pin(at),
            DocCommand::ClearPins => self.pins.clear(),
            DocCommand::Mark(at) => self.mark(at.unwrap_or(self.trace.span.to)),
            DocCommand::MarkEvenly(parts) => self.mark_evenly(parts),
            DocCommand::ClearMarks => self.marks.clear(),
            DocCommand::MarkAll(marks) => {
                self.marks = marks;
                self.marks.sort_unstable();
                self.marks.dedup();
                self.marks.truncate(MOST_MARKS);
            }
            DocCommand::PutCursor(at) => {
                self.cursor = at;
                return; // no number changes
            }
            DocCommand::StepTo(stop) => {
                if !self.step_to(stop) {
                    return;
                }
            }
            DocCommand::ChooseChain(chain) => self.happenings.chain = Some(chain),
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
            DocCommand::GoToFinding(finding) => self.go_to_finding(&finding),
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
            DocCommand::Unselect => self.change_view(|view, _| view.unselect()),
            DocCommand::GoToFound => self.change_view(|view, document| view.go_to_found(document)),
            DocCommand::Search(text) => self.change_view(|view, _| view.search(text)),
            DocCommand::ShowTab(tab) => self.tab = tab,
        }
        self.ask();
    }

    /// What is filtered.
    pub fn filters(&self) -> &Filters {
        self.history.filters()
    }

    /// Filters to a node of the tree.
    fn filter_to(&mut self, path: Option<Path>) {
        self.change_filters(|filters| match path {
            Some(path) => filters.add(Chip::only(Predicate::Under(path))),
            None => filters.remove_node(),
        });
    }

    fn change_filters(&mut self, change: impl FnOnce(&mut Filters)) {
        let mut filters = self.filters().clone();
        change(&mut filters);
        self.history.filter(filters);
        self.filters_changed();
    }

    fn filters_changed(&mut self) {
        self.views.filtered(self.history.filters());
        self.choose_lines();
    }

    // View and history

    fn clamp(&self, interval: Interval) -> Interval {
        let span = self.trace.span;
        let (from, to) = (interval.from.max(span.from), interval.to.min(span.to));
        if from < to { Interval { from, to } } else { self.view() }
    }

    /// Goes one step through the history.
    fn go(&mut self, step: fn(&mut History)) {
        let before = self.filters().clone();
        step(&mut self.history);
        if before != *self.filters() {
            self.filters_changed();
        }
    }

    fn pin(&mut self, at: Ticks) {
        if self.pins.len() < 2 {
            self.pins.push(at);
        } else if let Some(nearer) = self.pins.iter_mut().min_by_key(|pin| pin.0.abs_diff(at.0)) {
            *nearer = at;
        }
        self.pins.sort_unstable();
    }

    /// Sets a mark; once more takes it away.
    fn mark(&mut self, at: Ticks) {
        match self.marks.binary_search(&at) {
            Ok(known) => _ = self.marks.remove(known),
            Err(place) if self.marks.len() < MOST_MARKS => self.marks.insert(place, at),
            Err(_) => {}
        }
    }

    fn mark_evenly(&mut self, parts: usize) {
        let interval = self.interval();
        let edge = |i: usize| interval.from.0 as i128 + i128::from(interval.len()) * i as i128 / parts.max(1) as i128;
        self.marks = (1..parts).map(|i| Ticks(edge(i) as i64)).collect();
    }

    /// What Escape takes back next.
    pub fn escape(&self) -> DocCommand {
        if self.selection().is_some() {
            DocCommand::Select(None)
        } else if self.cursor.is_some() {
            DocCommand::PutCursor(None)
        } else if !self.pins.is_empty() {
            DocCommand::ClearPins
        } else if self.view_in_sight().and_then(|view| self.views.get(view)).is_some_and(Pane::has_selected) {
            DocCommand::Unselect
        } else if self.searched().is_some_and(|text| !text.is_empty()) {
            DocCommand::Search(String::new())
        } else if let Some(chip) = self.filters().chips().last() {
            DocCommand::RemoveChip(chip.what.clone())
        } else {
            DocCommand::ClearFilter
        }
    }

    /// What is searched for in the table in sight.
    pub fn searched(&self) -> Option<&str> {
        self.views.get(self.view_in_sight()?)?.searched()
    }

    /// What can be seen besides the graph.
    pub fn in_sight(&self) -> &[Tab] {
        &self.in_sight
    }

    /// All views in sight, that on which keys act first.
    pub fn views_in_sight(&self) -> Vec<ViewId> {
        let view = |tab: &Tab| if let Tab::View(view) = *tab { Some(view) } else { None };
        let others = self.in_sight.iter().filter(|tab| **tab != self.tab).filter_map(view);
        view(&self.tab).into_iter().chain(others).collect()
    }

    /// The same, as what the window does with them.
    pub fn panes_in_sight(&self) -> impl Iterator<Item = &dyn Pane> {
        self.views_in_sight().into_iter().filter_map(|view| self.views.get(view))
    }

    /// Something else can be seen from now on, `tab` among it.
    pub fn look_at(&mut self, tab: Tab, in_sight: Vec<Tab>) {
        for before in self.views_in_sight() {
            if !in_sight.contains(&Tab::View(before)) && !self.views.is_always_asked(before) {
                self.views.forget(before); // nobody keeps it up any more
            }
        }
        (self.tab, self.in_sight) = (tab, in_sight);
        self.ask();
    }

    /// The view that search, keys and menus act on, if it is not another tab.
    pub fn view_in_sight(&self) -> Option<ViewId> {
        match self.tab {
            Tab::View(view) => Some(view),
            Tab::Symbols | Tab::Trace => None,
        }
    }

    /// Lets the view in sight change.
    fn change_view(&mut self, change: impl FnOnce(&mut dyn Pane, &Self)) {
        let Some(view) = self.view_in_sight() else { return };
        self.with_views(|views, document| {
            if let Some(view) = views.get_mut(view) {
                change(view, document);
            }
        });
    }

    /// Lets the views change, which see the document without them.
    fn with_views<T>(&mut self, change: impl FnOnce(&mut Views, &Self) -> T) -> T {
        let mut views = std::mem::replace(&mut self.views, Views::none());
        let result = change(&mut views, self);
        self.views = views;
        result
    }
}
