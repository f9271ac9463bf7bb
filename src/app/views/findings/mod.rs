//! Findings, the first thing that a user sees. Up to five cards stand above all tabs, each a sentence with a
//! number; a click goes there. The tab lists all findings, with the doubts about each.
//!
//! Findings cover the whole time of the trace and the rows that pass the filters. They are computed once the
//! trace has stopped growing, after everything else, and again when names arrive. Those of all rows are kept
//! beside those of the filtered rows, so that they appear at once when the filters are cleared.

mod panel;
mod table;

use std::sync::Arc;

use super::view::View;
use crate::app::document::Document;
use crate::app::jobs::QueryContext;
use crate::app::state::filters::{Filters, Scope};
use crate::app::state::ids::ViewId;
use crate::limits::{Accepted, Baseline};
use crate::model::Trace;
use crate::query::{Cancelled, Finding, findings, silent_allocators};
use crate::symbols::Names;
use table::Reported;

/// The inputs of the answer.
#[derive(Clone)]
pub struct Request {
    trace: Arc<Trace>,
    names: Arc<Names>,
    scope: Scope,
}

impl Request {
    fn of(document: &Document) -> Self {
        Self { trace: Arc::clone(&document.trace), names: document.known_names(), scope: document.scope() }
    }
}

impl PartialEq for Request {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.trace, &other.trace) && Arc::ptr_eq(&self.names, &other.names) && self.scope == other.scope
    }
}

/// The answer: the findings for a request.
#[derive(Clone)]
pub struct Found {
    of: Request,
    /// Reported findings, best first, and the rank of each among all findings.
    list: Vec<Finding>,
    ranks: Vec<usize>,
    /// Accepted findings: the rank of each, and the entry that accepts it.
    accepted: Vec<(usize, Finding, Accepted)>,
    /// The reported findings, for copies and exports.
    table: Arc<Reported>,
    /// Sentences about allocators of which no blocks are seen.
    silent: Vec<String>,
}

impl Found {
    fn new(of: Request, list: Vec<Finding>) -> Self {
        let table = Arc::new(Reported::of(&of.trace, &list));
        let silent = silent_allocators(&of.trace, &of.names);
        let silent = silent.iter().map(|silent| format!("{}.", silent.sentence(&of.trace))).collect();
        Self { of, ranks: (0..list.len()).collect(), list, accepted: Vec::new(), table, silent }
    }

    /// Separates accepted findings from those that are reported.
    fn judge(&mut self, accepted: &Baseline) {
        let told = self.ranks.drain(..).zip(self.list.drain(..));
        let mut all: Vec<_> = told.chain(self.accepted.drain(..).map(|(rank, finding, _)| (rank, finding))).collect();
        all.sort_by_key(|(rank, _)| *rank);
        for (rank, finding) in all {
            match accepted.entry_of(&Accepted::finding(&self.of.trace, &finding)) {
                Some(entry) => self.accepted.push((rank, finding, entry.clone())),
                None => {
                    self.ranks.push(rank);
                    self.list.push(finding);
                }
            }
        }
        self.table = Arc::new(Reported::of(&self.of.trace, &self.list));
    }
}

/// State of the view.
#[derive(Clone, Default)]
pub struct Findings {
    /// The findings in all rows.
    found: Option<Found>,
    /// The findings in the filtered rows.
    filtered: Option<Found>,
    /// The findings that are not reported.
    accepted: Arc<Baseline>,
    /// The filters of the window.
    filters: Filters,
    /// Whether the cards are hidden.
    is_hidden: bool,
}

impl View for Findings {
    const ID: ViewId = ViewId::Findings;
    const IS_ALWAYS_ASKED: bool = true;
    type Request = Request;
    type Answer = Found;

    fn request(&self, document: &Document) -> Option<Request> {
        let request = Request::of(document);
        let is_known = self.place(&request.scope).is_some_and(|found| found.of == request);
        (document.is_settled() && !is_known).then_some(request)
    }

    fn answer(_: &Request, _: &mut QueryContext<'_>, _: &mut dyn FnMut(Found)) -> Result<(), Cancelled> {
        Ok(()) // only after everything else
    }

    fn complete(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Found)) -> Result<(), Cancelled> {
        let trace = query.trace();
        let list = findings(&query.index, trace.span, &query.mask, &request.names, query.cancel)?;
        tell(Found::new(request.clone(), list));
        Ok(())
    }

    fn bytes(found: &Found) -> usize {
        found.list.iter().map(|finding| size_of_val(finding) + size_of_val(&finding.sites[..])).sum()
    }

    fn take(&mut self, mut found: Found) {
        found.judge(&self.accepted);
        match found.of.scope.filters.is_all() {
            true => self.found = Some(found),
            false => self.filtered = Some(found),
        }
    }
}

impl Findings {
    /// The latest findings in all rows, or in the filtered rows, depending on the scope.
    fn place(&self, scope: &Scope) -> Option<&Found> {
        if scope.filters.is_all() { self.found.as_ref() } else { self.filtered.as_ref() }
    }

    /// The findings for the current filters, if they are known. They stay valid when names arrive, which change
    /// their words but not their numbers.
    fn now(&self, document: &Document) -> Option<&Found> {
        let scope = document.scope();
        self.place(&scope).filter(|found| found.of.scope == scope)
    }
}
