//! The window with the guide and the glossary: a list of parts at the left, one part at the right.

use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{self, FontId, RichText, Ui};

use super::context::PanelContext;
use crate::app::base::help::{self, Block, Page, Part, Run};
use crate::app::commands::{Command, Commands};

const TEXT: f32 = 13.5;

/// Line height of running text in points.
const LINE: f32 = 19.0;

pub fn show(context: &mut PanelContext<'_>, ctx: &egui::Context) {
    let Some(page) = context.help else { return };
    let mut open = true;
    let room = ctx.content_rect().size() - egui::vec2(60.0, 80.0);
    let size = room.min(egui::vec2(900.0, 640.0));
    let window = egui::Window::new("Guide and glossary").id(egui::Id::unique("help")).open(&mut open);
    let window = window.collapsible(false).default_size(size).max_size(room).pivot(egui::Align2::CENTER_CENTER);
    window.default_pos(ctx.content_rect().center()).show(ctx, |ui| {
        egui::Panel::left("help contents").resizable(false).exact_size(200.0).show(ui, |ui| contents(page, context.commands, ui));
        egui::CentralPanel::default().show(ui, |ui| {
            let part = match page {
                Page::Guide(number) => help::guide().get(number),
                Page::Glossary => help::glossary(),
            };
            part.into_iter().for_each(|part| show_part(part, ui));
        });
    });
    if !open {
        context.commands.push(Command::ShowHelp(None));
    }
}

fn contents(page: Page, commands: &mut Commands, ui: &mut Ui) {
    ui.spacing_mut().item_spacing.y = 4.0;
    let mut entry = |ui: &mut Ui, of: Page, title: &str| {
        ui.with_layout(egui::Layout::top_down_justified(egui::Align::Min), |ui| {
            let label = egui::Button::selectable(page == of, title).wrap();
            commands.on_click(&ui.add(label.min_size(egui::vec2(0.0, 24.0))), Command::ShowHelp(Some(of)));
        });
    };
    ui.weak("Guide");
    for (number, part) in help::guide().iter().enumerate() {
        entry(ui, Page::Guide(number), &part.title);
    }
    ui.add_space(8.0);
    ui.weak("Words");
    entry(ui, Page::Glossary, "Glossary");
}

fn show_part(part: &Part, ui: &mut Ui) {
    // Each part starts scrolled to its top.
    egui::ScrollArea::vertical().id_salt(&part.title).auto_shrink(false).show(ui, |ui| {
        ui.set_max_width(660.0);
        ui.label(RichText::new(&part.title).size(19.0).strong());
        ui.add_space(6.0);
        for (number, block) in part.blocks.iter().enumerate() {
            show_block(block, number, ui);
            ui.add_space(5.0);
        }
    });
}

fn show_block(block: &Block, number: usize, ui: &mut Ui) {
    match block {
        Block::Heading(text) => {
            ui.add_space(8.0);
            ui.label(RichText::new(text).size(15.5).strong());
        }
        Block::Paragraph(runs) => show_runs(runs, ui),
        Block::Item(runs) => {
            ui.horizontal_top(|ui| {
                ui.label("\u{2022}");
                ui.vertical(|ui| show_runs(runs, ui));
            });
        }
        Block::Code(text) => {
            egui::Frame::new().fill(ui.visuals().extreme_bg_color).inner_margin(8.0).corner_radius(4.0).show(ui, |ui| {
                let label = egui::Label::new(RichText::new(text).monospace().size(12.0)).wrap().selectable(true);
                ui.add(label);
            });
        }
        Block::Table(rows) => table(rows, number, ui),
    }
}

fn table(rows: &[Vec<Vec<Run>>], number: usize, ui: &mut Ui) {
    let columns = rows.first().map_or(0, Vec::len).max(1);
    // The last column has the long texts.
    let width = (ui.available_width() - 16.0 * columns as f32) / columns as f32;
    egui::Grid::new(("table of help", number)).num_columns(columns).striped(true).spacing([16.0, 6.0]).show(ui, |ui| {
        for row in rows {
            for cell in row {
                ui.vertical(|ui| {
                    ui.set_max_width(if columns == 2 { width * 1.4 } else { width });
                    show_runs(cell, ui);
                });
            }
            ui.end_row();
        }
    });
}

/// A paragraph with names of the window between asterisks.
pub fn paragraph(text: &str, ui: &mut Ui) {
    show_runs(&help::runs(text), ui);
}

fn show_runs(runs: &[Run], ui: &mut Ui) {
    let visuals = ui.visuals();
    let mut job = LayoutJob::default();
    for run in runs {
        let font = if run.is_code { FontId::monospace(TEXT - 1.5) } else { FontId::proportional(TEXT) };
        let color = if run.is_strong || run.is_code { visuals.strong_text_color() } else { visuals.text_color() };
        let mut format = TextFormat { line_height: Some(LINE), ..TextFormat::simple(font, color) };
        if run.is_code {
            format.background = visuals.extreme_bg_color;
        }
        job.append(&run.text, 0.0, format);
    }
    ui.add(egui::Label::new(job).wrap().selectable(true));
}
