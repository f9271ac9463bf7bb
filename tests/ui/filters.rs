//! What is filtered is filtered everywhere: lanes and their headings, sources, tables, landmarks and findings are of
//! the same rows, whatever kind of filter it is.

use std::collections::BTreeMap;

use crate::driver::{Window, click, drag_on, has, has_containing, menu, settle, value_of, window_of};
use crate::first_use::line;
use eframe::egui;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::load::Input;

/// Layers of the demo, as lanes, sources and the table call them.
const LAYERS: [(&str, &str, &str); 2] = [
    ("MemoryTestApp.exe (4660)", "MemoryTestApp.exe: Windows NT heaps", "Windows NT heaps"),
    ("TelemetryService.exe (5120)", "TelemetryService.exe: Commit (VirtualAlloc)", "Commit (VirtualAlloc)"),
];

/// What things whose name begins so are called after that, and what they say.
fn said(window: &Window, prefix: &str) -> BTreeMap<String, String> {
    let nodes = window.root().children_recursive();
    let named = nodes.filter_map(|node| Some((node.accesskit_node().label()?, node.value().unwrap_or_default())));
    named.filter_map(|(label, value)| Some((label.strip_prefix(prefix)?.to_owned(), value))).collect()
}

/// The names of what stands out, wherever that is shown.
fn landmarks(window: &Window) -> Vec<String> {
    said(window, "On the axis: ").into_keys().collect()
}

/// Lanes and sources say the same of what is left at the end.
fn assert_agrees(window: &Window, filter: &str) {
    let sources = said(window, "Source ");
    let at_end = |hint: &str| Some(hint.split_once("At the end of the view: ")?.1.lines().next()?.to_owned());
    let nodes = window.root().children_recursive();
    let lanes: BTreeMap<String, String> = nodes
        .filter_map(|node| {
            let name = node.accesskit_node().label()?.strip_prefix("Lane ")?.to_owned();
            Some((name, at_end(&node.value()?)?))
        })
        .collect();
    assert!(!lanes.is_empty(), "{filter}: no lanes");
    for (name, value) in &lanes {
        // Of a layer with one heap, the lane has the name of that.
        let Some(told) = sources.get(name) else { continue };
        let at_end = told.split(" at the end").next().unwrap();
        assert_eq!(value, at_end, "{filter}: {name}; {sources:?}");
    }
}

#[test]
fn a_filter_to_a_class_filters_graph_sources_and_landmarks_as_the_table() {
    let mut window = window_of(vec![Input::Demo]);
    let (source, lane) =
        ("Source TelemetryService.exe: Commit (VirtualAlloc)", "Lane TelemetryService.exe: Commit (VirtualAlloc)");
    click(&mut window, source);
    let (whole, before) = (value_of(&window, lane), landmarks(&window));
    let peak = |all: &[String]| all.iter().find(|text| text.contains(": peak of")).cloned().unwrap();
    assert!(!peak(&before).contains("3.00 MB"), "{before:?}");
    click(&mut window, "Grew (Impacting)");
    click(&mut window, "Filter to this line");
    let grew = line(&window, "Grew (Impacting)").unwrap();
    assert!(grew.contains(&"3.00 MB".to_owned()) && !whole.starts_with("peak 3.00 MB"), "{grew:?} {whole}");
    assert!(value_of(&window, lane).starts_with("peak 3.00 MB\n"), "the lane");
    assert_eq!(value_of(&window, source), "3.00 MB at the end, impacting size +3.00 MB", "the source");
    let filtered = landmarks(&window);
    assert!(peak(&filtered).contains("3.00 MB"), "the peak on the graph: {filtered:?}");
    assert_agrees(&window, "grew");

    click(&mut window, "Back");
    assert_eq!((value_of(&window, lane), landmarks(&window)), (whole, before), "all is as before");
}

#[test]
fn a_filter_to_a_class_means_the_same_rows_before_and_behind_the_selection() {
    let mut window = window_of(vec![Input::Demo]);
    click(&mut window, "Source MemoryTestApp.exe: Commit (VirtualAlloc)");
    drag_on(&mut window, "Outstanding size over time", 17.4 / 36.06, 19.4 / 36.06);
    click(&mut window, "Grew (Impacting)");
    click(&mut window, "Filter to this line");
    let lane = "Lane MemoryTestApp.exe: Commit (VirtualAlloc)";
    let mut at = |second: f32| {
        let graph = window.get_by_label("Outstanding size over time").rect();
        window.hover_at(egui::pos2(graph.left() + graph.width() * second / 36.06, graph.center().y));
        window.step();
        window.step();
        value_of(&window, lane).lines().next().unwrap().to_owned()
    };
    assert_eq!([at(10.0), at(19.0), at(30.0)], ["0 B", "10.00 MB", "10.00 MB"], "the block that came, and nothing else");
}

#[test]
fn every_kind_of_filter_reaches_every_number() {
    type Step = (&'static str, fn(&mut Window));
    let filters: [Step; 5] = [
        ("a type", |window| {
            crate::driver::show_tab(window, "Types");
            click(window, "RigidBody");
        }),
        ("all but a process", |window| {
            menu(window, "Source MemoryTestApp.exe: Commit (VirtualAlloc)", "Exclude this");
        }),
        ("a size", |window| {
            crate::driver::show_tab(window, "Histograms");
            window.get_by_label_contains("Bar size 8 MB to 16 MB: ").click();
            settle(window);
        }),
        ("what stayed", |window| {
            click(window, "Source TelemetryService.exe: Commit (VirtualAlloc)");
            click(window, "Stayed (Persistent)");
            click(window, "Filter to this line");
        }),
        ("a class left out", |window| {
            click(window, "Source TelemetryService.exe: Commit (VirtualAlloc)");
            click(window, "Grew (Impacting)");
            click(window, "Filter to this line");
            let chip = "TelemetryService.exe \u{203a} Commit (VirtualAlloc) \u{203a} Grew (Impacting)";
            window.get_all_by_label(chip).next().unwrap().click();
            settle(window);
        }),
    ];
    for (filter, apply) in filters {
        let mut window = window_of(vec![Input::Demo]);
        window.set_size(egui::vec2(1280.0, 1400.0)); // room for the lines of all processes
        settle(&mut window);
        let before = said(&window, "Source ");
        apply(&mut window);
        assert!(has_containing(&window, "Remove filter"), "{filter}");
        assert_ne!(said(&window, "Source "), before, "{filter}");
        assert_agrees(&window, filter);
        click(&mut window, "Stacks");
        for (process, source, row) in LAYERS {
            let told = value_of(&window, &format!("Source {source}"));
            match told.as_str() {
                "filtered out" => {
                    assert!(!has(&window, &format!("Lane {source}")), "{filter}: a lane of nothing");
                    let owner = line(&window, process).is_some();
                    assert!(!owner || line(&window, row).is_none(), "{filter}: {source} is in the table");
                }
                _ => assert!(line(&window, process).is_some(), "{filter}: {source} is not in the table, but {told}"),
            }
        }
    }
}
