//! Remains of recordings that no longer run: searched for when the window opens, reported, and cleaned
//! up if the user wants it. A worker queries the system.

use std::sync::Arc;

use eframe::egui;

use crate::app::base::background::Background;
use crate::capture::{CaptureError, Leftovers, Recorder};
use crate::panics;

/// The state of the search and the clean-up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Stage {
    /// Nothing is left, as far as is known.
    #[default]
    Nothing,
    /// These remains of earlier recordings were found.
    Found(Leftovers),
    /// A recording of this window was ended from outside; its remains are not known.
    CutShort,
    /// The clean-up is running; the system may ask the user for consent.
    CleaningUp,
    /// These remains were cleaned up.
    CleanedUp(Leftovers),
    /// Why the clean-up failed.
    Failed(String),
}

/// The remains, and the progress of their clean-up.
#[derive(Debug, Default)]
pub struct LeftoversJob {
    pub stage: Stage,
    news: Background<Stage>,
}

impl LeftoversJob {
    /// Searches for remains. Failures are not reported, because the user did not ask for the search.
    pub fn look(&mut self, ctx: &egui::Context, recorder: &Arc<dyn Recorder>) {
        self.ask(ctx, recorder, |recorder| match recorder.leftovers() {
            Ok(found) if !found.is_empty() => Stage::Found(found),
            Ok(_) => Stage::Nothing,
            Err(reason) => {
                log::warn!("{reason}");
                Stage::Nothing
            }
        });
    }

    /// Reports that a recording was ended from outside.
    pub fn note_cut_short(&mut self) {
        (self.stage, self.news) = (Stage::CutShort, Background::default());
    }

    /// Starts the clean-up.
    pub fn clean_up(&mut self, ctx: &egui::Context, recorder: &Arc<dyn Recorder>) {
        self.stage = Stage::CleaningUp;
        let told = |result: Result<Leftovers, CaptureError>| match result {
            Ok(what) => Stage::CleanedUp(what),
            Err(reason) => Stage::Failed(reason.to_string()),
        };
        self.ask(ctx, recorder, move |recorder| told(recorder.clean_up()));
    }

    /// Closes the report.
    pub fn dismiss(&mut self) {
        *self = Self::default();
    }

    /// Takes the worker's messages.
    pub fn drain(&mut self) {
        if let Some(stage) = self.news.done().pop() {
            self.stage = stage;
        }
    }

    fn ask(
        &mut self,
        ctx: &egui::Context,
        recorder: &Arc<dyn Recorder>,
        ask: impl FnOnce(&dyn Recorder) -> Stage + Send + 'static,
    ) {
        self.news = Background::default(); // an earlier answer does not count any more
        let recorder = Arc::clone(recorder);
        self.news.start(ctx, move || {
            panics::catch(|| ask(recorder.as_ref())).unwrap_or_else(|caught| Stage::Failed(caught.to_string()))
        });
    }
}
