//! What is compared, and the table of differences.

use eframe::egui::{self, RichText, Ui};

use super::sides::Choice;
use super::{Compare, Grouping, table};
use crate::app::commands::DocCommand;
use crate::app::views::Around;
use crate::app::views::questions::short_time;
use crate::format;
use crate::units::Interval;

pub fn tools(view: &mut Compare, around: &mut Around<'_>, ui: &mut Ui) {
    let shown = egui::ComboBox::from_id_salt("compare by").width(140.0).selected_text(view.grouping.label());
    shown.show_ui(ui, |ui| {
        for grouping in Grouping::ALL {
            if ui.selectable_label(view.grouping == grouping, grouping.label()).clicked() {
                view.grouping = grouping;
                around.ask();
            }
        }
    });
}

pub fn show(view: &mut Compare, around: &mut Around<'_>, ui: &mut Ui) {
    what(view, around, ui);
    let document = around.document;
    let Some(_) = view.sides.of(document) else {
        let needs = view.sides.choice(document).needs();
        ui.centered_and_justified(|ui| ui.label(needs));
        return;
    };
    let Some(difference) = &mut view.difference else {
        let text = match (document.answers.failed, document.is_settled()) {
            (true, _) => "Nothing could be computed",
            (false, false) => "Compared as soon as the trace is complete",
            (false, true) => "Computing\u{2026}",
        };
        ui.centered_and_justified(|ui| ui.weak(text));
        return;
    };
    if difference.groups.is_empty() {
        ui.centered_and_justified(|ui| ui.label("Nothing was alive or happened on either side."));
        return;
    }
    if difference.is_cut {
        ui.weak(format!("The {} groups with the largest change.", format::count(difference.grouping.most() as u64)));
    }
    table::show(difference, &mut view.order, around, ui);
}

/// The two sides and where they come from.
fn what(view: &mut Compare, around: &mut Around<'_>, ui: &mut Ui) {
    let document = around.document;
    let choice = view.sides.choice(document);
    ui.horizontal_wrapped(|ui| {
        let shown = egui::ComboBox::from_id_salt("compare sides").width(250.0).selected_text(choice.label());
        shown.show_ui(ui, |ui| {
            for following in Choice::FOLLOWING {
                let is_there = following.sides(document).is_some();
                let item = ui.add_enabled(is_there, egui::Button::selectable(choice == following, following.label()));
                if item.on_disabled_hover_text(following.needs()).clicked() {
                    view.sides.0 = Some(following);
                    around.ask();
                }
            }
        });
        let sides = view.sides.of(document);
        let what = if document.selection.is_some() { "selection" } else { "view" };
        for (side, name) in ["A", "B"].into_iter().enumerate() {
            ui.separator();
            let Some(sides) = sides else { continue };
            let interval = sides[side];
            let text = format!("{name} {}", words(around, interval));
            let label = ui.add(egui::Button::new(RichText::new(text).strong()).frame(false));
            if label.on_hover_text("Select it on the graph").clicked() {
                // What follows from the selection would change with it.
                view.sides.0 = Some(Choice::Own(sides));
                around.commands.doc(DocCommand::Select(Some(interval)));
            }
            let hint = format!("Compare with what the tables show now: the {what}");
            if ui.button(format!("Use {what} as {name}")).on_hover_text(hint).clicked() {
                view.sides.put(side, document);
                around.ask();
            }
        }
    });
}

fn words(around: &Around<'_>, interval: Interval) -> String {
    let [from, to] = [interval.from, interval.to].map(|at| short_time(around.document, at));
    if interval.is_empty() { format!("at {to}") } else { format!("{from} to {to}") }
}
