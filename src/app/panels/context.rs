//! The parts of the window that panels and the table of commands read, borrowed for one frame. They change nothing but
//! what is drawn (views, layout, texts being typed); everything else they ask for with commands.

use std::sync::Arc;

use crate::app::base::help::Page;
use crate::app::base::message::Message;
use crate::app::commands::{Command, Commands};
use crate::app::document::Document;
use crate::app::jobs::LoadJob;
use crate::app::jobs::apart::Apart;
use crate::app::jobs::load_scope::ScopeChoice;
use crate::app::jobs::writing::Writing;
use crate::app::services::accepted::AcceptedFindings;
use crate::app::services::dialogs::TypedPath;
use crate::app::services::leftovers::LeftoversJob;
use crate::app::services::manifests::ManifestNames;
use crate::app::services::names::Looked;
use crate::app::services::recent::Recents;
use crate::app::services::record_dialog::RecordDialog;
use crate::app::services::recording::RecordJob;
use crate::app::services::rule_book::RuleBook;
use crate::app::services::saving::Place;
use crate::app::services::source_files::SourceFiles;
use crate::app::services::tracker_mapping::TrackerMapping;
use crate::app::state::layout::Layout;
use crate::app::state::palette::Palette;
use crate::app::state::settings::Settings;
use crate::app::state::walk::Walking;
use crate::app::views::{Pane, Pointed, Views};
use crate::app::workspace::open_traces::{TraceTab, Traces};
use crate::capture::Recorder;

/// A capture that can be compared with the first one.
#[derive(Debug)]
pub struct Offered {
    pub words: String,
    /// `None` while one of the two is still loading, or once it has been closed.
    pub commands: Option<[Command; 2]>,
}

/// The parts of the window that panels see.
pub struct PanelContext<'a> {
    /// The open trace and its views; both or neither are there.
    pub document: Option<&'a Document>,
    pub views: Option<&'a mut Views>,
    pub commands: &'a mut Commands,
    pub settings: &'a Settings,
    pub layout: &'a mut Layout,
    pub rules: &'a mut RuleBook,
    pub mapping: &'a mut TrackerMapping,
    pub source_files: &'a SourceFiles,
    pub accepted: &'a mut AcceptedFindings,
    pub loading: Option<&'a LoadJob>,
    /// Whether a query of the open trace is being answered.
    pub is_computing: bool,
    pub scope_choice: Option<&'a ScopeChoice>,
    /// The path that the user types instead of using a dialog.
    pub typed_path: Option<&'a TypedPath>,
    /// The existing file that the user named for saving.
    pub replacing: Option<&'a Place>,
    pub messages: &'a [Message],
    /// The file that was just saved.
    pub saved: Option<&'a str>,
    /// Files that are being written for long.
    pub writing: &'a [Writing],
    /// Whether the window closes as soon as they are written.
    pub is_closing: bool,
    pub recorder: Option<&'a Arc<dyn Recorder>>,
    pub manifests: &'a ManifestNames,
    /// The dialog for recording.
    pub record_dialog: Option<&'a RecordDialog>,
    pub recording: Option<&'a RecordJob>,
    pub leftovers: &'a LeftoversJob,
    pub show_keys: bool,
    pub palette: Option<&'a Palette>,
    pub help: Option<Page>,
    pub walking: Option<Walking>,
    pub recents: &'a Recents,
    pub traces: &'a Traces,
    pub apart: &'a Apart,
    /// The comparisons to offer for captures that were opened together.
    pub comparisons: Vec<Offered>,
    pub drawn: Drawn,
}

/// The report of the panels about the frame that they have drawn.
#[derive(Default)]
pub struct Drawn {
    /// Points across the graph.
    pub bins: Option<usize>,
    /// Parts of views on the screen, whose names are resolved first.
    pub looked: Vec<Looked>,
    /// The part of a view under the pointer whose click takes a query.
    pub pointed: Option<Pointed>,
}

impl PanelContext<'_> {
    /// Whether something is being recorded.
    pub fn is_recording(&self) -> bool {
        self.recording.is_some_and(RecordJob::is_busy)
    }

    /// The view that search, keys and menus act on, if the active tab is one.
    pub fn active_view(&self) -> Option<&dyn Pane> {
        self.views.as_ref()?.get(self.document?.view_in_sight()?)
    }

    /// The tabs of all open traces; none if there is a single one.
    pub fn trace_tabs(&self) -> Vec<TraceTab> {
        self.traces.all(self.document, self.loading)
    }
}
