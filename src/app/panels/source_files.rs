//! Source files: the text around a line, the editor that opens them, and the local folders for those of build machines.

use eframe::egui::{self, TextEdit, Ui};

use super::context::PanelContext;
use crate::app::commands::Command;
use crate::editor::{Editor, FolderMap, SourceSettings};

/// Width of a folder's path in points.
const FOLDER: f32 = 230.0;

pub fn show(context: &mut PanelContext<'_>, ctx: &egui::Context) {
    let PanelContext { source_files, settings, commands, .. } = context;
    if !source_files.is_shown {
        return;
    }
    let (mut open, mut sources) = (true, settings.sources.clone());
    let window = egui::Window::new("Source files").open(&mut open).collapsible(false).default_width(560.0);
    window.default_pos(ctx.content_rect().center() - egui::vec2(290.0, 180.0)).show(ctx, |ui| {
        editors(&mut sources, ui);
        ui.separator();
        folders(&mut sources, ui);
        if !sources.servers.is_empty() {
            ui.separator();
            servers(&mut sources, ui);
        }
    });
    if sources != settings.sources {
        commands.push(Command::ChangeSources(sources));
    }
    if !open {
        commands.push(Command::ShowSources(false));
    }
}

fn editors(sources: &mut SourceSettings, ui: &mut Ui) {
    ui.strong("Editor");
    ui.horizontal_wrapped(|ui| {
        for editor in Editor::ALL {
            ui.radio_value(&mut sources.editor, editor, editor.name());
        }
    });
    if sources.editor == Editor::Own {
        let hint = "C:\\Tools\\edit.exe -n {line} {file}";
        let field = TextEdit::singleline(&mut sources.command).hint_text(hint).desired_width(f32::INFINITY);
        let told = "{file} and {line} are replaced; put \" around words with spaces";
        ui.add(field).on_hover_text(told);
    }
}

fn servers(sources: &mut SourceSettings, ui: &mut Ui) {
    ui.strong("Servers");
    ui.weak("Servers that may be asked for source files that are not on this machine.");
    let mut away = None;
    for (at, server) in sources.servers.iter().enumerate() {
        ui.horizontal(|ui| {
            ui.label(server);
            if ui.button("\u{d7}").on_hover_text("Revoke").clicked() {
                away = Some(at);
            }
        });
    }
    away.into_iter().for_each(|at| drop(sources.servers.remove(at)));
}

fn folders(sources: &mut SourceSettings, ui: &mut Ui) {
    ui.strong("Folders");
    ui.weak("Where a folder of the build machine is on this machine. Other files are searched below these folders by name.");
    let mut away = None;
    for (at, FolderMap { from, to }) in sources.folders.iter_mut().enumerate() {
        ui.horizontal(|ui| {
            ui.add(TextEdit::singleline(from).hint_text("D:\\build").desired_width(FOLDER)).on_hover_text("On the build machine");
            ui.weak("is");
            ui.add(TextEdit::singleline(to).hint_text("C:\\src").desired_width(FOLDER)).on_hover_text("Here");
            if ui.button("\u{d7}").on_hover_text("Remove").clicked() {
                away = Some(at);
            }
        });
    }
    away.into_iter().for_each(|at| drop(sources.folders.remove(at)));
    if ui.button("Add a folder").clicked() {
        sources.folders.push(FolderMap::default());
    }
}
