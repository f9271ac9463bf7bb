//! The strip above the graph: the whole trace in small, with the view as a window. A drag makes a new
//! view, a click moves the view there.

use eframe::egui::{self, Color32, Pos2, Rect, Sense, Stroke, Ui};

use super::context::PanelContext;
use super::timeline;
use crate::app::base::theme;
use crate::app::commands::DocCommand;
use crate::app::document::Document;
use crate::app::state::graph::{Arrangement, LineOf};
use crate::app::state::lanes::Lane;
use crate::app::widgets::brush::brush;
use crate::app::widgets::line::{small_line, x_in};
use crate::app::widgets::losses;
use crate::format;
use crate::model::HeapId;
use crate::query::Series;
use crate::units::{Interval, Ticks};

const HEIGHT: f32 = 40.0;

pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let Some(document) = context.document else { return };
    let (outer, response) = ui.allocate_exact_size(egui::vec2(ui.available_width(), HEIGHT), Sense::click_and_drag());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, "Overview of the whole trace"));
    // Aligned with the graph below, whose left edge depends on its labels.
    let graph: Option<Rect> = ui.data(|data| data.get_temp(timeline::frame_id()));
    let rect = graph.map_or(outer, |graph| Rect::from_x_y_ranges(graph.x_range(), outer.y_range()));
    let strip = Strip { document, rect };
    strip.paint(ui);
    if rect.left() - outer.left() > 100.0 {
        let length = format::duration(document.trace.clock.seconds(Ticks(document.trace.span.len())));
        let color = ui.visuals().weak_text_color();
        let at = Pos2::new(outer.left() + 14.0, outer.center().y);
        ui.painter().text(
            at,
            egui::Align2::LEFT_CENTER,
            format!("Whole trace, {length}"),
            egui::FontId::proportional(11.5),
            color,
        );
    }

    let span = document.trace.span;
    if let Some(brush) = brush(ui, &response) {
        if brush.ended {
            context.commands.push(DocCommand::Zoom(Interval::new(strip.time_at(brush.from), strip.time_at(brush.to))));
        } else {
            let range = Rect::from_two_pos(Pos2::new(brush.from, rect.top()), Pos2::new(brush.to, rect.bottom()));
            ui.painter().rect_filled(range.intersect(rect), 0.0, theme::selection_fill(ui.visuals()));
        }
    } else if let (true, Some(pointer)) = (response.clicked() && document.view() != span, response.interact_pointer_pos()) {
        let half = document.view().len() / 2;
        let room = Interval { from: Ticks(span.from.0 + half), to: Ticks((span.to.0 - half).max(span.from.0 + half)) };
        let middle = strip.time_at(pointer.x).clamp(room.from, room.to);
        context.commands.push(DocCommand::Zoom(Interval { from: Ticks(middle.0 - half), to: Ticks(middle.0 + half) }));
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

    /// The selection, with a tick at each edge: it can be narrower than a point.
    fn paint_selection(&self, selection: Interval, visuals: &egui::Visuals, painter: &egui::Painter) {
        let (left, right) = (self.x_of(selection.from), self.x_of(selection.to));
        let color = visuals.strong_text_color();
        let part = Rect::from_x_y_ranges(left..=right.max(left + 1.0), self.rect.y_range());
        painter.rect_filled(part, 0.0, theme::selection_fill(visuals));
        for x in [left, right] {
            for y in [self.rect.top(), self.rect.bottom() - 6.0] {
                painter.vline(x, y..=y + 6.0, Stroke::new(1.5, color));
            }
        }
    }

    fn paint(&self, ui: &Ui) {
        let (document, rect) = (self.document, self.rect);
        let painter = ui.painter().with_clip_rect(rect);
        let visuals = ui.visuals();
        painter.rect_filled(rect, 2.0, visuals.extreme_bg_color);
        let shown: Vec<(&Series, Color32)> = lines(document, visuals);
        let peak = shown.iter().map(|(line, _)| line.peak).max().unwrap_or(0);
        for (line, color) in shown {
            let lines = Rect::from_x_y_ranges(rect.x_range(), rect.top() + 3.0..=rect.bottom() - 1.0);
            painter.add(small_line(line, lines, document.trace.span, peak, color));
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
        if let Some(selection) = document.selection() {
            self.paint_selection(selection, visuals, &painter);
        }
    }
}

/// The graph's source lines over the whole trace, after filtering.
fn lines<'a>(document: &'a Document, visuals: &egui::Visuals) -> Vec<(&'a Series, Color32)> {
    let Some(overview) = document.left() else { return Vec::new() };
    let of_lane = |lane: &Lane| (overview.layer(lane.of), LineOf::Layer(lane.of.0, lane.of.1));
    let of_heap = |heap: &HeapId| (overview.heap(*heap), LineOf::of_heap(&document.trace, *heap));
    let all: Vec<(Option<&Series>, LineOf)> = match document.arrangement() {
        Arrangement::Lanes => document.lanes().iter().map(of_lane).collect(),
        Arrangement::Together => document.heap_lines().iter().map(of_heap).collect(),
    };
    let color = |of: &LineOf| theme::line(document.color_of(of), visuals);
    all.into_iter().filter_map(|(line, of)| Some((line?, color(&of)))).collect()
}
