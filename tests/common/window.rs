//! The window without a screen, driven by the names of its widgets.

use std::time::{Duration, Instant};

use egui_kittest::Harness;
use highwater::app::{HighwaterApp, Options, Settings};

pub type Window = Harness<'static, HighwaterApp>;

/// A window of the usual size, when it has come to rest.
pub fn window_set(options: Options, settings: Settings) -> Window {
    let mut window = Harness::builder()
        .with_size([1280.0, 800.0])
        .with_max_steps(8)
        .build_eframe(|cc| HighwaterApp::new(&cc.egui_ctx, options, settings));
    settle(&mut window);
    window
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
