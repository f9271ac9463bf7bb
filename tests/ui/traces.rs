//! Several traces are open at once, each behind a tab, with all that was done in it.

use std::path::{Path, PathBuf};

use crate::driver::{Window, click, has_containing, press, settle, window_of, window_set};
use eframe::egui::accesskit::Toggled;
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Options, Settings};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::synth::{self, generate};
use tempfile::TempDir;

/// A small trace that is not the demo.
fn other() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.etl");
    let options = synth::Options { events: 5_000, distinct_stacks: 50, live: 500, ..synth::Options::default() };
    generate(&options, std::fs::File::create(&path).unwrap()).unwrap();
    (folder, path)
}

/// Opens a file by its path.
fn open(window: &mut Window, file: &Path) {
    press(window, Modifiers::COMMAND | Modifiers::SHIFT, Key::O);
    window.get_by_label("Path").type_text(file.to_str().unwrap());
    settle(window);
    press(window, Modifiers::NONE, Key::Enter);
}

fn is_in_front(window: &Window, name: &str) -> bool {
    window.get_by_label(&format!("Trace {name}")).accesskit_node().toggled() == Some(Toggled::True)
}

#[test]
fn a_second_trace_opens_behind_a_tab_and_each_keeps_what_was_done_in_it() {
    let (_folder, path) = other();
    let mut window = window_of(vec![Input::Demo]);
    assert!(!has_containing(&window, "Trace Demo trace"), "one trace needs no tab");
    click(&mut window, "Source TelemetryService.exe (5120)");
    assert!(has_containing(&window, "Remove filter TelemetryService.exe"));

    open(&mut window, &path);
    assert!(is_in_front(&window, "other.etl") && !is_in_front(&window, "Demo trace"));
    assert!(
        !has_containing(&window, "Source TelemetryService.exe") && !has_containing(&window, "Remove filter"),
        "it has none of the other's"
    );

    click(&mut window, "Trace Demo trace");
    assert!(has_containing(&window, "Remove filter TelemetryService.exe"), "as it was left");
    assert!(has_containing(&window, "Grew (Impacting)"), "with its table");

    press(&mut window, Modifiers::COMMAND, Key::Tab);
    assert!(is_in_front(&window, "other.etl"));
    press(&mut window, Modifiers::COMMAND, Key::W);
    assert!(!has_containing(&window, "Trace other.etl"), "closed; one trace needs no tab");
    assert!(has_containing(&window, "Remove filter TelemetryService.exe"));
    press(&mut window, Modifiers::COMMAND, Key::W);
    assert!(has_containing(&window, "What do you want to know?"), "the start page");
}

#[test]
fn a_file_that_is_open_is_opened_in_its_tab() {
    let (_folder, path) = other();
    let mut window = window_of(vec![Input::Demo]);
    open(&mut window, &path);
    click(&mut window, "Trace Demo trace");
    open(&mut window, &path);
    assert!(is_in_front(&window, "other.etl"));
    assert_eq!(window.query_all_by_label_contains("Close other.etl").count(), 1, "no second tab");
    click(&mut window, "Close Demo trace");
    assert!(!has_containing(&window, "Trace other.etl"), "one trace needs no tab");
    assert!(has_containing(&window, "Source "), "and it is still open");
}

#[test]
fn what_the_others_hold_is_not_there_for_a_trace() {
    let (_folder, path) = other();
    let demo = load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap();
    let limit =
        |more: u64| Options { inputs: vec![Input::Demo], memory_limit: Some(demo.load_bytes + more), ..Options::default() };
    let mut roomy = window_set(limit(256 << 20), Settings::default());
    open(&mut roomy, &path);
    assert!(is_in_front(&roomy, "other.etl") && !has_containing(&roomy, "What shall be loaded?"), "both fit");
    let mut narrow = window_set(limit(64 << 10), Settings::default());
    open(&mut narrow, &path);
    assert!(has_containing(&narrow, "What shall be loaded?"), "the other is offered in part");
    click(&mut narrow, "Cancel");
    assert!(
        !has_containing(&narrow, "Trace other.etl") && has_containing(&narrow, "Source TelemetryService.exe"),
        "nothing stays of a tab without a trace"
    );
}

#[test]
fn another_open_trace_is_compared_with() {
    let (_folder, path) = other();
    let mut window = window_of(vec![Input::File(path)]);
    press(&mut window, Modifiers::COMMAND, Key::P);
    window.get_by_label("Command").type_text("demo trace");
    settle(&mut window);
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert!(is_in_front(&window, "Demo trace"));
    press(&mut window, Modifiers::COMMAND, Key::P);
    window.get_by_label("Command").type_text("compare with other");
    settle(&mut window);
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert!(has_containing(&window, "A other.etl") || has_containing(&window, "other.etl"), "its name");
    assert!(has_containing(&window, "Delta"), "the comparison is in sight");
}
