//! The map of the address space, in the window.

use crate::driver::{Window, choose, click, click_at, has, has_containing, press, settle, show_tab, window_of};
use crate::first_use::{generated, heap_options};
use eframe::egui::{Key, Modifiers, Pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

/// A place of the map whose tooltip has a text.
fn place(window: &mut Window, text: &str) -> Pos2 {
    let map = window.get_by_label_contains("Address space of ").rect();
    for line in 0..10 {
        for column in 0..40 {
            let cells = map.width() * 0.65;
            let point = map.right_top() + vec2(-cells + cells * column as f32 / 40.0, 8.0 + 16.0 * line as f32);
            window.hover_at(point);
            settle(window);
            if has_containing(window, text) {
                return point;
            }
        }
    }
    panic!("no place tells {text}");
}

/// The line above the map.
fn summary(window: &Window) -> String {
    window
        .get_by_label_contains("A cell is ")
        .accesskit_node()
        .value()
        .unwrap_or_else(|| window.get_by_label_contains("A cell is ").accesskit_node().label().unwrap())
}

fn heaps() -> (Window, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let options = highwater_dev::synth::Options { live: 3000, heaps: 4, processes: 2, ..heap_options() };
    let mut window = window_of(generated(&folder, &options));
    show_tab(&mut window, "Address space");
    (window, folder)
}

#[test]
fn a_cell_tells_what_is_in_it_and_a_click_filters_to_its_heap_and_back() {
    let (mut window, _folder) = heaps();
    let before = summary(&window);
    let point = place(&mut window, "Largest block");
    assert!(has_containing(&window, " live") && has_containing(&window, "Allocated: "));
    click_at(&mut window, point);
    assert!(has_containing(&window, "Remove filter "));
    assert!(summary(&window) != before && has(&window, "filtered out"), "other heaps are told apart");
    // The chip may have moved the map.
    let point = place(&mut window, "Largest block");
    click_at(&mut window, point);
    assert!(!has_containing(&window, "Remove filter "));
    assert_eq!(summary(&window), before);
}

#[test]
fn keys_zoom_to_single_blocks_whose_stack_is_shown_and_back() {
    let (mut window, _folder) = heaps();
    let before = summary(&window);
    let mut last = String::new();
    while summary(&window) != last {
        last = summary(&window);
        press(&mut window, Modifiers::NONE, Key::Plus);
    }
    assert!(last.ends_with("A cell is 16 B."), "{last}");
    let block = place(&mut window, "Click for its stack");
    click_at(&mut window, block);
    assert!(has(&window, "LifeTime") && has(&window, "Stack"));
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(!has(&window, "LifeTime"));
    press(&mut window, Modifiers::NONE, Key::Minus);
    assert!(has(&window, "Whole process"));
    click(&mut window, "Whole process");
    assert_eq!(summary(&window), before);
}

#[test]
fn the_map_shows_the_moment_of_the_graphs_cursor_and_without_it_the_end_of_the_interval() {
    let (mut window, _folder) = heaps();
    let end = summary(&window);
    let graph = window.get_by_label("Outstanding size over time").rect();
    window.hover_at(graph.center());
    settle(&mut window);
    let middle = summary(&window);
    window.hover_at(graph.center() - vec2(graph.width() / 4.0, 0.0));
    settle(&mut window);
    let before = summary(&window);
    assert!(middle != end && before != middle, "{before} {middle} {end}");
    window.remove_cursor();
    settle(&mut window);
    assert_eq!(summary(&window), end);
    click(&mut window, "Follow cursor");
    window.hover_at(graph.center());
    settle(&mut window);
    assert_eq!(summary(&window), end, "it keeps to the end of the interval");
    click(&mut window, "Follow cursor");
    window.hover_at(graph.center());
    settle(&mut window);
    assert_eq!(summary(&window), middle);
}

#[test]
fn colours_show_callers_or_ages_and_another_process_has_a_map_of_its_own() {
    let (mut window, _folder) = heaps();
    let before = summary(&window);
    choose(&mut window, "Heap", "Age");
    assert!(has_containing(&window, "before the trace"));
    choose(&mut window, "Age", "Responsible caller");
    assert!(has(&window, "other callers"));
    assert_eq!(summary(&window), before);
    let processes = ["app0.exe (6000)", "app1.exe (6256)"];
    let shown = processes.map(|process| has_containing(&window, &format!("Address space of {process}")));
    let (now, other) = if shown[0] { (processes[0], processes[1]) } else { (processes[1], processes[0]) };
    choose(&mut window, now, other);
    assert!(has_containing(&window, &format!("Address space of {other}")));
    assert!(summary(&window) != before);
}
