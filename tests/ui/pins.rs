//! Pins on the graph: two moments, and what changed between them.

use crate::driver::{Window, demo, give, has_containing, painted_texts, settle, value_of};
use eframe::egui::{self, PointerButton, Rect, pos2};
use egui_kittest::kittest::Queryable;

/// The demo with two pins at these seconds; the pointer is elsewhere, else lanes read what is there.
fn pinned(seconds: [f32; 2]) -> Window {
    let mut window = demo();
    let graph = window.get_by_label("Outstanding size over time").rect();
    for seconds in seconds {
        let at = pos2(graph.left() + graph.width() * seconds / 36.06, graph.center().y);
        window.hover_at(at);
        window.step();
        for pressed in [true, false] {
            let (button, modifiers) = (PointerButton::Primary, egui::Modifiers::COMMAND);
            window.event_modifiers(egui::Event::PointerButton { pos: at, button, pressed, modifiers }, modifiers);
            window.step();
        }
        settle(&mut window);
    }
    window.remove_cursor();
    settle(&mut window);
    window
}

#[test]
fn two_pins_show_what_changed_between_them() {
    let mut window = pinned([17.4, 19.4]);
    let lane = value_of(&window, "Lane MemoryTestApp.exe: Commit (VirtualAlloc)");
    assert!(lane.starts_with("+10.00 MB from pin 1 to 2"), "{lane}");
    assert!(!has_containing(&window, "+10.00 MB  "), "nothing lies over the lanes");
    give(&mut window, "graph: together");
    assert!(has_containing(&window, "+10.00 MB  MemoryTestApp.exe"));
}

#[test]
fn pins_are_numbered_in_the_order_of_time_and_their_names_cover_no_text() {
    // Far apart, close together, at both edges.
    for seconds in [[20.0, 10.0], [17.4, 17.6], [17.4, 19.4], [0.1, 0.3], [34.0, 35.5], [35.8, 35.9]] {
        let window = pinned(seconds);
        let graph = window.get_by_label("Outstanding size over time").rect();
        let texts = painted_texts(&window);
        let pins: Vec<&(String, Rect)> = texts.iter().filter(|(text, _)| text.starts_with("Pin ")).collect();
        let names: Vec<&str> = pins.iter().map(|(text, _)| text.as_str()).collect();
        let [first, second] = names[..] else { panic!("{seconds:?}: {names:?}") };
        assert!(first == "Pin 1" && second.starts_with("Pin 2, ") && second.ends_with(" after 1"), "{seconds:?}: {names:?}");
        for (pin, place) in &pins {
            assert!(graph.x_range().contains(place.left()) && place.right() <= graph.right() + 0.5, "{seconds:?}: {pin} {place}");
            let over = texts.iter().find(|(text, other)| text != pin && !text.is_empty() && other.intersects(*place));
            assert!(over.is_none(), "{seconds:?}: {pin} {place} stands over {over:?}");
        }
    }
}
