//! Views: what stands below the graph, one folder each. A view is a room: its state, its
//! request (a value), its answer (made by a worker, of what is prepared for trace, interval
//! and filters), and its panel. To add one is to write its folder, and a line in
//! [`Views::default`].
//!
//! The window knows no view by name. It asks the one in sight whenever anything that all
//! views share has changed, or the view says that its own wishes have; answers to what is
//! stale are dropped with it.

mod closer;
mod compare;
mod erased;
mod findings;
mod flame;
mod functions;
mod generations;
mod histograms;
mod layers;
mod questions;
mod rows;
mod stacks;
mod types;

use std::ops::Range;
use std::sync::Arc;

use eframe::egui::{self, Ui};

use super::commands::{Commands, DocCommand};
use super::document::Document;
use super::filters::{Chip, Filters, Predicate};
use super::graph::Split;
use super::jobs::Ground;
use super::panels::stack_rules;
use super::settings::Settings;
use crate::model::Trace;
use crate::query::{Cancelled, Filter, Finding, KeyMap, Path, Tree};
use compare::Compare;
pub use erased::{AnyAnswer, Ask, Views};
use findings::Findings;
use flame::Flame;
use functions::{FreedBy, FunctionTrees};
use generations::Generations;
use histograms::Histograms;
use rows::Rows;
use stacks::Stacks;
use types::Types;

/// What tells views apart: the words on their tabs.
pub type ViewId = &'static str;

/// A view; see the module.
pub trait View: Default + 'static {
    /// What its tab says.
    const TITLE: ViewId;

    /// What it wants to know, beside what all views are about.
    type Request: Send + 'static;

    /// What a worker tells it; there may be several answers to a request.
    type Answer: Send + 'static;

    /// Whether it is asked even if it is not in sight, behind what is.
    const IS_ALWAYS_ASKED: bool = false;

    /// What is to be asked now, if anything.
    fn request(&self, document: &Document) -> Option<Self::Request>;

    /// Answers: on a worker, before the graph is made.
    fn answer(request: &Self::Request, ground: &mut Ground<'_>, tell: &mut dyn FnMut(Self::Answer)) -> Result<(), Cancelled>;

    /// Adds what takes longer: behind the graph, and not while the trace grows.
    fn complete(_: &Self::Request, _: &mut Ground<'_>, _: &mut dyn FnMut(Self::Answer)) -> Result<(), Cancelled> {
        Ok(())
    }

    /// Takes an answer.
    fn take(&mut self, answer: Self::Answer);

    /// Puts what it has taken in terms of `trace`, which can be ahead of the answer. Whether it
    /// wants to know something else now.
    fn settle(&mut self, _trace: &Trace) -> bool {
        false
    }

    /// What it has answered is about a trace that is not there any more, or nobody keeps it up.
    fn forget(&mut self);

    /// Draws it.
    fn show(&mut self, around: &mut Around<'_>, ui: &mut Ui);

    /// Draws what stands above the tabs, whatever view is in sight.
    fn strip(&mut self, _: &mut Around<'_>, _: &mut Ui) {}

    /// Draws what stands below the tabs.
    fn tools(&mut self, _: &mut Around<'_>, _: &mut Ui) {}

    /// What is searched for in it, if it can be searched.
    fn searched(&self) -> Option<&str> {
        None
    }

    /// Searches for something else.
    fn search(&mut self, _: String) {}

    /// Selects what the search finds first.
    fn go_to_found(&mut self, _document: &Document) {}

    /// What the graph has lines for while the view is in sight.
    fn split(&self) -> Split {
        Split::Heaps
    }

    /// Whose lives the graph paints while the view is in sight.
    fn highlight(&self) -> Option<Filter> {
        None
    }

    /// What keys do while the view is in sight, unless a text field wants them.
    fn keys(&mut self, _around: &mut Around<'_>, _ctx: &egui::Context) {}

    /// Whether a line is selected that Escape takes back.
    fn has_selected(&self) -> bool {
        false
    }

    /// Selects nothing.
    fn unselect(&mut self) {}

    /// What the status bar says of the selected line.
    fn says(&self) -> Option<String> {
        None
    }

    /// The filters have changed.
    fn filtered(&mut self, _filters: &Filters) {}

    /// The nodes of the tree that it remembers.
    fn paths(&self) -> Vec<Path> {
        Vec::new()
    }

    /// These are called otherwise from now on, or are gone.
    fn renumber(&mut self, _map: &KeyMap) {}

    /// Makes ready to show the place of a finding; whether it is the view for that.
    fn show_finding(&mut self, _finding: &Finding, _document: &Document) -> bool {
        false
    }
}

/// What a view sees of the window, and how it changes that.
pub struct Around<'a> {
    pub document: &'a Document,
    pub commands: &'a mut Commands,
    pub settings: &'a Settings,
    /// Lines whose names are wanted first.
    pub looked: Option<Looked>,
}

/// Lines on the screen.
pub struct Looked {
    pub trace: Arc<Trace>,
    pub tree: Arc<Tree>,
    pub lines: Range<usize>,
}

impl Around<'_> {
    /// The view wants to know something else.
    pub fn ask(&mut self) {
        self.commands.doc(DocCommand::Ask);
    }

    /// Says in the place of an answer why there is none yet.
    pub fn wait(&self, ui: &mut Ui) {
        let text = if self.document.answers.failed { "Nothing could be computed" } else { "Computing\u{2026}" };
        ui.centered_and_justified(|ui| ui.weak(text));
    }

    /// Offers to fold a function away, as it is printed, and to name the stacks that have it.
    pub fn offer_rules(&mut self, ui: &mut Ui, function: &str) {
        stack_rules::offer(ui, function, self.commands);
    }

    /// Offers to filter to something, which `name` says, and to leave it out.
    pub fn offer_filters(&mut self, ui: &mut Ui, name: &str, what: Predicate) {
        if ui.button(format!("Filter to {name}")).clicked() {
            self.commands.doc(DocCommand::AddChip(Chip::only(what.clone())));
        }
        if ui.button(format!("Leave {name} out")).clicked() {
            self.commands.doc(DocCommand::AddChip(Chip::without(what)));
        }
    }
}
