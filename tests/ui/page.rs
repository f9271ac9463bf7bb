//! *Share as a page*: one file with what the window shows.

use std::path::Path;

use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;

use crate::driver::{Window, demo, drag_on, give, press, settle, wait_for};
use crate::pages::{Element, elements};

/// Gives a command and types the path for which it asks: here is no dialog.
fn save(window: &mut Window, command: &str, file: &Path) {
    give(window, command);
    wait_for(window, "Path");
    window.get_by_label("Path").type_text(file.to_str().unwrap());
    settle(window);
    press(window, Modifiers::NONE, Key::Enter);
}

fn share(window: &mut Window, file: &Path) -> Vec<Element> {
    save(window, "share as a page", file);
    assert!(crate::driver::has_containing(window, &format!("Saved {}", file.display())), "the status bar says so");
    // A name without an ending gets that of a page.
    elements(&std::fs::read_to_string(file.with_extension("html")).unwrap())
}

fn texts<'a>(all: &'a [Element], name: &'a str, within: &'a str) -> impl Iterator<Item = &'a str> {
    all.iter().filter(move |element| element.name == name && element.is_in(within)).map(|element| element.text.as_str())
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn a_page_shows_the_graph_the_findings_and_the_table_in_sight() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = demo();
    give(&mut window, "tabs: stacks");
    let all = share(&mut window, &folder.path().join("whole"));
    assert_eq!(texts(&all, "h1", "header").next(), Some("Demo trace"));
    assert!(all.iter().any(|element| element.name == "path" && element.attribute("class") == Some("commit")));
    assert!(texts(&all, "text", "graph").any(|text| text.contains("PhysicsHeap \u{b7} peak ")));
    assert!(texts(&all, "p", "findings").any(|text| text.contains("not freed at exit")));
    assert!(texts(&all, "th", "table").any(|text| text == "Impacting Size"));
    assert!(texts(&all, "span", "tbody").any(|text| text.starts_with("MemoryTestApp.exe")));
    assert!(all.iter().all(|element| element.attribute("class") != Some("selected")));
    assert_eq!(texts(&all, "pre", "footer").next(), Some("highwater report demo:"));

    drag_on(&mut window, "Outstanding size over time", 0.3, 0.6);
    let (_, from, to) = crate::driver::interval(&window);
    let all = share(&mut window, &folder.path().join("part.html"));
    let selected = all.iter().find(|element| element.attribute("class") == Some("selected")).unwrap();
    let left: f32 = selected.attribute("x").unwrap().parse().unwrap();
    assert!((left / 1000.0 - from / 36.06).abs() < 0.01, "{left} {from}");
    assert!(texts(&all, "p", "findings").any(|text| text == "Of the whole trace."));
    let command = texts(&all, "pre", "footer").next().unwrap();
    let edges: Vec<f32> = command.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!((edges[0] - from).abs() < 0.01 && (edges[1] - to).abs() < 0.01, "{command}");
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn a_page_with_filters_has_the_command_with_their_options_or_says_that_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = demo();
    crate::driver::click(&mut window, "Source MemoryTestApp.exe: 0x1d0000 (default)");
    settle(&mut window);
    let all = share(&mut window, &folder.path().join("heap"));
    let command = texts(&all, "pre", "footer").next().unwrap();
    assert_eq!(command, "highwater report demo: --process 4660 --layer heap --heap 0x1d0000");
    assert_eq!(texts(&all, "p", "findings").filter(|text| *text == "Of the whole trace.").count(), 0, "nothing is selected");
    give(&mut window, "clear filter");
    crate::driver::show_tab(&mut window, "Types");
    crate::driver::click(&mut window, "RigidBody");
    let all = share(&mut window, &folder.path().join("function"));
    assert_eq!(texts(&all, "pre", "footer").next(), None);
    assert!(texts(&all, "p", "footer").any(|text| text.starts_with("No single command prints the same numbers")));
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn a_flame_graph_in_sight_is_part_of_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = demo();
    give(&mut window, "layout spike");
    let file = folder.path().join("flame");
    let all = share(&mut window, &file);
    assert!(!all.iter().any(|element| element.text.ends_with("is not part of this page.")));
    assert!(texts(&all, "span", "tbody").any(|text| text.starts_with("MemoryTestApp.exe")), "the table beside it is");
    let named: Vec<&str> = texts(&all, "text", "flame").collect();
    assert!(named.contains(&"Main") && named.len() > 5, "{named:?}");
    let told: Vec<&str> = texts(&all, "title", "flame").collect();
    assert!(told.iter().any(|text| text.starts_with("MemoryTestApp.exe!Main: ") && text.ends_with('B')), "{told:?}");
    assert!(texts(&all, "span", "legend").any(|text| text == "MemoryTestApp.exe"));
    let rects = all.iter().filter(|element| element.name == "rect" && element.is_in("flame"));
    let edges = rects.map(|rect| ["x", "width"].map(|name| rect.attribute(name).unwrap().parse::<f32>().unwrap()));
    assert!(edges.into_iter().all(|[x, width]| x >= 0.0 && x + width <= 1000.1), "all is inside");
    let text = std::fs::read_to_string(file.with_extension("html")).unwrap();
    assert!(
        text.len() < 2_000_000 && !text.contains("<script") && !text.contains("http:") && !text.contains("https:"),
        "{}",
        text.len()
    );
    // The flame graph of a comparison says what green is.
    give(&mut window, "layout: first look");
    give(&mut window, "tabs: compare");
    crate::driver::click(&mut window, "Flame graph");
    assert!(crate::driver::has_containing(&window, "less in B"));
    let all = share(&mut window, &folder.path().join("compared"));
    assert!(texts(&all, "span", "legend").any(|text| text == "less in B"));
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn a_page_with_a_comparison_names_the_command_that_compares() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("before.etl");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo.etl"), &other).unwrap();
    let mut window = demo();
    give(&mut window, "tabs: compare");
    let command_of = |all: &[Element]| texts(all, "pre", "footer").next().unwrap().to_owned();
    let groups = |command: &str| {
        let words: Vec<String> = command.split(' ').skip(1).map(|word| word.replace('\'', "")).collect();
        crate::common::json(words.iter().map(String::as_str).chain(["--json"]))["groups"].as_array().unwrap().len()
    };
    let all = share(&mut window, &folder.path().join("within"));
    let command = command_of(&all);
    assert!(
        command.starts_with("highwater diff demo:@0.000000000..18.0") && command.ends_with("--by 'process,heap'"),
        "{command}"
    );
    let lines = all.iter().filter(|element| element.name == "tr" && element.is_in("tbody")).count();
    assert_eq!((groups(&command), lines > 2), (lines, true), "it has the groups of the table");

    let context = window.ctx.clone();
    window.state_mut().open_comparison(&context, vec![highwater::load::Input::File(other.clone())]);
    wait_for(&mut window, "Close B");
    settle(&mut window);
    let command = command_of(&share(&mut window, &folder.path().join("across")));
    assert_eq!(command, format!("highwater diff demo: {} --by 'process,heap'", other.display()));
    crate::driver::click(&mut window, "Swap");
    drag_on(&mut window, "Outstanding size over time", 0.3, 0.6);
    let command = command_of(&share(&mut window, &folder.path().join("swapped")));
    assert!(command.starts_with(&format!("highwater diff {} demo:@", other.display())), "{command}");
    assert!(groups(&command) > 2, "{command}");
    // The command line tells the same of the saved investigation.
    let saved = folder.path().join("both.highwater");
    save(&mut window, "save investigation", &saved);
    let told = crate::common::highwater(["diff", saved.to_str().unwrap()]).err;
    assert!(told.contains(command.strip_suffix(" --by 'process,heap'").unwrap()), "{told} {command}");
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn the_findings_are_a_table_that_can_be_exported() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = demo();
    give(&mut window, "tabs: findings");
    let file = folder.path().join("findings.json");
    save(&mut window, "table: export as json", &file);
    let written: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let told = crate::common::json(["findings", "demo:", "--json"]);
    let keys = |lines: &serde_json::Value| -> Vec<_> {
        let lines = lines.as_array().unwrap().iter();
        lines.map(|line| (line["kind"].clone(), line["layer"].clone(), line["bytes"].clone(), line["count"].clone())).collect()
    };
    assert_eq!(keys(&written), keys(&told["findings"]));
    assert!(!written.as_array().unwrap().is_empty());
}
