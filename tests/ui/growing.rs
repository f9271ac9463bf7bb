//! What the window has chosen of a trace that is still growing, when there is more of it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::driver::{Window, settle, wait_for, window_at_work, window_set};
use eframe::egui;
use eframe::egui::accesskit::Toggled;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Arrangement, Options, Settings};
use highwater::etl::{SessionHeader, write::Writer};
use highwater::events::encode::RecordWriter;
use highwater::events::{Event, ProcessChange, ProcessInfo, Record};
use highwater::load::Input;
use highwater::units::{Layer, Pid, Tid};

/// More heaps than have a line at first.
const HEAPS: u64 = 12;
const LINES: u64 = 8;
const SECOND: i64 = 10_000_000;
const LENGTH: i64 = 60;

/// A trace of two programs in which the heaps that are the largest for most of the time
/// end as the smallest.
fn overtaking(folder: &tempfile::TempDir) -> Vec<Input> {
    ending(folder, |heap| HEAPS - heap)
}

/// A trace of two programs whose heaps end with this many times ten megabytes.
fn ending(folder: &tempfile::TempDir, size: fn(u64) -> u64) -> Vec<Input> {
    let path = folder.path().join("overtaking.etl");
    let mut w = RecordWriter::new(Writer::new(std::fs::File::create(&path).unwrap(), SessionHeader::default()).unwrap());
    let mut tell = |time: i64, pid: u32, event| w.put(0, &Record { time, pid: Pid(pid), tid: Tid(8), event }, &[]).unwrap();
    for pid in [4, 8] {
        let info = ProcessInfo { key: pid.into(), parent: 4, name: format!("p{pid}.exe"), command_line: String::new() };
        tell(1, pid, Event::Process(ProcessChange::Start, Box::new(info)));
    }
    for second in 0..LENGTH {
        for heap in 0..HEAPS {
            let kilobytes = if second < LENGTH - 1 { 1 + heap } else { 10_000 * size(heap) };
            let event =
                Event::Alloc { layer: Layer::Heap, heap: handle(heap), address: 0x100 * second as u64, size: kilobytes << 10 };
            tell(second * SECOND + 2 + heap as i64, pid_of(heap), event);
        }
    }
    w.finish().unwrap();
    vec![Input::File(path)]
}

fn handle(heap: u64) -> u64 {
    0x10_0000 + 0x1_0000 * heap
}

fn pid_of(heap: u64) -> u32 {
    if heap.is_multiple_of(2) { 4 } else { 8 }
}

fn name(heap: u64) -> String {
    format!("Windows NT heap {:#x}", handle(heap))
}

/// Heaps that the sources show as drawn, as far as they are listed.
fn switched_on(window: &Window) -> BTreeSet<u64> {
    let is_on = |heap: &u64| {
        let label = switch_of(*heap);
        let switch = window.query_by_label_contains(&label);
        switch.is_some_and(|switch| switch.accesskit_node().toggled() == Some(Toggled::True))
    };
    (0..HEAPS).filter(is_on).collect()
}

/// Heaps with a line on the graph.
fn drawn(window: &Window) -> BTreeSet<u64> {
    let is_drawn = |&heap: &u64| {
        let label = format!("Line of p{}.exe: {}", pid_of(heap), name(heap));
        window.query_by_label_contains(&label).is_some()
    };
    (0..HEAPS).filter(is_drawn).collect()
}

fn switch_of(heap: u64) -> String {
    format!("Show line of p{}.exe: {}", pid_of(heap), name(heap))
}

fn switch(window: &mut Window, heap: u64) {
    window.get_by_label_contains(&switch_of(heap)).click();
    window.step();
}

/// All lines on one scale.
fn together() -> Settings {
    let mut settings = Settings::default();
    settings.arrangement = Arrangement::Together;
    settings
}

/// A window that plays the trace, as soon as it has ranked all heaps.
fn at_play(folder: &tempfile::TempDir) -> Window {
    let options = Options { inputs: overtaking(folder), speed: Some(4.0), ..Options::default() };
    let mut window = window_at_work(options, together());
    let start = Instant::now();
    while switched_on(&window) != (HEAPS - LINES..HEAPS).collect() {
        window.step();
        std::thread::sleep(Duration::from_millis(2));
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", switched_on(&window));
    }
    wait_for(&mut window, "Playing at");
    window
}

fn to_the_end(window: &mut Window) {
    window.get_by_label("To the End").click();
    settle(window);
}

#[test]
fn the_graph_ends_with_the_lines_that_the_sources_show_the_largest_of_the_whole_trace() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = at_play(&folder);
    to_the_end(&mut window);
    let largest: BTreeSet<u64> = (0..LINES).collect();
    assert_eq!((switched_on(&window), drawn(&window)), (largest.clone(), largest.clone()));
    let opened = window_set(Options { inputs: overtaking(&folder), ..Options::default() }, together());
    assert_eq!((switched_on(&opened), drawn(&opened)), (largest.clone(), largest), "the same as of what is opened at once");
}

#[test]
fn lines_that_were_switched_by_hand_stay_so_and_the_others_are_ranked_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = at_play(&folder);
    switch(&mut window, 9); // off
    switch(&mut window, 2); // on
    switch(&mut window, 1); // on
    switch(&mut window, 1); // and off again
    to_the_end(&mut window);
    let expected: BTreeSet<u64> = [0, 2, 3, 4, 5, 6, 7].into();
    assert_eq!((switched_on(&window), drawn(&window)), (expected.clone(), expected));
    switch(&mut window, 9);
    settle(&mut window);
    assert!(drawn(&window).contains(&9));
}

#[test]
fn all_lines_can_be_switched_off() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window_set(Options { inputs: overtaking(&folder), ..Options::default() }, together());
    (0..LINES).for_each(|heap| switch(&mut window, heap));
    settle(&mut window);
    assert_eq!((switched_on(&window), drawn(&window)), (BTreeSet::new(), BTreeSet::new()));
}

#[test]
fn the_way_back_leads_to_all_of_what_has_grown() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = at_play(&folder);
    let overview = window.get_by_label("Overview of the whole trace").rect();
    let at = |part: f32| egui::pos2(overview.left() + overview.width() * part, overview.center().y);
    window.drag_at(at(0.4));
    window.step();
    window.hover_at(at(0.6));
    window.step();
    window.drop_at(at(0.6));
    window.step();
    to_the_end(&mut window);
    assert!(window.query_by_label_contains("View: 0.000 s").is_none(), "zoomed in");
    window.key_press(egui::Key::Backspace);
    settle(&mut window);
    assert!(window.query_by_label_contains("View: 0.000 s to 59.000 s").is_some());
}

/// The colour of a lane: of the bar before its name.
fn color_of_lane(window: &Window, lane: &str) -> egui::Color32 {
    let rect = window.get_by_label(lane).rect();
    let is_bar = |shape: &egui::Rect| (shape.min - rect.min - egui::vec2(5.0, 5.0)).length() < 1.5 && shape.width() < 4.0;
    let bars = crate::driver::painted(window).into_iter().filter_map(|shape| match shape {
        egui::Shape::Rect(bar) if is_bar(&bar.rect) => Some(bar.fill),
        _ => None,
    });
    bars.last().unwrap_or_else(|| panic!("{lane} has no bar"))
}

#[test]
fn lanes_keep_their_colour_while_the_trace_grows_and_others_overtake_them() {
    const LANES: [&str; 2] = ["Lane p4.exe: Windows NT heaps", "Lane p8.exe: Windows NT heaps"];
    let folder = tempfile::tempdir().unwrap();
    let options = Options { inputs: overtaking(&folder), speed: Some(20.0), ..Options::default() };
    let mut window = window_at_work(options, Settings::default());
    LANES.iter().for_each(|lane| wait_for(&mut window, lane));
    let colors = |window: &Window| LANES.map(|lane| color_of_lane(window, lane));
    let peak = |window: &Window, lane: &str| crate::driver::value_of(window, lane);
    let before = colors(&window);
    assert_ne!(before[0], before[1], "each its own");
    let early = LANES.map(|lane| peak(&window, lane));
    let start = Instant::now();
    while window.query_by_label_contains("Playing at").is_some() && start.elapsed() < Duration::from_millis(600) {
        window.step();
        assert_eq!(colors(&window), before);
        std::thread::sleep(Duration::from_millis(5));
    }
    // Alone, too, and beside each other again.
    for (lane, source, color) in [(LANES[0], "Source p4.exe", before[0]), (LANES[1], "Source p8.exe", before[1])] {
        window.get_all_by_label_contains(source).next().unwrap().click();
        wait_for(&mut window, "Clear filter");
        settle_lanes(&mut window, &LANES, 1);
        assert_eq!(color_of_lane(&window, lane), color, "{lane} alone");
        window.get_by_label("Clear filter").click();
        settle_lanes(&mut window, &LANES, 2);
        assert_eq!(colors(&window), before);
    }
    to_the_end(&mut window);
    assert_ne!(LANES.map(|lane| peak(&window, lane)), early, "it has grown");
    assert_eq!(colors(&window), before);
}

#[test]
fn the_first_heap_keeps_its_colour_when_another_one_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("second.etl");
    let mut w = RecordWriter::new(Writer::new(std::fs::File::create(&path).unwrap(), SessionHeader::default()).unwrap());
    let mut tell = |time: i64, event| w.put(0, &Record { time, pid: Pid(4), tid: Tid(8), event }, &[]).unwrap();
    let info = ProcessInfo { key: 4, parent: 4, name: "p4.exe".to_owned(), command_line: String::new() };
    tell(1, Event::Process(ProcessChange::Start, Box::new(info)));
    for second in 0..LENGTH {
        for heap in 0..if second < LENGTH / 2 { 1 } else { 2 } {
            let event = Event::Alloc { layer: Layer::Heap, heap: handle(heap), address: 0x100 * second as u64, size: 1 << 20 };
            tell(second * SECOND + 2 + heap as i64, event);
        }
    }
    w.finish().unwrap();
    let lines = [format!("Line of {} (default)", name(0)), format!("Line of {}", name(1))];
    let options = Options { inputs: vec![Input::File(path)], speed: Some(20.0), ..Options::default() };
    let mut window = window_at_work(options, together());
    wait_for(&mut window, &lines[0]);
    let color = crate::graph::color_of(&window, &lines[0]);
    assert!(window.query_by_label(&lines[1]).is_none(), "there is only one heap yet");
    wait_for(&mut window, &lines[1]);
    assert_eq!(crate::graph::color_of(&window, &lines[0]), color);
    to_the_end(&mut window);
    assert_eq!(crate::graph::color_of(&window, &lines[0]), color);
    assert_ne!(crate::graph::color_of(&window, &lines[1]), color);
    window.get_by_label("Lanes").click();
    settle(&mut window);
    assert_eq!(crate::graph::color_of(&window, "Lane Windows NT heaps"), color, "the lane of both began with it");
}

/// Steps until so many of these lanes are drawn.
fn settle_lanes(window: &mut Window, lanes: &[&str], count: usize) {
    let start = Instant::now();
    while lanes.iter().filter(|lane| window.query_by_label(lane).is_some()).count() != count {
        window.step();
        std::thread::sleep(Duration::from_millis(2));
        assert!(start.elapsed() < Duration::from_secs(60), "not {count} lanes");
    }
}

#[test]
fn lanes_keep_their_order_when_a_replay_ends() {
    const LANES: [&str; 2] = ["Lane p4.exe: Windows NT heaps", "Lane p8.exe: Windows NT heaps"];
    let folder = tempfile::tempdir().unwrap();
    let inputs = ending(&folder, |heap| 1 + 9 * u64::from(pid_of(heap) == 8));
    let is_first = |window: &Window| LANES.map(|lane| window.get_by_label(lane).rect().top()).is_sorted();
    let options = Options { inputs: inputs.clone(), speed: Some(4.0), ..Options::default() };
    let mut window = window_at_work(options, Settings::default());
    LANES.iter().for_each(|lane| wait_for(&mut window, lane));
    assert!(is_first(&window), "p4.exe has memory first");
    to_the_end(&mut window);
    assert!(is_first(&window), "although p8.exe has more now");
    let mut opened = window_set(Options { inputs, ..Options::default() }, Settings::default());
    settle(&mut opened);
    assert!(!is_first(&opened), "a trace that is opened at once has the larger program first");
}
