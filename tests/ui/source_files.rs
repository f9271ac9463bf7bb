//! Lines of source files open in the user's editor.

use std::path::Path;

use crate::driver::{Window, click, give, has_containing, menu, press, settle, window_set};
use eframe::egui;
use egui_kittest::kittest::Queryable;
use highwater::app::{Options, Settings};
use highwater::editor::{Editor, FolderMap, SourceSettings};
use highwater::load::Input;

const LEAK: &str = "MemoryTestApp.exe!Main \u{203a} InnerLoopOperation";
/// What starts the program; the demo has no source file for it.
const START: &str = "ntdll.dll!+0x8d70f \u{203a} KERNEL32.DLL!+0x15a8d \u{203a} MemoryTestApp.exe!__scrt_common_main_seh";

/// The demo with the leak selected; an "editor" that copies the file to one called as the line.
fn window(folder: &Path) -> Window {
    let here = folder.to_str().unwrap();
    let folders = vec![FolderMap { from: r"c:\memorytestapp".to_owned(), to: here.to_owned() }];
    let command = format!("cp {{file}} \"{here}/line {{line}}\"");
    let mut settings = Settings::default();
    settings.sources = SourceSettings { editor: Editor::Own, command, folders, ..SourceSettings::default() };
    let mut window = window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, settings);
    window.get_by_label_contains("Finding MemoryTestApp.exe: steady growth of about 1.25 KB/s in InnerLoopOperation").click();
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
    click(&mut window, "All frames");
    menu(&mut window, START, "Open runtime.cpp:28");
    assert!(has_containing(&window, "runtime.cpp is not on this machine as"));
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
    click(&mut window, "All frames");
    click(&mut window, START);
    click(&mut window, "Details");
    assert!(has_containing(&window, "runtime.cpp is not on this machine as"));
    std::fs::write(folder.path().join("runtime.cpp"), "int main() {}\n").unwrap();
    // Whoever says where folders are wants to see what comes of it.
    give(&mut window, "Source files");
    click(&mut window, "Rider");
    press(&mut window, egui::Modifiers::NONE, egui::Key::Escape);
    assert!(has_containing(&window, "has no line 28: it is another version of it"));
}

#[test]
fn the_demo_brings_its_own_source_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window(folder.path());
    click(&mut window, "Details");
    assert!(has_containing(&window, "48      latest = new Sample"), "{:?}", crate::driver::labels(&window));
    assert!(has_containing(&window, "+42.50 KB 48 "));
}

/// A PDB of a real build whose index names this server in place of its own; `None` without the corpus.
#[cfg(feature = "symsrv")]
fn indexed_at(server: &str, corpus: &Path, folder: &Path) -> Option<()> {
    let mut pdb = std::fs::read(corpus.join("softokn3.pdb")).unwrap();
    let theirs = b"HGSERVER=https://hg.mozilla.org/mozilla-central";
    let ours = format!("HGSERVER={server}/");
    let at = pdb.windows(theirs.len()).position(|bytes| bytes == theirs)?;
    pdb[at..at + theirs.len()].fill(b'/');
    pdb[at..at + ours.len()].copy_from_slice(ours.as_bytes());
    std::fs::write(folder.join("softokn3.pdb"), pdb).unwrap();
    Some(())
}

#[cfg(feature = "symsrv")]
#[test]
fn source_files_come_from_the_server_that_symbols_name_once_the_user_allows_it() {
    use crate::common::server::{Reply, Server};
    let Some(corpus) = crate::common::corpus() else { return };
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    indexed_at(&server.url, &corpus, folder.path()).unwrap();
    let text: String = (1..=20_000).map(|line| format!("statement_{line}();\n")).collect();
    server.put("*", Reply::File(text.into_bytes()));
    let records = crate::common::named::story(&corpus);
    let file = folder.path().join("trace.etl");
    std::fs::write(&file, crate::common::trace::trace(crate::common::trace::session(false), &records)).unwrap();
    let given = highwater::app::Given {
        path: Some(folder.path().to_str().unwrap().to_owned()),
        cache: Some(folder.path().join("cache")),
    };
    let mut settings = Settings::default();
    settings.symbols.environment = false;
    settings.open_chains = true;
    let mut window = window_set(Options { inputs: vec![Input::File(file)], symbols: given, ..Options::default() }, settings);
    window.get_by_label("Search").focus();
    window.step();
    window.get_by_label("Search").type_text("RunLoaderOnce");
    settle(&mut window);
    click(&mut window, "softokn3.dll!freebl_RunLoaderOnce");
    click(&mut window, "Details");
    let host = server.url.trim_start_matches("http://");
    assert!(has_containing(&window, &format!("Its symbols say that {host} has it.")), "{:?}", crate::driver::labels(&window));
    assert!(server.asked().is_empty(), "nobody is asked without leave");
    click(&mut window, &format!("Fetch from {host}"));
    let asked = server.asked();
    assert!(asked.len() == 1 && asked[0].contains("/raw-file/1706d4d54ec68fae1280305b70a02cb24c16ff68/"), "{asked:?}");
    assert!(has_containing(&window, "  statement_"), "{:?}", crate::driver::labels(&window));

    // What came is kept, and the server can be forgotten.
    give(&mut window, "Source files");
    assert!(has_containing(&window, "Servers that may be asked for source files"));
    click(&mut window, "\u{d7}");
    press(&mut window, egui::Modifiers::NONE, egui::Key::Escape);
    assert!(has_containing(&window, "  statement_") && server.asked().is_empty());
}
