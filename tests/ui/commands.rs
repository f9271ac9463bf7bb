//! The table of commands in the window: palette, keys, menus and the window *Keys* all come
//! from it.

use crate::driver::{Window, give, has, has_containing, palette, press, settle, window_of};
use eframe::egui::{Key, Modifiers, accesskit};
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::load::Input;

/// The commands that the palette lists, from the top.
fn listed(window: &Window) -> Vec<String> {
    let nodes = window.query_all_by_label_contains("Command ");
    let mut lines: Vec<_> = nodes.map(|node| (node.rect().top(), node.accesskit_node().label().unwrap())).collect();
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    lines.into_iter().map(|(_, label)| label.trim_start_matches("Command ").to_owned()).collect()
}

#[test]
fn the_palette_gives_commands_by_some_letters() {
    let mut window = window_of(Vec::new());
    give(&mut window, "demo");
    assert!(has(&window, "Source MemoryTestApp.exe (4660)"), "the demo is open");
    assert!(!has(&window, "Command"), "and the palette is closed");

    give(&mut window, "tab hist");
    assert!(has_containing(&window, "Short-lived") || has_containing(&window, "Between marks"), "another tab");
    give(&mut window, "tab stacks");
    assert!(has(&window, "Impacting Size"));
    give(&mut window, "col impact");
    assert!(!has(&window, "Impacting Size"), "a column is hidden");

    palette(&mut window, "theme");
    press(&mut window, Modifiers::NONE, Key::ArrowDown);
    assert_eq!(listed(&window)[..3], ["Theme: System", "Theme: Light", "Theme: Dark"]);
    press(&mut window, Modifiers::NONE, Key::Enter);
    press(&mut window, Modifiers::COMMAND, Key::P);
    let light = window.get_by_label("Command Theme: Light");
    let is_chosen = light.rect().top() > 0.0 && window.ctx.theme() == eframe::egui::Theme::Light;
    assert!(is_chosen, "the second line was given");
}

#[test]
fn the_palette_knows_the_words_of_questions_and_lists_first_what_can_be_run() {
    let mut window = window_of(Vec::new());
    palette(&mut window, "o");
    let first = &listed(&window)[0];
    assert!(!window.get_by_label(&format!("Command {first}")).accesskit_node().is_disabled(), "{first}");
    press(&mut window, Modifiers::NONE, Key::Escape);

    let mut window = window_of(vec![Input::Demo]);
    palette(&mut window, "leak");
    let leak = listed(&window);
    assert_eq!(leak[0], "Layout: Leak", "a name comes before the words of a question");
    assert!(leak[1].starts_with("Go to: ") || leak[2].starts_with("Go to: "), "{leak:?}");
    assert!(leak.contains(&"Tabs: Generations".to_owned()) && leak.contains(&"Tabs: Findings".to_owned()), "{leak:?}");
    press(&mut window, Modifiers::NONE, Key::Escape);
    give(&mut window, "steady growth");
    assert!(has_containing(&window, "Remove filter "), "one action leads there");
    palette(&mut window, "tabs: functions");
    assert_eq!(listed(&window)[0], "Tabs: Functions", "the words of another tab have it, too");
    press(&mut window, Modifiers::NONE, Key::Escape);
    palette(&mut window, "who allocated");
    assert_eq!(listed(&window)[..2], ["Tabs: Stacks", "Tabs: Functions"]);
    press(&mut window, Modifiers::NONE, Key::Escape);
    palette(&mut window, "peak");
    let peak = listed(&window);
    assert!(peak[..2].iter().all(|words| words.contains(": peak of ")), "{peak:?}");
    let place = |word: &str| peak.iter().position(|words| words.starts_with(word));
    assert!(place("Tabs: ") < place("Columns: Peak"), "a switch that hides something is last: {peak:?}");

    let mut window = window_of(vec![Input::Demo]);
    for (typed, first) in [
        ("mimalloc", "Custom allocators\u{2026}"),
        ("share", "Share as a page\u{2026}"),
        ("pdb", "Tabs: Symbols"),
        ("regression", "Tabs: Compare"),
    ] {
        palette(&mut window, typed);
        assert!(listed(&window)[..3].contains(&first.to_owned()), "{typed}: {:?}", listed(&window));
        press(&mut window, Modifiers::NONE, Key::Escape);
    }
    palette(&mut window, "zoom");
    assert_eq!(listed(&window)[..2], ["Whole trace", "Zoom to selection"], "first what can be run");
}

#[test]
fn what_is_impossible_says_why_and_stays() {
    let mut window = window_of(Vec::new());
    palette(&mut window, "zoom to sel");
    assert_eq!(listed(&window), ["Zoom to selection"]);
    assert!(window.get_by_label("Command Zoom to selection").accesskit_node().is_disabled());
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert!(has(&window, "Command"), "nothing to give");
    window.get_by_label("Command").type_text(" qqq");
    settle(&mut window);
    assert!(listed(&window).is_empty() && has(&window, "No command matches"));
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(!has(&window, "Command"));
}

#[test]
fn escape_closes_what_is_in_front_before_it_takes_anything_back() {
    let mut window = window_of(vec![Input::Demo]);
    window.get_by_label("Source MemoryTestApp.exe (4660)").click();
    settle(&mut window);
    assert!(has(&window, "Show all"));
    let fronts = [(Modifiers::NONE, Key::F1, "All keyboard shortcuts"), (Modifiers::COMMAND, Key::P, "Command")];
    for (modifiers, key, seen) in fronts {
        press(&mut window, modifiers, key);
        assert!(has(&window, seen), "{seen}");
        press(&mut window, Modifiers::NONE, Key::Escape);
        assert!(!has(&window, seen), "{seen} is closed");
        assert!(has(&window, "Show all"), "and nothing else is taken back");
    }
    give(&mut window, "stack rules");
    assert!(has(&window, "Hidden frames"));
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(!has(&window, "Hidden frames") && has(&window, "Show all"));
    window.get_by_label("View").click();
    settle(&mut window);
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(has(&window, "Show all"), "a menu, too");
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(!has(&window, "Show all"), "then the filter");
}

#[test]
fn keys_menus_and_palette_say_the_same() {
    let mut window = window_of(vec![Input::Demo]);
    press(&mut window, Modifiers::NONE, Key::F1);
    for told in ["Ctrl+P", "Backspace, Ctrl+Z, Ctrl+Shift+\u{2212}, Alt+Left", "Z, Ctrl+.", "drag on the graph", "Ctrl+F"] {
        assert!(has(&window, told), "{told}");
    }
    press(&mut window, Modifiers::NONE, Key::F1);
    assert!(!has(&window, "drag on the graph"), "the same key closes it");
    window.get_by_label("File").click();
    settle(&mut window);
    assert!(has_containing(&window, "Ctrl+O"), "the menu shows the key");
}

#[test]
fn the_text_can_be_larger_and_smaller() {
    let mut window = window_of(vec![Input::Demo]);
    let zoom = |window: &Window| window.ctx.zoom_factor();
    press(&mut window, Modifiers::COMMAND, Key::Plus);
    assert_eq!(zoom(&window), 1.1);
    press(&mut window, Modifiers::COMMAND, Key::Equals);
    assert_eq!(zoom(&window), 1.25);
    press(&mut window, Modifiers::COMMAND, Key::Minus);
    assert_eq!(zoom(&window), 1.1);
    press(&mut window, Modifiers::COMMAND | Modifiers::SHIFT, Key::Minus);
    assert_eq!(zoom(&window), 1.1, "with Shift it is the key of the view before");
    press(&mut window, Modifiers::COMMAND, Key::Num0);
    assert_eq!(zoom(&window), 1.0);
    give(&mut window, "text size 200");
    assert_eq!(zoom(&window), 2.0);
    press(&mut window, Modifiers::COMMAND, Key::Plus);
    assert_eq!(zoom(&window), 2.0, "no larger");
}

#[test]
fn a_text_field_keeps_its_letters() {
    let mut window = window_of(vec![Input::Demo]);
    press(&mut window, Modifiers::COMMAND, Key::F);
    assert!(window.get_by_label("Search").accesskit_node().is_focused());
    window.get_by_label("Search").type_text("z");
    press(&mut window, Modifiers::NONE, Key::Backspace);
    assert!(has_containing(&window, "View: 0.000 s to 36.060 s"));
    let role = accesskit::Role::Button;
    assert!(window.get_by_role_and_label(role, "Back").accesskit_node().is_disabled(), "the key was the field's");
}

#[test]
fn a_path_can_be_typed_where_there_is_no_dialog() {
    let mut window = window_of(Vec::new());
    press(&mut window, Modifiers::COMMAND | Modifiers::SHIFT, Key::O);
    let demo = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo.etl");
    window.get_by_label("Path").type_text(&format!("\"{}\"", demo.display()));
    settle(&mut window);
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert!(has(&window, "Source MemoryTestApp.exe (4660)"));
    assert!(!has(&window, "Path"), "the dialog is gone");
}

#[test]
fn help_is_inside_the_window() {
    let mut window = window_of(Vec::new());
    give(&mut window, "glossary");
    assert!(has_containing(&window, "allocated inside the interval, freed inside"));
    window.get_by_label("What the numbers mean").click();
    settle(&mut window);
    assert!(has_containing(&window, "Layers nest: a heap takes its memory from commit"));
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(!has(&window, "What the numbers mean"));
}

#[test]
fn what_is_empty_says_what_to_do() {
    let mut window = window_of(vec![Input::Demo]);
    give(&mut window, "tabs types");
    press(&mut window, Modifiers::COMMAND, Key::F);
    window.get_by_label("Search").type_text("no such name");
    settle(&mut window);
    assert!(has(&window, "No type in this interval matches the search."));
    window.get_by_label("Clear the search").click();
    settle(&mut window);
    assert!(!has(&window, "Clear the search") && has_containing(&window, "Sample"));
}

#[test]
fn keys_that_move_in_a_menu_leave_the_table_as_it_is() {
    let mut window = window_of(vec![Input::Demo]);
    press(&mut window, Modifiers::NONE, Key::ArrowDown);
    press(&mut window, Modifiers::NONE, Key::ArrowDown);
    let selected = |window: &Window| crate::driver::labels(window).into_iter().find(|text| text.contains(", impacting size "));
    let before = selected(&window);
    assert!(before.is_some(), "a line is selected");
    window.get_by_label("View").click();
    settle(&mut window);
    for _ in 0..3 {
        press(&mut window, Modifiers::NONE, Key::ArrowDown);
    }
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert_eq!(selected(&window), before);
}
