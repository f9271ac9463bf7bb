//! Saving an investigation, and opening one: its trace is loaded, then the window goes to where the user was.

use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui;

use super::HighwaterApp;
use crate::app::base::message::Message;
use crate::app::commands::DocCommand;
use crate::app::document::Document;
use crate::app::jobs::player::Pace;
use crate::app::panels::timeline;
use crate::app::services::dialogs::Purpose;
use crate::app::services::investigation::{Found, Investigation, Snapshot};
use crate::app::state::layout::Layout;
use crate::paths::{self, Existing};
use crate::units::Ticks;

impl HighwaterApp {
    /// Lets the user choose the file for the investigation.
    pub(super) fn save_investigation(&mut self, ctx: &egui::Context, with_trace: bool) {
        let Some(workspace) = &self.front.workspace else { return };
        let document = &workspace.document;
        let baseline = document.comparison.opened();
        let snapshot = Snapshot {
            name: document.name(),
            bookmark: workspace.bookmark(),
            layout: self.layout.shape(),
            trace: Arc::clone(&document.trace),
            inputs: document.inputs.clone(),
            baseline: baseline.map(|opened| (Arc::clone(&opened.ready.trace), opened.inputs.clone())),
            with_trace: with_trace.then(|| document.providers_read.clone()),
        };
        self.file_dialog.show(ctx, Purpose::Investigation(Arc::new(snapshot)));
    }

    /// Writes the investigation to a file that the user named.
    pub(super) fn write_investigation(
        &mut self,
        ctx: &egui::Context,
        snapshot: Arc<Snapshot>,
        file: PathBuf,
        existing: Existing,
    ) {
        self.exports.start_long(ctx, file.display().to_string(), move |watch| {
            paths::write(&file, existing, |out| snapshot.write(&file, out, &|done| watch.tell(done)))
        });
    }

    /// Takes investigations that have been read, loads their traces, and goes to their places.
    pub(super) fn drain_investigations(&mut self, ctx: &egui::Context) {
        for read in self.investigations.reading.done() {
            match read {
                Err(reason) => self.messages.push(Message::error(reason)),
                Ok(read) => {
                    if !self.bring_to_front(ctx, &read) {
                        match &read.inputs {
                            Ok(inputs) => self.open_trace(ctx, inputs.clone(), Pace::AtOnce),
                            Err(reason) => {
                                self.messages.push(Message::error(reason.clone()));
                                continue;
                            }
                        }
                    }
                    self.investigations.waiting = Some(Box::new(read));
                }
            }
        }
        if self.front.loading.is_none()
            && let Some(waiting) = self.investigations.waiting.take()
            && let Some(document) = self.front.document().filter(|document| fits(document, &waiting))
        {
            let (job, inputs, trace) = (document.job, document.inputs.clone(), Arc::clone(&document.trace));
            self.investigations.finding.start(ctx, move || waiting.find(job, &inputs, &trace));
        }
        for found in self.investigations.finding.done() {
            self.resume(ctx, found);
        }
    }

    /// Brings the trace of an investigation to the front if it is open; returns whether it is.
    fn bring_to_front(&mut self, ctx: &egui::Context, read: &Investigation) -> bool {
        if self.front.document().is_some_and(|document| fits(document, read)) && self.front.loading.is_none() {
            return true;
        }
        let at = self.traces.comparable().find(|(_, document)| fits(document, read)).map(|(at, _)| at);
        at.into_iter().for_each(|at| self.show_trace(ctx, at));
        at.is_some()
    }

    /// Goes to the place of an investigation, if its trace is still in front.
    fn resume(&mut self, ctx: &egui::Context, found: Found) {
        let Found { job, bookmark, layout, baseline, doubts } = found;
        if self.front.document().is_none_or(|document| document.job != job) {
            return;
        }
        self.messages.extend(doubts.into_iter().map(Message::notice));
        if let Some(layout) = layout {
            self.layout = Layout::new(Some(&layout), None);
        }
        if let Some(baseline) = baseline {
            self.open_comparison(ctx, baseline);
        }
        if let Some(workspace) = &mut self.front.workspace {
            workspace.carry_out(DocCommand::Resume(Box::new(bookmark)));
        }
        self.look();
    }

    /// Opens the field for a note at a moment, or at the cursor: else at the start of the selection, or in the middle.
    pub(super) fn edit_note(&self, ctx: &egui::Context, at: Option<Ticks>) {
        let Some(document) = self.front.document() else { return };
        let view = document.view();
        let usual = || document.selection().map_or(Ticks(view.from.0 + view.len() / 2), |selection| selection.from);
        timeline::edit_note(ctx, document, at.or(document.cursor).unwrap_or_else(usual));
    }
}

/// Whether an open trace is that of an investigation.
fn fits(document: &Document, read: &Investigation) -> bool {
    document.is_settled() && (read.inputs.as_ref() == Ok(&document.inputs) || read.is_of(&document.trace))
}
