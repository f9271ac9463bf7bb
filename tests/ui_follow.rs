//! A trace that is still written, in the window: it grows, and can be left.
#![cfg(feature = "gui")]
#![allow(clippy::unwrap_used, reason = "helpers of tests say what they expect by unwrapping it")]

mod common;
#[path = "common/window.rs"]
mod driver;

use common::recorded::{LaneFile, Recorder};
use driver::{Window, settle, wait_for, window_at_work};
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Options, Settings};
use highwater::load::Input;

/// Writes a file of a recording as it was after so many seconds.
fn write(file: &LaneFile, folder: &std::path::Path, seconds: usize) {
    let end = file.marks.get(seconds).copied().flatten().unwrap_or(file.bytes.len());
    let bytes = [&file.header, &file.bytes[file.header.len()..end]].concat();
    std::fs::write(file.path(folder), bytes).unwrap();
}

fn follow(folder: &tempfile::TempDir, memory_limit: Option<u64>) -> Window {
    let inputs = vec![Input::File(folder.path().to_owned())];
    window_at_work(Options { inputs, memory_limit, follow: true, ..Options::default() }, Settings::default())
}

/// Gives it time to answer: what is followed does not come to rest.
fn work(window: &mut Window) {
    for _ in 0..50 {
        window.step();
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// What is filtered to, as the tools say it.
fn chip(window: &Window) -> Option<String> {
    let texts = window.root().children_recursive().filter_map(|node| node.value());
    texts.filter(|text| text.starts_with("p40") || text.starts_with("Unknown")).find(|text| text.contains(" \u{203a} "))
}

#[test]
fn a_filter_to_one_allocation_is_one_to_its_place_once_others_are_forgotten() {
    let recorder = Recorder { seed: 8, lanes: 1, seconds: 40, events_a_second: 400, packed: false, ring: None };
    let (files, folder) = (recorder.record(), tempfile::tempdir().unwrap());
    write(&files[0], folder.path(), 6);
    let mut window = follow(&folder, Some(220_000));
    wait_for(&mut window, "Following: 5.");
    wait_for(&mut window, "Source p4004.exe: Tracker 0x77");
    window.get_by_label("Source p4004.exe: Tracker 0x77").click();
    work(&mut window);
    window.get_by_label("Expand Impacting").click();
    work(&mut window);
    let is_block = |node: &egui_kittest::Node<'_>| node.value().is_some_and(|text| text.starts_with("0x"));
    // The addresses have a column of their own, too.
    let blocks = window.root().children_recursive().filter(is_block).filter(|node| node.rect().left() < 700.0);
    blocks.last().unwrap().click();
    work(&mut window);
    window.get_by_label("Filter to Selection").click();
    work(&mut window);
    assert!(chip(&window).unwrap().contains("(no stack recorded) \u{203a} 0x"), "{:?}", chip(&window));
    write(&files[0], folder.path(), 40);
    wait_for(&mut window, "Closed allocations before");
    wait_for(&mut window, "Following: 39.");
    let chip = chip(&window).unwrap();
    assert!(chip.ends_with("(no stack recorded)"), "{chip}");
    assert!(window.query_all_by_label("Size *").next().is_some(), "some that were there are forgotten");
}

#[test]
fn a_filter_stays_that_of_its_process_when_all_is_loaded_anew() {
    let recorder = Recorder { seed: 1, lanes: 3, seconds: 12, events_a_second: 60, packed: false, ring: None };
    let files = recorder.record();
    for pid in [4000, 4004, 4008] {
        let folder = tempfile::tempdir().unwrap();
        // What names the processes comes too late.
        files[1..].iter().for_each(|file| write(file, folder.path(), 9));
        let mut window = follow(&folder, None);
        let source = format!("Source Unknown ({pid}): 0x1d0000");
        wait_for(&mut window, &source);
        window.get_by_label_contains(&source).click();
        work(&mut window);
        let heap = "\u{203a} Windows NT heap 0x1d0000";
        let before = chip(&window).unwrap();
        assert!(before.starts_with(&format!("Unknown ({pid}) {heap}")), "{before}");
        files.iter().for_each(|file| write(file, folder.path(), 12));
        wait_for(&mut window, &format!("p{pid}.exe"));
        window.get_by_label("Stop Following").click();
        settle(&mut window);
        let after = chip(&window).unwrap();
        assert!(after.starts_with(&format!("p{pid}.exe {heap}")), "{before} became {after}");
    }
}

#[test]
fn what_is_followed_grows_and_can_be_left() {
    let recorder = Recorder { seed: 1, lanes: 2, seconds: 9, events_a_second: 60, packed: false, ring: None };
    let folder = tempfile::tempdir().unwrap();
    let files = recorder.record();
    let write_all = |seconds: usize| files.iter().for_each(|file| write(file, folder.path(), seconds));
    write_all(5);
    // A folder is followed without being asked to.
    let inputs = vec![Input::File(folder.path().to_owned())];
    let mut window = window_at_work(Options { inputs, ..Options::default() }, Settings::default());
    wait_for(&mut window, "Following: 4.0 s");
    write_all(7);
    wait_for(&mut window, "Following: 6.0 s");
    assert!(window.query_all_by_label_contains("p4000.exe").next().is_some());
    window.get_by_label("Stop Following").click();
    settle(&mut window);
    assert!(window.query_all_by_label_contains("Following").next().is_none());
    let view = window.query_all_by_label_contains("View: 0.000 s to 7.98").next();
    assert!(view.is_some(), "all that was there, and the view has grown with it");
}
