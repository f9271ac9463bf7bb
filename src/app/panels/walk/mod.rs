//! A guided walk on the screen: a small window with the current step.

mod steps;

use eframe::egui::{self, RichText, Ui};

use super::context::PanelContext;
use crate::app::commands::Command;
use crate::app::state::walk::Walking;
use steps::{Scene, Step, steps};

const WIDTH: f32 = 320.0;

pub fn show(context: &mut PanelContext<'_>, ctx: &egui::Context) {
    let Some((walking, step)) = context.walking.and_then(|walking| Some((walking, steps(walking.walk).get(walking.at)?))) else {
        return;
    };
    let mut open = true;
    let mut given = Vec::new();
    let findings = context.views.iter().flat_map(|views| views.findings_in_all()).collect();
    let scene = context.document.map(|document| Scene { document, findings });
    let corner = ctx.content_rect().right_bottom() - egui::vec2(16.0, 40.0);
    let window = egui::Window::new(format!("Walk: {}", walking.walk.name())).id(egui::Id::unique("walk")).open(&mut open);
    window.collapsible(false).resizable(false).pivot(egui::Align2::RIGHT_BOTTOM).default_pos(corner).default_width(WIDTH).show(
        ctx,
        |ui| {
            ui.set_width(WIDTH);
            contents(walking, step, scene.as_ref(), &mut given, ui);
        },
    );
    if !open {
        given.push(Command::Walk(None));
    }
    given.into_iter().for_each(|command| context.commands.push(command));
}

fn contents(walking: Walking, step: &Step, scene: Option<&Scene<'_>>, given: &mut Vec<Command>, ui: &mut Ui) {
    let count = steps(walking.walk).len();
    ui.horizontal(|ui| {
        ui.label(RichText::new(step.title).strong().size(15.0));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| ui.weak(format!("{} of {count}", walking.at + 1)));
    });
    ui.add_space(2.0);
    super::help::paragraph(step.text, ui);
    ui.add_space(8.0);
    ui.horizontal(|ui| {
        let commands = scene.and_then(|scene| step.commands(scene));
        let show = ui.add_enabled(commands.is_some(), egui::Button::new("Show me"));
        if show.on_disabled_hover_text("As soon as the trace is ready").clicked() {
            given.extend(commands.unwrap_or_default());
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let step_to = |at| Command::Walk(Some(Walking { at, ..walking }));
            if walking.at + 1 >= count {
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
