//! The parts of the window, one file each. A panel draws the state and pushes
//! commands; it changes nothing itself.

mod brush;
mod counters;
mod frames;
mod list;
mod losses;
mod offer;
pub mod overview;
mod player;
pub mod sources;
pub mod start_page;
pub mod status;
mod symbol_sources;
mod symbols_tab;
pub mod table;
pub mod timeline;
pub mod toolbar;
pub mod trace_tab;
mod types_tab;
mod unmatched;

use eframe::egui;

use super::HighwaterApp;
use super::commands::{BINDINGS, Command, DocCommand};
use super::document::Tab;

/// Draws the whole window.
pub fn show(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    egui::Panel::top("menu").show(ui, |ui| toolbar::menu(app, ui));
    errors(app, ui);
    if app.document.is_some() {
        egui::Panel::top("tools").show(ui, |ui| toolbar::tools(app, ui));
        symbol_sources::question(app, ui);
    }
    egui::Panel::bottom("status").show(ui, |ui| status::show(app, ui));
    if app.document.is_none() {
        egui::CentralPanel::default().show(ui, |ui| start_page::show(app, ui));
    } else {
        document(app, ui);
    }
    keys(app, ui.ctx());
    offer::show(app, ui.ctx());
}

fn document(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    let width = (ui.available_width() * 0.3).min(290.0);
    egui::Panel::left("sources").default_size(width).size_range(180.0..=520.0).show(ui, |ui| sources::show(app, ui));
    let height = ui.available_height();
    egui::Panel::top("timeline")
        .resizable(true)
        .default_size((height * 0.46).max(170.0))
        .size_range(150.0..=(height - 120.0).max(160.0))
        .show(ui, |ui| {
            overview::show(app, ui);
            timeline::show(app, ui);
        });
    egui::CentralPanel::default().show(ui, |ui| {
        let Some(document) = &app.document else { return };
        let tab = document.tab;
        ui.horizontal(|ui| {
            let tabs = [(Tab::Table, "Allocations"), (Tab::Types, "Types"), (Tab::Symbols, "Symbols"), (Tab::Trace, "Trace")];
            for (this, name) in tabs {
                if ui.selectable_label(tab == this, name).clicked() {
                    app.commands.doc(DocCommand::ShowTab(this));
                }
            }
            match tab {
                Tab::Table => toolbar::tree(app, ui),
                Tab::Types => {
                    types_tab::split(app, ui);
                    toolbar::search(app, ui);
                }
                Tab::Symbols | Tab::Trace => {}
            }
        });
        match tab {
            Tab::Table => table::show(app, ui),
            Tab::Types => types_tab::show(app, ui),
            Tab::Symbols => symbols_tab::show(app, ui),
            Tab::Trace => trace_tab::show(app, ui),
        }
    });
}

/// What went wrong, above everything until it is closed.
fn errors(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    if app.errors.is_empty() {
        return;
    }
    egui::Panel::top("errors").show(ui, |ui| {
        for (i, error) in app.errors.iter().enumerate() {
            ui.horizontal(|ui| {
                if ui.button("Dismiss").clicked() {
                    app.commands.push(Command::DismissError(i));
                }
                if let Some(details) = &error.details
                    && ui.button("Copy details").on_hover_text("What a report of this error needs").clicked()
                {
                    app.commands.push(Command::Copy(details.clone()));
                }
                ui.add(egui::Label::new(egui::RichText::new(&error.text).color(ui.visuals().error_fg_color)).wrap());
            });
        }
    });
}

fn keys(app: &mut HighwaterApp, ctx: &egui::Context) {
    let mut open = app.show_keys;
    let window = egui::Window::new("Keys").open(&mut open).collapsible(false).resizable(false);
    window.anchor(egui::Align2::CENTER_CENTER, egui::Vec2::ZERO).show(ctx, |ui| {
        egui::Grid::new("keys").num_columns(2).spacing([24.0, 6.0]).show(ui, |ui| {
            for binding in BINDINGS {
                ui.strong(binding.keys);
                ui.label(binding.does);
                ui.end_row();
            }
        });
    });
    if open != app.show_keys {
        app.commands.push(Command::ShowKeys(open));
    }
}
