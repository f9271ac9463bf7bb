//! What the view can be told: layer, grouping, and how much of the tree is open. Beside the
//! tabs where there is room, else above the table.

use eframe::egui::{self, Ui};

use super::FunctionTrees;
use crate::app::commands::Command;
use crate::app::jobs::ForestKind;
use crate::app::panels::frames;
use crate::app::views::Around;

/// Points that all of it takes beside the search field.
const ROOM: f32 = 760.0;

const KINDS: [(ForestKind, &str, &str); 5] = [
    (ForestKind::TopDown, "Top-down", "From the thread's start inwards: under each function what it called"),
    (ForestKind::Inverted, "Bottom-up", "Innermost functions outside, and under each what called it"),
    (
        ForestKind::ByFunction,
        "By function",
        "A line for each function that wanted memory: the innermost one that is not the allocator's",
    ),
    (ForestKind::ByModule, "By module", "A line for each module, by the function that wanted the memory"),
    (ForestKind::ByTag, "By tag", "A line for each name that your rules give to stacks: menu View, Stack rules"),
];

/// Whether lines of a grouping stand under others.
pub fn is_tree(kind: ForestKind) -> bool {
    matches!(kind, ForestKind::TopDown | ForestKind::Inverted)
}

pub fn beside_tabs(view: &mut FunctionTrees, around: &mut Around<'_>, ui: &mut Ui) {
    view.is_narrow = ui.available_width() < ROOM;
    if !view.is_narrow {
        all(view, around, ui);
    }
}

/// The same where there is room for a line of its own.
pub fn above_table(view: &mut FunctionTrees, around: &mut Around<'_>, ui: &mut Ui) {
    if view.is_narrow {
        ui.horizontal(|ui| all(view, around, ui));
    }
}

fn all(view: &mut FunctionTrees, around: &mut Around<'_>, ui: &mut Ui) {
    view.wish.layer.show(around, ui);
    let now = KINDS.iter().find(|(kind, ..)| *kind == view.wish.kind).map_or("", |(_, label, _)| label);
    egui::ComboBox::from_id_salt("grouping").width(96.0).selected_text(now).show_ui(ui, |ui| {
        for (kind, label, hint) in KINDS {
            if ui.selectable_label(kind == view.wish.kind, label).on_hover_text(hint).clicked() {
                view.group(kind);
                around.ask();
            }
        }
    });
    let is_tree = is_tree(view.wish.kind);
    let hint = "From the selected line, or from the top: opens the largest line under each, by the column of the order, \
                as long as it has at least half";
    if ui.add_enabled(is_tree, egui::Button::new("Expand heaviest path")).on_hover_text(hint).clicked() {
        view.wish.expand = true;
        around.ask();
    }
    let hint = "Close what was opened; what has only one line under it stays open";
    if ui.add_enabled(is_tree, egui::Button::new("Collapse all")).on_hover_text(hint).clicked() {
        *view.wish.opened_mut() = Default::default();
        around.ask();
    }
    if let Some(shown) = frames::switch(ui, !around.document.fold, false) {
        around.commands.push(Command::ShowAllocators(shown));
    }
}
