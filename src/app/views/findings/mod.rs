//! What stands out: the first thing a user sees. Up to five cards stand above all tabs, each
//! a sentence with a number; a click goes there. The tab has all of them, with what speaks
//! against each.
//!
//! They are about the whole time of the trace and what the filters leave of it, and asked for once it
//! does not grow any more, behind everything else; and again when there are names. Those of all rows
//! are kept beside those of filters: to take the filters away shows them at once.

mod panel;

use std::sync::Arc;

use eframe::egui::Ui;

use super::{Around, Pane, View, ViewId};
use crate::app::document::Document;
use crate::app::filters::Scope;
use crate::app::jobs::Ground;
use crate::limits::{Accepted, Baseline};
use crate::model::Trace;
use crate::query::{Cancelled, Finding, findings};
use crate::symbols::Names;

/// What the answer follows from.
#[derive(Clone)]
pub struct Request {
    trace: Arc<Trace>,
    names: Arc<Names>,
    scope: Scope,
    accepted: Arc<Baseline>,
}

impl Request {
    fn of(document: &Document) -> Self {
        Self {
            trace: Arc::clone(&document.trace),
            names: document.known_names(),
            scope: document.scope(),
            accepted: Arc::clone(&document.accepted),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        let is_one = Arc::ptr_eq(&self.trace, &other.trace) && Arc::ptr_eq(&self.names, &other.names);
        is_one && Arc::ptr_eq(&self.accepted, &other.accepted) && self.scope == other.scope
    }
}

/// What was found.
pub struct Found {
    of: Request,
    list: Vec<Finding>,
    /// What is accepted, and by which entry.
    accepted: Vec<(Finding, Accepted)>,
}

impl Found {
    /// Puts what is accepted apart.
    fn judge(&mut self, trace: &Trace, accepted: &Baseline) {
        let all = self.list.drain(..).chain(self.accepted.drain(..).map(|(finding, _)| finding)).collect::<Vec<_>>();
        for finding in all {
            match accepted.entry_of(&Accepted::finding(trace, &finding)) {
                Some(entry) => self.accepted.push((finding, entry.clone())),
                None => self.list.push(finding),
            }
        }
    }
}

/// State of the view.
#[derive(Default)]
pub struct Findings {
    /// In all rows.
    found: Option<Found>,
    /// In what filters leave.
    filtered: Option<Found>,
    /// Whether the cards are out of sight.
    is_hidden: bool,
}

impl View for Findings {
    const TITLE: ViewId = "Findings";
    const IS_ALWAYS_ASKED: bool = true;
    type Request = Request;
    type Answer = Found;

    fn request(&self, document: &Document) -> Option<Request> {
        let request = Request::of(document);
        let is_known = self.place(&request.scope).is_some_and(|found| found.of.is_same(&request));
        (document.is_settled() && !is_known).then_some(request)
    }

    fn answer(_: &Request, _: &mut Ground<'_>, _: &mut dyn FnMut(Found)) -> Result<(), Cancelled> {
        Ok(()) // everything else first
    }

    fn complete(request: &Request, ground: &mut Ground<'_>, tell: &mut dyn FnMut(Found)) -> Result<(), Cancelled> {
        let trace = ground.trace();
        let list = findings(&ground.index, trace.span, &ground.mask, &request.names, ground.cancel)?;
        let mut found = Found { of: request.clone(), list, accepted: Vec::new() };
        found.judge(trace, &request.accepted);
        tell(found);
        Ok(())
    }

    fn take(&mut self, found: Found) {
        match found.of.scope.filters.is_all() {
            true => self.found = Some(found),
            false => self.filtered = Some(found),
        }
    }
}

impl Findings {
    /// What was found last in all rows, or in those of filters.
    fn place(&self, scope: &Scope) -> Option<&Found> {
        if scope.filters.is_all() { self.found.as_ref() } else { self.filtered.as_ref() }
    }

    /// What was found in what the filters leave now, if that is known. Names that come later change
    /// words, not numbers.
    fn now(&self, document: &Document) -> Option<&Found> {
        let scope = document.scope();
        self.place(&scope).filter(|found| found.of.scope == scope)
    }
}

impl Pane for Findings {
    fn forget(&mut self) {
        (self.found, self.filtered) = (None, None);
    }

    fn judge(&mut self, trace: &Trace, accepted: &Baseline) {
        self.found.iter_mut().chain(&mut self.filtered).for_each(|found| found.judge(trace, accepted));
    }

    fn findings(&self, document: &Document) -> &[Finding] {
        self.now(document).map_or(&[], |found| &found.list)
    }

    fn findings_in_all(&self) -> &[Finding] {
        self.found.as_ref().map_or(&[], |found| &found.list)
    }

    fn strip(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        panel::cards(self, around, ui);
    }

    fn show(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        panel::show(self, around, ui);
    }
}
