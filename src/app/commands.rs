//! Everything a user can do, as values: menus, keys, clicks and tests all push
//! the same commands.

use std::path::PathBuf;

use eframe::egui::{self, Key as K, KeyboardShortcut, Modifiers};

use super::attach::Form;
use super::document::{Document, Tab};
use super::filters::{Chip, Predicate};
use super::names::ModuleChange;
use super::offer::OfferChange;
use super::player::PlayerChange;
use super::settings::{SymbolSettings, Theme};
use super::stack_rules::RulesChange;
use crate::load::{Input, Scope};
use crate::model::CounterId;
use crate::query::{Column, Finding, Path};
use crate::stack_rules::TagRule;
use crate::symbols::ModuleKey;
use crate::units::{Interval, Ticks};

/// Something to do.
#[derive(Clone, Debug)]
pub enum Command {
    Open(Vec<Input>),
    OpenDialog,
    /// Show what can be recorded, or not any more.
    ShowAttach(bool),
    ChangeAttach(Form),
    /// Record what the dialog says.
    StartRecording,
    StopRecording,
    /// Put the recorded trace where the user says.
    SaveRecording,
    /// Say no more of a recording that has ended.
    DismissRecording,
    CancelLoading,
    /// Let the user name a trace to compare with.
    CompareDialog,
    CompareWith(Vec<Input>),
    /// Close the trace to compare with, or stop loading it.
    StopComparing,
    /// Hold a capture that is played, or let it go on.
    TogglePause,
    /// End the capture that is followed with what is there.
    EndFollowing,
    /// Pause the capture that is played, or change its speed.
    ChangePlayer(PlayerChange),
    /// Change the choice of what to load.
    ChangeOffer(OfferChange),
    /// Load this part of the trace that needs too much memory.
    LoadOffer(Scope),
    /// Megabytes that a trace may use from now on; `None` leaves it to the machine's memory.
    SetMemoryLimit(Option<u64>),
    Close,
    Quit,
    SetTheme(Theme),
    ShowColumn(Column, bool),
    /// Show where the user says what opens `.etl` files.
    ShowDefaultPrograms,
    ForgetRecent,
    /// Show the frames of the allocator, or fold them away.
    ShowAllocators(bool),
    /// Where symbols come from, from now on.
    SetSymbols(SymbolSettings),
    /// Let the user name the PDB of a module.
    BrowsePdb(ModuleKey),
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
    ShowKeys(bool),
    Copy(String),
    Document(DocCommand),
}

/// Something to do to the open trace.
#[derive(Clone, Debug)]
pub enum DocCommand {
    /// Select an interval, or nothing.
    Select(Option<Interval>),
    /// Make the selection the view.
    ZoomToSelection,
    /// Make an interval the view.
    Zoom(Interval),
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
    /// Show a heap's line or not.
    ShowHeap(usize, bool),
    /// Show a counter's line or not.
    ShowCounter(CounterId, bool),
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

/// A key and what it does, for the key map.
pub struct Binding {
    pub keys: &'static str,
    pub does: &'static str,
}

/// The key map, as F1 shows it.
pub const BINDINGS: &[Binding] = &[
    Binding { keys: "Ctrl+O", does: "Open a trace" },
    Binding { keys: "Ctrl+R", does: "Record a program" },
    Binding { keys: "Space", does: "Hold a live or played trace, and go on" },
    Binding { keys: "drag on the graph", does: "Select an interval; the table shows it" },
    Binding { keys: "Z or Ctrl+.", does: "Zoom to the selection" },
    Binding { keys: "Backspace or Ctrl+Shift+\u{2212}", does: "Unzoom: the view before" },
    Binding { keys: "Alt+Left, Alt+Right", does: "Back and forward through the views" },
    Binding { keys: "Home", does: "The whole trace" },
    Binding { keys: "wheel, Shift+wheel on the graph", does: "Zoom at the pointer, move sideways" },
    Binding { keys: "Ctrl+click on the graph", does: "Set a pin; two pins show the difference" },
    Binding { keys: "M", does: "Mark a moment: where the pointer is on the graph, or the end while live" },
    Binding { keys: "Up, Down, Left, Right", does: "Move in the table, close and open nodes" },
    Binding { keys: "Enter", does: "Filter to the selected line; in the search, go to what it finds first" },
    Binding { keys: "Esc", does: "Clear the selection, then pins, search and filter" },
    Binding { keys: "Ctrl+F", does: "Search in the table" },
    Binding { keys: "Ctrl+C", does: "Copy the selected line" },
    Binding { keys: "F1", does: "This key map" },
];

/// Ctrl+F puts the cursor into the search field, before the field is drawn: what is
/// typed within the same frame is its own.
pub fn search_key(ctx: &egui::Context) {
    if ctx.input_mut(|i| i.consume_shortcut(&KeyboardShortcut::new(Modifiers::COMMAND, K::F))) {
        ctx.memory_mut(|m| m.request_focus(super::panels::toolbar::search_id()));
    }
}

/// Whether keys are not those of a text field; see [`shortcuts`].
pub fn are_free(ctx: &egui::Context, is_typing: bool) -> bool {
    !is_typing && !ctx.egui_wants_keyboard_input()
}

/// Turns keys into commands, unless a text field wants them. `is_typing` says whether one
/// had the focus before this frame was drawn: at Enter it gives the focus up, and the key
/// is its own all the same.
pub fn shortcuts(ctx: &egui::Context, document: Option<&Document>, is_typing: bool, commands: &mut Commands) {
    let pressed = |modifiers, key| ctx.input_mut(|i| i.consume_shortcut(&KeyboardShortcut::new(modifiers, key)));
    if pressed(Modifiers::COMMAND, K::O) {
        commands.push(Command::OpenDialog);
    }
    if pressed(Modifiers::COMMAND, K::R) {
        commands.push(Command::ShowAttach(true));
    }
    if pressed(Modifiers::NONE, K::F1) {
        commands.push(Command::ShowKeys(true));
    }
    let Some(document) = document else { return };
    let unzoom_key =
        [K::Minus, K::Plus, K::Equals].into_iter().any(|k| k == K::Minus && pressed(Modifiers::COMMAND | Modifiers::SHIFT, k));
    if unzoom_key || pressed(Modifiers::ALT, K::ArrowLeft) {
        commands.doc(DocCommand::Back);
    }
    if pressed(Modifiers::ALT, K::ArrowRight) {
        commands.doc(DocCommand::Forward);
    }
    if pressed(Modifiers::COMMAND, K::Period) {
        commands.doc(DocCommand::ZoomToSelection);
    }
    if !are_free(ctx, is_typing) {
        return;
    }
    for (key, command) in [(K::Z, DocCommand::ZoomToSelection), (K::Backspace, DocCommand::Back), (K::Home, DocCommand::ZoomOut)]
    {
        if pressed(Modifiers::NONE, key) {
            commands.doc(command);
        }
    }
    if pressed(Modifiers::NONE, K::M) && !document.is_settled() {
        commands.doc(DocCommand::Mark(None));
    }
    if pressed(Modifiers::NONE, K::Space) {
        commands.push(Command::TogglePause);
    }
    if pressed(Modifiers::NONE, K::Escape) {
        commands.doc(document.escape());
    }
}
