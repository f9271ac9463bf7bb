//! The tools for views and filters, and the search field.

use eframe::egui;

use super::context::PanelContext;
use super::{chips, stack_rules};
use crate::app::base::table::{Export, Format};
use crate::app::commands::keys::{self, hint};
use crate::app::commands::{Command, Commands, DocCommand, Setting};
use crate::app::document::Document;
use crate::app::state::graph::Arrangement;
use crate::app::state::ids::{Tab, ViewId};
use crate::app::views::Pane;
use crate::app::widgets::icons::{Icon, icon_button};
use crate::format;
use crate::units::Interval;

/// Height in points, with chips or without.
const ROW: f32 = 24.0;

/// Room in points for the arrangements at the right, with the gaps beside them.
const ARRANGEMENTS: f32 = 160.0;

pub fn tools(context: &mut PanelContext<'_>, ui: &mut egui::Ui) {
    let Some(document) = context.document else { return };
    let commands = &mut context.commands;
    ui.horizontal(|ui| {
        ui.set_min_height(ROW);
        ui.spacing_mut().item_spacing.x = 3.0;
        for (icon, name, is_possible, does, key, command) in [
            (Icon::Back, "Back", document.history.can_go_back(), "The previous view", keys::BACK, DocCommand::Back),
            (Icon::Forward, "Forward", document.history.can_go_forward(), "The next view", keys::FORWARD, DocCommand::Forward),
            (
                Icon::Zoom,
                "Zoom",
                document.selection().is_some(),
                "Zoom to the selected interval",
                keys::ZOOM,
                DocCommand::ZoomToSelection,
            ),
            (
                Icon::Whole,
                "Whole trace",
                document.view() != document.trace.span,
                "The whole trace",
                keys::WHOLE,
                DocCommand::ZoomOut,
            ),
        ] {
            commands.on_click(&icon_button(ui, is_possible, icon, name).on_hover_text(hint(does, key)), command);
        }
        ui.spacing_mut().item_spacing.x = 6.0;
        ui.separator();
        let can_clear = !document.filters().is_all();
        let clear = icon_button(ui, can_clear, Icon::NoFilter, "Clear filter");
        commands.on_click(&clear.on_hover_text("Clear filter: show everything again"), DocCommand::ClearFilter);
        stack_rules::button(&context.rules.now, commands, ui);
        let texts = interval(document);
        let width = |text: &str| {
            let text = egui::WidgetText::from(text);
            text.into_galley(ui, Some(egui::TextWrapMode::Extend), f32::INFINITY, egui::TextStyle::Body).size().x
        };
        let widths = texts.each_ref().map(|text| width(text));
        chips::show(document, widths[2] + ARRANGEMENTS, commands, ui);
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            for (arrangement, name, hint) in [
                (Arrangement::Together, "Together", "All lines of the graph on one scale"),
                (Arrangement::Lanes, "Lanes", "A lane for each layer of a process, each with its own scale"),
            ] {
                let label = ui.selectable_label(document.arrangement() == arrangement, name).on_hover_text(hint);
                commands.on_click(&label, Setting::Arrangement(arrangement));
            }
            ui.separator();
            let room = ui.available_width();
            let fits = widths.iter().position(|&width| width <= room).unwrap_or(texts.len() - 1);
            let label = ui.add(egui::Label::new(&texts[fits]).truncate());
            if fits > 0 {
                label.on_hover_text(&texts[0]);
            }
        });
    });
}

/// The interval of the tables in words, in full and shorter.
fn interval(document: &Document) -> [String; 3] {
    let Interval { from, to } = document.interval();
    let [from, to] = [from, to].map(|at| document.trace.clock.seconds(at));
    let (what, length) = match document.selection() {
        Some(instant) if instant.is_empty() => {
            return [format!("Alive at {to:.6} s"), format!("Alive at {to:.3} s"), format!("{to:.3} s")];
        }
        Some(_) => ("Selection", format::duration(to - from)),
        None => ("View", format::duration(to - from)),
    };
    let decimals = document.decimals();
    let edges = format!("{from:.decimals$} s to {to:.decimals$} s");
    [format!("{what}: {edges} ({length})"), format!("{what}: {edges}"), edges]
}

/// The controls at the right of a table's tools: export and search.
pub fn of_table(context: &mut PanelContext<'_>, id: ViewId, ui: &mut egui::Ui) {
    let PanelContext { views: Some(views), commands, .. } = context else { return };
    let Some(view) = views.get(id) else { return };
    ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
        export(view, commands, ui);
        search(id, view, commands, ui);
    });
}

/// The menu that copies or exports a table, if the view has one.
fn export(view: &dyn Pane, commands: &mut Commands, ui: &mut egui::Ui) {
    if view.table_source().is_none() {
        return;
    }
    let menu = ui.menu_button("Export", |ui| {
        for format in Format::ALL {
            if ui.button(format.label()).clicked() {
                view.table_source()
                    .into_iter()
                    .for_each(|table_source| commands.push(Command::Export(Export { table_source, format })));
            }
        }
    });
    menu.response.on_hover_text("Copy the whole table as text, or save it as CSV or JSON");
}

/// The search field of a table.
fn search(id: ViewId, view: &dyn Pane, commands: &mut Commands, ui: &mut egui::Ui) {
    let Some(searched) = view.searched() else { return };
    let mut text = searched.to_owned();
    if !text.is_empty() && ui.button("Clear search").clicked() {
        text.clear();
    }
    let width = (ui.available_width() - 16.0).clamp(40.0, 220.0);
    let field = egui::TextEdit::singleline(&mut text).id(keys::search_id(id)).hint_text(hint("Search", keys::SEARCH));
    let field = ui.add(field.desired_width(width));
    field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Search"));
    if field.gained_focus() {
        commands.push(DocCommand::ShowTab(Tab::View(id)));
    }
    let is_entered = field.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
    if text != searched {
        commands.push(DocCommand::Search(text));
    }
    if is_entered {
        commands.push(DocCommand::GoToFound);
    }
}
