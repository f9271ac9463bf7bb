//! A guided walk on the screen: a small window with the current step.

use eframe::egui::{self, RichText, Ui};

use crate::app::HighwaterApp;
use crate::app::commands::Command;
use crate::app::document::Document;
use crate::app::walk::{Step, Walking};

const WIDTH: f32 = 320.0;

pub fn show(app: &mut HighwaterApp, ctx: &egui::Context) {
    let Some((walking, step)) = app.walking.and_then(|walking| Some((walking, walking.step()?))) else { return };
    let mut open = true;
    let mut given = Vec::new();
    let corner = ctx.content_rect().right_bottom() - egui::vec2(16.0, 40.0);
    let window = egui::Window::new(format!("Walk: {}", walking.walk.name())).id(egui::Id::unique("walk")).open(&mut open);
    window.collapsible(false).resizable(false).pivot(egui::Align2::RIGHT_BOTTOM).default_pos(corner).default_width(WIDTH).show(
        ctx,
        |ui| {
            ui.set_width(WIDTH);
            contents(walking, step, app.document.as_ref(), &mut given, ui);
        },
    );
    if !open {
        given.push(Command::Walk(None));
    }
    given.into_iter().for_each(|command| app.commands.push(command));
}

fn contents(walking: Walking, step: &Step, document: Option<&Document>, given: &mut Vec<Command>, ui: &mut Ui) {
    let count = walking.walk.steps().len();
    ui.horizontal(|ui| {
        ui.label(RichText::new(step.title).strong().size(15.0));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| ui.weak(format!("{} of {count}", walking.at + 1)));
    });
    ui.add_space(2.0);
    super::help::paragraph(step.text, ui);
    ui.add_space(8.0);
    ui.horizontal(|ui| {
        let commands = document.and_then(|document| step.commands(document));
        let show = ui.add_enabled(commands.is_some(), egui::Button::new("Show me"));
        if show.on_disabled_hover_text("As soon as the trace is ready").clicked() {
            given.extend(commands.unwrap_or_default());
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let step_to = |at| Command::Walk(Some(Walking { at, ..walking }));
            if walking.is_last() {
                if ui.button("Done").clicked() {
                    given.push(Command::Walk(None));
                }
            } else if ui.button("Next").clicked() {
                given.push(step_to(walking.at + 1));
            }
            if ui.add_enabled(walking.at > 0, egui::Button::new("Previous")).clicked() {
                given.push(step_to(walking.at.saturating_sub(1)));
            }
        });
    });
}
