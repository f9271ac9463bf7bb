//! The details of a line of the tree, in the window.

use crate::driver::{Window, click, demo, has_containing, settle};
use eframe::egui;
use egui_kittest::kittest::Queryable;

/// Selects a line of the table: what stands furthest to the right has that name.
fn select(window: &mut Window, name: &str) {
    let lines: Vec<_> = window.query_all_by_label(name).collect();
    lines.iter().max_by(|a, b| a.rect().left().total_cmp(&b.rect().left())).unwrap().click();
    settle(window);
}

fn headlines(window: &Window) -> Vec<String> {
    let labels = window.query_all_by_label_contains(", count ");
    labels.filter_map(|label| label.value()).filter(|text| !text.contains(": count ")).collect()
}

#[test]
fn details_are_those_of_the_selected_line_and_filter() {
    let mut window = demo();
    window.set_size(egui::vec2(1280.0, 1600.0)); // room for all details
    click(&mut window, "Source MemoryTestApp.exe (4660)");
    click(&mut window, "Details");
    assert!(has_containing(&window, "Select a line for its details."));
    select(&mut window, "Commit (VirtualAlloc)");
    let told = window.get_by_label_contains(": count ").value().unwrap();
    // "…: count 25, size 182.00 MB, impacting size …" is what both histograms add up to.
    let (count, rest) = told.split_once(": count ").unwrap().1.split_once(", size ").unwrap();
    let size = rest.split_once(", impacting").unwrap().0;
    let sum = format!("{size}, count {count}");
    assert_eq!(headlines(&window), [sum.clone(), sum], "{told}");
    assert!(has_containing(&window, "Outstanding size"));
    assert!(has_containing(&window, "peak at "));
    window.get_by_label_contains("Bar size 8 MB to 16 MB: ").click();
    settle(&mut window);
    assert!(has_containing(&window, "Remove filter size 8 MB to 16 MB"));
    assert!(headlines(&window).iter().any(|text| text == "120.00 MB, count 12"), "{:?}", headlines(&window));
    click(&mut window, "Details");
    assert!(!has_containing(&window, "peak at "));
    assert!(headlines(&window).is_empty());
}

#[test]
fn where_there_is_room_details_of_the_selected_line_come_by_themselves() {
    let mut window = demo();
    select(&mut window, "Commit (VirtualAlloc)");
    assert!(!has_containing(&window, "peak at "), "the table needs the room");
    window.set_size(egui::vec2(1920.0, 1000.0));
    settle(&mut window);
    assert!(has_containing(&window, "peak at "), "now there is some");
    click(&mut window, "Details");
    assert!(!has_containing(&window, "peak at "), "unless the user does not want them");
}

#[test]
fn layers_are_not_added_up_in_details() {
    let mut window = demo();
    window.set_size(egui::vec2(1280.0, 1400.0)); // room for the lines of all processes
    settle(&mut window);
    click(&mut window, "Details");
    select(&mut window, "MemoryTestApp.exe (4660)");
    assert!(has_containing(&window, "Layers of memory nest: select one of them."));
}
