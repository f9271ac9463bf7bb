//! What stands out: the first thing a user sees. Up to five cards stand above all tabs, each
//! a sentence with a number; a click goes there. The tab has all of them, with what speaks
//! against each.
//!
//! They are about the whole trace, whatever is zoomed or filtered, and asked for once it
//! does not grow any more, behind everything else; and again when there are names.

mod panel;

use std::sync::Arc;

use eframe::egui::Ui;

use super::{Around, Pane, View, ViewId};
use crate::app::document::Document;
use crate::app::jobs::Ground;
use crate::model::Trace;
use crate::query::{Cancelled, Finding, Mask, findings};
use crate::symbols::Names;

/// What the answer follows from.
#[derive(Clone)]
pub struct Request {
    trace: Arc<Trace>,
    names: Arc<Names>,
}

impl Request {
    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.trace, &other.trace) && Arc::ptr_eq(&self.names, &other.names)
    }
}

/// What was found.
pub struct Found {
    of: Request,
    list: Vec<Finding>,
}

/// State of the view.
#[derive(Default)]
pub struct Findings {
    found: Option<Found>,
    /// Whether the cards are out of sight.
    is_hidden: bool,
}

impl View for Findings {
    const TITLE: ViewId = "Findings";
    const IS_ALWAYS_ASKED: bool = true;
    type Request = Request;
    type Answer = Found;

    fn request(&self, document: &Document) -> Option<Request> {
        let names = document.names.as_ref().map(|names| Arc::clone(names.known())).unwrap_or_default();
        let request = Request { trace: Arc::clone(&document.trace), names };
        let is_known = self.found.as_ref().is_some_and(|found| found.of.is_same(&request));
        (document.is_settled() && !is_known).then_some(request)
    }

    fn answer(_: &Request, _: &mut Ground<'_>, _: &mut dyn FnMut(Found)) -> Result<(), Cancelled> {
        Ok(()) // everything else first
    }

    fn complete(request: &Request, ground: &mut Ground<'_>, tell: &mut dyn FnMut(Found)) -> Result<(), Cancelled> {
        let trace = ground.trace();
        let list = findings(ground.all_rows(), trace.span, &Mask::all(trace), &request.names, ground.cancel)?;
        tell(Found { of: request.clone(), list });
        Ok(())
    }

    fn take(&mut self, found: Found) {
        self.found = Some(found);
    }
}

impl Pane for Findings {
    fn forget(&mut self) {
        self.found = None;
    }

    fn findings(&self) -> &[Finding] {
        self.found.as_ref().map_or(&[], |found| &found.list)
    }

    fn strip(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        panel::cards(self, around, ui);
    }

    fn show(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        panel::show(self, around, ui);
    }
}
