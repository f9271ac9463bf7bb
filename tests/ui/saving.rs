//! Saving from the window where the system shows no dialog: nothing that is open is written over, however it is named, and
//! another file only if the user says so.
#![cfg(not(any(windows, target_os = "macos")))] // there the system shows its dialog

use std::path::{Path, PathBuf};

use crate::driver::{Window, click, give, has, has_containing, press, settle, wait_for, window_of};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::load::Input;
use highwater_dev::synth::{self, generate};
use tempfile::TempDir;

/// A small trace, with another name in another folder.
fn trace() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.etl");
    let options = synth::Options { events: 3_000, distinct_stacks: 50, live: 300, ..synth::Options::default() };
    generate(&options, std::fs::File::create(&path).unwrap()).unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let link = folder.path().join("sub/other.csv");
    std::fs::hard_link(&path, &link).unwrap();
    (folder, path, link)
}

/// Asks for the table as a file, and types a path.
fn export(window: &mut Window, file: &Path) {
    give(window, "table: export as csv");
    wait_for(window, "Path");
    enter(window, file);
}

fn enter(window: &mut Window, file: &Path) {
    window.get_by_label("Path").type_text(file.to_str().unwrap());
    settle(window);
    press(window, Modifiers::NONE, Key::Enter);
}

#[test]
fn a_trace_that_is_open_is_not_written_over_by_an_export_of_it_or_of_another() {
    let (folder, path, link) = trace();
    let before = std::fs::read(&path).unwrap();
    let mut window = window_of(vec![Input::File(path.clone())]);
    for name in [&path, &link, &folder.path().join("sub/../game.etl")] {
        export(&mut window, name);
        assert!(has_containing(&window, "this file is read; name another to write to"), "{}", name.display());
        assert!(has(&window, "Path"), "another can be typed at once");
        press(&mut window, Modifiers::NONE, Key::Escape);
        assert!(!has(&window, "Path"));
    }
    // Nor from the tab of another trace.
    press(&mut window, Modifiers::COMMAND | Modifiers::SHIFT, Key::O);
    enter(&mut window, &Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo.etl"));
    assert!(has_containing(&window, "Trace demo.etl"));
    export(&mut window, &path);
    assert!(has_containing(&window, "this file is read"));
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert_eq!((std::fs::read(&path).unwrap(), std::fs::read(&link).unwrap()), (before.clone(), before));
    // Once it is closed it is a file like any other.
    click(&mut window, "Close game.etl");
    export(&mut window, &path);
    assert!(has(&window, "Replace the file?"));
}

#[test]
fn a_file_that_is_there_is_asked_about_and_stays_unless_the_user_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (named, file) = (folder.path().join("table"), folder.path().join("table.csv"));
    std::fs::write(&file, "mine").unwrap();
    let mut window = window_of(vec![Input::Demo]);
    // The ending comes before the question.
    export(&mut window, &named);
    assert!(has(&window, "Replace the file?") && has_containing(&window, "table.csv is there already"));
    assert!(window.get_by_label("Cancel").accesskit_node().is_focused(), "Enter leaves it alone");
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert!(!has(&window, "Replace the file?") && std::fs::read(&file).unwrap() == b"mine");
    assert!(has(&window, "Path"), "for another name");
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert!(has(&window, "Replace the file?"), "the path is still there");
    press(&mut window, Modifiers::NONE, Key::Escape);
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(!has(&window, "Path") && std::fs::read(&file).unwrap() == b"mine");
    export(&mut window, &file);
    click(&mut window, "Replace");
    assert!(std::fs::read_to_string(&file).unwrap().contains("MemoryTestApp.exe"));
    // What is not there is written without a word.
    export(&mut window, &folder.path().join("new.csv"));
    assert!(!has(&window, "Replace the file?") && folder.path().join("new.csv").is_file());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no draft stays");
}

#[test]
fn the_dialog_for_saving_speaks_of_saving() {
    let mut window = window_of(vec![Input::Demo]);
    give(&mut window, "table: export as csv");
    wait_for(&mut window, "Path");
    assert!(has_containing(&window, "Type where to save it:") && has_containing(&window, "gets .csv"));
    assert!(!has_containing(&window, "Files can also be dropped") && !has_containing(&window, "Type or paste"));
    press(&mut window, Modifiers::NONE, Key::Escape);
    press(&mut window, Modifiers::COMMAND | Modifiers::SHIFT, Key::O);
    assert!(has_containing(&window, "Files can also be dropped") && !has_containing(&window, "where to save it"));
}
