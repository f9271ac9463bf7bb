//! The parts of the window, one file each. A panel draws the state and pushes
//! commands; it changes nothing itself.

mod accepted;
mod apart;
mod attach;
mod brush;
mod chips;
pub mod columns;
mod counters;
pub mod frames;
mod help;
pub mod icons;
mod keys;
mod leftovers;
pub mod line;
pub mod list;
pub mod losses;
mod menu;
mod offer;
pub mod overview;
mod palette;
mod player;
mod providers;
mod recording;
mod replacing;
pub mod source_files;
pub mod sources;
pub mod stack_rules;
pub mod start_page;
pub mod status;
mod symbol_sources;
mod symbols_tab;
mod tiles;
pub mod timeline;
pub mod toolbar;
pub mod trace_tab;
mod traces;
mod typed_path;
mod unmatched;
mod walk;

use eframe::egui;

use super::HighwaterApp;
use super::commands::Command;
use super::document::Document;
use super::state::ids::ViewId;
use super::theme;
use super::views::{Around, Pane, Views};

/// Draws the whole window.
pub fn show(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    egui::Panel::top("menu").show(ui, |ui| menu::show(app, ui));
    errors(app, ui);
    recording::show(app, ui);
    leftovers::show(app, ui);
    apart::show(app, ui);
    if app.document.is_some() {
        egui::Panel::top("tools").show(ui, |ui| toolbar::tools(app, ui));
        symbol_sources::question(app, ui);
    }
    egui::Panel::bottom("status").show(ui, |ui| status::show(app, ui));
    if app.document.is_none() {
        egui::CentralPanel::default().show(ui, |ui| start_page::show(app, ui));
    } else {
        let frame = egui::Frame::NONE.fill(ui.visuals().panel_fill);
        egui::CentralPanel::default().frame(frame).show(ui, |ui| tiles::show(app, ui));
    }
    walk::show(app, ui.ctx());
    help::show(app, ui.ctx());
    keys::show(app, ui.ctx());
    offer::show(app, ui.ctx());
    attach::show(app, ui.ctx());
    stack_rules::show(app, ui.ctx());
    source_files::show(app, ui.ctx());
    accepted::show(app, ui.ctx());
    typed_path::show(app, ui.ctx());
    replacing::show(app, ui.ctx());
    palette::show(app, ui.ctx());
    if app.document.is_some() {
        drop_hint(ui);
    }
}

/// Highlights the window while files are dragged over it; the start page has an area for that.
fn drop_hint(ui: &egui::Ui) {
    if ui.input(|i| i.raw.hovered_files.is_empty()) {
        return;
    }
    let painter = ui.ctx().layer_painter(egui::LayerId::new(egui::Order::Foreground, egui::Id::unique("drop target")));
    let (rect, accent) = (ui.ctx().content_rect().shrink(6.0), theme::series(0, ui.visuals()));
    painter.rect_filled(rect, 8.0, ui.visuals().panel_fill.gamma_multiply(0.8));
    painter.rect_stroke(rect, 8.0, egui::Stroke::new(2.0, accent), egui::StrokeKind::Inside);
    let font = egui::FontId::proportional(22.0);
    painter.text(rect.center(), egui::Align2::CENTER_CENTER, "Let go to open", font, ui.visuals().strong_text_color());
}

/// Calls `draw` with the views and their surroundings.
fn with_views(app: &mut HighwaterApp, draw: impl FnOnce(&mut Views, &mut Around<'_>)) {
    let HighwaterApp { document: Some(document), commands, settings, source_files, .. } = app else { return };
    let is_searched = document.searched().is_some_and(|text| !text.trim().is_empty());
    let mut views = std::mem::replace(&mut document.views, Views::none());
    let mut around = Around { document, commands, settings, sources: source_files, is_searched, looked: None };
    draw(&mut views, &mut around);
    let looked = around.looked;
    document.views = views;
    if let (Some(looked), Some(names)) = (looked, &mut document.names) {
        names.look_at(looked);
    }
}

/// Calls `draw` with one view and its surroundings.
fn with_view(app: &mut HighwaterApp, id: ViewId, draw: impl FnOnce(&mut dyn Pane, &mut Around<'_>)) {
    with_views(app, |views, around| {
        if let Some(view) = views.get_mut(id) {
            draw(view, around);
        }
    });
}

/// Handles keys that act on the active view.
pub fn view_keys(app: &mut HighwaterApp, ctx: &egui::Context) {
    let Some(view) = app.document.as_ref().and_then(Document::view_in_sight) else { return };
    with_view(app, view, |view, around| view.keys(around, ctx));
}

/// The error messages at the top of the window, until they are closed.
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
