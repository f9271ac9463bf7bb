//! A kind of view: its request and answer, and the parts of the window that it reads.

use eframe::egui::{RichText, Ui};

use super::Pane;
use crate::app::commands::{Commands, DocCommand};
use crate::app::document::{Document, source_of};
use crate::app::jobs::QueryContext;
use crate::app::services::names::Looked;
use crate::app::services::source_files::SourceFiles;
use crate::app::state::filters::{Chip, Predicate};
use crate::app::state::ids::ViewId;
use crate::app::state::settings::Settings;
use crate::app::widgets::centered::centered;
use crate::app::widgets::rule_menu;
use crate::model::HeapId;
use crate::query::{Cancelled, Finding, Path};

/// A view: its request, its answer, and how a worker gets from one to the other. The window uses it as a [`Pane`].
///
/// A copy of a view has the same request; the window uses it to find out what it would ask after a step of the user.
pub trait View: Pane + Default + Clone + 'static {
    /// The id of the view.
    const ID: ViewId;

    /// The view's own part of a request, beside what all views depend on (trace, interval, filters).
    type Request: PartialEq + Send + Sync + 'static;

    /// The answer that a worker sends; a request may get several.
    type Answer: Send + 'static;

    /// Whether the view is also asked while it is not visible, after the visible ones.
    const IS_ALWAYS_ASKED: bool = false;

    /// Whether answers are made before the user asks for them.
    const IS_MADE_AHEAD: bool = true;

    /// The request for the current state, if there is anything to ask.
    fn request(&self, document: &Document) -> Option<Self::Request>;

    /// Answers the request on a worker, before the graph is computed.
    fn answer(request: &Self::Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Self::Answer))
    -> Result<(), Cancelled>;

    /// Adds the parts that take longer: after the graph, and not while the trace grows.
    fn complete(_: &Self::Request, _: &mut QueryContext<'_>, _: &mut dyn FnMut(Self::Answer)) -> Result<(), Cancelled> {
        Ok(())
    }

    /// Bytes that an answer takes, roughly, without what the query thread keeps anyway.
    fn bytes(answer: &Self::Answer) -> usize;

    /// Stores an answer.
    fn take(&mut self, answer: Self::Answer);
}

/// The parts of the window that a view reads, and the commands by which it changes them.
pub struct ViewContext<'a> {
    pub document: &'a Document,
    pub commands: &'a mut Commands,
    pub settings: &'a Settings,
    pub sources: &'a SourceFiles,
    /// The part of the view on the screen, whose names are resolved first.
    pub looked: Option<Looked>,
    /// The part of the view under the pointer whose click takes a query.
    pub pointed: Option<Pointed>,
}

/// A part of a view whose click takes a query.
#[derive(Clone, PartialEq, Debug)]
pub enum Pointed {
    /// A finding, to go to.
    Finding(Box<Finding>),
    /// A closed node of a view's tree, to open.
    Node(ViewId, Path),
}

impl ViewContext<'_> {
    /// Sends a new request: the view's own request has changed.
    pub fn ask(&mut self) {
        self.commands.push(DocCommand::Ask);
    }

    /// Shows, in place of an answer, why there is none yet.
    pub fn wait(&self, ui: &mut Ui) {
        let text = if self.document.answers.failed { "Nothing could be computed" } else { "Computing\u{2026}" };
        centered(ui, RichText::new(text).weak());
    }

    /// Shows why the view is empty, with buttons that may change that. Of a trace without memory events, every view says the
    /// same.
    pub fn nothing(&mut self, ui: &mut Ui, text: &str) {
        let document = self.document;
        let without_memory = document.why_nothing();
        let text = without_memory.as_deref().unwrap_or(text);
        let is_searched = document.searched().is_some_and(|text| !text.trim().is_empty());
        let ways = [
            (is_searched, "Clear the search", DocCommand::Search(String::new())),
            (!document.filters().is_all(), "Clear the filter", DocCommand::ClearFilter),
            (document.selection().is_some(), "Clear the selected interval", DocCommand::Select(None)),
            (document.view() != document.trace.span, "Show the whole trace", DocCommand::ZoomOut),
        ];
        ui.vertical_centered(|ui| {
            ui.add_space((ui.available_height() * 0.3).min(120.0));
            ui.label(text);
            ui.add_space(6.0);
            for (_, words, command) in ways.into_iter().filter(|(is_possible, ..)| *is_possible) {
                self.commands.on_click(&ui.button(words), command);
            }
        });
    }

    /// Adds menu entries to fold a function away, under its printed name, and to name the stacks that contain it.
    pub fn offer_rules(&mut self, ui: &mut Ui, function: &str) {
        rule_menu::offer(ui, function, self.commands);
    }

    /// Adds menu entries to filter to something and to leave it out; `name` describes it.
    pub fn offer_filters(&mut self, ui: &mut Ui, name: &str, what: Predicate) {
        self.commands.on_click(&ui.button(format!("Filter to {name}")), DocCommand::AddChip(Chip::only(what.clone())));
        self.commands.on_click(&ui.button(format!("Exclude {name}")), DocCommand::AddChip(Chip::without(what)));
    }

    /// Adds menu entries to filter to a heap, a tracker, or the commit of a process, and to leave it out.
    pub fn offer_heap(&mut self, ui: &mut Ui, id: HeapId) {
        let heap = self.document.trace.heap(id);
        let path = source_of(heap.process, heap.layer, Some(id));
        self.offer_filters(ui, "this heap", Predicate::Under(path.into()));
    }
}
