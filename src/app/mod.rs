//! The window. It holds the user's state (view, selection, filters, open nodes) and computes no numbers
//! itself: loading and queries run on workers, whose answers are drained once a frame. A frame never
//! waits and never reads rows.
//!
//! Panels only read the state and push [`Command`]s; commands are carried out in one place, `carry_out`.

mod accepted;
mod answers;
mod apart;
mod aside;
mod attach;
mod beside;
mod by_hand;
mod carry_out;
mod commands;
mod counters;
mod dialogs;
mod digest;
mod document;
mod export;
mod failure;
mod filters;
mod fonts;
mod frame_times;
mod graph;
mod happenings;
mod heap_lines;
mod help;
mod history;
mod icon;
mod jobs;
mod lanes;
mod layout;
mod leftovers;
mod line_colors;
mod live;
mod loading;
mod names;
mod offer;
mod palette;
mod panels;
mod picture;
mod player;
mod providers;
mod recent;
mod recording;
mod saving;
mod settings;
mod source_files;
mod stack_rules;
mod start;
mod state;
mod theme;
mod traces;
mod ui_dump;
mod views;
mod walk;
mod window;

use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui;

use crate::capture::Recorder;
use crate::load::Input;
use crate::panics;
use crate::paths::Existing;
use accepted::AcceptedFindings;
use attach::Attach;
use commands::{Command, Commands, keys};
use dialogs::{Chosen, Purpose, TypedPath};
use document::Document;
use failure::Failure;
use fonts::SystemFonts;
pub use graph::Arrangement;
use jobs::{Answer, LoadJob, Part, Queries};
use layout::{Layout, Preset};
use leftovers::LeftoversJob;
pub use names::Given;
use names::{Names, Search};
use offer::Offer;
use player::Pace;
use recent::Recents;
use recording::RecordJob;
pub use settings::{Settings, SymbolSettings, Theme, recordings_that_run};
use source_files::SourceFiles;
use stack_rules::RuleBook;
use traces::Traces;
pub use window::{Options, Renderer, run};

/// The program's window.
pub struct HighwaterApp {
    settings: Settings,
    rules: RuleBook,
    source_files: SourceFiles,
    accepted: AcceptedFindings,
    document: Option<Document>,
    loading: Option<LoadJob>,
    /// The choice of a part to load, if the trace needs too much memory.
    offer: Option<Offer>,
    memory_limit: Option<u64>,
    given: Given,
    queries: Queries,
    commands: Commands,
    file_dialog: dialogs::FileDialog,
    exports: export::Exports,
    /// The path that the user types instead of using a dialog.
    typed_path: Option<TypedPath>,
    /// The existing file that the user named for saving, until they confirm that it is replaced.
    replacing: Option<saving::Place>,
    /// Errors on display, until the user closes them.
    errors: Vec<Failure>,
    picture: Option<start::Picture>,
    recorder: Option<Arc<dyn Recorder>>,
    recordings: Option<PathBuf>,
    /// The dialog for recording, the values filled in last, and the current recording.
    attach: Option<Attach>,
    form: attach::Form,
    recording: Option<RecordJob>,
    leftovers: LeftoversJob,
    show_keys: bool,
    palette: Option<palette::Palette>,
    /// The page at which the help is open.
    help: Option<help::Page>,
    /// The walk through the demo trace, if the user is on one.
    walking: Option<walk::Walking>,
    recents: Recents,
    /// The last document of which a small picture was saved.
    pictured: Option<jobs::JobId>,
    fonts: SystemFonts,
    layout: Layout,
    traces: Traces,
    apart: apart::Apart,
}

impl HighwaterApp {
    /// Creates the window's state in a fresh egui context.
    pub fn new(ctx: &egui::Context, options: Options, settings: Settings) -> Self {
        panics::install();
        theme::install(ctx);
        ui_dump::install(ctx);
        frame_times::install(ctx);
        let theme = options.theme.unwrap_or(settings.theme);
        ctx.set_theme(theme.preference());
        // Its keys are in the key map, and its steps in the settings.
        ctx.options_mut(|options| options.zoom_with_keyboard = false);
        ctx.set_zoom_factor(f32::from(settings.text_size()) / 100.0);
        let rules = RuleBook::load(options.stack_rules.or_else(|| settings.beside("stack-rules.toml")));
        let unread = settings.unread.iter().chain(&rules.unread);
        let errors: Vec<Failure> = unread.map(|reason| Failure::expected(format!("{reason}."))).collect();
        let recents = Recents::load(options.recent.or_else(|| settings.beside("recent.toml")), &settings.recent);
        let layout = Layout::new(settings.layout.as_ref(), settings.sources_width);
        let form = attach::Form::with(&settings.recording);
        let usual = || settings.beside("accepted.json");
        let mut accepted = AcceptedFindings::of(settings.accepted.clone().or_else(usual));
        accepted.read(ctx);
        let mut app = Self {
            settings,
            rules,
            source_files: SourceFiles::default(),
            accepted,
            document: None,
            loading: None,
            offer: None,
            memory_limit: options.memory_limit,
            given: options.symbols,
            queries: Queries::start(ctx.clone()),
            commands: Commands::default(),
            file_dialog: dialogs::FileDialog::default(),
            exports: export::Exports::default(),
            typed_path: None,
            replacing: None,
            errors: Vec::new(),
            picture: options
                .screenshot
                .map(|path| start::Picture::new(path, if options.replaces { Existing::GivesWay } else { Existing::Stays })),
            recorder: options.recorder,
            recordings: options.recordings.or_else(settings::recordings),
            attach: None,
            form,
            recording: None,
            leftovers: LeftoversJob::default(),
            show_keys: false,
            palette: None,
            help: None,
            walking: None,
            recents,
            pictured: None,
            fonts: SystemFonts::install(ctx),
            layout,
            traces: Traces::default(),
            apart: apart::Apart::default(),
        };
        app.recents.look(ctx);
        if let Some(recorder) = &app.recorder {
            app.leftovers.look(ctx, recorder);
        }
        if !options.inputs.is_empty() {
            let pace = if options.follow { Pace::Followed } else { options.speed.map_or(Pace::AtOnce, Pace::Played) };
            app.open(ctx, options.inputs, pace);
        }
        app.errors.extend(errors); // opening a trace clears earlier errors
        app
    }

    /// Whether anything is still being loaded, computed or looked up.
    pub fn is_busy(&self) -> bool {
        let names = self.document.as_ref().and_then(|document| document.names.as_ref());
        let beside = self.document.as_ref().is_some_and(|document| document.beside.is_busy());
        self.is_computing() || beside || names.is_some_and(|names| !names.is_settled())
    }

    /// Whether anything is still being loaded or computed, apart from names.
    fn is_computing(&self) -> bool {
        !self.commands.is_empty()
            || (self.loading.is_some() && self.offer.is_none())
            || (self.apart.told.is_some() && (self.apart.is_waiting() || self.is_reading()))
            || self.queries.is_busy()
            || self.rules.is_at_work()
            || self.source_files.is_at_work()
            || self.accepted.is_at_work()
            || self.exports.is_busy()
            || self.document.as_ref().is_some_and(|document| document.providers.is_busy())
            || self.recents.is_at_work()
            || self.fonts.is_busy()
            || self.document.as_ref().is_some_and(Document::needs_query)
    }

    /// Whether keys act on the window: no dialog takes them all.
    fn takes_keys(&self) -> bool {
        self.offer.is_none() && self.palette.is_none() && self.replacing.is_none()
    }

    /// Starts to resolve the names of a trace that is live or no longer grows, and takes those that are resolved.
    fn drain_names(&mut self, ctx: &egui::Context) {
        let is_busy = self.queries.is_busy();
        let live = self.loading.as_ref().filter(|job| job.is_live()).map(|job| job.id);
        let is_wanted = |document: &&mut Document| document.is_settled() || live == Some(document.job);
        let Some(document) = self.document.as_mut().filter(is_wanted) else { return };
        let settled = document.is_settled();
        let mut is_begun = false;
        let names = document.names.get_or_insert_with(|| {
            let search = Search::of(&document.trace.volumes, &self.settings.symbols, &self.given);
            is_begun = true;
            Names::start(ctx, &document.trace, search, &self.given, self.rules.now())
        });
        names.go_on(&document.trace, settled);
        // Stack rules apply to frames without names too. While the trace grows, its next publication
        // shows new names anyway.
        let has_rules = is_begun && !self.rules.now().is_empty();
        if (names.update(ctx, is_busy) || has_rules) && settled {
            document.show_names();
        }
    }

    /// Searches again for missing symbols, in the sources of the settings.
    fn search_again(&mut self) {
        for document in self.document.iter_mut().chain(self.traces.documents_mut()) {
            if let Some(names) = &mut document.names {
                names.search_again(Search::of(&document.trace.volumes, &self.settings.symbols, &self.given));
            }
        }
    }

    /// Brings the document's tab to the front, and tells the document which tabs are visible.
    fn look(&mut self) {
        let Some(document) = &mut self.document else { return };
        let tab = document.tab;
        if !self.layout.in_sight().contains(&tab) {
            self.layout.show(tab);
        }
        let in_sight = self.layout.in_sight();
        if in_sight != document.in_sight() {
            document.look_at(tab, in_sight);
        }
    }

    fn set_title(&self, ctx: &egui::Context) {
        let title = match &self.document {
            Some(document) => format!("{} \u{2013} highwater", document.name()),
            None => "highwater".to_owned(),
        };
        ctx.send_viewport_cmd(egui::ViewportCommand::Title(title));
    }

    fn save_settings(&mut self) {
        // A layout of another version stays until the user chooses one of this version.
        if !(self.settings.has_other_layout() && self.layout.is(Preset::FirstLook)) {
            self.settings.layout = self.layout.shape();
        }
        self.settings.sources_width = self.layout.sources_width();
        if let Err(reason) = self.settings.save() {
            log::warn!("settings could not be saved: {reason}");
        }
    }

    /// Handles messages from workers and the user's commands, and sends the next query.
    fn drain(&mut self, ctx: &egui::Context) {
        match self.file_dialog.take_chosen() {
            Some(Chosen::Files(purpose, files)) => self.commands.push(Command::TakeFiles(purpose, files, None)),
            Some(Chosen::NoDialog(purpose)) => {
                self.typed_path = Some(TypedPath { is_instead: true, ..TypedPath::new(purpose) });
            }
            None => {}
        }
        if let Some(picture) = picture::take(ctx) {
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
        self.drain_rules();
        self.drain_source_files();
        self.drain_accepted();
        self.drain_exports(ctx);
        self.drain_providers();
        self.drain_names(ctx);
        self.drain_beside(ctx);
        self.drain_recording(ctx);
        self.recents.drain();
        if let Some(document) = &mut self.document {
            for answer in self.queries.drain() {
                if let Answer { document: of, part: Part::Failed(caught), .. } = &answer
                    && *of == document.job
                {
                    // The next query may panic in the same way.
                    let failure = Failure::internal("the computing", &document.inputs, caught);
                    if self.errors.iter().all(|shown| shown.text != failure.text) {
                        self.errors.push(failure);
                    }
                }
                document.take_answer(answer);
            }
            if let Some(query) = document.next_query() {
                // Answers about a growing trace are stale once it is complete.
                let urgent = document.user_acted() || !query.growing;
                self.queries.submit(query, urgent);
            }
        }
        self.picture_recent();
    }
}

impl HighwaterApp {
    /// The window's stage, for those who measure it.
    fn stage(&self, busy: bool) -> u8 {
        let Some(document) = &self.document else { return 0 };
        match document.answers.graph {
            None => 0,
            Some(_) if busy || !document.trace.complete => 1,
            Some(_) => 2,
        }
    }
}

impl eframe::App for HighwaterApp {
    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        frame_times::measure_logic(ctx, || self.drain(ctx));
    }

    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        self.settings.note_window(ui.ctx());
        let searchable = self.document.as_ref().and_then(Document::view_in_sight);
        if let Some(view) = searchable.filter(|_| self.takes_keys()) {
            keys::press_search(view, ui.ctx());
        }
        let is_held = ui.input(|input| input.pointer.any_down());
        self.document.iter_mut().for_each(|document| document.hold_order(is_held));
        let owner = keys::Owner::now(ui.ctx());
        panels::show(self, ui);
        // After the panels: a key that follows a drag within one frame acts on the dragged state.
        if self.takes_keys() {
            keys::press(self, ui.ctx(), owner);
            if owner.is_nobody(ui.ctx()) {
                panels::view_keys(self, ui.ctx());
            }
        }
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
        self.recents.finish();
    }
}
