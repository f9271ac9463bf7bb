//! The call tree by function, with its groupings, and the butterfly beside it: one function between its callers
//! and callees. Both show one layer at a time, because layers nest.
//!
//! There are two such views: one of the functions that allocated, and one of those that freed (without a butterfly).
//!
//! The user's choices are a value ([`Wish`]). An answer knows the wish that it is about, and is dropped if the
//! wish has changed since: what is drawn is what was asked for. Nodes are opened and selected by the names on
//! the path to them. The worker looks these up in the forest, because functions get other numbers whenever new
//! names arrive.

mod answer;
mod butterfly;
mod choices;
mod opened;
mod panel;
mod search;
mod table;
mod tools;
mod wings;

use std::sync::Arc;

use super::histograms::AnyBucket;
use super::layers::LayerChoice;
use super::view::View;
use crate::app::document::Document;
use crate::app::jobs::{ForestKind, QueryContext, drop_aside};
use crate::app::state::ids::ViewId;
use crate::model::Trace;
use crate::query::{
    CallLine, Cancelled, Column, Forest, Functions, NodeKey, Numbers, RowGrouping, SiteLabels, Sort, SourceLine, TouchedBytes,
    UNKNOWN_TYPE, heap_label, node_name, shared_label, thread_label,
};
use crate::units::{Interval, Layer};
use butterfly::{Butterflied, ProcessLife};
use opened::{Opened, Way};

/// The kind of nodes that rows stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grouping {
    /// Functions, or another key that follows from the stack.
    Sites(ForestKind),
    /// Heap, type, or another key of the allocations themselves.
    Rows(RowGrouping),
}

impl Grouping {
    const INVERTED: Self = Self::Sites(ForestKind::Inverted);

    /// Whether rows have child rows.
    fn is_tree(self) -> bool {
        matches!(self, Self::Sites(ForestKind::TopDown | ForestKind::Inverted))
    }
}

impl Default for Grouping {
    fn default() -> Self {
        Self::Sites(ForestKind::default())
    }
}

/// The user's choices in this view.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Choices {
    /// Whether the view is about the functions that freed, not about those that allocated.
    frees: bool,
    layer: LayerChoice,
    grouping: Grouping,
    sort: Sort,
    search: String,
    /// Opened nodes of the top-down tree, and of the bottom-up tree.
    opened: [Arc<Opened>; 2],
    selected: Option<Way>,
    /// The function in the middle of the butterfly, between its callers and callees.
    middle: Option<Arc<str>>,
    /// The process of the butterfly, if the user chose one.
    process: Option<ProcessLife>,
    /// Whether the heaviest path below the selected node is to be opened.
    expand: bool,
}

impl Choices {
    fn opened(&self) -> &Opened {
        &self.opened[usize::from(self.grouping == Grouping::INVERTED)]
    }

    fn opened_mut(&mut self) -> &mut Opened {
        Arc::make_mut(&mut self.opened[usize::from(self.grouping == Grouping::INVERTED)])
    }
}

/// The view's request.
#[derive(Clone, PartialEq)]
pub struct Request {
    wish: Choices,
    layer: Layer,
    /// Whether a chain of calls without branches shares one row.
    chains: bool,
}

/// The open rows, and the butterfly.
pub struct CallTable {
    asked: Choices,
    /// The wish after the heaviest path was opened; equal to `asked` if that was not requested.
    fulfilled: Choices,
    layer: Layer,
    interval: Interval,
    trace: Arc<Trace>,
    functions: Arc<Functions>,
    /// The names of types, owners or tags, if rows stand for those.
    labels: Option<SiteLabels>,
    tree: Tree,
    lines: Vec<CallLine>,
    /// By node, the source line that requested most of its memory, once that is known.
    sources: Option<Vec<Option<SourceLine>>>,
    /// Peak sizes of the rows, once they are known.
    peaks: Option<Vec<u64>>,
    /// Touched bytes of the rows, once they are known, if the trace shows any.
    touched: Option<Vec<TouchedBytes>>,
    /// Number of frames that end in the interval, if there are any.
    frames: Option<u64>,
    /// The totals of the layer, within the filters.
    whole: Numbers,
    /// The change of the layer, growth and what was given back together, within the filters.
    all_change: u64,
    /// The number that a full bar stands for.
    scale: u64,
    /// The row of the selected node, if the table contains it.
    selected: Option<usize>,
    butterfly: Option<Butterflied>,
}

/// The nodes behind the rows.
enum Tree {
    Forest(Arc<Forest>),
    /// The keys of the rows, by node.
    Rows(Vec<NodeKey>),
}

impl CallTable {
    /// The sort order of the rows.
    fn sort(&self) -> Sort {
        self.asked.sort.in_interval(self.interval)
    }

    /// Whether the rows stand for functions with a source line each.
    fn has_sources(&self) -> bool {
        self.asked.grouping == Grouping::Sites(ForestKind::ByFunction) && !self.asked.frees
    }

    /// The source line that requested most of a row's memory, if it is known.
    fn source(&self, line: &CallLine) -> Option<&SourceLine> {
        self.sources.as_ref()?.get(line.node as usize)?.as_ref()
    }

    fn key(&self, line: &CallLine) -> NodeKey {
        match &self.tree {
            Tree::Forest(forest) => forest.key(line.node),
            Tree::Rows(keys) => keys[line.node as usize],
        }
    }

    /// The name of a row's innermost node.
    fn own_name(&self, line: &CallLine) -> String {
        name_of(&self.trace, &self.functions, self.labels.as_ref(), self.key(line))
    }

    /// The name of a row, made of the names of all its nodes.
    fn name(&self, line: &CallLine) -> String {
        let Tree::Forest(forest) = &self.tree else { return self.own_name(line) };
        if line.head == line.node {
            return self.own_name(line);
        }
        let mut nodes: Vec<u32> = line.nodes(forest).collect();
        nodes.reverse();
        shared_label(nodes.into_iter().map(|node| {
            let key = forest.key(node);
            let frame = if let NodeKey::Function(function) = key { Some(self.functions.name(function)) } else { None };
            (frame, move || name_of(&self.trace, &self.functions, self.labels.as_ref(), key))
        }))
    }

    fn way(&self, line: &CallLine) -> Way {
        match &self.tree {
            Tree::Forest(forest) => forest.way(line.node).into_iter().map(|key| node_name(&self.functions, key).into()).collect(),
            Tree::Rows(_) => [self.own_name(line).into()].into(),
        }
    }
}

/// The name of a node.
fn name_of(trace: &Trace, functions: &Functions, labels: Option<&SiteLabels>, key: NodeKey) -> String {
    match key {
        NodeKey::Heap(heap) => {
            let heap = trace.heap(heap);
            format!("{}, {}", trace.process_name(heap.process), heap_label(heap))
        }
        NodeKey::Label(id) => labels.map_or_else(|| UNKNOWN_TYPE.to_owned(), |labels| labels.name(id).to_string()),
        NodeKey::Thread(process, thread) => match thread_label(trace, process, thread) {
            thread if thread.is_empty() => format!("{}, unknown thread", trace.process_name(process)),
            thread => format!("{}, thread {thread}", trace.process_name(process)),
        },
        NodeKey::Size(bucket) => AnyBucket::Size(bucket).words(),
        NodeKey::Lifetime(bucket) => AnyBucket::Lifetime(bucket).words(),
        key => node_name(functions, key),
    }
}

/// The view of the functions that allocated.
pub type FunctionTrees = CallTrees<false>;

/// The view of the functions that freed.
pub type FreedBy = CallTrees<true>;

/// State of a view.
#[derive(Clone)]
pub struct CallTrees<const FREES: bool> {
    wish: Choices,
    /// Functions that were in the middle before, the latest one last.
    middles_before: Vec<Arc<str>>,
    table: Option<Arc<CallTable>>,
    /// The selected row of the table, if it is there.
    line: Option<usize>,
    /// Whether the selected row is to be scrolled into view.
    reveal: bool,
    /// Whether the selected row is to be scrolled into view as soon as a table contains it.
    awaits_line: bool,
    /// Whether the first match of the search is to be selected once it is known.
    seeks: bool,
    /// Whether the toolbar does not fit beside the tabs.
    is_narrow: bool,
}

impl<const FREES: bool> Default for CallTrees<FREES> {
    fn default() -> Self {
        let column = if FREES { Column::Size } else { Sort::default().column };
        let wish = Choices { frees: FREES, sort: Sort { column, ..Sort::default() }, ..Choices::default() };
        Self {
            wish,
            middles_before: Vec::new(),
            table: None,
            line: None,
            reveal: false,
            awaits_line: false,
            seeks: false,
            is_narrow: false,
        }
    }
}

impl<const FREES: bool> View for CallTrees<FREES> {
    const ID: ViewId = if FREES { ViewId::FreedBy } else { ViewId::Functions };
    type Request = Request;
    type Answer = CallTable;

    fn request(&self, document: &Document) -> Option<Request> {
        Some(Request { wish: self.wish.clone(), layer: self.wish.layer.of(document), chains: document.reading.chains })
    }

    fn answer(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(CallTable)) -> Result<(), Cancelled> {
        tell(answer::call_table(request, query)?);
        Ok(())
    }

    fn complete(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(CallTable)) -> Result<(), Cancelled> {
        if !FREES {
            tell(answer::whole_call_table(request, query)?); // freed memory has no peak
        }
        Ok(())
    }

    fn bytes(table: &CallTable) -> usize {
        let nodes = if let Tree::Rows(keys) = &table.tree { size_of_val(&keys[..]) } else { 0 };
        size_of_val(&table.lines[..]) + nodes + table.butterfly.as_ref().map_or(0, Butterflied::bytes)
    }

    fn take(&mut self, table: CallTable) {
        if self.wish == table.asked && table.asked != table.fulfilled {
            self.wish = table.fulfilled.clone();
            self.middles_before.clear();
            self.reveal = true;
        }
        if self.wish == table.fulfilled {
            self.line = table.selected;
            if std::mem::take(&mut self.awaits_line) {
                self.reveal = self.line.is_some();
            }
            drop_aside(self.table.replace(Arc::new(table)));
        } else {
            drop_aside(table); // the answer to the current wish is on its way
        }
    }
}

impl<const FREES: bool> CallTrees<FREES> {
    /// Selects the first match of the search once there is a table of its results; returns whether it did.
    fn go_to_first(&mut self) -> bool {
        let Some(table) = self.table.as_ref().filter(|table| table.asked.search == self.wish.search) else { return false };
        self.seeks = false;
        let text = table.asked.search.trim().to_lowercase();
        let is_found = |line: &CallLine| !text.is_empty() && table.name(line).to_lowercase().contains(&text);
        let Some(index) = table.lines.iter().position(is_found) else { return false };
        self.select(index);
        self.reveal = true;
        true
    }

    /// Selects a row of the table and puts its function into the middle of the butterfly.
    fn select(&mut self, index: usize) {
        let Some(table) = self.table.as_deref() else { return };
        let Some(line) = table.lines.get(index).copied() else { return };
        self.line = Some(index);
        self.wish.selected = Some(table.way(&line));
        self.wish.middle = match table.key(&line) {
            NodeKey::Function(_) if !FREES => Some(table.own_name(&line).into()),
            _ => None,
        };
        self.middles_before.clear();
    }

    /// Opens or closes a row.
    fn toggle(&mut self, index: usize) {
        let Some(table) = &self.table else { return };
        if let Some(line) = table.lines.get(index).filter(|line| line.has_children) {
            self.wish.opened_mut().set(&table.way(line), !line.is_open);
        }
    }

    /// Puts a caller or callee into the middle of the butterfly.
    fn put_into_middle(&mut self, name: &Arc<str>) {
        if let Some(before) = self.wish.middle.replace(Arc::clone(name)).filter(|before| before != name) {
            self.middles_before.push(before);
        }
    }

    /// Returns to the function that was in the middle before.
    fn middle_before(&mut self) {
        if let Some(before) = self.middles_before.pop() {
            self.wish.middle = Some(before);
        }
    }

    fn close_butterfly(&mut self) {
        self.wish.middle = None;
        self.middles_before.clear();
    }

    fn group(&mut self, grouping: Grouping) {
        if self.wish.grouping != grouping {
            self.wish.grouping = grouping;
            self.wish.expand = false;
            self.wish.selected = None; // the other tree has no such path
        }
    }
}
