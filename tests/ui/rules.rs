//! Rules for stacks in the window: what the menus of functions offer changes all views at once,
//! can be undone, filters, and is kept in a file that others can read.

use std::path::Path;
use std::sync::Arc;

use crate::driver::{Window, choose, click, columns, drop_file, has, menu, settle, wait_for, window_set};
use eframe::egui;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Options, Settings};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::query::{By, Cancel, Fold, Group, Index, ReportFilter, ReportRequest, named_report};
use highwater::stack_rules::StackRules;
use highwater::symbols::{Options as SymbolOptions, Sources, Symbols};
use highwater_dev::synth::demo;

const LEAK: &str = "MemoryTestApp.exe!InnerLoopOperation";
const MAIN: &str = "MemoryTestApp.exe!Main";

/// The demo's leaking heap in the tab by function, named, with the rules of a file.
fn window(file: &Path) -> Window {
    let options = Options { inputs: vec![Input::Demo], stack_rules: Some(file.to_owned()), ..Options::default() };
    let mut window = window_set(options, Settings::default());
    click(&mut window, "Source MemoryTestApp.exe: 0x1d0000 (default)");
    click(&mut window, "Functions");
    choose(&mut window, "Top-down", "By function");
    settle(&mut window);
    window
}

/// Types into a field of that name.
fn enter(window: &mut Window, field: &str, text: &str) {
    window.get_by_label(field).focus();
    window.step();
    window.get_by_label(field).type_text(text);
    settle(window);
}

/// The columns of the table's line that begins with `name`.
fn line(window: &Window, name: &str) -> Vec<String> {
    let nodes = window.root().children_recursive();
    let labels = nodes.filter(|node| node.accesskit_node().role() == egui::accesskit::Role::Label);
    let top = window.get_by_label("Search").rect().bottom();
    let text = |node: egui_kittest::Node<'_>| Some((node.rect(), node.value().or_else(|| node.accesskit_node().label())?));
    let texts: Vec<(egui::Rect, String)> = labels.filter_map(text).filter(|(rect, _)| rect.top() > top).collect();
    let Some((first, _)) = texts.iter().find(|(_, text)| text == name) else { return Vec::new() };
    let same_line = |rect: &egui::Rect| (rect.center().y - first.center().y).abs() < 3.0 && rect.left() > first.left();
    let mut cells: Vec<_> = texts.iter().filter(|(rect, _)| same_line(rect)).collect();
    cells.sort_by(|a, b| a.0.left().total_cmp(&b.0.left()));
    cells.into_iter().map(|(_, text)| text.clone()).collect()
}

/// What the command line says of that heap by a key, with these rules; as columns of a line.
fn told(by: By, rules: &str, of: &str) -> Vec<String> {
    let trace = Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap());
    let sources = Sources { embedded: vec![highwater::demo::symbols()], ..Sources::default() };
    let options = SymbolOptions { sources, saved: None, workers: 1, frees: false, ..SymbolOptions::default() };
    let symbols = Symbols::start(Arc::clone(&trace), options, |_| true, || {});
    symbols.wait();
    let names = symbols.names().1.with_rules(Arc::new(StackRules::parse(rules).unwrap()));
    let index = Index::scan(Arc::clone(&trace));
    let filter = ReportFilter {
        process: Some("MemoryTestApp.exe".to_owned()),
        heap: Some(format!("{:#x}", demo::LEAKING_HEAP)),
        ..ReportFilter::default()
    };
    let request = ReportRequest { interval: trace.span, by: vec![by], filter, top: None, fold: Fold::Allocator, sources: false };
    let report = named_report(&index, &request, &names, &Cancel::default()).unwrap();
    let is_it = |group: &&Group| [&group.function, &group.tag].into_iter().flatten().any(|key| key == of);
    let Some(group) = report.groups.iter().find(is_it) else { return Vec::new() };
    let n = &group.numbers;
    columns(n).to_vec()
}

const FOLD: &str = "[[fold]]\nframe = 'MemoryTestApp.exe!InnerLoopOperation'\n";

#[test]
fn folding_away_a_function_gives_what_it_holds_to_its_caller_and_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stack-rules.toml");
    let mut window = window(&file);
    let (leak, main, both) = (told(By::Function, "", LEAK), told(By::Function, "", MAIN), told(By::Function, FOLD, MAIN));
    assert!(!leak.is_empty() && main != both);
    assert_eq!((line(&window, LEAK), line(&window, MAIN)), (leak.clone(), main.clone()));
    assert!(!has(&window, "1 rule"));

    menu(&mut window, LEAK, "Hide this frame");
    assert_eq!((line(&window, LEAK), line(&window, MAIN)), (Vec::new(), both.clone()));
    assert_eq!(StackRules::read(&file).unwrap(), StackRules::parse(FOLD).unwrap(), "it is kept");
    // The first screen follows: findings and the tree of the table.
    assert!(window.query_all_by_label_contains("InnerLoopOperation").next().is_none());

    click(&mut window, "1 rule");
    assert!(has(&window, &format!("Remove rule {LEAK}")));
    click(&mut window, "Undo");
    assert_eq!((line(&window, LEAK), line(&window, MAIN)), (leak.clone(), main));
    assert_eq!(StackRules::read(&file).unwrap(), StackRules::default());
    click(&mut window, "Redo");
    assert_eq!(line(&window, MAIN), both);
    click(&mut window, &format!("Remove rule {LEAK}"));
    assert_eq!(line(&window, LEAK), leak);
    assert!(!has(&window, "1 rule"));
}

#[test]
fn named_stacks_are_a_grouping_and_a_filter() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stack-rules.toml");
    let mut window = window(&file);
    menu(&mut window, LEAK, "Tag these stacks\u{2026}");
    assert!(window.get_by_label("Stack name").is_focused(), "the name can be typed at once");
    window.get_by_label("Stack name").type_text("The leak");
    settle(&mut window);
    window.key_press(egui::Key::Enter);
    settle(&mut window);
    assert!(has(&window, "1 rule"));
    let rules = std::fs::read_to_string(&file).unwrap();
    assert_eq!(StackRules::parse(&rules).unwrap().tags()[0].name, "The leak");

    choose(&mut window, "By function", "By tag");
    let (leak, rest) = (told(By::Tag, &rules, "The leak"), told(By::Tag, &rules, "(no tag)"));
    assert!(!leak.is_empty() && !rest.is_empty());
    assert_eq!((line(&window, "The leak"), line(&window, "(no tag)")), (leak.clone(), rest.clone()));
    menu(&mut window, "The leak", "Exclude this tag");
    assert!(has(&window, "Remove filter without tag The leak"));
    assert_eq!((line(&window, "The leak"), line(&window, "(no tag)")), (Vec::new(), rest));
    click(&mut window, "Back");
    menu(&mut window, "The leak", "Filter to this tag");
    choose(&mut window, "By tag", "By function");
    assert_eq!((line(&window, LEAK), line(&window, MAIN)), (leak, Vec::new()));

    click(&mut window, "Clear filter");
    click(&mut window, "Compare");
    choose(&mut window, "By process and heap", "By tag");
    assert!(!line(&window, "The leak").is_empty());
}

#[test]
fn the_window_of_rules_adds_raises_and_removes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stack-rules.toml");
    let mut window = window(&file);
    choose(&mut window, "By function", "By tag");
    assert!(window.query_all_by_label_contains("No rule names stacks yet").next().is_some());
    click(&mut window, "View");
    click(&mut window, "Stack rules\u{2026}");
    enter(&mut window, "Name of stacks", "Narrow");
    enter(&mut window, "Frame in stacks", "*InnerLoop*");
    click(&mut window, "Name");
    enter(&mut window, "Name of stacks", "Wide");
    enter(&mut window, "Frame in stacks", "main");
    click(&mut window, "Name");
    let kept = || StackRules::read(&file).unwrap();
    assert_eq!(kept().tags().iter().map(|rule| rule.name.as_str()).collect::<Vec<_>>(), ["Wide", "Narrow"]);
    click(&mut window, "Raise rule *InnerLoop*");
    assert_eq!(kept().tags()[0].name, "Narrow");
    enter(&mut window, "Frame to hide", "kernel32.dll!*");
    click(&mut window, "Hide");
    assert_eq!((kept().folds().len(), kept().tags().len()), (1, 2));
    assert!(has(&window, "3 rules"));
    click(&mut window, "Remove rule main named Wide");
    click(&mut window, "Remove all");
    assert!(kept().is_empty() && !has(&window, "1 rule"));
}

#[test]
fn a_team_s_file_is_dropped_on_the_window_and_a_bad_one_is_told_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let (own, team) = (folder.path().join("own.toml"), folder.path().join("team.toml"));
    std::fs::write(&own, FOLD).unwrap();
    std::fs::write(&team, "[[tag]]\nframe = 'main'\nname = 'All of it'\n").unwrap();
    let mut window = window(&own);
    wait_for(&mut window, "1 rule");
    assert!(line(&window, LEAK).is_empty(), "rules hold from the start");
    drop_file(&mut window, &team);
    assert!(has(&window, "2 rules") && has(&window, "Remove rule main named All of it"));
    assert_eq!(StackRules::read(&own).unwrap().len(), 2);
    assert_eq!(StackRules::read(&team).unwrap().len(), 1);
    std::fs::write(&team, "[[tag]]\nframe = 'main'\nnames = 'All of it'\n").unwrap();
    drop_file(&mut window, &team);
    assert!(window.query_all_by_label_contains("team.toml:3: ").next().is_some());
    assert!(has(&window, "2 rules"));
}
