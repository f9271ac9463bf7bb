//! The graph by keyboard, while it has the focus: arrows move the cursor, with Shift they select.

use eframe::egui::{Context, EventFilter, Id, Key, Modifiers, Response, Ui};

use super::canvas::Canvas;
use super::{cursor, wheel};
use crate::app::commands::{Command, Commands, DocCommand, keys};
use crate::app::state::ids::Stop;
use crate::units::{Interval, Ticks};

fn graph_id() -> Id {
    Id::unique("graph that takes keys")
}

/// Gives the focus to the graph.
pub fn take(ctx: &Context) {
    if let Some(graph) = ctx.data(|data| data.get_temp::<Id>(graph_id())) {
        ctx.memory_mut(|memory| memory.request_focus(graph));
    }
}

/// Number of cursor steps across the view, without and with Ctrl.
const STEPS: i64 = 200;
const LARGE: i64 = 20;

/// Factor of one zoom step.
const ZOOM: f32 = 1.5;

pub fn press(canvas: &Canvas<'_>, ui: &Ui, response: &Response, commands: &mut Commands) {
    ui.data_mut(|data| data.insert_temp(graph_id(), response.id));
    if !response.has_focus() {
        return;
    }
    let arrows = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, arrows));
    let document = canvas.document;
    cursor::follow(document, ui);
    let view = document.view();
    let middle = Ticks(view.from.0 + view.len() / 2);
    let now = cursor::keyed(ui).filter(|at| view.contains(*at)).unwrap_or(middle);
    let pressed = |modifiers: Modifiers, key| ui.input_mut(|i| i.consume_key(modifiers, key));
    let moved = |modifiers: Modifiers| {
        let by = |key, sign: i64| if pressed(modifiers, key) { sign } else { 0 };
        by(Key::ArrowRight, 1) + by(Key::ArrowLeft, -1)
    };
    // Keys with more modifiers come first: otherwise the modifiers would be ignored.
    if keys::is_pressed(ui.ctx(), keys::NOTE) {
        commands.push(Command::EditNote(Some(now)));
    }
    let usual = [
        (keys::ZOOM, DocCommand::ZoomToSelection),
        (keys::FORWARD, DocCommand::Forward),
        (keys::BACK, DocCommand::Back),
        (keys::WHOLE, DocCommand::ZoomOut),
        (keys::MARK, DocCommand::Mark(Some(now))),
        // Keys with Shift come first: otherwise Shift would be ignored.
        (keys::PREVIOUS_MARK, DocCommand::StepTo(Stop::PreviousMark)),
        (keys::NEXT_MARK, DocCommand::StepTo(Stop::NextMark)),
        (keys::PREVIOUS_FRAME, DocCommand::StepTo(Stop::PreviousFrame)),
        (keys::NEXT_FRAME, DocCommand::StepTo(Stop::NextFrame)),
        (keys::WORST_FRAME, DocCommand::StepTo(Stop::WorstFrame)),
    ];
    usual.into_iter().filter(|(keys, _)| keys::is_pressed(ui.ctx(), keys)).for_each(|(_, command)| commands.push(command));
    if pressed(Modifiers::NONE, Key::Enter) {
        commands.push(DocCommand::ZoomToSelection);
    }
    // Steps with Ctrl come first: otherwise Ctrl would be ignored.
    for (modifiers, parts) in [(Modifiers::COMMAND, LARGE), (Modifiers::NONE, STEPS)] {
        for is_selecting in [true, false] {
            let modifiers = if is_selecting { modifiers | Modifiers::SHIFT } else { modifiers };
            let direction = moved(modifiers);
            if direction != 0 {
                let to = Ticks(now.0.saturating_add(direction * (view.len() / parts).max(1))).clamp(view.from, view.to);
                if is_selecting {
                    extend(canvas, now, to, commands);
                }
                cursor::put(ui, to);
                return;
            }
        }
    }
    for (key, factor) in [(Key::ArrowUp, ZOOM), (Key::ArrowDown, 1.0 / ZOOM)] {
        if pressed(Modifiers::NONE, key) {
            wheel::zoom(canvas, now, factor, commands);
        }
    }
    if keys::is_pressed(ui.ctx(), keys::ESCAPE) {
        response.surrender_focus();
    }
    if cursor::keyed(ui).is_none() {
        cursor::put(ui, now);
    }
}

/// Moves the selection's edge at the cursor; if there is none, starts a new selection.
fn extend(canvas: &Canvas<'_>, from: Ticks, to: Ticks, commands: &mut Commands) {
    let selection = canvas.document.selection();
    let other = selection.and_then(|selection| match from {
        _ if from == selection.to => Some(selection.from),
        _ if from == selection.from => Some(selection.to),
        _ => None,
    });
    match other {
        Some(other) => commands.push(DocCommand::SelectOn(Interval::new(other, to))),
        None => commands.push(DocCommand::Select(Some(Interval::new(from, to)))),
    }
}
