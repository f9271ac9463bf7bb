//! The bar that says that files given together are of several captures, and offers to compare them.

use eframe::egui::{self, Ui};

use crate::app::HighwaterApp;
use crate::app::commands::Command;

pub fn show(app: &mut HighwaterApp, ui: &mut Ui) {
    let Some(told) = &app.apart.told else { return };
    let (sentence, offered) = (told.sentence(), app.offered_comparisons());
    egui::Panel::top("apart").show(ui, |ui| {
        ui.horizontal_wrapped(|ui| {
            ui.label(sentence);
            for offer in offered {
                let button = ui.add_enabled(offer.commands.is_some(), egui::Button::new(offer.words));
                if button.on_disabled_hover_text("As soon as both are loaded").clicked() {
                    app.commands.push(Command::CloseApart);
                    offer.commands.into_iter().flatten().for_each(|command| app.commands.push(command));
                }
            }
            if ui.button("Close bar").clicked() {
                app.commands.push(Command::CloseApart);
            }
        });
    });
}
