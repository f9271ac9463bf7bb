//! Carries out each [`Command`]: the one place where the window's state changes because of the user.

use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui;

use super::HighwaterApp;
use crate::app::base::message::Message;
use crate::app::base::table::{Export, Format};
use crate::app::commands::{Command, LoadCommand, RecordCommand, Setting, keys};
use crate::app::document::Document;
use crate::app::jobs::LoadJob;
use crate::app::jobs::player::Pace;
use crate::app::jobs::writing::Writing;
use crate::app::panels;
use crate::app::services::dialogs::{self, Purpose, TypedPath};
use crate::app::services::names::ModuleChange;
use crate::app::services::picture;
use crate::app::services::recording::RecordJob;
use crate::app::state::ids::Tab;
use crate::load::Input;

impl HighwaterApp {
    /// Shows an error, unless it is on the screen already.
    pub(super) fn tell_once(&mut self, text: String) {
        if self.messages.iter().all(|shown| shown.text != text) {
            self.messages.push(Message::error(text));
        }
    }

    pub(super) fn carry_out(&mut self, ctx: &egui::Context, command: Command) {
        match command {
            Command::Open(inputs) => self.open(ctx, inputs, Pace::AtOnce),
            Command::OpenDialog => self.file_dialog.show(ctx, Purpose::Traces),
            Command::TypePath(typed) => self.typed_path = typed,
            Command::TakeFiles(purpose, files, typed) => self.take_files(ctx, purpose, files, typed),
            Command::Replace(is_replaced) => self.replace(ctx, is_replaced),
            Command::Record(command) => self.carry_out_recording(ctx, command),
            Command::Load(command) => self.carry_out_loading(command),
            Command::Set(setting) => self.set(ctx, &setting),
            Command::CompareDialog => self.file_dialog.show(ctx, Purpose::Compared),
            Command::CompareWith(at) => self.compare_with_open(ctx, at),
            Command::StopComparing => self.close_comparison(),
            Command::Close => self.close_trace(ctx, self.traces.beside(0)),
            Command::ShowTrace(at) => self.show_trace(ctx, at),
            Command::CloseTrace(at) => self.close_trace(ctx, at),
            Command::Quit => ctx.send_viewport_cmd(egui::ViewportCommand::Close),
            Command::LookAgain => self.look(),
            Command::ChooseLayout(preset) => {
                self.layout.choose(preset);
                if let (Some(front), Some(document)) = (preset.front(), self.front.document_mut()) {
                    document.tab = Tab::View(front);
                }
                self.look();
            }
            Command::ShowPart(part, shown) => self.layout.set_shown(part, shown),
            Command::ShowDefaultPrograms => {
                if let Err(reason) = dialogs::show_default_programs() {
                    self.messages.push(Message::error(format!("Windows' settings could not be opened: {reason}.")));
                }
            }
            Command::ForgetRecent => {
                self.recents.clear();
                self.forget_prepared();
            }
            Command::ForgetOneRecent(files) => self.recents.forget(&files),
            Command::Walk(walking) => self.walk(ctx, walking),
            Command::DismissMessage(index) => {
                if index < self.messages.len() {
                    self.messages.remove(index);
                }
            }
            Command::StopWriting(at) => self.exports.writing().get(at).into_iter().for_each(Writing::stop),
            Command::CloseApart => self.apart.told = None,
            Command::ListProviders => self.list_providers(ctx),
            Command::LookUpManifests => self.look_up_manifests(ctx),
            Command::OpenSource(line) => self.open_source(ctx, &line),
            Command::ReadSource(line) => self.read_source(ctx, line),
            Command::ShowSources(shown) => {
                self.source_files.is_shown = shown;
                if !shown {
                    self.save_settings(); // once, not for each typed letter
                }
            }
            Command::ChangeSources(sources) => {
                self.settings.sources = sources;
                self.source_files.forget_texts();
            }
            Command::OfferToAccept(finding) => self.offer_to_accept(finding.map(|finding| *finding)),
            Command::ChangeAccepted(change) => self.change_accepted(ctx, change),
            Command::ShowRules(shown) => self.rules.is_shown = shown,
            Command::ShowTrackers(shown) => self.mapping.is_shown = shown,
            Command::UseTrackers => self.use_trackers(ctx),
            Command::ChangeRules(change) => self.change_rules(ctx, change),
            Command::NameStacks(naming) => self.rules.name_stacks(naming),
            Command::OpenRulesDialog => self.file_dialog.show(ctx, Purpose::Rules),
            Command::SaveRulesDialog => self.file_dialog.show(ctx, Purpose::SaveRules),
            Command::ReadRules(file) => self.read_rules(ctx, file),
            Command::BrowsePdb(key) => self.file_dialog.show(ctx, Purpose::Pdb(key)),
            Command::ChangeModule(key, change) => {
                self.front
                    .document()
                    .into_iter()
                    .flat_map(|document| &document.names)
                    .for_each(|names| names.change(&key, change.clone()));
            }
            Command::ShowKeys(shown) => self.show_keys = shown,
            Command::ShowHelp(page) => self.help = page,
            Command::ShowPalette(palette) => self.palette = palette,
            Command::FocusSearch => {
                let view = self.front.document().and_then(Document::view_in_sight);
                view.into_iter().for_each(|view| ctx.memory_mut(|m| m.request_focus(keys::search_id(view))));
            }
            Command::FocusGraph => panels::timeline::take_keys(ctx),
            Command::Copy(text) => ctx.copy_text(text),
            Command::Export(Export { table_source, format: Format::Text }) => self.copy_table(ctx, table_source),
            Command::Export(export) => self.file_dialog.show(ctx, Purpose::Export(export)),
            Command::ExportInSight(format) => {
                let table_source = self.front.workspace.as_ref().and_then(|workspace| workspace.active_view()?.table_source());
                table_source
                    .into_iter()
                    .for_each(|table_source| self.commands.push(Command::Export(Export { table_source, format })));
            }
            Command::Share => {
                let page = self.shared_page().map(Arc::new);
                page.into_iter().for_each(|page| self.file_dialog.show(ctx, Purpose::Page(page)));
            }
            Command::SaveInvestigation { with_trace } => self.save_investigation(ctx, with_trace),
            Command::EditNote(at) => self.edit_note(ctx, at),
            Command::TakePicture(request) => picture::ask(ctx, request),
            Command::Document(command) => {
                if let Some(workspace) = &mut self.front.workspace {
                    workspace.carry_out(command);
                    self.look();
                }
            }
        }
    }

    fn carry_out_recording(&mut self, ctx: &egui::Context, command: RecordCommand) {
        match command {
            RecordCommand::Show(shown) => self.show_record_dialog(shown),
            RecordCommand::Change(form) => self.record_dialog.iter_mut().for_each(|attach| attach.form = *form.clone()),
            RecordCommand::Estimate => self.estimate_recording(ctx),
            RecordCommand::Start => self.start_recording(ctx),
            RecordCommand::Stop => self.recording.iter().for_each(RecordJob::stop),
            RecordCommand::Save => self.save_recording(ctx),
            RecordCommand::Dismiss => self.recording = None,
            RecordCommand::CleanUp => {
                if let Some(recorder) = &self.recorder {
                    self.leftovers.clean_up(ctx, recorder);
                }
            }
            RecordCommand::LeaveBe => self.leftovers.dismiss(),
        }
    }

    fn carry_out_loading(&mut self, command: LoadCommand) {
        match command {
            LoadCommand::Cancel => self.stop_loading(),
            LoadCommand::TogglePause => self.front.loading.iter_mut().for_each(LoadJob::toggle_pause),
            LoadCommand::EndFollowing => self.front.loading.iter().for_each(LoadJob::end_following),
            LoadCommand::ChangePlayer(change) => self.front.loading.iter_mut().for_each(|job| job.change_player(change)),
            LoadCommand::ChangeScope(change) => {
                if let Some(offer) = &mut self.front.scope_choice {
                    offer.change(change);
                }
            }
            LoadCommand::ChooseScope(scope) => {
                if let (Some(_), Some(job)) = (self.front.scope_choice.take(), &self.front.loading) {
                    job.choose(scope);
                }
            }
        }
    }

    /// Changes a setting, saves it, and applies it to the window.
    fn set(&mut self, ctx: &egui::Context, setting: &Setting) {
        match setting {
            Setting::Theme(theme) => self.settings.theme = *theme,
            Setting::TextSize(percent) => self.settings.set_text_size(*percent),
            Setting::Column(column, shown) => self.settings.show_column(*column, *shown),
            Setting::Arrangement(arrangement) => self.settings.arrangement = *arrangement,
            Setting::MemoryLimit(megabytes) => self.settings.memory_limit_mb = *megabytes,
            Setting::AllFrames(shown) => self.settings.show_all_frames = *shown,
            Setting::Chains(fold) => self.settings.open_chains = !fold,
            Setting::WpaWords(wpa) => self.settings.wpa_words = *wpa,
            Setting::Symbols(symbols) => self.settings.symbols = symbols.clone(),
            Setting::MarkProviders(words) => self.settings.mark_providers.clone_from(words),
            Setting::ReadsAnew(anew) => self.settings.reads_anew = *anew,
        }
        self.save_settings();
        match setting {
            Setting::Theme(theme) => ctx.set_theme(theme.preference()),
            Setting::TextSize(_) => ctx.set_zoom_factor(f32::from(self.settings.text_size()) / 100.0),
            Setting::Column(..) | Setting::MemoryLimit(_) => {}
            Setting::Arrangement(arrangement) => {
                self.front.document_mut().into_iter().for_each(|document| document.arrange(*arrangement));
            }
            Setting::AllFrames(shown) => {
                self.front.document_mut().into_iter().for_each(|document| document.show_all_frames(*shown));
            }
            Setting::Chains(_) | Setting::WpaWords(_) => {
                let reading = self.settings.reading();
                self.front.document_mut().into_iter().for_each(|document| document.read_as(reading));
            }
            Setting::Symbols(_) => self.search_again(),
            Setting::MarkProviders(_) => self.load_again(ctx),
            Setting::ReadsAnew(true) => self.forget_prepared(),
            Setting::ReadsAnew(false) => {}
        }
    }

    /// Uses the files that the user has chosen, or whose path they typed.
    fn take_files(&mut self, ctx: &egui::Context, purpose: Purpose, mut files: Vec<PathBuf>, typed: Option<TypedPath>) {
        let inputs = |files: Vec<PathBuf>| files.into_iter().map(Input::File).collect();
        match purpose {
            Purpose::Traces => self.open(ctx, inputs(files), Pace::AtOnce),
            Purpose::Compared => self.open_comparison(ctx, inputs(files)),
            Purpose::Rules => files.into_iter().for_each(|file| self.read_rules(ctx, file)),
            Purpose::Pdb(key) => {
                let chosen = files.pop().map(|file| Command::ChangeModule(key, ModuleChange::Choose(file)));
                chosen.into_iter().for_each(|command| self.carry_out(ctx, command));
            }
            saved @ (Purpose::SaveRules
            | Purpose::Export(_)
            | Purpose::Picture(_)
            | Purpose::Page(_)
            | Purpose::Investigation(_)
            | Purpose::Save(_)) => {
                if let Some(file) = files.pop() {
                    self.save_at(ctx, saved, file, typed);
                }
            }
        }
    }
}
