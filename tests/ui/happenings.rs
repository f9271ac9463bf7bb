//! Marks, frames and processors in the window: on the graph, as lists, by keys.

use crate::driver::{
    Window, click, click_at, demo, give, has, has_containing, interval, labels, menu, press, settle, value_of, window_of,
};
use crate::first_use::{generated, heap_options, line};
use eframe::egui::{Event, Key, Modifiers, PointerButton, Pos2, pos2};
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::format;
use highwater::query::{Cancel, Index, Mask, ScopeRequest, scope_sums};
use highwater::units::Layer;

const FRAMES: &str = "Lane Frames of MemoryTestApp.exe";
const PROCESSORS: &str = "Lane CPU of MemoryTestApp.exe";

/// Where a second of the demo is in a lane.
fn in_lane(window: &Window, lane: &str, seconds: f32) -> Pos2 {
    let graph = window.get_by_label("Outstanding size over time").rect();
    let lane = window.get_by_label(lane).rect();
    pos2(graph.left() + graph.width() * seconds / 36.06, lane.center().y)
}

/// Two clicks, a frame each: the time between frames of this window is just short enough.
fn double_click_at(window: &mut Window, pos: Pos2) {
    window.hover_at(pos);
    window.step();
    for _ in 0..2 {
        let event = |pressed| Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE };
        window.input_mut().events.extend([event(true), event(false)]);
        window.step();
    }
    settle(window);
}

/// Whether an interval is frame 812, which begins at 26.75 s and lasts as long as two.
fn is_long_frame(from: f32, to: f32) -> bool {
    (26.6..26.9).contains(&from) && (0.05..0.075).contains(&(to - from))
}

#[test]
fn the_marks_of_the_trace_stand_on_the_axis_and_one_that_lasts_is_selected_by_a_click() {
    let mut window = demo();
    for mark in ["Mark Level 1", "Mark Level 2", "Mark Level 3", "Mark Autosave"] {
        assert!(has(&window, mark), "{mark}");
    }
    assert_eq!(value_of(&window, "Marks of the trace"), "4");
    click(&mut window, "Mark Level 2");
    assert_eq!(interval(&window), ("View".to_owned(), 0.0, 36.06), "a moment selects nothing");
    click(&mut window, "Mark Autosave");
    let (what, from, to) = interval(&window);
    assert_eq!(what, "Selection");
    assert!((to - from - 0.055).abs() < 0.002, "{from} {to}");
    give(&mut window, "marks on the graph");
    assert!(!has(&window, "Mark Level 1"), "they can be hidden");
}

/// The text beside an icon of the graph, after the pointer has rested on it.
fn says(window: &mut Window, icon: &str) -> String {
    let at = window.get_by_label(icon).rect().center();
    // The cursor's own text was beside the pointer before.
    for at in [at + eframe::egui::vec2(40.0, 120.0), at] {
        window.hover_at(at);
        (0..6).for_each(|_| window.step());
    }
    window.root().children_recursive().filter_map(|node| node.value()).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_icon_on_the_graph_says_what_it_is_under_a_resting_pointer() {
    let mut window = demo();
    let mark = says(&mut window, "Mark Level 2");
    assert!(mark.contains("Click to put the cursor there") && mark.contains("18.200000 s"), "{mark}");
    let icons = window.query_all_by_label_contains("On the axis: ").filter_map(|node| node.accesskit_node().label());
    let label = icons.into_iter().find(|label| label.contains("step of")).unwrap();
    let finding = says(&mut window, &label);
    assert!(finding.contains("Click to go there"), "{finding}");
    let process = says(&mut window, "On the axis: MemoryTestApp.exe ended");
    assert!(process.contains("MemoryTestApp.exe ended at "), "{process}");
}

#[test]
fn the_menu_of_a_mark_selects_to_the_next_one() {
    let mut window = demo();
    window.set_size(eframe::egui::vec2(1900.0, 1000.0));
    settle(&mut window);
    menu(&mut window, "Mark Level 2", "Select to the next mark");
    let (what, from, to) = interval(&window);
    assert_eq!(what, "Selection");
    assert!((from - 18.2).abs() < 0.01 && is_long_frame(to - 0.06, to), "{from} {to}");
    // Generations are those of the selection, if there is one.
    press(&mut window, Modifiers::NONE, Key::Escape);
    menu(&mut window, "Mark Level 1", "Toggle a generation boundary here");
    menu(&mut window, "Mark Level 2", "Use visible marks as generation boundaries");
    give(&mut window, "tabs: generations");
    assert!(has_containing(&window, "InnerLoopOperation"));
    let texts = window.root().children_recursive().filter_map(|node| node.value());
    let repeats: Vec<String> = texts.filter(|text| text.ends_with(" of 5")).collect();
    // Pages for what leaks: none before the loop, and those of the last generation go with the process.
    // Other programs have caches that grow once.
    assert_eq!(repeats, ["3 of 5", "1 of 5", "1 of 5"], "what leaks leaves something behind after each mark");
}

#[test]
fn edges_of_a_selection_stick_to_marks() {
    let mut window = demo();
    let graph = window.get_by_label("Outstanding size over time").rect();
    let x = |seconds: f32| graph.left() + graph.width() * seconds / 36.06;
    let y = graph.center().y;
    window.drag_at(pos2(x(18.2) + 3.0, y));
    window.step();
    window.hover_at(pos2(x(22.0), y));
    window.step();
    window.drop_at(pos2(x(29.0) - 3.0, y));
    settle(&mut window);
    assert_eq!(interval(&window), ("Selection".to_owned(), 18.2, 29.0));
}

#[test]
fn the_list_of_marks_is_searched_and_leads_to_them() {
    let mut window = demo();
    give(&mut window, "tabs: marks");
    for text in ["Level 1", "Level 2", "Level 3", "Autosave"] {
        assert!(has(&window, text), "{text}");
    }
    window.get_by_label("Autosave").click();
    settle(&mut window);
    assert_eq!(interval(&window).0, "Selection");
    assert!(has(&window, "Level 1"), "the others stay in the list");
    press(&mut window, Modifiers::COMMAND, Key::F);
    window.get_by_label("Search").type_text("level");
    settle(&mut window);
    assert!(has(&window, "Level 3") && !has(&window, "Autosave"));
    // What is out of sight comes into it.
    click(&mut window, "Level 3");
    press(&mut window, Modifiers::NONE, Key::Escape);
    let level = window.get_by_label("Level 3").rect().center();
    double_click_at(&mut window, level);
    let (_, from, to) = interval(&window);
    assert!(from < 29.0 && 29.0 < to && to - from < 4.0, "a double click zooms: {from} {to}");
}

#[test]
fn keys_go_from_mark_to_mark_and_from_frame_to_frame() {
    let mut window = demo();
    for _ in 0..3 {
        press(&mut window, Modifiers::NONE, Key::N);
    }
    // Level 1, Level 2, Autosave.
    assert!((interval(&window).2 - interval(&window).1 - 0.055).abs() < 0.002, "{:?}", interval(&window));
    press(&mut window, Modifiers::NONE, Key::W);
    let (what, from, to) = interval(&window);
    assert!(what == "Selection" && is_long_frame(from, to), "{from} {to}");
    press(&mut window, Modifiers::NONE, Key::F);
    let next = interval(&window);
    assert!((next.1 - to).abs() < 0.0015 && next.2 - next.1 < 0.04, "{next:?}");
    press(&mut window, Modifiers::SHIFT, Key::F);
    assert_eq!(interval(&window), (what, from, to));
    press(&mut window, Modifiers::NONE, Key::Z);
    press(&mut window, Modifiers::NONE, Key::F);
    let (what, from, to) = interval(&window);
    // In a short view times have more decimals.
    let is_next = (from - next.1).abs() < 0.001 && (to - next.2).abs() < 0.001;
    assert!(what == "View" && is_next, "alone in sight it stays alone: {from} {to}");
}

#[test]
fn a_lane_of_frames_reads_them_and_a_click_selects_the_longest_under_it() {
    let mut window = demo();
    assert!(value_of(&window, FRAMES).starts_with("median 31."), "{}", value_of(&window, FRAMES));
    let at = in_lane(&window, FRAMES, 26.78);
    click_at(&mut window, at);
    let (what, from, to) = interval(&window);
    assert!(what == "Selection" && is_long_frame(from, to), "{from} {to}");
    window.hover_at(at);
    window.step();
    window.step();
    assert!(has_containing(&window, "Frame 812: 6"), "what it took");
    assert!(has_containing(&window, "Commit (VirtualAlloc): 10.00 MB allocated"), "and what was allocated in it");
    give(&mut window, "lane of frames");
    assert!(!has(&window, FRAMES));
}

#[test]
fn a_lane_of_processors_says_the_share_of_the_program() {
    let mut window = demo();
    assert!(value_of(&window, PROCESSORS).starts_with("average "), "{}", value_of(&window, PROCESSORS));
    menu(&mut window, PROCESSORS, "Hide this lane");
    assert!(!has(&window, PROCESSORS));
    give(&mut window, "lane of cpu use");
    assert!(has(&window, PROCESSORS));
}

#[test]
fn the_worst_frame_stands_first_and_a_double_click_shows_it_alone() {
    let mut window = demo();
    give(&mut window, "tabs: frames");
    assert!(has_containing(&window, "1,080 frames \u{b7} mean 31."), "what they come to");
    let frames = window.query_all_by_label_contains("Frame 8");
    let first = frames.min_by(|a, b| a.rect().top().total_cmp(&b.rect().top())).unwrap();
    assert_eq!(first.value().as_deref(), Some("Frame 812"));
    click(&mut window, "Frame 812");
    let (what, from, to) = interval(&window);
    assert!(what == "Selection" && is_long_frame(from, to), "{from} {to}");
    assert!(has_containing(&window, "1,080 frames"), "the list is of the view");
    click(&mut window, "Allocated");
    let at = window.get_by_label("Frame 812").rect().center();
    double_click_at(&mut window, at);
    let (what, from, to) = interval(&window);
    assert!(what == "View" && is_long_frame(from, to), "{what} {from} {to}");
    assert!(has_containing(&window, "1 frame \u{b7} 62."));
}

#[test]
fn a_trace_without_them_has_no_lanes_and_says_where_they_come_from() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window_of(generated(&folder, &heap_options()));
    assert!(["Lane Frames", "Lane CPU", "Lane GPU"].into_iter().all(|lane| !has_containing(&window, lane)));
    assert!(!has(&window, "Marks of the trace"));
    give(&mut window, "tabs: frames");
    assert!(has_containing(&window, "The trace has no frames."));
    give(&mut window, "tabs: marks");
    assert!(has_containing(&window, "The trace has no marks."));
}

#[test]
fn gpu_memory_has_lanes_of_its_own_with_values_at_the_pointer_and_of_the_selection() {
    const LANES: [&str; 2] = ["Lane GPU memory, local of ", "Lane GPU memory, non-local of "];
    let folder = tempfile::tempdir().unwrap();
    let options = highwater_dev::synth::Options { gpu: true, ..heap_options() };
    let mut window = window_of(generated(&folder, &options));
    window.set_size(eframe::egui::vec2(1900.0, 1000.0));
    settle(&mut window);
    let value = |window: &Window, lane: &str| window.get_by_label_contains(lane).accesskit_node().value().unwrap();
    for lane in LANES {
        let told = value(&window, lane);
        assert!(told.starts_with("peak ") && told.contains("Budget in view: at most "), "{told}");
    }
    let graph = window.get_by_label("Outstanding size over time").rect();
    let y = window.get_by_label_contains(LANES[0]).rect().center().y;
    let at = |part: f32| pos2(graph.left() + graph.width() * part, y);
    for at in [at(0.5), at(0.6)] {
        window.hover_at(at);
        (0..6).for_each(|_| window.step());
    }
    let told = labels(&window);
    for what in ["MB  used", "MB  committed", "MB  budget"] {
        assert!(told.iter().any(|label| label.ends_with(what)), "{what}: {told:?}");
    }
    window.drag_at(at(0.2));
    window.step();
    window.hover_at(at(0.4));
    window.step();
    window.drop_at(at(0.4));
    window.hover_at(pos2(5.0, 5.0));
    settle(&mut window);
    let told = value(&window, LANES[0]);
    assert!(told.starts_with('+') && told.lines().next().unwrap().ends_with(" selected"), "{told}");
    give(&mut window, "lane of local gpu memory");
    assert!(!has_containing(&window, LANES[0]) && has_containing(&window, LANES[1]));
}

#[test]
fn averages_over_frames_are_columns_for_who_asks_for_them() {
    let mut window = demo();
    window.set_size(eframe::egui::vec2(1900.0, 1000.0));
    settle(&mut window);
    assert!(!has(&window, "Bytes/frame"));
    give(&mut window, "columns: bytes/frame");
    give(&mut window, "columns: allocations/frame");
    give(&mut window, "worst frame in view");
    assert!(has(&window, "Bytes/frame") && has(&window, "Allocations/frame"));
    // One frame, in which one block of 10 MB was committed.
    let values: Vec<String> = window.root().children_recursive().filter_map(|node| node.value()).collect();
    assert!(values.iter().any(|value| value == "1.00"), "{values:?}");
    assert!(values.iter().filter(|value| *value == "10.00 MB").count() >= 2, "size and bytes a frame: {values:?}");
}

#[test]
fn scopes_say_what_their_threads_allocated_each_and_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let options = highwater_dev::synth::Options { pix: true, heaps: 1, processes: 1, ..heap_options() };
    let inputs = generated(&folder, &options);
    let trace =
        highwater::load::load(&highwater::load::Capture::open(&inputs).unwrap(), &mut highwater::load::Unwatched).unwrap();
    let index = Index::scan(std::sync::Arc::new(trace));
    let mask = Mask::all(index.trace());
    let request = ScopeRequest { interval: index.trace().span, process: None, layer: Layer::Heap, mask: &mask };
    let by_name = scope_sums(&index, &request, &Cancel::default()).unwrap();
    let most = &by_name[0];
    assert!(most.allocated_count > 0);

    let mut window = window_of(inputs);
    give(&mut window, "tabs: marks");
    assert!(has(&window, "Allocated") && has(&window, "Allocations"));
    click(&mut window, "Scopes by name");
    let expected =
        [&most.scope, &format::count(most.count), &format::count(most.allocated_count), &format::bytes(most.allocated_size)];
    let told = line(&window, &most.scope).unwrap();
    assert_eq!([&told[0], &told[1], &told[3], &told[4]], expected, "{told:?}");
    menu(&mut window, &most.scope, "List each of them");
    assert!(has(&window, "Start") && !has(&window, "Count"));
    assert!(window.query_all_by_label(&most.scope).count() > 3, "each of them");
    let others = by_name.iter().filter(|other| other.scope != most.scope);
    assert!(others.map(|other| &other.scope).all(|other| !has(&window, other)), "and nothing else");
}

#[test]
fn a_list_without_scopes_has_no_columns_of_allocations() {
    let mut window = demo();
    give(&mut window, "tabs: marks");
    assert!(has(&window, "Allocated") && has(&window, "Scopes by name"), "Autosave is a scope");
    window.get_by_label("Search").focus();
    window.step();
    window.get_by_label("Search").type_text("Level");
    settle(&mut window);
    assert!(has(&window, "Level 1") && !has(&window, "Allocated") && !has(&window, "Scopes by name"));
}

#[test]
fn the_lane_of_commit_is_shown_when_it_is_asked_for_and_its_parts_are_told() {
    const COMMIT: &str = "Lane Commit of MemoryTestApp.exe";
    let mut window = demo();
    assert!(!has(&window, COMMIT), "hidden at first");
    give(&mut window, "lane of commit");
    let told = value_of(&window, COMMIT);
    assert!(told.starts_with("peak ") && told.contains("Most in view:"), "{told}");
    give(&mut window, "lane of commit");
    assert!(!has(&window, COMMIT));
}
