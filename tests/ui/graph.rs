//! The graph in the window: lanes, the selection as a thing, the same by keyboard.

use crate::common::trace::{session, trace};
use crate::driver::{Window, click, demo, give, has, has_containing, interval, press, settle, value_of, window_of};
use eframe::egui;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::events::{Event, ProcessChange, ProcessInfo, Record};
use highwater::load::Input;
use highwater::units::{Layer, Pid, Tid};

/// Length of the demo in seconds.
const LENGTH: f32 = 36.06;

/// Where a second of the demo is on the graph.
fn at(window: &Window, seconds: f32) -> egui::Pos2 {
    let graph = window.get_by_label("Outstanding size over time").rect();
    egui::pos2(graph.left() + graph.width() * seconds / LENGTH, graph.center().y)
}

fn drag(window: &mut Window, from: egui::Pos2, to: egui::Pos2) {
    window.drag_at(from);
    window.step();
    for part in [0.3, 0.6, 1.0] {
        window.hover_at(from + (to - from) * part);
        window.step();
    }
    window.drop_at(to);
    settle(window);
}

fn select(window: &mut Window, from: f32, to: f32) {
    let (from, to) = (at(window, from), at(window, to));
    drag(window, from, to);
}

/// The value beside the name of a lane.
fn lane_value(window: &Window, lane: &str) -> String {
    value_of(window, lane).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn each_layer_of_a_process_has_a_lane_that_reads_its_value() {
    let mut window = demo();
    let commit = "Lane MemoryTestApp.exe: Commit (VirtualAlloc)";
    for lane in [commit, "Lane TelemetryService.exe: Commit (VirtualAlloc)", "Lane MemoryTestApp.exe: PhysicsHeap"] {
        assert!(has(&window, lane), "{lane}");
    }
    assert_eq!(lane_value(&window, commit), "peak 36.00 MB", "without a pointer");
    let step = at(&window, 21.5);
    window.hover_at(step);
    window.step();
    window.step();
    assert!(value_of(&window, commit).starts_with("25.9"), "where the pointer is");
    select(&mut window, 17.4, 19.4);
    window.hover_at(egui::pos2(0.0, 0.0));
    settle(&mut window);
    assert_eq!(lane_value(&window, commit), "+10.00 MB selected");
    click(&mut window, "Source TelemetryService.exe (5120)");
    assert!(!has(&window, commit), "only what the filter leaves has lanes");
}

#[test]
fn a_lane_opens_to_its_heaps_its_types_and_its_functions() {
    let mut window = demo();
    click(&mut window, "Source MemoryTestApp.exe (4660)");
    click(&mut window, "Expand lane MemoryTestApp.exe: Windows NT heaps");
    let heap = "Lane MemoryTestApp.exe: Windows NT heap 0x1d0000 (default)";
    assert!(has(&window, heap));
    assert_eq!(lane_value(&window, heap), "peak 130.00 KB");
    click(&mut window, "Collapse lane MemoryTestApp.exe: Windows NT heaps");
    assert!(!has(&window, heap));
    // Of a layer with one heap the functions are of interest.
    click(&mut window, "Expand lane MemoryTestApp.exe: Commit (VirtualAlloc)");
    let spikes = "Lane MemoryTestApp.exe!ManipulateTemporaryBuffer (Commit (VirtualAlloc))";
    assert!(has(&window, spikes), "with its name");
    click(&mut window, spikes);
    assert!(has(&window, "Remove filter MemoryTestApp.exe!ManipulateTemporaryBuffer"), "a click filters");
    window.get_by_label(spikes).click_secondary();
    settle(&mut window);
    assert!(has(&window, "Exclude this") && has(&window, "What was alive at its peak"));
}

#[test]
fn an_eye_hides_a_lane_and_shows_that_of_one_heap() {
    let mut window = demo();
    let (lane, eye) = ("Lane MemoryTestApp.exe: PhysicsHeap", "Show line of MemoryTestApp.exe: PhysicsHeap");
    // Of the layer and of its only heap: the layer's is above.
    let eyes = window.query_all_by_label(eye);
    eyes.min_by(|a, b| a.rect().top().total_cmp(&b.rect().top())).unwrap().click();
    settle(&mut window);
    assert!(!has(&window, lane));
    let heap = "MemoryTestApp.exe: Windows NT heap 0x6a0000";
    click(&mut window, &format!("Show line of {heap}"));
    assert!(has(&window, &format!("Lane {heap}")));
    assert!(!has(&window, "Lane MemoryTestApp.exe: Windows NT heap 0x1d0000 (default)"), "and no other");
}

#[test]
fn a_selection_stays_until_it_is_taken_away() {
    let mut window = demo();
    select(&mut window, 10.0, 20.0);
    let selected = interval(&window);
    assert_eq!(selected.0, "Selection");
    let elsewhere = at(&window, 30.0);
    window.hover_at(elsewhere);
    window.drag_at(elsewhere);
    window.drop_at(elsewhere);
    settle(&mut window);
    assert_eq!(interval(&window), selected, "a click does not lose it");
    assert!(window.query_all_by_label_contains(" s \u{b7} 10.0").next().is_some(), "its label says what it is");
    click(&mut window, "Clear selection");
    assert_eq!(interval(&window).0, "View");
    click(&mut window, "Back");
    assert_eq!(interval(&window), selected, "and Back brings it back");
    click(&mut window, "Back");
    assert_eq!(interval(&window).0, "View", "the drag was one step");
}

#[test]
fn edges_of_a_selection_can_be_dragged_one_by_one() {
    let mut window = demo();
    select(&mut window, 10.0, 20.0);
    select(&mut window, 20.0, 26.0); // begins at the right edge
    let (_, from, to) = interval(&window);
    assert!((from - 10.0).abs() < 0.1 && (to - 26.0).abs() < 0.1, "{from} {to}");
    select(&mut window, 10.0, 30.0); // the left one beyond the right one
    let (_, from, to) = interval(&window);
    assert!((from - 26.0).abs() < 0.1 && (to - 30.0).abs() < 0.1, "{from} {to}");
    select(&mut window, 5.0, 8.0);
    let (_, from, to) = interval(&window);
    assert!((from - 5.0).abs() < 0.1 && (to - 8.0).abs() < 0.1, "elsewhere a new one begins: {from} {to}");
}

#[test]
fn a_selection_out_of_sight_says_so_and_leads_back() {
    let mut window = demo();
    select(&mut window, 10.0, 12.0);
    let selected = interval(&window);
    let overview = window.get_by_label("Overview of the whole trace").rect();
    let there = |part: f32| egui::pos2(overview.left() + overview.width() * part, overview.center().y);
    drag(&mut window, there(0.8), there(0.95));
    assert_eq!(interval(&window), selected, "the tables go on showing it");
    click(&mut window, "Show the selection");
    assert!(!has(&window, "Show the selection"), "it is in sight");
    assert_eq!(interval(&window), selected);
}

#[test]
fn an_interval_is_selected_and_zoomed_to_by_keys_alone() {
    let mut window = demo();
    press(&mut window, egui::Modifiers::NONE, egui::Key::G);
    for _ in 0..3 {
        press(&mut window, egui::Modifiers::COMMAND, egui::Key::ArrowLeft);
    }
    for _ in 0..2 {
        press(&mut window, egui::Modifiers::COMMAND | egui::Modifiers::SHIFT, egui::Key::ArrowRight);
    }
    press(&mut window, egui::Modifiers::SHIFT, egui::Key::ArrowRight);
    let (what, from, to) = interval(&window);
    // From the middle 3 twentieths to the left; then 2 and a two-hundredth to the right.
    let (begin, end) = (LENGTH * (0.5 - 0.15), LENGTH * (0.5 - 0.05 + 0.005));
    assert_eq!(what, "Selection");
    assert!((from - begin).abs() < 0.05 && (to - end).abs() < 0.05, "{from} {to}");
    press(&mut window, egui::Modifiers::NONE, egui::Key::Enter);
    let (what, from, to) = interval(&window);
    assert_eq!(what, "View");
    assert!((from - begin).abs() < 0.05 && (to - end).abs() < 0.05, "{from} {to}");
    press(&mut window, egui::Modifiers::NONE, egui::Key::Home);
    assert_eq!(interval(&window).1, 0.0);
}

#[test]
fn steps_and_peaks_stand_in_the_lanes_and_lead_to_their_place() {
    let mut window = demo();
    let step = window.query_all_by_label_contains("On the axis: MemoryTestApp.exe: step of +10.00 MB").next().unwrap();
    step.click();
    settle(&mut window);
    let (what, from, to) = interval(&window);
    assert_eq!(what, "Selection");
    assert!(from < 18.3 && 18.2 < to, "{from} {to}");
}

#[test]
fn the_menu_of_the_graph_stays_when_the_pointer_goes_on_into_it_below_the_graph() {
    let mut window = demo();
    let low = at(&window, 12.0) + egui::vec2(0.0, window.get_by_label("Outstanding size over time").rect().height() / 2.0 - 8.0);
    give_menu(&mut window, low);
    let item = window.get_by_label("Set a pin here").rect();
    assert!(!window.get_by_label("Outstanding size over time").rect().contains(item.center()), "it reaches beyond the graph");
    window.hover_at(item.center());
    settle(&mut window);
    click(&mut window, "Set a pin here");
    give_menu(&mut window, low);
    assert!(!window.get_by_label("Remove pins").accesskit_node().is_disabled(), "the pin is set");
}

/// Opens the menu of what is there.
fn give_menu(window: &mut Window, pos: egui::Pos2) {
    window.hover_at(pos);
    window.step();
    for pressed in [true, false] {
        let modifiers = egui::Modifiers::NONE;
        window.event(egui::Event::PointerButton { pos, button: egui::PointerButton::Secondary, pressed, modifiers });
        window.step();
    }
    settle(window);
}

#[test]
fn sources_close_and_are_found_by_name() {
    let mut window = demo();
    click(&mut window, "Collapse source MemoryTestApp.exe (4660)");
    assert!(!has(&window, "Source MemoryTestApp.exe: PhysicsHeap"));
    window.get_by_label("Find sources").focus();
    window.step();
    window.get_by_label("Find sources").type_text("physics");
    settle(&mut window);
    assert!(has(&window, "Source MemoryTestApp.exe: PhysicsHeap"), "what is found is shown");
    assert!(!has(&window, "Source TelemetryService.exe (5120)"));
}

#[test]
fn at_an_instant_everything_speaks_of_what_is_alive_then() {
    let mut window = demo();
    window.get_by_label("Lane MemoryTestApp.exe: Commit (VirtualAlloc)").click_secondary();
    settle(&mut window);
    click(&mut window, "What was alive at its peak");
    let texts = crate::driver::labels(&window);
    let says = |text: &str| texts.iter().any(|label| label.contains(text));
    assert!(says("alive at 33.550 s") && says("\u{b7} 36.00 MB"), "the chip says how much: {texts:?}");
    assert!(has(&window, "At End") && !has(&window, "Impacting Size") && !has(&window, "Peak"), "{texts:?}");
    assert!(says("Alive: Commit (VirtualAlloc) 36.00 MB") && !says("Impacting Size: "), "the status line: {texts:?}");
    assert!(!says("Stayed (Persistent)"), "everything is alive: no level says so: {texts:?}");
    assert!(has(&window, "Process / Heap / Stack"), "the header, neither: {texts:?}");
    let source = value_of(&window, "Source MemoryTestApp.exe: Commit (VirtualAlloc)");
    assert_eq!(source, "36.00 MB alive", "Sources");
    click(&mut window, "MemoryTestApp.exe (4660)");
    press(&mut window, egui::Modifiers::NONE, egui::Key::ArrowDown);
    let texts = crate::driver::labels(&window);
    assert!(texts.iter().any(|label| label.contains(": count ") && label.ends_with(" alive")), "the selected row: {texts:?}");
    assert!(!texts.iter().any(|label| label.contains("impacting size")), "{texts:?}");
    // The order is by what is alive, in Functions and Types too.
    click(&mut window, "Functions");
    crate::driver::choose(&mut window, "Top-down", "By function");
    let texts = crate::driver::labels(&window);
    let at = |name: &str| texts.iter().position(|label| label == name);
    let (main, temporary) = (at("MemoryTestApp.exe!Main"), at("MemoryTestApp.exe!ManipulateTemporaryBuffer"));
    assert!(main.is_some() && temporary.is_some() && main < temporary, "the largest first: {texts:?}");
}

#[test]
fn processes_of_one_name_carry_their_ids_wherever_there_are_two() {
    let game = |pid: u32, name: &str| {
        let told = |time: i64, event: Event| (Record { time, pid: Pid(pid), tid: Tid(2 * pid), event }, Vec::new());
        let info = ProcessInfo { key: pid.into(), parent: 1, name: name.into(), command_line: name.into() };
        let alloc = Event::Alloc { layer: Layer::Heap, heap: 0x10, address: 0x100, size: 4096 * u64::from(pid) };
        [told(1_010, Event::Process(ProcessChange::Start, Box::new(info))), told(1_020 + i64::from(pid), alloc)]
    };
    let mut records: Vec<_> = [game(30, "game.exe"), game(40, "game.exe"), game(50, "tool.exe")].concat();
    records.sort_by_key(|(record, _)| record.time);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.etl");
    std::fs::write(&file, trace(session(false), &records)).unwrap();
    let mut window = window_of(vec![Input::File(file)]);
    for lane in ["game.exe (30)", "game.exe (40)", "tool.exe"] {
        assert!(has(&window, &format!("Lane {lane}: Windows NT heap 0x10 (default)")), "{lane}");
    }
    click(&mut window, "Source game.exe (40): 0x10 (default)");
    assert!(has_containing(&window, "Remove filter game.exe (40) "), "the filter, too");
}

#[test]
fn the_eye_of_a_heap_that_is_drawn_alone_is_open() {
    let mut window = demo();
    let eye = "Show line of MemoryTestApp.exe: Windows NT heap 0x1d0000 (default)";
    let is_open = |window: &Window| {
        let eyes = window.query_all_by_label_contains("Show line of ");
        let eye = eyes.into_iter().find(|node| node.accesskit_node().label().is_some_and(|label| label.contains("0x1d0000")));
        eye.unwrap().accesskit_node().toggled() == Some(egui::accesskit::Toggled::True)
    };
    assert!(!is_open(&window), "{eye}: the lane is that of all heaps");
    click(&mut window, "Source MemoryTestApp.exe: 0x1d0000 (default)");
    assert!(is_open(&window), "the lane is its own now");
}

/// The colour of the bar before the name of a lane or of a line in the legend.
pub fn color_of(window: &Window, label: &str) -> egui::Color32 {
    let name = window.get_by_label(label).rect();
    let is_bar =
        |bar: egui::Rect| (bar.width() - 3.0).abs() < 0.1 && name.contains(bar.center()) && bar.left() < name.left() + 7.0;
    let bars = crate::driver::painted(window).into_iter().filter_map(|shape| match shape {
        egui::Shape::Rect(bar) if is_bar(bar.rect) => Some(bar.fill),
        _ => None,
    });
    bars.last().unwrap_or_else(|| panic!("{label} has no bar"))
}

#[test]
fn a_heap_has_one_colour_in_every_arrangement_and_through_filters() {
    const HEAP: &str = "MemoryTestApp.exe: Windows NT heap 0x1d0000 (default)";
    const LAYER: &str = "Lane MemoryTestApp.exe: Windows NT heaps";
    let mut window = demo();
    let layer = color_of(&window, LAYER);
    click(&mut window, "Source MemoryTestApp.exe: 0x1d0000 (default)");
    let alone = color_of(&window, &format!("Lane {HEAP}"));
    assert_ne!(alone, layer, "it is a source of its own");
    click(&mut window, "Together");
    assert_eq!(color_of(&window, &format!("Line of {HEAP}")), alone, "on one scale, filtered");
    click(&mut window, "Clear filter");
    assert_eq!(color_of(&window, &format!("Line of {HEAP}")), alone, "on one scale with others");
    click(&mut window, "Lanes");
    assert_eq!(color_of(&window, LAYER), layer, "that of all heaps has not changed");
    click(&mut window, "Expand lane MemoryTestApp.exe: Windows NT heaps");
    assert_eq!(color_of(&window, &format!("Lane {HEAP}")), alone, "in an opened lane");
    assert_eq!(color_of(&window, LAYER), layer);
}

#[test]
fn a_heap_keeps_its_colour_after_many_other_lines_were_drawn() {
    const HEAP: &str = "MemoryTestApp.exe: Windows NT heap 0x1d0000 (default)";
    const LAYER: &str = "Lane MemoryTestApp.exe: Windows NT heaps";
    let mut window = demo();
    window.set_size(egui::vec2(1280.0, 1600.0));
    let layer = color_of(&window, LAYER);
    // The parts of a lane take colours, too.
    crate::driver::menu(&mut window, "Lane MemoryTestApp.exe: Commit (VirtualAlloc)", "Functions below it");
    click(&mut window, "Together");
    let heap = color_of(&window, &format!("Line of {HEAP}"));
    assert_ne!(heap, layer);
    click(&mut window, "Lanes");
    click(&mut window, "Collapse lane MemoryTestApp.exe: Commit (VirtualAlloc)");
    click(&mut window, "Expand lane MemoryTestApp.exe: Windows NT heaps");
    assert_eq!((color_of(&window, LAYER), color_of(&window, &format!("Lane {HEAP}"))), (layer, heap));
}

#[test]
fn without_a_pointer_the_legend_says_what_lanes_say() {
    let mut window = demo();
    let lane = value_of(&window, "Lane MemoryTestApp.exe: Commit (VirtualAlloc)");
    click(&mut window, "Together");
    let line = value_of(&window, "Line of MemoryTestApp.exe: Commit (VirtualAlloc)");
    assert_eq!((line.as_str(), lane.lines().next()), ("peak 36.00 MB", Some("peak 36.00 MB")));
    let place = window.get_by_label("Line of MemoryTestApp.exe: Commit (VirtualAlloc)").rect();
    let texts = crate::driver::painted_texts(&window);
    assert!(texts.iter().any(|(text, at)| text == "36.00 MB" && place.contains_rect(*at)), "the number has room");
    assert!(texts.iter().any(|(text, _)| text == "peak in view"), "and what it is stands above");
    let plot = window.get_by_label("Outstanding size over time").rect();
    window.hover_at(plot.center());
    settle(&mut window);
    let line = value_of(&window, "Line of MemoryTestApp.exe: Commit (VirtualAlloc)");
    assert!(!line.starts_with("peak") && line.ends_with('B'), "at the pointer: {line}");
}

#[test]
fn a_lane_has_a_line_of_what_its_reservations_have_committed_unless_filters_leave_parts_of_heaps() {
    let mut window = window_of(vec![Input::Demo]);
    let lane = "Lane TelemetryService.exe: Windows NT heap 0x2a40000";
    let committed = |window: &Window| value_of(window, lane).lines().find(|line| line.starts_with("Dashed: ")).map(str::to_owned);
    // As `highwater pages demo:` says.
    let whole = Some("Dashed: committed where its blocks are, 2.00 MB at the end, 23.1 % of it live".to_owned());
    click(&mut window, "Source TelemetryService.exe: Windows NT heaps");
    settle(&mut window);
    assert_eq!(committed(&window), whole, "a filter to a layer");
    click(&mut window, "Grew (Impacting)");
    click(&mut window, "Filter to this line");
    settle(&mut window);
    assert_eq!(committed(&window), None, "a filter to some blocks");
}

#[test]
fn names_in_the_legend_are_whole_in_small_windows() {
    let mut window = demo();
    click(&mut window, "Together");
    for size in [[1024.0, 640.0], [1280.0, 800.0], [1920.0, 1080.0]] {
        window.set_size(size.into());
        settle(&mut window);
        let lines: Vec<_> = window.query_all_by_label_contains("Line of ").map(|line| line.rect()).collect();
        assert!(lines.len() > 5);
        let names = crate::driver::painted(&window).into_iter().filter_map(|shape| match shape {
            egui::Shape::Text(text) if lines.iter().any(|line| line.contains(text.visual_bounding_rect().center())) => Some(text),
            _ => None,
        });
        let cut: Vec<String> =
            names.filter(|text| text.galley.text().contains('\u{2026}')).map(|text| text.galley.text().to_owned()).collect();
        assert!(cut.is_empty(), "at {size:?}: {cut:?}");
        let graph = window.get_by_label("Outstanding size over time").rect();
        assert!(graph.width() > 0.5 * size[0] - 100.0, "the graph keeps most of the room: {graph} of {size:?}");
    }
}

#[test]
fn a_graph_without_memory_events_says_what_to_record() {
    let info = ProcessInfo { key: 30, parent: 1, name: "game.exe".into(), command_line: "game.exe".into() };
    let event = Event::Process(ProcessChange::Start, Box::new(info));
    let records = [(Record { time: 1_010, pid: Pid(30), tid: Tid(60), event }, Vec::new())];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty.etl");
    std::fs::write(&file, trace(session(false), &records)).unwrap();
    let mut window = window_of(vec![Input::File(file)]);
    let graph = window.get_by_label("Outstanding size over time").rect();
    let reason =
        "This trace has no memory events (heaps, VirtualAlloc, custom allocators), so it has no allocations to show; record";
    let texts = window.query_all_by_label_contains(reason);
    assert!(texts.into_iter().any(|text| graph.contains(text.rect().center())), "not only the table says so");
    for tab in ["findings", "stacks", "functions", "flame", "allocations"] {
        give(&mut window, &format!("tabs: {tab}"));
        settle(&mut window);
        let texts = window.query_all_by_label_contains(reason);
        assert!(texts.into_iter().any(|text| !graph.contains(text.rect().center())), "{tab}");
    }
}
