//! Errors and notices at the top of the window, until they are closed.

use eframe::egui::{self, Align, Label, Layout, Role, Sense, Ui, WidgetInfo, vec2};

use super::context::PanelContext;
use crate::app::base::message::{Kind, Message};
use crate::app::commands::{Command, Commands};

pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    if context.messages.is_empty() {
        return;
    }
    egui::Panel::top("errors").show(ui, |ui| {
        for (at, message) in context.messages.iter().enumerate() {
            ui.with_layout(Layout::right_to_left(Align::Min), |ui| one(at, message, context.commands, ui));
        }
    });
}

/// Draws a message, its buttons first, at the right.
fn one(at: usize, message: &Message, commands: &mut Commands, ui: &mut Ui) {
    commands.on_click(&ui.button("Dismiss"), Command::DismissMessage(at));
    if let Some(details) = &message.details
        && ui.button("Copy details").on_hover_text("Technical details for a bug report").clicked()
    {
        commands.push(Command::Copy(details.clone()));
    }
    ui.with_layout(Layout::left_to_right(Align::Min), |ui| {
        let (color, kind) = match message.kind {
            Kind::Error => (ui.visuals().error_fg_color, "Error"),
            Kind::Notice => (ui.visuals().weak_text_color(), "Notice"),
        };
        let (mark, response) = ui.allocate_exact_size(vec2(4.0, 18.0), Sense::hover());
        response.widget_info(|| WidgetInfo::labeled(Role::Label, true, kind));
        ui.painter().rect_filled(mark, 1.5, color);
        ui.add(Label::new(&message.text).wrap());
    });
}
