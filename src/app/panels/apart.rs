//! The bar that says that files given together are of several captures, and offers to compare them.

use eframe::egui::{self, Ui};

use super::context::PanelContext;
use crate::app::commands::Command;

pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let Some(told) = &context.apart.told else { return };
    let (sentence, offered) = (told.sentence(), std::mem::take(&mut context.comparisons));
    egui::Panel::top("apart").show(ui, |ui| {
        ui.horizontal_wrapped(|ui| {
            ui.label(sentence);
            for offer in offered {
                let button = ui.add_enabled(offer.commands.is_some(), egui::Button::new(offer.words));
                if button.on_disabled_hover_text("As soon as both are loaded").clicked() {
                    context.commands.push(Command::CloseApart);
                    offer.commands.into_iter().flatten().for_each(|command| context.commands.push(command));
                }
            }
            context.commands.on_click(&ui.button("Close bar"), Command::CloseApart);
        });
    });
}
