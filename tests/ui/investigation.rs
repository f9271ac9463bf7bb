//! Saved investigations: a file `NAME.highwater` brings the window back to where it was, with its trace inside on wish, and
//! says what does not fit.

use std::path::{Path, PathBuf};

use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{Options, Settings};
use highwater::load::Input;
use tempfile::TempDir;

use crate::driver::{
    Window, choose, click, demo, drag_on, drop_file, give, has, has_containing, interval, menu, painted, press, settle, show_tab,
    value_of, wait_for, window_of, window_set,
};
use crate::first_use::{generated, heap_options};

const GRAPH: &str = "Outstanding size over time";
const OVERVIEW: &str = "Overview of the whole trace";
const HISTOGRAM: &str = "Click a bar to filter to it";
const CHIP: &str = "MemoryTestApp.exe \u{203a} Custom trackers";

pub fn write_note(window: &mut Window, text: &str) {
    press(window, Modifiers::SHIFT, Key::M);
    window.get_by_label("Note").type_text(text);
    settle(window);
    press(window, Modifiers::NONE, Key::Enter);
}

pub fn save(window: &mut Window, command: &str, file: &Path) {
    give(window, command);
    wait_for(window, "Path");
    window.get_by_label("Path").type_text(file.to_str().unwrap());
    settle(window);
    press(window, Modifiers::NONE, Key::Enter);
    assert!(!has_containing(window, "could not be written"));
}

/// An empty window in which a file is dropped.
pub fn dropped_in(file: &Path) -> Window {
    let mut window = window_of(Vec::new());
    drop_file(&mut window, file);
    settle(&mut window);
    window
}

/// A trace and an investigation of it.
fn saved(command: &str, layout: bool) -> (TempDir, PathBuf, PathBuf, (String, f32, f32)) {
    let folder = tempfile::tempdir().unwrap();
    let Some(Input::File(trace)) = generated(&folder, &heap_options()).pop() else { panic!("a file") };
    let mut window = window_of(vec![Input::File(trace.clone())]);
    drag_on(&mut window, GRAPH, 0.3, 0.6);
    write_note(&mut window, "here it grows");
    if layout {
        give(&mut window, "layout: wpa");
    }
    give(&mut window, "tabs: functions");
    let file = folder.path().join("game.highwater");
    save(&mut window, command, &file);
    let place = interval(&window);
    (folder, trace, file, place)
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn an_investigation_is_opened_where_it_was_saved() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = demo();
    drag_on(&mut window, OVERVIEW, 0.1, 0.8);
    drag_on(&mut window, GRAPH, 0.3, 0.6);
    click(&mut window, "Lane MemoryTestApp.exe: PhysicsHeap");
    assert!(has(&window, CHIP));
    write_note(&mut window, "the cache fills");
    give(&mut window, "tabs: histograms");
    let file = folder.path().join("why");
    save(&mut window, "save investigation", &file);
    let file = file.with_extension("highwater");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.len() < 8_000 && text.contains("demo:") && text.contains("tracker"), "{text}");

    for mut again in [dropped_in(&file), window_of(vec![Input::File(file.clone())])] {
        assert_eq!(interval(&again), interval(&window));
        assert!(has(&again, CHIP) && has(&again, "Note: the cache fills") && has_containing(&again, HISTOGRAM));
        assert!(!has_containing(&again, "investigation"), "nothing is wrong");
        assert!(!has_containing(&again, "View: 0.000 s"), "the view is that of the selection");
        // One step back leads to the trace as it was opened.
        press(&mut again, Modifiers::COMMAND, Key::Z);
        assert!(!has(&again, CHIP) && !has(&again, "Note: the cache fills"));
        assert!(has_containing(&again, "View: 0.000 s to 36.060 s"));
    }
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn a_file_with_the_trace_inside_needs_nothing_else() {
    let (folder, trace, file, place) = saved("save investigation with trace", true);
    let only = tempfile::tempdir().unwrap();
    let copy = only.path().join("sent.highwater");
    std::fs::copy(&file, &copy).unwrap();
    let text = highwater::archive::text_in_bundle(&copy, "investigation.toml", 1 << 20).unwrap().unwrap();
    let saved: toml::Table = toml::from_str(&text).unwrap();
    let edges: Vec<String> =
        saved["view"]["selected_s"].as_array().unwrap().iter().map(|edge| format!("{:.9}", edge.as_float().unwrap())).collect();
    let report = |file: &Path| {
        let words = [
            "report",
            file.to_str().unwrap(),
            "--from",
            edges[0].as_str(),
            "--to",
            edges[1].as_str(),
            "--by",
            "process,heap,stack",
            "--json",
        ];
        crate::common::json(words)["groups"].clone()
    };
    let whole = report(&trace);
    assert!(whole.as_array().is_some_and(|groups| groups.len() > 5));
    assert_eq!(report(&copy), whole, "the command line reads the trace in it, with the same numbers");
    drop(folder);
    assert!(!trace.exists());
    let window = dropped_in(&copy);
    assert_eq!(interval(&window), place);
    assert!(has(&window, "Note: here it grows") && !has_containing(&window, "investigation"));
}

/// Saves an investigation of a trace of so many events with the trace inside, over an old file, and stops that; returns
/// whether it took long enough to be stopped, and so left the old file as it was.
fn stops_writing(events: u64) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window_of(generated(&folder, &highwater_dev::synth::Options { events, ..heap_options() }));
    let file = folder.path().join("big.highwater");
    std::fs::write(&file, "old").unwrap();
    give(&mut window, "save investigation with trace");
    wait_for(&mut window, "Path");
    window.get_by_label("Path").type_text(file.to_str().unwrap());
    settle(&mut window);
    press(&mut window, Modifiers::NONE, Key::Enter);
    window.get_by_label("Replace").click();
    loop {
        window.step();
        std::thread::sleep(std::time::Duration::from_millis(2));
        if has(&window, "Stop") {
            break;
        }
        if std::fs::metadata(&file).unwrap().len() > 3 {
            return false;
        }
    }
    assert!(has_containing(&window, "Writing ") && has_containing(&window, "big.highwater"));
    window.get_by_label("Stop").click();
    window.step();
    settle(&mut window);
    assert!(!has(&window, "Stop") && !has_containing(&window, "could not be written"));
    if std::fs::read(&file).unwrap() != b"old" {
        return false; // it had ended before it was stopped
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no draft stays");
    true
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn a_long_write_shows_how_far_it_is_and_a_stopped_one_changes_nothing() {
    assert!([100_000, 1_000_000, 10_000_000].into_iter().any(stops_writing), "none was stopped");
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn another_trace_and_a_missing_one_are_told() {
    let (folder, trace, file, place) = saved("save investigation", false);
    // The trace is open already, elsewhere.
    let moved = folder.path().join("moved.etl");
    std::fs::rename(&trace, &moved).unwrap();
    let mut window = window_of(vec![Input::File(moved)]);
    drop_file(&mut window, &file);
    assert_eq!(interval(&window), place);
    assert!(!has_containing(&window, "investigation"));
    // It is not there.
    let window = dropped_in(&file);
    assert!(has_containing(&window, "its trace generated.etl is not there"));
    assert!(has(&window, "Error") && !has(&window, "Notice"));
    // Another one has its name.
    let other = highwater_dev::synth::Options { events: 9_000, seed: 77, ..heap_options() };
    generated(&folder, &other);
    let window = dropped_in(&file);
    assert!(has_containing(&window, "is not the trace that the investigation was saved with"));
    assert!(has(&window, "Notice") && !has(&window, "Error"), "it is open, so nothing failed");
}

#[test]
fn what_is_no_investigation_is_a_clear_error_and_a_later_one_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("odd.highwater");
    let told = |text: &[u8]| {
        std::fs::write(&file, text).unwrap();
        dropped_in(&file)
    };
    for (text, what) in [
        (&b"\x00\x01\x02"[..], "it is not a readable investigation"),
        (b"PK\x03\x04 and nothing else", "could not be opened"),
        (b"version = 1\n[trace]\nfiles = [\"//evil/share/a.etl\"]\n", "is on another machine"),
        (b"version = 1\n[trace]\nfiles = [\"none.etl\"]\n", "is not there"),
    ] {
        assert!(has_containing(&told(text), what), "{what}");
    }
    let later = b"version = 7\nmood = \"good\"\n[trace]\nfiles = [\"demo:\"]\n[view]\nfrom_s = 1.0\nto_s = inf\n[[filter]]\nwhat.smell = \"a\"\n\
                  [[note]]\nat_s = nan\ntext = \"odd\"\n";
    let window = told(later);
    assert!(has_containing(&window, "Ignored in the investigation, which a later version of highwater wrote: mood."));
    assert!(has_containing(&window, "A filter of the investigation could not be found again"));
    assert!(has_containing(&window, "Demo trace") && has_containing(&window, "View: 1.000 s"));
}

#[test]
fn a_window_without_settings_resumes_the_layout() {
    let (folder, _, file, _) = saved("save investigation", true);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("[layout") || text.contains("layout ="), "{text}");
    let window = window_set(Options { inputs: vec![Input::File(file)], ..Options::default() }, Settings::default());
    let below = window.get_by_label("Find sources").rect();
    let graph = window.get_by_label(GRAPH).rect();
    assert!(below.bottom() < graph.bottom() + 40.0, "in WPA's layout the sources end with the graph: {below} {graph}");
    drop(folder);
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn another_trace_is_laid_over_the_graph_and_is_part_of_the_investigation() {
    let folder = tempfile::tempdir().unwrap();
    let demo_file = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo.etl");
    let other = folder.path().join("before.etl");
    std::fs::copy(demo_file, &other).unwrap();
    let mut window = demo();
    compare_with(&mut window, &other);
    const LANE: &str = "Lane MemoryTestApp.exe: PhysicsHeap";
    let told = value_of(&window, LANE);
    assert!(told.contains("Grey line: before.etl, peak 1.66 MB. Aligned at the start"), "{told}");
    // At a mark that both have: the same trace, so the same place.
    window.get_by_label(GRAPH).click_secondary();
    settle(&mut window);
    window.get_by_label("Compared trace").hover();
    click(&mut window, "Compared trace");
    click(&mut window, "Aligned at the mark Level 2");
    assert!(value_of(&window, LANE).contains("peak 1.66 MB. Aligned at the mark Level 2"));
    let file = folder.path().join("both.highwater");
    save(&mut window, "save investigation", &file);
    assert!(std::fs::read_to_string(&file).unwrap().contains("\"before.etl\""));
    let mut again = dropped_in(&file);
    wait_for(&mut again, LANE);
    settle(&mut again);
    assert!(value_of(&again, LANE).contains("Grey line: before.etl"));
    give(&mut again, "draw the compared trace");
    assert!(!value_of(&again, LANE).contains("Grey line"));
}

/// Compares with a trace whose path is typed.
fn compare_with(window: &mut Window, other: &Path) {
    give(window, "compare with");
    wait_for(window, "Path");
    window.get_by_label("Path").type_text(other.to_str().unwrap());
    settle(window);
    press(window, Modifiers::NONE, Key::Enter);
}

/// The table and header of each order that is told, in tabs that are shown one after the other.
fn orders(window: &mut Window) -> Vec<String> {
    let tabs = [("stacks", "At Start"), ("functions", "Count"), ("allocations", "Address"), ("compare", "B")];
    let tabs = [&tabs[..], &[("types", "Size"), ("frames", "Net"), ("marks", "Text")]].concat();
    let order = |(tab, header): (&str, &str)| {
        show_tab(window, tab);
        format!("{tab}: {}", value_of(window, header))
    };
    tabs.into_iter().map(order).collect()
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn expanded_lanes_orders_of_tables_and_the_alignment_are_resumed() {
    const HEAPS: &str = "MemoryTestApp.exe: Windows NT heaps";
    const HIDDEN: &str = "Lane MemoryTestApp.exe: PhysicsHeap";
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("before.etl");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo.etl"), &other).unwrap();
    let mut window = demo();
    compare_with(&mut window, &other);
    menu(&mut window, HIDDEN, "Hide this lane");
    click(&mut window, &format!("Expand lane {HEAPS}"));
    window.get_by_label(GRAPH).click_secondary();
    settle(&mut window);
    window.get_by_label("Compared trace").hover();
    click(&mut window, "Compared trace");
    click(&mut window, "Aligned at the mark Level 2");
    show_tab(&mut window, "compare");
    assert!(has_containing(&window, "B before.etl"), "the earlier name is A");
    click(&mut window, "Swap");
    let usual = orders(&mut window);
    assert!(usual.iter().all(|order| order.ends_with(": ")), "{usual:?}");
    let headers = [("stacks", "At Start", 2), ("functions", "Count", 1), ("allocations", "Address", 2), ("compare", "B", 2)];
    for (tab, header, clicks) in [&headers[..], &[("types", "Size", 1), ("frames", "Net", 2), ("marks", "Text", 1)]].concat() {
        show_tab(&mut window, tab);
        (0..clicks).for_each(|_| click(&mut window, header));
    }
    let chosen = orders(&mut window);
    assert!(chosen.iter().all(|order| order.ends_with("ascending") || order.ends_with("descending")), "{chosen:?}");
    let file = folder.path().join("all.highwater");
    save(&mut window, "save investigation", &file);
    let lanes = |window: &Window| -> Vec<String> {
        let nodes = window.query_all_by_label_contains("Lane ");
        nodes.map(|node| format!("{:?} {:?}", node.accesskit_node().label(), node.value())).collect()
    };
    let told = lanes(&window);

    let mut again = dropped_in(&file);
    assert!(has(&again, &format!("Collapse lane {HEAPS}")) && !has(&again, HIDDEN));
    assert_eq!(lanes(&again), told);
    assert!(value_of(&again, &format!("Lane {HEAPS}")).contains("Aligned at the mark Level 2"));
    assert_eq!(orders(&mut again), chosen);
    assert!(!has_containing(&again, "investigation"), "nothing is wrong");
    show_tab(&mut again, "compare");
    assert!(has_containing(&again, "A before.etl"), "the sides stay swapped");
    // An overlay that is not drawn stays so.
    give(&mut again, "draw the compared trace");
    save(&mut again, "save investigation", &folder.path().join("hidden.highwater"));
    let hidden = dropped_in(&folder.path().join("hidden.highwater"));
    assert!(!value_of(&hidden, &format!("Lane {HEAPS}")).contains("Grey line"));
}

/// Types into the search of a tab.
fn search(window: &mut Window, tab: &str, text: &str) {
    show_tab(window, tab);
    window.get_by_label("Search").focus();
    window.step();
    window.get_by_label("Search").type_text(text);
    settle(window);
}

/// The open and closed lines of trees and lanes in sight, in their order.
fn branches(window: &Window) -> Vec<String> {
    let nodes = window.root().children_recursive().filter_map(|node| node.accesskit_node().label());
    nodes.filter(|label| label.starts_with("Expand ") || label.starts_with("Collapse ")).collect()
}

/// The open and closed lines in each tab with a tree, and in the list of sources.
fn trees(window: &mut Window) -> Vec<Vec<String>> {
    let of_tab = |tab: &str| {
        show_tab(window, tab);
        branches(window)
    };
    ["stacks", "functions", "freed by"].map(of_tab).into()
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn searches_opened_lines_sides_and_hidden_lanes_are_resumed() {
    const FRAMES: &str = "Lane Frames of";
    const SOURCE: &str = "Collapse source TelemetryService.exe (5120)";
    let folder = tempfile::tempdir().unwrap();
    let mut window = demo();
    let usual = trees(&mut window);
    assert!(has_containing(&window, FRAMES) && has(&window, SOURCE));
    give(&mut window, "lane of frames");
    give(&mut window, "marks on the graph");
    click(&mut window, SOURCE);
    show_tab(&mut window, "stacks");
    for _ in 0..3 {
        window.query_all_by_label_contains("Expand ").last().unwrap().click();
        settle(&mut window);
    }
    show_tab(&mut window, "functions");
    choose(&mut window, "Top-down", "Bottom-up");
    window.query_all_by_label_contains("Expand MemoryTestApp.exe!").next().unwrap().click();
    settle(&mut window);
    search(&mut window, "types", "set");
    search(&mut window, "flame", "main");
    show_tab(&mut window, "compare");
    choose(&mut window, "By process and heap", "By type");
    let side = |window: &Window, side: &str| window.query_all_by_label_contains(side).count();
    let halves = ["A 0 s to 18.03 s", "A 18.03 s to 36.06 s"];
    assert_eq!(halves.map(|half| side(&window, half)), [1, 0]);
    click(&mut window, "Swap");
    assert_eq!(halves.map(|half| side(&window, half)), [0, 1]);
    let chosen = trees(&mut window);
    assert!(chosen[0] != usual[0] && chosen[1] != usual[1] && chosen[2].iter().any(|line| line.starts_with("Expand source")));
    let file = folder.path().join("place.highwater");
    save(&mut window, "save investigation", &file);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("hidden = [\"marks\", \"frames\"]") && text.contains("Functions = \"bottom-up\""), "{text}");

    let mut again = dropped_in(&file);
    assert_eq!(trees(&mut again), chosen);
    assert!(!has_containing(&again, FRAMES) && !has_containing(&again, "investigation"));
    show_tab(&mut again, "functions");
    assert!(again.query_all_by_value("Bottom-up").next().is_some());
    for (tab, text) in [("types", "set"), ("flame", "main"), ("stacks", "")] {
        show_tab(&mut again, tab);
        assert_eq!(value_of(&again, "Search"), text);
    }
    show_tab(&mut again, "compare");
    assert!(again.query_all_by_value("By type").next().is_some());
    assert_eq!(halves.map(|half| side(&again, half)), [0, 1]);
    // An investigation of an earlier version has none of them.
    let earlier = folder.path().join("earlier.highwater");
    std::fs::write(&earlier, "version = 1\n[trace]\nfiles = [\"demo:\"]\n").unwrap();
    drop_file(&mut again, &earlier);
    settle(&mut again);
    assert_eq!(trees(&mut again), usual);
    assert!(has_containing(&again, FRAMES) && !has_containing(&again, "investigation"));
    // The search in the list of sources.
    window.get_by_label("Find sources").focus();
    window.step();
    window.get_by_label("Find sources").type_text("physics");
    settle(&mut window);
    save(&mut window, "save investigation", &folder.path().join("found.highwater"));
    let again = dropped_in(&folder.path().join("found.highwater"));
    assert_eq!(value_of(&again, "Find sources"), "physics");
}

#[test]
fn hostile_searches_lines_and_lanes_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("odd.highwater");
    let text = "version = 1\nhidden = [\"frames\", \"later\", 7]\n[trace]\nfiles = [\"demo:\"]\n[search]\nTypes = \"a\\u001bb\"\n\
                Flame = 7\nNone = \"x\"\n[grouping]\nFunctions = \"later\"\n[compare]\nsides = \"later\"\ncolour = 7\n\
                [[node]]\ntab = \"Stacks\"\nopen = true\npath = { keys = [{ layer = \"none\" }] }\n[[node]]\ntab = 7\n[[node]]\n\
                tab = \"Functions\"\nopen = true\nnames = [\"no such function\"]\n";
    std::fs::write(&file, text).unwrap();
    let mut window = dropped_in(&file);
    assert!(has_containing(&window, "Ignored in the investigation: compare.colour, search.None."));
    assert!(has_containing(&window, "2 opened lines of the investigation could not be found again"));
    assert!(has_containing(&window, "2 lanes of the investigation cannot be hidden by this version"));
    assert!(!has_containing(&window, "Lane Frames of"));
    show_tab(&mut window, "types");
    assert_eq!(value_of(&window, "Search"), "ab");
    show_tab(&mut window, "functions");
    assert!(window.query_all_by_value("Top-down").next().is_some());
}

#[test]
fn hostile_lanes_orders_and_alignments_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("odd.highwater");
    let text = "version = 1\noverlay = { frame = 4000000000 }\n[trace]\nfiles = [\"demo:\"]\n[[line]]\nlayer = 7\n[[line]]\n\
                process = { pid = 1, name = \"none\" }\nlayer = \"heap\"\nopened = \"heaps\"\n[sort]\nStacks = \"none\"\n\
                Types = { by = \"none\", descending = true }\nNone = { by = \"size\", descending = true }\n\
                Allocations = { by = \"address\", descending = true }\n";
    std::fs::write(&file, text).unwrap();
    let mut window = dropped_in(&file);
    assert!(has_containing(&window, "2 lines of the graph in the investigation could not be found again"));
    assert!(has_containing(&window, "it is aligned at the start"));
    assert_eq!(value_of(&window, "Impacting Size"), "Sorted, descending", "the usual order");
    show_tab(&mut window, "allocations");
    assert_eq!(value_of(&window, "Address"), "Sorted, descending");
}

/// A trace of programs, the first of which has memory in ten steps, and its commit charge as the system sampled it.
fn counted(path: &Path, programs: &[(u32, &str)]) {
    use highwater::etl::{SessionHeader, write::Writer};
    use highwater::events::{CounterEvent, Event, ProcessChange, ProcessInfo, ProcessMemory, Record, encode::RecordWriter};
    use highwater::units::{Layer, Pid, Tid};
    const MB: u64 = 1 << 20;
    let mut w = RecordWriter::new(Writer::new(std::fs::File::create(path).unwrap(), SessionHeader::default()).unwrap());
    let mut put_of = |pid: u32, milliseconds: i64, event| {
        w.put(0, &Record { time: milliseconds * 10_000, pid: Pid(pid), tid: Tid(pid + 1), event }, &[]).unwrap();
    };
    for &(pid, name) in programs {
        let info = ProcessInfo { key: u64::from(pid), parent: 1, name: name.to_owned(), command_line: String::new() };
        put_of(pid, 0, Event::Process(ProcessChange::Rundown, Box::new(info)));
        put_of(pid, 10, Event::Alloc { layer: Layer::Heap, heap: 0x1000, address: 0x1000, size: 4096 });
    }
    let mut put = |milliseconds: i64, event| put_of(7, milliseconds, event);
    for second in 1..=10u64 {
        let (time, address) = (second as i64 * 1000, 0x10_0000_0000 + second * 0x1000_0000);
        put(time, Event::Alloc { layer: Layer::Heap, heap: 0x1000, address, size: 10 * MB });
        // The commit charge peaks in the fifth second, when 50 MB are known.
        let commit = (if second == 5 { 400 } else { 200 }) * MB / 4096;
        let memory = ProcessMemory { pid: Pid(7), working_set: 100 * MB / 4096, commit, virtual_size: 0, private_working_set: 0 };
        put(time + 100, Event::Counter(Box::new(CounterEvent::Chosen(vec![memory]))));
    }
    w.finish().unwrap();
}

#[test]
fn what_the_system_gave_a_process_is_held_against_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counted.etl");
    counted(&path, &[(7, "game.exe")]);
    let mut window = window_of(vec![Input::File(path)]);
    let lane = "Lane System memory of game.exe";
    let told = value_of(&window, lane);
    assert!(told.starts_with("peak 400 MB, 50 MB known"), "{told}");
    assert!(told.contains("At the peak of the commit charge in view, 5.100 s"), "{told}");
    // The heading has the numbers that fit, each whole.
    let heading = |window: &mut Window, size: [f32; 2]| {
        window.set_size(size.into());
        settle(window);
        let peaks = painted(window).into_iter().filter_map(|shape| match shape {
            eframe::egui::Shape::Text(text) if text.galley.text().contains("400 MB") => Some(text.galley),
            _ => None,
        });
        peaks.map(|galley| (galley.text().to_owned(), galley.elided)).collect::<Vec<_>>()
    };
    for (size, text) in [([1024.0, 640.0], "400 MB, 50 MB known"), ([1280.0, 800.0], "peak 400 MB")] {
        assert_eq!(heading(&mut window, size), [(text.to_owned(), false)], "at {size:?}");
    }
    give(&mut window, "lane of system memory");
    assert!(!has(&window, lane));
}

#[test]
fn the_lane_of_system_memory_names_the_process_if_there_are_several() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.etl");
    counted(&path, &[(7, "game.exe"), (9, "tool.exe")]);
    let mut window = window_of(vec![Input::File(path)]);
    for size in [[1024.0, 640.0], [1366.0, 700.0]] {
        window.set_size(size.into());
        settle(&mut window);
        let lane = window.get_by_label("Lane System memory of game.exe").rect();
        let texts = crate::driver::painted_texts(&window).into_iter();
        let heading: Vec<String> = texts.filter(|(_, place)| lane.contains_rect(*place)).map(|(text, _)| text).collect();
        assert!(heading.iter().any(|text| text.contains("game.exe")), "{size:?}: {heading:?}");
    }
}
