//! What stands out, on the first screen: a click goes there, and Back comes back.

use crate::common::highwater;
use crate::driver::{Window, click, demo, has_containing, press, settle, window_set};
use eframe::egui;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Options, Settings};
use highwater::load::Input;

/// What the status bar says of the selected line.
fn selected(window: &Window) -> String {
    window.get_by_label_contains(": count ").value().unwrap()
}

fn click_card(window: &mut Window, part: &str) {
    window.get_by_label_contains(part).click();
    settle(window);
}

#[test]
fn the_exercise_and_the_leak_hunt_take_one_click_each() {
    let cards = [
        (
            "Finding MemoryTestApp.exe: steady growth of about 1.25 KB/s in InnerLoopOperation",
            "MemoryTestApp.exe!InnerLoopOperation: ",
            "+42.50 KB",
        ),
        ("Finding MemoryTestApp.exe: step of +10.00 MB", "MemoryTestApp.exe!Main: ", "+10.00 MB"),
        (
            "Finding MemoryTestApp.exe: 10 spikes of 10.00 MB in ManipulateTemporaryBuffer",
            "MemoryTestApp.exe!ManipulateTemporaryBuffer: ",
            "size 100.00 MB",
        ),
        (
            "Finding TelemetryService.exe: steady growth of about 9.21 KB/s in TelemetryService.exe!+0x104b",
            "TelemetryService.exe!+0x104b: ",
            "+331.68 KB",
        ),
    ];
    for (card, function, number) in cards {
        let mut window = demo();
        click_card(&mut window, card);
        let line = selected(&window);
        assert!(line.starts_with(function) && line.contains(number), "{card}: {line}");
        assert!(has_containing(&window, "Selection: "), "its interval is selected");
        assert!(has_containing(&window, "Remove filter"), "its heap is filtered to");
    }
}

#[test]
fn back_takes_a_finding_back() {
    let mut window = demo();
    let is_whole =
        |window: &Window| !has_containing(window, "Remove filter") && has_containing(window, "TelemetryService.exe (5120)");
    assert!(is_whole(&window));
    click_card(&mut window, "Finding MemoryTestApp.exe: step of +10.00 MB");
    assert!(!is_whole(&window) && has_containing(&window, ": count "), "its line is selected");
    window.get_by_label("Back").click();
    settle(&mut window);
    assert!(!has_containing(&window, ": count "), "its line is not, with what belongs to that");
    assert!(is_whole(&window) && !has_containing(&window, "Selection: "));
    window.get_by_label("Forward").click();
    settle(&mut window);
    assert!(!is_whole(&window) && has_containing(&window, "Selection: "));
    assert!(has_containing(&window, ": count "), "its line is selected again");
}

#[test]
fn back_leads_to_the_tab_where_a_finding_was_chosen() {
    let mut window = demo();
    let go = |window: &mut Window, to: &str| {
        window.get_by_label(to).click();
        settle(window);
    };
    const SHOW: &str = "Show MemoryTestApp.exe: 48.44 KB in 60 blocks not freed at exit";
    let has_findings = |window: &Window| has_containing(window, SHOW);
    go(&mut window, "Findings");
    window.get_by_label_contains(SHOW).click();
    settle(&mut window);
    assert!(!has_findings(&window) && has_containing(&window, ": count "), "its line in Stacks");
    go(&mut window, "Back");
    assert!(has_findings(&window) && !has_containing(&window, "Remove filter"));
    go(&mut window, "Forward");
    assert!(!has_findings(&window) && has_containing(&window, ": count "));
    // A tab that the user has chosen since stays.
    go(&mut window, "Functions");
    go(&mut window, "Back");
    assert!(!has_findings(&window) && window.query_all_by_value("Top-down").next().is_some());
}

#[test]
fn what_was_left_at_exit_is_what_was_alive_then() {
    let mut window = demo();
    window.get_by_label("Findings").click();
    settle(&mut window);
    window.get_by_label_contains("Show MemoryTestApp.exe: 48.44 KB in 60 blocks not freed at exit").click();
    settle(&mut window);
    assert!(has_containing(&window, "Alive at 35.620"), "a moment is selected");
    assert!(has_containing(&window, "48.44 KB"), "with what the finding says");
}

#[test]
fn keys_of_the_window_do_nothing_behind_a_dialog() {
    let mut window = demo();
    window.get_by_label("Findings").click();
    settle(&mut window);
    window.query_all_by_label_contains("Accept MemoryTestApp.exe: 48").next().unwrap().click();
    settle(&mut window);
    press(&mut window, egui::Modifiers::NONE, egui::Key::W);
    assert!(!has_containing(&window, "Selection: "), "W would select the worst frame");
}

#[test]
fn a_peak_shows_what_was_alive_at_that_moment() {
    let mut window = demo();
    window.get_by_label("Findings").click();
    settle(&mut window);
    let peak = "Show MemoryTestApp.exe: peak of 1.66 MB at 27.2 s";
    window.get_by_label_contains(peak).scroll_to_me(); // what is merely large comes last
    settle(&mut window);
    window.get_by_label_contains(peak).click();
    settle(&mut window);
    assert!(has_containing(&window, "Alive at 27.19"));
    let line = selected(&window);
    assert!(line.starts_with("MemoryTestApp.exe!PhysicsHeap::Allocate: ") && line.ends_with(" alive"), "{line}");
}

#[test]
fn chips_turn_round_and_go_away() {
    let mut window = demo();
    window.set_size(egui::vec2(1280.0, 1400.0)); // room for the lines of all processes
    settle(&mut window);
    window.get_by_label("Source TelemetryService.exe (5120)").click();
    settle(&mut window);
    let telemetry = |window: &Window| window.query_all_by_label("TelemetryService.exe (5120)").count();
    let tests = |window: &Window| window.query_all_by_label("MemoryTestApp.exe (4660)").count();
    assert_eq!((telemetry(&window), tests(&window)), (1, 0));
    let chip = window.get_all_by_label("TelemetryService.exe").next().unwrap();
    chip.click();
    settle(&mut window);
    assert_eq!((telemetry(&window), tests(&window)), (0, 1), "left out instead");
    window.get_by_label("Remove filter without TelemetryService.exe").click();
    settle(&mut window);
    assert_eq!((telemetry(&window), tests(&window)), (1, 1));
    window.get_by_label("Back").click();
    settle(&mut window);
    assert_eq!((telemetry(&window), tests(&window)), (0, 1), "that can be undone as well");
}

/// The demo, with a file of accepted findings.
fn with_accepted(file: &std::path::Path) -> Window {
    let mut settings = Settings::default();
    settings.accepted = Some(file.to_owned());
    window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, settings)
}

#[test]
fn an_accepted_finding_is_not_told_again_and_says_why_until_it_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("known.json");
    let leak = "MemoryTestApp.exe: steady growth of about 1.25 KB/s in InnerLoopOperation";
    let is_told = |window: &Window| has_containing(window, &format!("Finding {leak}"));
    let mut window = with_accepted(&file);
    assert!(is_told(&window));
    click(&mut window, "Findings");
    window.query_all_by_label_contains(&format!("Accept {leak}")).next().unwrap().click();
    settle(&mut window);
    assert!(has_containing(&window, "until it exceeds"));
    window.get_by_label("Reason").focus();
    window.step();
    window.get_by_label("Reason").type_text("a list for the replay");
    settle(&mut window);
    click(&mut window, "Accept");
    assert!(!is_told(&window) && has_containing(&window, "Finding MemoryTestApp.exe: step"));
    // The command line takes the same file.
    let run = highwater(["findings", "demo:", "--json", "--baseline", file.to_str().unwrap()]);
    assert!(run.code == Some(0) && !run.out.contains(leak) && run.out.contains("MemoryTestApp.exe: step"), "{run:?}");
    // And so does the next start.
    let mut window = with_accepted(&file);
    assert!(!is_told(&window));
    click(&mut window, "Findings");
    click(&mut window, "1 accepted finding");
    assert!(has_containing(&window, "a list for the replay"));
    window.query_all_by_label_contains(&format!("Stop accepting {leak}")).next().unwrap().click();
    settle(&mut window);
    assert!(is_told(&window));
}

#[test]
fn a_file_that_is_none_of_accepted_findings_is_said_to_be_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "my notes").unwrap();
    let mut window = with_accepted(&file);
    assert!(has_containing(&window, "Accepted findings: ") && has_containing(&window, "notes.txt"));
    click(&mut window, "Findings");
    window.query_all_by_label_contains("Accept MemoryTestApp.exe: 48").next().unwrap().click();
    settle(&mut window);
    click(&mut window, "Accept");
    assert_eq!(std::fs::read(&file).unwrap(), b"my notes");
}

#[test]
fn a_low_window_has_a_line_in_place_of_cards() {
    let mut window = demo();
    let button = |window: &Window| {
        let labels = window.root().children_recursive().filter_map(|node| node.accesskit_node().label());
        labels.into_iter().find(|label| label.strip_suffix(" findings").is_some_and(|count| count.parse::<u32>().is_ok()))
    };
    assert_eq!(button(&window), None, "cards");
    window.set_size(egui::vec2(1024.0, 560.0));
    settle(&mut window);
    let first = window.query_all_by_label_contains("Finding TelemetryService.exe").count();
    assert_eq!(first, 1, "the first finding is in the line");
    let button = button(&window).unwrap();
    click(&mut window, &button);
    assert!(has_containing(&window, "Show "), "and the others in the tab");
}
