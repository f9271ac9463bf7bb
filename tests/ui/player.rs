//! A recording that is played in the window: it can be held, hurried and left.

use std::time::{Duration, Instant};

use crate::driver::{Window, has, settle, wait_for, window_at_work, window_set};
use eframe::egui;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Options, Settings};
use highwater::load::Input;

fn played(speed: f64) -> Options {
    Options { inputs: vec![Input::Demo], speed: Some(speed), ..Options::default() }
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
        // Not the lanes, which keep the order that they had while it was played.
        let labels = ["Source ", "MemoryTestApp.exe (4660)", "TelemetryService.exe (5120)", "View:", "frees of unknown"];
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
    wait_for(&mut window, "\u{203a} ManipulateTemporaryBuffer");
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

/// The last text of the table's line of that name.
fn last_of_line(window: &Window, name: &str) -> Option<String> {
    let top = window.get_by_label("Search").rect().bottom();
    let labels = window.root().children_recursive().filter(|n| n.accesskit_node().role() == egui::accesskit::Role::Label);
    let texts: Vec<(egui::Rect, String)> = labels
        .filter(|node| node.rect().top() > top)
        .filter_map(|node| Some((node.rect(), node.value().or_else(|| node.accesskit_node().label())?)))
        .collect();
    let (line, _) = texts.iter().find(|(_, text)| text == name)?;
    let beside = texts.iter().filter(|(rect, _)| (rect.center().y - line.center().y).abs() < 3.0);
    beside.max_by(|a, b| a.0.left().total_cmp(&b.0.left())).map(|(_, text)| text.clone())
}

#[test]
fn peaks_of_heaps_and_layers_are_there_while_it_is_played_and_those_of_deeper_lines_at_the_end() {
    let mut window = window_at_work(played(8.0), Settings::default());
    wait_for(&mut window, "Playing at");
    let (heap, class) = ("Windows NT heap 0x2a40000", "Grew (Impacting)");
    wait_for(&mut window, class);
    window.get_by_label("Pause").click();
    wait_for(&mut window, "Paused at");
    for name in ["Commit (VirtualAlloc)", "Windows NT heaps", heap] {
        // What was published last may just be asked for.
        let start = Instant::now();
        while last_of_line(&window, name).is_none() && start.elapsed() < Duration::from_secs(60) {
            window.step();
        }
        let peak = last_of_line(&window, name).unwrap();
        assert!(peak.ends_with('B') && peak != "0 B", "{name}: {peak}");
    }
    assert_eq!(last_of_line(&window, class).unwrap(), "\u{2013}");
    window.get_by_label("Resume").click();
    wait_for(&mut window, "Playing at");
    window.get_by_label("To the End").click();
    settle(&mut window);
    assert_eq!(last_of_line(&window, heap).unwrap(), "1001.42 KB");
    assert_ne!(last_of_line(&window, class).unwrap(), "\u{2013}");
}
