//! Measures the cost of frames: if `HIGHWATER_FRAME_TIMES` names a file, each pass of the window adds a
//! line with: the frame's number; the milliseconds of logic, of the rest of the pass (panels and egui's
//! own work) and of tessellation; the number of vertices; the time in seconds since 1970; and the
//! window's stage: 0 nothing to show yet, 1 a graph is drawn, 2 the trace is complete and the graph and
//! the visible views show it, 3 all queries are answered (findings too).
//!
//! Painting and waiting for the screen are left out. The time is the thread's CPU time where the system
//! reports it (Linux), else wall-clock time. Tessellation is measured on a copy of the shapes, before
//! the window's own.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use eframe::egui;

use crate::paths::{self, Existing};

/// Starts measuring if the environment variable is set.
pub fn install(ctx: &egui::Context) {
    let Some(path) = std::env::var_os("HIGHWATER_FRAME_TIMES") else { return };
    match paths::create(Path::new(&path), Existing::GivesWay) {
        Ok(mut file) => {
            let _ = writeln!(file, "frame\tlogic ms\tui ms\ttessellation ms\tvertices\tmoment\tstage");
            ctx.add_plugin(FrameTimes { file, start: thread_time(), logic: Duration::ZERO, stage: 0 });
        }
        Err(reason) => log::warn!("{}: frame times cannot be written: {reason}", path.display()),
    }
}

/// Runs the window's logic and remembers how long it took.
pub fn measure_logic(ctx: &egui::Context, logic: impl FnOnce()) {
    let Some(times) = ctx.plugin_opt::<FrameTimes>() else { return logic() };
    let start = thread_time();
    logic();
    times.lock().logic += thread_time().saturating_sub(start);
}

/// Notes the window's stage, by its number in the file.
pub fn note_stage(ctx: &egui::Context, stage: u8) {
    if let Some(times) = ctx.plugin_opt::<FrameTimes>() {
        times.lock().stage = stage;
    }
}

/// The time that this thread has run so far.
fn thread_time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    let clock = || START.get_or_init(Instant::now).elapsed();
    if !cfg!(target_os = "linux") {
        return clock();
    }
    // The kernel updates the number when the thread gives up its CPU.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|word| word.parse().ok());
    nanos.map_or_else(clock, Duration::from_nanos)
}

struct FrameTimes {
    file: File,
    /// When the pass began.
    start: Duration,
    logic: Duration,
    stage: u8,
}

impl egui::Plugin for FrameTimes {
    fn debug_name(&self) -> &'static str {
        "frame times"
    }

    fn input_hook(&mut self, _ctx: &egui::Context, _input: &mut egui::RawInput) {
        self.logic = Duration::ZERO;
        self.start = thread_time();
    }

    fn output_hook(&mut self, ctx: &egui::Context, output: &mut egui::FullOutput) {
        let pass = thread_time().saturating_sub(self.start);
        let shapes = output.shapes.clone();
        let start = thread_time();
        let meshes = ctx.tessellate(shapes, output.pixels_per_point);
        let tessellation = thread_time().saturating_sub(start);
        let vertices: usize = meshes.iter().map(|part| vertices(&part.primitive)).sum();
        let moment = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let _ = writeln!(
            self.file,
            "{}\t{:.3}\t{:.3}\t{:.3}\t{vertices}\t{moment:.3}\t{}",
            ctx.cumulative_frame_nr(),
            ms(self.logic),
            ms(pass.saturating_sub(self.logic)),
            ms(tessellation),
            self.stage
        );
    }
}

fn vertices(primitive: &egui::epaint::Primitive) -> usize {
    match primitive {
        egui::epaint::Primitive::Mesh(mesh) => mesh.vertices.len(),
        egui::epaint::Primitive::Callback(_) => 0,
    }
}
