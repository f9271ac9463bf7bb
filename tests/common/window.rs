//! The window without a screen, driven by the names of its widgets.
#![allow(dead_code, reason = "each test uses its own part")]

use std::time::{Duration, Instant};

use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use highwater::app::{HighwaterApp, Options, Settings};

pub type Window = Harness<'static, HighwaterApp>;

/// A window of the usual size, when it has come to rest.
pub fn window_set(options: Options, settings: Settings) -> Window {
    let mut window = window_at_work(options, settings);
    settle(&mut window);
    window
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
