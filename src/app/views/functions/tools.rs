//! The toolbar: layer, grouping, and how much of the tree is open. It stands beside the tabs if there is room,
//! else above the table.

use eframe::egui::{self, Ui};

use super::{CallTrees, Grouping};
use crate::app::commands::Setting;
use crate::app::jobs::ForestKind;
use crate::app::views::ViewContext;
use crate::app::widgets::drop_down::drop_down;
use crate::app::widgets::frames;
use crate::query::RowGrouping;

/// Width in points that the toolbar needs beside the tabs.
const ROOM: f32 = 760.0;

const GROUPINGS: [(Grouping, &str, &str); 11] = [
    (Grouping::Sites(ForestKind::TopDown), "Top-down", "From the thread's start inwards: under each function what it called"),
    (Grouping::INVERTED, "Bottom-up", "Innermost functions outside, and under each what called it"),
    (
        Grouping::Sites(ForestKind::ByFunction),
        "By function",
        "A line for each function that wanted memory, or gave it back: the innermost one that is not the allocator's",
    ),
    (Grouping::Sites(ForestKind::ByModule), "By module", "A line for each module, by that function"),
    (Grouping::Rows(RowGrouping::Tag), "By tag", "A line for each tag of your rules: menu View, Stack rules"),
    (
        Grouping::Rows(RowGrouping::Owner),
        "By owner",
        "Who owns committed memory: Windows heap, thread stacks, CLR, V8, PartitionAlloc, graphics, image copies, else a module",
    ),
    (Grouping::Rows(RowGrouping::Heap), "By heap", "A line for each heap, tracker, or process that commits"),
    (Grouping::Rows(RowGrouping::Type), "By type", "A line for each C++ type known from symbols"),
    (Grouping::Rows(RowGrouping::Thread), "By thread", "A line for each thread that allocated"),
    (Grouping::Rows(RowGrouping::Size), "By size", "A line for each power of two"),
    (Grouping::Rows(RowGrouping::Lifetime), "By lifetime", "A line for each power of ten seconds between allocation and free"),
];

/// Height in points at which all groupings are visible at once.
const ALL_HEIGHT: f32 = 400.0;

/// Number of groupings, from the first on, that also make sense for frees.
const OF_FREES: usize = 4;

pub fn beside_tabs<const FREES: bool>(view: &mut CallTrees<FREES>, context: &mut ViewContext<'_>, ui: &mut Ui) {
    view.is_narrow = ui.available_width() < ROOM;
    if !view.is_narrow {
        all(view, context, ui);
    }
}

/// Draws the toolbar above the table, if there was no room beside the tabs.
pub fn above_table<const FREES: bool>(view: &mut CallTrees<FREES>, context: &mut ViewContext<'_>, ui: &mut Ui) {
    if view.is_narrow {
        ui.horizontal_wrapped(|ui| all(view, context, ui));
    }
}

fn all<const FREES: bool>(view: &mut CallTrees<FREES>, context: &mut ViewContext<'_>, ui: &mut Ui) {
    view.wish.layer.show(context, ui);
    let now = GROUPINGS.iter().find(|(grouping, ..)| *grouping == view.wish.grouping).map_or("", |(_, label, _)| label);
    drop_down(ui, "grouping", 96.0, now).height(ALL_HEIGHT).show_ui(ui, |ui| {
        let groupings = if FREES { &GROUPINGS[..OF_FREES] } else { &GROUPINGS };
        for &(grouping, label, hint) in groupings {
            if ui.selectable_label(grouping == view.wish.grouping, label).on_hover_text(hint).clicked() {
                view.group(grouping);
                context.ask();
            }
        }
    });
    let is_tree = view.wish.grouping.is_tree();
    let hint = "Open the largest line at each level, by the sorted column, from the selected line or the top, while it has \
                at least half of its parent";
    if ui.add_enabled(is_tree, egui::Button::new("Expand heaviest path")).on_hover_text(hint).clicked() {
        view.wish.expand = true;
        context.ask();
    }
    let hint = "Close all open lines but those with a single child";
    if ui.add_enabled(is_tree, egui::Button::new("Collapse all")).on_hover_text(hint).clicked() {
        *view.wish.opened_mut() = Default::default();
        context.ask();
    }
    if let Some(shown) = frames::switch(ui, !context.document.fold.is_any(), false) {
        context.commands.push(Setting::AllFrames(shown));
    }
}
