//! The beginning of a large file is shown while it is being opened, and does not stay if the file needs too much memory.
//!
//! The files have a hole, which takes long to open: Windows would write it.
#![cfg(not(windows))]

use std::io::{Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use egui_kittest::kittest::Queryable;
use highwater::app::{Options, Settings};
use highwater::load::Input;

use crate::driver::{Window, click, has, has_containing, settle, wait_for, window_at_work};
use crate::first_use::generated;

/// Bytes of a buffer, and of the hole.
const BUFFER: usize = 64 << 10;
const HOLE: u64 = 16 << 30;

/// A trace of three programs that needs some 9 MB, with a hole behind its first sixth.
fn with_hole(folder: &tempfile::TempDir) -> Vec<Input> {
    let options = highwater_dev::synth::Options { events: 400_000, live: 30_000, processes: 3, ..Default::default() };
    let [Input::File(path)] = &generated(folder, &options)[..] else { panic!("a file is generated") };
    let bytes = std::fs::read(path).unwrap();
    let begin = bytes.len() / 6 / BUFFER * BUFFER;
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(&bytes[..begin]).unwrap();
    file.seek(SeekFrom::Start(begin as u64 + HOLE)).unwrap();
    file.write_all(&bytes[begin..]).unwrap();
    vec![Input::File(path.clone())]
}

/// Steps until the window has asked what to load, or has shown a source; returns whether it has shown one.
fn has_shown_a_source(window: &mut Window) -> bool {
    let start = Instant::now();
    while !has_containing(window, "This trace needs about ") {
        if window.query_all_by_label_contains("Source app0.exe").next().is_some() {
            return true;
        }
        window.step();
        std::thread::sleep(Duration::from_millis(2));
        assert!(start.elapsed() < Duration::from_secs(60));
    }
    false
}

#[test]
fn the_beginning_is_shown_while_the_file_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window_at_work(Options { inputs: with_hole(&folder), ..Options::default() }, Settings::default());
    assert!(has_shown_a_source(&mut window));
    settle(&mut window);
    assert!(has(&window, "Source app0.exe (6000)") && has(&window, "Source app2.exe (6512)"));
}

#[test]
fn nothing_of_the_beginning_stays_if_the_file_needs_too_much_memory() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { inputs: with_hole(&folder), memory_limit: Some(4 << 20), ..Options::default() };
    let mut window = window_at_work(options, Settings::default());
    assert!(has_shown_a_source(&mut window), "the beginning fits");
    wait_for(&mut window, "This trace needs about ");
    settle(&mut window);
    assert!(!has_containing(&window, "Source app0.exe"));
    click(&mut window, "Load until memory is used up");
    assert!(has(&window, "Source app0.exe (6000)") && has_containing(&window, "Memory used up: loaded up to 0."));
}
