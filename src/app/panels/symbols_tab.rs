//! Each module of the trace: whether its names are there, where they came from, and
//! why not. Above it where symbols come from.

use eframe::egui::{self, Ui};

use super::list::{self, List, ListColumn};
use super::symbol_sources;
use crate::app::HighwaterApp;
use crate::app::commands::{Command, Commands};
use crate::app::names::{ModuleChange, Names};
use crate::format;
use crate::symbols::{Download, ModuleReport, ModuleState};

const COLUMNS: [ListColumn; 8] = [
    text("Module", "Image that was mapped into a process of the trace", 170.0),
    text("State", "How far it is with its names", 104.0),
    ListColumn { title: "Frames", hint: "Frames of the trace in it that have a name, and all", width: 100.0, is_number: true },
    text("Why not, and notes", "Why there are no names, or not all that there could be", 340.0),
    text("Source", "Where its program database (PDB) came from", 190.0),
    ListColumn { title: "Size", hint: "Size of the PDB", width: 76.0, is_number: true },
    ListColumn { title: "Time", hint: "How long finding and reading it took", width: 76.0, is_number: true },
    text("PDB", "The file, or what is sought: name, GUID and age", 340.0),
];

const fn text(title: &'static str, hint: &'static str, width: f32) -> ListColumn {
    ListColumn { title, hint, width, is_number: false }
}

pub fn show(app: &mut HighwaterApp, ui: &mut Ui) {
    symbol_sources::show(app, ui);
    let Some(document) = &app.document else { return };
    let Some(names) = document.names.as_ref().filter(|names| !names.modules.is_empty()) else {
        let text = match (&document.names, document.is_settled()) {
            (None, false) => "Names are sought as soon as the trace is loaded",
            (Some(names), true) if names.is_settled() => "The trace names no modules: frames stay addresses",
            _ => "Looking for modules\u{2026}",
        };
        ui.centered_and_justified(|ui| ui.weak(text));
        return;
    };
    let selected = egui::Id::unique("selected module");
    let mut list = Modules { names, commands: &mut app.commands, selected: ui.data(|data| data.get_temp(selected)) };
    list.actions(ui);
    list::show(ui, "modules", &COLUMNS, names.modules.len(), &mut list);
    if let Some(row) = list.selected {
        ui.data_mut(|data| data.insert_temp(selected, row));
    }
}

struct Modules<'a> {
    names: &'a Names,
    commands: &'a mut Commands,
    selected: Option<usize>,
}

/// How far it is, in a word or two.
fn state(module: &ModuleReport) -> String {
    match &module.state {
        ModuleState::Unused => "no frames in it".to_owned(),
        ModuleState::Waiting => "waiting".to_owned(),
        ModuleState::Searching => "searching".to_owned(),
        ModuleState::Downloading(Download { done, total }) => match total {
            Some(total) => format!("{} of {}", format::rough_bytes(*done), format::rough_bytes(*total)),
            None => format!("{} came", format::rough_bytes(*done)),
        },
        ModuleState::Reading(0) => "reading".to_owned(),
        ModuleState::Reading(bytes) => format!("{} read", format::rough_bytes(*bytes)),
        ModuleState::Ready => "ready".to_owned(),
        ModuleState::Failed(_) => "no names".to_owned(),
        ModuleState::Excluded => "excluded".to_owned(),
    }
}

impl Modules<'_> {
    /// What can be done to the selected module, in sight of who has no second button.
    fn actions(&mut self, ui: &mut Ui) {
        let Some(row) = self.selected.filter(|&row| row < self.names.modules.len()) else {
            ui.weak("Select a module to try it again, to name its PDB, or to leave it out");
            return;
        };
        ui.horizontal(|ui| {
            ui.strong(&self.names.modules[row].name);
            self.buttons(ui, row);
        });
    }

    fn buttons(&mut self, ui: &mut Ui, row: usize) {
        let Some(module) = self.names.modules.get(row) else { return };
        let has_frames = module.addresses > 0;
        let mut button = |ui: &mut Ui, enabled, name: &str, hint: &str, command: Command| {
            if ui.add_enabled(enabled, egui::Button::new(name)).on_hover_text(hint).clicked() {
                self.commands.push(command);
            }
        };
        let key = || module.key.clone();
        let change = |change| Command::ChangeModule(key(), change);
        button(ui, has_frames, "Retry", "Look for its PDB again, whatever was found before", change(ModuleChange::Retry));
        button(ui, has_frames, "Browse\u{2026}", "Name the PDB; one of another build is refused", Command::BrowsePdb(key()));
        let is_excluded = module.state == ModuleState::Excluded;
        let hint = "Leave this module without names until it is tried again";
        button(ui, has_frames && !is_excluded, "Exclude", hint, change(ModuleChange::Exclude));
    }
}

impl List for Modules<'_> {
    fn text(&self, row: usize, column: usize) -> String {
        let Some(module) = self.names.modules.get(row) else { return String::new() };
        match column {
            0 => module.name.clone(),
            1 => state(module),
            2 if module.addresses == 0 => String::new(),
            2 => format!("{} of {}", format::count(module.named as u64), format::count(module.addresses as u64)),
            3 => match &module.state {
                ModuleState::Failed(why) => why.clone(),
                _ => module.notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
            },
            4 => module.source.clone(),
            5 if module.bytes > 0 => format::bytes(module.bytes),
            6 if !module.time.is_zero() => format::duration(module.time.as_secs_f64()),
            7 if !module.file.is_empty() => module.file.clone(),
            7 => module.pdb.map_or_else(String::new, |key| key.to_string()),
            _ => String::new(),
        }
    }

    fn cell(&mut self, ui: &mut Ui, row: usize, column: usize) {
        let Some(module) = self.names.modules.get(row) else { return };
        let mut text = egui::RichText::new(self.text(row, column));
        match (&module.state, column) {
            (ModuleState::Failed(_), 1) => text = text.color(ui.visuals().warn_fg_color),
            (ModuleState::Unused | ModuleState::Excluded, _) => text = text.weak(),
            _ => {}
        }
        let label = ui.add(egui::Label::new(text).truncate());
        match column {
            0 => label.on_hover_text(&module.image),
            _ => label,
        };
    }

    fn is_selected(&self, row: usize) -> bool {
        self.selected == Some(row)
    }

    fn clicked(&mut self, row: usize) {
        self.selected = Some(row);
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        self.buttons(ui, row);
    }

    fn copy(&mut self, text: String) {
        self.commands.push(Command::Copy(text));
    }
}
