//! The window's behaviour, driven by the names of its widgets, without a screen.
#![cfg(feature = "gui")]

use std::time::{Duration, Instant};

use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{HighwaterApp, Options, Settings};
use highwater::load::Input;

type Window = Harness<'static, HighwaterApp>;

fn window(inputs: Vec<Input>) -> Window {
    let options = Options { inputs, ..Options::default() };
    let mut window = Harness::builder()
        .with_size([1280.0, 800.0])
        .with_max_steps(8)
        .build_eframe(|cc| HighwaterApp::new(&cc.egui_ctx, options, Settings::default()));
    settle(&mut window);
    window
}

/// Steps until nothing is loaded or computed any more.
fn settle(window: &mut Window) {
    let start = Instant::now();
    let mut quiet = 0;
    while quiet < 4 {
        window.step();
        quiet = if window.state().is_busy() { 0 } else { quiet + 1 };
        std::thread::sleep(Duration::from_millis(2));
        assert!(start.elapsed() < Duration::from_secs(60), "the window does not come to rest");
    }
}

fn click(window: &mut Window, label: &str) {
    window.get_by_label(label).click();
    settle(window);
}

fn has(window: &Window, label: &str) -> bool {
    window.query_all_by_label(label).next().is_some()
}

fn has_containing(window: &Window, label: &str) -> bool {
    window.query_all_by_label_contains(label).next().is_some()
}

/// The texts of the table's line that begins with `name`.
fn line(window: &Window, name: &str) -> Option<Vec<String>> {
    let top = window.get_by_label("Search").rect().bottom();
    let labels = || window.query_all_by_role(egui_kittest::kittest::by().role_hint());
    let _ = labels;
    let first = window.query_all_by_label(name).find(|n| n.rect().top() > top && n.rect().left() > 290.0)?;
    let y = first.rect().center().y;
    let mut cells: Vec<(f32, String)> = window
        .root()
        .children_recursive()
        .filter(|n| (n.rect().center().y - y).abs() < 3.0 && n.rect().left() >= first.rect().left())
        .filter(|n| n.accesskit_node().role() == egui::accesskit::Role::Label)
        .filter_map(|n| Some((n.rect().left(), n.accesskit_node().value().or_else(|| n.accesskit_node().label())?)))
        .collect();
    cells.sort_by(|a, b| a.0.total_cmp(&b.0));
    Some(cells.into_iter().map(|(_, text)| text).collect())
}
