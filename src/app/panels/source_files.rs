//! Source files: the text around a line, the editor that opens them, and the local folders for those of build machines.

use eframe::egui::{self, RichText, TextEdit, Ui};

use crate::app::commands::{Command, Commands};
use crate::app::context::PanelContext;
use crate::app::source_files::Unread;
use crate::app::views::Around;
use crate::editor::{Editor, Excerpt, FolderMap, SourceSettings};
use crate::query::{Recorded, SourceLine};

/// Width of a folder's path in points.
const FOLDER: f32 = 230.0;

/// Hint of a source line that can be clicked.
const OPEN: &str = "Open in the editor; View, Source files\u{2026} says in which";

/// Hint of the button that fetches a source file.
const FETCH: &str =
    "From now on this server is asked for source files: it learns which ones. View, Source files\u{2026} takes that back";

/// An entry of a frame's menu that opens its source line, if that is known.
pub fn offer(ui: &mut Ui, frame: &Recorded<'_>, level: u16, commands: &mut Commands) {
    if let Some(line) = SourceLine::of(frame, level) {
        offer_line(ui, &line, commands);
    }
}

/// An entry of a menu that opens a source line.
pub fn offer_line(ui: &mut Ui, line: &SourceLine, commands: &mut Commands) {
    if ui.button(format!("Open {}", line.short())).on_hover_text(OPEN).clicked() {
        commands.push(Command::OpenSource(line.clone()));
    }
}

/// Makes a label open its source line when it is clicked.
pub fn on_click(label: egui::Response, line: Option<&SourceLine>, commands: &mut Commands) {
    let Some(line) = line else { return };
    if label.on_hover_text(OPEN).on_hover_cursor(egui::CursorIcon::PointingHand).clicked() {
        commands.push(Command::OpenSource(line.clone()));
    }
}

/// The text around a line in its file, if that is found, with `margin` beside each line. A click on a line opens it.
pub fn excerpt(ui: &mut Ui, line: Option<&SourceLine>, margin: impl Fn(&SourceLine) -> String, around: &mut Around<'_>) {
    let Some(line) = line else { return };
    let Some(read) = around.sources.text(line) else {
        around.commands.push(Command::ReadSource(line.clone()));
        return;
    };
    ui.weak(line.short());
    let Excerpt { first, lines } = match read {
        Ok(excerpt) => excerpt,
        Err(Unread { reason, server }) => {
            ui.add(egui::Label::new(RichText::new(reason).weak()).wrap());
            if let Some(server) = server
                && ui.button(format!("Fetch from {server}")).on_hover_text(FETCH).clicked()
            {
                let mut sources = around.settings.sources.clone();
                sources.servers.push(server.clone());
                around.commands.push(Command::ChangeSources(sources));
            }
            return;
        }
    };
    let digits = (*first as usize + lines.len()).to_string().len();
    for (number, text) in (*first..).zip(lines) {
        let is_it = number == line.line;
        let beside = margin(&SourceLine { file: line.file.clone(), line: number });
        let shown = RichText::new(format!("{beside:>11} {number:>digits$}  {text}")).monospace().size(12.0);
        let shown = if is_it { shown.strong().background_color(ui.visuals().selection.bg_fill) } else { shown.weak() };
        let label = ui.add(egui::Label::new(shown).extend().sense(egui::Sense::click()));
        if is_it {
            on_click(label, Some(line), around.commands);
        }
    }
    ui.separator();
}

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
        let told = "{file} and {line} stand for the place; put \" around words with spaces";
        ui.add(field).on_hover_text(told);
    }
}

fn servers(sources: &mut SourceSettings, ui: &mut Ui) {
    ui.strong("Servers");
    ui.weak("May be asked for source files that are not on this machine, where symbols name them.");
    let mut away = None;
    for (at, server) in sources.servers.iter().enumerate() {
        ui.horizontal(|ui| {
            ui.label(server);
            if ui.button("\u{d7}").on_hover_text("Ask it no more").clicked() {
                away = Some(at);
            }
        });
    }
    away.into_iter().for_each(|at| drop(sources.servers.remove(at)));
}

fn folders(sources: &mut SourceSettings, ui: &mut Ui) {
    ui.strong("Folders");
    ui.weak("What a folder of the build machine is called here. Other files are looked for below these by their names.");
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
