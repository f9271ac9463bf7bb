//! The trace to compare with: loads it, and takes its names.

use std::sync::Arc;

use eframe::egui;

use super::HighwaterApp;
use super::loading::PROGRESS;
use crate::app::base::message::Message;
use crate::app::commands::DocCommand;
use crate::app::jobs::player::Pace;
use crate::app::jobs::{LoadEvent, LoadJob, drop_aside};
use crate::app::services::comparison::{Comparison, Opened};
use crate::app::services::names::{Names, Search};
use crate::app::state::ids::{Tab, ViewId};
use crate::app::state::provider_choice::ProviderChoice;
use crate::format;
use crate::load::Input;

impl HighwaterApp {
    /// Loads another trace to compare with, replacing the previous one.
    pub fn open_comparison(&mut self, ctx: &egui::Context, inputs: Vec<Input>) {
        let (budget, prepared) = (self.budget(), self.prepared());
        // Marks are not compared, blocks of trackers are.
        let providers = ProviderChoice { trackers: self.mapping.now.clone(), ..ProviderChoice::default() };
        let Some(workspace) = &mut self.front.workspace else { return };
        let document = &mut workspace.document;
        document.comparison = Comparison::Nothing;
        if inputs.iter().any(Input::is_recording) {
            self.messages.push(Message::error("A running recording cannot be compared; stop it first.".to_owned()));
            return;
        }
        let left = budget.saturating_sub(document.trace.load_bytes);
        let job = LoadJob::start(ctx.clone(), inputs, left / 2, Pace::AtOnce, providers, prepared);
        document.comparison = Comparison::Loading(job);
        workspace.carry_out(DocCommand::ShowTab(Tab::View(ViewId::Compare)));
        self.look();
    }

    /// Compares with a trace that is open in another tab.
    pub(super) fn compare_with_open(&mut self, ctx: &egui::Context, at: usize) {
        let other = self.traces.comparable().find(|(tab, _)| *tab == at);
        let other = other.map(|(_, other)| (other.inputs.clone(), Arc::clone(&other.trace), Arc::clone(&other.files)));
        let Some((inputs, trace, files)) = other else { return };
        let search = Search::of(trace.places_of_names(), &self.settings.symbols, &self.given);
        let names = Names::start(ctx, &trace, search, &self.given, &self.rules.now);
        if let Some(workspace) = &mut self.front.workspace {
            workspace.document.comparison = Comparison::Open(Box::new(Opened::new(inputs, trace, names, files)));
            workspace.carry_out(DocCommand::ShowTab(Tab::View(ViewId::Compare)));
        }
        self.look();
    }

    /// Stops comparing.
    pub(super) fn close_comparison(&mut self) {
        if let Some(workspace) = &mut self.front.workspace {
            drop_aside(std::mem::take(&mut workspace.document.comparison));
            workspace.carry_out(DocCommand::Ask);
        }
    }

    /// Takes the load's events, and new names.
    pub(super) fn drain_comparison(&mut self, ctx: &egui::Context) {
        let is_busy = self.front.queries.is_busy();
        let Some(workspace) = &mut self.front.workspace else { return };
        match &mut workspace.document.comparison {
            Comparison::Nothing => {}
            Comparison::Open(opened) => {
                if opened.names.update(ctx, is_busy) {
                    workspace.carry_out(DocCommand::Ask);
                }
            }
            Comparison::Loading(job) => {
                ctx.request_repaint_after(PROGRESS);
                let Some(event) = job.drain().pop() else { return };
                let name = job.inputs.iter().map(Input::name).collect::<Vec<_>>().join(" + ");
                workspace.document.comparison = match event {
                    LoadEvent::Trace(trace) if !trace.complete => return, // only the complete trace is used
                    LoadEvent::Trace(trace) => {
                        let search = Search::of(trace.places_of_names(), &self.settings.symbols, &self.given);
                        let names = Names::start(ctx, &trace, search, &self.given, &self.rules.now);
                        Comparison::Open(Box::new(Opened::new(job.inputs.clone(), trace, names, Arc::clone(&job.reading))))
                    }
                    LoadEvent::TooLarge(too_large) => {
                        let [need, left] = [too_large.estimate.total(), too_large.budget].map(format::rough_bytes);
                        let text = format!(
                            "{name} needs about {need} of memory, and {left} may be used beside the open trace; allow more in \
                             View, or compare the two with highwater diff."
                        );
                        self.messages.push(Message::error(text));
                        Comparison::Nothing
                    }
                    LoadEvent::Apart(parts) => {
                        let text = format!("{name}: these files belong to {} recordings; choose the files of one.", parts.len());
                        self.messages.push(Message::error(text));
                        Comparison::Nothing
                    }
                    LoadEvent::Failed(failure) => {
                        self.messages.push(failure);
                        Comparison::Nothing
                    }
                };
                workspace.carry_out(DocCommand::Ask);
            }
        }
    }
}
