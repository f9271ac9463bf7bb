//! The user's notes on the time axis: a line with its text at the lower end, edited in place.

use std::sync::Arc;

use eframe::egui::{self, FontId, Id, Key, Pos2, Rect, Sense, Stroke, StrokeKind, TextEdit, Ui, WidgetInfo, vec2};

use super::canvas::{Canvas, LIVES};
use crate::app::base::theme;
use crate::app::commands::{Command, Commands, DocCommand};
use crate::app::document::Document;
use crate::app::state::notes::{LONGEST_NOTE, Note};
use crate::app::widgets::icons::shortened;
use crate::units::{Interval, Ticks};

/// Maximum width of a text in points, and the minimum below which only the corner of a note is drawn.
const WIDEST: f32 = 200.0;
const NARROWEST: f32 = 26.0;

/// Height of a note, and width of the field in which one is written.
const HEIGHT: f32 = 17.0;
const FIELD: f32 = 260.0;

/// The note being edited: its moment and its text as it is typed.
#[derive(Clone)]
struct Edited {
    at: Ticks,
    text: String,
}

fn edited_id() -> Id {
    Id::unique("note being edited")
}

/// Opens the field for the note at a moment.
pub fn edit(ctx: &egui::Context, document: &Document, at: Ticks) {
    let known = document.history.notes().iter().find(|note| note.at == at);
    let text = known.map(|note| note.text.to_string()).unwrap_or_default();
    ctx.data_mut(|data| data.insert_temp(edited_id(), Edited { at, text }));
}

/// Draws all notes in the view, and the field of the one being edited.
pub fn show(canvas: &Canvas<'_>, ui: &mut Ui, commands: &mut Commands) {
    let view = canvas.document.view();
    let notes = canvas.document.history.notes();
    let in_sight: Vec<&Note> = notes.iter().filter(|note| view.from <= note.at && note.at <= view.to).collect();
    for (at, note) in in_sight.iter().enumerate() {
        let end = in_sight.get(at + 1).map_or(canvas.frame().right(), |next| canvas.x_of(next.at));
        one(canvas, note, end, ui, commands);
    }
    field(canvas, ui, commands);
}

/// A note, whose text ends before `end`.
fn one(canvas: &Canvas<'_>, note: &Note, end: f32, ui: &mut Ui, commands: &mut Commands) {
    let (frame, visuals) = (canvas.frame(), ui.visuals().clone());
    let painter = ui.painter().with_clip_rect(frame);
    let color = theme::pin(&visuals);
    let x = canvas.x_of(note.at);
    let room = (end - x - 10.0).min(WIDEST);
    let galley =
        (room >= NARROWEST).then(|| shortened(&painter, &note.text, FontId::proportional(11.5), visuals.text_color(), room));
    let width = galley.as_ref().map_or(8.0, |galley| galley.size().x + 8.0);
    let rect = Rect::from_min_size(Pos2::new(x, frame.bottom() - LIVES - HEIGHT - 1.0), vec2(width, HEIGHT));
    let response = ui.interact(rect, ui.scope_id().with(("note", note.at.0)), Sense::click());
    canvas.note_icon(&response);
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, format!("Note: {}", note.text)));
    let is_lit = response.hovered() || response.has_focus();
    // Not over the texts of marks.
    painter.vline(x, canvas.lines().top()..=frame.bottom(), Stroke::new(if is_lit { 2.0 } else { 1.0 }, color));
    let fill = visuals.extreme_bg_color.lerp_to_gamma(color, if is_lit { 0.35 } else { 0.2 });
    painter.rect(rect, 2.0, fill, Stroke::new(1.0, color), StrokeKind::Inside);
    if let Some(galley) = galley {
        painter.galley(Pos2::new(x + 4.0, rect.center().y - galley.size().y / 2.0), galley, visuals.text_color());
    }
    commands.on_click(&response, Command::EditNote(Some(note.at)));
    let document = canvas.document;
    response.context_menu(|ui| {
        commands.on_click(&ui.button("Edit note"), Command::EditNote(Some(note.at)));
        commands.on_click(&ui.button("Remove note"), DocCommand::Note(note.at, String::new()));
        ui.separator();
        let instant = Interval { from: note.at.next(), to: note.at.next() };
        commands.on_click(&ui.button("What was alive here"), DocCommand::Select(Some(instant)));
    });
    let seconds = document.trace.clock.seconds(note.at);
    response.on_hover_cursor(egui::CursorIcon::PointingHand).on_hover_ui(|ui| {
        ui.set_max_width(FIELD);
        ui.label(&*note.text);
        ui.weak(format!("Note at {seconds:.6} s. Click to edit it"));
    });
}

/// The field in which a note is written, at its moment.
fn field(canvas: &Canvas<'_>, ui: &Ui, commands: &mut Commands) {
    let Some(mut edited) = ui.data(|data| data.get_temp::<Edited>(edited_id())) else { return };
    let frame = canvas.frame();
    let x = canvas.x_of(edited.at).clamp(frame.left(), (frame.right() - FIELD - 16.0).max(frame.left()));
    let area = egui::Area::new(edited_id())
        .order(egui::Order::Foreground)
        .pivot(egui::Align2::LEFT_BOTTOM)
        .fixed_pos(Pos2::new(x, frame.bottom() - LIVES));
    let (mut is_done, mut is_left) = (false, false);
    area.show(ui.ctx(), |ui| {
        egui::Frame::popup(ui.style()).show(ui, |ui| {
            let field = TextEdit::singleline(&mut edited.text).char_limit(LONGEST_NOTE).desired_width(FIELD);
            let field = ui.add(field.hint_text("A note for this moment").id(edited_id().with("field")));
            field.widget_info(|| WidgetInfo::labeled(egui::Role::TextInput, true, "Note"));
            is_left = ui.input_mut(|input| input.consume_key(egui::Modifiers::NONE, Key::Escape));
            is_done = field.lost_focus();
            if !is_done && !field.has_focus() {
                field.request_focus();
            }
        });
    });
    if is_left || is_done {
        ui.data_mut(|data| data.remove::<Edited>(edited_id()));
    } else {
        ui.data_mut(|data| data.insert_temp(edited_id(), edited.clone()));
    }
    let before = canvas.document.history.notes().iter().find(|note| note.at == edited.at).map(|note| Arc::clone(&note.text));
    if is_done && !is_left && before.as_deref().unwrap_or_default() != edited.text.trim() {
        commands.push(DocCommand::Note(edited.at, edited.text));
    }
}
