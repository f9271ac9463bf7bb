//! Each frame of the window: takes what workers have done, carries out the user's commands, asks the next query, and draws.

use std::path::PathBuf;

use eframe::egui;

use super::HighwaterApp;
use crate::app::base::frame_times;
use crate::app::base::message::Message;
use crate::app::commands::{Command, keys};
use crate::app::document::Document;
use crate::app::jobs::{Answer, Part};
use crate::app::panels;
use crate::app::panels::context::Drawn;
use crate::app::panels::shortcuts;
use crate::app::services::dialogs::{Chosen, Purpose, TypedPath};
use crate::app::services::picture as pictures;
use crate::app::workspace::open_traces::OpenTrace;
use crate::load::Input;

impl HighwaterApp {
    /// Handles messages from workers and the user's commands, and sends the next query.
    fn drain(&mut self, ctx: &egui::Context) {
        match self.file_dialog.take_chosen() {
            Some(Chosen::Files(purpose, files)) => self.commands.push(Command::TakeFiles(purpose, files, None)),
            Some(Chosen::NoDialog(purpose)) => {
                self.typed_path = Some(TypedPath { is_instead: true, ..TypedPath::new(purpose) });
            }
            None => {}
        }
        if let Some(picture) = pictures::take(ctx) {
            self.file_dialog.show(ctx, Purpose::Picture(picture));
        }
        let dropped: Vec<PathBuf> = ctx.input(|i| i.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect());
        let kinds = ["toml", "stacktags"];
        let is_rules = |path: &PathBuf| path.extension().is_some_and(|is| kinds.iter().any(|kind| is.eq_ignore_ascii_case(kind)));
        let (rules, dropped): (Vec<PathBuf>, Vec<PathBuf>) = dropped.into_iter().partition(is_rules);
        rules.into_iter().for_each(|file| self.commands.push(Command::ReadRules(file)));
        if !dropped.is_empty() {
            self.commands.push(Command::Open(dropped.into_iter().map(Input::File).collect()));
        }
        // The user's commands come first: they refer to the last frame.
        for command in self.commands.take() {
            self.carry_out(ctx, command);
        }
        self.drain_loading(ctx);
        self.drain_parked(ctx);
        self.drain_apart(ctx);
        self.drain_investigations(ctx);
        self.drain_rules();
        self.drain_mapping();
        self.drain_source_files();
        self.drain_accepted();
        self.drain_exports(ctx);
        self.close_when_saved(ctx);
        self.drain_providers();
        self.drain_manifests(ctx);
        self.drain_names(ctx);
        self.drain_comparison(ctx);
        self.drain_recording(ctx);
        self.recents.drain();
        let OpenTrace { workspace, queries, loading, .. } = &mut self.front;
        if let Some(workspace) = workspace {
            let is_answered = !queries.is_busy(); // then the answers below are all
            for answer in queries.drain() {
                if let Answer { document: of, part: Part::Failed(caught), .. } = &answer
                    && *of == workspace.document.job
                {
                    // The next query may panic in the same way.
                    let failure = Message::internal("the computing", &workspace.document.inputs, caught);
                    if self.messages.iter().all(|shown| shown.text != failure.text) {
                        self.messages.push(failure);
                    }
                }
                workspace.take_answer(answer);
            }
            if let Some(request) = workspace.next_request() {
                // Answers about a growing trace are stale once it is complete.
                let urgent = workspace.document.user_acted() || !request.query.growing;
                queries.submit(request, urgent);
            } else if is_answered
                && loading.is_none()
                && let Some(requests) = workspace.foresee(|| self.layout.behind())
            {
                queries.foresee(requests);
            }
        }
        self.picture_recent();
    }

    /// Takes note of the frame that the panels have drawn.
    fn take_note(&mut self, drawn: Drawn) {
        let OpenTrace { workspace: Some(workspace), queries, .. } = &mut self.front else { return };
        drawn.bins.into_iter().for_each(|bins| workspace.document.set_bins(bins));
        if let Some(names) = &mut workspace.document.names {
            drawn.looked.into_iter().for_each(|looked| names.look_at(looked));
        }
        workspace.summarize();
        if let Some(request) = workspace.point_at(drawn.pointed, || self.layout.behind()) {
            queries.foresee_first(request);
        }
    }

    /// The window's stage, for those who measure it.
    fn stage(&self, busy: bool) -> u8 {
        let Some(document) = self.front.document() else { return 0 };
        match document.answers.graph {
            None => 0,
            Some(_) if !document.trace.complete || document.needs_query() => 1,
            Some(_) if !busy => 3,
            Some(_) if self.front.queries.is_completing() => 2,
            Some(_) => 1,
        }
    }
}

impl eframe::App for HighwaterApp {
    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        frame_times::measure_logic(ctx, || self.drain(ctx));
    }

    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        self.settings.note_window(ui.ctx());
        let searchable = self.front.document().and_then(Document::view_in_sight);
        if let Some(view) = searchable.filter(|_| self.takes_keys()) {
            keys::press_search(view, ui.ctx());
        }
        let is_held = ui.input(|input| input.pointer.any_down());
        self.front.document_mut().into_iter().for_each(|document| document.hold_order(is_held));
        let owner = keys::Owner::now(ui.ctx());
        let takes_keys = self.takes_keys();
        let mut context = self.context();
        panels::show(&mut context, ui);
        // After the panels: a key that follows a drag within one frame acts on the dragged state.
        if takes_keys {
            shortcuts::press(&mut context, ui.ctx(), owner);
            if owner.is_table(ui.ctx()) {
                panels::view_keys(&mut context, ui.ctx());
            }
        }
        let drawn = context.drawn;
        self.take_note(drawn);
        let busy = self.is_busy();
        frame_times::note_stage(ui.ctx(), self.stage(self.is_computing()));
        if let Some(picture) = &mut self.picture {
            picture.take_when_ready(ui.ctx(), busy);
        }
        if !self.commands.is_empty() {
            ui.ctx().request_repaint();
        }
    }

    fn on_exit(&mut self, _gl: Option<&eframe::glow::Context>) {
        self.save_settings();
        self.exports.finish();
        self.recents.finish();
    }
}
