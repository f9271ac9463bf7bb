//! The view of functions, driven by the names of its widgets: its numbers are those of the
//! command line.

use std::sync::Arc;

use crate::driver::{Window, choose, click, columns, has, menu, settle, show_tab, wait_for, window_set};
use eframe::egui;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Options, Settings};
use highwater::format;
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::query::{
    By, Cancel, Column, Fold, FunctionGroup, Functions, FunctionsRequest, GroupNumbers, Index, IndexOptions, Mask, ReportFilter,
    ReportRequest, functions, report, totals,
};
use highwater::symbols::{Options as SymbolOptions, Sources, Symbols};
use highwater::units::Layer;
use highwater_dev::synth::demo;

const LEAK: &str = "MemoryTestApp.exe!InnerLoopOperation";
const MAIN: &str = "MemoryTestApp.exe!Main";

/// The demo's leaking heap in the tab by function, named.
fn window() -> Window {
    let mut settings = Settings::default();
    settings.open_chains = true; // a line for each function
    let mut window = window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, settings);
    click(&mut window, "Source MemoryTestApp.exe: 0x1d0000 (default)");
    click(&mut window, "Functions");
    choose(&mut window, "Top-down", "By function");
    wait_for(&mut window, LEAK);
    settle(&mut window);
    window
}

/// What the command line says of a function in that heap, the allocator folded away.
fn told(name: &str) -> FunctionGroup {
    let trace = Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap());
    let sources = Sources { embedded: vec![highwater::demo::symbols()], ..Sources::default() };
    let options = SymbolOptions { sources, saved: None, workers: 1, frees: false, ..SymbolOptions::default() };
    let symbols = Symbols::start(Arc::clone(&trace), options, |_| true, || {});
    symbols.wait();
    let never = Cancel::default();
    let index = Index::build(Arc::clone(&trace), &IndexOptions::default(), &never).unwrap();
    let all = Functions::of(&trace, &symbols.names().1, Fold::Allocator, &never).unwrap();
    let mask = Mask::of_sites(&trace, |_, site| trace.heap(site.heap).handle == demo::LEAKING_HEAP);
    let request = FunctionsRequest { mask, of: Some(name.to_owned()), top: None };
    let totals = totals(&index, trace.span, &never).unwrap();
    let (groups, _) = functions((&index, &symbols.names().1), &all, &totals, &request, &never).unwrap();
    groups.into_iter().find(|group| group.function == name).unwrap()
}

/// The columns of the butterfly.
fn spoken(n: &GroupNumbers) -> String {
    [format::signed_bytes(n.impacting_size), format::bytes(n.size), format::count(n.count)].join(", ")
}

fn texts(window: &Window) -> Vec<(egui::Rect, String)> {
    let labels = window.root().children_recursive();
    let labels = labels.filter(|node| node.accesskit_node().role() == egui::accesskit::Role::Label);
    let top = window.get_by_label("Search").rect().bottom();
    let text = |node: egui_kittest::Node<'_>| Some((node.rect(), node.value().or_else(|| node.accesskit_node().label())?));
    labels.filter_map(text).filter(|(rect, _)| rect.top() > top).collect()
}

/// The columns of the table's line that begins with `name`.
fn line(window: &Window, name: &str) -> Vec<String> {
    let texts = texts(window);
    let Some((first, _)) = texts.iter().find(|(_, text)| text == name) else { return Vec::new() };
    let same_line = |rect: &egui::Rect| (rect.center().y - first.center().y).abs() < 3.0 && rect.left() > first.left();
    let mut cells: Vec<_> = texts.iter().filter(|(rect, _)| same_line(rect)).collect();
    cells.sort_by(|a, b| a.0.left().total_cmp(&b.0.left()));
    cells.into_iter().map(|(_, text)| text.clone()).collect()
}

/// What stands in the middle of the butterfly, and around it.
fn butterfly(window: &Window, begin: &str) -> Vec<String> {
    let nodes = window.query_all_by_label_contains(begin);
    nodes.filter_map(|node| node.value().or_else(|| node.accesskit_node().label())).collect()
}

#[test]
fn heaps_types_threads_sizes_and_lifetimes_are_groupings_of_the_same_table() {
    let mut window = window();
    choose(&mut window, "By function", "By thread");
    let threads: Vec<String> = {
        let lines = window.query_all_by_label_contains(", thread ");
        lines.filter_map(|line| line.value()).collect()
    };
    assert!(!threads.is_empty());
    window.get_by_label(&threads[0]).click_secondary();
    settle(&mut window);
    click(&mut window, "Filter to this thread");
    let thread = threads[0].split(", ").last().unwrap();
    assert!(window.query_all_by_label_contains("Remove filter thread ").next().is_some(), "{thread}");
    choose(&mut window, "By thread", "By size");
    let sizes = || window.query_all_by_label_contains("size ").filter_map(|line| line.value());
    assert!(sizes().any(|size| size.contains(" to ")), "{:?}", sizes().collect::<Vec<_>>());
    choose(&mut window, "By size", "By lifetime");
    assert!(window.query_all_by_label("lifetime without an end").next().is_some(), "what leaks has no end");
    choose(&mut window, "By lifetime", "By type");
    menu(&mut window, "Setting", "Filter to this type");
    assert!(window.query_all_by_label_contains("Remove filter Setting").next().is_some());
    choose(&mut window, "By type", "By heap");
    let heap = "MemoryTestApp.exe, Windows NT heap 0x1d0000 (default)";
    assert_eq!(line(&window, heap).len(), 6, "no other heap is left: {:?}", texts(&window));
    menu(&mut window, heap, "Exclude this heap");
    assert!(window.query_all_by_label_contains("Remove filter without").next().is_some());
    assert!(line(&window, heap).is_empty());
}

#[test]
fn the_heaviest_path_leads_to_the_leak_and_the_butterfly_to_who_calls_it() {
    let mut window = window();
    choose(&mut window, "By function", "Top-down");
    click(&mut window, "Count"); // the leak is many small blocks
    click(&mut window, "Expand heaviest path");
    let (leak, main) = (told(LEAK), told(MAIN));
    assert_eq!(line(&window, LEAK)[..3], columns(&leak.total)[..3]);
    assert_eq!(leak.total.count, demo::LEAKS);

    let middle = |of: &FunctionGroup| format!("{}: total {}; self {}", of.function, spoken(&of.total), spoken(&of.own));
    assert_eq!(butterfly(&window, ": total "), [middle(&leak)]);
    let caller = &leak.callers.as_ref().unwrap()[0];
    assert_eq!(caller.function.as_deref(), Some(MAIN));
    let caller = format!("Caller {MAIN}: {}", spoken(&caller.numbers));
    assert_eq!(butterfly(&window, "Caller "), std::slice::from_ref(&caller));
    assert_eq!(butterfly(&window, "Callee "), [format!("Callee (itself): {}", spoken(&leak.own))]);

    click(&mut window, &caller);
    assert_eq!(butterfly(&window, ": total "), [middle(&main)]);
    let callees = main.callees.as_ref().unwrap().iter();
    let callees: Vec<String> = callees
        .map(|callee| format!("Callee {}: {}", callee.function.as_deref().unwrap_or("(itself)"), spoken(&callee.numbers)))
        .collect();
    let drawn = butterfly(&window, "Callee ");
    assert!(drawn.len() > 1 && callees.starts_with(&drawn), "those in sight: {drawn:?} of {callees:?}");
    click(&mut window, "Function before");
    assert_eq!(butterfly(&window, ": total "), [middle(&leak)]);

    // Functions have other numbers with all frames among them, and other callers at the top.
    click(&mut window, "All frames");
    assert!(butterfly(&window, "Callee ")[0].starts_with("Callee MemoryTestApp.exe!operator new"));
    click(&mut window, "Close butterfly");
    assert!(butterfly(&window, ": total ").is_empty());
    click(&mut window, "Expand heaviest path");
    assert!(!line(&window, LEAK).is_empty());
    click(&mut window, "Collapse all");
    assert!(line(&window, LEAK).is_empty());
}

#[test]
fn groupings_have_the_numbers_of_the_report_and_filter() {
    let mut window = window();
    let leak = told(LEAK);
    assert_eq!(line(&window, LEAK), columns(&leak.own));
    choose(&mut window, "By function", "Bottom-up");
    assert_eq!(line(&window, LEAK), columns(&leak.own));
    assert!(line(&window, MAIN).is_empty());
    click(&mut window, &format!("Expand {LEAK}"));
    assert_eq!(line(&window, MAIN), columns(&leak.own), "its only caller, with all of it");

    menu(&mut window, LEAK, "Exclude this function");
    let chip = format!("Remove filter without {LEAK}");
    assert!(has(&window, &chip) && line(&window, LEAK).is_empty());
    click(&mut window, "Back");
    assert!(!has(&window, &chip));
    assert_eq!(line(&window, MAIN), columns(&leak.own), "what was open is open again");

    choose(&mut window, "Bottom-up", "By module");
    menu(&mut window, "MemoryTestApp.exe", "Filter to this module");
    assert!(has(&window, "Remove filter module MemoryTestApp.exe"));
    choose(&mut window, "By module", "By function");
    assert_eq!(line(&window, LEAK), columns(&leak.own));
    assert!(texts(&window).iter().all(|(_, text)| !text.starts_with("ntdll")));
}

#[test]
fn functions_say_in_which_line_most_was_asked_for() {
    let mut settings = Settings::default();
    settings.show_column(Column::Source, true);
    let mut window = window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, settings);
    click(&mut window, "Source MemoryTestApp.exe: 0x1d0000 (default)");
    click(&mut window, "Functions");
    settle(&mut window);
    assert!(!texts(&window).iter().any(|(_, text)| text == "Source"), "a line of a tree stands for several places");
    choose(&mut window, "Top-down", "By function");
    wait_for(&mut window, LEAK);
    settle(&mut window);
    assert!(line(&window, LEAK).contains(&"main.cpp:48".to_owned()), "{:?}", line(&window, LEAK));
    window.get_by_label(LEAK).click_secondary();
    settle(&mut window);
    assert!(has(&window, "Open main.cpp:48"));
}

#[test]
fn a_search_opens_the_way_and_keys_move_the_selection() {
    let mut window = window();
    choose(&mut window, "By function", "Bottom-up");
    assert!(line(&window, LEAK).len() > 1 && line(&window, MAIN).is_empty());
    window.get_by_label("Search").focus();
    window.step();
    window.get_by_label("Search").type_text("exe!main");
    settle(&mut window);
    let found = texts(&window).iter().filter(|(_, text)| text == MAIN).count();
    assert!(found > 1, "the way to Main is open under each function");
    click(&mut window, "Clear search");
    assert!(line(&window, MAIN).is_empty());

    window.key_press(egui::Key::ArrowDown);
    settle(&mut window);
    assert_eq!(butterfly(&window, ": total ").len(), 1);
    window.key_press(egui::Key::ArrowRight);
    settle(&mut window);
    let first = butterfly(&window, ": total ");
    window.key_press(egui::Key::ArrowDown);
    settle(&mut window);
    assert_ne!(butterfly(&window, ": total "), first, "the line below");
    window.key_press(egui::Key::ArrowLeft);
    settle(&mut window);
    window.key_press(egui::Key::ArrowLeft);
    settle(&mut window);
    assert_eq!(butterfly(&window, ": total "), first, "and back to the one above");
}

#[test]
fn enter_in_the_search_selects_what_it_found_first_and_escape_takes_that_back() {
    let mut window = window();
    window.get_by_label("Search").focus();
    window.step();
    window.get_by_label("Search").type_text("innerloop");
    window.key_press(egui::Key::Enter);
    settle(&mut window);
    assert_eq!(butterfly(&window, ": total ").len(), 1);
    let told = format!("{LEAK}: count ");
    let says = |window: &Window| window.query_all_by_label_contains(&told).next().is_some();
    assert!(says(&window), "the status bar speaks of it");
    window.key_press(egui::Key::Escape);
    settle(&mut window);
    assert!(!says(&window) && butterfly(&window, ": total ").is_empty());
}

#[test]
fn who_freed_is_a_tree_of_its_own() {
    let trace = Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap());
    let (interval, by) = (trace.span, vec![By::FreedStack]);
    let filter = ReportFilter { layer: Some(Layer::Tracker), ..ReportFilter::default() };
    let request = ReportRequest { interval, by, filter, top: None, fold: Fold::Nothing, sources: false };
    let groups = report(&Index::scan(trace), &request, &Cancel::default()).unwrap().groups;
    let freed = |has_stack: bool| {
        let groups = || groups.iter().filter(|group| group.freed_stack.as_deref().unwrap().is_empty() != has_stack);
        let sum = |of: fn(&GroupNumbers) -> u64| groups().map(|group| of(&group.numbers)).sum::<u64>();
        [format::count(sum(|n| n.freed_count)), format::bytes(sum(|n| n.freed_size))]
    };
    let mut window = window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, Settings::default());
    click(&mut window, "Source MemoryTestApp.exe: PhysicsHeap");
    show_tab(&mut window, "Freed by");
    wait_for(&mut window, "Freed Size");
    settle(&mut window); // all begin in one function, the start of the thread
    let drawn = texts(&window).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    assert_ne!(freed(true)[0], "0", "{groups:?}");
    assert!(freed(true).iter().all(|text| drawn.contains(text)), "{:?} in {drawn:?}", freed(true));
}

#[test]
fn commit_by_owner_has_the_numbers_of_the_report_and_filters() {
    let mut window = window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, Settings::default());
    click(&mut window, "Source MemoryTestApp.exe: Commit (VirtualAlloc)");
    click(&mut window, "Functions");
    choose(&mut window, "Top-down", "By owner");
    wait_for(&mut window, "MemoryTestApp.exe");
    settle(&mut window);
    let trace = Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap());
    let filter =
        ReportFilter { layer: Some(Layer::Commit), process: Some("MemoryTestApp.exe".to_owned()), ..ReportFilter::default() };
    let request =
        ReportRequest { interval: trace.span, by: vec![By::Owner], filter, top: None, fold: Fold::Nothing, sources: false };
    let groups = report(&Index::scan(trace), &request, &Cancel::default()).unwrap().groups;
    for group in &groups {
        let owner = group.owner.as_deref().unwrap();
        assert_eq!(line(&window, owner), columns(&group.numbers), "{owner}");
    }
    assert!(groups.len() > 1);
    menu(&mut window, "MemoryTestApp.exe", "Filter to this owner");
    assert!(has(&window, "Remove filter owner MemoryTestApp.exe"));
    let others = groups.iter().filter(|group| group.owner.as_deref() != Some("MemoryTestApp.exe"));
    others.for_each(|group| assert!(line(&window, group.owner.as_deref().unwrap()).is_empty(), "{group:?}"));
}

/// The layer that leads is known only when the sums without the filter are there.
#[test]
fn the_rows_are_of_the_layer_that_is_named_after_a_filter_is_cleared() {
    let mut window = crate::driver::demo();
    show_tab(&mut window, "Functions");
    let rows = |window: &Window| -> Vec<String> {
        window.query_all_by_label_contains("MemoryTestApp.exe!").filter_map(|row| row.accesskit_node().label()).collect()
    };
    let before = rows(&window);
    click(&mut window, "Source MemoryTestApp.exe: Windows NT heaps");
    assert_ne!(rows(&window), before, "rows of the heaps");
    click(&mut window, "Clear filter");
    settle(&mut window);
    assert!(!before.is_empty());
    assert_eq!(rows(&window), before);
}
