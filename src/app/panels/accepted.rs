//! The dialog that accepts a finding.

use std::path::PathBuf;

use eframe::egui::{self, RichText, TextEdit, Ui, WidgetInfo};

use super::context::PanelContext;
use crate::app::commands::Command;
use crate::app::services::accepted::AcceptChange;
use crate::format;
use crate::limits::Accepted;

pub fn show(context: &mut PanelContext<'_>, ctx: &egui::Context) {
    let PanelContext { accepted, commands, .. } = context;
    let Some((finding, file)) = &mut accepted.draft else { return };
    let (mut is_accepted, mut is_closed) = (false, false);
    let dialog = egui::Modal::new(egui::Id::unique("accept a finding")).show(ctx, |ui| {
        ui.set_width(480.0f32.min(ctx.content_rect().width() - 60.0));
        ui.heading("Accept this finding");
        ui.label(RichText::new(finding.words()).strong());
        let most = format::bytes(finding.most_bytes);
        ui.label(format!("It stays hidden in all traces until it exceeds {most}."));
        is_accepted = fields(finding, file, ui);
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            let can = !file.trim().is_empty();
            is_accepted |= ui.add_enabled(can, egui::Button::new("Accept")).clicked();
            is_closed = ui.button("Cancel").clicked();
            is_accepted &= can;
        });
    });
    if is_accepted {
        let change = AcceptChange::Accept(Box::new(finding.clone()), PathBuf::from(file.trim()));
        commands.push(Command::ChangeAccepted(change));
    }
    if is_accepted || is_closed || dialog.should_close() {
        commands.push(Command::OfferToAccept(None));
    }
}

/// The fields for the reason and for the file that stores it. Returns whether Enter was pressed.
fn fields(finding: &mut Accepted, file: &mut String, ui: &mut Ui) -> bool {
    ui.label("Why?");
    let reason = TextEdit::singleline(&mut finding.reason).hint_text("a cache of textures, at most 200 MB");
    let reason = ui.add(reason.desired_width(f32::INFINITY));
    if ui.memory(|memory| memory.focused().is_none()) {
        reason.request_focus();
    }
    reason.widget_info(|| WidgetInfo::labeled(egui::Role::TextInput, true, "Reason"));
    let entered = reason.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
    ui.label("Kept in");
    let place = ui.add(TextEdit::singleline(file).desired_width(f32::INFINITY));
    let hint = "A file that your team can share; highwater findings and check take it with --baseline";
    place.on_hover_text(hint).widget_info(|| WidgetInfo::labeled(egui::Role::TextInput, true, "File of accepted findings"));
    entered
}
