//! The selected interval as an object: its edges can be dragged and its label moved. The label
//! describes it, and stays visible at the graph's edge when the view is elsewhere.

use eframe::egui::{self, Align2, CursorIcon, PointerButton, Pos2, Rect, Response, Sense, Stroke, Ui, vec2};

use super::canvas::Canvas;
use super::flags;
use crate::app::base::theme;
use crate::app::commands::{Commands, DocCommand};
use crate::app::document::Document;
use crate::app::state::overlays::centered;
use crate::app::state::source_list::LayerSum;
use crate::app::widgets::columns::number_color;
use crate::format;
use crate::query::layer_label;
use crate::units::{Interval, Ticks};

/// Distance in points at which the pointer catches an edge.
const NEAR: f32 = 5.0;
/// A shorter drag is a click.
const SHORTEST: f32 = 3.0;

/// A drag on the graph, of an edge or of a new selection.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Drag {
    /// The edge that stays in place.
    fixed: i64,
    /// Where the button went down.
    origin: f32,
    /// Whether it has selected anything yet.
    is_begun: bool,
}

/// Handles drags on the graph: of an edge, or of a new selection.
pub fn drag(canvas: &Canvas<'_>, ui: &Ui, response: &Response, commands: &mut Commands) {
    let id = response.id.with("selection dragged");
    let selection = canvas.document.selection();
    let edge = |x: f32| selection.and_then(|selection| edge_at(canvas, selection, x));
    if response.drag_started_by(PointerButton::Primary)
        && let Some(origin) = ui.input(|i| i.pointer.press_origin())
    {
        let fixed = edge(origin.x).unwrap_or_else(|| edge_time(canvas, ui, origin.x));
        let drag = Drag { fixed: fixed.0, origin: origin.x, is_begun: false };
        ui.data_mut(|data| data.insert_temp(id, drag));
    }
    let is_over_edge = response.hover_pos().is_some_and(|at| edge(at.x).is_some());
    if is_over_edge {
        ui.set_cursor_icon(CursorIcon::ResizeHorizontal);
    }
    // The release counts too: a fast user moves and releases within one frame.
    let ends = response.drag_stopped_by(PointerButton::Primary);
    if !ends && !response.dragged_by(PointerButton::Primary) {
        return;
    }
    let (Some(mut drag), Some(pointer)) = (
        ui.data(|data| data.get_temp::<Drag>(id)),
        response.interact_pointer_pos().or_else(|| ui.input(|i| i.pointer.latest_pos())),
    ) else {
        return;
    };
    if !drag.is_begun && (pointer.x - drag.origin).abs() < SHORTEST {
        return;
    }
    let selected = Interval::new(Ticks(drag.fixed), edge_time(canvas, ui, pointer.x));
    if selection != Some(selected) {
        let command = if drag.is_begun { DocCommand::SelectOn(selected) } else { DocCommand::Select(Some(selected)) };
        commands.push(command);
        drag.is_begun = true;
    }
    ui.data_mut(|data| data.insert_temp(id, drag));
}

/// The moment for an edge at `x`: it snaps to marks, unless Alt is held.
fn edge_time(canvas: &Canvas<'_>, ui: &Ui, x: f32) -> Ticks {
    let is_free = ui.input(|i| i.modifiers.alt);
    flags::near(canvas, x).filter(|_| !is_free).unwrap_or_else(|| canvas.time_at(x))
}

/// The opposite edge of the one at `x`.
fn edge_at(canvas: &Canvas<'_>, selection: Interval, x: f32) -> Option<Ticks> {
    let view = canvas.document.view();
    let far = |edge: Ticks| if view.from <= edge && edge <= view.to { (canvas.x_of(edge) - x).abs() } else { f32::INFINITY };
    let (from, to) = (far(selection.from), far(selection.to));
    if from.min(to) > NEAR || selection.is_empty() {
        None
    } else if to <= from {
        Some(selection.from)
    } else {
        Some(selection.to)
    }
}

/// The interval itself, with a handle at each edge.
pub fn paint(canvas: &Canvas<'_>, ui: &Ui) {
    let Some(selection) = canvas.document.selection() else { return };
    let view = canvas.document.view();
    if selection.to < view.from || selection.from > view.to {
        return;
    }
    let (visuals, frame) = (ui.visuals(), canvas.frame());
    let painter = ui.painter().with_clip_rect(frame);
    let rect = canvas.rect_of(selection);
    painter.rect_filled(rect, 0.0, theme::selection_fill(visuals));
    let color = visuals.strong_text_color();
    for (edge, x) in [(selection.from, rect.left()), (selection.to, rect.right())] {
        if view.from <= edge && edge <= view.to {
            painter.vline(x, frame.y_range(), Stroke::new(1.0, color));
            let handle = Rect::from_center_size(Pos2::new(x, frame.center().y), vec2(5.0, 26.0));
            painter.rect(handle, 2.5, visuals.extreme_bg_color, Stroke::new(1.0, color), egui::StrokeKind::Inside);
        }
    }
}

/// The label of the selection, with its buttons.
pub fn chip(canvas: &Canvas<'_>, ui: &Ui, commands: &mut Commands) {
    let document = canvas.document;
    let (Some(selection), frame) = (document.selection(), canvas.frame()) else { return };
    let view = document.view();
    let is_left = selection.to < view.from;
    let is_away = is_left || selection.from > view.to;
    let x = if is_away { if is_left { frame.left() } else { frame.right() } } else { canvas.rect_of(selection).center().x };
    let area = egui::Area::new(egui::Id::unique("selection chip")).order(egui::Order::Middle);
    let area =
        area.pivot(Align2::CENTER_TOP).fixed_pos(Pos2::new(x, frame.top() + 1.0)).constrain_to(frame.shrink2(vec2(2.0, 0.0)));
    area.show(ui.ctx(), |ui| {
        let paper = egui::Frame::popup(ui.style())
            .shadow(egui::Shadow::NONE)
            .inner_margin(egui::Margin::symmetric(6, 0))
            .corner_radius(8);
        paper.show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 5.0;
                ui.spacing_mut().button_padding = vec2(4.0, 0.0);
                ui.spacing_mut().interact_size.y = 17.0;
                if is_away {
                    let arrow = if is_left { "\u{2039}" } else { "\u{203a}" };
                    let there = ui.small_button(arrow).on_hover_text("Show the selection");
                    there.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Show the selection"));
                    commands.on_click(&there, DocCommand::Zoom(centered(selection, view.len(), document.trace.span)));
                }
                handle(canvas, selection, ui, commands);
                if !selection.is_empty() && ui.small_button("Zoom").on_hover_text("Zoom to it (Z)").clicked() {
                    commands.push(DocCommand::ZoomToSelection);
                }
                let cross = ui.add(egui::Button::new("\u{d7}").frame(false)).on_hover_text("Clear selection (Esc)");
                cross.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Clear selection"));
                commands.on_click(&cross, DocCommand::Select(None));
            });
        });
    });
}

/// The text of the label, which moves the selection when dragged.
fn handle(canvas: &Canvas<'_>, selection: Interval, ui: &mut Ui, commands: &mut Commands) {
    let document = canvas.document;
    let words = egui::RichText::new(words(document, selection)).size(12.0);
    let label = ui.add(egui::Label::new(words).extend().sense(Sense::drag()));
    if let Some((text, change)) = change(document) {
        ui.add(egui::Label::new(egui::RichText::new(text).size(12.0).color(number_color(change, ui.visuals()))).extend());
    }
    let label = label.on_hover_cursor(CursorIcon::Grab).on_hover_text("Drag to move the selection");
    let id = label.id.with("grabbed");
    if label.drag_started()
        && let Some(pointer) = label.interact_pointer_pos()
    {
        ui.data_mut(|data| data.insert_temp(id, (canvas.time_at(pointer.x).0, selection.from.0, selection.to.0, false)));
    }
    let grabbed = ui.data(|data| data.get_temp::<(i64, i64, i64, bool)>(id));
    if let (true, Some((at, from, to, is_begun)), Some(pointer)) = (label.dragged(), grabbed, label.interact_pointer_pos()) {
        let span = document.trace.span;
        let by = canvas.time_at(pointer.x).0.saturating_sub(at);
        let by = by.clamp(span.from.0.saturating_sub(from), span.to.0.saturating_sub(to).max(0));
        let moved = Interval { from: Ticks(from + by), to: Ticks(to + by) };
        if moved != selection {
            commands.push(if is_begun { DocCommand::SelectOn(moved) } else { DocCommand::Select(Some(moved)) });
            ui.data_mut(|data| data.insert_temp(id, (at, from, to, true)));
        }
    }
}

/// Start, end and duration.
fn words(document: &Document, selection: Interval) -> String {
    let seconds = |t: Ticks| document.trace.clock.seconds(t);
    let (from, to) = (seconds(selection.from), seconds(selection.to));
    if selection.is_empty() {
        return format!("alive at {to:.3} s");
    }
    // Enough decimals to tell the edges apart.
    let places = (2.0 - (to - from).max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{from:.places$}\u{2013}{to:.places$} s \u{b7} {}", format::duration(to - from))
}

/// The Impacting Size of the layer with the most, because layers nest; at an instant the size alive.
/// Also the change, which determines the text's colour.
fn change(document: &Document) -> Option<(String, i64)> {
    let LayerSum { layer, impacting, outstanding } = document.source_list.leading_layer()?;
    let is_instant = document.interval().is_empty();
    let text = if is_instant { format::bytes(outstanding) } else { format::signed_bytes(impacting) };
    let has_several = document.source_list.layers.len() > 1;
    let text = if has_several { format!("\u{b7} {} {text}", layer_label(layer)) } else { format!("\u{b7} {text}") };
    Some((text, impacting))
}
