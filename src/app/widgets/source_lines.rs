//! Lines of source files: the text around one, and the ways to open one in the editor.

use eframe::egui::{self, RichText, Ui};

use crate::app::commands::{Command, Commands};
use crate::app::services::source_files::{SourceFiles, Unread};
use crate::app::state::settings::Settings;
use crate::editor::Excerpt;
use crate::query::{Recorded, SourceLine};

/// Hint of a source line that can be clicked.
const OPEN: &str = "Open in your editor (View, Source files\u{2026} chooses it)";

/// Hint of the button that fetches a source file.
const FETCH: &str = "Ask this server for source files from now on; it learns which ones. View, Source files\u{2026} revokes this";

/// An entry of a frame's menu that opens its source line, if that is known.
pub fn offer(ui: &mut Ui, frame: &Recorded<'_>, level: u16, commands: &mut Commands) {
    if let Some(line) = SourceLine::of(frame, level) {
        offer_line(ui, &line, commands);
    }
}

/// An entry of a menu that opens a source line.
pub fn offer_line(ui: &mut Ui, line: &SourceLine, commands: &mut Commands) {
    commands.on_click(&ui.button(format!("Open {}", line.short())).on_hover_text(OPEN), Command::OpenSource(line.clone()));
}

/// Makes a label open its source line when it is clicked.
pub fn on_click(label: egui::Response, line: Option<&SourceLine>, commands: &mut Commands) {
    let Some(line) = line else { return };
    commands
        .on_click(&label.on_hover_text(OPEN).on_hover_cursor(egui::CursorIcon::PointingHand), Command::OpenSource(line.clone()));
}

/// The parts of the window with which texts of source files are read.
pub struct Reading<'a> {
    pub sources: &'a SourceFiles,
    pub settings: &'a Settings,
    pub commands: &'a mut Commands,
}

/// The text around a line in its file, if that is found, with `margin` beside each line. A click on a line opens it.
pub fn excerpt(ui: &mut Ui, line: Option<&SourceLine>, margin: impl Fn(&SourceLine) -> String, reading: Reading<'_>) {
    let Some(line) = line else { return };
    let Reading { sources, settings, commands } = reading;
    let Some(read) = sources.text(line) else {
        commands.push(Command::ReadSource(line.clone()));
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
                let mut sources = settings.sources.clone();
                sources.servers.push(server.clone());
                commands.push(Command::ChangeSources(sources));
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
            on_click(label, Some(line), commands);
        }
    }
    ui.separator();
}
