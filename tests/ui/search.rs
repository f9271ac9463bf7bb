//! Searching a table: what is found, and what Enter and Esc do.

use eframe::egui;
use egui_kittest::kittest::Queryable;
use highwater::load::Input;

use crate::driver::{Window, click, has, has_containing, settle, show_tab, window_of};
use crate::first_use::line;

#[test]
fn search_opens_the_tree_down_to_what_it_finds() {
    let mut window = window_of(vec![Input::Demo]);
    window.set_size(egui::vec2(1280.0, 1400.0)); // room for the lines of all processes
    settle(&mut window);
    let field = window.get_by_label("Search");
    field.focus();
    window.step();
    window.get_by_label("Search").type_text("telemetryservice.exe!+0x");
    settle(&mut window);
    assert!(line(&window, "MemoryTestApp.exe (4660)").is_none());
    assert!(has_containing(&window, "TelemetryService.exe!+0x"));
    click(&mut window, "Clear search");
    assert!(line(&window, "MemoryTestApp.exe (4660)").is_some());
}

/// Types into the search, and presses Enter a frame later: before anything is found.
fn search_and_enter(window: &mut Window, text: &str) {
    window.get_by_label("Search").focus();
    window.step();
    window.get_by_label("Search").type_text(text);
    window.key_press(egui::Key::Enter);
    window.step();
}

/// What the status bar says of the second line: the commit of the process that changed most.
const SECOND_LINE: &str = "Commit (VirtualAlloc): count 26";

fn select_second_line(window: &mut Window) {
    for _ in 0..2 {
        window.key_press(egui::Key::ArrowDown);
        settle(window);
    }
    assert!(has_containing(window, SECOND_LINE));
}

/// Whether anything is filtered away.
fn is_filtered(window: &Window) -> bool {
    has(window, "Show all")
}

#[test]
fn enter_in_the_search_goes_to_what_it_finds_and_never_filters_to_what_was_selected_before() {
    let mut window = window_of(vec![Input::Demo]);
    // The line of the process stays in the table: what is found is below it.
    click(&mut window, "TelemetryService.exe (5120)");
    search_and_enter(&mut window, "telemetryservice.exe!+0x");
    settle(&mut window);
    assert!(!is_filtered(&window), "filtered to what was selected before");
    let found = window.get_by_label_contains(": count ").value().unwrap();
    assert!(found.starts_with("TelemetryService.exe!+0x"), "{found}");
    window.key_press(egui::Key::ArrowUp);
    settle(&mut window);
    assert!(!has_containing(&window, &found), "the table has the keys again");
    window.key_press(egui::Key::ArrowDown);
    settle(&mut window);
    window.key_press(egui::Key::Enter);
    settle(&mut window);
    assert!(is_filtered(&window), "Enter in the table filters");
}

#[test]
fn enter_in_a_search_that_finds_nothing_does_nothing() {
    let mut window = window_of(vec![Input::Demo]);
    select_second_line(&mut window);
    search_and_enter(&mut window, "nothing of that name");
    window.key_press(egui::Key::Enter);
    settle(&mut window);
    window.key_press(egui::Key::Enter);
    settle(&mut window);
    assert!(!is_filtered(&window) && has(&window, "Nothing in this interval matches the search."));
    // What is searched later is not what Enter was pressed for.
    window.get_by_label("Search").focus();
    window.step();
    click(&mut window, "Clear search");
    assert!(!has_containing(&window, ": count "), "nothing is selected");
}

#[test]
fn enter_in_a_field_of_another_tab_is_not_for_the_table() {
    let mut window = window_of(vec![Input::Demo]);
    select_second_line(&mut window);
    show_tab(&mut window, "Types");
    search_and_enter(&mut window, "Rigid");
    settle(&mut window);
    assert!(!is_filtered(&window));
    for key in [egui::Key::Enter, egui::Key::ArrowDown] {
        window.key_press(key);
        settle(&mut window);
    }
    assert!(!is_filtered(&window), "a line that is not in sight");
    assert!(!has_containing(&window, SECOND_LINE), "the status bar speaks of what is in sight");
    click(&mut window, "Stacks");
    assert!(has_containing(&window, SECOND_LINE), "still the selected one");
}

#[test]
fn letters_typed_one_by_one_all_arrive_in_the_search() {
    let mut window = window_of(vec![Input::Demo]);
    window.get_by_label("Search").focus();
    window.step();
    for letter in "telemetry".chars() {
        window.event(egui::Event::Text(letter.to_string()));
        settle(&mut window);
    }
    assert_eq!(window.get_by_label("Search").value().as_deref(), Some("telemetry"));
    assert!(line(&window, "MemoryTestApp.exe (4660)").is_none());
}

#[test]
fn what_is_typed_in_the_frame_of_ctrl_f_is_searched() {
    let mut window = window_of(vec![Input::Demo]);
    let (key, modifiers) = (egui::Key::F, egui::Modifiers::CTRL | egui::Modifiers::COMMAND);
    let input = window.input_mut();
    input.events.push(egui::Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers });
    input.events.extend(["t", "e", "l"].map(|letter| egui::Event::Text(letter.to_owned())));
    settle(&mut window);
    assert_eq!(window.get_by_label("Search").value().as_deref(), Some("tel"));
}
