//! The dialog for a trace that needs more memory than allowed. It asks what to load of the trace.

use eframe::egui::{self, RichText, Ui};

use super::context::PanelContext;
use crate::app::commands::{Commands, LoadCommand};
use crate::app::jobs::load_scope::{ScopeChange, ScopeChoice};
use crate::format::rough_bytes;
use crate::query::layer_label;
use crate::units::{Layer, Pid};

/// Space to the right of sizes for the scroll bar of the list.
const SCROLL_BAR: f32 = 8.0;

/// Number of processes above which there is a search field.
const SEARCHED: usize = 8;

pub fn show(context: &mut PanelContext<'_>, ctx: &egui::Context) {
    let Some(offer) = context.scope_choice else { return };
    let screen = ctx.content_rect();
    let commands = &mut context.commands;
    let dialog = egui::Modal::new(egui::Id::unique("offer")).show(ctx, |ui| {
        ui.set_width(460.0f32.min(screen.width() - 60.0));
        ui.heading("Not enough memory");
        let (need, may) = (rough_bytes(offer.estimate.total()), rough_bytes(offer.budget));
        ui.label(format!("This trace needs about {need} of memory; the limit is {may}. Choose what to load."));
        ui.add_space(6.0);
        // Approximate height of everything around the list.
        let height = (screen.height() - 300.0).clamp(60.0, 300.0);
        processes(offer, height, commands, ui);
        ui.add_space(6.0);
        layers(offer, commands, ui);
        ui.separator();
        sum(offer, ui);
        ui.add_space(4.0);
        buttons(offer, commands, ui);
    });
    if dialog.should_close() {
        context.commands.push(LoadCommand::Cancel);
    }
}

fn processes(offer: &ScopeChoice, height: f32, commands: &mut Commands, ui: &mut Ui) {
    let mut change = |change| commands.push(LoadCommand::ChangeScope(change));
    ui.horizontal(|ui| {
        ui.strong("Processes");
        if ui.small_button("All processes").clicked() {
            change(ScopeChange::AllProcesses(true));
        }
        if ui.small_button("No processes").clicked() {
            change(ScopeChange::AllProcesses(false));
        }
        if offer.processes.len() > SEARCHED {
            let mut text = offer.search.clone();
            let field = ui.add(egui::TextEdit::singleline(&mut text).hint_text("Search").desired_width(f32::INFINITY));
            field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Search processes"));
            if text != offer.search {
                change(ScopeChange::Search(text));
            }
        }
    });
    let found: Vec<Pid> = offer.found().collect();
    let line = ui.spacing().interact_size.y;
    let list = egui::ScrollArea::vertical().max_height(height).auto_shrink([false, true]);
    list.show_rows(ui, line, found.len() + 1, |ui, range| {
        for i in range {
            let Some(&pid) = found.get(i) else {
                others(offer, &mut change, ui);
                continue;
            };
            let mut wanted = offer.has(pid);
            if choice(ui, &mut wanted, &offer.estimate.name(pid), offer.bytes_of(pid)) {
                change(ScopeChange::Processes(vec![pid], wanted));
            }
        }
    });
}

fn others(offer: &ScopeChoice, change: &mut impl FnMut(ScopeChange), ui: &mut Ui) {
    let mut wanted = offer.others;
    let hint = "Processes that the estimate did not see: they have few events, or none";
    if ui.checkbox(&mut wanted, "Other processes").on_hover_text(hint).clicked() {
        change(ScopeChange::Others(wanted));
    }
}

fn layers(offer: &ScopeChoice, commands: &mut Commands, ui: &mut Ui) {
    ui.strong("Layers");
    for layer in Layer::ALL {
        let mut wanted = offer.has_layer(layer);
        if choice(ui, &mut wanted, layer_label(layer), offer.bytes_in(layer)) {
            commands.push(LoadCommand::ChangeScope(ScopeChange::Layer(layer, wanted)));
        }
    }
    let mut stacks = offer.stacks;
    let bytes = if stacks { offer.bytes_of_stacks() } else { 0 };
    ui.add_space(4.0);
    if choice(ui, &mut stacks, "Call stacks", bytes) {
        commands.push(LoadCommand::ChangeScope(ScopeChange::Stacks(stacks)));
    }
}

/// A check box with its size in memory at the right.
fn choice(ui: &mut Ui, wanted: &mut bool, name: &str, bytes: u64) -> bool {
    ui.horizontal(|ui| {
        let size = rough_bytes(bytes);
        let room = (ui.available_width() - 90.0).max(60.0);
        let width = egui::vec2(room, ui.spacing().interact_size.y);
        let layout = egui::Layout::left_to_right(egui::Align::Center);
        let check = |ui: &mut Ui| ui.add(egui::Checkbox::new(wanted, name)).on_hover_text(format!("{name}: about {size}"));
        let clicked = ui.allocate_ui_with_layout(width, layout, check).inner.clicked();
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.add_space(SCROLL_BAR);
            ui.weak(size.as_str());
        });
        clicked
    })
    .inner
}

fn sum(offer: &ScopeChoice, ui: &mut Ui) {
    let bytes = offer.bytes();
    let fits = bytes <= offer.budget;
    let (bytes, budget) = (rough_bytes(bytes), rough_bytes(offer.budget));
    let text = format!("Selected: about {bytes} of {budget}");
    if fits {
        ui.label(text);
    } else {
        let text = format!("{text}: too much; the trace would end where memory is used up");
        ui.add(egui::Label::new(RichText::new(text).color(ui.visuals().warn_fg_color)).wrap());
    }
}

fn buttons(offer: &ScopeChoice, commands: &mut Commands, ui: &mut Ui) {
    let has_any = offer.bytes() > 0;
    ui.horizontal_wrapped(|ui| {
        let hint = "Read only what is ticked";
        let button = ui.add_enabled(has_any, egui::Button::new("Load selection")).on_hover_text(hint);
        commands.on_click(&button, LoadCommand::ChooseScope(offer.scope()));
        let hint = "Read everything from the start, and end the trace where memory is used up";
        let button = ui.button("Load until memory is used up").on_hover_text(hint);
        commands.on_click(&button, LoadCommand::ChooseScope(Default::default()));
        commands.on_click(&ui.button("Cancel"), LoadCommand::Cancel);
    });
}
