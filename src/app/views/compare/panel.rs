//! The choice of what is compared, and the table of differences.

use std::sync::Arc;

use eframe::egui::{self, RichText, Ui};

use super::cells::Order;
use super::sides::{FOLLOWING, Sides, intervals, label, needs};
use super::{Compare, Grouping, command, table};
use crate::app::base::table::{SavedSort, TableSource};
use crate::app::commands::{Command, DocCommand};
use crate::app::document::Document;
use crate::app::jobs::{LoadJob, drop_aside};
use crate::app::services::comparison::{Comparison, Opened};
use crate::app::state::ids::ViewId;
use crate::app::state::inputs::short_name;
use crate::app::state::view_choices::{SidesChoice, ViewChoices};
use crate::app::views::flame::{chosen_focus, focus_choice};
use crate::app::views::questions::short_time;
use crate::app::views::{Pane, ViewContext};
use crate::app::widgets::centered::centered;
use crate::app::widgets::drop_down::drop_down;
use crate::export::html::FlameGraph;
use crate::format;
use crate::units::{Interval, Layer};

impl Pane for Compare {
    fn forget(&mut self) {
        drop_aside(self.difference.take());
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        ui.horizontal_wrapped(|ui| match &context.document.comparison {
            Comparison::Open(opened) => across(self, opened, context, ui),
            Comparison::Loading(job) => loading(job, context, ui),
            Comparison::Nothing => within(self, context, ui),
        });
        let document = context.document;
        let is_across = document.comparison.opened().is_some();
        if !is_across && self.sides.of(document).is_none() {
            centered(ui, needs(self.sides.choice(document)));
            return;
        }
        let Some(difference) = self.difference.as_mut().filter(|difference| difference.is_across == is_across) else {
            let text = match (document.answers.failed, document.is_settled()) {
                (true, _) => "Nothing could be computed",
                (false, false) => "The comparison starts when the trace is complete",
                (false, true) => "Computing\u{2026}",
            };
            centered(ui, RichText::new(text).weak());
            return;
        };
        if difference.flame.is_some() != self.flame.is_some() {
            context.wait(ui);
            return;
        }
        if let (Some(icicle), Some(before)) = (&difference.flame, &self.flame) {
            if let Some(focus) = icicle.show(context, ui).filter(|focus| focus != before) {
                self.flame = Some(focus);
                context.ask();
            }
            return;
        }
        if difference.listed.groups.is_empty() {
            let text = match (self.search.trim().is_empty(), is_across || document.filters().is_all()) {
                (false, _) => "No group matches the search.",
                (true, false) => "No allocations within the filter on either side.",
                (true, true) => "No matching allocations on either side.",
            };
            context.nothing(ui, text);
            return;
        }
        if difference.is_cut {
            ui.weak(format!("The {} groups with the largest change.", format::count(difference.listed.grouping.most() as u64)));
        }
        table::show(difference, &mut self.order, &self.search, context, ui);
    }

    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        let difference = self.difference.as_ref().filter(|difference| difference.flame.is_none())?;
        Some(Arc::clone(&difference.listed) as Arc<dyn TableSource>)
    }

    fn flame_graph(&self) -> Option<FlameGraph> {
        Some(self.difference.as_ref()?.flame.as_ref()?.as_page(ViewId::Compare.title(), false))
    }

    fn command(&self, document: &Document) -> Option<Vec<String>> {
        command::words(self, document)
    }

    fn order(&self) -> Option<SavedSort> {
        self.order.saved()
    }

    fn set_order(&mut self, order: Option<&SavedSort>) {
        self.order = Order::of(order);
        self.difference.iter_mut().for_each(|difference| self.order.sort(difference));
    }

    fn layer(&self) -> Option<Layer> {
        self.layer.own()
    }

    fn set_layer(&mut self, layer: Option<Layer>) {
        self.layer = layer.into();
    }

    fn add_choices(&self, choices: &mut ViewChoices) {
        choices.focus = self.flame.as_ref().map(|focus| focus_choice(false, focus));
        choices.grouping = (self.grouping != Grouping::default()).then(|| self.grouping.name().to_owned());
        (choices.sides, choices.is_swapped) = (self.sides.0, self.is_swapped);
    }

    fn take_choices(&mut self, choices: &ViewChoices) {
        self.grouping = choices.grouping.as_deref().and_then(Grouping::named).unwrap_or_default();
        (self.sides, self.is_swapped) = (Sides(choices.sides), choices.is_swapped);
        self.flame = chosen_focus(choices).map(|(_, focus)| focus);
    }

    /// Draws the choice of the grouping, or of the flame graph in place of the table.
    fn tools(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let hint = "What each call path holds at the end of B, minus the end of A, for one layer";
        if ui.selectable_label(self.flame.is_some(), "Flame graph").on_hover_text(hint).clicked() {
            self.flame = if self.flame.is_some() { None } else { Some(Vec::new()) };
            context.ask();
        }
        if let Some(focus) = self.flame.as_mut() {
            self.layer.show_as(context, ui, self.changed_most);
            if !focus.is_empty() && ui.button("Whole").on_hover_text("Show all of it again").clicked() {
                focus.clear();
                context.ask();
            }
            return;
        }
        let shown = drop_down(ui, "compare by", 140.0, self.grouping.label());
        shown.show_ui(ui, |ui| {
            for grouping in Grouping::ALL {
                if ui.selectable_label(self.grouping == grouping, grouping.label()).clicked() {
                    self.grouping = grouping;
                    context.ask();
                }
            }
        });
    }

    fn searched(&self) -> Option<&str> {
        Some(&self.search)
    }

    fn search(&mut self, text: String) {
        self.search = text;
    }
}

/// Draws the choice of the two intervals in one trace.
fn within(view: &mut Compare, context: &mut ViewContext<'_>, ui: &mut Ui) {
    let document = context.document;
    let choice = view.sides.choice(document);
    let shown = drop_down(ui, "compare sides", 230.0, label(choice));
    shown.show_ui(ui, |ui| {
        for following in FOLLOWING {
            let is_there = intervals(following, document).is_some();
            let item = ui.add_enabled(is_there, egui::Button::selectable(choice == following, label(following)));
            if item.on_disabled_hover_text(needs(following)).clicked() {
                view.sides.0 = Some(following);
                context.ask();
            }
        }
        ui.separator();
        let hint = "A trace of another run or build: the one that was recorded first is A";
        context
            .commands
            .on_click(&ui.selectable_label(false, "Another trace\u{2026}").on_hover_text(hint), Command::CompareDialog);
    });
    let sides = view.sides.of(document);
    let what = if document.selection().is_some() { "selection" } else { "view" };
    for (side, name) in ["A", "B"].into_iter().enumerate() {
        ui.separator();
        if let Some(sides) = sides {
            let text = format!("{name} {}", words(context, sides[side]));
            let label = ui.add(egui::Button::new(RichText::new(text).strong()).frame(false));
            if label.on_hover_text("Select it on the graph").clicked() {
                // A side that follows the selection would change with it, so both sides are fixed.
                view.sides.0 = Some(SidesChoice::Own(sides));
                context.commands.push(DocCommand::Select(Some(sides[side])));
            }
        }
        let hint = format!("Compare with what the tables show now: the {what}");
        if ui.button(format!("Use {what} as {name}")).on_hover_text(hint).clicked() {
            view.sides.put(side, document);
            context.ask();
        }
    }
    if let Some([a, b]) = sides
        && swap(ui, "Exchanges A and B: a change is B minus A")
    {
        view.sides.0 = Some(SidesChoice::Own([b, a]));
        context.ask();
    }
}

/// Draws the button that swaps A and B; returns whether it was clicked.
fn swap(ui: &mut Ui, hint: &str) -> bool {
    ui.button("Swap").on_hover_text(hint).clicked()
}

/// Shows the progress of loading the other trace.
fn loading(job: &LoadJob, context: &mut ViewContext<'_>, ui: &mut Ui) {
    ui.spinner();
    ui.label(format!("Loading {}: {:.0} %", short_name(&job.inputs), 100.0 * job.progress()));
    context.commands.on_click(&ui.button("Cancel"), Command::StopComparing);
}

/// Draws the names of the other trace and of the shown part of the open one, A first.
fn across(view: &mut Compare, opened: &Opened, context: &mut ViewContext<'_>, ui: &mut Ui) {
    let document = context.document;
    let ours = view.ours(opened, document);
    let what = if document.selection().is_some() { "selection" } else { "view" };
    for (side, name) in ["A", "B"].into_iter().enumerate() {
        if side == ours {
            let text = format!("{name} {}, {}", document.name(), words(context, document.interval()));
            ui.strong(text).on_hover_text(format!("The {what} of the open trace"));
        } else {
            ui.strong(format!("{name} {}", opened.name)).on_hover_text("All of the other trace");
            let button = ui.button(format!("Close {name}")).on_hover_text("Compare within the open trace again");
            context.commands.on_click(&button, Command::StopComparing);
            if opened.ready.trace.cut.is_some() {
                let label = ui.colored_label(ui.visuals().warn_fg_color, format!("{name}: only partly loaded"));
                label.on_hover_text("There was not enough memory for all of it");
            }
        }
        ui.separator();
    }
    if swap(ui, "A is the trace that was recorded first, B the later one: a change is B minus A") {
        view.is_swapped = !view.is_swapped;
        context.ask();
    }
    if !document.filters().is_all() {
        ui.weak("Filters do not apply across traces");
    }
}

fn words(context: &ViewContext<'_>, interval: Interval) -> String {
    let [from, to] = [interval.from, interval.to].map(|at| short_time(context.document, at));
    if interval.is_empty() { format!("at {to}") } else { format!("{from} to {to}") }
}
