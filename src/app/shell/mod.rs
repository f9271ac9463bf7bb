//! The program's window: its state. Its other files say what happens in each frame ([`frame`]) and carry out the user's
//! commands, a file for each subject.

mod accepted;
mod apart;
mod carry_out;
mod closing;
pub mod comparison;
mod export;
mod frame;
mod investigation;
mod loading;
mod picture;
mod providers;
mod recording;
mod saving;
mod share;
mod source_files;
mod stack_rules;
mod traces;
mod window;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use eframe::egui;

use crate::app::base::fonts::SystemFonts;
use crate::app::base::message::Message;
use crate::app::base::{frame_times, help, theme, ui_dump};
use crate::app::commands::Commands;
use crate::app::document::Document;
use crate::app::jobs::apart::Apart;
use crate::app::jobs::player::Pace;
use crate::app::jobs::{JobId, Queries};
use crate::app::panels::context::{Drawn, PanelContext};
use crate::app::services::accepted::AcceptedFindings;
use crate::app::services::dialogs::{FileDialog, TypedPath};
use crate::app::services::investigation::Investigations;
use crate::app::services::leftovers::LeftoversJob;
use crate::app::services::manifests::ManifestNames;
use crate::app::services::names::{Given, Names, Search};
use crate::app::services::recent::Recents;
use crate::app::services::record_dialog::{Form, RecordDialog};
use crate::app::services::recording::RecordJob;
use crate::app::services::rule_book::RuleBook;
use crate::app::services::saving::{Exports, Place};
use crate::app::services::source_files::SourceFiles;
use crate::app::services::tracker_mapping::TrackerMapping;
use crate::app::state::layout::{Layout, Preset};
use crate::app::state::palette;
use crate::app::state::settings::{self, Settings};
use crate::app::state::walk::Walking;
use crate::app::workspace::Workspace;
use crate::app::workspace::open_traces::{OpenTrace, Traces};
use crate::capture::Recorder;
use crate::load::PreparedTraces;
use crate::panics;
use crate::paths::Existing;
use export::SAVED_SHOWN;
pub use window::{Options, Renderer, run};

/// The program's window.
pub struct HighwaterApp {
    settings: Settings,
    rules: RuleBook,
    mapping: TrackerMapping,
    source_files: SourceFiles,
    accepted: AcceptedFindings,
    /// The trace in front.
    front: OpenTrace,
    memory_limit: Option<u64>,
    prepared: Option<PreparedTraces>,
    given: Given,
    commands: Commands,
    file_dialog: FileDialog,
    exports: Exports,
    /// Whether the window closes as soon as everything is saved.
    is_closing: bool,
    /// The path that the user types instead of using a dialog.
    typed_path: Option<TypedPath>,
    /// The existing file that the user named for saving, until they confirm that it is replaced.
    replacing: Option<Place>,
    /// Errors and notices on display, until the user closes them.
    messages: Vec<Message>,
    /// The file that was saved last, and when.
    saved: Option<(String, Instant)>,
    picture: Option<picture::Picture>,
    recorder: Option<Arc<dyn Recorder>>,
    manifests: ManifestNames,
    recordings: Option<PathBuf>,
    /// The dialog for recording, the values filled in last, and the current recording.
    record_dialog: Option<RecordDialog>,
    form: Form,
    recording: Option<RecordJob>,
    leftovers: LeftoversJob,
    show_keys: bool,
    palette: Option<palette::Palette>,
    /// The page at which the help is open.
    help: Option<help::Page>,
    /// The walk through the demo trace, if the user is on one.
    walking: Option<Walking>,
    recents: Recents,
    /// The last document of which a small picture was saved.
    pictured: Option<JobId>,
    fonts: SystemFonts,
    layout: Layout,
    traces: Traces,
    apart: Apart,
    investigations: Investigations,
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
        let mapping = TrackerMapping::load(options.trackers.or_else(|| settings.beside("trackers.toml")));
        let trouble = mapping.trouble();
        let unread = settings.unread.iter().chain(&rules.unread).chain(&trouble);
        let errors: Vec<Message> = unread.map(|reason| Message::error(format!("{reason}."))).collect();
        let recents = Recents::load(options.recent.or_else(|| settings.beside("recent.toml")), &settings.recent);
        let layout = Layout::new(settings.layout.as_ref(), settings.sources_width);
        let form = Form::with(&settings.recording);
        let usual = || settings.beside("accepted.json");
        let mut accepted = AcceptedFindings::of(settings.accepted.clone().or_else(usual));
        accepted.read(ctx);
        let mut app = Self {
            settings,
            rules,
            mapping,
            source_files: SourceFiles::default(),
            accepted,
            front: OpenTrace::none(ctx),
            memory_limit: options.memory_limit,
            prepared: options.prepared,
            given: options.symbols,
            commands: Commands::default(),
            file_dialog: FileDialog::default(),
            exports: Exports::default(),
            is_closing: false,
            typed_path: None,
            replacing: None,
            messages: Vec::new(),
            saved: None,
            picture: options
                .screenshot
                .map(|path| picture::Picture::new(path, if options.replaces { Existing::GivesWay } else { Existing::Stays })),
            recorder: options.recorder,
            manifests: ManifestNames::of(options.manifests),
            recordings: options.recordings.or_else(settings::recordings),
            record_dialog: None,
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
            apart: Apart::default(),
            investigations: Investigations::default(),
        };
        app.recents.look(ctx);
        if let Some(recorder) = &app.recorder {
            app.leftovers.look(ctx, recorder);
        }
        if !options.inputs.is_empty() {
            let pace = if options.follow { Pace::Followed } else { options.speed.map_or(Pace::AtOnce, Pace::Played) };
            app.open(ctx, options.inputs, pace);
        }
        app.messages.extend(errors); // opening a trace clears earlier errors
        app
    }

    /// Whether anything is still being loaded, computed or looked up.
    pub fn is_busy(&self) -> bool {
        let names = self.front.document().and_then(|document| document.names.as_ref());
        let beside = self.front.document().is_some_and(|document| document.comparison.is_busy());
        self.is_computing() || beside || names.is_some_and(|names| !names.is_settled())
    }

    /// The requests of the open trace, for those who measure them.
    pub fn queries(&self) -> &Queries {
        &self.front.queries
    }

    /// Whether anything is still being loaded or computed, apart from names.
    fn is_computing(&self) -> bool {
        !self.commands.is_empty()
            || (self.front.loading.is_some() && self.front.scope_choice.is_none())
            || (self.apart.told.is_some() && (self.apart.is_waiting() || self.is_reading()))
            || self.front.queries.is_busy()
            || self.rules.at_work.is_at_work()
            || self.mapping.is_at_work()
            || self.manifests.is_at_work()
            || self.source_files.is_at_work()
            || self.accepted.at_work.is_at_work()
            || self.exports.is_at_work()
            || self.investigations.is_at_work()
            || self.front.document().is_some_and(|document| document.providers.is_busy())
            || self.recents.is_at_work()
            || self.fonts.is_busy()
            || self.front.document().is_some_and(Document::needs_query)
    }

    /// Whether keys act on the window: no dialog takes them all.
    fn takes_keys(&self) -> bool {
        self.front.scope_choice.is_none() && self.palette.is_none() && self.replacing.is_none()
    }

    /// Starts to resolve the names of a trace that is live or no longer grows, and takes those that are resolved.
    fn drain_names(&mut self, ctx: &egui::Context) {
        let is_busy = self.front.queries.is_busy();
        let live = self.front.loading.as_ref().filter(|job| job.is_live()).map(|job| job.id);
        let is_wanted = |document: &&mut Document| document.is_settled() || live == Some(document.job);
        let Some(document) = self.front.document_mut().filter(is_wanted) else { return };
        let settled = document.is_settled();
        let mut is_begun = false;
        let names = document.names.get_or_insert_with(|| {
            let search = Search::of(document.trace.places_of_names(), &self.settings.symbols, &self.given);
            is_begun = true;
            Names::start(ctx, &document.trace, search, &self.given, &self.rules.now)
        });
        names.go_on(&document.trace, settled);
        // Stack rules apply to frames without names too. While the trace grows, its next publication
        // shows new names anyway.
        let has_rules = is_begun && !self.rules.now.is_empty();
        if (names.update(ctx, is_busy) || has_rules) && settled {
            document.show_names();
        }
    }

    /// Searches again for missing symbols, in the sources of the settings.
    fn search_again(&mut self) {
        for document in self.front.document_mut().into_iter().chain(self.traces.documents_mut()) {
            if let Some(names) = &mut document.names {
                names.search_again(Search::of(document.trace.places_of_names(), &self.settings.symbols, &self.given));
            }
        }
    }

    /// The parts of the window that panels see.
    fn context(&mut self) -> PanelContext<'_> {
        let comparisons = self.offered_comparisons();
        let OpenTrace { workspace, loading, scope_choice, queries } = &mut self.front;
        let (document, views) = match workspace {
            Some(Workspace { document, views, .. }) => (Some(&*document), Some(views)),
            None => (None, None),
        };
        PanelContext {
            document,
            views,
            commands: &mut self.commands,
            settings: &self.settings,
            layout: &mut self.layout,
            rules: &mut self.rules,
            mapping: &mut self.mapping,
            source_files: &self.source_files,
            accepted: &mut self.accepted,
            loading: loading.as_ref(),
            is_computing: queries.is_busy(),
            scope_choice: scope_choice.as_ref(),
            typed_path: self.typed_path.as_ref(),
            replacing: self.replacing.as_ref(),
            messages: &self.messages,
            saved: self.saved.as_ref().filter(|(_, at)| at.elapsed() < SAVED_SHOWN).map(|(name, _)| name.as_str()),
            writing: self.exports.writing(),
            is_closing: self.is_closing,
            recorder: self.recorder.as_ref(),
            manifests: &self.manifests,
            record_dialog: self.record_dialog.as_ref(),
            recording: self.recording.as_ref(),
            leftovers: &self.leftovers,
            show_keys: self.show_keys,
            palette: self.palette.as_ref(),
            help: self.help,
            walking: self.walking,
            recents: &self.recents,
            traces: &self.traces,
            apart: &self.apart,
            comparisons,
            drawn: Drawn::default(),
        }
    }

    /// Brings the document's tab to the front, and tells the document which tabs are visible.
    fn look(&mut self) {
        let Some(workspace) = &mut self.front.workspace else { return };
        let tab = workspace.document.tab;
        if !self.layout.in_sight().contains(&tab) {
            self.layout.show(tab);
        }
        let in_sight = self.layout.in_sight();
        if in_sight != workspace.document.in_sight() {
            workspace.look_at(tab, in_sight);
        }
    }

    fn set_title(&self, ctx: &egui::Context) {
        let title = match self.front.document() {
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
}
