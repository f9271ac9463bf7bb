//! The moment under the pointer, or at the keyboard cursor: a line across the graph, and the value of
//! the line nearest to the pointer. Lanes show their values beside their names.

use eframe::egui::{self, Pos2, Response, Stroke, Ui};

use super::canvas::Canvas;
use super::{lanes, names, overlays, values};
use crate::app::base::theme;
use crate::app::document::Document;
use crate::app::panels::counters;
use crate::app::services::picture::{self, Subject};
use crate::app::state::graph::LineOf;
use crate::app::widgets::losses;
use crate::format;
use crate::units::Ticks;

/// Maximum distance in points at which the pointer finds a line.
const REACH: f32 = 60.0;

fn keyed_id() -> egui::Id {
    egui::Id::unique("graph cursor by keys")
}

/// The moment of the keyboard cursor.
pub fn keyed(ui: &Ui) -> Option<Ticks> {
    ui.data(|data| data.get_temp::<i64>(keyed_id())).map(Ticks)
}

/// Moves the keyboard cursor.
pub fn put(ui: &Ui, at: Ticks) {
    ui.data_mut(|data| data.insert_temp(keyed_id(), at.0));
}

/// The moment whose values are shown.
pub fn at(canvas: &Canvas<'_>, response: &Response, ui: &Ui) -> Option<Ticks> {
    if picture::is_taken_of(ui.ctx(), Subject::Graph) {
        return None;
    }
    if response.has_focus() {
        return keyed(ui).filter(|at| canvas.document.view().contains(*at));
    }
    let put = canvas.document.cursor.filter(|at| canvas.document.view().contains(*at));
    let pointer =
        response.hover_pos().filter(|at| canvas.frame().contains(*at) && response.hovered() && !response.context_menu_opened());
    let Some(pointer) = pointer else { return put };
    let is_held = ui.input(|i| i.pointer.any_down()) && !response.dragged();
    (!is_held).then(|| canvas.time_at(pointer.x))
}

/// Moves the keyboard cursor to where a command has put the document's cursor.
pub fn follow(document: &Document, ui: &Ui) {
    let id = egui::Id::unique("graph cursor by commands");
    let before = ui.data(|data| data.get_temp::<Option<Ticks>>(id)).flatten();
    if before != document.cursor {
        ui.data_mut(|data| data.insert_temp(id, document.cursor));
        document.cursor.into_iter().for_each(|at| put(ui, at));
    }
}

pub fn paint(canvas: &Canvas<'_>, ui: &Ui, cursor: Option<Ticks>) {
    let Some(at) = cursor else { return };
    let frame = canvas.frame();
    let color = ui.visuals().weak_text_color();
    ui.painter().with_clip_rect(frame).vline(canvas.x_of(at), frame.y_range(), Stroke::new(1.0, color));
}

/// The tooltip at the pointer: the time, and the values of what is nearest.
pub fn tell(canvas: &Canvas<'_>, ui: &Ui, response: &Response, rows: Option<&[lanes::Row]>, pointer: Pos2) {
    let document = canvas.document;
    if !canvas.frame().contains(pointer) || ui.input(|i| i.pointer.any_down() && !response.dragged()) {
        return;
    }
    let at = canvas.time_at(pointer.x);
    let reach = canvas.time_at(pointer.x + 3.0).0.saturating_sub(at.0).max(1);
    let lost = losses::around(document, at, reach);
    let row = rows.and_then(|rows| rows.iter().find(|row| row.rect.contains(pointer)));
    let read = match row.map(|row| &row.of) {
        Some(LineOf::Overlay(what)) => overlays::read(canvas, *what, at),
        Some(of) => {
            let other = document.laid_line(of).filter(|(other, _)| other.line.is_known_at(at));
            let other = other.map(|(other, name)| format!("{}  {name}", format::bytes(other.line.value_at(at))));
            let committed = document.committed_line(of).and_then(|line| line.value_at(at));
            let committed = committed.map(|bytes| format!("{}  committed where its blocks are", format::bytes(bytes)));
            committed.into_iter().chain(other).collect()
        }
        None => Vec::new(),
    };
    let nearest = match rows {
        Some(_) => row.and_then(|row| value(canvas, &row.of, at, &names::heading(document, &row.of).0)),
        None => nearest(canvas, at, pointer),
    };
    let time = format!("{:.6} s", document.trace.clock.seconds(at));
    let tooltip = egui::Tooltip::always_open(ui.ctx().clone(), response.layer_id, response.id, egui::PopupAnchor::Pointer);
    tooltip.gap(14.0).show(|ui| {
        if let Some(selection) = document.selection().filter(|_| response.dragged()) {
            let length = format::duration(document.trace.clock.seconds(Ticks(selection.len())));
            ui.strong(format!("{time}, selected {length}"));
        } else {
            ui.strong(time);
        }
        if let Some((of, text)) = nearest {
            let color = document.color_of(&of).map_or(ui.visuals().text_color(), |number| theme::series(number, ui.visuals()));
            ui.add(egui::Label::new(egui::RichText::new(text).color(color)).extend());
        }
        for line in read {
            ui.add(egui::Label::new(line).extend());
        }
        for line in lost {
            ui.colored_label(theme::loss(ui.visuals()), line);
        }
    });
}

/// The value of a line with its name.
fn value(canvas: &Canvas<'_>, of: &LineOf, at: Ticks, name: &str) -> Option<(LineOf, String)> {
    Some((of.clone(), format!("{}  {name}", values::of_line(canvas, of, Some(at))?.text())))
}

/// The line nearest to the pointer, if all lines share one scale.
fn nearest(canvas: &Canvas<'_>, at: Ticks, pointer: Pos2) -> Option<(LineOf, String)> {
    let (document, frame) = (canvas.document, canvas.frame());
    let bytes = |height: f32| f64::from(height / frame.height().max(1.0)) * canvas.scales.top;
    let under = bytes(frame.bottom() - pointer.y);
    let far = |value: f64| (value - under).abs();
    let graph = canvas.graph()?;
    let (values, sum) = graph.values_at(at);
    if let Some(sum) = sum {
        // In a stack it is the part under the pointer.
        let mut below = 0.0;
        let part = values.into_iter().find(|(_, value)| {
            below += *value as f64;
            below >= under
        });
        return Some(match part {
            Some((of, value)) => (of.clone(), format!("{}  {}", format::bytes(value), names::name_of(document, of))),
            None => (LineOf::OtherTypes(crate::units::Layer::Commit), format!("{}  in all", format::bytes(sum))),
        });
    }
    let lines = values.into_iter().map(|(of, value)| (of.clone(), value as f64));
    let on_scale = |(id, height)| (LineOf::Counter(id), height as f64 / canvas.scales.factor(document, id));
    let counters = counters::heights(document, at).map(on_scale);
    let (of, at_height) = lines.chain(counters).min_by(|a, b| far(a.1).total_cmp(&far(b.1)))?;
    if far(at_height) > bytes(REACH) {
        return None;
    }
    value(canvas, &of, at, &names::name_of(document, &of))
}
