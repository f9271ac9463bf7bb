//! The parts of the window can be moved, split and chosen from presets; what can be seen is
//! answered, and keys act on the part that was pressed last.

use crate::driver::{Window, demo, give, has, has_containing, settle};
use eframe::egui::{self, Key, Modifiers, Pos2};
use egui_kittest::kittest::{NodeT, Queryable};

fn middle(window: &Window, label: &str) -> Pos2 {
    window.get_by_label(label).rect().center()
}

fn drag(window: &mut Window, from: Pos2, to: Pos2) {
    let button = |pos, pressed| egui::Event::PointerButton {
        pos,
        button: egui::PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    };
    window.event(egui::Event::PointerMoved(from));
    window.step();
    window.event(button(from, true));
    window.step();
    for part in 1..=6 {
        window.event(egui::Event::PointerMoved(from + (to - from) * (part as f32 / 6.0)));
        window.step();
    }
    window.event(button(to, false));
    settle(window);
}

fn press_at(window: &mut Window, at: Pos2) {
    for pressed in [true, false] {
        let button = egui::PointerButton::Primary;
        window.event(egui::Event::PointerMoved(at));
        window.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers: Modifiers::NONE });
        window.step();
    }
    settle(window);
}

#[test]
fn a_preset_shows_two_views_and_both_are_answered() {
    let mut window = demo();
    assert!(!has_containing(&window, "Inverted"), "only the stacks are in sight");
    give(&mut window, "layout spike");
    assert!(has_containing(&window, "Grew (Impacting)"), "the stacks are there");
    assert!(has_containing(&window, "Flame graph of"), "and the flame graph beside them is drawn");
    let [stacks, flame] = ["Stacks", "Flame"].map(|tab| middle(&window, tab));
    assert!(flame.x > stacks.x + 200.0 && (flame.y - stacks.y).abs() < 2.0, "side by side: {stacks} {flame}");
    give(&mut window, "layout first");
    assert!(
        has_containing(&window, "Grew (Impacting)") && !has_containing(&window, "Flame graph of"),
        "one behind the other again"
    );
}

#[test]
fn keys_and_search_go_to_the_part_that_was_pressed() {
    let mut window = demo();
    give(&mut window, "layout leak");
    window.get_by_label("Freed by").click();
    settle(&mut window);
    assert_eq!(window.query_all_by_label("Search").count(), 2, "each table has its own search");
    let type_there = |window: &mut Window, text: &str| {
        window.key_press_modifiers(Modifiers::COMMAND, Key::F);
        window.step();
        window.event(egui::Event::Text(text.to_owned()));
        settle(window);
        window.key_press_modifiers(Modifiers::NONE, Key::Enter);
        settle(window);
    };
    let searches = |window: &Window| {
        let mut fields: Vec<_> =
            window.query_all_by_label("Search").map(|node| (node.rect().left(), node.value().unwrap_or_default())).collect();
        fields.sort_by(|a, b| a.0.total_cmp(&b.0));
        fields.into_iter().map(|(_, text)| text).collect::<Vec<_>>()
    };
    type_there(&mut window, "alpha");
    assert_eq!(searches(&window), ["", "alpha"], "the tab that was clicked last has the keys");
    let below_stacks = middle(&window, "Stacks") + egui::vec2(60.0, 230.0);
    press_at(&mut window, below_stacks);
    type_there(&mut window, "beta");
    assert_eq!(searches(&window), ["beta", "alpha"], "the part that was pressed last has them");
    window.key_press(Key::F6);
    settle(&mut window);
    type_there(&mut window, " gamma");
    let [stacks, freed] = &searches(&window)[..] else { panic!("two searches") };
    assert!(stacks == "beta" && freed.contains("gamma"), "and by a key the next one: {stacks}, {freed}");
    window.key_press_modifiers(Modifiers::COMMAND, Key::PageDown);
    settle(&mut window);
    assert!(window.query_all_by_label_contains(" frames \u{b7} mean").next().is_some(), "the next tab: Frames");
}

#[test]
fn tabs_about_what_the_trace_does_not_have_are_hidden_until_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heap.etl");
    let options = highwater_dev::synth::Options { events: 2000, ..Default::default() };
    highwater_dev::synth::generate(&options, std::fs::File::create(&path).unwrap()).unwrap();
    let mut window = crate::driver::window_of(vec![highwater::load::Input::File(path)]);
    assert!(has(&window, "Functions") && has(&window, "Compare"));
    for tab in ["Frames", "Marks", "CPU", "Freed before"] {
        assert!(!has(&window, tab), "{tab}");
        give(&mut window, &format!("tabs: {tab}"));
        assert!(has(&window, tab), "{tab} is asked for");
        give(&mut window, "tabs: stacks");
        assert!(!has(&window, tab), "{tab}");
    }
}

#[test]
fn a_tab_that_is_dragged_to_the_side_stands_beside_the_others() {
    let mut window = demo();
    give(&mut window, "tabs: generations");
    give(&mut window, "tabs: stacks");
    let from = middle(&window, "Generations");
    // Far from the tabs, which reach to the right edge: near them it would be one of them.
    drag(&mut window, from, Pos2::new(1240.0, 730.0));
    let [stacks, moved] = ["Stacks", "Generations"].map(|tab| middle(&window, tab));
    assert!(moved.x > stacks.x + 250.0, "{stacks} {moved}");
    assert!(has_containing(&window, "Grew (Impacting)") && has_containing(&window, "Mark the moments"), "both are in sight");

    // The list of sources has no tab: it is moved by its grip.
    let left = middle(&window, "Source MemoryTestApp.exe (4660)").x;
    assert!(left < 300.0);
    let grip = middle(&window, "Move sources");
    drag(&mut window, grip, Pos2::new(1270.0, 300.0));
    assert!(middle(&window, "Source MemoryTestApp.exe (4660)").x > 700.0, "they stand at the right now");

    give(&mut window, "layout first");
    assert!(middle(&window, "Source MemoryTestApp.exe (4660)").x < 300.0 && !has_containing(&window, "Mark the moments"));
}

#[test]
fn the_list_of_sources_keeps_its_width_and_can_be_hidden() {
    let mut window = demo();
    let width = |window: &Window| middle(window, "Move sources").x;
    let before = width(&window);
    window.set_size(egui::vec2(1900.0, 900.0));
    settle(&mut window);
    assert!((width(&window) - before).abs() < 3.0, "{before} {}", width(&window));
    give(&mut window, "list of sources");
    assert!(!has_containing(&window, "Source MemoryTestApp.exe"));
    give(&mut window, "list of sources");
    assert!(has_containing(&window, "Source MemoryTestApp.exe"));
    assert!((width(&window) - before).abs() < 3.0, "where it was: {before} {}", width(&window));
}

#[test]
fn a_row_of_many_tabs_has_the_frequent_ones_and_more() {
    let mut window = demo();
    window.set_size(egui::vec2(1024.0, 640.0));
    settle(&mut window);
    let places =
        ["Findings", "Stacks", "Functions", "Flame", "Allocations", "Compare", "More tabs"].map(|tab| middle(&window, tab).x);
    assert!(places.is_sorted() && places[6] < 1024.0, "{places:?}");
    assert!(!has(&window, "Symbols") && !has(&window, "Frames"));
    window.get_by_label("More tabs").click();
    settle(&mut window);
    window.get_by_label("Symbols").click();
    settle(&mut window);
    assert!(middle(&window, "Symbols").x < middle(&window, "More tabs").x, "it has a place in the row");
    window.get_by_label("Stacks").click();
    settle(&mut window);
    assert!(has(&window, "Symbols"), "and keeps it until another one takes that");
    give(&mut window, "tabs: marks");
    assert!(has(&window, "Marks") && !has(&window, "Symbols"));
}

#[test]
fn a_tab_without_contents_says_so_and_no_trace_opens_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heap.etl");
    let options = highwater_dev::synth::Options { events: 2000, ..Default::default() };
    highwater_dev::synth::generate(&options, std::fs::File::create(&path).unwrap()).unwrap();
    let mut window = demo();
    give(&mut window, "tabs: frames");
    assert!(has_containing(&window, " frames \u{b7} mean "));
    crate::driver::drop_file(&mut window, &path);
    crate::driver::wait_for(&mut window, "Trace heap.etl");
    settle(&mut window);
    assert!(!has_containing(&window, "This trace has no frames") && has(&window, "Collapse all"), "its Stacks are in front");
    window.get_by_label("More tabs").click();
    settle(&mut window);
    assert_eq!(crate::driver::value_of(&window, "Frames"), "No frames in this trace", "the reason stands beside the name");
}

#[test]
fn a_tab_that_is_dropped_beside_a_table_stands_beside_all_tabs() {
    let mut window = demo();
    let from = middle(&window, "Flame");
    // The right part of the table, not the edge of the window.
    drag(&mut window, from, Pos2::new(1180.0, 650.0));
    let [stacks, flame] = ["Stacks", "Flame"].map(|tab| middle(&window, tab));
    assert!(!has_containing(&window, "Stacks + "), "no tab within a tab");
    assert!(flame.x > stacks.x + 250.0 && (flame.y - stacks.y).abs() < 2.0, "{stacks} {flame}");
    window.get_by_label("Functions").click();
    settle(&mut window);
    assert!(has(&window, "Flame") && has_containing(&window, "Flame graph of"), "it stays in sight");
}

#[test]
fn a_tab_that_is_dropped_at_the_edge_of_the_window_has_room_there() {
    let mut window = demo();
    window.set_size(egui::vec2(1366.0, 700.0));
    settle(&mut window);
    let sources = middle(&window, "Move sources").x;
    let from = middle(&window, "Flame");
    drag(&mut window, from, Pos2::new(1360.0, 580.0));
    settle(&mut window);
    let [stacks, flame] = ["Stacks", "Flame"].map(|tab| middle(&window, tab));
    assert!(flame.y < stacks.y - 100.0, "it stands beside the graph too: {stacks} {flame}");
    assert!(flame.x > 800.0 && flame.x < 1_060.0, "it has about a third of the window: {flame}");
    assert!((middle(&window, "Move sources").x - sources).abs() < 3.0, "the list of sources keeps its width");
}

#[test]
fn nothing_moves_when_a_filter_comes_or_goes() {
    let mut window = demo();
    let before = middle(&window, "Stacks");
    window.get_by_label("Source MemoryTestApp.exe: PhysicsHeap").click();
    settle(&mut window);
    assert!(has_containing(&window, "Remove filter "));
    assert_eq!(middle(&window, "Stacks"), before);
}

#[test]
fn the_interval_beside_chips_is_whole_in_a_small_window() {
    let mut window = demo();
    for source in [
        "MemoryTestApp.exe: Commit (VirtualAlloc)",
        "MemoryTestApp.exe: PhysicsHeap",
        "TelemetryService.exe: Commit (VirtualAlloc)",
    ] {
        crate::driver::menu(&mut window, &format!("Source {source}"), "Exclude this");
    }
    window.set_size(egui::vec2(1024.0, 640.0));
    settle(&mut window);
    assert_eq!(window.query_all_by_label_contains("Remove filter ").count(), 3);
    let intervals = crate::driver::painted(&window).into_iter().filter_map(|shape| match shape {
        egui::Shape::Text(text) if text.galley.text().contains("0.000 s to 36.060 s") => Some(text.galley.elided),
        _ => None,
    });
    assert_eq!(intervals.collect::<Vec<_>>(), [false]);
    assert!(middle(&window, "Together").x < 1024.0);
}

#[test]
fn findings_are_in_reach_in_every_layout_of_a_small_window() {
    let mut window = demo();
    window.set_size(egui::vec2(1024.0, 640.0));
    for layout in ["leak", "spike", "compare", "wpa", "flame graphs", "first"] {
        give(&mut window, &format!("layout {layout}"));
        let button = window.get_by_label_contains("25 findings").rect();
        assert!(button.height() > 10.0 && button.bottom() < 640.0, "{layout}: {button}");
    }
}

/// The tools above a table whose tab is called so: what can be clicked between the row of tabs and what is 90 points below it.
fn tools(window: &Window, tab: &str) -> Vec<(String, egui::Rect)> {
    use egui::accesskit::Role;
    let row = window.get_by_label(tab).rect();
    let left = row.left() - 10.0;
    let all = window.root().children_recursive().filter(|node| node.accesskit_node().bounding_box().is_some());
    let is_tool = |role| matches!(role, Role::Button | Role::ComboBox | Role::CheckBox | Role::TextInput);
    let tools = all.filter(|node| is_tool(node.accesskit_node().role())).map(|node| {
        let name = node.accesskit_node().label().or_else(|| node.value()).unwrap_or_default();
        (name, node.rect())
    });
    tools.filter(|(_, rect)| rect.top() > row.bottom() && rect.top() < row.bottom() + 80.0 && rect.left() > left).collect()
}

#[test]
fn tools_beside_a_table_are_in_reach_in_a_small_window() {
    let mut window = demo();
    window.set_size(egui::vec2(1024.0, 640.0));
    for (layout, tabs) in [
        ("spike", ["Flame", "Types", "Histograms"]),
        ("leak", ["Generations", "Allocations", "Freed by"]),
        ("flame graphs", ["CPU", "CPU", "CPU"]),
    ] {
        give(&mut window, &format!("layout {layout}"));
        for tab in tabs {
            window.get_by_label(tab).click();
            settle(&mut window);
            let tools = tools(&window, tab);
            assert!(!tools.is_empty(), "{tab} has tools");
            for (name, rect) in tools {
                assert!(rect.right() <= 1024.0, "{layout}, {tab}: {name} ends at {}", rect.right());
            }
        }
    }
    // The pointer reaches what stood beyond the edge.
    give(&mut window, "layout spike");
    window.get_by_label("Flame").click();
    settle(&mut window);
    let is_turned = |window: &Window| {
        let flame = window.get_by_label("Flame").rect().left();
        let all = window.query_all_by_label("Bottom-up").filter(|node| node.rect().left() > flame - 10.0);
        let [button] = &all.collect::<Vec<_>>()[..] else { panic!("one button") };
        (button.rect().center(), button.accesskit_node().toggled() == Some(egui::accesskit::Toggled::True))
    };
    let (at, before) = is_turned(&window);
    press_at(&mut window, at);
    assert_eq!((before, is_turned(&window).1), (false, true));
}

#[test]
fn a_small_window_has_room_for_three_lanes_beside_findings_in_the_layouts_of_two_tables() {
    let mut window = demo();
    window.set_size(egui::vec2(1024.0, 640.0));
    for layout in ["leak", "spike"] {
        give(&mut window, &format!("layout {layout}"));
        let lanes: Vec<egui::Rect> = window
            .query_all_by_label_contains("Lane ")
            .filter(|node| node.accesskit_node().label().is_some_and(|name| name.starts_with("Lane ")))
            .map(|node| node.rect())
            .collect();
        assert!(lanes.len() >= 3, "{layout}: {lanes:?}");
        let lowest = lanes.iter().map(|lane| lane.bottom()).fold(0.0, f32::max);
        assert!(lowest < window.get_by_label_contains("25 findings").rect().top(), "{layout}: whole ones");
        assert!(lanes.iter().all(|lane| lane.height() >= 33.0), "{layout}: readable ones: {lanes:?}");
    }
}
