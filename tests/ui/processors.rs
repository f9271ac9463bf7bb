//! What processors ran, beside what was allocated: by the names of widgets.

use crate::driver::{Window, click, give, has_containing, labels, settle, window_set};
use eframe::egui;
use egui_kittest::kittest::Queryable;
use highwater::app::{Options, Settings};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::query::process_samples;
use highwater::units::{Interval, Ticks};

fn demo() -> Window {
    window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, Settings::default())
}

/// Samples of the demo's program between two moments, in seconds.
fn expected(from: f64, to: f64) -> u64 {
    let trace = load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap();
    let at = |seconds: f64| Ticks((seconds * trace.clock.frequency as f64) as i64);
    let all = process_samples(&trace, Interval { from: at(from), to: at(to) });
    all.iter().find(|of| of.process.is_some_and(|p| trace.process(p).name == "MemoryTestApp.exe")).map_or(0, |of| of.count)
}

#[test]
fn the_processes_that_ran_are_listed_and_one_is_drawn() {
    let mut window = demo();
    // The list has room for all its columns.
    window.set_size(egui::vec2(1900.0, 1000.0));
    settle(&mut window);
    give(&mut window, "tabs: cpu");
    let all = expected(0.0, 1e3);
    assert!(all > 1_000);
    let count = highwater::format::count(all);
    assert!(labels(&window).contains(&count), "{count} in {:?}", labels(&window));
    assert!(has_containing(&window, &format!("{count} CPU samples in this interval, one every 10.000 ms per CPU.")));
    let graph = window.get_by_label("Flame graph of MemoryTestApp.exe").rect();
    // Everything, ntdll, KERNEL32, __scrt_common_main_seh, Main.
    window.hover_at(egui::pos2(graph.left() + 40.0, graph.top() + 18.0 * 3.0 + 9.0));
    settle(&mut window);
    assert!(has_containing(&window, "MemoryTestApp.exe!") && has_containing(&window, "of a CPU"), "{:?}", labels(&window));
    assert!(has_containing(&window, "In the function itself: "), "{:?}", labels(&window));
}

#[test]
fn side_by_side_both_flame_graphs_follow_one_interval() {
    let mut window = demo();
    window.set_size(egui::vec2(1900.0, 1200.0));
    settle(&mut window);
    give(&mut window, "layout flame graphs");
    click(&mut window, "Source MemoryTestApp.exe: Commit (VirtualAlloc)");
    let both = ["Flame graph of Commit (VirtualAlloc)", "Flame graph of MemoryTestApp.exe"];
    let [memory, ran] = both.map(|label| window.get_by_label(label).rect());
    assert!(memory.right() < ran.left(), "{memory:?} {ran:?}");
    let graph = window.get_by_label("Outstanding size over time").rect();
    let at = |seconds: f32| egui::pos2(graph.left() + graph.width() * seconds / 36.06, graph.center().y);
    window.drag_at(at(10.0));
    window.step();
    window.hover_at(at(20.0));
    window.step();
    window.drop_at(at(20.0));
    settle(&mut window);
    // What was selected is a pixel or so from what was meant.
    let (least, most) = (expected(10.3, 19.7), expected(9.7, 20.3));
    let told = labels(&window).into_iter().find_map(|label| {
        let (count, _) = label.split_once(" CPU samples in this interval")?;
        count.replace(',', "").parse::<u64>().ok()
    });
    assert!(told.is_some_and(|told| (least..=most).contains(&told)), "{told:?}, not {least} to {most}");
    assert!(both.iter().all(|label| window.query_by_label(label).is_some()));
}

#[test]
fn a_trace_without_samples_says_how_to_record_some() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.etl");
    std::fs::write(&path, crate::common::trace::small(false)).unwrap();
    let mut window = window_set(Options { inputs: vec![Input::File(path)], ..Options::default() }, Settings::default());
    give(&mut window, "tabs: cpu");
    assert!(has_containing(&window, "-stackwalk Profile"), "{:?}", labels(&window));
    assert!(window.query_by_label_contains("Flame graph of").is_none());
}
