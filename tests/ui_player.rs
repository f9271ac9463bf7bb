//! A recording that is played in the window: it can be held, hurried and left.
#![cfg(feature = "gui")]

#[path = "common/window.rs"]
mod driver;

use driver::{Window, settle, wait_for, window_at_work, window_set};
use egui_kittest::kittest::Queryable;
use highwater::app::{Options, Settings};
use highwater::load::Input;

fn played(speed: f64) -> Options {
    Options { inputs: vec![Input::Demo], speed: Some(speed), ..Options::default() }
}

fn has(window: &Window, label: &str) -> bool {
    window.query_all_by_label(label).next().is_some()
}

#[test]
fn what_is_played_can_be_paused_and_brought_to_its_end() {
    let mut window = window_at_work(played(0.5), Settings::default());
    wait_for(&mut window, "Playing at");
    window.get_by_label("Pause").click();
    wait_for(&mut window, "Paused at");
    assert!(has(&window, "Resume") && !has(&window, "Pause"));
    window.get_by_label("Resume").click();
    wait_for(&mut window, "Playing at");
    window.get_by_label("To the End").click();
    settle(&mut window);
    assert!(!has(&window, "Pause") && !has(&window, "Cancel"));
    assert!(has(&window, "View: 0.000 s to 36.060 s (36.060 s)"), "the view has grown with the recording");
}

#[test]
fn what_has_been_played_ends_as_what_is_opened() {
    let texts = |window: &Window| -> Vec<String> {
        let labels = ["MemoryTestApp.exe", "TelemetryService.exe", "View:", "frees of unknown"];
        let all = labels.iter().flat_map(|label| window.query_all_by_label_contains(label));
        all.map(|node| format!("{node:?}")).collect()
    };
    let played = window_set(played(100.0), Settings::default());
    let opened = window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, Settings::default());
    assert!(texts(&opened).len() > 4);
    assert_eq!(texts(&played), texts(&opened));
}

#[test]
fn functions_have_names_while_it_is_played() {
    let mut window = window_at_work(played(3.0), Settings::default());
    wait_for(&mut window, "Playing at");
    window.get_by_label("Search").focus();
    window.step();
    window.get_by_label("Search").type_text("manipulate");
    wait_for(&mut window, "MemoryTestApp.exe!ManipulateTemporaryBuffer");
    assert!(has(&window, "Pause"), "it goes on");
}

#[test]
fn what_was_played_stays_when_it_is_left() {
    let mut window = window_at_work(played(1.0), Settings::default());
    wait_for(&mut window, "Playing at");
    window.get_by_label("Cancel").click();
    settle(&mut window);
    assert!(!has(&window, "Pause") && has(&window, "Sources"));
    assert!(window.query_all_by_label_contains("Only partly loaded").next().is_some());
}
