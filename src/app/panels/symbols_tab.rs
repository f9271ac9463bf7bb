//! All modules of the trace: whether their names are resolved, where these came from, and why not.
//! Above them the sources of symbols.

use std::borrow::Borrow;

use eframe::egui::{self, Ui};

use super::context::PanelContext;
use super::symbol_sources;
use crate::app::base::table::{FlatTable, TypedColumn};
use crate::app::commands::{Command, Commands};
use crate::app::services::names::{ModuleChange, Names};
use crate::app::widgets::centered::centered;
use crate::app::widgets::list::{self, ColumnOf, List, ListColumn, Name, Style, Value, widest};
use crate::format;
use crate::model::Trace;
use crate::symbols::{Download, ModuleReport, ModuleState};

/// Cells that show more than their value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Special {
    Module,
    State,
    Notes,
}

pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    symbol_sources::show(context, ui);
    let Some(document) = context.document else { return };
    managed(&document.trace, ui);
    let Some(names) = document.names.as_ref().filter(|names| !names.modules.is_empty()) else {
        let text = match (&document.names, document.is_settled()) {
            (None, false) => "Symbols are looked up as soon as the trace is loaded",
            (Some(names), true) if names.is_settled() => "The trace names no modules: frames stay addresses",
            _ => "Looking for modules\u{2026}",
        };
        centered(ui, egui::RichText::new(text).weak());
        return;
    };
    let selected = egui::Id::unique("selected module");
    let mut list = Modules { names, commands: context.commands, selected: ui.data(|data| data.get_temp(selected)) };
    list.actions(ui);
    let pushed = list::show_short(ui, "modules", names, &mut list);
    let selected_row = list.selected;
    context.commands.append(pushed);
    if let Some(row) = selected_row {
        ui.data_mut(|data| data.insert_temp(selected, row));
    }
}

/// Number of processes named in the line about .NET.
const NAMED: usize = 3;

/// How many methods the .NET runtime reported in each process: they need no PDB.
fn managed(trace: &Trace, ui: &mut Ui) {
    let code = &trace.activity.managed;
    let mut all: Vec<(usize, String)> = code
        .processes()
        .into_iter()
        .map(|id| {
            let (process, count) = (trace.process(id), code.methods(id).len());
            let pid = if process.name.is_empty() { String::new() } else { format!(" ({})", process.pid) };
            (count, format!("{} in {}{pid}", format::count(count as u64), process.label()))
        })
        .collect();
    if all.is_empty() {
        return;
    }
    all.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let methods: usize = all.iter().map(|(count, _)| count).sum();
    let mut named: Vec<String> = all.iter().take(NAMED).map(|(_, told)| told.clone()).collect();
    if all.len() > NAMED {
        named.push(format!("and {} more processes", format::count((all.len() - NAMED) as u64)));
    }
    let told = format!("Methods of .NET that the trace itself names: {} ({})", format::count(methods as u64), named.join(", "));
    let hint = || all.iter().map(|(_, told)| told.as_str()).collect::<Vec<_>>().join("\n");
    ui.add(egui::Label::new(told).wrap()).on_hover_ui(|ui| _ = ui.label(hint()));
}

struct Modules<'a> {
    names: &'a Names,
    commands: &'a mut Commands,
    selected: Option<usize>,
}

/// The state of a module in a word or two.
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
    /// The actions for the selected module, visible for users without a second mouse button.
    fn actions(&mut self, ui: &mut Ui) {
        let Some(row) = self.selected.filter(|&row| row < self.names.modules.len()) else {
            ui.weak("Select a module to retry it, to choose its PDB, or to exclude it");
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
            self.commands.on_click(&ui.add_enabled(enabled, egui::Button::new(name)).on_hover_text(hint), command);
        };
        let key = || module.key.clone();
        let change = |change| Command::ChangeModule(key(), change);
        button(ui, has_frames, "Retry", "Search for its PDB again", change(ModuleChange::Retry));
        button(ui, has_frames, "Browse\u{2026}", "Choose the PDB; one of another build is refused", Command::BrowsePdb(key()));
        let is_excluded = module.state == ModuleState::Excluded;
        let hint = "Do not look for names of this module until you retry it";
        button(ui, has_frames && !is_excluded, "Exclude", hint, change(ModuleChange::Exclude));
    }
}

impl FlatTable for Names {
    const TITLE: &'static str = "Symbols";
    type Line = ModuleReport;
    type Key = Special;
    const COLUMNS: &'static [TypedColumn<Self, ModuleReport, Special>] = &[
        ListColumn::text("Module", "Image that was mapped into a process of the trace", 170.0)
            .by(Special::Module, |_, module| Value::text(&module.name)),
        ListColumn::text("State", "State of its symbols", 104.0).by(Special::State, |_, module| Value::Text(state(module))),
        ListColumn::number("Frames", "How many of its frames in this trace have a name", "9,999 of 9,999").of(|_, module| {
            let [named, all] = [module.named, module.addresses].map(|n| format::count(n as u64));
            if module.addresses == 0 { Value::Nothing } else { Value::Text(format!("{named} of {all}")) }
        }),
        ListColumn::rest("Why not, and notes", "Why there are no names, or not all that there could be").by(
            Special::Notes,
            |_, module| {
                Value::Text(match &module.state {
                    ModuleState::Failed(why) => why.clone(),
                    _ => module.notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
                })
            },
        ),
        ListColumn::text("Source", "Where its program database (PDB) came from", 190.0)
            .of(|_, module| Value::text(&module.source)),
        ListColumn::number("Size", "Size of the PDB", widest::BYTES)
            .of(|_, module| if module.bytes > 0 { Value::Bytes(module.bytes) } else { Value::Nothing }),
        ListColumn::number("Time", "How long finding and reading it took", widest::DURATION)
            .of(|_, module| if module.time.is_zero() { Value::Nothing } else { Value::Duration(module.time.as_secs_f64()) }),
        ListColumn::text("PDB", "The file, or the one that is needed: name, GUID and age", 300.0).of(|_, module| {
            let sought = || module.pdb.map_or_else(String::new, |key| key.to_string());
            Value::Text(if module.file.is_empty() { sought() } else { module.file.to_string() })
        }),
    ];

    fn len(&self) -> usize {
        self.modules.len()
    }

    fn line(&self, row: usize) -> Option<impl Borrow<ModuleReport>> {
        self.modules.get(row)
    }
}

impl List<Names> for Modules<'_> {
    fn cell(&mut self, ui: &mut Ui, row: usize, column: ColumnOf<Names>, value: &Value) {
        let Some(module) = self.names.modules.get(row) else { return };
        if column.head.is_number {
            return list::plain(self, ui, row, column, value);
        }
        let text = value.to_string();
        match (&module.state, column.key) {
            (ModuleState::Failed(_), Some(Special::State)) => {
                ui.add(egui::Label::new(egui::RichText::new(text).color(ui.visuals().warn_fg_color)).truncate());
            }
            (state, key) => {
                let is_weak = matches!(state, ModuleState::Unused | ModuleState::Excluded);
                let style = match key {
                    _ if is_weak => Style::Weak,
                    Some(Special::Notes) => Style::Sentence,
                    _ => Style::Plain,
                };
                let label = list::name(ui, Name::new(&text, style));
                if key == Some(Special::Module) {
                    label.on_hover_text(&module.image);
                }
            }
        }
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
}
