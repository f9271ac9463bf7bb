//! The question before a user's file is replaced. The file stays unless the user says otherwise.

use eframe::egui;

use super::context::PanelContext;
use crate::app::commands::Command;

pub fn show(context: &mut PanelContext<'_>, ctx: &egui::Context) {
    let Some(place) = context.replacing else { return };
    let mut is_replaced = None;
    let dialog = egui::Modal::new(egui::Id::unique("replacing")).show(ctx, |ui| {
        ui.set_width(460.0f32.min(ctx.content_rect().width() - 60.0));
        ui.heading("Replace the file?");
        ui.label(format!("{} is there already, in {}.", place.name(), place.folder()));
        ui.label("What is in it will be lost.");
        ui.separator();
        ui.horizontal(|ui| {
            let (cancel, replace) = (ui.button("Cancel"), ui.button("Replace"));
            // Enter keeps the file.
            if ui.memory(|memory| memory.focused().is_none_or(|focused| ![cancel.id, replace.id].contains(&focused))) {
                cancel.request_focus();
            }
            if cancel.clicked() {
                is_replaced = Some(false);
            } else if replace.clicked() {
                is_replaced = Some(true);
            }
        });
    });
    if let Some(is_replaced) = is_replaced.or_else(|| dialog.should_close().then_some(false)) {
        context.commands.push(Command::Replace(is_replaced));
    }
}
