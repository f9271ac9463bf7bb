//! The menu bar, made from the table of commands. Only the memory limit is more than a command: its
//! number is typed in the menu.

use eframe::egui::containers::menu::{MenuConfig, SubMenuButton};
use eframe::egui::{self, Button, Ui};

use super::command_table::{Entry, Menu, Section, Switch};
use super::context::PanelContext;
use super::{command_table as table, traces};
use crate::app::commands::{Commands, Setting, keys};
use crate::format;
use crate::load::default_budget;

pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    egui::MenuBar::new().ui(ui, |ui| {
        for (menu, name) in [(Menu::File, "File"), (Menu::View, "View"), (Menu::Help, "Help")] {
            ui.menu_button(name, |ui| menu_of(menu, context, ui));
        }
        traces::show(context, ui);
    });
}

fn menu_of(menu: Menu, context: &mut PanelContext<'_>, ui: &mut Ui) {
    let sections = table::sections(context).into_iter().filter(|section| section.menu == menu && !section.entries.is_empty());
    let mut before: Option<bool> = None;
    for Section { title, entries, .. } in sections {
        let is_submenu = !title.is_empty();
        if before.is_some_and(|was_submenu| !(was_submenu && is_submenu)) {
            ui.separator();
        }
        before = Some(is_submenu);
        if is_submenu {
            submenu(title, entries, context.commands, ui);
        } else {
            entries.into_iter().for_each(|entry| item(entry, context.commands, ui));
        }
    }
    if menu == Menu::View {
        // A number can be typed here, so a click inside does not close the menu.
        SubMenuButton::new("Memory for a trace").config(stays()).ui(ui, |ui| memory_limit(context, ui));
    }
}

fn stays() -> MenuConfig {
    MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside)
}

fn submenu(title: &str, entries: Vec<Entry>, commands: &mut Commands, ui: &mut Ui) {
    let has_switches = entries.iter().any(|entry| matches!(entry.switch, Switch::Box(_)));
    let button = SubMenuButton::new(title);
    // A menu with switches stays open, so that several can be changed.
    let button = if has_switches { button.config(stays()) } else { button };
    button.ui(ui, |ui| entries.into_iter().for_each(|entry| item(entry, commands, ui)));
}

/// One command of a menu.
pub fn item(entry: Entry, commands: &mut Commands, ui: &mut Ui) {
    let Entry { words, hint, keys, switch, command, .. } = entry;
    let is_possible = command.is_ok();
    let response = ui.add_enabled_ui(is_possible, |ui| match switch {
        Switch::None if keys.is_empty() => ui.button(&*words),
        Switch::None => ui.add(Button::new(&*words).shortcut_text(keys::first(keys))),
        Switch::Box(mut is_on) => ui.checkbox(&mut is_on, &*words),
        Switch::Choice(is_on) => ui.radio(is_on, &*words),
    });
    let response = if hint.is_empty() { response.inner } else { response.inner.on_hover_text(hint) };
    match command {
        Ok(command) if response.clicked() => commands.push(command),
        Ok(_) => {}
        Err(reason) => _ = response.on_disabled_hover_text(reason),
    }
}

/// The memory that a trace may use; it applies to traces opened later.
fn memory_limit(context: &mut PanelContext<'_>, ui: &mut Ui) {
    ui.weak("For traces that you open from now on:");
    let limit = context.settings.memory_limit_mb;
    let automatic = format!("Three quarters of the machine's ({})", format::rough_bytes(default_budget()));
    context.commands.on_click(&ui.radio(limit.is_none(), automatic), Setting::MemoryLimit(None));
    ui.horizontal(|ui| {
        let mut megabytes = limit.unwrap_or(default_budget() >> 20);
        context.commands.on_click(&ui.radio(limit.is_some(), "At most"), Setting::MemoryLimit(Some(megabytes)));
        let field = egui::DragValue::new(&mut megabytes).range(1..=u64::from(u32::MAX)).speed(64).suffix(" MB");
        let field = ui.add_enabled(limit.is_some(), field);
        if field.changed() {
            context.commands.push(Setting::MemoryLimit(Some(megabytes)));
        }
    });
}
