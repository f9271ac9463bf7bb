//! The job that computes the models.

use std::sync::Arc;

use eframe::egui;

use super::table::ModelTable;
use super::{About, Given, WhatIf};
use crate::panics::{self, Caught};
use crate::query::{Cancel, ModelsDone, what_if};

/// Most rows of a trace whose models are computed without being asked for: some seconds of one processor.
const MOST_AT_ONCE: usize = 1 << 20;

/// A job that runs.
pub struct Job {
    pub(super) about: About,
    pub(super) progress: Arc<ModelsDone>,
    cancel: Cancel,
}

/// The inputs of a job and its result; no table if it was cancelled.
pub type Answered = (About, Result<Option<ModelTable>, Caught>);

impl WhatIf {
    /// The inputs of the models that the view should show.
    pub(super) fn about(&self, given: &Given) -> About {
        let trace = Arc::downgrade(given.index.shared_trace());
        About { trace, names: Arc::downgrade(&given.names), scope: given.scope.clone(), request: self.request }
    }

    /// Takes results, ends a job about anything else, and starts one if the trace is small.
    pub(super) fn go_on(&mut self, about: &About, ctx: &egui::Context) {
        for (of, result) in self.work.done() {
            let is_awaited = self.job.as_ref().is_some_and(|job| job.about.is(&of));
            if is_awaited {
                self.job = None;
            }
            match result {
                Ok(Some(table)) if is_awaited => self.table = Some(Arc::new(table)),
                Err(caught) if is_awaited => self.stopped = Some((of, Some(caught))),
                Ok(_) | Err(_) => {}
            }
        }
        // Names that arrive while a job runs do not start it anew.
        if self.job.as_ref().is_some_and(|job| !job.about.has_requests_of(about)) {
            self.cancel();
        }
        let is_done = self.table.as_ref().is_some_and(|table| table.about.is(about));
        let is_small = self.given.as_ref().is_some_and(|given| given.index.trace().rows.len() <= MOST_AT_ONCE);
        if !is_done && is_small && self.job.is_none() && !self.is_stopped(about) {
            self.start(ctx);
        }
    }

    /// Whether the user cancelled the job for these models, or it failed.
    pub(super) fn is_stopped(&self, about: &About) -> bool {
        self.stopped.as_ref().is_some_and(|(of, _)| of.has_requests_of(about))
    }

    /// Starts a job for the models that the view should show.
    pub(super) fn start(&mut self, ctx: &egui::Context) {
        let Some(given) = &self.given else { return };
        let about = self.about(given);
        let (index, mask, names) = (Arc::clone(&given.index), Arc::clone(&given.mask), Arc::clone(&given.names));
        let (progress, cancel) = (Arc::<ModelsDone>::default(), Cancel::default());
        self.job = Some(Job { about: about.clone(), progress: Arc::clone(&progress), cancel: cancel.clone() });
        self.stopped = None;
        self.work.start(ctx, move || {
            let found = panics::catch(|| what_if((&index, &mask, &names), about.request, &progress, &cancel));
            let table = found.map(|found| found.ok().map(|models| ModelTable::new(about.clone(), index.trace(), &models)));
            (about, table)
        });
    }

    /// Ends the job; its result is dropped.
    pub(super) fn cancel(&mut self) {
        if let Some(job) = self.job.take() {
            job.cancel.cancel();
        }
    }
}
