//! The open trace together with its views: whatever concerns both goes through here.

mod foresight;
pub mod open_traces;

use std::sync::Arc;

use crate::app::commands::DocCommand;
use crate::app::document::{Document, ViewSummary};
use crate::app::jobs::{Answer, Part, Request};
use crate::app::services::investigation::Bookmark;
use crate::app::state::graph::Split;
use crate::app::state::ids::{Tab, ViewId};
use crate::app::state::settings::Settings;
use crate::app::views::{Pane, Pointed, Views};
use crate::limits::Baseline;
use crate::model::Trace;

/// The open trace and its views.
pub struct Workspace {
    pub document: Document,
    pub views: Views,
    /// Whether the window's next requests have been foreseen for the present state, and what was under the pointer.
    is_foreseen: bool,
    pointed: Option<Pointed>,
}

impl Workspace {
    /// Opens all views on a document.
    pub fn new(document: Document) -> Self {
        Self { document, views: Views::default(), is_foreseen: false, pointed: None }
    }

    /// Applies the settings that are common to all traces.
    pub fn apply(&mut self, settings: &Settings, accepted: &Arc<Baseline>) {
        self.views.accept(accepted);
        self.document.show_all_frames(settings.show_all_frames);
        self.document.arrange(settings.arrangement);
        self.document.read_as(settings.reading());
    }

    /// Carries out a command of the user, on the document or on the active view.
    pub fn carry_out(&mut self, command: DocCommand) {
        let Self { document, views, .. } = self;
        let filters = document.filters().clone();
        match command {
            DocCommand::Unselect => self.change_active_view(|view, _| view.unselect()),
            DocCommand::GoToFound => self.change_active_view(|view, document| view.go_to_found(document)),
            DocCommand::Search(text) => self.change_active_view(|view, _| view.search(text)),
            DocCommand::GoToFinding(finding) => {
                document.go_to_finding(&finding);
                views.filtered(document.filters());
                if let Some(view) = views.show_finding(&finding, document) {
                    let from = std::mem::replace(&mut document.tab, Tab::View(view));
                    document.found.note(document.history.now().clone(), (from, view), *finding);
                }
            }
            DocCommand::GoToPlace(place) => {
                if let Some(view) = views.show_place(&place, document) {
                    document.carry_out(DocCommand::ShowTab(Tab::View(view)));
                }
            }
            DocCommand::Back | DocCommand::Forward => self.travel(command),
            other => {
                if let DocCommand::Resume(bookmark) = &other {
                    views.set_choices(&bookmark.views);
                }
                document.carry_out(other);
                if filters != *document.filters() {
                    views.filtered(document.filters());
                }
            }
        }
    }

    /// Goes back or forward. *Back* from a finding leads to the tab where it was chosen, *Forward* to the tab that shows it,
    /// unless the user has gone to another one since.
    fn travel(&mut self, command: DocCommand) {
        let Self { document, views, .. } = self;
        let (filters, is_back) = (document.filters().clone(), matches!(command, DocCommand::Back));
        if let Some(left) = document.found.at(document.history.now()) {
            views.get_mut(left.view).into_iter().for_each(Pane::unselect); // its place is left with its interval
            if is_back && document.tab == Tab::View(left.view) {
                document.tab = left.from;
            }
        }
        document.carry_out(command);
        if filters != *document.filters() {
            views.filtered(document.filters());
        }
        if let Some(found) = document.found.at(document.history.now()) {
            views.show_finding(&found.finding, document);
            if !is_back && document.tab == found.from {
                document.tab = Tab::View(found.view);
            }
        }
    }

    /// The place of the user, for an investigation.
    pub fn bookmark(&self) -> Bookmark {
        Bookmark { views: self.views.choices(), ..self.document.bookmark() }
    }

    /// Changes the active view, which then has a new request.
    fn change_active_view(&mut self, change: impl FnOnce(&mut dyn Pane, &Document)) {
        if let Some(view) = self.document.view_in_sight().and_then(|id| self.views.get_mut(id)) {
            change(view, &self.document);
        }
        self.document.ask();
    }

    /// Takes a newer version of the trace.
    pub fn update(&mut self, trace: Arc<Trace>) {
        let is_other = trace.builder() != self.document.trace.builder();
        if let Some(map) = self.document.update(trace, self.views.paths()) {
            self.document.found.clear();
            self.views.renumber(&map);
            if is_other {
                self.views.forget_all();
            }
        }
    }

    /// The request for the present state; `None` if it has been asked already.
    pub fn next_request(&mut self) -> Option<Request> {
        self.is_foreseen &= !self.document.needs_query();
        self.document.needs_query().then(|| self.request())
    }

    /// The request for the present state.
    fn request(&mut self) -> Request {
        self.summarize();
        let asks = self.views.ask(&self.document.views_in_sight(), &self.document);
        self.document.next_request(asks)
    }

    /// Stores a worker's answer where it belongs.
    pub fn take_answer(&mut self, answer: Answer) {
        let Self { document, views, .. } = self;
        if !document.accepts(&answer) {
            return;
        }
        match answer.part {
            Part::View(view, answer) if document.in_sight().contains(&Tab::View(view)) || views.is_always_asked(view) => {
                document.answers.failed = false;
                if views.take(view, answer, &document.trace) {
                    document.ask();
                }
            }
            Part::View(..) => {} // the view is no longer visible
            _ => document.take_answer(answer),
        }
    }

    /// Takes note that other tabs are visible now, `tab` being the active one.
    pub fn look_at(&mut self, tab: Tab, in_sight: Vec<Tab>) {
        for before in self.document.views_in_sight() {
            if !in_sight.contains(&Tab::View(before)) && !self.views.is_always_asked(before) {
                self.views.forget(before); // hidden views get no more answers
            }
        }
        self.document.look_at(tab, in_sight);
    }

    /// The view that search, keys and menus act on, if the active tab is one.
    pub fn active_view(&self) -> Option<&dyn Pane> {
        self.views.get(self.document.view_in_sight()?)
    }

    /// Tells the document what it needs to know of the views: before each request (whatever changes a view in a command
    /// or an answer has one made), and after each frame, in which views change as they are drawn.
    pub fn summarize(&mut self) {
        let in_sight = self.document.views_in_sight();
        let panes = || in_sight.iter().filter_map(|&view: &ViewId| self.views.get(view));
        let active = self.active_view();
        self.document.summarize(ViewSummary {
            split: panes().map(Pane::split).find(|split| *split != Split::Sources).unwrap_or_default(),
            highlight: panes().find_map(Pane::highlight),
            searched: active.and_then(Pane::searched).map(str::to_owned),
            has_selected: active.is_some_and(Pane::has_selected),
            follows_cursor: panes().any(Pane::follows_cursor),
        });
    }
}
