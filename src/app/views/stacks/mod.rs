//! The tree of processes, layers, heaps, lifetime classes, stacks and single allocations: it shows where the
//! memory is, with callers outermost.
//!
//! The user selects and opens nodes by their paths, in terms of the open trace. The rows of the table can be
//! from the previous publication of the trace; a [`KeyMap`] translates paths between publications.

mod keys;
mod lines;
mod panel;
mod place;
mod selected;
mod table;
mod text;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::node_details::NodeDetails;
use super::view::{View, ViewContext};
use crate::app::commands::DocCommand;
use crate::app::document::Document;
use crate::app::jobs::{QueryContext, drop_aside};
use crate::app::services::names::Looked;
use crate::app::state::ids::{Reading, ViewId};
use crate::app::widgets::columns::Wholes;
use crate::model::Trace;
use crate::query::{
    Cancelled, Column, Filter, Key, KeyMap, Path, Sort, TouchedLines, Tree, TreeRequest, TreeRow, magnitude, peaks, sort_nodes,
    touched_lines, tree, upper_peaks,
};
use crate::tables::{KeyedMap, KeyedSet};
use selected::SelectedLine;
use table::Table;

/// Nodes that the user opened or closed.
type Toggled = Arc<KeyedMap<Path, bool>>;

/// The view's request.
pub struct Request {
    search: String,
    sort: Sort,
    toggled: Toggled,
    reading: Reading,
    /// Positions that rows keep while the document holds the order of its tables; else empty.
    held: Arc<KeyedMap<Path, u32>>,
    /// The node whose details are wanted, if any.
    details: Option<Path>,
    /// The rows, once they are made: [`View::answer`] and [`View::complete`] add different parts to the same ones.
    tree: OnceLock<Arc<Tree>>,
}

impl PartialEq for Request {
    fn eq(&self, other: &Self) -> bool {
        let rest = |of: &Self| (of.sort, of.reading);
        let same = rest(self) == rest(other) && self.search == other.search && self.details == other.details;
        same && self.toggled == other.toggled && self.held == other.held
    }
}

/// State of the view.
#[derive(Clone, Default)]
pub struct Stacks {
    search: String,
    sort: Sort,
    toggled: Toggled,
    selected: SelectedLine,
    table: Option<Arc<Table>>,
    /// The user's choice whether the details of the selected row are shown beside the table.
    wants_details: Option<bool>,
    /// Whether the view is wide enough for them.
    is_wide: bool,
}

impl Stacks {
    /// Whether the details of the selected row are shown: as the user chose, else if the view is wide enough
    /// and a row is selected.
    fn shows_details(&self) -> bool {
        self.wants_details.unwrap_or(self.is_wide && self.selected.path().is_some())
    }
}

impl View for Stacks {
    const ID: ViewId = ViewId::Stacks;
    type Request = Request;
    type Answer = Table;

    fn request(&self, document: &Document) -> Option<Request> {
        let details = self.selected.path().filter(|_| self.shows_details()).cloned();
        let order = self.table.as_ref().filter(|_| document.holds_order()).map(|table| Arc::clone(&table.order));
        Some(Request {
            search: self.search.clone(),
            sort: self.sort.in_interval(document.interval()),
            toggled: Arc::clone(&self.toggled),
            reading: document.reading,
            held: order.unwrap_or_default(),
            details,
            tree: OnceLock::new(),
        })
    }

    fn answer(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Table)) -> Result<(), Cancelled> {
        let tree = request.tree(query)?;
        // Peaks that need a pass over the events are left to `complete`, which does not run while the trace grows.
        let peaks = match query.grows() {
            true => {
                let totals = query.totals()?;
                upper_peaks(&query.index, &totals, &tree, query.cancel)?
            }
            false => Vec::new(),
        };
        tell(request.table(tree, peaks, query)?);
        Ok(())
    }

    fn complete(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Table)) -> Result<(), Cancelled> {
        let tree = request.tree(query)?;
        let peaks = peaks(&query.index, query.interval(), &tree, query.cancel)?;
        let touched = touched_lines(&query.index, query.interval(), &tree, query.cancel)?;
        let (tree, peaks, touched) = request.sort_by_late(tree, peaks, touched);
        let mut table = request.table(tree, peaks.into_iter().map(Some).collect(), query)?;
        table.touched = touched;
        table.details = request.details.as_ref().map(|path| NodeDetails::of(path, query)).transpose()?;
        tell(table);
        Ok(())
    }

    fn bytes(table: &Table) -> usize {
        table.tree.bytes() + table.order.len() * size_of::<(Path, u32)>() + size_of_val(&table.peaks[..])
    }

    fn take(&mut self, mut table: Table) {
        let before = self.table.take();
        if let (None, Some(before)) = (&table.details, before.as_ref()) {
            let is_about = |details: &&NodeDetails| Some(&details.path) == self.selected.path() && details.is_of(&table.trace);
            table.details = before.details.as_ref().filter(is_about).cloned(); // the new one is on its way
        }
        self.table = Some(Arc::new(table));
        drop_aside(before);
    }
}

impl Request {
    fn tree(&self, query: &mut QueryContext<'_>) -> Result<Arc<Tree>, Cancelled> {
        if let Some(tree) = self.tree.get() {
            return Ok(Arc::clone(tree));
        }
        let request = TreeRequest {
            filter: Filter::all(),
            search: self.search.clone(),
            sort: self.sort,
            names: Arc::clone(query.names()),
            fold: query.folds(),
            trimmed: query.trimmed()?,
            only: Some(Arc::clone(&query.mask)),
            toggled: Arc::clone(&self.toggled),
            chains: self.reading.chains,
            joins_at_instants: true,
            words: self.reading.words,
            held: Arc::clone(&self.held),
        };
        let tree = Arc::new(tree(query.trace(), &*query.totals()?, &request, query.cancel)?);
        Ok(Arc::clone(self.tree.get_or_init(|| tree)))
    }

    fn table(&self, tree: Arc<Tree>, peaks: Vec<Option<u64>>, query: &QueryContext<'_>) -> Result<Table, Cancelled> {
        let trace = Arc::clone(query.trace());
        let found = tree.first_found(&trace, &self.search, query.cancel)?;
        let ambiguous = ambiguous(&tree, &trace);
        let wholes = self.wholes(&tree, &peaks, &trace);
        Ok(Table {
            interval: query.interval(),
            trace,
            order: Arc::new(tree.order()),
            tree,
            peaks,
            touched: None,
            wholes,
            frames: query.frame_count(),
            search: self.search.clone(),
            found,
            ambiguous,
            details: None,
        })
    }
}

impl Request {
    /// Sorts the lines by a number that is computed after the others, if that is the sort column.
    fn sort_by_late(
        &self,
        mut tree: Arc<Tree>,
        mut peaks: Vec<u64>,
        mut touched: Option<TouchedLines>,
    ) -> (Arc<Tree>, Vec<u64>, Option<TouchedLines>) {
        let Sort { column, descending } = self.sort;
        let numbers = match (column, &touched) {
            (Column::Peak, _) => peaks.clone(),
            (Column::Touched, Some(touched)) => touched.of_nodes(),
            _ => return (tree, peaks, touched),
        };
        let (mut sorted, order) = sort_nodes(Arc::unwrap_or_clone(tree), &numbers, descending);
        peaks = order.iter().map(|&line| peaks[line as usize]).collect();
        touched = touched.map(|touched| touched.reordered(&order));
        if let (Column::Touched, Some(touched)) = (column, &touched) {
            touched.sort_listings(&mut sorted, descending);
        }
        tree = Arc::new(sorted);
        (tree, peaks, touched)
    }

    /// The totals of the sort column per layer, within the filters.
    fn wholes(&self, tree: &Tree, peaks: &[Option<u64>], trace: &Trace) -> Wholes {
        let mut wholes = Wholes::default();
        for (heap, sums) in trace.heaps.iter().zip(tree.by_heap()) {
            match self.sort.column {
                Column::Peak => {}
                Column::Impacting => wholes.add_change(heap.layer, sums),
                column => wholes.add(heap.layer, magnitude(column, &sums.numbers())),
            }
        }
        if self.sort.column == Column::Peak {
            tree.layers().for_each(|(line, layer)| wholes.add(layer, peaks.get(line).copied().flatten().unwrap_or(0)));
        }
        wholes
    }
}

/// Most rows that are looked at for equal names.
const MOST_COMPARED: usize = 20_000;

/// The rows of frames that have the name of another row below the same one.
fn ambiguous(tree: &Tree, trace: &Trace) -> KeyedSet<usize> {
    let mut ambiguous = KeyedSet::default();
    if tree.len() > MOST_COMPARED {
        return ambiguous;
    }
    let mut seen: KeyedMap<(Option<usize>, String), usize> = KeyedMap::default();
    for (at, row) in tree.rows(trace).enumerate().filter(|(_, row)| row.path.last().is_some_and(|key| key.frame().is_some())) {
        if let Some(before) = seen.insert((tree.parent(at), row.label), at) {
            ambiguous.extend([before, at]);
        }
    }
    ambiguous
}

/// The user's action on the table.
enum Action {
    Select(Option<Path>),
    Move(i64),
    Toggle(Path, bool),
    CollapseAll,
    SortBy(Column),
}

impl Stacks {
    fn carry_out(&mut self, action: Action, context: &mut ViewContext<'_>) {
        let trace = &*context.document.trace;
        match action {
            Action::Select(path) => _ = self.select(trace, |line, table| line.select(path, table)),
            Action::Move(by) => _ = self.select(trace, |line, table| line.step(by, table)),
            Action::Toggle(path, open) => self.toggle(path, open),
            Action::CollapseAll => {
                let tops = self.table.iter().flat_map(|table| table.tree.tops());
                self.toggled = Arc::new(tops.map(|path| (path, false)).collect());
            }
            Action::SortBy(column) => self.sort = self.sort.by(column),
        }
        context.ask();
    }

    fn toggle(&mut self, node: Path, open: bool) {
        Arc::make_mut(&mut self.toggled).insert(node, open);
    }

    /// Changes the selected row; returns whether another node is selected now.
    fn select(&mut self, trace: &Trace, change: impl FnOnce(&mut SelectedLine, Option<&Table>)) -> bool {
        let before = self.selected.path().cloned();
        change(&mut self.selected, self.table.as_deref());
        let path = self.selected.path().cloned();
        if path == before {
            return false;
        }
        let present = path.clone().and_then(|path| self.present(path, trace));
        if present != path {
            self.selected.rename(present, self.table.as_deref());
        }
        true
    }

    /// The path of the same node in the present trace: the table can be older, and rows may have been dropped since.
    fn present(&self, path: Path, trace: &Trace) -> Option<Path> {
        match self.table.as_ref().and_then(|table| KeyMap::new(&table.trace, trace, [&path])) {
            Some(map) => map.path(&path),
            None => Some(path),
        }
    }

    /// The selected row, if it is in the table.
    fn selected_row(&self) -> Option<TreeRow> {
        self.table.as_ref()?.row(self.selected.index()?)
    }

    /// The path of the selected row's parent, or of the row itself at the top.
    fn parent_of_selected(&self) -> Option<Path> {
        let tree = &self.table.as_ref()?.tree;
        let index = self.selected.index()?;
        tree.path(tree.parent(index).unwrap_or(index))
    }

    /// Filters all views to a node of the table and everything below it.
    fn filter_to(&self, path: Path, context: &mut ViewContext<'_>) {
        if let Some(path) = self.present(path, &context.document.trace) {
            context.commands.push(DocCommand::Filter(Some(self.for_filter(path))));
        }
    }

    /// The path by which a row is filtered: at an instant a heap is meant as a whole, although its row is that of its class.
    fn for_filter(&self, path: Path) -> Path {
        let is_instant = self.table.as_ref().is_some_and(|table| table.interval.is_empty());
        match path.split_last_chunk() {
            Some((above, [Key::Impacting(_), Key::Class(_)])) if is_instant => above.into(),
            _ => path,
        }
    }

    /// Requests the names of these rows first.
    fn look_at(&self, lines: Range<usize>, context: &mut ViewContext<'_>) {
        if let Some(Table { trace, tree, .. }) = self.table.as_deref() {
            context.looked = Some(Looked::Lines { trace: Arc::clone(trace), tree: Arc::clone(tree), lines });
        }
    }
}
