//! A trace that is still written, in the window: it grows, and can be left.

use crate::common::recorded::Recorder;
use crate::driver::{settle, wait_for, window_at_work};
use egui_kittest::kittest::Queryable;
use highwater::app::{Options, Settings};
use highwater::load::Input;

#[test]
fn what_is_followed_grows_and_can_be_left() {
    let recorder = Recorder { seed: 1, lanes: 2, seconds: 9, events_a_second: 60, packed: false, ring: None };
    let folder = tempfile::tempdir().unwrap();
    let files = recorder.record();
    let write = |to: usize| {
        for file in &files {
            let bytes = [&file.header, &file.bytes[file.header.len()..file.marks[to].unwrap()]].concat();
            std::fs::write(file.path(folder.path()), bytes).unwrap();
        }
    };
    write(5);
    // A folder is followed without being asked to.
    let inputs = vec![Input::File(folder.path().to_owned())];
    let mut window = window_at_work(Options { inputs, ..Options::default() }, Settings::default());
    wait_for(&mut window, "Following: 4.0 s");
    write(7);
    wait_for(&mut window, "Following: 6.0 s");
    assert!(window.query_all_by_label_contains("p4000.exe").next().is_some());
    window.get_by_label("Stop Following").click();
    settle(&mut window);
    assert!(window.query_all_by_label_contains("Following").next().is_none());
    let view = window.query_all_by_label_contains("View: 0.000 s to 7.98").next();
    assert!(view.is_some(), "all that was there, and the view has grown with it");
}
