//! The window for the mapping of providers to trackers: its text, and beside it the providers of the open trace.

use eframe::egui::{self, Button, RichText, TextEdit, Ui, WidgetInfo};

use super::context::PanelContext;
use crate::app::base::theme;
use crate::app::commands::Command;
use crate::app::services::providers::Providers;
use crate::app::services::tracker_mapping::TrackerMapping;
use crate::events::{EventKind, ProviderSeen};
use crate::format;

/// Width of the text in points.
const TEXT: f32 = 460.0;
/// Width of the list of providers in points.
const LIST: f32 = 260.0;
/// Lines of the text that are shown.
const LINES: usize = 18;
/// Number of ids that are listed below a provider; all are in its tooltip.
const MOST_KINDS: usize = 6;
/// Number of providers that are listed.
const MOST: usize = 200;

const ABOUT: &str = "Describe your own allocators: which events of a provider allocate and free, and which fields hold address \
                     and size. Each becomes a tracker. mimalloc, PIX and Visual Studio's custom heaps need no mapping.";

const HINT: &str = "[[tracker]]\nprovider = \"name or GUID\"\nname = \"Pool {pool}\"\n\n[[tracker.event]]\nid = 1\ndoes = \
                    \"allocate\"   # free, reallocate\nfields = \"pool:u32 address:ptr size:u64\"";

pub fn show(context: &mut PanelContext<'_>, ctx: &egui::Context) {
    if !context.mapping.is_shown {
        return;
    }
    let mut open = true;
    let window = egui::Window::new("Custom allocators").open(&mut open).collapsible(false).resizable(false);
    window.default_pos(ctx.content_rect().center() - egui::vec2(380.0, 240.0)).show(ctx, |ui| {
        ui.set_max_width(TEXT + LIST + 24.0);
        ui.label(ABOUT);
        ui.add_space(4.0);
        ui.horizontal_top(|ui| {
            ui.vertical(|ui| text(context, ui));
            ui.separator();
            ui.vertical(|ui| providers(context, ui));
        });
    });
    if !open {
        context.commands.push(Command::ShowTrackers(false));
    }
}

/// The text, its error, and the button that uses it.
fn text(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let mapping = &mut *context.mapping;
    let height = LINES as f32 * ui.text_style_height(&egui::TextStyle::Monospace);
    egui::ScrollArea::vertical().id_salt("mapping").max_height(height).min_scrolled_height(height).show(ui, |ui| {
        let field = TextEdit::multiline(&mut mapping.draft).code_editor().hint_text(HINT).desired_rows(LINES);
        let field = ui.add(field.desired_width(TEXT).id_salt("mapping of trackers"));
        field.widget_info(|| WidgetInfo::labeled(egui::Role::MultilineTextInput, true, "Mapping"));
    });
    if let Some(problem) = &mapping.problem {
        ui.add(egui::Label::new(RichText::new(problem).color(theme::growth(ui.visuals()))).wrap());
    }
    ui.horizontal(|ui| {
        if ui.button("Use").on_hover_text("Keep this mapping, and load the trace again with it").clicked() {
            context.commands.push(Command::UseTrackers);
        }
        ui.weak(kept(mapping));
    });
}

fn kept(mapping: &TrackerMapping) -> String {
    mapping.file().map_or_else(String::new, |file| format!("Kept in {}", file.display()))
}

/// The providers of the open trace, each with a button that begins its mapping.
fn providers(context: &mut PanelContext<'_>, ui: &mut Ui) {
    ui.set_width(LIST);
    ui.strong("Providers of this trace");
    let Some(document) = context.document else {
        ui.weak("No trace is open.");
        return;
    };
    match &document.providers {
        Providers::Unknown if document.is_settled() => {
            context.commands.push(Command::ListProviders);
            ui.weak("Looking for providers\u{2026}");
        }
        Providers::Unknown => _ = ui.weak("They are listed when the trace is loaded."),
        Providers::Sought(_) => _ = ui.weak("Looking for providers\u{2026}"),
        Providers::Lost => _ = ui.weak("The files could not be read again."),
        Providers::Known(all) => {
            if all.is_empty() {
                ui.weak("Only the Windows kernel wrote events.");
            }
            for text in context.mapping.now.lacking(all) {
                let text = format::sentence(&text) + ".";
                ui.add(egui::Label::new(RichText::new(text).color(ui.visuals().warn_fg_color)).wrap());
            }
            let area = egui::ScrollArea::vertical().id_salt("providers to map").auto_shrink([false, true]);
            area.max_height(LINES as f32 * 16.0).show(ui, |ui| {
                all.iter().take(MOST).for_each(|seen| provider(context.mapping, seen, ui));
            });
        }
    }
}

/// An id of events, with their number and the size of their payload, from which their fields can be guessed.
fn kind(kind: &EventKind) -> String {
    let EventKind { id, events, payload: (least, most) } = *kind;
    let size = if least == most { format!("{least} bytes") } else { format!("{least} to {most} bytes") };
    format!("{id}: {} \u{d7} {size}", format::count(events))
}

fn provider(mapping: &mut TrackerMapping, seen: &ProviderSeen, ui: &mut Ui) {
    let guid = seen.guid.to_string();
    let name = seen.name.as_deref().unwrap_or(&guid).to_owned();
    let is_known = mapping.now.list().iter().any(|one| one.provider == seen.guid);
    ui.horizontal(|ui| {
        let add = ui.add_enabled(!is_known, Button::new("Map").small());
        add.widget_info(|| WidgetInfo::labeled(egui::Role::Button, !is_known, format!("Map {name}")));
        let add = add.on_hover_text("Add a template for it to the text");
        if add.on_disabled_hover_text("Already mapped: its events are blocks of trackers").clicked() {
            mapping.add_skeleton(seen);
        }
        ui.add(egui::Label::new(&name).truncate().show_tooltip_when_elided(false))
            .on_hover_text(format!("{name}\n{{{guid}}}, {} events", format::count(seen.events)));
    });
    if !seen.kinds.is_empty() {
        let first: Vec<String> = seen.kinds.iter().take(MOST_KINDS).map(kind).collect();
        let line = RichText::new(first.join(", ")).weak().size(11.5);
        ui.add(egui::Label::new(line).truncate().show_tooltip_when_elided(false)).on_hover_ui(|ui| {
            seen.kinds.iter().for_each(|of_id| drop(ui.label(kind(of_id))));
        });
    }
}
