//! A lane of GPU memory: what a program uses, filled; what it has committed and its budget as lines. It stands beside the lanes
//! of memory and is part of none.
//!
//! Cost: the points of the latest answer, at most a few for each bin of the graph.

use eframe::egui::{Color32, Painter, Rect, Visuals};

use super::axes;
use super::canvas::{Canvas, LaneLabel};
use crate::app::base::theme;
use crate::app::document::Document;
use crate::app::state::graph::GraphLine;
use crate::app::state::overlays::GpuShown;
use crate::app::widgets::line;
use crate::format;
use crate::model::{CounterId, GpuSeries};
use crate::query::{adapter_label, bytes_at_edges};
use crate::units::Ticks;

/// A budget up to so many times the largest usage is on the scale.
const BUDGET_IN_SIGHT: f64 = 3.0;

/// A series of the trace.
pub fn series(document: &Document, of: usize) -> Option<&GpuSeries> {
    document.trace.activity.gpu.get(of)
}

/// Draws the lane into `frame`; returns the contents of its heading.
pub fn paint(
    canvas: &Canvas<'_>,
    shown: Option<&GpuShown>,
    frame: Rect,
    painter: &Painter,
    cursor: Option<Ticks>,
    visuals: &Visuals,
) -> LaneLabel {
    let Some(shown) = shown else { return LaneLabel::default() };
    let peak = |of: &Option<GraphLine>| of.as_ref().map_or(0, |of| of.line.peak);
    let largest = peak(&shown.usage).max(peak(&shown.commitment)) as f64;
    let budget = peak(&shown.budget) as f64;
    let top = if budget <= largest * BUDGET_IN_SIGHT { largest.max(budget) } else { largest };
    let top = (top * axes::AIR).max(1.0);
    let scale = (largest > 0.0).then(|| axes::round_below(top));
    let y = |value: f64| frame.bottom() - frame.height() * (value / top) as f32;
    let weak = |by: f32| visuals.weak_text_color().gamma_multiply(by);
    let draw = |of: &Option<GraphLine>, width: f32, color: Color32, fill: f32| {
        let Some(of) = of else { return };
        let corners = canvas.corners(&of.points, frame, top);
        if fill > 0.0 {
            painter.add(line::fill(&corners, frame, color.gamma_multiply(fill)));
        }
        painter.add(line::stroke(corners, width, color));
    };
    draw(&shown.usage, 1.5, theme::gpu(visuals), 0.4);
    draw(&shown.commitment, 1.0, theme::gpu(visuals).gamma_multiply(0.6), 0.0);
    draw(&shown.budget, 1.0, weak(0.9), 0.0);
    let value = match (&shown.usage, cursor) {
        (Some(usage), Some(at)) => value_at(usage, at).map(format::bytes),
        _ => Some(in_selection(canvas.document, shown).unwrap_or_else(|| format!("peak {}", format::bytes(peak(&shown.usage))))),
    };
    LaneLabel {
        value,
        hint: hint(canvas.document, shown),
        scale: scale.map(|round| (y(round), axes::bytes_mark(round))),
        peak_at: shown.usage.as_ref().map(|usage| usage.line.peak_at),
        ..LaneLabel::default()
    }
}

/// The change of the usage in the selected interval, or the usage at the selected instant.
fn in_selection(document: &Document, shown: &GpuShown) -> Option<String> {
    let selection = document.selection()?;
    let counter = |id: CounterId| document.trace.counters.get(id.0 as usize);
    let (from, to) = bytes_at_edges(counter(series(document, shown.of)?.usage?)?, selection);
    Some(match selection.is_empty() {
        true => format!("{} used", format::bytes(to)),
        false => {
            let change = i128::from(to) - i128::from(from);
            let change = change.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
            format!("{} selected", format::signed_bytes(change))
        }
    })
}

fn hint(document: &Document, shown: &GpuShown) -> String {
    let adapter = series(document, shown.of).map(|series| adapter_label(series.adapter)).unwrap_or_default();
    let mut text = format!(
        "Filled: resident GPU memory; thin line of the same colour: committed; grey: the budget that Windows gives. On \
         {adapter}. Never added to the other memory of the program",
    );
    let part = |of: &Option<GraphLine>, what: &str| {
        of.as_ref().map(|of| format!("\n{what} in view: at most {}", format::bytes(of.line.peak))).unwrap_or_default()
    };
    text += &part(&shown.usage, "Used");
    text += &part(&shown.commitment, "Committed");
    text += &part(&shown.budget, "Budget");
    text
}

fn value_at(of: &GraphLine, at: Ticks) -> Option<u64> {
    of.line.is_known_at(at).then(|| of.line.value_at(at))
}

/// The values at a moment, a line each.
pub fn read(shown: Option<&GpuShown>, at: Ticks) -> Vec<String> {
    let Some(shown) = shown else { return Vec::new() };
    let value = |of: &Option<GraphLine>, what: &str| {
        of.as_ref().and_then(|of| value_at(of, at)).map(|bytes| format!("{}  {what}", format::bytes(bytes)))
    };
    let all = [value(&shown.usage, "used"), value(&shown.commitment, "committed"), value(&shown.budget, "budget")];
    all.into_iter().flatten().collect()
}
