//! Zooming and panning with the wheel.

use eframe::egui::Ui;

use super::canvas::Canvas;
use crate::app::commands::{Commands, DocCommand};
use crate::units::{Interval, Ticks};

/// Zooms at the moment under the pointer, or pans.
pub fn turn(canvas: &Canvas<'_>, ui: &Ui, at: Ticks, commands: &mut Commands) {
    let (scroll, factor) = ui.input(|i| (i.smooth_scroll_delta(), i.zoom_delta()));
    if scroll.x != 0.0 {
        pan(canvas, -scroll.x, commands);
    }
    zoom(canvas, at, if factor != 1.0 { factor } else { (scroll.y / 240.0).exp() }, commands);
}

/// Zooms in by a factor; `at` stays where it is.
pub fn zoom(canvas: &Canvas<'_>, at: Ticks, factor: f32, commands: &mut Commands) {
    if (factor - 1.0).abs() <= 1e-3 {
        return;
    }
    let view = canvas.document.view();
    let part = |edge: Ticks| (edge.0.saturating_sub(at.0) as f64 / f64::from(factor)).round() as i64;
    let (from, to) = (at.0.saturating_add(part(view.from)), at.0.saturating_add(part(view.to)));
    if to - from >= 10 {
        commands.push(DocCommand::ZoomStep(Interval { from: Ticks(from), to: Ticks(to) }));
    }
}

/// Pans the view by some points, within the trace.
pub fn pan(canvas: &Canvas<'_>, points: f32, commands: &mut Commands) {
    let (view, span) = (canvas.document.view(), canvas.document.trace.span);
    let by = (f64::from(points) / f64::from(canvas.frame().width().max(1.0)) * view.len() as f64) as i64;
    let by = by.clamp(span.from.0.saturating_sub(view.from.0), span.to.0.saturating_sub(view.to.0));
    if by != 0 {
        commands.push(DocCommand::ZoomStep(Interval { from: Ticks(view.from.0 + by), to: Ticks(view.to.0 + by) }));
    }
}
