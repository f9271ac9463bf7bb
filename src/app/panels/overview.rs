//! The strip above the graph: the whole trace, small, with the view as a window.
//! Drag makes a new view, click moves the view there.

use eframe::egui::{self, Color32, Pos2, Rect, Sense, Shape, Stroke, Ui};

use super::brush::brush;
use super::losses;
use super::timeline;
use crate::app::HighwaterApp;
use crate::app::commands::DocCommand;
use crate::app::document::Document;
use crate::app::theme;
use crate::model::HeapId;
use crate::query::Series;
use crate::units::{Interval, Ticks};

const HEIGHT: f32 = 40.0;

pub fn show(app: &mut HighwaterApp, ui: &mut Ui) {
    let Some(document) = &app.document else { return };
    let (outer, response) = ui.allocate_exact_size(egui::vec2(ui.available_width(), HEIGHT), Sense::click_and_drag());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, "Overview of the whole trace"));
    // In line with the graph below, whose left edge depends on its labels.
    let graph: Option<Rect> = ui.data(|data| data.get_temp(timeline::frame_id()));
    let rect = graph.map_or(outer, |graph| Rect::from_x_y_ranges(graph.x_range(), outer.y_range()));
    let strip = Strip { document, rect };
    strip.paint(ui);

    let span = document.trace.span;
    if let Some(brush) = brush(ui, &response) {
        if brush.ended {
            app.commands.doc(DocCommand::Zoom(Interval::new(strip.time_at(brush.from), strip.time_at(brush.to))));
        } else {
            let range = Rect::from_two_pos(Pos2::new(brush.from, rect.top()), Pos2::new(brush.to, rect.bottom()));
            ui.painter().rect_filled(range.intersect(rect), 0.0, theme::selection_fill(ui.visuals()));
        }
    } else if let (true, Some(pointer)) = (response.clicked() && document.view() != span, response.interact_pointer_pos()) {
        let half = document.view().len() / 2;
        let room = Interval { from: Ticks(span.from.0 + half), to: Ticks((span.to.0 - half).max(span.from.0 + half)) };
        let middle = strip.time_at(pointer.x).clamp(room.from, room.to);
        app.commands.doc(DocCommand::Zoom(Interval { from: Ticks(middle.0 - half), to: Ticks(middle.0 + half) }));
    }
}

struct Strip<'a> {
    document: &'a Document,
    rect: Rect,
}

impl Strip<'_> {
    fn time_at(&self, x: f32) -> Ticks {
        let span = self.document.trace.span;
        let part = f64::from(((x - self.rect.left()) / self.rect.width().max(1.0)).clamp(0.0, 1.0));
        Ticks(span.from.0.saturating_add((span.len() as f64 * part) as i64))
    }

    fn x_of(&self, t: Ticks) -> f32 {
        x_in(self.rect, self.document.trace.span, t)
    }

    fn paint(&self, ui: &Ui) {
        let (document, rect) = (self.document, self.rect);
        let painter = ui.painter().with_clip_rect(rect);
        let visuals = ui.visuals();
        painter.rect_filled(rect, 2.0, visuals.extreme_bg_color);
        let line = |heap: &HeapId| Some((heap.0 as usize, document.answers.overview.get(heap.0 as usize)?));
        let shown = || document.lines().iter().filter_map(line);
        let peak = shown().map(|(_, line)| line.peak).max().unwrap_or(0);
        for (heap, line) in shown() {
            let lines = Rect::from_x_y_ranges(rect.x_range(), rect.top() + 3.0..=rect.bottom() - 1.0);
            painter.add(small_line(line, lines, document.trace.span, peak, theme::series(heap, visuals)));
        }
        losses::paint_overview(document, rect, |t| self.x_of(t), ui, &painter);
        if document.view() != document.trace.span {
            let (left, right) =
                (self.x_of(document.view().from), self.x_of(document.view().to).max(self.x_of(document.view().from) + 2.0));
            let veil = visuals.panel_fill.gamma_multiply(0.7);
            painter.rect_filled(Rect::from_x_y_ranges(rect.left()..=left, rect.y_range()), 0.0, veil);
            painter.rect_filled(Rect::from_x_y_ranges(right..=rect.right(), rect.y_range()), 0.0, veil);
            let window = Rect::from_x_y_ranges(left..=right, rect.y_range());
            painter.rect_stroke(window, 2.0, Stroke::new(1.5, visuals.selection.bg_fill), egui::StrokeKind::Inside);
        }
    }
}

/// Where a moment of `span` lies across `rect`.
pub fn x_in(rect: Rect, span: Interval, t: Ticks) -> f32 {
    let part = (t.0.saturating_sub(span.from.0)) as f64 / (span.len().max(1)) as f64;
    rect.left() + rect.width() * part as f32
}

/// A line over the whole trace that fills `rect`, `peak` at its top. At most a few
/// corners a point of its width: more would not be seen.
pub fn small_line(line: &Series, rect: Rect, span: Interval, peak: u64, color: Color32) -> Shape {
    let y = |value: u64| rect.bottom() - rect.height() * (value as f32 / peak.max(1) as f32);
    let mut points: Vec<Pos2> = Vec::with_capacity(line.points.len().min(4 * rect.width() as usize + 8));
    // Of each column the first, lowest, highest and last corner, as far as they differ.
    let mut column = 0;
    let mut first = 0;
    for (t, value) in &line.points {
        let corner = Pos2::new(x_in(rect, span, *t), y(*value));
        let its_column = corner.x as i64;
        if its_column != column {
            (column, first) = (its_column, points.len());
        }
        let inside = points.len() - first;
        if inside < 4 {
            points.push(corner);
            continue;
        }
        // Entry, two extremes, and the latest, which gives way to what comes.
        let [low, high] = [first + 1, first + 2];
        let latest = points[first + 3];
        if latest.y > points[low].y.max(points[high].y) {
            let at = if points[low].y > points[high].y { low } else { high };
            points[at].y = latest.y;
        } else if latest.y < points[low].y.min(points[high].y) {
            let at = if points[low].y < points[high].y { low } else { high };
            points[at].y = latest.y;
        }
        points[first + 3] = corner;
    }
    Shape::line(points, Stroke::new(1.0, color))
}
