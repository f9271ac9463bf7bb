//! The open trace as the user sees it: view, selection, filter, open nodes, pins,
//! and the latest answers to all that. Pure state: no drawing, no computing.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::commands::DocCommand;
use super::counters::Counters;
use super::digest::Digest;
use super::graph::Graph;
pub use super::graph::Split;
use super::heap_lines::HeapLines;
use super::history::History;
use super::jobs::{Answer, JobId, Part, Query, drop_aside};
use super::names::Names;
use super::types::Types;
use crate::load::Input;
use crate::model::{HeapId, Trace};
use crate::query::{ByClass, Filter, Path, Series, Sort, Tree, TreeRequest, TreeRow, UnmatchedGroup};
use crate::units::{Interval, Ticks};

/// What the lower part shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tab {
    /// The tree table.
    Table,
    /// Allocated types.
    Types,
    /// Modules and what is known of them.
    Symbols,
    /// What the files hold and what is wrong with them.
    Trace,
}

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
    pub selection: Option<Interval>,
    pub filter: Filter,
    pub pins: Vec<Ticks>,
    pub tab: Tab,
    pub search: String,
    pub sort: Sort,
    pub selected: Option<Path>,
    /// Where the selected line stands in the table.
    selected_at: Option<usize>,
    /// Set when the selected line shall be scrolled into sight.
    pub reveal: bool,
    /// Points across the graph, set by its width.
    pub bins: usize,
    pub answers: Answers,
    pub counters: Counters,
    pub digest: Digest,
    /// Names of frames and types, once the trace does not grow any more.
    pub names: Option<Names>,
    /// Whether frames of the allocator are left out.
    pub fold: bool,
    pub types: Types,
    pub split: Split,
    toggled: Arc<FxHashMap<Path, bool>>,
    lines: HeapLines,
    needs_query: bool,
    user_acted: bool,
}

/// The latest answers. They can be older than the state; each knows its interval.
#[derive(Default)]
pub struct Answers {
    pub overview: Vec<Series>,
    unmatched: Option<(Vec<UnmatchedGroup>, usize)>,
    pub graph: Option<Graph>,
    pub table: Option<Table>,
    /// Whether the worker broke over the latest query; the window says why.
    pub failed: bool,
    pub peaks: Vec<u64>,
    pub spans: Vec<Interval>,
    pub pins: Option<(Interval, Vec<ByClass>)>,
}

/// The lines of the table. A growing trace can be ahead of them.
pub struct Table {
    pub interval: Interval,
    pub trace: Arc<Trace>,
    pub tree: Arc<Tree>,
}

impl Table {
    /// One line, spelled out.
    pub fn row(&self, index: usize) -> Option<TreeRow> {
        self.tree.row(&self.trace, index)
    }
}

impl Answers {
    /// Sums by heap of what the table is about.
    pub fn by_heap(&self) -> &[ByClass] {
        self.table.as_ref().map_or(&[], |table| table.tree.by_heap())
    }
}

impl Document {
    pub fn new(job: JobId, inputs: Vec<Input>, trace: Arc<Trace>) -> Self {
        let mut counters = Counters::default();
        counters.update(&trace, !trace.heaps.is_empty());
        let mut digest = Digest::default();
        digest.sources(&trace, &[], &counters);
        Self {
            job,
            inputs,
            counters,
            growing: !trace.complete,
            follows_end: false,
            history: History::new(trace.span),
            trace,
            selection: None,
            filter: Filter::all(),
            pins: Vec::new(),
            tab: Tab::Table,
            search: String::new(),
            sort: Sort::default(),
            selected: None,
            selected_at: None,
            reveal: false,
            bins: 600,
            answers: Answers::default(),
            digest,
            names: None,
            fold: true,
            types: Types::default(),
            split: Split::default(),
            toggled: Arc::default(),
            lines: HeapLines::default(),
            needs_query: true,
            user_acted: true,
        }
    }

    /// File names, for the title.
    pub fn name(&self) -> String {
        let short = |input: &Input| match input {
            Input::File(path) => path.file_name().map_or_else(|| input.name(), |n| n.to_string_lossy().into_owned()),
            Input::Demo => "Demo trace".to_owned(),
        };
        self.inputs.iter().map(short).collect::<Vec<_>>().join(" + ")
    }

    /// The trace has grown. A view of all of it goes on showing all of it.
    pub fn update(&mut self, trace: Arc<Trace>) {
        let (view, old) = (self.view(), self.trace.span);
        if view == old {
            self.history.grow(trace.span);
        } else if self.follows_end && view.to == old.to {
            let by = trace.span.to.0 - old.to.0;
            self.history.grow(Interval { from: Ticks(view.from.0 + by), to: trace.span.to });
        }
        self.growing = !trace.complete;
        drop_aside(std::mem::replace(&mut self.trace, trace));
        self.choose_lines();
        self.needs_query = true;
    }

    /// Nothing more will come: the trace stays as far as it was loaded.
    pub fn stop_growing(&mut self) {
        self.growing = false;
        self.ask();
    }

    /// Whether it stays as it is.
    pub fn is_settled(&self) -> bool {
        !self.growing
    }

    /// Leaves the frames of the allocator out, or shows them.
    pub fn fold_allocators(&mut self, fold: bool) {
        self.fold = fold;
        self.ask();
    }

    /// There are new names of frames and types.
    pub fn show_names(&mut self) {
        self.ask();
    }

    /// Whether loading was stopped before the end.
    pub fn is_partial(&self) -> bool {
        !self.growing && !self.trace.complete
    }

    /// What the table shows: the selection, or the view.
    pub fn interval(&self) -> Interval {
        self.selection.unwrap_or_else(|| self.view())
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
        Some(Query {
            document: self.job,
            trace: Arc::clone(&self.trace),
            growing: self.growing,
            view: self.view(),
            interval: self.interval(),
            heaps: self.lines.heaps().to_vec(),
            counters: self.counters.shown().to_vec(),
            bins: self.bins.min(ALL_BINS / self.lines.heaps().len().max(1)),
            tree: TreeRequest {
                filter: self.filter.clone(),
                search: self.search.clone(),
                sort: self.sort,
                names: self.names.as_ref().map(|names| Arc::clone(names.known())).unwrap_or_default(),
                fold: self.fold,
                only: None,
                toggled: Arc::clone(&self.toggled),
            },
            split: self.split,
            types: self.types.query(self.tab == Tab::Types),
            highlight: self.selected.clone().map(Filter::under),
            pins,
        })
    }

    pub fn take_answer(&mut self, answer: Answer) {
        if answer.document != self.job {
            return;
        }
        let answers = &mut self.answers;
        match answer.part {
            Part::Overview(lines) => {
                let first = answers.overview.len() != lines.len();
                drop_aside(std::mem::replace(&mut answers.overview, lines));
                self.choose_lines(); // only now it is known which heaps are the largest
                self.needs_query |= first;
            }
            Part::Unmatched(groups, all) => answers.unmatched = Some((groups, all)),
            Part::Graph(split, lines) => answers.graph = Some(Graph::new(self.trace.clock, split, lines)),
            Part::Types(table) => self.types.table = Some(table),
            Part::Counters { view, ids, lines } => self.counters.take(&self.trace, view, ids, lines),
            Part::Table { interval, trace, tree } => {
                self.digest.table(&trace, tree.by_heap());
                drop_aside(answers.table.replace(Table { interval, trace, tree }));
                answers.peaks.clear();
                answers.failed = false;
                self.find_selected();
            }
            Part::Peaks { tree, peaks } => {
                if answers.table.as_ref().is_some_and(|shown| Arc::ptr_eq(&shown.tree, &tree)) {
                    answers.peaks = peaks;
                }
            }
            Part::Spans(spans) => answers.spans = spans,
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
            DocCommand::Select(selection) => self.selection = selection.filter(|s| !s.is_empty()),
            DocCommand::ZoomToSelection => {
                if let Some(selection) = self.selection {
                    self.zoom(selection);
                }
            }
            DocCommand::Zoom(interval) => self.zoom(interval),
            DocCommand::ZoomStep(interval) => self.history.step(self.clamp(interval)),
            DocCommand::ZoomOut => self.zoom(self.trace.span),
            DocCommand::Back => self.history.back(),
            DocCommand::Forward => self.history.forward(),
            DocCommand::Pin(at) => self.pin(at),
            DocCommand::ClearPins => self.pins.clear(),
            DocCommand::Filter(filter) => self.set_filter(filter),
            DocCommand::ClearFilter => {
                self.types.chosen = None;
                self.set_filter(Filter::all());
            }
            DocCommand::ShowHeap(heap, shown) => {
                self.lines.show(&self.trace, heap, shown);
                self.choose_lines();
            }
            DocCommand::ShowCounter(id, shown) => {
                self.counters.show(id, shown);
                self.choose_lines();
            }
            DocCommand::ListAllCounters(all) => {
                self.counters.list_all = all;
                self.choose_lines();
            }
            DocCommand::SelectLine(path) => {
                self.selected = path;
                self.find_selected();
            }
            DocCommand::MoveLine(by) => self.move_line(by),
            DocCommand::Toggle(path, open) => {
                Arc::make_mut(&mut self.toggled).insert(path, open);
            }
            DocCommand::CollapseAll => self.collapse_all(),
            DocCommand::SortBy(column) => self.sort = self.sort.by(column),
            DocCommand::ChooseType(chosen) => self.types.chosen = chosen,
            DocCommand::SortTypesBy(column) => self.types.sort_by(column),
            DocCommand::SplitGraph(split) => self.split = split,
            DocCommand::Search(text) => *self.search_of_tab() = text,
            DocCommand::ShowTab(tab) => self.tab = tab,
        }
        self.ask();
    }

    fn set_filter(&mut self, filter: Filter) {
        // The open nodes stay; a line that is filtered away is no longer selected.
        let kept = self.selected.as_ref().is_some_and(|s| filter.is_all() || filter.any.iter().any(|p| s.starts_with(p)));
        if !kept {
            (self.selected, self.selected_at) = (None, None);
        }
        self.filter = filter;
        self.choose_lines();
    }

    // View and history

    fn clamp(&self, interval: Interval) -> Interval {
        let span = self.trace.span;
        let (from, to) = (interval.from.max(span.from), interval.to.min(span.to));
        if from < to { Interval { from, to } } else { self.view() }
    }

    fn zoom(&mut self, to: Interval) {
        self.selection = None;
        self.history.go(self.clamp(to));
    }

    fn pin(&mut self, at: Ticks) {
        if self.pins.len() < 2 {
            self.pins.push(at);
        } else if let Some(nearer) = self.pins.iter_mut().min_by_key(|pin| pin.0.abs_diff(at.0)) {
            *nearer = at;
        }
        self.pins.sort_unstable();
    }

    /// What Escape takes back next.
    pub fn escape(&self) -> DocCommand {
        if self.selection.is_some() {
            DocCommand::Select(None)
        } else if !self.pins.is_empty() {
            DocCommand::ClearPins
        } else if self.selected.is_some() {
            DocCommand::SelectLine(None)
        } else if !self.searched().is_empty() {
            DocCommand::Search(String::new())
        } else if self.types.chosen.is_some() {
            DocCommand::ChooseType(None)
        } else {
            DocCommand::Filter(Filter::all())
        }
    }

    /// What is searched for in the table in sight.
    pub fn searched(&self) -> &str {
        if self.tab == Tab::Types { &self.types.search } else { &self.search }
    }

    fn search_of_tab(&mut self) -> &mut String {
        if self.tab == Tab::Types { &mut self.types.search } else { &mut self.search }
    }

    // Lines of the graph

    /// Whether a heap has a line on the graph.
    pub fn is_shown(&self, heap: usize) -> bool {
        self.lines.has(heap)
    }

    /// Decides anew which heaps have a line.
    fn choose_lines(&mut self) {
        self.lines.choose(&self.trace, &self.filter, &self.answers.overview);
        self.counters.update(&self.trace, !self.lines.heaps().is_empty());
        self.digest.sources(&self.trace, &self.answers.overview, &self.counters);
    }

    /// Heaps with a line, in order.
    pub fn lines(&self) -> &[HeapId] {
        self.lines.heaps()
    }

    // The table

    /// Number of lines.
    pub fn line_count(&self) -> usize {
        self.answers.table.as_ref().map_or(0, |table| table.tree.len())
    }

    /// Finds the selected line once, not in every frame.
    fn find_selected(&mut self) {
        let find = |selected: &Path| self.answers.table.as_ref()?.tree.find(selected);
        self.selected_at = self.selected.as_ref().and_then(find);
    }

    pub fn selected_index(&self) -> Option<usize> {
        self.selected_at
    }

    pub fn selected_row(&self) -> Option<TreeRow> {
        self.answers.table.as_ref()?.row(self.selected_index()?)
    }

    fn move_line(&mut self, by: i64) {
        let last = self.line_count().saturating_sub(1) as i64;
        let to = match self.selected_index() {
            Some(index) => (index as i64 + by).clamp(0, last),
            None => 0,
        };
        self.selected = self.answers.table.as_ref().and_then(|table| table.tree.path(to as usize));
        self.selected_at = self.selected.as_ref().map(|_| to as usize);
        self.reveal = true;
    }

    /// The line above the selected one in the tree, or that itself at the top.
    pub fn parent_of_selected(&self) -> Option<Path> {
        let tree = &self.answers.table.as_ref()?.tree;
        let index = self.selected_index()?;
        tree.path(tree.parent(index).unwrap_or(index))
    }

    fn collapse_all(&mut self) {
        let closed = self.answers.table.iter().flat_map(|table| table.tree.tops()).map(|path| (path, false));
        self.toggled = Arc::new(closed.collect());
    }
}
