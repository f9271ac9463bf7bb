//! Recordings in the window: starts them, follows them while they grow, and saves the trace where the user wants it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use eframe::egui;

use super::HighwaterApp;
use crate::app::base::message::Message;
use crate::app::jobs::player::Pace;
use crate::app::services::dialogs::Purpose;
use crate::app::services::providers::with_recorded;
use crate::app::services::record_dialog::RecordDialog;
use crate::app::services::recording::{RecordJob, Stage, Turn, file_of};
use crate::app::services::saving::as_file_name;
use crate::capture::{Aftermath, Allocator};
use crate::load::{Input, reading};
use crate::paths::is_device;
use crate::utc;

/// How often the window is drawn while something is recorded.
const BEAT: Duration = Duration::from_millis(250);

impl HighwaterApp {
    /// Whether something is being recorded.
    pub fn is_recording(&self) -> bool {
        self.recording.as_ref().is_some_and(RecordJob::is_busy)
    }

    pub(super) fn show_record_dialog(&mut self, shown: bool) {
        if let Some(dialog) = self.record_dialog.take() {
            self.form = dialog.form;
        }
        self.record_dialog =
            (shown && self.recorder.is_some() && !self.is_recording()).then(|| RecordDialog::new(self.form.clone()));
    }

    pub(super) fn start_recording(&mut self, ctx: &egui::Context) {
        let (Some(dialog), Some(recorder)) = (&self.record_dialog, &self.recorder) else { return };
        let Ok(mut request) = dialog.form.request() else { return }; // the button is not enabled
        let name = dialog.name();
        let Some(folder) = folder_of(self.recordings.as_deref(), &name, &mut self.messages) else { return };
        if request.trackers {
            request.allocators = Allocator::of_users(&self.mapping.now);
        }
        let record_options = dialog.form.record_options();
        self.settings.mark_providers = with_recorded(&self.settings.mark_providers, dialog.form.mark_words());
        self.recording = Some(RecordJob::start(ctx.clone(), recorder.clone(), request, name, folder));
        self.settings.recording = record_options;
        self.save_settings();
        self.show_record_dialog(false);
    }

    /// Measures how much the recording would write.
    pub(super) fn estimate_recording(&mut self, ctx: &egui::Context) {
        let Some(folder) = folder_of(self.recordings.as_deref(), "estimate", &mut self.messages) else { return };
        let (Some(dialog), Some(recorder)) = (&mut self.record_dialog, &self.recorder) else { return };
        let Ok(request) = dialog.form.request() else { return }; // the button is not enabled
        dialog.measure(ctx, recorder, request, Allocator::of_users(&self.mapping.now), folder);
    }

    pub(super) fn drain_recording(&mut self, ctx: &egui::Context) {
        if let (Some(dialog), Some(recorder)) = (&mut self.record_dialog, &self.recorder) {
            dialog.refresh(ctx, recorder);
        }
        self.leftovers.drain();
        let Some(job) = &mut self.recording else { return };
        let turns = job.drain();
        if job.is_busy() {
            ctx.request_repaint_after(BEAT);
        }
        if self.front.loading.is_none() && !self.traces.are_loading() {
            job.forget_lanes();
        }
        let lanes = Input::File(job.folder.clone());
        let saved = turns.iter().find_map(|turn| if let Turn::Saved(file) = turn { Some(file.clone()) } else { None });
        for turn in turns {
            match turn {
                Turn::Started => match &saved {
                    None => self.open(ctx, vec![lanes.clone()], Pace::Followed),
                    // It ended before it was first looked at, and its lanes are about to be deleted.
                    Some(file) => self.open(ctx, vec![Input::File(file.clone())], Pace::AtOnce),
                },
                Turn::Saved(file) => {
                    self.rename_input(ctx, &lanes, &Input::File(file));
                    // What manifests tell was written at its end, and was not in the lanes that are on display.
                    self.manifests.is_due = self.manifests.are_there() && !self.settings.mark_providers.is_empty();
                }
                Turn::Moved(from, to) => {
                    self.recents.rename(&from, &to);
                    self.rename_input(ctx, &Input::File(from), &Input::File(to));
                }
                Turn::Ended(Aftermath::Fine) => {}
                Turn::Ended(Aftermath::CutShort) => self.leftovers.note_cut_short(),
                Turn::Ended(Aftermath::Failed(reason)) => self.messages.push(Message::error(reason)),
                Turn::NotMoved(to, reason) => {
                    let reason = format!("{}: the trace could not be saved: {reason}", to.display());
                    self.messages.push(Message::error(reason));
                }
            }
        }
    }

    /// Takes note that the input that is open or loading is now another file.
    fn rename_input(&mut self, ctx: &egui::Context, from: &Input, to: &Input) {
        self.recents.remember(std::slice::from_ref(to));
        let open = self.front.document_mut().into_iter().chain(self.traces.documents_mut());
        for document in open.filter(|document| document.inputs.first() == Some(from)) {
            document.inputs = vec![to.clone()];
            document.files = Arc::new(reading(&document.inputs));
        }
        for job in self.front.loading.iter_mut().filter(|job| job.inputs.first() == Some(from)) {
            job.inputs = vec![to.clone()];
            job.reading = Arc::new(reading(&job.inputs));
        }
        self.set_title(ctx);
    }

    pub(super) fn save_recording(&mut self, ctx: &egui::Context) {
        if let Some(RecordJob { stage: Stage::Saved(file, _), .. }) = &self.recording {
            self.file_dialog.show(ctx, Purpose::Save(file.clone()));
        }
    }
}

/// A new folder for a recording; an error if this machine has no place for recordings.
fn folder_of(recordings: Option<&Path>, name: &str, messages: &mut Vec<Message>) -> Option<PathBuf> {
    let folder = recordings.map(|recordings| free_folder(recordings, name));
    if folder.is_none() {
        messages.push(Message::error("there is no folder for recordings on this machine".to_owned()));
    }
    folder
}

/// A folder named after the recording and the time that does not exist yet.
fn free_folder(recordings: &Path, name: &str) -> PathBuf {
    let mut stem = format!("{} {}", as_file_name(name), time_of_day());
    if is_device(&stem) {
        stem.insert(0, '_'); // the program has the name of a device
    }
    let numbered = (2..1000).map(|n| format!("{stem} {n}"));
    let mut folders = std::iter::once(stem.clone()).chain(numbered).map(|name| recordings.join(name));
    folders.find(|folder| !folder.exists() && !file_of(folder).exists()).unwrap_or_else(|| recordings.join(&stem))
}

/// The present date and time, for a file name.
fn time_of_day() -> String {
    /// Seconds from 1601 to 1970.
    const TO_1970: u64 = 11_644_473_600;
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let text = utc::rfc3339(((seconds + TO_1970) * 10_000_000) as i64).unwrap_or_default();
    text.replace('T', " ").replace(':', ".").replace('Z', "")
}
