//! Keys that act on the table and its selected row.

use std::sync::Arc;

use eframe::egui::{self, Event, Key, Modifiers};

use super::{Did, Stacks, text};
use crate::app::commands::{Command, keys};
use crate::app::views::Around;

pub fn press(view: &mut Stacks, around: &mut Around<'_>, ctx: &egui::Context) {
    let pressed = |key| ctx.input_mut(|i| i.consume_key(Modifiers::NONE, key));
    for (key, by) in keys::STEPS {
        if pressed(key) {
            view.carry_out(Did::Move(by as i64), around);
        }
    }
    let Some(line) = view.selected_row() else { return };
    let path = Arc::clone(&line.path);
    if pressed(Key::ArrowRight) && line.has_children {
        let did = if line.is_open { Did::Move(1) } else { Did::Toggle(Arc::clone(&path), true) };
        view.carry_out(did, around);
    }
    if pressed(Key::ArrowLeft) {
        let did = match line.is_open {
            true => Did::Toggle(Arc::clone(&path), false),
            false => Did::Select(view.parent_of_selected()),
        };
        view.carry_out(did, around);
    }
    if pressed(Key::Enter) {
        view.filter_to(path, around);
    }
    if ctx.input(|i| i.events.contains(&Event::Copy))
        && let (Some(table), Some(index)) = (view.table.as_deref(), view.selected.index())
    {
        around.commands.push(Command::Copy(text::of_line(table, &line, index)));
    }
}
