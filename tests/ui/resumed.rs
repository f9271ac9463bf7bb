//! Choices in views that a saved investigation brings back: layers, flame graphs, selected rows and details.

use std::path::PathBuf;

use egui_kittest::kittest::{NodeT, Queryable};
use tempfile::TempDir;

use crate::driver::{Window, choose, click, click_at, demo, has, has_containing, labels, settle, show_tab, value_of};
use crate::investigation::{dropped_in, save};

const HEAPS: &str = "Windows NT heaps";
const COMMIT: &str = "Commit (VirtualAlloc)";
const TRACKERS: &str = "Custom trackers";

/// Saves the investigation of a window.
fn saved(window: &mut Window) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("place.highwater");
    save(window, "save investigation", &file);
    (folder, file)
}

/// Which of these words is chosen in a list of the active tab.
fn chosen<'a>(window: &Window, words: &[&'a str]) -> Vec<&'a str> {
    words.iter().copied().filter(|word| window.query_all_by_value(word).next().is_some()).collect()
}

/// The text of the status bar for the selected row.
fn says(window: &Window) -> Option<String> {
    window.query_all_by_label_contains(": count ").find_map(|node| node.value())
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn layers_of_views_are_resumed() {
    let mut window = demo();
    let layers = [COMMIT, HEAPS, TRACKERS];
    // A layer in each view that is not the one that it shows at first.
    let tabs = ["functions", "flame", "compare", "freed by", "frames", "generations", "histograms"];
    let mut usual = Vec::new();
    let mut wanted = Vec::new();
    for tab in tabs {
        show_tab(&mut window, tab);
        if tab == "compare" {
            click(&mut window, "Flame graph");
        }
        let now = chosen(&window, &layers);
        let [now] = now[..] else { panic!("{tab}: {now:?}") };
        let other = if now == HEAPS { COMMIT } else { HEAPS };
        choose(&mut window, now, other);
        usual.push(now);
        wanted.push(other);
    }
    let (_folder, file) = saved(&mut window);
    let mut again = dropped_in(&file);
    for ((tab, wanted), usual) in tabs.into_iter().zip(wanted).zip(usual) {
        show_tab(&mut again, tab);
        assert_eq!(chosen(&again, &layers), [wanted], "{tab}, at first {usual}");
    }
    assert!(!has_containing(&again, "investigation"), "nothing is wrong");
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn flame_graphs_are_resumed() {
    let mut window = demo();
    show_tab(&mut window, "flame");
    choose(&mut window, "Size", "Count");
    click(&mut window, "Bottom-up");
    let graph = window.query_all_by_label_contains("Flame graph of").next().unwrap().rect();
    let at = graph.left_top() + eframe::egui::vec2(40.0, 18.0 + 9.0);
    click_at(&mut window, at);
    assert!(has(&window, "Whole"));
    let told = |window: &Window| {
        let nodes = window.root().children_recursive().filter_map(|node| node.accesskit_node().label());
        nodes.filter(|text| text.starts_with("Flame graph of") || text == "Whole").collect::<Vec<_>>()
    };
    let before = told(&window);
    show_tab(&mut window, "compare");
    click(&mut window, "Flame graph");
    let compared = told(&window);
    let (_folder, file) = saved(&mut window);
    let mut again = dropped_in(&file);
    assert_eq!(told(&again), compared);
    show_tab(&mut again, "flame");
    assert_eq!(told(&again), before);
    assert_eq!(chosen(&again, &["Size", "Count"]), ["Count"]);
    click(&mut again, "Whole");
    click(&mut again, "Bottom-up");
    assert_ne!(told(&again), before);
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn selected_rows_and_their_details_are_resumed() {
    let mut window = demo();
    show_tab(&mut window, "functions");
    click(&mut window, "MemoryTestApp.exe!Main");
    let function = says(&window).unwrap();
    assert!(function.starts_with("MemoryTestApp.exe!Main: "), "{function}");
    assert!(has_containing(&window, ": total "), "its butterfly is shown");
    show_tab(&mut window, "allocations");
    let first = window.query_all_by_label("10.00 MB").next().unwrap().rect().center();
    click_at(&mut window, first);
    let is_address = |text: &String| text.starts_with("0x") && text.ends_with(", 10.00 MB");
    let allocation: Vec<String> = labels(&window).into_iter().filter(is_address).collect();
    assert_eq!(allocation.len(), 1);
    show_tab(&mut window, "stacks");
    click(&mut window, "Details");
    let lines: Vec<_> = window.query_all_by_label(COMMIT).collect();
    lines.iter().max_by(|a, b| a.rect().left().total_cmp(&b.rect().left())).unwrap().click();
    settle(&mut window);
    let line = says(&window).unwrap();
    assert!(has_containing(&window, "peak at "));
    let (_folder, file) = saved(&mut window);

    let mut again = dropped_in(&file);
    assert_eq!(says(&again), Some(line));
    assert!(has_containing(&again, "peak at "), "{:?}", labels(&again));
    show_tab(&mut again, "functions");
    assert_eq!(says(&again), Some(function));
    assert!(has_containing(&again, ": total "));
    show_tab(&mut again, "allocations");
    assert_eq!(labels(&again).into_iter().filter(is_address).collect::<Vec<_>>(), allocation);
    assert_eq!(value_of(&again, "Size"), "Sorted, descending");
    assert!(!has_containing(&again, "investigation"), "nothing is wrong");
    // An investigation without them clears them.
    let earlier = file.with_file_name("earlier.highwater");
    std::fs::write(&earlier, "version = 1\n[trace]\nfiles = [\"demo:\"]\n").unwrap();
    crate::driver::drop_file(&mut again, &earlier);
    show_tab(&mut again, "stacks");
    assert!(!has_containing(&again, "peak at ") && says(&again).is_none());
}
