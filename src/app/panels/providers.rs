//! The providers of a trace, each with a check box that makes its events marks, and a field for
//! providers that the trace does not list; and a button that looks up names in installed manifests.

use eframe::egui::{self, Ui};

use super::context::PanelContext;
use crate::app::commands::{Command, Commands, Setting};
use crate::app::document::Document;
use crate::app::services::manifests::ManifestNames;
use crate::app::services::providers::{Providers, is_chosen, with_choice, without_events};
use crate::events::{MarkProviders, ProviderSeen};
use crate::format;
use crate::load::Input;

/// Number of providers that are listed; others can be typed.
const MOST: usize = 200;

/// The list, closed at first, because making it takes a pass over the files.
pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let title = match context.settings.mark_providers.len() {
        0 => "Providers".to_owned(),
        n => format!("Providers, {n} chosen for marks"),
    };
    egui::CollapsingHeader::new(title).id_salt("providers").show(ui, |ui| list(context, ui));
}

/// The list, or why there is none yet.
fn list(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let Some(document) = context.document else { return };
    let words = &context.settings.mark_providers;
    ui.label(
        "Events of a chosen provider are marks on the time axis. The choice is kept, and the trace is loaded again with it.",
    );
    let mut chosen = None;
    match &document.providers {
        Providers::Unknown if document.is_settled() => {
            context.commands.push(Command::ListProviders);
            ui.weak("Looking for providers\u{2026}");
        }
        Providers::Unknown => _ = ui.weak("They are listed when the trace is loaded."),
        Providers::Sought(_) => _ = ui.weak("Looking for providers\u{2026}"),
        Providers::Lost => _ = ui.weak("The files could not be read again."),
        Providers::Known(all) if all.is_empty() => _ = ui.weak("Only the Windows kernel wrote events."),
        Providers::Known(all) => chosen = table(all, (words, context.manifests), ui),
    }
    let known = if let Providers::Known(all) = &document.providers { Some(all.as_slice()) } else { None };
    let chosen = chosen.or_else(|| others(words, known, ui)).or_else(|| field(words, ui));
    status(document, context.loading.is_some(), words, ui);
    if context.manifests.are_there() && document.is_settled() {
        look_up(context.manifests, context.commands, ui);
    }
    if let Some(words) = chosen {
        context.commands.push(Setting::MarkProviders(words));
    }
    ui.add_space(8.0);
}

/// The button that looks up names in installed manifests, and what the last search found.
fn look_up(manifests: &ManifestNames, commands: &mut Commands, ui: &mut Ui) {
    ui.horizontal_wrapped(|ui| {
        let button = ui.add_enabled(!manifests.is_at_work(), egui::Button::new("Look up names on this computer"));
        let about = "Names of events and their fields, from the manifests that are installed here: marks then show words where \
                     the trace has only numbers. The file stays as it is; highwater cut --manifests writes one with these names.";
        if button.on_hover_text(about).clicked() {
            commands.push(Command::LookUpManifests);
        }
        match &manifests.told {
            _ if manifests.is_at_work() => _ = ui.weak("Looking up names\u{2026}"),
            Some(told) => _ = ui.weak(told),
            None => {}
        }
    });
}

/// The providers as a table. Returns the new choice, if it has changed.
fn table(all: &[ProviderSeen], (words, manifests): (&[String], &ManifestNames), ui: &mut Ui) -> Option<Vec<String>> {
    let mut changed = None;
    let chosen = MarkProviders::new(words);
    egui::Grid::new("providers").num_columns(4).spacing([18.0, 3.0]).show(ui, |ui| {
        for seen in all.iter().take(MOST) {
            let was_chosen = chosen.has(seen.guid, seen.name.as_deref());
            // Chosen by a pattern, which stands for other providers too.
            let is_fixed = was_chosen && is_chosen(&with_choice(words, seen, false), seen);
            let mut is_on = was_chosen;
            let known = seen.name.as_deref().or_else(|| manifests.provider(seen.guid));
            let name = known.map_or_else(|| format!("{{{}}}", seen.guid), str::to_owned);
            let shown = ui.add_enabled(!is_fixed, egui::Checkbox::new(&mut is_on, "as marks"));
            shown.widget_info(|| {
                egui::WidgetInfo::selected(egui::Role::CheckBox, !is_fixed, was_chosen, format!("Marks of {name}"))
            });
            shown.on_disabled_hover_text("Chosen by a name with * below");
            if is_on != was_chosen {
                changed = Some(with_choice(words, seen, is_on));
            }
            number(ui, seen.events);
            match known {
                Some(name) => ui.label(name),
                None => ui.weak("(no name in the trace)"),
            };
            ui.weak(format!("{{{}}}", seen.guid));
            ui.end_row();
        }
    });
    if all.len() > MOST {
        ui.weak(format!("and {} more; highwater info --json lists them", format::count((all.len() - MOST) as u64)));
    }
    changed
}

fn number(ui: &mut Ui, number: u64) {
    let (rect, _) = ui.allocate_exact_size(egui::vec2(72.0, ui.spacing().interact_size.y), egui::Sense::hover());
    let layout = egui::Layout::right_to_left(egui::Align::Center);
    ui.scope_builder(egui::UiBuilder::new().max_rect(rect).layout(layout), |ui| ui.label(format::count(number)));
}

/// The chosen words that have no row in the table, with buttons to remove them.
fn others(words: &[String], known: Option<&[ProviderSeen]>, ui: &mut Ui) -> Option<Vec<String>> {
    let mut changed = None;
    let missing = known.map_or_else(Vec::new, |all| without_events(words, all));
    let is_missing = |word: &String| missing.contains(&word);
    let stands_below = |word: &&String| word.contains('*') || is_missing(word) || known.is_none();
    for word in words.iter().filter(stands_below) {
        ui.horizontal(|ui| {
            if ui.small_button("\u{d7}").on_hover_text(format!("Remove {word}")).clicked() {
                changed = Some(words.iter().filter(|other| *other != word).cloned().collect());
            }
            ui.label(word);
            if is_missing(word) {
                ui.weak("has no events in this trace");
            }
        });
    }
    changed
}

/// A field for a provider that is not in the table.
fn field(words: &[String], ui: &mut Ui) -> Option<Vec<String>> {
    let id = egui::Id::unique("provider to add");
    let mut text = ui.data(|data| data.get_temp::<String>(id)).unwrap_or_default();
    let mut changed = None;
    ui.horizontal(|ui| {
        let field = egui::TextEdit::singleline(&mut text).id_salt("provider").desired_width(280.0);
        let field = ui.add(field.hint_text("Name, with * for anything, or GUID"));
        field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Provider"));
        let word = text.trim().to_owned();
        let is_new = !word.is_empty() && !words.contains(&word);
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        if (ui.add_enabled(is_new, egui::Button::new("Add")).clicked() || entered) && is_new {
            changed = Some(words.iter().cloned().chain([word]).collect());
            text.clear();
        }
    });
    ui.data_mut(|data| data.insert_temp(id, text));
    changed
}

/// Says whether the marks on display match the choice.
fn status(document: &Document, is_loading: bool, words: &[String], ui: &mut Ui) {
    if document.providers_read.marks == words {
        return;
    }
    match why_not_again(document, is_loading) {
        Some(why) => ui.weak(why),
        None if is_loading => ui.weak("The trace is being loaded again\u{2026}"),
        None => ui.weak("The trace was loaded with another choice: open it again to apply this one."),
    };
}

/// Why a document cannot be loaded again now.
fn why_not_again(document: &Document, is_loading: bool) -> Option<&'static str> {
    if document.inputs.iter().any(Input::is_recording) {
        return Some("This trace is still being recorded: the choice applies to traces that you open from now on.");
    }
    let is_growing = !document.is_settled() && !is_loading;
    is_growing.then_some("The trace is still growing: the choice applies to traces that you open from now on.")
}
