//! The providers of the trace in front: lists them, and loads the trace again when others are chosen for marks, or when
//! installed manifests describe more of their events.

use eframe::egui;

use super::HighwaterApp;
use crate::app::base::message::Message;
use crate::app::document::Document;
use crate::app::jobs::LoadJob;
use crate::app::jobs::player::Pace;
use crate::app::services::providers::Providers;
use crate::app::state::provider_choice::ProviderChoice;
use crate::app::workspace::Workspace;
use crate::app::workspace::open_traces::OpenTrace;
use crate::load::Input;

impl HighwaterApp {
    /// Lists the providers of the trace in front, unless they are known.
    pub(super) fn list_providers(&mut self, ctx: &egui::Context) {
        if let Some(document) = self.front.document_mut().filter(|document| document.is_settled())
            && matches!(document.providers, Providers::Unknown)
        {
            document.providers = Providers::seek(ctx, document.inputs.clone());
        }
    }

    pub(super) fn drain_providers(&mut self) {
        self.front.document_mut().into_iter().for_each(|document| document.providers.drain());
    }

    /// Looks up the events of the trace in front in the installed manifests.
    pub(super) fn look_up_manifests(&mut self, ctx: &egui::Context) {
        if let Some(document) = self.front.document().filter(|document| document.is_settled()) {
            self.manifests.seek(ctx, document.inputs.clone());
        }
    }

    /// Takes what manifests define; the trace in front is loaded again with it.
    pub(super) fn drain_manifests(&mut self, ctx: &egui::Context) {
        if self.manifests.is_due && self.front.loading.is_none() && self.front.document().is_some_and(Document::is_settled) {
            self.look_up_manifests(ctx);
        }
        if self.manifests.drain() {
            self.load_again(ctx);
        }
    }

    /// Which events of providers are marks, and which are blocks of trackers.
    pub(super) fn provider_choice(&self) -> ProviderChoice {
        let descriptions = self.manifests.known.clone();
        ProviderChoice { marks: self.settings.mark_providers.clone(), trackers: self.mapping.now.clone(), descriptions }
    }

    /// Puts the mapping of trackers that was written in force.
    pub(super) fn use_trackers(&mut self, ctx: &egui::Context) {
        if self.mapping.use_draft(ctx) {
            self.load_again(ctx);
        }
    }

    /// Reports a mapping that could not be kept.
    pub(super) fn drain_mapping(&mut self) {
        let failed = self.mapping.drain();
        self.messages.extend(failed.into_iter().map(|reason| Message::error(format!("{reason}."))));
    }

    /// Applies a changed choice of providers: loads the trace in front again if it was loaded with another one.
    pub(super) fn load_again(&mut self, ctx: &egui::Context) {
        let wanted = self.provider_choice();
        let OpenTrace { workspace: Some(Workspace { document, .. }), loading, .. } = &mut self.front else { return };
        let is_live = loading.as_ref().is_some_and(|job| job.is_live() || job.id == document.job);
        if is_live || !document.is_settled() || document.inputs.iter().any(Input::is_recording) {
            return;
        }
        // A load with an earlier choice is of no use any more.
        loading.take_if(|job| job.replaces == Some(document.job));
        if document.providers_read == wanted {
            return;
        }
        let (inputs, job, held) = (document.inputs.clone(), document.job, document.trace.load_bytes);
        let left = self.budget().saturating_sub(held);
        if left < held {
            self.open(ctx, inputs, Pace::AtOnce);
            return;
        }
        self.stop_loading();
        let again = LoadJob::start(ctx.clone(), inputs, left, Pace::AtOnce, wanted, self.prepared());
        self.front.loading = Some(again.in_place_of(job));
    }
}
