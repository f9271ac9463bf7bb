//! The lane of what the system gave a process: its commit charge (its private bytes), working set and private working set,
//! as sampled, and in front of them what the trace knows of it: what is outstanding in the largest layer of the process.
//!
//! Cost: the points of the latest answer, at most a few for each bin of the graph.

use eframe::egui::{Color32, Painter, Rect, Visuals};

use super::axes;
use super::canvas::{Canvas, LaneLabel};
use crate::app::base::theme;
use crate::app::document::Document;
use crate::app::state::graph::GraphLine;
use crate::app::state::overlays::MemoryShown;
use crate::app::widgets::line;
use crate::format;
use crate::query::{known_part, layer_label};
use crate::units::Ticks;

/// Draws the lane into `frame`; returns the contents of its heading.
pub fn paint(
    canvas: &Canvas<'_>,
    shown: Option<&MemoryShown>,
    frame: Rect,
    painter: &Painter,
    cursor: Option<Ticks>,
    visuals: &Visuals,
) -> LaneLabel {
    let Some(shown) = shown else { return LaneLabel::default() };
    let all = [Some(&shown.commit), shown.working_set.as_ref(), shown.private_working_set.as_ref(), Some(&shown.known)];
    let peak = all.into_iter().flatten().map(|of| of.line.peak).max().unwrap_or(0);
    let top = (peak as f64 * axes::AIR).max(1.0);
    let draw = |of: &GraphLine, width: f32, color: Color32, fill: f32| {
        let corners = canvas.corners(&of.points, frame, top);
        if fill > 0.0 {
            painter.add(line::fill(&corners, frame, color.gamma_multiply(fill)));
        }
        painter.add(line::stroke(corners, width, color));
    };
    let weak = visuals.weak_text_color();
    draw(&shown.commit, 1.5, weak, 0.25);
    let color = theme::line(canvas.document.color_of_whole((shown.process, shown.layer)), visuals);
    draw(&shown.known, 1.5, color, 0.5);
    shown.working_set.iter().for_each(|of| draw(of, 1.0, visuals.text_color().gamma_multiply(0.8), 0.0));
    shown.private_working_set.iter().for_each(|of| draw(of, 1.0, weak.gamma_multiply(0.8), 0.0));
    let scale = (peak > 0).then(|| axes::round_below(top));
    let known_at = |at: Ticks| Some(known_part(value_at(&shown.known, at)?, value_at(&shown.commit, at)?));
    LaneLabel {
        value: match cursor {
            Some(at) => known_at(at),
            None => shown.at_peak.map(|(known, commit)| at_peak(known, commit)),
        },
        hint: hint(canvas.document, shown),
        scale: scale.map(|round| {
            let y = frame.bottom() - frame.height() * (round / top) as f32;
            painter.hline(frame.x_range(), y, line::edge(visuals.widgets.noninteractive.bg_stroke.color.gamma_multiply(0.6)));
            (y, axes::bytes_mark(round))
        }),
        peak_at: Some(shown.commit.line.peak_at),
        ..LaneLabel::default()
    }
}

/// The peak, as other lanes have it, and how much of it is known: *Sources* has that at the end of the view.
fn at_peak(known: u64, commit: u64) -> String {
    format!("peak {}, {} known", format::rough_bytes(commit), format::rough_bytes(known))
}

fn hint(document: &Document, shown: &MemoryShown) -> String {
    let layer = layer_label(shown.layer);
    let mut text = format!(
        "Grey: commit charge of the process (its private bytes), sampled by Windows. Coloured: bytes alive in its largest \
         layer, {layer}; the rest was allocated before the recording, or is not recorded. Thin lines: working set and private \
         working set. Filters do not apply to this lane",
    );
    if let Some((known, commit)) = shown.at_peak {
        let at = document.trace.clock.seconds(shown.commit.line.peak_at);
        text += &format!("\nAt the peak of the commit charge in view, {at:.3} s: {}", known_part(known, commit));
    }
    text
}

fn value_at(of: &GraphLine, at: Ticks) -> Option<u64> {
    of.line.is_known_at(at).then(|| of.line.value_at(at))
}

/// The values at a moment, a line each.
pub fn read(shown: Option<&MemoryShown>, at: Ticks) -> Vec<String> {
    let Some(shown) = shown else { return Vec::new() };
    let value = |of: &GraphLine, what: &str| value_at(of, at).map(|bytes| format!("{}  {what}", format::bytes(bytes)));
    let known = value(&shown.known, &format!("known ({})", layer_label(shown.layer)));
    let working_set = shown.working_set.as_ref().and_then(|of| value(of, "working set"));
    let private = shown.private_working_set.as_ref().and_then(|of| value(of, "private working set"));
    [value(&shown.commit, "commit charge"), known, working_set, private].into_iter().flatten().collect()
}
