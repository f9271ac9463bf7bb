//! Lines of source files open in the user's editor.

use std::path::Path;

use crate::driver::{Window, click, give, has_containing, menu, press, settle, window_set};
use eframe::egui;
use egui_kittest::kittest::Queryable;
use highwater::app::{Options, Settings};
use highwater::editor::{Editor, FolderMap, SourceSettings};
use highwater::load::Input;

const LEAK: &str = "MemoryTestApp.exe!Main \u{203a} InnerLoopOperation";

/// The demo with the leak selected; an "editor" that copies the file to one called as the line.
fn window(folder: &Path) -> Window {
    let here = folder.to_str().unwrap();
    let folders = vec![FolderMap { from: r"c:\memorytestapp".to_owned(), to: here.to_owned() }];
    let command = format!("cp {{file}} \"{here}/line {{line}}\"");
    let mut settings = Settings::default();
    settings.sources = SourceSettings { editor: Editor::Own, command, folders };
    let mut window = window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, settings);
    window.get_by_label_contains("Finding MemoryTestApp.exe: steady growth of 1.25 KB/s in InnerLoopOperation").click();
    settle(&mut window);
    window
}

#[cfg(unix)] // where there is a program that copies
#[test]
fn the_line_of_a_frame_opens_in_the_editor() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window(folder.path());
    std::fs::write(folder.path().join("main.cpp"), "int main() {}").unwrap();
    menu(&mut window, LEAK, "Open main.cpp:48");
    let start = std::time::Instant::now();
    while !folder.path().join("line 48").is_file() {
        assert!(start.elapsed().as_secs() < 60, "nobody opened it");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn where_there_is_no_such_file_it_is_said_and_the_user_can_say_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window(folder.path());
    menu(&mut window, LEAK, "Open main.cpp:48");
    assert!(has_containing(&window, "main.cpp is not on this machine as"));
    give(&mut window, "Source files");
    assert!(window.query_by_label("Visual Studio Code").is_some());
    click(&mut window, "Add a folder");
    click(&mut window, "Rider");
    assert_eq!(window.query_all_by_label("\u{d7}").count(), 2, "one for each folder");
    press(&mut window, egui::Modifiers::NONE, egui::Key::Escape);
    assert!(window.query_by_label("Visual Studio Code").is_none());
}

#[test]
fn the_details_of_a_frame_show_its_source_with_what_it_holds_beside_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (1..=60).map(|line| format!("    statement_{line}();\n")).collect();
    std::fs::write(folder.path().join("main.cpp"), text).unwrap();
    let mut window = window(folder.path());
    click(&mut window, "Details");
    assert!(has_containing(&window, "48      statement_48();"));
    assert!(has_containing(&window, "+42.50 KB 48 "), "its bytes stand beside it");
    assert!(has_containing(&window, "statement_44") && has_containing(&window, "statement_52"));
    assert!(!has_containing(&window, "statement_43") && !has_containing(&window, "statement_53"));
}

#[test]
fn a_file_that_is_too_short_is_another_version_and_one_that_is_missing_is_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window(folder.path());
    click(&mut window, "Details");
    assert!(has_containing(&window, "main.cpp is not on this machine as"));
    std::fs::write(folder.path().join("main.cpp"), "int main() {}\n").unwrap();
    // Whoever says where folders are wants to see what comes of it.
    give(&mut window, "Source files");
    click(&mut window, "Rider");
    press(&mut window, egui::Modifiers::NONE, egui::Key::Escape);
    assert!(has_containing(&window, "has no line 48: it is another version of it"));
}
