//! The strip above the graph: the whole trace in small, with the view as a box. A drag beside the box makes a new view;
//! on the box it moves the view, at an edge it moves the edge. A click moves the view there.

use eframe::egui::{self, Color32, Pos2, Rect, Sense, Stroke, Ui};

use super::context::PanelContext;
use super::timeline;
use crate::app::base::theme;
use crate::app::commands::DocCommand;
use crate::app::document::Document;
use crate::app::state::graph::{Arrangement, LineOf};
use crate::app::state::lanes::Lane;
use crate::app::widgets::brush::{Brush, brush};
use crate::app::widgets::line::{small_line, x_in};
use crate::app::widgets::losses;
use crate::format;
use crate::model::HeapId;
use crate::query::Series;
use crate::units::{Interval, Ticks};

/// Height in points, and that where the graph below needs the room: for a lane more.
const HEIGHT: f32 = 40.0;
const LOW: f32 = 26.0;

/// Height of overview and graph together below which it is low.
const ROOMY: f32 = 240.0;

/// Distance in points from an edge of the box at which the edge is dragged.
const EDGE: f32 = 5.0;

/// Smallest part of the trace to which the box can be dragged: a point of a wide screen.
const SMALLEST: i64 = 4000;

pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let Some(document) = context.document else { return };
    let height = if ui.available_height() < ROOMY { LOW } else { HEIGHT };
    let (outer, response) = ui.allocate_exact_size(egui::vec2(ui.available_width(), height), Sense::click_and_drag());
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
    let pointer = response.hover_pos().map(|pointer| strip.grip_at(pointer.x));
    let brush = brush(ui, &response);
    if let Some(grip) = strip.dragged(ui, &response) {
        ui.set_cursor_icon(grip.cursor(true));
        if let Some(brush) = brush {
            context.commands.push(grip.view(&strip, brush));
        }
    } else if let Some(brush) = brush {
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
    } else if let Some(Some(grip)) = pointer {
        ui.set_cursor_icon(grip.cursor(false));
    }
}

/// The part of the box that is dragged, with the view as it was when the drag began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Grip {
    part: GripPart,
    before: Interval,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GripPart {
    Left,
    Right,
    Middle,
}

impl Grip {
    /// The view after a drag.
    fn view(self, strip: &Strip<'_>, brush: Brush) -> DocCommand {
        let (span, before) = (strip.document.trace.span, self.before);
        let by = strip.time_at(brush.to).0.saturating_sub(strip.time_at(brush.from).0);
        let edge = |at: Ticks| Ticks(at.0.saturating_add(by));
        let shortest = (span.len() / SMALLEST).max(1);
        let view = match self.part {
            GripPart::Left => {
                Interval { from: edge(before.from).min(Ticks(before.to.0 - shortest)).max(span.from), to: before.to }
            }
            GripPart::Right => {
                Interval { from: before.from, to: edge(before.to).max(Ticks(before.from.0 + shortest)).min(span.to) }
            }
            GripPart::Middle => {
                let by = by.clamp(span.from.0 - before.from.0, span.to.0 - before.to.0);
                Interval { from: Ticks(before.from.0 + by), to: Ticks(before.to.0 + by) }
            }
        };
        DocCommand::ZoomOn { view, before }
    }

    fn cursor(self, is_dragged: bool) -> egui::CursorIcon {
        match (self.part, is_dragged) {
            (GripPart::Middle, false) => egui::CursorIcon::Grab,
            (GripPart::Middle, true) => egui::CursorIcon::Grabbing,
            _ => egui::CursorIcon::ResizeHorizontal,
        }
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

    /// The part of the box at a place; `None` beside it, and if the box is the whole trace.
    fn grip_at(&self, x: f32) -> Option<Grip> {
        let before = self.document.view();
        if before == self.document.trace.span {
            return None;
        }
        let (left, right) = (self.x_of(before.from), self.x_of(before.to));
        // Of a narrow box the edges are outside.
        let inside = EDGE.min((right - left) / 4.0);
        let part = match x {
            x if (left - EDGE..left + inside).contains(&x) => GripPart::Left,
            x if (right - inside..right + EDGE).contains(&x) => GripPart::Right,
            x if (left..right).contains(&x) => GripPart::Middle,
            _ => return None,
        };
        Some(Grip { part, before })
    }

    /// The part of the box that is being dragged, or was until this frame.
    fn dragged(&self, ui: &Ui, response: &egui::Response) -> Option<Grip> {
        let id = response.id.with("dragged part of the box");
        if response.drag_started_by(egui::PointerButton::Primary) {
            let grip = ui.input(|input| input.pointer.press_origin()).and_then(|origin| self.grip_at(origin.x));
            ui.data_mut(|data| data.insert_temp(id, grip));
        }
        let is_dragged =
            response.dragged_by(egui::PointerButton::Primary) || response.drag_stopped_by(egui::PointerButton::Primary);
        ui.data(|data| data.get_temp::<Option<Grip>>(id)).flatten().filter(|_| is_dragged)
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
