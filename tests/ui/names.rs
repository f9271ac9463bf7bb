//! Names in the window, without a screen: they appear while the window works, types
//! filter, and each module says what became of it.

use std::path::PathBuf;

use crate::common::corpus;
use crate::common::named::{allocators, story};
#[cfg(feature = "symsrv")]
use crate::common::server::{Reply, Server};
use crate::common::trace::{session, trace};
use crate::driver::{Window, give, settle, show_tab, window_set};
use eframe::egui;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Given, Options, Settings, SymbolSettings};
use highwater::load::Input;
#[cfg(feature = "symsrv")]
use highwater::symbols::{Stop, identify};
use tempfile::TempDir;

/// A window on a trace whose modules are of the corpus.
struct Case {
    folder: TempDir,
    corpus: PathBuf,
    window: Window,
}

impl Case {
    fn new(symbols: SymbolSettings, is_given: bool) -> Option<Self> {
        let corpus = corpus()?;
        let folder = tempfile::tempdir().unwrap();
        let records = [story(&corpus), allocators(&corpus).into_iter().map(later).collect()].concat();
        let file = folder.path().join("trace.etl");
        std::fs::write(&file, trace(session(false), &records)).unwrap();
        let path = is_given.then(|| corpus.to_str().unwrap().to_owned());
        let given = Given { path, cache: Some(folder.path().join("cache")) };
        let options = Options { inputs: vec![Input::File(file)], symbols: given, ..Options::default() };
        let mut settings = Settings::default();
        settings.symbols = symbols;
        settings.open_chains = true; // a line for each function
        let window = window_set(options, settings);
        Some(Self { folder, corpus, window })
    }

    fn named() -> Option<Self> {
        Self::new(offline(), true)
    }

    fn click(&mut self, label: &str) {
        self.window.get_by_label(label).click();
        settle(&mut self.window);
    }

    fn tab(&mut self, name: &str) {
        show_tab(&mut self.window, name);
    }

    fn has(&self, label: &str) -> bool {
        self.window.query_all_by_label(label).next().is_some()
    }

    fn has_containing(&self, label: &str) -> bool {
        self.window.query_all_by_label_contains(label).next().is_some()
    }

    fn split_graph(&mut self, from: &str, to: &str) {
        self.window.get_by_value(from).click();
        settle(&mut self.window);
        self.click(to);
    }

    fn open_sources(&mut self) {
        self.window.get_by_label_contains("Symbols come from").click();
        settle(&mut self.window);
    }

    fn search(&mut self, text: &str) {
        self.window.get_by_label("Search").focus();
        self.window.step();
        self.window.get_by_label("Search").type_text(text);
        settle(&mut self.window);
    }

    /// The texts beside a label, the lowest if there are several, from left to right.
    fn line(&self, name: &str) -> Vec<String> {
        let texts: Vec<(egui::Rect, String)> = self
            .window
            .root()
            .children_recursive()
            .filter(|node| node.accesskit_node().role() == egui::accesskit::Role::Label)
            .filter_map(|node| Some((node.rect(), node.value().or_else(|| node.accesskit_node().label())?)))
            .collect();
        let named = texts.iter().filter(|(_, text)| text == name).max_by(|a, b| a.0.top().total_cmp(&b.0.top()));
        let (first, _) = named.unwrap_or_else(|| panic!("no line {name}: {texts:?}"));
        let is_beside = |rect: &egui::Rect| (rect.center().y - first.center().y).abs() < 3.0 && rect.left() > first.left();
        let mut cells: Vec<_> = texts.iter().filter(|(rect, _)| is_beside(rect)).collect();
        cells.sort_by(|a, b| a.0.left().total_cmp(&b.0.left()));
        cells.into_iter().map(|(_, text)| text.clone()).collect()
    }
}

/// Settings under which nothing is asked, and the environment does not count.
fn offline() -> SymbolSettings {
    SymbolSettings { environment: false, network: Some(false), ..SymbolSettings::default() }
}

/// The same in a second program, so that both stories can be told in one trace.
fn later((mut record, frames): (highwater::events::Record, Vec<u64>)) -> (highwater::events::Record, Vec<u64>) {
    use highwater::events::Event;
    record.pid = highwater::units::Pid(5000);
    record.time += 10_000;
    if let Event::Stack { owner, .. } = &mut record.event {
        *owner += 10_000;
    }
    (record, frames)
}

#[test]
fn names_appear_by_themselves_and_frames_of_the_allocator_are_folded() {
    let Some(mut case) = Case::named() else { return };
    case.search("crashing_function");
    assert!(case.has("CrashWithException.exe!crashing_function"));
    assert!(case.has("CrashWithException.exe!_vfprintf_l"), "an inlined function is a line of its own");
    case.click("Clear search");
    let lines = |case: &Case| case.window.query_all_by_label("CrashWithException.exe!operator new").count();
    let malloc = "CrashWithException.exe!malloc";
    case.search("operator new");
    // Of a stack of nothing else, among what stays and among what is freed.
    assert!(lines(&case) == 2 && !case.has(malloc));
    case.click("All frames");
    assert!(case.has(malloc));
    case.click("All frames");
    assert!(lines(&case) == 2 && !case.has(malloc));
}

/// The demo; `open_chains`: with a line for each function.
fn demo(open_chains: bool) -> Case {
    let folder = tempfile::tempdir().unwrap();
    let given = Given { path: None, cache: Some(folder.path().to_owned()) };
    let mut settings = Settings::default();
    settings.symbols = SymbolSettings { environment: false, ..SymbolSettings::default() };
    settings.open_chains = open_chains;
    let window = window_set(Options { inputs: vec![Input::Demo], symbols: given, ..Options::default() }, settings);
    Case { folder, corpus: PathBuf::new(), window }
}

#[test]
fn what_is_not_the_users_own_is_one_line_that_opens_and_a_switch_shows_all() {
    let mut case = demo(false);
    case.click("Source MemoryTestApp.exe: 0x1d0000 (default)");
    case.search("InnerLoopOperation");
    let line = "\u{2026} \u{203a} MemoryTestApp.exe!Main \u{203a} InnerLoopOperation";
    let numbers = case.line(line);
    case.window.query_all_by_label(&format!("Expand {line}")).next().unwrap().click();
    settle(&mut case.window);
    let folded = "\u{2026} 4 frames of MemoryTestApp, ucrtbase, ntdll";
    assert_eq!(case.line(folded)[..4], numbers[..4], "all of it came through these");
    let frames = "MemoryTestApp.exe!operator new \u{203a} ucrtbase.dll!";
    assert!(!case.has_containing(frames));
    case.click(&format!("Expand {folded}"));
    assert!(case.has_containing(frames));
    case.click("All frames");
    assert!(case.has_containing("__scrt_common_main_seh \u{203a} Main \u{203a} InnerLoopOperation"));
    assert!(!case.has_containing("\u{2026} \u{203a}") && !case.has_containing("frames of"));
}

#[test]
fn lines_of_the_source_are_a_column_for_who_asks_for_it() {
    let mut case = demo(true);
    case.window.set_size(egui::vec2(1900.0, 1000.0));
    case.search("InnerLoopOperation");
    let is_told = |case: &Case| case.line("MemoryTestApp.exe!InnerLoopOperation").contains(&"main.cpp:48".to_owned());
    assert!(!is_told(&case));
    give(&mut case.window, "columns: source");
    assert!(is_told(&case), "{:?}", case.line("MemoryTestApp.exe!InnerLoopOperation"));
}

#[test]
fn the_demo_reads_from_main_to_the_buffers_and_lists_its_types() {
    let mut case = demo(true);
    assert!(!case.has_containing("Only names and ids"), "of the demo no server is asked");
    case.click("Source MemoryTestApp.exe: Commit (VirtualAlloc)");
    case.search("ManipulateTemporaryBuffer");
    let way = ["Main", "Operation1", "ManipulateTemporaryBuffer"].map(|function| format!("MemoryTestApp.exe!{function}"));
    let tops: Vec<f32> = way.iter().map(|label| case.window.get_by_label(label).rect().top()).collect();
    assert!(tops[0] < tops[1] && tops[1] < tops[2], "one below the other: {tops:?}");
    assert_eq!(case.line(&way[2])[0], "10");
    case.click("Clear search");
    case.click("Clear filter");
    case.tab("Types");
    assert!(case.has("Sample") && case.has("Message"));
    assert_eq!(case.line("RigidBody")[..2], ["Custom trackers", "10"]);
    case.tab("Symbols");
    assert_eq!(case.line("MemoryTestApp.exe")[0], "ready");
    assert!(case.has("part of highwater"));
}

#[test]
fn a_frame_tells_its_source_and_can_be_copied() {
    let Some(mut case) = Case::named() else { return };
    case.search("freebl_RunLoaderOnce");
    let line = case.window.get_by_label("softokn3.dll!freebl_RunLoaderOnce").rect().center();
    case.window.hover_at(line);
    for _ in 0..60 {
        case.window.step();
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(case.has_containing("inlined into SSLv3_MAC_ConstantTime"));
    assert!(case.has_containing("loader.c:"));
}

#[test]
fn types_are_listed_and_a_click_filters_everything_to_one() {
    let Some(mut case) = Case::named() else { return };
    case.tab("Types");
    assert_eq!(case.line("SDBStr")[..3], ["Windows NT heaps", "1", "+40 B"]);
    assert!(case.has("std::exception"));
    let unknown = case.window.query_all_by_label("(unknown type)").count();
    assert_eq!(unknown, 2, "of the heaps and of the commit");
    assert_eq!(case.line("SDBStr")[6], "40 B", "the peak comes, too");
    case.click("SDBStr");
    assert!(case.has("SDBStr (Windows NT heaps)"), "the filter is shown");
    assert!(case.has("std::exception"), "the others can still be chosen");
    case.click("Stacks");
    assert!(!case.has("Commit (VirtualAlloc)") && case.has("Windows NT heap 0x1d0000"));
    assert_eq!(case.line("Windows NT heap 0x1d0000")[0], "1");
    case.click("Clear filter");
    assert!(case.has("Commit (VirtualAlloc)"));
    case.tab("Types");
    case.split_graph("Graph by source", "Graph by type");
    assert!(case.has("Lane SDBStr (Windows NT heaps)"), "each type has a lane");
    assert!(case.has("Lane (unknown type) (Commit (VirtualAlloc))"));
    case.split_graph("Graph by type", "Types stacked: Windows NT heaps");
    assert!(case.has("Line of SDBStr (Windows NT heaps)") && case.has("Line of Windows NT heaps"));
    assert!(!case.has("Line of (unknown type) (Commit (VirtualAlloc))"), "layers are never added");
}

#[test]
fn the_graph_has_lines_of_types_on_the_tab_of_types_only() {
    let Some(mut case) = Case::named() else { return };
    let (by_type, by_source) = ("Lane SDBStr (Windows NT heaps)", "Lane Unknown (4660): Windows NT heap 0x1d0000");
    case.tab("Types");
    case.split_graph("Graph by source", "Graph by type");
    assert!(case.has(by_type));
    for other in ["Stacks", "Symbols", "Trace"] {
        case.tab(other);
        assert!(!case.has(by_type) && case.has_containing(by_source), "{other}");
        case.tab("Types");
        assert!(case.has(by_type) && !case.has_containing(by_source), "back from {other}");
    }
}

#[test]
fn types_are_found_by_a_part_of_their_name() {
    let Some(mut case) = Case::named() else { return };
    case.search("nothing of that name");
    case.tab("Types");
    assert!(case.has("SDBStr") && case.has("std::exception"), "the tree has a search of its own");
    case.search("sdb");
    assert!(case.has("SDBStr") && !case.has("std::exception"));
    case.click("Clear search");
    case.search("nothing");
    assert!(case.has_containing("No type in this interval"));
    case.click("Clear search");
    assert!(case.has("std::exception"));
}

#[test]
fn a_table_is_copied_as_it_stands() {
    let Some(mut case) = Case::named() else { return };
    case.tab("Types");
    case.search("sdb");
    case.window.get_by_label("SDBStr").click_secondary();
    settle(&mut case.window);
    case.window.get_by_label("Copy table as text").click();
    let copied = |command: &egui::OutputCommand| match command {
        egui::OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    };
    let mut frames = (0..2000).map(|_| {
        case.window.step();
        std::thread::sleep(std::time::Duration::from_millis(2)); // a worker writes it
        case.window.output().platform_output.commands.iter().find_map(copied)
    });
    let text = frames.find_map(|copied| copied).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert_eq!(lines[0][..4], ["Allocated type", "Layer", "Count", "Impacting Size"]);
    assert_eq!(lines[1][..4], ["SDBStr", "Windows NT heaps", "1", "+40 B"]);
}

#[test]
fn each_module_tells_its_state_and_can_be_left_out_and_tried_again() {
    let Some(mut case) = Case::named() else { return };
    case.tab("Symbols");
    let softokn = case.line("softokn3.dll");
    assert_eq!(softokn[..2], ["ready", "2 of 2"]);
    assert!(softokn.contains(&case.corpus.to_str().unwrap().to_owned()), "{softokn:?}");
    assert_eq!(case.line("lost.dll")[0], "no names");
    assert!(case.has_containing("lost.pdb is not in"));
    case.click("softokn3.dll");
    case.click("Exclude");
    assert_eq!(case.line("softokn3.dll")[0], "excluded");
    case.click("Stacks");
    case.search("freebl_RunLoaderOnce");
    assert!(!case.has("softokn3.dll!freebl_RunLoaderOnce"));
    case.tab("Symbols");
    case.click("Retry");
    assert_eq!(case.line("softokn3.dll")[..2], ["ready", "2 of 2"]);
}

#[test]
fn a_symbol_path_that_is_typed_counts_when_it_is_applied_and_what_was_resolved_is_kept() {
    let Some(mut case) = Case::new(offline(), false) else { return };
    case.window.set_size(egui::vec2(1280.0, 1000.0));
    settle(&mut case.window);
    case.tab("Symbols");
    assert_eq!(case.line("softokn3.dll")[0], "no names");
    case.open_sources();
    case.window.get_by_label("Symbol path").focus();
    case.window.step();
    let path = case.corpus.to_str().unwrap().to_owned();
    case.window.get_by_label("Symbol path").type_text(&path);
    settle(&mut case.window);
    assert_eq!(case.line("softokn3.dll")[0], "no names", "not before it is applied");
    case.click("Apply");
    assert!(case.has(&format!("3. {path}")));
    assert_eq!(case.line("softokn3.dll")[0], "ready");
    assert!(case.folder.path().join("cache/names").is_dir());
}

#[cfg(feature = "symsrv")]
#[test]
fn once_allowed_a_module_comes_from_a_server_with_no_further_click() {
    let Some(corpus) = corpus() else { return };
    let server = Server::start();
    let pdb = corpus.join("softokn3.pdb");
    let key = identify(&pdb, &Stop::default()).unwrap();
    let place = format!("/symbols/softokn3.pdb/{}/softokn3.pdb", key.folder());
    server.put(&place, Reply::Slow(std::fs::read(&pdb).unwrap()));
    let path = format!("srv*{}/symbols", server.url);
    let symbols = SymbolSettings { path, environment: false, ..SymbolSettings::default() };
    let Some(mut case) = Case::new(symbols, false) else { return };
    assert!(server.asked().is_empty(), "nothing is asked before the user has said so");
    case.window.get_by_label("Ask the server").click();
    settle(&mut case.window);
    case.tab("Symbols");
    assert_eq!(case.line("softokn3.dll")[..2], ["ready", "2 of 2"]);
    assert!(server.asked().contains(&place));
    case.click("Stacks");
    case.search("freebl_RunLoaderOnce");
    assert!(case.has("softokn3.dll!freebl_RunLoaderOnce"));
}

#[test]
fn the_network_is_asked_about_once_and_the_answer_can_be_changed() {
    let nowhere = "srv*http://127.0.0.1:9/symbols".to_owned();
    let symbols = SymbolSettings { path: nowhere, environment: false, ..SymbolSettings::default() };
    let Some(mut case) = Case::new(symbols, false) else { return };
    let question = "Ask 127.0.0.1:9 for symbols? Only names and ids of modules leave this machine.";
    assert!(case.has_containing(question));
    assert!(case.has("Commit (VirtualAlloc)"), "everything else works meanwhile");
    let place = |case: &Case| case.window.get_by_label("Stacks").rect();
    let before = place(&case);
    case.click("Stay offline");
    assert_eq!(place(&case), before, "nothing moves when the question goes");
    assert!(!case.has_containing(question));
    case.tab("Symbols");
    assert!(!case.has_containing("127.0.0.1"), "no server was asked");
    case.open_sources();
    assert!(case.has("Not asked: http://127.0.0.1:9/symbols"));
    case.click("Ask symbol servers");
    assert!(case.has_containing(", then http://127.0.0.1:9/symbols"));
    assert!(!case.has_containing(question));
    assert!(case.has_containing("http://127.0.0.1:9/symbols: "), "asked, and it does not answer");
}

#[test]
fn the_question_about_the_network_can_be_put_off() {
    let nowhere = "srv*http://127.0.0.1:9/symbols".to_owned();
    let symbols = SymbolSettings { path: nowhere, environment: false, ..SymbolSettings::default() };
    let Some(mut case) = Case::new(symbols, false) else { return };
    case.click("Later");
    assert!(!case.has_containing("for symbols?"));
    case.tab("Symbols");
    assert!(!case.has_containing("for symbols?"), "and stays away");
    case.open_sources();
    assert!(case.has("Not asked: http://127.0.0.1:9/symbols"), "nothing was decided");
}
