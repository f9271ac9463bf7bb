//! A trace that needs more memory than there is: what is offered, and what is loaded then.

use eframe::egui;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Options, Settings};

use crate::driver::{Window, click, has, has_containing, settle, show_tab, window_set};
use crate::first_use::generated;

/// A window on a trace of three programs that needs some 9 MB, where 4 may be used.
fn too_large(folder: &tempfile::TempDir) -> Window {
    let options = highwater_dev::synth::Options { events: 400_000, live: 30_000, processes: 3, ..Default::default() };
    let inputs = generated(folder, &options);
    window_set(Options { inputs, memory_limit: Some(4 << 20), ..Options::default() }, Settings::default())
}

fn ticked(window: &Window, name: &str) -> Option<bool> {
    let node = window.query_by_role_and_label(egui::accesskit::Role::CheckBox, name)?;
    Some(node.accesskit_node().toggled() == Some(egui::accesskit::Toggled::True))
}

fn tick(window: &mut Window, name: &str) {
    window.get_by_role_and_label(egui::accesskit::Role::CheckBox, name).click();
    settle(window);
}

/// What the selection needs, as the dialog says.
fn selected(window: &Window) -> String {
    window.get_by_label_contains("Selected: about ").value().unwrap()
}

#[test]
fn a_trace_that_needs_too_much_memory_is_offered_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = too_large(&folder);
    assert!(has_containing(&window, "This trace needs about ") && has_containing(&window, "the limit is 4 MB"));
    let processes = ["app0.exe (6000)", "app1.exe (6256)", "app2.exe (6512)"];
    for name in processes.into_iter().chain(["Other processes", "Windows NT heaps", "Custom trackers", "Call stacks"]) {
        assert_eq!(ticked(&window, name), Some(true), "{name}");
    }
    let all = selected(&window);
    assert!(all.contains("too much"), "{all}");
    tick(&mut window, processes[0]);
    let two = selected(&window);
    tick(&mut window, processes[2]);
    let one = selected(&window);
    assert!(two != all && one != two && !one.contains("too much"), "{all}, {two}, {one}");
    tick(&mut window, "Call stacks");
    let bare = selected(&window);
    assert!(bare != one, "{one}, {bare}");
    tick(&mut window, "Call stacks");
    click(&mut window, "Load selection");
    assert!(!has_containing(&window, "the limit is "), "the dialog is gone");
    assert!(has(&window, "Source app1.exe (6256)"));
    assert!(!has(&window, "Source app0.exe (6000)") && !has(&window, "Source app2.exe (6512)"));
    assert!(has_containing(&window, "Only a part was loaded"), "the status says so");
    show_tab(&mut window, "Trace");
    assert!(has_containing(&window, "all processes but app0.exe (6000), app2.exe (6512)"));
}

#[test]
fn a_trace_can_be_loaded_until_memory_is_used_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = too_large(&folder);
    click(&mut window, "Load until memory is used up");
    assert!(has(&window, "Source app0.exe (6000)") && has(&window, "Source app2.exe (6512)"));
    assert!(has_containing(&window, "Memory used up: loaded up to 0."));
    show_tab(&mut window, "Trace");
    assert!(has_containing(&window, "the trace ends there"));
}

#[test]
fn the_offer_can_be_declined() {
    let folder = tempfile::tempdir().unwrap();
    for by_key in [false, true] {
        let mut window = too_large(&folder);
        if by_key {
            window.key_press(egui::Key::Escape);
            settle(&mut window);
        } else {
            click(&mut window, "Cancel");
        }
        assert!(has(&window, "Demo trace"), "the start page is back");
        assert!(!has_containing(&window, "the limit is "));
        click(&mut window, "Demo trace");
        assert!(has(&window, "Source MemoryTestApp.exe (4660)"), "what is small opens at once");
    }
}

#[test]
fn nothing_selected_cannot_be_loaded_and_many_processes_can_be_searched() {
    let folder = tempfile::tempdir().unwrap();
    let options = highwater_dev::synth::Options { events: 200_000, live: 3_000, processes: 12, ..Default::default() };
    let inputs = generated(&folder, &options);
    let mut window = window_set(Options { inputs, memory_limit: Some(1 << 20), ..Options::default() }, Settings::default());
    click(&mut window, "No processes");
    assert_eq!((ticked(&window, "app0.exe (6000)"), ticked(&window, "Other processes")), (Some(false), Some(false)));
    assert!(window.get_by_label("Load selection").accesskit_node().is_disabled());
    window.get_by_label("Search processes").focus();
    window.step();
    window.get_by_label("Search processes").type_text("APP11");
    settle(&mut window);
    assert_eq!(ticked(&window, "app0.exe (6000)"), None, "only what was searched is listed");
    tick(&mut window, "app11.exe (8816)");
    click(&mut window, "Load selection");
    assert!(has(&window, "Source app11.exe (8816)") && !has(&window, "Source app0.exe (6000)"));
}

#[test]
fn the_limit_of_memory_is_a_setting_and_an_option_overrules_it() {
    let folder = tempfile::tempdir().unwrap();
    let options = highwater_dev::synth::Options { events: 400_000, live: 30_000, processes: 3, ..Default::default() };
    let inputs = generated(&folder, &options);
    let settings = || {
        let mut settings = Settings::default();
        settings.memory_limit_mb = Some(4);
        settings
    };
    let asks = |options: Options| has_containing(&window_set(options, settings()), "the limit is 4 MB");
    assert!(asks(Options { inputs: inputs.clone(), ..Options::default() }));
    assert!(!asks(Options { inputs, memory_limit: Some(1 << 30), ..Options::default() }));

    let mut window = window_set(Options::default(), settings());
    click(&mut window, "View");
    window.get_by_label_contains("Memory for a trace").click();
    settle(&mut window);
    let automatic = "Three quarters of the machine's (";
    let is_on = |window: &Window, label: &str| {
        window.get_by_label_contains(label).accesskit_node().toggled() == Some(egui::accesskit::Toggled::True)
    };
    assert!(is_on(&window, "At most") && !is_on(&window, automatic));
    window.get_by_label_contains(automatic).click();
    settle(&mut window);
    assert!(is_on(&window, automatic));
}
