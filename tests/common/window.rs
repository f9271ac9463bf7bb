//! The window without a screen, driven by the names of its widgets.
#![allow(dead_code, reason = "each test uses its own part")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use eframe::egui::{self, Key, Modifiers, pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{HighwaterApp, Options, Settings};
use highwater::format;
use highwater::load::Input;
use highwater::query::GroupNumbers;

pub type Window = Harness<'static, HighwaterApp>;

/// A window of the usual size, when it has come to rest.
pub fn window_set(options: Options, settings: Settings) -> Window {
    let mut window = window_at_work(options, settings);
    settle(&mut window);
    window
}

/// The same with traces, else as the program starts.
pub fn window_of(inputs: Vec<Input>) -> Window {
    window_set(Options { inputs, ..Options::default() }, Settings::default())
}

/// The same with the demo.
pub fn demo() -> Window {
    window_of(vec![Input::Demo])
}

/// The same while it still works.
pub fn window_at_work(options: Options, settings: Settings) -> Window {
    Harness::builder()
        .with_size([1280.0, 800.0])
        .with_max_steps(8)
        .build_eframe(|cc| HighwaterApp::new(&cc.egui_ctx, options, settings))
}

/// Steps until there is something that is called so.
pub fn wait_for(window: &mut Window, label: &str) {
    let start = Instant::now();
    while window.query_all_by_label_contains(label).next().is_none() {
        window.step();
        std::thread::sleep(Duration::from_millis(2));
        if start.elapsed() > Duration::from_secs(60) {
            let nodes = window.root().children_recursive();
            let texts: Vec<String> = nodes.filter_map(|n| n.accesskit_node().label().or_else(|| n.value())).collect();
            panic!("no {label}; there are {texts:?}");
        }
    }
}

/// Steps until nothing is loaded or computed any more.
pub fn settle(window: &mut Window) {
    let start = Instant::now();
    let mut quiet = 0;
    while quiet < 4 {
        window.step();
        quiet = if window.state().is_busy() { 0 } else { quiet + 1 };
        std::thread::sleep(Duration::from_millis(2));
        assert!(start.elapsed() < Duration::from_secs(60), "the window does not come to rest");
    }
}

/// Whether something is called so.
pub fn has(window: &Window, label: &str) -> bool {
    window.query_all_by_label(label).next().is_some()
}

/// Whether the name of something has this in it.
pub fn has_containing(window: &Window, label: &str) -> bool {
    window.query_all_by_label_contains(label).next().is_some()
}

/// The values of all labels, as they are told.
pub fn labels(window: &Window) -> Vec<String> {
    let nodes = window.root().children_recursive().filter(|n| n.accesskit_node().role() == egui::accesskit::Role::Label);
    nodes.filter_map(|n| n.value().or_else(|| n.accesskit_node().label())).collect()
}

/// What something with this label says.
pub fn value_of(window: &Window, label: &str) -> String {
    window.get_by_label(label).accesskit_node().value().unwrap_or_default()
}

/// What the status bar says of the interval of the tables: view or selection, and from when to when, in seconds.
pub fn interval(window: &Window) -> (String, f32, f32) {
    let texts = window.root().children_recursive().filter_map(|node| node.value().or_else(|| node.accesskit_node().label()));
    let is_it = |text: &String| (text.starts_with("View: ") || text.starts_with("Selection: ")) && text.contains(" s to ");
    let text = texts.into_iter().find(is_it).unwrap();
    let (what, rest) = text.split_once(": ").unwrap();
    let mut words = rest.split(' ');
    let from = words.next().unwrap().parse().unwrap();
    (what.to_owned(), from, words.nth(2).unwrap().parse().unwrap())
}

/// Clicks on what is called so.
pub fn click(window: &mut Window, label: &str) {
    window.get_by_label(label).click();
    settle(window);
}

/// Shows a tab, also one that is behind *More*.
pub fn show_tab(window: &mut Window, name: &str) {
    give(window, &format!("tabs: {name}"));
}

/// Chooses something else in a list that shows what is chosen.
pub fn choose(window: &mut Window, from: &str, to: &str) {
    window.get_by_value(from).click();
    settle(window);
    click(window, to);
}

/// Takes an item from the menu of a line.
pub fn menu(window: &mut Window, line: &str, item: &str) {
    window.get_by_label(line).click_secondary();
    settle(window);
    click(window, item);
}

pub fn press(window: &mut Window, modifiers: Modifiers, key: Key) {
    window.key_press_modifiers(modifiers, key);
    settle(window);
}

/// Opens the palette and types into it.
pub fn palette(window: &mut Window, typed: &str) {
    press(window, Modifiers::COMMAND, Key::P);
    window.get_by_label("Command").type_text(typed);
    settle(window);
}

/// Gives a command by letters of its name, wherever the window has a place for it.
pub fn give(window: &mut Window, command: &str) {
    palette(window, command);
    press(window, Modifiers::NONE, Key::Enter);
}

/// Clicks at a point, wherever there is something.
pub fn click_at(window: &mut Window, at: egui::Pos2) {
    window.hover_at(at);
    window.step();
    window.drag_at(at);
    window.step();
    window.drop_at(at);
    settle(window);
}

/// Drags over a widget between two parts of its width, 0 to 1.
pub fn drag_on(window: &mut Window, label: &str, from: f32, to: f32) {
    let plot = window.get_by_label(label).rect();
    let at = |part: f32| pos2(plot.left() + plot.width() * part, plot.center().y);
    window.drag_at(at(from));
    window.step();
    for i in 1..=3 {
        window.hover_at(at(from + (to - from) * i as f32 / 3.0));
        window.step();
    }
    window.drop_at(at(to));
    settle(window);
}

/// What the columns of a table say of a group.
pub fn columns(n: &GroupNumbers) -> [String; 6] {
    [
        format::count(n.count),
        format::signed_bytes(n.impacting_size),
        format::bytes(n.size),
        format::bytes(n.outstanding_from),
        format::bytes(n.outstanding_to),
        format::bytes(n.peak),
    ]
}

/// Each shape of the last frame, those in groups one by one.
pub fn painted(window: &Window) -> Vec<egui::Shape> {
    fn each(shape: &egui::Shape, all: &mut Vec<egui::Shape>) {
        match shape {
            egui::Shape::Vec(shapes) => shapes.iter().for_each(|shape| each(shape, all)),
            shape => all.push(shape.clone()),
        }
    }
    let mut all = Vec::new();
    window.output().shapes.iter().for_each(|clipped| each(&clipped.shape, &mut all));
    all
}

/// The texts of the last frame, and where they stand.
pub fn painted_texts(window: &Window) -> Vec<(String, egui::Rect)> {
    let text = |shape: egui::Shape| match shape {
        egui::Shape::Text(text) => Some((text.galley.text().to_owned(), text.visual_bounding_rect())),
        _ => None,
    };
    painted(window).into_iter().filter_map(text).collect()
}

/// A file as the system hands it over when it is dropped.
#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|e| e.to_string())
    }
}

/// The same, to be dropped on the window.
pub fn dropped(file: &Path) -> egui::DroppedFileHandle {
    Arc::new(Dropped(file.to_owned()))
}

/// Drops a file on the window.
pub fn drop_file(window: &mut Window, file: &Path) {
    window.input_mut().dropped_files.push(dropped(file));
    settle(window);
}
