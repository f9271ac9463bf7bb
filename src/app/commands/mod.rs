//! Everything that a user can do, as values: menus, keys, clicks and tests all push the same commands.
//! Commands that have a name are listed in the table of `panels::command_table`, and keys in one [key map](keys).

pub mod keys;
mod search;

use std::path::PathBuf;

use eframe::egui::Response;

use crate::app::base::help::Page;
use crate::app::base::table::{Export, Format};
use crate::app::jobs::load_scope::ScopeChange;
use crate::app::jobs::player::PlayerChange;
use crate::app::services::accepted::AcceptChange;
use crate::app::services::dialogs::{Purpose, TypedPath};
use crate::app::services::investigation::Bookmark;
use crate::app::services::names::ModuleChange;
use crate::app::services::picture::PictureRequest;
use crate::app::services::record_dialog::Form;
use crate::app::services::rule_book::RulesChange;
use crate::app::state::alignment::Alignment;
use crate::app::state::answers::LayerOf;
use crate::app::state::filters::{Chip, Predicate};
use crate::app::state::graph::{Arrangement, LineOf};
use crate::app::state::ids::{Place, Stop, Tab};
use crate::app::state::lanes::Parts;
use crate::app::state::layout::{Part, Preset};
use crate::app::state::palette::Palette;
use crate::app::state::settings::{SymbolSettings, Theme};
use crate::app::state::walk::Walking;
use crate::editor::SourceSettings;
use crate::limits::Accepted;
use crate::load::{Input, Scope};
use crate::model::ProcessId;
use crate::query::{Column, Finding, Path, SourceLine};
use crate::stack_rules::TagRule;
use crate::symbols::ModuleKey;
use crate::units::{Interval, Layer, Ticks};
pub use search::{Hit, find};

/// A command.
#[derive(Clone, Debug)]
pub enum Command {
    Open(Vec<Input>),
    OpenDialog,
    /// Open the field for typing a path, or close it.
    TypePath(Option<TypedPath>),
    /// Use the files that the user has chosen; with the path field, if it was typed.
    TakeFiles(Purpose, Vec<PathBuf>, Option<TypedPath>),
    /// Replace the existing file, or keep it.
    Replace(bool),
    Record(RecordCommand),
    Load(LoadCommand),
    /// Let the user choose a trace to compare with.
    CompareDialog,
    /// Compare with the open trace behind this tab.
    CompareWith(usize),
    /// Bring the trace behind this tab to the front.
    ShowTrace(usize),
    /// Close the trace in this tab.
    CloseTrace(usize),
    /// Close the trace to compare with, or stop loading it.
    StopComparing,
    Close,
    Quit,
    Set(Setting),
    /// Open the system's page for choosing the program that opens `.etl` files.
    ShowDefaultPrograms,
    ForgetRecent,
    /// Forget the recent trace of these files.
    ForgetOneRecent(Vec<PathBuf>),
    /// Start or continue a walk through the demo trace, or end it.
    Walk(Option<Walking>),
    /// Let the user choose the PDB of a module.
    BrowsePdb(ModuleKey),
    /// Open a line of a source file in the editor.
    OpenSource(SourceLine),
    /// Read the text around a line of a source file.
    ReadSource(SourceLine),
    /// Open the dialog for source files, or save it and close it.
    ShowSources(bool),
    /// Change how source files are opened.
    ChangeSources(SourceSettings),
    /// Open the dialog for accepting a finding, or close it.
    OfferToAccept(Option<Box<Accepted>>),
    ChangeAccepted(AcceptChange),
    /// Show or hide the stack rules.
    ShowRules(bool),
    /// Show or hide the mapping of trackers.
    ShowTrackers(bool),
    /// Put the written mapping of trackers in force.
    UseTrackers,
    ChangeRules(RulesChange),
    /// Open the dialog for tagging stacks with a frame, or close it.
    NameStacks(Option<TagRule>),
    /// Let the user choose a file whose rules are added, or one to save the rules to.
    OpenRulesDialog,
    SaveRulesDialog,
    /// Add the rules of a file.
    ReadRules(PathBuf),
    ChangeModule(ModuleKey, ModuleChange),
    DismissMessage(usize),
    /// Stop writing a file, by its place among those that are being written.
    StopWriting(usize),
    /// Close the message about files of several captures.
    CloseApart,
    /// List the providers that have events in the trace.
    ListProviders,
    /// Look up the trace's events in the manifests that are installed on this machine.
    LookUpManifests,
    ShowKeys(bool),
    /// Open the guide or the glossary, or close it.
    ShowHelp(Option<Page>),
    /// Open or update the command palette, or close it.
    ShowPalette(Option<Palette>),
    /// Focus the search field of the active table.
    FocusSearch,
    /// Focus the graph.
    FocusGraph,
    Copy(String),
    /// Copy a table, or let the user choose the file to export it to.
    Export(Export),
    /// Export the active table.
    ExportInSight(Format),
    /// The visible tabs have changed.
    LookAgain,
    ChooseLayout(Preset),
    /// Show or hide a part of the window.
    ShowPart(Part, bool),
    /// Take a picture of a part of the window, and let the user choose the file for it.
    TakePicture(PictureRequest),
    /// Let the user choose the file for a page with what the window shows.
    Share,
    /// Let the user choose the file for the investigation; with the selected interval of the trace inside or without.
    SaveInvestigation {
        with_trace: bool,
    },
    /// Edit the note at a moment, or begin one; without a moment at the cursor.
    EditNote(Option<Ticks>),
    Document(DocCommand),
}

/// A command about recording a program.
#[derive(Clone, Debug)]
pub enum RecordCommand {
    /// Show or hide the dialog for recording.
    Show(bool),
    Change(Box<Form>),
    /// Measure how much the recording that the dialog describes would write.
    Estimate,
    /// Start the recording that the dialog describes.
    Start,
    Stop,
    /// Let the user choose a file for the recorded trace.
    Save,
    /// Close the bar of a recording that has ended.
    Dismiss,
    /// Clean up remains of recordings in the system, ...
    CleanUp,
    /// ... or close the message about them.
    LeaveBe,
}

/// A command about a load in progress.
#[derive(Clone, Debug)]
pub enum LoadCommand {
    Cancel,
    /// Pause or resume a replayed capture.
    TogglePause,
    /// Stop following a capture, and keep what has been read.
    EndFollowing,
    /// Pause a replayed capture, or change its speed.
    ChangePlayer(PlayerChange),
    /// Change the choice of what to load.
    ChangeScope(ScopeChange),
    /// Load this part of a trace that needs too much memory.
    ChooseScope(Scope),
}

/// A setting with its new value.
#[derive(Clone, Debug)]
pub enum Setting {
    Theme(Theme),
    /// Text size in percent of the usual one.
    TextSize(u16),
    /// Whether a column is shown.
    Column(Column, bool),
    /// Whether the graph's lines have a scale each, or one in common.
    Arrangement(Arrangement),
    /// Megabytes that a trace may use; `None` leaves it to the machine's memory.
    MemoryLimit(Option<u64>),
    /// Whether all frames are shown, or only the user's own.
    AllFrames(bool),
    /// Whether chains of calls without a branch share a line.
    Chains(bool),
    /// Whether lifetime classes have WPA's names or plain words.
    WpaWords(bool),
    /// The places to search for symbols.
    Symbols(SymbolSettings),
    /// Providers whose events become marks: names or GUIDs.
    MarkProviders(Vec<String>),
    /// Whether traces are always read from their files, and nothing is prepared for the next time.
    ReadsAnew(bool),
}

/// A command about the open trace.
#[derive(Clone, Debug)]
pub enum DocCommand {
    /// Select an interval, or nothing.
    Select(Option<Interval>),
    /// Extend the selection, during a drag that began with [`DocCommand::Select`].
    SelectOn(Interval),
    /// Make the selection the view.
    ZoomToSelection,
    /// Make an interval the view and keep the selection.
    Zoom(Interval),
    /// Change the view during a drag; `before` is the view where the drag began, to which one step goes back.
    ZoomOn {
        view: Interval,
        before: Interval,
    },
    /// Make an interval the view and clear the selection.
    ZoomInto(Interval),
    /// Zoom by wheel or keys; steps close in time are one step of the history.
    ZoomStep(Interval),
    /// Show the whole trace.
    ZoomOut,
    /// Go back to the previous view.
    Back,
    /// Go forward to the next view.
    Forward,
    /// Set a pin; a third one replaces the nearer of the two.
    Pin(Ticks),
    ClearPins,
    /// Set a mark at a moment, or at the end of the trace so far; a second time removes it.
    Mark(Option<Ticks>),
    /// Divide the interval of the tables into this many parts with marks.
    MarkEvenly(usize),
    ClearMarks,
    /// Replace the marks by these, up to the maximum number.
    MarkAll(Vec<Ticks>),
    /// Write a note at a moment, in place of the one there; an empty text removes it.
    Note(Ticks, String),
    /// Go to the place of a saved investigation.
    Resume(Box<Bookmark>),
    /// Lay the compared trace over the graph so, or do not draw it.
    Align(Option<Alignment>),
    /// Put the cursor at a moment, or remove it.
    PutCursor(Option<Ticks>),
    /// Show the moment of the graph's cursor in views that follow it; without a moment, they show that of the tables.
    ShowMoment(Option<Ticks>),
    /// Go to a mark of the trace or to a frame.
    StepTo(Stop),
    /// Show the frames of this swap chain.
    ChooseChain(usize),
    /// Only send a new query: a view has another request.
    Ask,
    /// Filter to this node of the tree, or remove that filter.
    Filter(Option<Path>),
    AddChip(Chip),
    RemoveChip(Predicate),
    /// Remove some chips and add others, in one step.
    ChangeChips {
        away: Vec<Predicate>,
        add: Vec<Chip>,
    },
    /// Invert a chip.
    TurnChip(Predicate),
    /// Remove all filters.
    ClearFilter,
    /// Go to a finding: its interval, filter and stack.
    GoToFinding(Box<Finding>),
    /// Go to the line of a function, heap or the like in the tab that lists such.
    GoToPlace(Place),
    /// Show or hide a line.
    ShowLine(LineOf, bool),
    /// Expand a lane, or collapse it.
    OpenLane(LayerOf, Option<Parts>),
    /// List only sources whose name contains this text.
    FindSources(String),
    /// Collapse or expand a process, or a layer of it, in the list of sources.
    CloseSource((ProcessId, Option<Layer>), bool),
    /// List the counters of all processes, or only of those with allocations.
    ListAllCounters(bool),
    /// Clear the selection in the active view.
    Unselect,
    /// Select the first line that matches the search.
    GoToFound,
    Search(String),
    ShowTab(Tab),
}

macro_rules! part_of_command {
    ($($part:ident($inner:ty)),*) => {
        $(impl From<$inner> for Command {
            fn from(command: $inner) -> Self {
                Self::$part(command)
            }
        })*
    };
}

part_of_command!(Record(RecordCommand), Load(LoadCommand), Set(Setting), Document(DocCommand));

/// The commands of one frame.
#[must_use]
#[derive(Debug, Default)]
pub struct Commands(Vec<Command>);

impl Commands {
    pub fn push(&mut self, command: impl Into<Command>) {
        self.0.push(command.into());
    }

    /// Pushes all commands of a part of the window.
    pub fn append(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }

    /// Pushes a command if the widget was clicked.
    pub fn on_click(&mut self, widget: &Response, command: impl Into<Command>) {
        if widget.clicked() {
            self.push(command);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn take(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.0)
    }
}
