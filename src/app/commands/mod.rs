//! Everything a user can do, as values: menus, keys, clicks and tests all push
//! the same commands. What can be given by name stands in one [`table`], each key in one
//! [key map](keys).

pub mod keys;
mod search;
pub mod table;

use std::path::PathBuf;

use super::accepted::AcceptChange;
use super::answers::LayerOf;
use super::attach::Form;
use super::dialogs::{Purpose, TypedPath};
use super::export::{Export, Format};
use super::filters::{Chip, Predicate};
use super::graph::{Arrangement, LineOf};
use super::help::Page;
use super::lanes::Parts;
use super::layout::{Part, Preset};
use super::names::ModuleChange;
use super::offer::OfferChange;
use super::palette::Palette;
use super::picture::Wish;
use super::player::PlayerChange;
use super::settings::{SymbolSettings, Theme};
use super::stack_rules::RulesChange;
use super::walk::Walking;
use crate::app::state::ids::{Stop, Tab};
use crate::editor::SourceSettings;
use crate::limits::Accepted;
use crate::load::{Input, Scope};
use crate::model::ProcessId;
use crate::query::{Column, Finding, Path, SourceLine};
use crate::stack_rules::TagRule;
use crate::symbols::ModuleKey;
use crate::units::{Interval, Layer, Ticks};
pub use search::{Hit, find};

/// Something to do.
#[derive(Clone, Debug)]
pub enum Command {
    Open(Vec<Input>),
    OpenDialog,
    /// Let the user type a path, or not any more.
    TypePath(Option<TypedPath>),
    /// Use the files that the user has chosen; as it was typed, if it was.
    TakeFiles(Purpose, Vec<PathBuf>, Option<TypedPath>),
    /// Replace the file that is there, or leave it alone.
    Replace(bool),
    Record(RecordCommand),
    Load(LoadCommand),
    /// Let the user name a trace to compare with.
    CompareDialog,
    /// Compare with the open trace behind this tab.
    CompareWith(usize),
    /// Bring the trace behind this tab to the front.
    ShowTrace(usize),
    /// Close it.
    CloseTrace(usize),
    /// Close the trace to compare with, or stop loading it.
    StopComparing,
    Close,
    Quit,
    Set(Setting),
    /// Show where the user says what opens `.etl` files.
    ShowDefaultPrograms,
    ForgetRecent,
    /// Forget the recent trace of these files.
    ForgetOneRecent(Vec<PathBuf>),
    /// Walk through the demo trace, or not any more.
    Walk(Option<Walking>),
    /// Let the user name the PDB of a module.
    BrowsePdb(ModuleKey),
    /// Open a line of a source file in the editor.
    OpenSource(SourceLine),
    /// Read what stands around a line of a source file.
    ReadSource(SourceLine),
    /// Show how source files are opened, or, once it is kept, not any more.
    ShowSources(bool),
    /// How they are opened from now on.
    ChangeSources(SourceSettings),
    /// Ask why a finding is accepted, or not any more.
    OfferToAccept(Option<Box<Accepted>>),
    ChangeAccepted(AcceptChange),
    /// Show the rules for stacks, or not any more.
    ShowRules(bool),
    ChangeRules(RulesChange),
    /// Ask for the name of stacks with a frame, or not any more.
    NameStacks(Option<TagRule>),
    /// Let the user name a file whose rules are added, or one for the rules.
    OpenRulesDialog,
    SaveRulesDialog,
    /// Add the rules of a file.
    ReadRules(PathBuf),
    ChangeModule(ModuleKey, ModuleChange),
    DismissError(usize),
    /// Nothing more is to be said of files of several captures.
    CloseApart,
    /// Look which providers the trace has events of.
    ListProviders,
    ShowKeys(bool),
    /// Show the guide or the glossary, or not any more.
    ShowHelp(Option<Page>),
    /// Show all commands to choose from, what is typed and chosen there, or not any more.
    ShowPalette(Option<Palette>),
    /// Put the cursor into the field that searches the table in sight.
    FocusSearch,
    /// Give the keys to the graph.
    FocusGraph,
    Copy(String),
    /// Copy a table, or let the user name the file that it is written to.
    Export(Export),
    /// The same of the table in sight.
    ExportInSight(Format),
    /// Other parts of the window can be seen now.
    LookAgain,
    ChooseLayout(Preset),
    /// Show a part of the window, or not.
    ShowPart(Part, bool),
    /// Take a picture of a part of the window, and let the user name the file that it is written to.
    TakePicture(Wish),
    Document(DocCommand),
}

/// Something to do about recording a program.
#[derive(Clone, Debug)]
pub enum RecordCommand {
    /// Show what can be recorded, or not any more.
    Show(bool),
    Change(Box<Form>),
    /// Record what the dialog says.
    Start,
    Stop,
    /// Put the recorded trace where the user says.
    Save,
    /// Say no more of a recording that has ended.
    Dismiss,
    /// Put right what recordings have left in the system, ...
    CleanUp,
    /// ... or say no more of it.
    LeaveBe,
}

/// Something to do to what is being loaded.
#[derive(Clone, Debug)]
pub enum LoadCommand {
    Cancel,
    /// Hold a capture that is played, or let it go on.
    TogglePause,
    /// End the capture that is followed with what is there.
    EndFollowing,
    /// Pause the capture that is played, or change its speed.
    ChangePlayer(PlayerChange),
    /// Change the choice of what to load.
    ChangeOffer(OfferChange),
    /// Load this part of the trace that needs too much memory.
    TakeOffer(Scope),
}

/// A setting, as it is from now on.
#[derive(Clone, Debug)]
pub enum Setting {
    Theme(Theme),
    /// Percent of the usual size that everything is drawn at.
    TextSize(u16),
    /// Whether a column is shown.
    Column(Column, bool),
    /// Whether the lines of the graph have a scale each, or one in common.
    Arrangement(Arrangement),
    /// Megabytes that a trace may use; `None` leaves it to the machine's memory.
    MemoryLimit(Option<u64>),
    /// Whether all frames are shown, or the user's own alone.
    AllFrames(bool),
    /// Whether calls without choice share a line.
    Chains(bool),
    /// Whether lifetime classes are called as WPA does, or in plain words.
    WpaWords(bool),
    /// Where symbols come from.
    Symbols(SymbolSettings),
    /// Whose events are marks: names or GUIDs of providers.
    MarkProviders(Vec<String>),
}

/// Something to do to the open trace.
#[derive(Clone, Debug)]
pub enum DocCommand {
    /// Select an interval, or nothing.
    Select(Option<Interval>),
    /// Change the selection on: of a drag that began with [`DocCommand::Select`].
    SelectOn(Interval),
    /// Make the selection the view.
    ZoomToSelection,
    /// Make an interval the view; what is selected stays so.
    Zoom(Interval),
    /// Make an interval the view, and what the tables are about.
    ZoomInto(Interval),
    /// Zoom by a wheel or keys: steps close in time are one step of the history.
    ZoomStep(Interval),
    /// Show the whole trace.
    ZoomOut,
    /// The view before this one.
    Back,
    /// The view after this one.
    Forward,
    /// Set a pin; the third replaces the nearer one.
    Pin(Ticks),
    ClearPins,
    /// Set a mark at a moment, or at the end of what there is; where there is one, take it away.
    Mark(Option<Ticks>),
    /// Cut what the tables show into so many parts by marks.
    MarkEvenly(usize),
    ClearMarks,
    /// Make these the marks, as far as there is room.
    MarkAll(Vec<Ticks>),
    /// Put the cursor there, or take it away.
    PutCursor(Option<Ticks>),
    /// Go to a mark of the trace, or a frame.
    StepTo(Stop),
    /// Show the frames of this swap chain.
    ChooseChain(usize),
    /// Nothing but to ask anew: a view wants to know something else.
    Ask,
    /// Show only what is under this node of the tree, or under any.
    Filter(Option<Path>),
    AddChip(Chip),
    RemoveChip(Predicate),
    /// Take some chips away and add others, in one step.
    ChangeChips {
        away: Vec<Predicate>,
        add: Vec<Chip>,
    },
    /// Include what a chip leaves out, and the other way round.
    TurnChip(Predicate),
    /// Show everything again.
    ClearFilter,
    /// Show what a finding speaks of: interval, filter and stack.
    GoToFinding(Box<Finding>),
    /// Show a line or not.
    ShowLine(LineOf, bool),
    /// Open a lane, or close it.
    OpenLane(LayerOf, Option<Parts>),
    /// List only sources with this in their names.
    FindSources(String),
    /// Close a process or a layer of it in the list of sources, or open it.
    CloseSource((ProcessId, Option<Layer>), bool),
    /// List the counters of all processes, or only of those with allocations.
    ListAllCounters(bool),
    /// Select no line of the view in sight any more.
    Unselect,
    /// Select the first line that the search finds.
    GoToFound,
    Search(String),
    ShowTab(Tab),
}

/// Commands of one frame.
#[derive(Debug, Default)]
pub struct Commands(Vec<Command>);

impl Commands {
    pub fn push(&mut self, command: Command) {
        self.0.push(command);
    }

    pub fn doc(&mut self, command: DocCommand) {
        self.0.push(Command::Document(command));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn take(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.0)
    }
}
