//! The context menu of the graph.

use eframe::egui::{self, Ui};

use super::canvas::Canvas;
use crate::app::commands::{Command, Commands, DocCommand, Setting};
use crate::app::document::Document;
use crate::app::services::picture::{PictureFormat, PictureRequest, Subject};
use crate::app::state::alignment::Alignment;
use crate::app::state::graph::Arrangement;
use crate::units::{Interval, Ticks};

/// The actions for a moment: the one under the pointer, if that is on the graph.
pub fn show(canvas: &Canvas<'_>, ui: &mut Ui, at: Option<Ticks>, commands: &mut Commands) {
    // The pointer moves on into the menu, so the place of the click is kept.
    let id = egui::Id::unique("graph menu time");
    let clicked = ui.input(|i| i.pointer.secondary_clicked());
    let kept = ui.data(|data| data.get_temp::<i64>(id)).map(Ticks);
    let Some(at) = at.filter(|_| clicked).or(kept).or(at) else { return };
    ui.data_mut(|data| data.insert_temp(id, at.0));
    let document = canvas.document;
    let mut item = |ui: &mut Ui, enabled, text: &str, command| {
        commands.on_click(&ui.add_enabled(enabled, egui::Button::new(text)), command);
    };
    item(ui, document.selection().is_some(), "Zoom to selection", DocCommand::ZoomToSelection);
    item(ui, document.selection().is_some(), "Clear selection", DocCommand::Select(None));
    item(ui, document.history.can_go_back(), "Back", DocCommand::Back);
    item(ui, document.view() != document.trace.span, "Whole trace", DocCommand::ZoomOut);
    ui.separator();
    let instant = Interval { from: at.next(), to: at.next() };
    item(ui, true, "What was alive here", DocCommand::Select(Some(instant)));
    item(ui, true, "Mark this moment", DocCommand::Mark(Some(at)));
    item(ui, !document.marks().is_empty(), "Remove marks", DocCommand::ClearMarks);
    ui.separator();
    item(ui, true, "Set a pin here", DocCommand::Pin(at));
    item(ui, !document.pins().is_empty(), "Remove pins", DocCommand::ClearPins);
    commands.on_click(&ui.button("Write a note here"), Command::EditNote(Some(at)));
    ui.separator();
    let (text, other) = match document.arrangement() {
        Arrangement::Lanes => ("All lines on one scale", Arrangement::Together),
        Arrangement::Together => ("A lane for each line", Arrangement::Lanes),
    };
    commands.on_click(&ui.button(text), Setting::Arrangement(other));
    compared(document, ui, commands);
    ui.separator();
    for format in PictureFormat::ALL {
        commands.on_click(&ui.button(format.label()), Command::TakePicture(PictureRequest { subject: Subject::Graph, format }));
    }
}

/// How the compared trace is laid over the graph.
fn compared(document: &Document, ui: &mut Ui, commands: &mut Commands) {
    let Some(opened) = document.comparison.opened() else { return };
    ui.menu_button("Compared trace", |ui| {
        let offered = Alignment::offered(&document.trace, &opened.ready.trace, document.shown_frame());
        for alignment in offered.into_iter().map(Some).chain([None]) {
            let words = alignment.as_ref().map_or_else(|| "Not drawn".to_owned(), Alignment::words);
            if ui.radio(document.alignment == alignment, words).clicked() {
                commands.push(DocCommand::Align(alignment));
            }
        }
    });
}
