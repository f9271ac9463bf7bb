//! The parts of the window, one file each. A panel draws the state and pushes
//! commands; it changes nothing itself.

mod accepted;
mod apart;
pub mod chips;
pub mod command_table;
pub mod context;
mod counters;
mod help;
mod keys;
mod leftovers;
pub mod load_scope;
mod menu;
mod messages;
pub mod overview;
mod palette;
mod player;
mod providers;
pub mod record_dialog;
mod recording;
mod replacing;
pub mod shortcuts;
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
mod trackers;
mod typed_path;
mod walk;
mod writing;

use eframe::egui;

use crate::app::base::theme;
use crate::app::document::Document;
use crate::app::state::ids::ViewId;
use crate::app::views::{Pane, ViewContext, Views};
use context::PanelContext;

/// Draws the whole window.
pub fn show(context: &mut PanelContext<'_>, ui: &mut egui::Ui) {
    egui::Panel::top("menu").show(ui, |ui| menu::show(context, ui));
    messages::show(context, ui);
    writing::show(context, ui);
    recording::show(context, ui);
    leftovers::show(context, ui);
    apart::show(context, ui);
    if context.document.is_some() {
        egui::Panel::top("tools").show(ui, |ui| toolbar::tools(context, ui));
    }
    egui::Panel::bottom("status").show(ui, |ui| status::show(context, ui));
    if context.document.is_none() {
        egui::CentralPanel::default().show(ui, |ui| start_page::show(context, ui));
    } else {
        let frame = egui::Frame::NONE.fill(ui.visuals().panel_fill);
        egui::CentralPanel::default().frame(frame).show(ui, |ui| tiles::show(context, ui));
    }
    symbol_sources::question(context, ui);
    walk::show(context, ui.ctx());
    help::show(context, ui.ctx());
    keys::show(context, ui.ctx());
    load_scope::show(context, ui.ctx());
    record_dialog::show(context, ui.ctx());
    stack_rules::show(context, ui.ctx());
    trackers::show(context, ui.ctx());
    source_files::show(context, ui.ctx());
    accepted::show(context, ui.ctx());
    typed_path::show(context, ui.ctx());
    replacing::show(context, ui.ctx());
    palette::show(context, ui.ctx());
    if context.document.is_some() {
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
fn with_views(context: &mut PanelContext<'_>, draw: impl FnOnce(&mut Views, &mut ViewContext<'_>)) {
    let PanelContext { document: Some(document), views: Some(views), commands, settings, source_files, drawn, .. } = context
    else {
        return;
    };
    let mut around = ViewContext { document, commands, settings, sources: source_files, looked: None, pointed: None };
    draw(views, &mut around);
    drawn.looked.extend(around.looked);
    drawn.pointed = around.pointed.or(drawn.pointed.take());
}

/// Calls `draw` with one view and its surroundings.
fn with_view(context: &mut PanelContext<'_>, id: ViewId, draw: impl FnOnce(&mut dyn Pane, &mut ViewContext<'_>)) {
    with_views(context, |views, around| {
        if let Some(view) = views.get_mut(id) {
            draw(view, around);
        }
    });
}

/// Handles keys that act on the active view.
pub fn view_keys(context: &mut PanelContext<'_>, ctx: &egui::Context) {
    let Some(view) = context.document.and_then(Document::view_in_sight) else { return };
    with_view(context, view, |view, around| view.keys(around, ctx));
}
