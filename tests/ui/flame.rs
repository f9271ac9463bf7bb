//! The flame graph, single allocations and generations, driven by the names of widgets.

use crate::driver::{Window, click, click_at, has_containing, settle, show_tab, window_set};
use eframe::egui;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Options, Settings};
use highwater::load::Input;

fn demo_at(tab: &str) -> Window {
    let mut window = window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, Settings::default());
    click(&mut window, "Source MemoryTestApp.exe: Commit (VirtualAlloc)");
    click(&mut window, tab);
    window
}

/// The values of all labels, from top to bottom.
fn labels(window: &Window) -> Vec<String> {
    let nodes = window.root().children_recursive().filter(|n| n.accesskit_node().role() == egui::accesskit::Role::Label);
    let mut all: Vec<(f32, f32, String)> = nodes
        .filter_map(|n| Some((n.rect().top(), n.rect().left(), n.value().or_else(|| n.accesskit_node().label())?)))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    all.into_iter().map(|(_, _, text)| text).collect()
}

#[test]
fn a_click_on_a_box_makes_it_the_whole_and_its_function_can_be_filtered_to() {
    let mut window = demo_at("Flame");
    let graph = window.get_by_label("Flame graph of Commit (VirtualAlloc)").rect();
    // Everything, Main, and the largest that it called.
    let depth = |row: f32| graph.top() + 18.0 * row + 9.0;
    let at = egui::pos2(graph.left() + 40.0, depth(2.0));
    window.hover_at(at);
    settle(&mut window);
    assert!(has_containing(&window, "MemoryTestApp.exe!Operation1"), "{:?}", labels(&window));
    click_at(&mut window, at);
    assert!(has_containing(&window, "Whole"));
    window.hover_at(egui::pos2(graph.right() - 40.0, depth(2.0)));
    settle(&mut window);
    assert!(has_containing(&window, "MemoryTestApp.exe!Operation1"), "it takes all the width now");
    click(&mut window, "Whole");
    window.hover_at(egui::pos2(graph.right() - 40.0, depth(2.0)));
    settle(&mut window);
    assert!(!has_containing(&window, "MemoryTestApp.exe!Operation1"));
}

/// At an instant the other weights have no meaning: nothing was allocated in it.
#[test]
fn at_an_instant_boxes_are_as_wide_as_what_is_alive() {
    let mut window = crate::driver::demo();
    click(&mut window, "Findings");
    let step = "Show MemoryTestApp.exe: 33.77 MB of committed memory";
    let shown = window.query_all_by_label_contains(step).next().unwrap();
    shown.click();
    settle(&mut window);
    assert!(has_containing(&window, "Alive at 33."), "{:?}", labels(&window));
    show_tab(&mut window, "Flame");
    window.get_by_value("At End").click();
    settle(&mut window);
    assert!(window.query_by_label("Count").is_some() && window.query_by_label("At Start").is_none());
}

#[test]
fn single_allocations_come_in_any_order_with_all_that_is_known_of_one() {
    let mut window = demo_at("Allocations");
    assert_eq!(labels(&window).iter().filter(|text| *text == "10.00 MB").count(), 12, "the largest first");
    click(&mut window, "Alloc/Commit Time");
    let times: Vec<f64> =
        labels(&window).iter().filter_map(|text| text.strip_suffix(" s")?.parse().ok()).filter(|t| *t > 0.0).take(6).collect();
    assert!(times.len() > 4, "{times:?}");
    click(&mut window, "Size");
    let row = window.get_all_by_label("6.350194 s").next().unwrap().rect().center();
    click_at(&mut window, row);
    assert!(has_containing(&window, "10,485,760") && has_containing(&window, "100.000 ms"), "{:?}", labels(&window));
    assert!(has_containing(&window, "MemoryTestApp.exe!ManipulateTemporaryBuffer"));
}

#[test]
fn what_each_generation_leaves_behind_is_listed_where_it_repeats() {
    let mut window = window_set(Options { inputs: vec![Input::Demo], ..Options::default() }, Settings::default());
    click(&mut window, "Source MemoryTestApp.exe: 0x1d0000 (default)");
    show_tab(&mut window, "Generations");
    assert!(has_containing(&window, "Mark the moments between repetitions"));
    click(&mut window, "Cut evenly");
    let all = labels(&window);
    let first = all.iter().position(|text| text.ends_with(" of 8")).unwrap();
    let of_first = ["8 of 8", "42.50 KB", "1,088", "MemoryTestApp.exe!InnerLoopOperation"];
    assert_eq!(all[first..first + 4], of_first, "{all:?}");
    click(&mut window, "Remove marks");
    assert!(has_containing(&window, "Mark the moments between repetitions"));
    let graph = window.get_by_label("Outstanding size over time").rect();
    window.hover_at(graph.center());
    window.step();
    window.key_press(egui::Key::M);
    settle(&mut window);
    assert!(has_containing(&window, "2 of 2"), "a mark in the middle makes two");
}
