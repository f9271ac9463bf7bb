//! The bar of files that take long to write: how far each is, and a button that stops it.

use eframe::egui::{self, Button, ProgressBar, Ui};

use super::context::PanelContext;
use crate::app::commands::Command;

pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let PanelContext { writing, commands, is_closing, .. } = context;
    let long = || writing.iter().enumerate().filter(|(_, writing)| writing.is_long());
    if long().next().is_none() {
        return;
    }
    let then = if *is_closing { ", then highwater closes" } else { "\u{2026}" };
    egui::Panel::top("writing").show(ui, |ui| {
        for (at, writing) in long() {
            ui.horizontal(|ui| {
                ui.add(ProgressBar::new(writing.progress()).desired_width(140.0).show_percentage());
                let stop = ui.add_enabled(!writing.is_stopping(), Button::new("Stop"));
                commands.on_click(&stop.on_hover_text("Stop writing and leave everything as it was"), Command::StopWriting(at));
                ui.add(egui::Label::new(format!("Writing {}{then}", writing.name)).truncate());
            });
        }
    });
}
