//! For tests of the real window: if `HIGHWATER_UI_DUMP` names a file, each frame writes to it what a
//! screen reader would receive, one widget a line: role, frame (x y width height in points), and name
//! or value, separated by tabs. The first line is the number of the frame.

use std::fmt::Write;
use std::path::PathBuf;

use eframe::egui;

use crate::paths;

/// Maximum bytes of a frame.
const MOST: u64 = 64 << 20;

/// Installs the writer if the environment variable is set.
pub fn install(ctx: &egui::Context) {
    let Some(path) = std::env::var_os("HIGHWATER_UI_DUMP") else { return };
    ctx.enable_accesskit();
    ctx.add_plugin(Dump { path: path.into() });
}

struct Dump {
    path: PathBuf,
}

impl egui::Plugin for Dump {
    fn debug_name(&self) -> &'static str {
        "accessibility dump"
    }

    fn output_hook(&mut self, ctx: &egui::Context, output: &mut egui::FullOutput) {
        let Some(update) = &output.platform_output.accesskit_update else { return };
        let mut text = format!("Frame\t{}\n", ctx.cumulative_frame_nr());
        for (_, node) in &update.nodes {
            let name = node.label().or_else(|| node.value()).unwrap_or_default();
            let rect = node.bounds().unwrap_or_default();
            let _ = writeln!(
                text,
                "{:?}\t{:.0} {:.0} {:.0} {:.0}\t{}",
                node.role(),
                rect.x0,
                rect.y0,
                rect.width(),
                rect.height(),
                name.replace(['\n', '\t'], " ")
            );
        }
        // A reader never sees a partial file. If writing fails, the next frame tries again.
        let _ = paths::keep(&self.path, &text, MOST);
    }
}
