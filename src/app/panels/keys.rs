//! The window *Keys*: all keys of the table of commands, and the gestures of the mouse.

use eframe::egui::{self, RichText, Ui};

use super::command_table as table;
use super::command_table::Entry;
use super::context::PanelContext;
use crate::app::commands::{Command, keys};

pub fn show(context: &mut PanelContext<'_>, ctx: &egui::Context) {
    if !context.show_keys {
        return;
    }
    let mut open = true;
    let screen = ctx.content_rect();
    let window = egui::Window::new("Keys").open(&mut open).collapsible(false).resizable(false);
    window.anchor(egui::Align2::CENTER_CENTER, egui::Vec2::ZERO).show(ctx, |ui| {
        let area = egui::ScrollArea::vertical().max_height(screen.height() - 90.0).min_scrolled_height(screen.height() - 90.0);
        area.show(ui, |ui| {
            commands(context, ui);
            ui.add_space(8.0);
            gestures(ui);
        });
    });
    if !open {
        context.commands.push(Command::ShowKeys(false));
    }
}

fn commands(context: &PanelContext<'_>, ui: &mut Ui) {
    grid("keys of commands").show(ui, |ui| {
        let entries = table::sections(context).into_iter().flat_map(|section| section.entries);
        entries.filter(|entry| !entry.keys.is_empty()).for_each(|entry| line(&keys::all(entry.keys), does(&entry), ui));
    });
}

fn gestures(ui: &mut Ui) {
    grid("gestures").show(ui, |ui| keys::GESTURES.iter().for_each(|(on, does)| line(on, does, ui)));
}

fn grid(id: &str) -> egui::Grid {
    egui::Grid::new(id).num_columns(2).spacing([24.0, 6.0])
}

fn does(entry: &Entry) -> &str {
    if entry.hint.is_empty() { &entry.words } else { entry.hint }
}

fn line(keys: &str, does: &str, ui: &mut Ui) {
    ui.label(RichText::new(keys).strong());
    ui.label(does);
    ui.end_row();
}
