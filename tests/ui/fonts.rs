//! Names in scripts that the window's own fonts lack are drawn with fonts of the system.
#![allow(clippy::print_stdout, reason = "a test says why it was skipped")]

use crate::driver::{Window, settle};
use eframe::egui::epaint::text::FallbackRequest;
use eframe::egui::{FontFamily, FontId, FontProvider};
use egui_kittest::Harness;
use egui_system_font_provider::SystemFontProvider;
use highwater::app::{HighwaterApp, Options, Settings};
use highwater::load::Input;

/// A window with this name in a message: of a file that is not there.
fn window(name: &str) -> Window {
    let inputs = vec![Input::File(format!("/nowhere/{name}.etl").into())];
    let options = Options { inputs, ..Options::default() };
    let builder = Harness::builder().with_size([1280.0, 800.0]).with_max_steps(8).allow_missing_glyphs();
    let mut window = builder.build_eframe(|cc| HighwaterApp::new(&cc.egui_ctx, options, Settings::default()));
    settle(&mut window);
    window
}

#[test]
fn fonts_of_the_system_come_with_the_names_that_need_them() {
    let system = SystemFontProvider::new();
    for (script, name) in [("Hangul", "\u{d55c}\u{ae00}"), ("Han", "\u{6f22}\u{5b57}"), ("Armenian", "\u{540}\u{561}\u{575}")] {
        let is_installed = system.font_for(&FallbackRequest { cluster: name, family: &FontFamily::Proportional }).is_some();
        let window = window(name);
        if !is_installed {
            println!("skipped: this machine has no font for {script}");
            continue;
        }
        for font in [FontId::proportional(14.0), FontId::monospace(12.0)] {
            let has = window.ctx.fonts_mut(|fonts| fonts.has_glyphs(&font, name));
            assert!(has, "{script} in {font:?}");
        }
    }
    // What is there anyway needs none.
    let window = window("\u{421}\u{43f}\u{443}\u{442}\u{43d}\u{438}\u{43a} \u{39b}\u{3cc}\u{3b3}\u{3bf}\u{3c2}");
    let found = window.ctx.fonts_mut(|fonts| fonts.has_glyphs(&FontId::proportional(14.0), "\u{421}\u{39b}"));
    assert!(found, "Cyrillic and Greek");
}
