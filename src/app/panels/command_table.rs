//! The table of all commands that have a name, in their present state: their words, their keys, and
//! whether they are enabled, else why not. The menu bar, the keys, the window *Keys* and the palette
//! are made from this table alone.
//!
//! Cost: some hundred short texts each time. It is needed while a menu or the palette is open, and when a key is pressed.

mod looks;
mod places;

use std::borrow::Cow;

use super::context::PanelContext;
use crate::app::base::help::Page;
use crate::app::base::table::Format;
use crate::app::commands::keys::{self, Keys};
use crate::app::commands::{Command, DocCommand, LoadCommand, RecordCommand, Setting};
use crate::app::document::Document;
use crate::app::jobs::player::PlayerChange;
use crate::app::services::comparison::Comparison;
use crate::app::services::dialogs::{Purpose, TypedPath};
use crate::app::services::picture::{PictureFormat, PictureRequest, Subject};
use crate::app::services::recent::RecentTrace;
use crate::app::services::rule_book::RulesChange;
use crate::app::state::alignment::Alignment;
use crate::app::state::graph::Arrangement;
use crate::app::state::settings::SymbolSettings;
use crate::app::state::walk::{Walk, Walking};
use crate::app::workspace::open_traces::TraceTab;
use crate::load::Input;
pub use looks::columns_shown;

/// The menu that contains a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Menu {
    File,
    View,
    Help,
    /// Not in the menu bar: elsewhere in the window.
    None,
}

/// The kind of switch that a command is, with its state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    /// A plain action, without a state.
    None,
    /// On or off.
    Box(bool),
    /// One of several choices, selected or not.
    Choice(bool),
}

/// A command in words.
#[derive(Debug)]
pub struct Entry {
    pub words: Cow<'static, str>,
    /// Its effect, in a sentence; empty if the words say it all.
    pub hint: &'static str,
    pub keys: Keys,
    /// Other words under which the palette finds it.
    pub also: &'static str,
    pub switch: Switch,
    /// The command to push, or why it is disabled now.
    pub command: Result<Command, &'static str>,
}

/// Commands that belong together: a part of a menu, or a submenu.
#[derive(Debug)]
pub struct Section {
    pub menu: Menu,
    /// Title of the submenu; empty if it is a part of the menu itself.
    pub title: &'static str,
    pub entries: Vec<Entry>,
}

impl Entry {
    fn new(words: impl Into<Cow<'static, str>>, command: Command) -> Self {
        Self { words: words.into(), hint: "", keys: &[], also: "", switch: Switch::None, command: Ok(command) }
    }

    fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    fn keys(self, keys: Keys) -> Self {
        Self { keys, ..self }
    }

    fn also(self, also: &'static str) -> Self {
        Self { also, ..self }
    }

    fn switch(self, is_on: bool) -> Self {
        Self { switch: Switch::Box(is_on), ..self }
    }

    fn choice(self, is_chosen: bool) -> Self {
        Self { switch: Switch::Choice(is_chosen), ..self }
    }

    /// Disables the command with this reason unless the condition holds; the first reason is kept.
    fn when(mut self, is_possible: bool, reason: &'static str) -> Self {
        if self.command.is_ok() && !is_possible {
            self.command = Err(reason);
        }
        self
    }
}

const NO_TRACE: &str = "No trace is open";
const NOTHING_LOADS: &str = "Nothing is being loaded";

/// The whole table.
pub fn sections(context: &PanelContext<'_>) -> Vec<Section> {
    let section = |menu, title, entries| Section { menu, title, entries };
    vec![
        section(Menu::File, "", open(context)),
        section(Menu::File, "Recent", recent(context)),
        section(Menu::File, "", share(context)),
        section(Menu::File, "", default_programs()),
        section(Menu::None, "", load(context)),
        section(Menu::File, "Open traces", traces(context)),
        section(Menu::File, "", close(context)),
        section(Menu::View, "", way(context)),
        section(Menu::None, "Go to", places::findings(context)),
        section(Menu::None, "", chosen(context)),
        section(Menu::View, "Marks and frames", places::steps(context)),
        section(Menu::View, "Tabs", places::tabs(context)),
        section(Menu::View, "Layout", looks::layouts(context)),
        section(Menu::View, "Columns", columns_shown(context)),
        section(Menu::View, "", stacks(context)),
        section(Menu::None, "", rules(context)),
        section(Menu::View, "Graph", graph(context)),
        section(Menu::None, "", exports(context)),
        section(Menu::None, "", pictures(context)),
        section(Menu::View, "Theme", looks::themes(context)),
        section(Menu::View, "Text size", looks::text_sizes(context)),
        section(Menu::Help, "", texts()),
        section(Menu::Help, "Walk through the demo", walks()),
        section(Menu::Help, "", help(context)),
    ]
}

/// Why nothing can be recorded now.
pub fn why_not_record(context: &PanelContext<'_>) -> &'static str {
    match context.recorder {
        Some(_) => "Something is being recorded already",
        None => "Recording works on Windows only; traces that were recorded there open here",
    }
}

fn open(context: &PanelContext<'_>) -> Vec<Entry> {
    let can_record = context.recorder.is_some() && !context.is_recording();
    vec![
        Entry::new("Open\u{2026}", Command::OpenDialog).keys(keys::OPEN).hint("Open a trace").also("load file etl"),
        Entry::new("Open by path\u{2026}", Command::TypePath(Some(TypedPath::new(Purpose::Traces))))
            .keys(keys::OPEN_PATH)
            .hint("Open a trace by its path"),
        Entry::new("Record\u{2026}", Command::Record(RecordCommand::Show(true)))
            .keys(keys::RECORD)
            .hint("Watch a running program")
            .also("capture attach launch start live trace")
            .when(can_record, why_not_record(context)),
        Entry::new("Open demo trace", Command::Open(vec![Input::Demo])).hint("A program with a step, ten spikes and a leak"),
    ]
}

fn recent(context: &PanelContext<'_>) -> Vec<Entry> {
    let traces = context.recents.list();
    let open = |trace: &RecentTrace| Entry::new(trace.name(), Command::Open(trace.inputs()));
    let forget = Entry::new("Forget all", Command::ForgetRecent).when(!traces.is_empty(), "There are none yet");
    let anew = context.settings.reads_anew;
    let prepare = Entry::new("Prepare large traces to open again faster", Command::Set(Setting::ReadsAnew(!anew)))
        .hint("Keep what was read of large traces in your account's cache folder, 8 GB at most. Off: remove it, and read files anew")
        .also("cache index reopen speed disk")
        .switch(!anew);
    traces.iter().map(open).chain([forget, prepare]).collect()
}

fn share(context: &PanelContext<'_>) -> Vec<Entry> {
    let entry = Entry::new("Share as a page\u{2026}", Command::Share)
        .hint("One HTML file for a colleague: the graph, the findings and the tables in sight. It opens in any browser")
        .also("share report html export send colleague")
        .when(context.document.is_some(), NO_TRACE);
    let is_settled = context.document.is_some_and(Document::is_settled);
    let save = |words, with_trace, hint| {
        Entry::new(words, Command::SaveInvestigation { with_trace })
            .hint(hint)
            .also("share notes session send colleague workspace bookmark")
            .when(context.document.is_some(), NO_TRACE)
            .when(is_settled, "The trace is still growing")
    };
    let hint = "View, selection, filters, marks, notes and layout, in a small file beside the trace";
    let with_trace = "The investigation and the selected (else the visible) part of the trace, in one file for a colleague";
    vec![
        save("Save investigation\u{2026}", false, hint).keys(keys::SAVE),
        save("Save investigation with trace\u{2026}", true, with_trace),
        entry,
    ]
}

fn default_programs() -> Vec<Entry> {
    let hint = "Shows Windows' settings, where you choose what opens .etl and .diagsession";
    let entry = Entry::new("Make highwater the default\u{2026}", Command::ShowDefaultPrograms).hint(hint);
    cfg!(windows).then_some(entry).into_iter().collect()
}

/// Commands about loads, players and recordings.
fn load(context: &PanelContext<'_>) -> Vec<Entry> {
    let job = context.loading.filter(|_| context.scope_choice.is_none());
    let is_live = job.is_some_and(|job| job.is_followed() || job.player().is_some());
    let is_played = job.and_then(|job| job.player()).is_some_and(|player| !player.hurries());
    let is_followed = job.is_some_and(|job| job.is_followed() && !job.is_ending());
    vec![
        Entry::new("Pause or resume", Command::Load(LoadCommand::TogglePause))
            .keys(keys::HOLD)
            .hint("Pause a live or replayed trace, or resume it")
            .when(is_live, "No live trace is open"),
        Entry::new("Play to the end", Command::Load(LoadCommand::ChangePlayer(PlayerChange::ToTheEnd)))
            .when(is_played, "No trace is being replayed"),
        Entry::new("Stop following", Command::Load(LoadCommand::EndFollowing))
            .when(is_followed, "No recording is being followed"),
        Entry::new("Stop loading", Command::Load(LoadCommand::Cancel)).when(job.is_some(), NOTHING_LOADS),
        Entry::new("Stop recording", Command::Record(RecordCommand::Stop))
            .when(context.is_recording(), "Nothing is being recorded"),
    ]
}

/// The open traces, if there are several.
fn traces(context: &PanelContext<'_>) -> Vec<Entry> {
    let tabs = context.trace_tabs();
    let are_several = tabs.len() > 1;
    let beside = |words, keys, by| {
        let entry = Entry::new(words, Command::ShowTrace(context.traces.beside(by))).keys(keys);
        entry.when(are_several, "No other trace is open")
    };
    let neighbours = [beside("Next trace", keys::NEXT_TRACE, 1), beside("Previous trace", keys::PREVIOUS_TRACE, -1)];
    let of_tab = |(at, tab): (usize, TraceTab)| Entry::new(tab.name, Command::ShowTrace(at)).choice(tab.is_in_front);
    let others = context.traces.comparable().map(|(at, other)| {
        let entry = Entry::new(format!("Compare with {}", other.name()), Command::CompareWith(at));
        entry.hint("It is open already").when(context.document.is_some_and(Document::is_settled), "The trace is still growing")
    });
    neighbours.into_iter().chain(tabs.into_iter().enumerate().map(of_tab)).chain(others).collect()
}

fn close(context: &PanelContext<'_>) -> Vec<Entry> {
    let document = context.document;
    let is_beside = document.is_some_and(|document| !matches!(document.comparison, Comparison::Nothing));
    vec![
        Entry::new("Compare with\u{2026}", Command::CompareDialog)
            .hint("Compare this trace with another one")
            .also("diff before after baseline regression")
            .when(document.is_some(), NO_TRACE)
            .when(document.is_some_and(Document::is_settled), "The trace is still growing"),
        Entry::new("Close the other trace", Command::StopComparing).when(is_beside, "Nothing is being compared"),
        Entry::new("Close trace", Command::Close).keys(keys::CLOSE).when(document.is_some(), NO_TRACE),
        Entry::new("Quit", Command::Quit),
    ]
}

/// Commands for moving between intervals and filters.
fn way(context: &PanelContext<'_>) -> Vec<Entry> {
    let document = context.document;
    let is = |test: fn(&Document) -> bool| document.is_some_and(test);
    let entry = |words, command| Entry::new(words, Command::Document(command)).when(document.is_some(), NO_TRACE);
    vec![
        entry("Back", DocCommand::Back)
            .keys(keys::BACK)
            .hint("Undo the last change of view, selection, filters, notes, marks or pins")
            .also("undo")
            .when(is(|d| d.history.can_go_back()), "There is no view before this one"),
        entry("Forward", DocCommand::Forward)
            .keys(keys::FORWARD)
            .hint("Redo what was undone")
            .also("redo")
            .when(is(|d| d.history.can_go_forward()), "There is no view after this one"),
        entry("Zoom to selection", DocCommand::ZoomToSelection)
            .keys(keys::ZOOM)
            .hint("Make the selected interval the view")
            .when(is(|d| d.selection().is_some()), "No interval is selected"),
        entry("Whole trace", DocCommand::ZoomOut).keys(keys::WHOLE).hint("Show the whole trace").also("zoom out"),
    ]
}

/// Commands about the selection, marks and the search.
fn chosen(context: &PanelContext<'_>) -> Vec<Entry> {
    let document = context.document;
    let is = |test: fn(&Document) -> bool| document.is_some_and(test);
    let entry = |words, command| Entry::new(words, Command::Document(command)).when(document.is_some(), NO_TRACE);
    let counters = document.is_some_and(|d| d.counters.list_all);
    let search = Entry::new("Search", Command::FocusSearch).keys(keys::SEARCH).hint("Search in the table");
    let mut entries = vec![
        search.when(document.is_some(), NO_TRACE).when(is(|d| d.searched().is_some()), "This tab has no search"),
        entry("Clear filter", DocCommand::ClearFilter)
            .hint("Show everything again")
            .also("reset remove chips")
            .when(is(|d| !d.filters().is_all()), "Nothing is filtered"),
        entry("Clear selected interval", DocCommand::Select(None))
            .when(is(|d| d.selection().is_some()), "No interval is selected"),
        entry("Mark this moment", DocCommand::Mark(None))
            .keys(keys::MARK)
            .hint("Mark the moment under the pointer, or the current moment while recording")
            .when(is(|d| !d.is_settled()), "Point at the graph and press the key"),
        Entry::new("Write a note", Command::EditNote(None))
            .keys(keys::NOTE)
            .hint("A note on the time axis, at the cursor or the start of the selection")
            .also("comment annotation")
            .when(document.is_some(), NO_TRACE),
        entry("Clear marks", DocCommand::ClearMarks).when(is(|d| !d.marks().is_empty()), "There are no marks"),
        entry("Clear pins", DocCommand::ClearPins).when(is(|d| !d.pins().is_empty()), "There are no pins"),
        entry("Counters of all processes", DocCommand::ListAllCounters(!counters)).switch(counters),
    ];
    entries.extend([2, 4, 8].map(|parts| entry_of_parts(parts).when(document.is_some(), NO_TRACE)));
    entries.push(escape(context));
    entries
}

fn entry_of_parts(parts: usize) -> Entry {
    let words = format!("Mark {parts} equal parts of the interval");
    Entry::new(words, Command::Document(DocCommand::MarkEvenly(parts)))
}

/// Closes the topmost dialog; if there is none, clears the selection, pins and so on, one at a time.
fn escape(context: &PanelContext<'_>) -> Entry {
    let shown = [
        (context.show_keys, Command::ShowKeys(false)),
        (context.help.is_some(), Command::ShowHelp(None)),
        (context.rules.is_naming(), Command::NameStacks(None)),
        (context.accepted.draft.is_some(), Command::OfferToAccept(None)),
        (context.record_dialog.is_some(), Command::Record(RecordCommand::Show(false))),
        (context.replacing.is_some(), Command::Replace(false)),
        (context.typed_path.is_some(), Command::TypePath(None)),
        (context.rules.is_shown, Command::ShowRules(false)),
        (context.mapping.is_shown, Command::ShowTrackers(false)),
        (context.source_files.is_shown, Command::ShowSources(false)),
    ];
    let window = shown.into_iter().find_map(|(is_shown, close)| is_shown.then_some(close));
    let command = window.or_else(|| context.document.map(|document| Command::Document(document.escape())));
    let hint = "Close the dialog in front; else clear the selection, then pins, search and filter";
    let entry = Entry::new("Back out step by step", Command::ShowKeys(false)).keys(keys::ESCAPE).hint(hint);
    Entry { command: command.ok_or(NO_TRACE), ..entry }
}

fn stacks(context: &PanelContext<'_>) -> Vec<Entry> {
    let shown = context.settings.show_all_frames;
    let (chains, wpa) = (context.settings.open_chains, context.settings.wpa_words);
    let asks = context.settings.symbols.network == Some(true);
    let symbols = SymbolSettings { network: Some(!asks), ..context.settings.symbols.clone() };
    vec![
        Entry::new("All frames", Command::Set(Setting::AllFrames(!shown)))
            .hint("Also show frames of the allocator and of libraries, those that start a thread, and those that your rules hide")
            .switch(shown),
        Entry::new("Merge single-child calls", Command::Set(Setting::Chains(chains)))
            .hint("Show a chain of calls without branches on one line: a \u{203a} b \u{203a} c")
            .switch(!chains),
        Entry::new("WPA's words", Command::Set(Setting::WpaWords(!wpa)))
            .hint("Use WPA's terms (Impacting, Transient, Persistent, AIFI, AIFO, AOFI, AOFO) instead of plain words")
            .switch(wpa),
        Entry::new("Ask symbol servers", Command::Set(Setting::Symbols(symbols)))
            .hint("Also look for function names on the servers of your symbol path")
            .also("pdb names download Microsoft")
            .switch(asks),
        Entry::new("Stack rules\u{2026}", Command::ShowRules(true))
            .hint("Hidden frames, and tags for stacks")
            .also("fold group category"),
        Entry::new("Custom allocators\u{2026}", Command::ShowTrackers(true))
            .hint("Map a provider's events to the allocations and frees of a custom allocator")
            .also("mimalloc jemalloc tcmalloc rpmalloc PIX tracker pool arena own provider"),
        Entry::new("Source files\u{2026}", Command::ShowSources(true))
            .hint("Choose the editor, and where the build machine's folders are on this machine")
            .also("code path mapping IDE"),
    ]
}

fn rules(context: &PanelContext<'_>) -> Vec<Entry> {
    let change = |words, change| Entry::new(words, Command::ChangeRules(change));
    vec![
        change("Stack rules: Undo", RulesChange::Undo).when(context.rules.can_undo(), "Nothing to undo"),
        change("Stack rules: Redo", RulesChange::Redo).when(context.rules.can_redo(), "Nothing to redo"),
        Entry::new("Stack rules: Add from file\u{2026}", Command::OpenRulesDialog),
        Entry::new("Stack rules: Save to file\u{2026}", Command::SaveRulesDialog)
            .when(!context.rules.now.is_empty(), "There are no rules"),
    ]
}

/// The arrangement of the graph's lines, and the command that focuses the graph.
fn graph(context: &PanelContext<'_>) -> Vec<Entry> {
    let now = context.settings.arrangement;
    let is_compared = context.document.is_some_and(|document| document.comparison.opened().is_some());
    let is_drawn = context.document.is_some_and(|document| document.alignment.is_some());
    let arrange = |words, arrangement, hint| {
        Entry::new(words, Command::Set(Setting::Arrangement(arrangement))).choice(now == arrangement).hint(hint)
    };
    vec![
        arrange("Lanes", Arrangement::Lanes, "A lane for each layer of a process, each with its own scale"),
        arrange("Together", Arrangement::Together, "All lines of the graph on one scale"),
        Entry::new("Draw the compared trace", Command::Document(DocCommand::Align((!is_drawn).then(Alignment::default))))
            .switch(is_drawn)
            .hint("Its lines over those of the open trace; the menu of the graph aligns them at a mark or a frame")
            .also("overlay baseline")
            .when(is_compared, "No other trace is open beside this one"),
        Entry::new("To the graph", Command::FocusGraph)
            .keys(keys::GRAPH)
            .hint("Arrows move a cursor (with Ctrl by more), Shift+arrows select, Up and Down zoom")
            .when(context.document.is_some(), NO_TRACE),
    ]
}

/// Commands that export the active table.
fn exports(context: &PanelContext<'_>) -> Vec<Entry> {
    let document = context.document;
    let view = context.active_view();
    let is_table = view.is_some_and(|view| view.table_source().is_some());
    let entry = |format: Format| {
        let entry = Entry::new(format!("Table: {}", format.label()), Command::ExportInSight(format)).also("save share");
        entry.when(document.is_some(), NO_TRACE).when(is_table, "This tab has no table")
    };
    Format::ALL.into_iter().map(entry).collect()
}

/// Commands that save the graph and the active view as pictures.
fn pictures(context: &PanelContext<'_>) -> Vec<Entry> {
    let document = context.document;
    let view = document.and_then(Document::view_in_sight);
    let entry = |of: &str, format: PictureFormat, subject: Option<Subject>| {
        let command = match (document, subject) {
            (None, _) => Err(NO_TRACE),
            (_, None) => Err("There is no picture of this tab"),
            (_, Some(subject)) => Ok(Command::TakePicture(PictureRequest { subject, format })),
        };
        let words = format!("{of}: {}", format.label()).into();
        Entry {
            words,
            hint: "Save the picture to a file, as it is drawn",
            keys: &[],
            also: "share screenshot image",
            switch: Switch::None,
            command,
        }
    };
    let of_graph = PictureFormat::ALL.map(|format| entry("Graph", format, Some(Subject::Graph)));
    let of_view = PictureFormat::ALL.map(|format| entry("Visible tab", format, view.map(Subject::View)));
    of_graph.into_iter().chain(of_view).collect()
}

fn texts() -> Vec<Entry> {
    let page = |words, page| Entry::new(words, Command::ShowHelp(Some(page)));
    vec![
        page("Guide", Page::Guide(0)).keys(keys::GUIDE).hint("The guide, inside the window"),
        page("Glossary", Page::Glossary).hint("What the words mean: Impacting Size, AIFO, Transient, \u{2026}"),
    ]
}

fn walks() -> Vec<Entry> {
    let entry = |walk: Walk| Entry::new(walk.name(), Command::Walk(Some(Walking { walk, at: 0 }))).hint(walk.question());
    Walk::ALL.map(entry).into()
}

fn help(context: &PanelContext<'_>) -> Vec<Entry> {
    vec![
        Entry::new("Commands\u{2026}", Command::ShowPalette(Some(Default::default())))
            .keys(keys::PALETTE)
            .hint("Find a command by its name"),
        Entry::new("Keys", Command::ShowKeys(!context.show_keys)).keys(keys::SHOW_KEYS).hint("All keyboard shortcuts"),
    ]
}
