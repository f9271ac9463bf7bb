//! The window without a trace: what it is for, and the ways in.

use eframe::egui;

use super::toolbar;
use crate::app::HighwaterApp;
use crate::app::commands::Command;
use crate::load::Input;

pub fn show(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    if app.loading.is_some() && app.offer.is_none() {
        loading(app, ui);
        return;
    }
    let width = 460.0f32.min(ui.available_width() - 32.0);
    let top = (ui.available_height() * 0.16).clamp(12.0, 120.0);
    egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.add_space(top);
        ui.horizontal(|ui| {
            ui.add_space(((ui.available_width() - width) / 2.0).max(0.0));
            ui.vertical(|ui| {
                ui.set_width(width);
                contents(app, ui);
            });
        });
    });
    if ui.input(|i| !i.raw.hovered_files.is_empty()) {
        let painter = ui.ctx().layer_painter(egui::LayerId::new(egui::Order::Foreground, egui::Id::unique("drop target")));
        let rect = ui.max_rect().shrink(8.0);
        painter.rect_stroke(rect, 8.0, egui::Stroke::new(2.0, ui.visuals().selection.bg_fill), egui::StrokeKind::Inside);
    }
}

fn contents(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    ui.label(egui::RichText::new("highwater").size(34.0).strong());
    ui.label(egui::RichText::new("Where did the memory go?").size(17.0));
    ui.add_space(10.0);
    ui.label("Open an ETW trace (.etl, also in a .zip or .diagsession) with heap, VirtualAlloc or custom heap tracker events. Several files of one recording open together.");
    ui.add_space(16.0);
    ui.horizontal(|ui| {
        if big_button(ui, "Open\u{2026}").on_hover_text("Ctrl+O").clicked() {
            app.commands.push(Command::OpenDialog);
        }
        let can_record = app.recorder.is_some() && !app.is_recording();
        let record = ui.add_enabled_ui(can_record, |ui| big_button(ui, "Record\u{2026}")).inner;
        let record = record.on_hover_text("Watch a running program; Ctrl+R").on_disabled_hover_text(toolbar::why_not(app));
        if record.clicked() {
            app.commands.push(Command::ShowAttach(true));
        }
        if big_button(ui, "Demo trace").on_hover_text("A program with a step, ten spikes and a leak").clicked() {
            app.commands.push(Command::Open(vec![Input::Demo]));
        }
    });
    ui.add_space(6.0);
    ui.weak("or drop files on this window");
    if app.settings.recent.is_empty() {
        return;
    }
    ui.add_space(22.0);
    ui.horizontal(|ui| {
        ui.strong("Recent");
        if ui.small_button("Clear").on_hover_text("Forget the recent files").clicked() {
            app.commands.push(Command::ForgetRecent);
        }
    });
    for path in &app.settings.recent {
        let name = path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
        let folder = path.parent().map(|p| p.display().to_string()).unwrap_or_default();
        ui.horizontal(|ui| {
            if ui.link(name).on_hover_text(path.display().to_string()).clicked() {
                app.commands.push(Command::Open(vec![Input::File(path.clone())]));
            }
            ui.add(egui::Label::new(egui::RichText::new(folder).weak()).truncate());
        });
    }
}

fn big_button(ui: &mut egui::Ui, text: &str) -> egui::Response {
    ui.add(egui::Button::new(egui::RichText::new(text).size(16.0)).min_size(egui::vec2(140.0, 36.0)))
}

fn loading(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    let Some(job) = &app.loading else { return };
    let names: Vec<String> = job.inputs.iter().map(Input::name).collect();
    let progress = job.progress();
    ui.vertical_centered(|ui| {
        ui.add_space(ui.available_height() * 0.3);
        ui.label(egui::RichText::new(format!("Loading {}", names.join(", "))).size(16.0));
        ui.add_space(10.0);
        ui.add(egui::ProgressBar::new(progress).desired_width(320.0).show_percentage());
        ui.add_space(10.0);
        if ui.button("Cancel").clicked() {
            app.commands.push(Command::CancelLoading);
        }
    });
}
