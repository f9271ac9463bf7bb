//! The sources of symbols: the places in their order, the symbol path, and whether servers may be
//! contacted. Also the question about servers, which is asked once.

use eframe::egui::{self, Ui};

use super::context::PanelContext;
use crate::app::commands::Setting;
use crate::app::services::names::MICROSOFT;
use crate::load::Input;

/// The note on which data leaves the machine.
const WHAT_LEAVES: &str = "Only names and ids of modules leave this machine.";

/// The sources, closed at first.
pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let places = context.document.iter().flat_map(|document| &document.names).map(|names| names.search.places()).next();
    let places = places.unwrap_or_default();
    let unasked =
        context.document.iter().flat_map(|document| &document.names).map(|names| names.search.unasked.join(", ")).next();
    let complaint =
        context.document.iter().flat_map(|document| &document.names).find_map(|names| names.search.sources.path.complaint());
    let title = match places.len() {
        1 => "Symbols come from 1 place".to_owned(),
        n => format!("Symbols come from {n} places"),
    };
    let height = (ui.available_height() * 0.6).max(80.0);
    let body = |ui: &mut Ui| {
        for (i, place) in places.iter().enumerate() {
            ui.add(egui::Label::new(format!("{}. {place}", i + 1)).truncate());
        }
        if let Some(unasked) = unasked.filter(|unasked| !unasked.is_empty()) {
            ui.add(egui::Label::new(format!("Not asked: {unasked}")).truncate());
        }
        if let Some(complaint) = &complaint {
            ui.colored_label(ui.visuals().warn_fg_color, complaint);
        }
        switches(context, ui);
        path(context, ui);
    };
    egui::CollapsingHeader::new(title).id_salt("symbol sources").show(ui, |ui| {
        egui::ScrollArea::vertical().max_height(height).show(ui, body);
    });
}

fn switches(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let mut settings = context.settings.symbols.clone();
    ui.horizontal_wrapped(|ui| {
        ui.checkbox(&mut settings.beside_image, "Next to the image");
        ui.checkbox(&mut settings.where_linked, "Where the linker wrote it");
        let variables = ["_NT_SYMBOL_PATH", "_NT_ALT_SYMBOL_PATH"];
        let values = variables.map(|name| format!("{name} = {}", std::env::var(name).unwrap_or_default()));
        ui.checkbox(&mut settings.environment, "_NT_SYMBOL_PATH").on_hover_text(values.join("\n"));
        let mut network = settings.network == Some(true);
        if ui.checkbox(&mut network, "Ask symbol servers").on_hover_text(WHAT_LEAVES).clicked() {
            settings.network = Some(network);
        }
        ui.weak(WHAT_LEAVES);
    });
    if settings != context.settings.symbols {
        context.commands.push(Setting::Symbols(settings));
    }
}

/// The symbol path, one source per line. It takes effect when it is applied.
fn path(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let settings = &context.settings.symbols;
    let lines = settings.path.split(';').map(str::trim).collect::<Vec<_>>().join("\n");
    let id = egui::Id::unique("symbol path draft");
    let mut draft = ui.data(|data| data.get_temp::<String>(id)).unwrap_or_else(|| lines.clone());
    ui.label("Symbol path, one source per line, searched from the top:");
    let field = egui::TextEdit::multiline(&mut draft).id_salt("symbol path").desired_rows(2).desired_width(f32::INFINITY);
    let field = ui.add(field.font(egui::TextStyle::Monospace).hint_text("D:\\symbols\nsrv*C:\\cache*https://server/symbols"));
    field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Symbol path"));
    ui.horizontal(|ui| {
        if ui.add_enabled(draft != lines, egui::Button::new("Apply")).clicked() {
            let path = draft.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(";");
            draft = path.split(';').collect::<Vec<_>>().join("\n");
            context.commands.push(Setting::Symbols(crate::app::SymbolSettings { path, ..settings.clone() }));
        }
        if ui.add_enabled(draft != lines, egui::Button::new("Undo")).clicked() {
            draft.clone_from(&lines);
        }
        let hint = "Adds a line for the public symbols of Windows; it is asked only if symbol servers may be asked";
        let has_it = draft.contains(MICROSOFT);
        if ui.add_enabled(!has_it, egui::Button::new("Add Microsoft's server")).on_hover_text(hint).clicked() {
            let gap = if draft.trim().is_empty() { "" } else { "\n" };
            draft = format!("{}{gap}{MICROSOFT}", draft.trim_end());
        }
    });
    ui.data_mut(|data| data.insert_temp(id, draft));
}

/// Asks whether servers may be contacted, without blocking anything else. *Later* hides the question until the next start.
pub fn question(context: &mut PanelContext<'_>, ui: &mut Ui) {
    let Some(document) = context.document else { return };
    let Some(names) = &document.names else { return };
    // No server has symbols of the demo.
    let is_own = document.inputs.iter().any(|input| matches!(input, Input::File(_)));
    let put_off = egui::Id::unique("network question put off");
    if ui.data(|data| data.get_temp(put_off).unwrap_or(false)) {
        return;
    }
    let is_decided = context.settings.symbols.network.is_some() || names.search.unasked.is_empty();
    if is_decided || !is_own || names.missing() == 0 {
        return;
    }
    let modules = match names.missing() {
        1 => "1 module has".to_owned(),
        n => format!("{n} modules have"),
    };
    let host = |url: &String| url.split("://").last().and_then(|rest| rest.split('/').next()).unwrap_or(url).to_owned();
    let servers = names.search.unasked.iter().map(host).collect::<Vec<_>>().join(", ");
    let mut answer = None;
    // Above everything else, so that nothing moves under the pointer.
    let corner =
        egui::Area::new(egui::Id::unique("network question")).anchor(egui::Align2::RIGHT_BOTTOM, egui::vec2(-14.0, -36.0));
    let paper = egui::Frame::popup(ui.style()).inner_margin(10);
    corner.order(egui::Order::Foreground).show(ui.ctx(), |ui| {
        paper.show(ui, |ui| {
            ui.set_max_width(400.0);
            ui.add(egui::Label::new(format!("{modules} no names. Ask {servers} for symbols? {WHAT_LEAVES}")).wrap());
            ui.horizontal(|ui| {
                if ui.button("Ask the server").on_hover_text("From now on; change it in the tab Symbols").clicked() {
                    answer = Some(true);
                }
                if ui.button("Stay offline").on_hover_text("From now on; change it in the tab Symbols").clicked() {
                    answer = Some(false);
                }
                if ui.button("Later").on_hover_text("Ask again after the next start").clicked() {
                    ui.data_mut(|data| data.insert_temp(put_off, true));
                }
            });
        });
    });
    if answer.is_some() {
        let symbols = crate::app::SymbolSettings { network: answer, ..context.settings.symbols.clone() };
        context.commands.push(Setting::Symbols(symbols));
    }
}
