//! Pictures of a part of the window as files, from the command to the file.

use std::path::Path;

use crate::driver::{Window, press, settle};
use crate::painter::Painter;
use eframe::egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use highwater::app::{HighwaterApp, Options, Settings};
use highwater::load::Input;

fn demo() -> Window {
    let options = Options { inputs: vec![Input::Demo], ..Options::default() };
    let builder = Harness::builder().with_size([1280.0, 800.0]).with_max_steps(8).renderer(Painter::default());
    let mut window = builder.build_eframe(|cc| HighwaterApp::new(&cc.egui_ctx, options, Settings::default()));
    settle(&mut window);
    window
}

/// Gives a command by its name, and types the path for which it asks: here is no dialog.
fn export(window: &mut Window, command: &str, file: &Path) {
    press(window, Modifiers::COMMAND, Key::P);
    window.get_by_label("Command").type_text(command);
    settle(window);
    press(window, Modifiers::NONE, Key::Enter);
    let start = std::time::Instant::now();
    while window.query_all_by_label("Path").next().is_none() {
        window.step();
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(start.elapsed().as_secs() < 30, "no path is asked for");
    }
    window.get_by_label("Path").type_text(file.to_str().unwrap());
    settle(window);
    press(window, Modifiers::NONE, Key::Enter);
}

#[test]
#[cfg_attr(any(windows, target_os = "macos"), ignore = "the system shows its dialog")]
fn the_graph_and_the_view_in_sight_become_files_that_show_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = demo();
    let plot = window.get_by_label("Outstanding size over time").rect();

    let graph = folder.path().join("graph.svg");
    export(&mut window, "graph: export picture as svg", &graph);
    let svg = std::fs::read_to_string(&graph).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains(">PhysicsHeap</text>") && svg.contains(">10 s</text>"), "lanes and the axis of time");
    assert!(!svg.contains("Impacting Size"), "the table is no part of it");

    let pixels = folder.path().join("graph");
    export(&mut window, "graph: export picture as png", &pixels);
    let image = image::open(folder.path().join("graph.png")).unwrap().to_rgba8();
    let whole = window.render().unwrap();
    assert!(image.width() > plot.width() as u32 && image.width() < whole.width());
    assert!(image.height() >= plot.height() as u32 && image.height() < whole.height() / 2);
    let colors: std::collections::HashSet<_> = image.pixels().collect();
    assert!(colors.len() > 100, "it is not empty");

    let table = folder.path().join("table.svg");
    export(&mut window, "visible tab: export picture as svg", &table);
    let svg = std::fs::read_to_string(&table).unwrap();
    assert!(svg.contains(">Impacting Size</text>") && svg.contains(">+3.00 MB</text>"), "the table as it reads");
    assert!(!svg.contains(">10 s</text>"), "the graph is no part of it");
}
