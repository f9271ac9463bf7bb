//! Keys that act on the table and its selected row.

use std::sync::Arc;

use eframe::egui::{self, Event, Key, Modifiers};

use super::{Action, Stacks, text};
use crate::app::commands::{Command, keys};
use crate::app::views::ViewContext;

pub fn press(view: &mut Stacks, context: &mut ViewContext<'_>, ctx: &egui::Context) {
    let pressed = |key| ctx.input_mut(|i| i.consume_key(Modifiers::NONE, key));
    for (key, by) in keys::STEPS {
        if pressed(key) {
            view.carry_out(Action::Move(by as i64), context);
        }
    }
    let Some(line) = view.selected_row() else { return };
    let path = Arc::clone(&line.path);
    if pressed(Key::ArrowRight) && line.has_children {
        let action = if line.is_open { Action::Move(1) } else { Action::Toggle(Arc::clone(&path), true) };
        view.carry_out(action, context);
    }
    if pressed(Key::ArrowLeft) {
        let action = match line.is_open {
            true => Action::Toggle(Arc::clone(&path), false),
            false => Action::Select(view.parent_of_selected()),
        };
        view.carry_out(action, context);
    }
    if pressed(Key::Enter) {
        view.filter_to(path, context);
    }
    if ctx.input(|i| i.events.contains(&Event::Copy))
        && let (Some(table), Some(index)) = (view.table.as_deref(), view.selected.index())
    {
        context.commands.push(Command::Copy(text::of_line(table, &line, index)));
    }
}
