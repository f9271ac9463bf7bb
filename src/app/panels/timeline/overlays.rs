//! Lanes beside those of memory: a program's frames, whose height is their duration and which are
//! more amber the more their allocations exceed the usual; CPU use; page faults ([`faults`]); GPU memory ([`gpu`]).
//!
//! Cost: the bars and points of the latest answer, at most a few for each bin of the graph.

use eframe::egui::{Color32, Mesh, Painter, Pos2, Rect, Shape, Ui, Visuals};

use super::axes;
use super::canvas::{Canvas, LaneLabel};
use super::lanes::Row;
use super::{commit, faults, gpu, system_memory};
use crate::app::base::theme;
use crate::app::document::Document;
use crate::app::state::graph::{GraphLine, LineOf};
use crate::app::state::overlay::Overlay;
use crate::app::state::overlays::{FramesShown, ProcessorsShown, percent_of_processor};
use crate::app::widgets::line;
use crate::format;
use crate::model::ProcessId;
use crate::query::{FrameBar, frame_name, layer_label};
use crate::units::Ticks;

/// The process that a lane shows.
pub fn process(document: &Document, what: Overlay) -> Option<ProcessId> {
    match what {
        Overlay::Marks => None,
        Overlay::Frames => document.frames_in_scope().and_then(|of| document.chain(of.chain)).map(|lane| lane.process),
        Overlay::Memory => document.memory_in_scope().map(|(process, _)| process),
        Overlay::Commit => document.commit_in_scope(),
        Overlay::Processors => document.sampled_in_scope(),
        Overlay::Faults => document.faults_in_scope(),
        Overlay::Gpu(group) => gpu::series(document, document.gpu_in_scope(group)?).and_then(|series| series.process),
    }
}

/// The name of the process that a lane shows.
pub fn whose(document: &Document, what: Overlay) -> String {
    process(document, what).map(|process| document.trace.process_name(process)).unwrap_or_default()
}

/// The full name of a lane, with its process.
pub fn name(document: &Document, what: Overlay) -> String {
    let whose = whose(document, what);
    if whose.is_empty() { what.name().to_owned() } else { format!("{} of {whose}", what.name()) }
}

/// Draws a lane into `frame`; returns the contents of its heading.
pub fn paint(canvas: &Canvas<'_>, what: Overlay, frame: Rect, painter: &Painter, cursor: Option<Ticks>, ui: &Ui) -> LaneLabel {
    let shown = &canvas.document.overlays.answer;
    let told = match (what, &shown.frames, &shown.processors) {
        (Overlay::Frames, Some(frames), _) => paint_frames(canvas, frames, frame, painter, cursor, ui.visuals()),
        (Overlay::Processors, _, Some(processors)) => paint_processors(canvas, processors, frame, painter, cursor, ui.visuals()),
        (Overlay::Memory, ..) => system_memory::paint(canvas, shown.memory.as_ref(), frame, painter, cursor, ui.visuals()),
        (Overlay::Commit, ..) => commit::paint(canvas, shown.commit.as_ref(), frame, painter, cursor, ui.visuals()),
        (Overlay::Faults, ..) => faults::paint(canvas, shown.faults.as_ref(), frame, painter, cursor, ui.visuals()),
        (Overlay::Gpu(group), ..) => gpu::paint(canvas, shown.gpu_of(group), frame, painter, cursor, ui.visuals()),
        _ => LaneLabel::default(),
    };
    LaneLabel { color: color(what, ui.visuals()), ..told }
}

fn color(what: Overlay, visuals: &Visuals) -> Color32 {
    match what {
        Overlay::Marks => theme::mark(visuals),
        Overlay::Memory | Overlay::Commit => visuals.weak_text_color(),
        Overlay::Frames => theme::frame(0.0, visuals),
        Overlay::Processors => theme::share(visuals),
        Overlay::Faults => faults::color(visuals),
        Overlay::Gpu(_) => theme::gpu(visuals),
    }
}

fn paint_frames(
    canvas: &Canvas<'_>,
    shown: &FramesShown,
    frame: Rect,
    painter: &Painter,
    cursor: Option<Ticks>,
    visuals: &Visuals,
) -> LaneLabel {
    let seconds = |ticks: i64| canvas.document.trace.clock.seconds(Ticks(ticks));
    let guide = shown.times.median.saturating_mul(2);
    let longest = shown.bars.iter().map(|bar| bar.longest.interval.len()).max().unwrap_or(0);
    let top = (longest.max(guide).max(1)) as f64 * axes::AIR;
    let height = |ticks: i64| frame.height() * (ticks as f64 / top) as f32;
    let mut mesh = Mesh::default();
    for bar in &shown.bars {
        let (left, right) = (canvas.x_of(bar.during.from), canvas.x_of(bar.during.to));
        // A gap between bars, if they are wide enough for it.
        let right = if right - left > 4.0 { right - 1.0 } else { right.max(left + 1.0) };
        let top = frame.bottom() - height(bar.longest.interval.len());
        let rect = Rect::from_x_y_ranges(left..=right, top..=frame.bottom()).intersect(frame);
        if rect.is_positive() {
            mesh.add_colored_rect(rect, theme::frame(shown.excess(bar), visuals));
        }
    }
    painter.add(Shape::mesh(mesh));
    let y = frame.bottom() - height(guide);
    painter.hline(frame.x_range(), y, line::edge(visuals.weak_text_color().gamma_multiply(0.5)));
    let value = match cursor {
        Some(at) => bar_at(shown, at).map(|bar| format::duration(seconds(bar.longest.interval.len()))),
        None => Some(format!("median {}", format::duration(seconds(shown.times.median)))),
    };
    let hint = format!(
        "One bar per frame, as high as its duration; where several share a place, the longest. Amber: it allocates more than \
         usual. Line: twice the median duration.\nIn view: {} frames, the longest {}",
        format::count(shown.times.count as u64),
        format::duration(seconds(shown.times.longest)),
    );
    LaneLabel { value, hint, scale: Some((y, format::rough_duration(seconds(guide)))), ..LaneLabel::default() }
}

fn paint_processors(
    canvas: &Canvas<'_>,
    shown: &ProcessorsShown,
    frame: Rect,
    painter: &Painter,
    cursor: Option<Ticks>,
    visuals: &Visuals,
) -> LaneLabel {
    let top = (shown.all.line.peak as f64 * axes::AIR).max(1.0);
    let draw = |of: &GraphLine, color: Color32, fill: f32| {
        let corners = canvas.corners(&of.points, frame, top);
        painter.add(line::fill(&corners, frame, color.gamma_multiply(fill)));
        painter.add(line::stroke(corners, 1.0, color));
    };
    draw(&shown.all, visuals.weak_text_color().gamma_multiply(0.6), 0.3);
    if let Some(own) = &shown.own {
        draw(own, theme::share(visuals), 0.45);
    }
    let round = [100_000u64, 40_000, 20_000, 10_000, 4000, 2000, 1000, 500, 200, 100, 50]
        .into_iter()
        .find(|&round| round as f64 <= top * 0.95);
    let scale = round.map(|round| {
        let y = frame.bottom() - frame.height() * (round as f64 / top) as f32;
        painter.hline(frame.x_range(), y, line::edge(visuals.widgets.noninteractive.bg_stroke.color.gamma_multiply(0.6)));
        (y, percent_of_processor(round))
    });
    let main = shown.own.as_ref().unwrap_or(&shown.all);
    let value = match cursor {
        Some(at) => main.line.is_known_at(at).then(|| percent_of_processor(main.line.value_at(at))),
        None => Some(format!("average {}", percent_of_processor(shown.average))),
    };
    let hint = "CPU use of the program, from CPU samples; grey: of all processes. 200 % is two full CPUs";
    LaneLabel { value, hint: hint.to_owned(), scale, ..LaneLabel::default() }
}

/// The bar at a moment.
fn bar_at(shown: &FramesShown, at: Ticks) -> Option<&FrameBar> {
    let after = shown.bars.partition_point(|bar| bar.during.to <= at);
    shown.bars.get(after).filter(|bar| bar.during.from <= at)
}

/// The bar under the pointer in the lane of frames.
pub fn frame_at<'a>(canvas: &Canvas<'a>, rows: Option<&[Row]>, pointer: Pos2) -> Option<&'a FrameBar> {
    let is_frames = |row: &&Row| row.of == LineOf::Overlay(Overlay::Frames);
    let row = rows?.iter().find(is_frames)?;
    let area = row.rect.intersect(canvas.frame());
    bar_at(canvas.document.overlays.answer.frames.as_ref()?, canvas.time_at(pointer.x)).filter(|_| area.contains(pointer))
}

/// The values of a lane at a moment, a line each.
pub fn read(canvas: &Canvas<'_>, what: Overlay, at: Ticks) -> Vec<String> {
    let document = canvas.document;
    let shown = &document.overlays.answer;
    match (what, &shown.frames, &shown.processors) {
        (Overlay::Frames, Some(frames), _) => bar_at(frames, at).map_or_else(Vec::new, |bar| frame_words(document, frames, bar)),
        (Overlay::Processors, _, Some(shown)) => {
            let at = |of: &GraphLine| {
                of.line.is_known_at(at).then(|| format!("{} of a CPU", percent_of_processor(of.line.value_at(at))))
            };
            let whose = shown.process.map(|process| document.trace.process_name(process)).unwrap_or_default();
            let own = shown.own.as_ref().and_then(at).map(|own| format!("{own}  {whose}"));
            own.into_iter().chain(at(&shown.all).map(|all| format!("{all}  all processes"))).collect()
        }
        (Overlay::Memory, ..) => system_memory::read(shown.memory.as_ref(), at),
        (Overlay::Commit, ..) => commit::read(shown.commit.as_ref(), at),
        (Overlay::Faults, ..) => faults::read(shown.faults.as_ref(), at),
        (Overlay::Gpu(group), ..) => gpu::read(shown.gpu_of(group), at),
        _ => Vec::new(),
    }
}

/// The duration of a frame, and its allocations and frees.
fn frame_words(document: &Document, shown: &FramesShown, bar: &FrameBar) -> Vec<String> {
    let seconds = document.trace.clock.seconds(Ticks(bar.longest.interval.len()));
    let name = format::sentence(&frame_name(bar.longest.number));
    let mut lines = vec![format!("{name}: {}", format::duration(seconds))];
    if bar.count > 1 {
        lines[0].push_str(&format!(", the longest of {}", format::count(bar.count as u64)));
    }
    if shown.has_sums {
        let sums = &bar.longest.sums;
        let part = |count: u64, size: u64, what: &str| format!("{} {what} ({})", format::bytes(size), format::count(count));
        let layer = layer_label(shown.of.layer);
        lines.push(format!("{layer}: {}", part(sums.allocated_count, sums.allocated_size, "allocated")));
        lines.push(format!("{layer}: {}", part(sums.freed_count, sums.freed_size, "freed")));
        if bar.most_allocated > sums.allocated_size {
            lines.push(format!("Up to {} in another frame here", format::bytes(bar.most_allocated)));
        }
    }
    lines
}
