//! Icons on the time axis: the user's marks, starts and ends of processes, and findings (steps, spikes,
//! the peak), each in its lane if there are lanes.

use eframe::egui::{self, Align2, Color32, FontId, Pos2, Rect, Sense, Shape, Stroke, Ui, vec2};

use super::canvas::{Canvas, MARKS};
use super::lanes::Row;
use crate::app::base::theme;
use crate::app::commands::{Commands, DocCommand};
use crate::app::state::graph::LineOf;
use crate::query::{Finding, FindingKind};
use crate::units::{Interval, Ticks};

/// Maximum number of icons of one kind: more would cover each other.
const MOST: usize = 40;

pub fn show(canvas: &Canvas<'_>, rows: Option<&[Row]>, ui: &mut Ui, commands: &mut Commands) {
    processes(canvas, ui);
    for finding in canvas.findings.iter().take(MOST) {
        landmark(canvas, finding, rows, ui, commands);
    }
    own(canvas, ui);
}

/// The user's marks.
fn own(canvas: &Canvas<'_>, ui: &Ui) {
    let (document, frame) = (canvas.document, canvas.frame());
    let painter = ui.painter().with_clip_rect(frame);
    let color = theme::mark(ui.visuals());
    for (mark, number) in document.marks().iter().zip(1..).filter(|(mark, _)| document.view().contains(**mark)) {
        let x = canvas.x_of(*mark);
        painter.vline(x, frame.y_range(), Stroke::new(1.0, color));
        let at = Pos2::new(x + 3.0, frame.top() + 1.0);
        let rect = painter.text(at, Align2::LEFT_TOP, number, FontId::proportional(11.0), color);
        let response = ui.interact(rect.expand(3.0), ui.scope_id().with(("own mark", number)), Sense::hover());
        canvas.note_icon(&response);
        let seconds = document.trace.clock.seconds(*mark);
        response
            .widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, format!("Your mark {number} at {seconds:.3} s")));
        response.on_hover_text(format!("Mark {number} of yours at {seconds:.6} s: generations begin and end here"));
    }
}

/// The place of an icon on the axis, if it is visible.
fn place(canvas: &Canvas<'_>, at: Ticks) -> Option<Rect> {
    let view = canvas.document.view();
    let is_in_sight = view.from <= at && at <= view.to;
    let middle = Pos2::new(canvas.x_of(at), canvas.frame().top() + MARKS / 2.0);
    is_in_sight.then(|| Rect::from_center_size(middle, vec2(10.0, 10.0)))
}

/// A finding, as an icon that leads to it.
fn landmark(canvas: &Canvas<'_>, finding: &Finding, rows: Option<&[Row]>, ui: &mut Ui, commands: &mut Commands) {
    let Interval { from, to } = finding.interval;
    let middle = Ticks(from.0 + (to.0.saturating_sub(from.0)) / 2);
    let (at, color) = match finding.kind {
        FindingKind::Step => (middle, theme::growth(ui.visuals())),
        FindingKind::Spikes => (from, ui.visuals().text_color()),
        FindingKind::Peak => (to, ui.visuals().text_color()),
        _ => return,
    };
    let Some(mut rect) = place(canvas, at) else { return };
    if let Some(rows) = rows {
        // It is drawn in its own lane.
        let of = LineOf::Layer(finding.process, finding.layer);
        let Some(row) = rows.iter().find(|row| row.of == of).filter(|row| row.rect.height() > 12.0) else { return };
        rect = rect.translate(vec2(0.0, row.rect.top() + 7.0 - rect.center().y));
    }
    let response = ui.interact(rect.expand(2.0), ui.scope_id().with(("landmark", finding.kind, at.0)), Sense::click());
    canvas.note_icon(&response);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("On the axis: {}", finding.text)));
    if response.hovered() || response.has_focus() {
        let painter = ui.painter().with_clip_rect(canvas.frame());
        painter.rect_filled(canvas.rect_of(finding.interval), 0.0, color.gamma_multiply(0.12));
    }
    ui.painter().add(icon(finding.kind, finding.is_fall, rect, color));
    if response.clicked() {
        commands.push(DocCommand::GoToFinding(Box::new(finding.clone())));
    }
    response.on_hover_text(format!("{}\nClick to go there", finding.text)).on_hover_cursor(egui::CursorIcon::PointingHand);
}

/// A triangle for a step, a diamond for spikes, a dot for the peak.
fn icon(kind: FindingKind, is_fall: bool, rect: Rect, color: Color32) -> Shape {
    let rect = rect.shrink(1.5);
    let corners = match (kind, is_fall) {
        (FindingKind::Step, false) => vec![rect.left_bottom(), rect.center_top(), rect.right_bottom()],
        (FindingKind::Step, true) => vec![rect.left_top(), rect.right_top(), rect.center_bottom()],
        (FindingKind::Spikes, _) => vec![rect.left_center(), rect.center_top(), rect.right_center(), rect.center_bottom()],
        _ => return Shape::circle_filled(rect.center(), 3.0, color),
    };
    Shape::convex_polygon(corners, color, Stroke::NONE)
}

/// When the processes that have lanes started and ended.
fn processes(canvas: &Canvas<'_>, ui: &mut Ui) {
    let document = canvas.document;
    let mut drawn: Vec<_> = document.lanes().iter().map(|lane| lane.of.0).collect();
    drawn.dedup();
    for id in drawn.into_iter().take(MOST) {
        let process = document.trace.process(id);
        for (at, is_start) in [(process.start, true), (process.end, false)] {
            let Some((at, rect)) = at.and_then(|at| Some((at, place(canvas, at)?))) else { continue };
            let verb = if is_start { "started" } else { "ended" };
            let text = format!("{} {verb}", document.trace.process_name(id));
            let response = ui.interact(rect, ui.scope_id().with(("process", id, is_start)), Sense::hover());
            canvas.note_icon(&response);
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, format!("On the axis: {text}")));
            let color = ui.visuals().weak_text_color();
            let painter = ui.painter().with_clip_rect(canvas.frame().expand2(vec2(6.0, 0.0)));
            painter.vline(canvas.x_of(at), rect.y_range(), Stroke::new(1.5, color));
            let tip = if is_start { rect.right_center() } else { rect.left_center() };
            let base = canvas.x_of(at);
            let flag = vec![Pos2::new(base, rect.top()), tip, Pos2::new(base, rect.bottom())];
            painter.add(Shape::convex_polygon(flag, color, Stroke::NONE));
            response.on_hover_text(format!("{text} at {:.3} s", document.trace.clock.seconds(at)));
        }
    }
}
