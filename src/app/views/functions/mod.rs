//! The call tree by function, with its groupings, and beside it the butterfly: one function
//! between its callers and what it calls. Of one layer at a time, for layers nest.
//!
//! What the user wishes is a value ([`Wish`]). An answer knows the wish that it is about, and
//! one that is about another is dropped: what is drawn is what was asked for. Nodes are opened
//! and selected by the names on the way to them; what those are in a forest is found by the
//! worker, for functions have other numbers whenever there are new names.

mod answer;
mod butterfly;
mod opened;
mod panel;
mod search;
mod tools;
mod wings;

use std::sync::Arc;

use eframe::egui::Ui;

use super::layers::LayerChoice;
use super::{Around, View, ViewId};
use crate::app::document::Document;
use crate::app::jobs::{ForestKind, Ground, drop_aside};
use crate::model::Trace;
use crate::query::{CallLine, Cancelled, Column, Forest, Functions, NodeKey, Numbers, Sort, node_name};
use crate::units::{Interval, Layer};
use butterfly::{Butterflied, ProcessLife};
use opened::{Opened, Way};

/// What the user chose in this view.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wish {
    layer: LayerChoice,
    kind: ForestKind,
    sort: Sort,
    search: String,
    /// With callers outside, and with innermost functions outside.
    opened: [Arc<Opened>; 2],
    selected: Option<Way>,
    /// The function between its callers and callees.
    middle: Option<Arc<str>>,
    /// The process whose butterfly it is, if the user chose one.
    process: Option<ProcessLife>,
    /// Whether the way to what is largest under the selected node is to be opened.
    expand: bool,
}

impl Wish {
    fn opened(&self) -> &Opened {
        &self.opened[usize::from(self.kind == ForestKind::Inverted)]
    }

    fn opened_mut(&mut self) -> &mut Opened {
        Arc::make_mut(&mut self.opened[usize::from(self.kind == ForestKind::Inverted)])
    }
}

/// What is asked.
#[derive(Clone)]
pub struct Request {
    wish: Wish,
    layer: Layer,
}

/// The open lines, and the butterfly.
pub struct CallTable {
    asked: Wish,
    /// The wish after what was to be opened is; the same if nothing was.
    fulfilled: Wish,
    layer: Layer,
    interval: Interval,
    trace: Arc<Trace>,
    functions: Arc<Functions>,
    forest: Arc<Forest>,
    lines: Vec<CallLine>,
    /// Largest sizes of the lines, once they are known.
    peaks: Option<Vec<u64>>,
    /// All that is in the layer.
    whole: Numbers,
    /// What a whole bar stands for.
    scale: u64,
    /// The selected line, if it is in sight.
    selected: Option<usize>,
    butterfly: Option<Butterflied>,
}

/// What a column's bar is long by; peaks come apart.
fn magnitude(column: Column, n: &Numbers) -> u64 {
    match column {
        Column::Count => n.count,
        Column::Size | Column::Peak => n.size,
        Column::OutstandingFrom => n.outstanding_from,
        Column::OutstandingTo => n.outstanding_to,
        _ => n.impacting.unsigned_abs(),
    }
}

impl CallTable {
    fn key(&self, line: &CallLine) -> NodeKey {
        self.forest.key(line.node)
    }

    fn name(&self, line: &CallLine) -> String {
        node_name(&self.functions, self.key(line))
    }

    fn way(&self, line: &CallLine) -> Way {
        self.forest.way(line.node).into_iter().map(|key| node_name(&self.functions, key).into()).collect()
    }
}

/// State of the view.
#[derive(Default)]
pub struct FunctionTrees {
    wish: Wish,
    /// Functions that were in the middle before, the last one last.
    middles_before: Vec<Arc<str>>,
    table: Option<CallTable>,
    /// Whether the selected line is to be scrolled to.
    reveal: bool,
    /// Whether the tools have no room beside the tabs.
    is_narrow: bool,
}

impl View for FunctionTrees {
    const TITLE: ViewId = "Functions";
    type Request = Request;
    type Answer = CallTable;

    fn request(&self, document: &Document) -> Option<Request> {
        Some(Request { wish: self.wish.clone(), layer: self.wish.layer.of(document) })
    }

    fn answer(request: &Request, ground: &mut Ground<'_>, tell: &mut dyn FnMut(CallTable)) -> Result<(), Cancelled> {
        tell(answer::call_table(request, ground)?);
        Ok(())
    }

    fn complete(request: &Request, ground: &mut Ground<'_>, tell: &mut dyn FnMut(CallTable)) -> Result<(), Cancelled> {
        let mut table = answer::call_table(request, ground)?;
        answer::add_peaks(&mut table, ground)?;
        tell(table);
        Ok(())
    }

    fn take(&mut self, table: CallTable) {
        if self.wish == table.asked && table.asked != table.fulfilled {
            self.wish = table.fulfilled.clone();
            self.middles_before.clear();
            self.reveal = true;
        }
        if self.wish == table.fulfilled {
            drop_aside(self.table.replace(table));
        } else {
            drop_aside(table); // the answer to the present wish is on its way
        }
    }

    fn forget(&mut self) {
        drop_aside(self.table.take());
    }

    fn show(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        panel::show(self, around, ui);
    }

    fn tools(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        tools::beside_tabs(self, around, ui);
    }

    fn searched(&self) -> Option<&str> {
        Some(&self.wish.search)
    }

    fn search(&mut self, text: String) {
        self.wish.search = text;
    }
}

impl FunctionTrees {
    /// Selects a line of the table: its function stands in the middle.
    fn select(&mut self, index: usize) {
        let Some(table) = &mut self.table else { return };
        let Some(line) = table.lines.get(index).copied() else { return };
        table.selected = Some(index);
        self.wish.selected = Some(table.way(&line));
        self.wish.middle = match table.key(&line) {
            NodeKey::Function(_) => Some(table.name(&line).into()),
            _ => None,
        };
        self.middles_before.clear();
    }

    /// Opens a line, or closes it.
    fn toggle(&mut self, index: usize) {
        let Some(table) = &self.table else { return };
        if let Some(line) = table.lines.get(index).filter(|line| line.has_children) {
            self.wish.opened_mut().set(&table.way(line), !line.is_open);
        }
    }

    /// Puts a caller or callee into the middle.
    fn put_into_middle(&mut self, name: &Arc<str>) {
        if let Some(before) = self.wish.middle.replace(Arc::clone(name)).filter(|before| before != name) {
            self.middles_before.push(before);
        }
    }

    /// The function that was in the middle before.
    fn middle_before(&mut self) {
        if let Some(before) = self.middles_before.pop() {
            self.wish.middle = Some(before);
        }
    }

    fn close_butterfly(&mut self) {
        self.wish.middle = None;
        self.middles_before.clear();
    }

    fn group(&mut self, kind: ForestKind) {
        if self.wish.kind != kind {
            self.wish.kind = kind;
            self.wish.expand = false;
            self.wish.selected = None; // there is no such way in the other tree
        }
    }
}
