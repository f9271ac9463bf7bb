//! The lane of page faults: hard faults, and on top of them soft faults, as many as there are in each bin.
//!
//! Cost: the points of the latest answer, at most a few for each bin of the graph.

use eframe::egui::{Color32, Painter, Rect, Visuals};

use super::axes;
use super::canvas::{Canvas, LaneLabel};
use crate::app::base::theme;
use crate::app::state::graph::GraphLine;
use crate::app::state::overlays::FaultsShown;
use crate::app::widgets::line;
use crate::format;
use crate::units::Ticks;

/// The colour of soft faults.
pub fn color(visuals: &Visuals) -> Color32 {
    theme::gpu(visuals)
}

/// Draws the lane into `frame`; returns the contents of its heading.
pub fn paint(
    canvas: &Canvas<'_>,
    shown: Option<&FaultsShown>,
    frame: Rect,
    painter: &Painter,
    cursor: Option<Ticks>,
    visuals: &Visuals,
) -> LaneLabel {
    let Some(shown) = shown else { return LaneLabel::default() };
    let top = (shown.all.line.peak as f64 * axes::AIR).max(1.0);
    let draw = |of: &GraphLine, color: Color32| {
        let corners = canvas.corners(&of.points, frame, top);
        painter.add(line::fill(&corners, frame, color.gamma_multiply(0.45)));
        painter.add(line::stroke(corners, 1.0, color));
    };
    draw(&shown.all, color(visuals));
    draw(&shown.hard, visuals.error_fg_color);
    let value = match cursor {
        Some(at) => shown.all.line.is_known_at(at).then(|| a_second(shown, shown.all.line.value_at(at))),
        None => Some(touched_words(shown).unwrap_or_else(|| format!("{} hard", format::count(shown.counts.0)))),
    };
    LaneLabel { value, hint: hint(shown), peak_at: Some(shown.all.line.peak_at), ..LaneLabel::default() }
}

/// A number of faults of a bin as a rate.
fn a_second(shown: &FaultsShown, count: u64) -> String {
    let rate = if shown.bin_seconds > 0.0 { count as f64 / shown.bin_seconds } else { 0.0 };
    format!("{} per second", format::count(rate.round() as u64))
}

/// How much of the commit is touched.
fn touched_words(shown: &FaultsShown) -> Option<String> {
    let (committed, touched) = shown.touched?;
    Some(format!("touched {} of {}", format::bytes(touched), format::bytes(committed)))
}

fn hint(shown: &FaultsShown) -> String {
    let (hard, soft) = shown.counts;
    let mut text = format!(
        "Page faults: hard ones, which read from disk, below soft ones, mostly first touches of memory.\nIn view: {} hard, {} soft",
        format::count(hard),
        format::count(soft)
    );
    if let Some(words) = touched_words(shown) {
        text += &format!(
            "\nCommit: {words} that the process committed in the trace and that are committed at the end of the view. Large pages \
             cause no faults, so they count as untouched"
        );
    }
    text
}

/// The values at a moment, a line each.
pub fn read(shown: Option<&FaultsShown>, at: Ticks) -> Vec<String> {
    let Some(shown) = shown.filter(|shown| shown.all.line.is_known_at(at)) else { return Vec::new() };
    let (all, hard) = (shown.all.line.value_at(at), shown.hard.line.value_at(at));
    vec![format!("{}  hard faults", a_second(shown, hard)), format!("{}  soft faults", a_second(shown, all.saturating_sub(hard)))]
}
