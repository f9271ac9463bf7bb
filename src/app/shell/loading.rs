//! Loading in the window: starting it, handling its results, and ending it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use eframe::egui;

use super::HighwaterApp;
use crate::app::commands::DocCommand;
use crate::app::document::Document;
use crate::app::jobs::load_scope::ScopeChoice;
use crate::app::jobs::player::Pace;
use crate::app::jobs::{LoadEvent, LoadJob, drop_aside};
use crate::app::services::investigation::Investigation;
use crate::app::services::recent::Picture;
use crate::app::state::ids::{Tab, ViewId};
use crate::app::state::walk::Walking;
use crate::app::workspace::Workspace;
use crate::app::workspace::open_traces::OpenTrace;
use crate::load::{Input, PreparedTraces, is_investigation};

/// Pause after a query about a growing trace, as a multiple of its time: a plain file loads faster if it is queried less
/// often, while a capture that is followed or played back must be shown as it goes.
const LOADING_REST: u32 = 40;
const LIVE_REST: u32 = 1;

/// How often the window is drawn while a trace loads, if nothing else asks for it.
pub(super) const PROGRESS: Duration = Duration::from_millis(300);

impl HighwaterApp {
    /// Opens what the user named: a trace, or an investigation, which names its trace.
    pub(super) fn open(&mut self, ctx: &egui::Context, inputs: Vec<Input>, pace: Pace) {
        if inputs.is_empty() {
            return;
        }
        self.messages.clear();
        self.walking = None;
        self.investigations.waiting = None;
        let is_one = |input: &&Input| pace == Pace::AtOnce && input.path().is_some_and(is_investigation);
        match inputs.iter().find(is_one).and_then(Input::path).map(Path::to_owned) {
            Some(file) => {
                let given = inputs.into_iter().filter(|input| !is_one(&input)).collect();
                self.investigations.reading.start(ctx, move || Investigation::read(&file, given));
            }
            None => self.open_trace(ctx, inputs, pace),
        }
    }

    /// Opens the files of a trace.
    pub(super) fn open_trace(&mut self, ctx: &egui::Context, inputs: Vec<Input>, pace: Pace) {
        self.make_room(ctx, &inputs);
        self.stop_loading();
        let (budget, providers, prepared) = (self.budget(), self.provider_choice(), self.prepared());
        self.front.loading = Some(LoadJob::start(ctx.clone(), inputs, budget, pace, providers, prepared));
    }

    /// Prepared traces, unless the user wants all files to be read anew.
    pub(super) fn prepared(&self) -> Option<PreparedTraces> {
        self.prepared.clone().filter(|_| !self.settings.reads_anew)
    }

    /// Removes all prepared traces.
    pub(super) fn forget_prepared(&self) {
        if let Some(prepared) = self.prepared.clone() {
            std::thread::spawn(move || prepared.clear());
        }
    }

    /// Starts, continues or ends a walk through the demo trace, which is opened for it.
    pub(super) fn walk(&mut self, ctx: &egui::Context, walking: Option<Walking>) {
        let is_open = self.front.document().is_some_and(|document| document.inputs == [Input::Demo]);
        if walking.is_some() && !is_open {
            self.open(ctx, vec![Input::Demo], Pace::AtOnce);
        }
        self.walking = walking;
    }

    /// Saves a small picture of the open trace once its lines are complete.
    pub(super) fn picture_recent(&mut self) {
        let Some(document) = self.front.document().filter(|_| self.front.loading.is_none()) else { return };
        let is_known = document.trace.complete && !document.needs_query() && !self.front.queries.is_busy();
        if is_known && self.pictured != Some(document.job) {
            self.pictured = Some(document.job);
            if let Some(picture) = Picture::of(&document.trace, &document.answers.overview) {
                self.recents.draw(&document.inputs, picture);
            }
        }
    }

    /// Stops the load; the part loaded so far stays open.
    pub(super) fn stop_loading(&mut self) {
        self.front.scope_choice = None;
        let Some(job) = self.front.loading.take() else { return };
        if let Some(document) = self.front.document_mut().filter(|d| d.job == job.id) {
            document.stop_growing();
        }
    }

    pub(super) fn drain_loading(&mut self, ctx: &egui::Context) {
        let OpenTrace { workspace, loading: Some(job), scope_choice, queries } = &mut self.front else { return };
        let rest = queries.rest_left(if job.is_live() { LIVE_REST } else { LOADING_REST });
        // A load that replaces a trace does so only at its end.
        if job.replaces.is_none() && rest.is_some_and(|left| left.is_zero()) {
            job.want_trace();
        }
        // The progress is redrawn at this rate; more frames would slow down the loading.
        if scope_choice.is_none() {
            ctx.request_repaint_after(rest.filter(|left| !left.is_zero()).map_or(PROGRESS, |left| left.min(PROGRESS)));
        }
        let (mut finished, mut is_new, mut apart) = (false, false, None);
        for event in job.drain() {
            let is_over = !matches!(event, LoadEvent::Trace(_)) && !job.has_begun();
            if let Some(previewed) = workspace.take_if(|open| is_over && open.document.job == job.id) {
                let trace = Arc::clone(&previewed.document.trace);
                queries.cancel();
                drop(previewed);
                drop_aside(trace);
                is_new = true;
            }
            match event {
                LoadEvent::Trace(trace) => {
                    finished |= trace.complete;
                    match workspace {
                        Some(open) if open.document.job == job.id => open.update(trace),
                        Some(open) if job.replaces == Some(open.document.job) => {
                            queries.cancel();
                            open.document.job = job.id;
                            open.document.files = Arc::clone(&job.reading);
                            open.document.providers_read.clone_from(&job.providers);
                            open.update(trace);
                        }
                        // A preview takes the place of no other trace: the load may fail.
                        Some(_) if !trace.complete && !job.has_begun() => {}
                        _ => {
                            queries.cancel();
                            is_new = true;
                            let mut document = Document::new(job.id, job.inputs.clone(), Arc::clone(&job.reading), trace);
                            document.providers_read.clone_from(&job.providers);
                            document.follows_end = job.player().is_some() || job.is_followed();
                            document.tab = self.layout.first_in_sight().unwrap_or(document.tab);
                            document.tab_is_left = true;
                            workspace.insert(Workspace::new(document)).apply(&self.settings, &self.accepted.now);
                        }
                    }
                }
                LoadEvent::TooLarge(too_large) => *scope_choice = Some(ScopeChoice::new(too_large)),
                LoadEvent::Apart(parts) => (finished, apart) = (true, Some((parts, job.pace))),
                LoadEvent::Failed(failure) => {
                    if let Some(open) = workspace.as_mut().filter(|open| open.document.job == job.id) {
                        open.document.stop_growing();
                    }
                    self.messages.push(failure);
                    finished = true;
                }
            }
        }
        if finished && let Some(job) = self.front.loading.take() {
            let opened = self.front.document().is_some_and(|d| d.job == job.id);
            if opened {
                self.recents.remember(&job.inputs);
                self.leave_empty_tab();
            }
        }
        if let Some((parts, pace)) = apart {
            self.set_apart(parts, pace);
        }
        if is_new {
            self.look();
            self.set_title(ctx);
        }
    }

    /// Shows *Stacks* in place of the tab that the trace before left, if this one has nothing to show there.
    fn leave_empty_tab(&mut self) {
        let Some(workspace) = &mut self.front.workspace else { return };
        let document = &workspace.document;
        if document.tab_is_left && document.lacks(document.tab).is_some() {
            workspace.carry_out(DocCommand::ShowTab(Tab::View(ViewId::Stacks)));
        }
        workspace.document.tab_is_left = false;
        self.look();
    }
}
