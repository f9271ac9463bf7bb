//! Keys that run commands: the keys of a frame become the commands of the table that have them.

use std::cmp::Reverse;

use eframe::egui::{self, Event, KeyboardShortcut};

use super::command_table::sections;
use super::context::PanelContext;
use crate::app::commands::{Command, keys};

/// Turns the keys of a frame into commands, except those that a text field needs.
pub fn press(context: &mut PanelContext<'_>, ctx: &egui::Context, owner: keys::Owner) {
    let is_press = |event: &Event| matches!(event, Event::Key { pressed: true, .. });
    if !ctx.input(|i| i.events.iter().any(is_press)) {
        return;
    }
    let is_free = owner.is_nobody(ctx);
    let mut bound = bindings(context);
    // A shortcut also matches if more modifiers are held than it has.
    bound.sort_by_key(|(shortcut, _)| Reverse(keys::held(shortcut)));
    for (shortcut, command) in bound {
        let is_own = is_free || !keys::disturbs_typing(&shortcut);
        let is_menus = owner.has_menu && shortcut.logical_key == egui::Key::Escape;
        // The key of a disabled command is consumed too: a shortcut with fewer modifiers is not meant.
        if is_own && !is_menus && ctx.input_mut(|i| i.consume_shortcut(&shortcut)) {
            command.into_iter().for_each(|command| context.commands.push(command));
        }
    }
}

/// All keys with their commands; `None` for commands that are disabled now.
fn bindings(context: &PanelContext<'_>) -> Vec<(KeyboardShortcut, Option<Command>)> {
    let entries = sections(context).into_iter().flat_map(|section| section.entries);
    entries.flat_map(|entry| entry.keys.iter().map(move |key| (*key, entry.command.clone().ok()))).collect()
}
