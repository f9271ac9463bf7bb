//! Several traces open at once, each in its own tab. The one in front is the window's document, with
//! its load and its queries. The others are parked with all of the user's work on them; their loads
//! continue, and all share the memory that traces may use.

use std::sync::Arc;

use eframe::egui;

use super::Workspace;
use crate::app::document::Document;
use crate::app::jobs::load_scope::ScopeChoice;
use crate::app::jobs::{LoadJob, Queries, drop_aside};
use crate::app::state::inputs::short_name;
use crate::load::Input;

/// The open traces, in the order of their tabs.
#[derive(Default)]
pub struct Traces {
    /// `None` in the place of the trace in front.
    pub tabs: Vec<Option<OpenTrace>>,
    pub front: usize,
}

/// A trace that is open or being loaded: the user's work on it, its load and its queries.
pub struct OpenTrace {
    pub workspace: Option<Workspace>,
    pub loading: Option<LoadJob>,
    /// The choice of a part to load, if the trace needs too much memory.
    pub scope_choice: Option<ScopeChoice>,
    pub queries: Queries,
}

/// The contents of a tab.
pub struct TraceTab {
    pub name: String,
    pub is_in_front: bool,
    pub is_loading: bool,
}

/// Maximum number of open traces.
pub const MOST: usize = 12;

impl OpenTrace {
    /// A tab without a trace.
    pub fn none(ctx: &egui::Context) -> Self {
        Self { workspace: None, loading: None, scope_choice: None, queries: Queries::start(ctx.clone()) }
    }

    /// The open trace, once there is one.
    pub fn document(&self) -> Option<&Document> {
        self.workspace.as_ref().map(|workspace| &workspace.document)
    }

    /// The open trace, to be changed.
    pub fn document_mut(&mut self) -> Option<&mut Document> {
        self.workspace.as_mut().map(|workspace| &mut workspace.document)
    }

    /// Closes the trace; a large one takes a while to free.
    pub fn close(self) {
        let trace = self.document().map(|document| Arc::clone(&document.trace));
        drop(self);
        drop_aside(trace);
    }

    /// The files that are open or being loaded; none if there is nothing.
    pub fn inputs(&self) -> &[Input] {
        let loading = self.loading.as_ref().map(|job| &job.inputs);
        self.document().map(|document| &document.inputs).or(loading).map_or(&[], Vec::as_slice)
    }
}

impl Traces {
    /// The contents of all tabs, given those of the tab in front; none if there is a single trace.
    pub fn all(&self, document: Option<&Document>, loading: Option<&LoadJob>) -> Vec<TraceTab> {
        let name = |document: Option<&Document>, loading: Option<&LoadJob>| match (document, loading) {
            (Some(document), _) => document.name(),
            (None, Some(job)) => short_name(&job.inputs),
            (None, None) => "Start".to_owned(),
        };
        let tab = |(at, parked): (usize, &Option<OpenTrace>)| {
            let (document, loading) = match parked {
                Some(parked) => (parked.document(), parked.loading.as_ref()),
                None => (document, loading),
            };
            TraceTab { name: name(document, loading), is_in_front: at == self.front, is_loading: loading.is_some() }
        };
        self.tabs.iter().enumerate().map(tab).collect()
    }

    /// The number of tabs, including a start page in front.
    pub fn count(&self) -> usize {
        self.tabs.len().max(1)
    }

    /// The tab this many places to the right, wrapping around.
    pub fn beside(&self, by: isize) -> usize {
        (self.front as isize + by).rem_euclid(self.count() as isize) as usize
    }

    /// Bytes that the parked traces hold.
    pub fn bytes(&self) -> u64 {
        self.tabs.iter().flatten().filter_map(OpenTrace::document).map(|document| document.trace.load_bytes).sum()
    }

    /// Whether a parked trace is still being loaded or recorded.
    pub fn are_loading(&self) -> bool {
        self.tabs.iter().flatten().any(|parked| parked.loading.is_some())
    }

    /// The documents of all parked traces.
    pub fn documents_mut(&mut self) -> impl Iterator<Item = &mut Document> {
        self.tabs.iter_mut().flatten().filter_map(OpenTrace::document_mut)
    }

    /// The parked traces that can be compared with, and their tabs.
    pub fn comparable(&self) -> impl Iterator<Item = (usize, &Document)> {
        let tabs = self.tabs.iter().enumerate();
        let tabs = tabs.filter_map(|(at, parked)| Some((at, parked.as_ref()?.document()?)));
        tabs.filter(|(_, document)| document.is_settled())
    }
}
