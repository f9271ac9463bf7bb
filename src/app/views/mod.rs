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
mod frames;
mod functions;
mod generations;
mod histograms;
mod layers;
mod marks;
mod pane;
mod processors;
mod questions;
mod rows;
mod stacks;
mod types;

use std::ops::Range;
use std::sync::{Arc, Weak};

use eframe::egui::Ui;

use super::commands::{Commands, DocCommand};
use super::document::{Document, source_of};
use super::filters::{Chip, Predicate};
use super::jobs::Ground;
use super::panels::stack_rules;
use super::settings::Settings;
use super::source_files::SourceFiles;
use super::state::ids::ViewId;
use crate::model::{HeapId, ProcessId, Trace};
use crate::query::{Cancelled, Tree};
use compare::Compare;
pub use erased::Views;
use findings::Findings;
use flame::Flame;
use frames::Frames;
use functions::{FreedBy, FunctionTrees};
use generations::Generations;
use histograms::Histograms;
pub use layers::filtered as layer_of_filter;
use marks::Marks;
pub use pane::Pane;
use processors::Processors;
use rows::Rows;
use stacks::Stacks;
use types::Types;

/// A view; see the module. What the window does with it is its [`Pane`].
pub trait View: Pane + Default + 'static {
    /// Which view it is.
    const ID: ViewId;

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
}

/// What a view sees of the window, and how it changes that.
pub struct Around<'a> {
    pub document: &'a Document,
    pub commands: &'a mut Commands,
    pub settings: &'a Settings,
    pub sources: &'a SourceFiles,
    /// Whether something is searched for in the view in sight.
    pub is_searched: bool,
    /// What is on the screen and wants its names first.
    pub looked: Option<Looked>,
}

/// What is on the screen.
pub enum Looked {
    /// Lines of a tree.
    Lines { trace: Arc<Trace>, tree: Arc<Tree>, lines: Range<usize> },
    /// Frames without names.
    Frames(Arc<SeenFrames>),
}

/// Frames of which only the place is known.
#[derive(Debug)]
pub struct SeenFrames {
    pub trace: Weak<Trace>,
    /// Process and number of a module in it, and from its base what was told of the frame.
    pub frames: Vec<(ProcessId, u32, u64)>,
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

    /// Says why there is nothing to see, and offers what can change that.
    pub fn nothing(&mut self, ui: &mut Ui, text: &str) {
        let document = self.document;
        let ways = [
            (self.is_searched, "Clear the search", DocCommand::Search(String::new())),
            (!document.filters().is_all(), "Clear the filter", DocCommand::ClearFilter),
            (document.selection().is_some(), "Clear the selected interval", DocCommand::Select(None)),
            (document.view() != document.trace.span, "Show the whole trace", DocCommand::ZoomOut),
        ];
        ui.vertical_centered(|ui| {
            ui.add_space((ui.available_height() * 0.3).min(120.0));
            ui.label(text);
            ui.add_space(6.0);
            for (_, words, command) in ways.into_iter().filter(|(is_possible, ..)| *is_possible) {
                if ui.button(words).clicked() {
                    self.commands.doc(command);
                }
            }
        });
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

    /// The same of a heap, a tracker, or what a process commits.
    pub fn offer_heap(&mut self, ui: &mut Ui, id: HeapId) {
        let heap = self.document.trace.heap(id);
        let path = source_of(heap.process, heap.layer, Some(id));
        self.offer_filters(ui, "this heap", Predicate::Under(path.into()));
    }
}
