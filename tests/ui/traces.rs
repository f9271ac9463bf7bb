//! Several traces are open at once, each behind a tab, with all that was done in it.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use crate::common::packed::zip;
use crate::driver::{Window, click, dropped, has_containing, press, settle, wait_for, window_of, window_set};
use eframe::egui::accesskit::Toggled;
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Options, Settings};
use highwater::etl::SessionHeader;
use highwater::etl::write::Writer;
use highwater::events::encode::RecordWriter;
use highwater::events::{Event, Record};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::units::{Layer, Pid, Tid};
use highwater_dev::synth::{self, generate};
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
    assert!(has_containing(&window, "Learn with the demo trace"), "the start page");
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
    assert!(is_in_front(&roomy, "other.etl") && !has_containing(&roomy, "Choose what to load."), "both fit");
    let mut narrow = window_set(limit(64 << 10), Settings::default());
    open(&mut narrow, &path);
    assert!(has_containing(&narrow, "Choose what to load."), "the other is offered in part");
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
    assert!(has_containing(&window, "Change"), "the comparison is in sight");
}

/// A small file of a boot of the machine, `zero` seconds later than another.
fn of_boot(zero: i64) -> Vec<u8> {
    const SECOND: i64 = 10_000_000;
    let header = SessionHeader {
        start_ticks: SECOND,
        start_time: 134_116_992_000_000_000 + (zero + 1) * SECOND,
        ..SessionHeader::default()
    };
    let mut writer = RecordWriter::new(Writer::new(Cursor::new(Vec::new()), header).unwrap());
    let event = Event::Alloc { layer: Layer::Heap, heap: 0x10_0000, address: 0x1000, size: 1 << 20 };
    writer.put(0, &Record { time: 2 * SECOND, pid: Pid(7), tid: Tid(8), event }, &[]).unwrap();
    writer.finish().unwrap().into_inner()
}

/// Two files of one boot, and one of another.
fn two_captures() -> (TempDir, [PathBuf; 3]) {
    let folder = tempfile::tempdir().unwrap();
    let files = [("one.etl", 0), ("two.etl", 0), ("later.etl", 5_000)].map(|(name, zero)| {
        let path = folder.path().join(name);
        std::fs::write(&path, of_boot(zero)).unwrap();
        path
    });
    (folder, files)
}

const TWO_CAPTURES: &str = "These files belong to 2 recordings, each in its own tab: later.etl was recorded in another boot";

fn assert_two_tabs(window: &Window) {
    assert!(is_in_front(window, "one.etl + two.etl") && !is_in_front(window, "later.etl"), "files of one capture are one trace");
    assert_eq!(
        window.query_all_by_label_contains("Close ").filter(|n| n.accesskit_node().label().unwrap().ends_with(".etl")).count(),
        2
    );
    assert!(has_containing(window, TWO_CAPTURES));
}

#[test]
fn the_trace_that_was_recorded_first_is_a_whichever_is_open_and_the_user_can_exchange_them() {
    let (_folder, [one, _, later]) = two_captures();
    for (front, other) in [(&one, &later), (&later, &one)] {
        let mut window = window_of(vec![Input::File(front.clone())]);
        let context = window.ctx.clone();
        window.state_mut().open_comparison(&context, vec![Input::File(other.clone())]);
        wait_for(&mut window, "Swap");
        settle(&mut window);
        assert!(has_containing(&window, "A one.etl") && has_containing(&window, "B later.etl"), "{front:?}");
        let ours = if front == &one { "A" } else { "B" };
        window.get_by_label("Unknown (7)").click_secondary();
        settle(&mut window);
        let offered = |side: &str| has_containing(&window, &format!("Select {side} on the graph"));
        assert!(["A", "B"].into_iter().all(|side| offered(side) == (side == ours)), "the graph is of the open trace");
        press(&mut window, Modifiers::NONE, Key::Escape);
        click(&mut window, "Swap");
        assert!(has_containing(&window, "A later.etl") && has_containing(&window, "B one.etl"), "{front:?}");
    }
}

#[test]
fn files_of_several_captures_open_as_tabs_and_are_offered_to_be_compared() {
    let (_folder, [one, two, later]) = two_captures();
    let mut window = window_of([&one, &later, &two].map(|path| Input::File(path.clone())).to_vec());
    settle(&mut window);
    assert_two_tabs(&window);
    click(&mut window, "Compare them");
    assert!(is_in_front(&window, "later.etl") && !has_containing(&window, TWO_CAPTURES), "the offer is taken");
    assert!(
        has_containing(&window, "A one.etl + two.etl") && has_containing(&window, "Change"),
        "the first is what it is held against"
    );

    // The same again, dropped: what is open comes to the front, and nothing opens twice.
    for path in [&one, &later, &two] {
        window.input_mut().dropped_files.push(dropped(path));
    }
    settle(&mut window);
    assert_two_tabs(&window);
    click(&mut window, "Close bar");
    assert!(!has_containing(&window, TWO_CAPTURES));
}

#[test]
fn traces_of_several_captures_in_one_archive_open_as_tabs() {
    let (folder, files) = two_captures();
    let path = folder.path().join("all.zip");
    let bytes = files.map(|file| std::fs::read(file).unwrap());
    let members = ["one.etl", "two.etl", "later.etl"].into_iter().zip(bytes.iter().map(Vec::as_slice));
    std::fs::write(&path, zip(&members.collect::<Vec<_>>(), &[zip::CompressionMethod::Deflated])).unwrap();
    let mut window = window_of(vec![Input::File(path)]);
    settle(&mut window);
    assert!(is_in_front(&window, "all.zip!one.etl + all.zip!two.etl") && !is_in_front(&window, "all.zip!later.etl"));
    assert!(has_containing(&window, "belong to 2 recordings"));
    click(&mut window, "Trace all.zip!later.etl");
    assert!(has_containing(&window, "Source "), "each is a trace of its own");
}
