//! The bar of a recording: its progress while it runs, and its result.

use eframe::egui::{self, RichText, Ui};

use super::context::PanelContext;
use crate::app::commands::{Commands, DocCommand, RecordCommand, keys};
use crate::app::document::Document;
use crate::app::services::recording::{RecordJob, Stage};
use crate::format;
use crate::units::Ticks;

pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let PanelContext { recording, commands, document, .. } = context;
    let Some(job) = recording else { return };
    egui::Panel::top("recording").show(ui, |ui| {
        ui.horizontal_wrapped(|ui| match &job.stage {
            Stage::Starting => {
                ui.spinner();
                ui.label(format!("Starting to record {}; Windows may ask for your consent\u{2026}", job.name));
            }
            Stage::Running => running(job, *document, commands, ui),
            Stage::Saving => {
                ui.spinner();
                ui.label(format!("Writing {} of events as a trace\u{2026}", format::rough_bytes(job.pulse.bytes)));
            }
            Stage::Saved(file, bytes) => {
                ui.strong("Recorded");
                ui.label(format!("{} in {}", format::rough_bytes(*bytes), format::duration(job.time().as_secs_f64())));
                if let Some(reason) = &job.pulse.ends {
                    ui.label(format!("It stopped by itself: {reason}"));
                }
                let button = ui.button("Save as\u{2026}").on_hover_text("Save the trace where you want it");
                commands.on_click(&button, RecordCommand::Save);
                dismiss(commands, ui);
                ui.add(egui::Label::new(RichText::new(file.display().to_string()).weak()).truncate());
            }
            Stage::Moving(to) => {
                ui.spinner();
                ui.label(format!("Saving {}\u{2026}", to.display()));
            }
            Stage::Failed(reason) => {
                dismiss(commands, ui);
                ui.add(egui::Label::new(RichText::new(reason).color(ui.visuals().error_fg_color)).wrap());
            }
        });
    });
}

fn dismiss(commands: &mut Commands, ui: &mut Ui) {
    commands.on_click(&ui.button("Close bar"), RecordCommand::Dismiss);
}

fn running(job: &RecordJob, document: Option<&Document>, commands: &mut Commands, ui: &mut Ui) {
    let (dot, _) = ui.allocate_exact_size(egui::vec2(12.0, 12.0), egui::Sense::hover());
    ui.painter().circle_filled(dot.center(), 5.0, ui.visuals().error_fg_color);
    ui.strong(format!("Recording {}", job.name));
    if ui.button("Stop").on_hover_text("Stop recording and make a trace of what was recorded").clicked() {
        commands.push(RecordCommand::Stop);
    }
    if let Some(document) = document {
        let end = Ticks(document.trace.span.to.0.saturating_sub(1));
        let hint = "Mark this moment: the tab Generations shows what was allocated between two marks and is still there";
        commands.on_click(&ui.button("Mark").on_hover_text(keys::hint(hint, keys::MARK)), DocCommand::Mark(Some(end)));
    }
    ui.label(format::duration(job.time().as_secs_f64()));
    let pulse = &job.pulse;
    ui.weak(format!("{} events/s, {}/s", format::count(job.rate.events as u64), format::rough_bytes(job.rate.bytes as u64)));
    ui.weak(format!("{} in all", format::rough_bytes(pulse.bytes)));
    ui.weak(format!("{} of {} buffers in use", pulse.buffers_in_use, pulse.buffers));
    match format::losses(pulse.lost_events, pulse.lost_buffers) {
        lost if lost.is_empty() => ui.weak("nothing lost"),
        lost => ui.colored_label(ui.visuals().warn_fg_color, format!("{lost} lost")),
    };
    if let Some(cost) = pulse.cost {
        let color = if cost.is_high() { ui.visuals().warn_fg_color } else { ui.visuals().weak_text_color() };
        ui.colored_label(color, cost.to_string())
            .on_hover_text("What the recorder itself uses: private bytes, and CPU time in the last second");
    }
    if let Some(failure) = &pulse.failure {
        ui.colored_label(ui.visuals().error_fg_color, failure);
    }
}
