//! The window. It holds what the user sees and did (view, selection, filter, open
//! nodes) and nothing of how numbers are made: loading and queries run on workers,
//! whose answers are drained once a frame. A frame never waits and never looks at
//! rows.
//!
//! Panels only read the state and push [`Command`]s; commands are carried out in
//! one place, [`HighwaterApp::carry_out`].

mod answers;
mod attach;
mod beside;
mod by_hand;
mod commands;
mod counters;
mod dialogs;
mod digest;
mod document;
mod failure;
mod filters;
mod frame_times;
mod graph;
mod heap_lines;
mod history;
mod icon;
mod jobs;
mod live;
mod loading;
mod names;
mod offer;
mod panels;
mod player;
mod recording;
mod settings;
mod stack_rules;
mod start;
mod theme;
mod ui_dump;
mod views;

use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui;

use crate::capture::Recorder;
use crate::load::Input;
use crate::panics;
use attach::Attach;
use commands::{Command, Commands};
use dialogs::Purpose;
use document::Document;
use failure::Failure;
use jobs::{Answer, LoadJob, Part, Queries};
pub use names::Given;
use names::{ModuleChange, Names, Search};
use offer::Offer;
use player::Pace;
use recording::RecordJob;
pub use settings::{Settings, SymbolSettings, Theme};
use stack_rules::RuleBook;

/// How to open the window.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What to open at once.
    pub inputs: Vec<Input>,
    /// Play it as if it were being recorded: so many seconds of it a second.
    pub speed: Option<f64>,
    /// Follow it while it is being recorded.
    pub follow: bool,
    /// Save a picture of the window to this file once everything is drawn, and quit.
    pub screenshot: Option<PathBuf>,
    /// Theme for this run only, whatever the settings say.
    pub theme: Option<Theme>,
    /// Size of the window for this run only, in points.
    pub size: Option<[f32; 2]>,
    /// Bytes of memory that a trace may use in this run, whatever the settings say.
    pub memory_limit: Option<u64>,
    /// Where symbols come from in this run, beside the settings.
    pub symbols: Given,
    /// Where the rules for stacks are kept in this run, in place of the file beside the settings.
    pub stack_rules: Option<PathBuf>,
    /// Who records, if anybody can.
    pub recorder: Option<Arc<dyn Recorder>>,
    /// Where recordings are kept in this run.
    pub recordings: Option<PathBuf>,
    /// What to draw with, and nothing else.
    pub renderer: Option<Renderer>,
}

/// What draws the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Renderer {
    /// OpenGL.
    Glow,
    /// What wgpu finds: Direct3D, Vulkan, Metal, or software.
    #[cfg(any(windows, feature = "wgpu"))]
    Wgpu,
}

impl Renderer {
    /// All that are built in, the first choice first.
    const ALL: &[Self] = &[
        Self::Glow,
        #[cfg(any(windows, feature = "wgpu"))]
        Self::Wgpu,
    ];

    /// What it is called on the command line.
    fn name(self) -> &'static str {
        match self {
            Self::Glow => "glow",
            #[cfg(any(windows, feature = "wgpu"))]
            Self::Wgpu => "wgpu",
        }
    }

    /// The one of that name, if it is built in.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|renderer| renderer.name() == name)
    }
}

/// Opens the window and returns when it is closed. The renderer is OpenGL, or whatever
/// wgpu finds, if it is built in, where OpenGL cannot start (remote desktops, virtual machines).
pub fn run(options: &Options) -> Result<(), String> {
    if !has_display() {
        return Err("there is no display to open a window on; highwater info and highwater report work without one".to_owned());
    }
    let settings = Settings::load();
    let start = |renderer| {
        let native = native_options(options, &settings, renderer);
        let (options, settings) = (options.clone(), settings.clone());
        eframe::run_native(
            "highwater",
            native,
            Box::new(move |cc| Ok(Box::new(HighwaterApp::new(&cc.egui_ctx, options, settings)))),
        )
        .map_err(|reason| reason.to_string())
    };
    let renderers = options.renderer.as_ref().map_or(Renderer::ALL, std::slice::from_ref);
    start_first(renderers, start)
        .map_err(|reason| format!("no window could be opened: {reason}"))
        .inspect_err(|reason| dialogs::tell_without_window(reason))
}

/// Starts with the first renderer that can; the reasons of all that cannot.
fn start_first(renderers: &[Renderer], start: impl Fn(Renderer) -> Result<(), String>) -> Result<(), String> {
    let mut reasons = Vec::new();
    for &renderer in renderers {
        match start(renderer) {
            Ok(()) => return Ok(()),
            Err(reason) => {
                log::warn!("{} could not start: {reason}", renderer.name());
                reasons.push(reason);
            }
        }
    }
    Err(reasons.join("; "))
}

/// Whether a window can be opened at all, as far as that is known beforehand.
fn has_display() -> bool {
    let names = ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"];
    !cfg!(all(unix, not(target_os = "macos")))
        || names.into_iter().any(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()))
}

fn native_options(options: &Options, settings: &Settings, renderer: Renderer) -> eframe::NativeOptions {
    let size = options.size.or(settings.window.size).unwrap_or([1280.0, 800.0]);
    let mut viewport = egui::ViewportBuilder::default()
        .with_title("highwater")
        .with_app_id("highwater")
        .with_inner_size(size)
        .with_min_inner_size([640.0, 420.0])
        .with_drag_and_drop(true)
        .with_icon(Arc::new(icon::icon()));
    if options.size.is_none() && settings.window.maximized {
        viewport = viewport.with_maximized(true);
    }
    let renderer = match renderer {
        Renderer::Glow => eframe::Renderer::Glow,
        #[cfg(any(windows, feature = "wgpu"))]
        Renderer::Wgpu => eframe::Renderer::Wgpu,
    };
    eframe::NativeOptions { viewport, renderer, ..eframe::NativeOptions::default() }
}

/// The program's window.
pub struct HighwaterApp {
    settings: Settings,
    rules: RuleBook,
    document: Option<Document>,
    loading: Option<LoadJob>,
    /// The choice that the load waits for, if its trace needs too much memory.
    offer: Option<Offer>,
    memory_limit: Option<u64>,
    given: Given,
    queries: Queries,
    commands: Commands,
    file_dialog: dialogs::FileDialog,
    /// What went wrong, until the user closes it.
    errors: Vec<Failure>,
    picture: Option<start::Picture>,
    recorder: Option<Arc<dyn Recorder>>,
    recordings: Option<PathBuf>,
    /// The dialog of what to record, what was filled in last, and what is recorded.
    attach: Option<Attach>,
    form: attach::Form,
    recording: Option<RecordJob>,
    show_keys: bool,
}

impl HighwaterApp {
    /// The window's state in a fresh egui context.
    pub fn new(ctx: &egui::Context, options: Options, settings: Settings) -> Self {
        panics::install();
        theme::install(ctx);
        ui_dump::install(ctx);
        frame_times::install(ctx);
        let theme = options.theme.unwrap_or(settings.theme);
        ctx.set_theme(theme.preference());
        let rules = RuleBook::load(options.stack_rules.or_else(|| settings.stack_rules()));
        let errors = rules.unread.iter().map(|reason| Failure::expected(format!("{reason}."))).collect();
        let mut app = Self {
            settings,
            rules,
            document: None,
            loading: None,
            offer: None,
            memory_limit: options.memory_limit,
            given: options.symbols,
            queries: Queries::start(ctx.clone()),
            commands: Commands::default(),
            file_dialog: dialogs::FileDialog::default(),
            errors,
            picture: options.screenshot.map(start::Picture::new),
            recorder: options.recorder,
            recordings: options.recordings.or_else(settings::recordings),
            attach: None,
            form: attach::Form::default(),
            recording: None,
            show_keys: false,
        };
        if !options.inputs.is_empty() {
            let pace = if options.follow { Pace::Followed } else { options.speed.map_or(Pace::AtOnce, Pace::Played) };
            app.open(ctx, options.inputs, pace);
        }
        app
    }

    /// Whether something is still being loaded, computed or looked for.
    pub fn is_busy(&self) -> bool {
        let names = self.document.as_ref().and_then(|document| document.names.as_ref());
        let beside = self.document.as_ref().is_some_and(|document| document.beside.is_busy());
        self.is_computing() || beside || names.is_some_and(|names| !names.is_settled())
    }

    /// The same, whatever names are to come.
    fn is_computing(&self) -> bool {
        !self.commands.is_empty()
            || (self.loading.is_some() && self.offer.is_none())
            || self.queries.is_busy()
            || self.rules.is_at_work()
            || self.document.as_ref().is_some_and(Document::needs_query)
    }

    fn carry_out(&mut self, ctx: &egui::Context, command: Command) {
        match command {
            Command::Open(inputs) => self.open(ctx, inputs, Pace::AtOnce),
            Command::ShowAttach(shown) => self.show_attach(shown),
            Command::ChangeAttach(form) => self.attach.iter_mut().for_each(|attach| attach.form = form.clone()),
            Command::StartRecording => self.start_recording(ctx),
            Command::StopRecording => self.recording.iter().for_each(RecordJob::stop),
            Command::SaveRecording => self.save_recording(ctx),
            Command::DismissRecording => self.recording = None,
            Command::OpenDialog => self.file_dialog.show(ctx, Purpose::Traces),
            Command::CancelLoading => self.stop_loading(),
            Command::CompareDialog => self.file_dialog.show(ctx, Purpose::Compared),
            Command::CompareWith(inputs) => self.open_beside(ctx, inputs),
            Command::StopComparing => self.close_beside(),
            Command::TogglePause => {
                self.loading.iter_mut().for_each(LoadJob::toggle_pause);
            }
            Command::EndFollowing => self.loading.iter().for_each(LoadJob::end_following),
            Command::ChangePlayer(change) => self.loading.iter_mut().for_each(|job| job.change_player(change)),
            Command::ChangeOffer(change) => {
                if let Some(offer) = &mut self.offer {
                    offer.change(change);
                }
            }
            Command::LoadOffer(scope) => {
                if let (Some(_), Some(job)) = (self.offer.take(), &self.loading) {
                    job.choose(scope);
                }
            }
            Command::Close => {
                (self.loading, self.offer) = (None, None);
                self.document = None;
                self.queries.cancel();
                self.set_title(ctx);
            }
            Command::Quit => ctx.send_viewport_cmd(egui::ViewportCommand::Close),
            Command::SetTheme(theme) => {
                self.settings.theme = theme;
                ctx.set_theme(theme.preference());
                self.save_settings();
            }
            Command::ShowColumn(column, shown) => {
                self.settings.show_column(column, shown);
                self.save_settings();
            }
            Command::SetMemoryLimit(megabytes) => {
                self.settings.memory_limit_mb = megabytes;
                self.save_settings();
            }
            Command::ShowDefaultPrograms => {
                if let Err(reason) = dialogs::show_default_programs() {
                    self.errors.push(Failure::expected(format!("Windows' settings could not be opened: {reason}.")));
                }
            }
            Command::ForgetRecent => {
                self.settings.recent.clear();
                self.save_settings();
            }
            Command::DismissError(index) => {
                if index < self.errors.len() {
                    self.errors.remove(index);
                }
            }
            Command::ShowAllocators(shown) => {
                self.settings.show_allocators = shown;
                self.save_settings();
                self.document.iter_mut().for_each(|document| document.fold_allocators(!shown));
            }
            Command::SetSymbols(symbols) => {
                self.settings.symbols = symbols;
                self.save_settings();
                self.search_again();
            }
            Command::ShowRules(shown) => self.rules.is_shown = shown,
            Command::ChangeRules(change) => self.change_rules(ctx, change),
            Command::NameStacks(naming) => self.rules.name_stacks(naming),
            Command::OpenRulesDialog => self.file_dialog.show(ctx, Purpose::Rules),
            Command::SaveRulesDialog => self.file_dialog.show(ctx, Purpose::SaveRules),
            Command::ReadRules(file) => self.read_rules(ctx, file),
            Command::BrowsePdb(key) => self.file_dialog.show(ctx, Purpose::Pdb(key)),
            Command::ChangeModule(key, change) => {
                self.document.iter().flat_map(|document| &document.names).for_each(|names| names.change(&key, change.clone()));
            }
            Command::ShowKeys(shown) => self.show_keys = shown,
            Command::Copy(text) => ctx.copy_text(text),
            Command::Document(command) => {
                if let Some(document) = &mut self.document {
                    document.carry_out(command);
                }
            }
        }
    }

    /// Begins to find the names of a trace that is live or does not grow any more, and
    /// takes those that are there.
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
        // The next publication shows them anyway.
        // Rules hold for frames without names, too.
        let has_rules = is_begun && !self.rules.now().is_empty();
        if (names.update(ctx, is_busy) || has_rules) && settled {
            document.show_names();
        }
    }

    /// Seeks what has no names in the sources of the settings.
    fn search_again(&mut self) {
        let Some(document) = &mut self.document else { return };
        if let Some(names) = &mut document.names {
            names.search_again(Search::of(&document.trace.volumes, &self.settings.symbols, &self.given));
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
        if let Err(reason) = self.settings.save() {
            log::warn!("settings could not be saved: {reason}");
        }
    }

    /// Takes what the workers and the user have sent, and asks what is to be asked next.
    fn drain(&mut self, ctx: &egui::Context) {
        match self.file_dialog.take_chosen() {
            Some((Purpose::Traces, paths)) => {
                self.commands.push(Command::Open(paths.into_iter().map(Input::File).collect()));
            }
            Some((Purpose::Compared, paths)) => {
                self.commands.push(Command::CompareWith(paths.into_iter().map(Input::File).collect()));
            }
            Some((Purpose::Rules, paths)) => paths.into_iter().for_each(|file| self.commands.push(Command::ReadRules(file))),
            Some((Purpose::SaveRules, mut paths)) => paths.pop().into_iter().for_each(|file| self.write_rules(ctx, file)),
            Some((Purpose::Pdb(key), mut paths)) => {
                let chosen = paths.pop().map(|file| Command::ChangeModule(key, ModuleChange::Choose(file)));
                chosen.into_iter().for_each(|command| self.commands.push(command));
            }
            Some((Purpose::Save(_), mut paths)) => {
                if let (Some(job), Some(to)) = (&mut self.recording, paths.pop()) {
                    job.move_to(to);
                }
            }
            None => {}
        }
        let dropped: Vec<PathBuf> = ctx.input(|i| i.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect());
        let is_rules = |path: &PathBuf| path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("toml"));
        let (rules, dropped): (Vec<PathBuf>, Vec<PathBuf>) = dropped.into_iter().partition(is_rules);
        rules.into_iter().for_each(|file| self.commands.push(Command::ReadRules(file)));
        if !dropped.is_empty() {
            self.commands.push(Command::Open(dropped.into_iter().map(Input::File).collect()));
        }
        // First what the user did: it is about what was on the screen.
        for command in self.commands.take() {
            self.carry_out(ctx, command);
        }
        self.drain_loading(ctx);
        self.drain_rules();
        self.drain_names(ctx);
        self.drain_beside(ctx);
        self.drain_recording(ctx);
        if let Some(document) = &mut self.document {
            for answer in self.queries.drain() {
                if let Answer { document: of, part: Part::Failed(caught), .. } = &answer
                    && *of == document.job
                {
                    // The next query may well break in the same way.
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
    }
}

impl HighwaterApp {
    /// How far the window is, for those who measure it.
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
        if self.offer.is_none() && self.document.is_some() {
            commands::search_key(ui.ctx());
        }
        let is_typing = ui.ctx().egui_wants_keyboard_input();
        panels::show(self, ui);
        // After the panels: a key that follows a drag within one frame acts on what was dragged.
        if self.offer.is_none() {
            commands::shortcuts(ui.ctx(), self.document.as_ref(), is_typing, &mut self.commands);
            if commands::are_free(ui.ctx(), is_typing) {
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
    }
}
