//! The bar that reports remains of recordings in the system, and offers to clean them up.

use eframe::egui::{self, Ui};

use super::context::PanelContext;
use crate::app::commands::{Commands, RecordCommand};
use crate::app::services::leftovers::Stage;
use crate::capture::Leftovers;

pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let PanelContext { leftovers, commands, .. } = context;
    if leftovers.stage == Stage::Nothing {
        return;
    }
    egui::Panel::top("leftovers").show(ui, |ui| {
        ui.horizontal_wrapped(|ui| match &leftovers.stage {
            Stage::Nothing => {}
            Stage::Found(found) => offer(&format!("An earlier recording left {}", listed(found)), commands, ui),
            Stage::CutShort => offer("The recorder was killed; its ETW sessions may still be running", commands, ui),
            Stage::CleaningUp => {
                ui.spinner();
                ui.label("Cleaning up; Windows may ask for your consent\u{2026}");
            }
            Stage::CleanedUp(what) if what.is_empty() => told("Nothing was left", commands, ui),
            Stage::CleanedUp(what) => told(&format!("Cleaned up: {}", listed(what)), commands, ui),
            Stage::Failed(reason) => offer(reason, commands, ui),
        });
    });
}

/// A message with a button to act on it.
fn offer(text: &str, commands: &mut Commands, ui: &mut Ui) {
    ui.colored_label(ui.visuals().warn_fg_color, text);
    let hint = "Stop what still runs and restore the settings; Windows asks once for administrator rights";
    commands.on_click(&ui.button("Clean up").on_hover_text(hint), RecordCommand::CleanUp);
    dismiss("Not now", commands, ui);
}

fn told(text: &str, commands: &mut Commands, ui: &mut Ui) {
    ui.label(text);
    dismiss("Close bar", commands, ui);
}

fn dismiss(text: &str, commands: &mut Commands, ui: &mut Ui) {
    commands.on_click(&ui.button(text), RecordCommand::LeaveBe);
}

fn listed(what: &Leftovers) -> String {
    what.lines().join(", ")
}
