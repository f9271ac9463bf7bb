//! What frames cost: if `HIGHWATER_FRAME_TIMES` names a file, each pass of the window
//! adds a line there: number of the frame, milliseconds of logic, of the rest of the
//! pass (panels and egui's own work), and of tessellation, then the triangles' corners.
//!
//! Painting and waiting for the screen are left out. The time is that of the clock:
//! on a machine that is busy otherwise it is an upper bound. Tessellation is measured
//! on a copy of the shapes, before the window's own.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use eframe::egui;

/// Begins to measure if it is asked for.
pub fn install(ctx: &egui::Context) {
    let Some(path) = std::env::var_os("HIGHWATER_FRAME_TIMES") else { return };
    match File::create(&path) {
        Ok(mut file) => {
            let _ = writeln!(file, "frame\tlogic ms\tui ms\ttessellation ms\tvertices");
            ctx.add_plugin(FrameTimes { file, start: Instant::now(), logic: Duration::ZERO });
        }
        Err(reason) => log::warn!("{}: frame times cannot be written: {reason}", path.display()),
    }
}

/// Tells how long the window's logic took in this pass.
pub fn logic_took(ctx: &egui::Context, time: Duration) {
    if let Some(times) = ctx.plugin_opt::<FrameTimes>() {
        times.lock().logic += time;
    }
}

struct FrameTimes {
    file: File,
    start: Instant,
    logic: Duration,
}

impl egui::Plugin for FrameTimes {
    fn debug_name(&self) -> &'static str {
        "frame times"
    }

    fn input_hook(&mut self, _ctx: &egui::Context, _input: &mut egui::RawInput) {
        self.start = Instant::now();
        self.logic = Duration::ZERO;
    }

    fn output_hook(&mut self, ctx: &egui::Context, output: &mut egui::FullOutput) {
        let pass = self.start.elapsed();
        let shapes = output.shapes.clone();
        let start = Instant::now();
        let meshes = ctx.tessellate(shapes, output.pixels_per_point);
        let tessellation = start.elapsed();
        let vertices: usize = meshes.iter().map(|part| vertices(&part.primitive)).sum();
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let _ = writeln!(
            self.file,
            "{}\t{:.3}\t{:.3}\t{:.3}\t{vertices}",
            ctx.cumulative_frame_nr(),
            ms(self.logic),
            ms(pass.saturating_sub(self.logic)),
            ms(tessellation)
        );
    }
}

fn vertices(primitive: &egui::epaint::Primitive) -> usize {
    match primitive {
        egui::epaint::Primitive::Mesh(mesh) => mesh.vertices.len(),
        egui::epaint::Primitive::Callback(_) => 0,
    }
}
