//! The parts of the window, one file each. A panel draws the state and pushes
//! commands; it changes nothing itself.

mod attach;
mod brush;
mod chips;
pub mod columns;
mod counters;
pub mod frames;
pub mod list;
pub mod losses;
mod offer;
pub mod overview;
mod player;
mod recording;
pub mod sources;
pub mod stack_rules;
pub mod start_page;
pub mod status;
mod symbol_sources;
mod symbols_tab;
pub mod timeline;
pub mod toolbar;
pub mod trace_tab;
mod unmatched;

use eframe::egui;

use super::HighwaterApp;
use super::commands::{BINDINGS, Command, DocCommand};
use super::document::{Document, Tab};
use super::views::{Around, Looked, Pane, ViewId, Views};

/// Draws the whole window.
pub fn show(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    egui::Panel::top("menu").show(ui, |ui| toolbar::menu(app, ui));
    errors(app, ui);
    recording::show(app, ui);
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
    attach::show(app, ui.ctx());
    stack_rules::show(app, ui.ctx());
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
        let (tab, views) = (document.tab, document.views.titles());
        // Symbols and Trace need the room.
        if matches!(tab, Tab::View(_)) {
            with_views(app, |views, around| views.strip(around, ui));
        }
        tabs(app, ui, tab, views);
        // The tools of a view have a row of their own: there are many tabs.
        match tab {
            Tab::View(view) => {
                ui.horizontal(|ui| {
                    with_view(app, view, |view, around| view.tools(around, ui));
                    toolbar::search(app, ui);
                });
                with_view(app, view, |view, around| view.show(around, ui));
            }
            Tab::Symbols => symbols_tab::show(app, ui),
            Tab::Trace => trace_tab::show(app, ui),
        }
    });
}

/// What can be looked at.
fn tabs(app: &mut HighwaterApp, ui: &mut egui::Ui, tab: Tab, views: Vec<ViewId>) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 1.0;
        let views = views.into_iter().map(|title| (Tab::View(title), title));
        for (this, name) in views.chain([(Tab::Symbols, "Symbols"), (Tab::Trace, "Trace")]) {
            if ui.selectable_label(tab == this, name).clicked() {
                app.commands.doc(DocCommand::ShowTab(this));
            }
        }
    });
}

/// Hands the views what is around them.
fn with_views(app: &mut HighwaterApp, draw: impl FnOnce(&mut Views, &mut Around<'_>)) {
    let HighwaterApp { document: Some(document), commands, settings, .. } = app else { return };
    let mut views = std::mem::replace(&mut document.views, Views::none());
    let mut around = Around { document, commands, settings, looked: None };
    draw(&mut views, &mut around);
    let looked = around.looked;
    document.views = views;
    if let (Some(Looked { trace, tree, lines }), Some(names)) = (looked, &mut document.names) {
        names.look_at(&trace, &tree, lines);
    }
}

/// Hands one view what is around it.
fn with_view(app: &mut HighwaterApp, id: ViewId, draw: impl FnOnce(&mut dyn Pane, &mut Around<'_>)) {
    with_views(app, |views, around| {
        if let Some(view) = views.get_mut(id) {
            draw(view, around);
        }
    });
}

/// Keys that act on the view in sight.
pub fn view_keys(app: &mut HighwaterApp, ctx: &egui::Context) {
    let Some(view) = app.document.as_ref().and_then(Document::view_in_sight) else { return };
    with_view(app, view, |view, around| view.keys(around, ctx));
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
