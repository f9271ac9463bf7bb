//! Undoing and redoing: notes, marks, pins and the box of the overview, each a step of its own.

use eframe::egui::{self, Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::driver::{Window, click, demo, drag_on, give, has, has_containing, interval, press, settle, value_of};
use crate::investigation::write_note;

const GRAPH: &str = "Outstanding size over time";
const OVERVIEW: &str = "Overview of the whole trace";

#[test]
fn a_note_is_edited_in_its_place_and_everything_is_undone_and_redone() {
    let mut window = demo();
    drag_on(&mut window, GRAPH, 0.3, 0.6);
    write_note(&mut window, "leek");
    click(&mut window, "Note: leek");
    assert_eq!(value_of(&window, "Note"), "leek");
    press(&mut window, Modifiers::NONE, Key::Backspace);
    press(&mut window, Modifiers::NONE, Key::Backspace);
    window.get_by_label("Note").type_text("ak");
    settle(&mut window);
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert!(has(&window, "Note: leak") && !has(&window, "Note: leek"));
    let selected = interval(&window);
    press(&mut window, Modifiers::COMMAND, Key::Z);
    assert!(has(&window, "Note: leek"));
    press(&mut window, Modifiers::COMMAND, Key::Z);
    assert!(!has_containing(&window, "Note: "));
    assert_eq!(interval(&window), selected, "the selection is a step of its own");
    press(&mut window, Modifiers::COMMAND, Key::Z);
    assert_eq!(interval(&window).0, "View");
    for _ in 0..3 {
        press(&mut window, Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    }
    assert!(has(&window, "Note: leak"));
    assert_eq!(interval(&window), selected);
    // Escape leaves it as it was; an empty note is none.
    click(&mut window, "Note: leak");
    window.get_by_label("Note").type_text("s of all kinds");
    settle(&mut window);
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(has(&window, "Note: leak"));
    window.get_by_label("Note: leak").click_secondary();
    settle(&mut window);
    click(&mut window, "Remove note");
    assert!(!has_containing(&window, "Note: "));
}

/// The marks and pins on the graph, each without its seconds' fraction.
fn marks_and_pins(window: &Window) -> Vec<String> {
    let names = window.root().children_recursive().filter_map(|node| node.accesskit_node().label().or_else(|| node.value()));
    let own = names.filter(|name| name.starts_with("Your mark ") || name.starts_with("Pin "));
    own.map(|name| name.split('.').next().unwrap_or_default().to_owned()).collect()
}

/// Points at a part of the graph's width, and sets a mark there, or a pin.
fn set_at(window: &mut Window, part: f32, is_pin: bool) {
    let graph = window.get_by_label(GRAPH).rect();
    let at = egui::pos2(graph.left() + graph.width() * part, graph.center().y);
    window.hover_at(at);
    window.step();
    if is_pin {
        for pressed in [true, false] {
            let (button, modifiers) = (egui::PointerButton::Primary, Modifiers::COMMAND);
            window.event_modifiers(egui::Event::PointerButton { pos: at, button, pressed, modifiers }, modifiers);
            window.step();
        }
    } else {
        window.key_press(Key::M);
    }
    settle(window);
}

#[test]
fn marks_and_pins_are_undone_and_redone_like_everything_else() {
    let mut window = demo();
    drag_on(&mut window, GRAPH, 0.3, 0.6);
    let selected = interval(&window);
    let mut stops = vec![marks_and_pins(&window)];
    for (part, is_pin) in [(0.2, false), (0.4, false), (0.5, true), (0.7, true), (0.9, true)] {
        set_at(&mut window, part, is_pin);
        stops.push(marks_and_pins(&window));
    }
    assert!(stops[0].is_empty() && stops[2].len() == 2 && stops[4].len() == 4, "{stops:?}");
    assert!(stops[5].len() == 4 && stops[5] != stops[4], "the nearer pin has moved: {stops:?}");
    set_at(&mut window, 0.4, false);
    stops.push(marks_and_pins(&window));
    assert_eq!(stops[6].len(), 3, "the second mark was removed: {stops:?}");
    give(&mut window, "clear pins");
    assert_eq!(marks_and_pins(&window).len(), 1);
    let told = |stop: usize| stops[stop].join("; ");
    for stop in (0..stops.len()).rev() {
        press(&mut window, Modifiers::COMMAND, Key::Z);
        assert_eq!(marks_and_pins(&window).join("; "), told(stop), "{stop}");
        assert_eq!(interval(&window), selected, "each is a step of its own");
    }
    for stop in 1..stops.len() {
        press(&mut window, Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
        assert_eq!(marks_and_pins(&window).join("; "), told(stop), "{stop}");
    }
    // The difference between the pins comes back with them.
    window.remove_cursor();
    settle(&mut window);
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(value_of(&window, "Lane MemoryTestApp.exe: Commit (VirtualAlloc)").contains("from pin 1 to 2"));
}

#[test]
fn the_box_of_the_overview_is_moved_and_resized() {
    let mut window = demo();
    drag_on(&mut window, OVERVIEW, 0.4, 0.6);
    let (_, from, to) = interval(&window);
    drag_on(&mut window, OVERVIEW, 0.5, 0.6);
    let (_, moved_from, moved_to) = interval(&window);
    assert!(((moved_to - moved_from) - (to - from)).abs() < 0.01, "it keeps its length");
    assert!(moved_from > from + 2.0);
    press(&mut window, Modifiers::COMMAND, Key::Z);
    assert_eq!(interval(&window), ("View".to_owned(), from, to), "a drag is one step");
    // The right edge is dragged to the right.
    drag_on(&mut window, OVERVIEW, 0.6, 0.7);
    let (_, left, right) = interval(&window);
    assert!((left - from).abs() < 0.01 && right > to + 2.0, "{left} {right}");
    // Beside the box a new one begins.
    drag_on(&mut window, OVERVIEW, 0.9, 0.95);
    assert!(interval(&window).1 > 20.0);
}
