//! The window for the mapping of providers to trackers: a mapping is tried at once on the open trace.

use std::path::Path;

use crate::driver::{Window, click, give, has, has_containing, settle, wait_for, window_set};
use crate::mapped;
use egui_kittest::kittest::Queryable;
use highwater::app::{Options, Settings};
use highwater::load::Input;

fn window(trace: &str, file: &Path) -> Window {
    let options = Options { inputs: vec![Input::File(trace.into())], trackers: Some(file.to_owned()), ..Options::default() };
    window_set(options, Settings::default())
}

#[test]
fn a_mapping_is_tried_at_once_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, file) = (mapped::trace(folder.path()), folder.path().join("trackers.toml"));
    let mut window = window(&trace, &file);
    assert!(!has_containing(&window, "Frame heap"));
    give(&mut window, "Custom allocators");
    let provider = mapped::PROVIDER.trim_matches(['{', '}']);
    wait_for(&mut window, &format!("Map {provider}"));
    click(&mut window, &format!("Map {provider}"));
    settle(&mut window);
    // The beginning of a mapping can be read, but is not what this provider writes.
    click(&mut window, "Use");
    settle(&mut window);
    assert!(!has_containing(&window, "The trace has no event of the provider"));
    assert!(std::fs::read_to_string(&file).unwrap().contains(provider));

    let type_mapping = |window: &mut Window, text: &str| {
        window.get_by_label("Mapping").focus();
        window.step();
        window.key_press_modifiers(eframe::egui::Modifiers::COMMAND, eframe::egui::Key::A);
        window.step();
        window.get_by_label("Mapping").type_text(text);
        settle(window);
    };
    type_mapping(&mut window, &mapped::mapping("size:u63"));
    click(&mut window, "Use");
    settle(&mut window);
    assert!(has_containing(&window, "line 7"), "the line of the error is told");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("u63"), "what cannot be read is not kept");

    type_mapping(&mut window, &mapped::mapping("size:u64"));
    click(&mut window, "Use");
    wait_for(&mut window, "Source Unknown (4660): Frame heap");
    assert!(!has(&window, "line 7") && !has_containing(&window, "The trace has no event of the provider"));
    let other = mapped::mapping("size:u64").replace("id = ", "id = 4");
    type_mapping(&mut window, &other);
    click(&mut window, "Use");
    wait_for(&mut window, "The trace has no event of the provider");
    assert!(has_containing(&window, " with the ids 41 and 42; its events have the ids 1 and 2."), "the ids are named");
    type_mapping(&mut window, &mapped::mapping("size:u64"));
    click(&mut window, "Use");
    settle(&mut window);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), mapped::mapping("size:u64"));
}

#[test]
fn the_mapping_that_is_kept_holds_from_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, file) = (mapped::trace(folder.path()), folder.path().join("trackers.toml"));
    std::fs::write(&file, mapped::mapping("size:u64")).unwrap();
    let window = window(&trace, &file);
    assert!(has(&window, "Source Unknown (4660): Frame heap"));
}
