//! Menu bar, the tools for views and filters, and the search field.

use eframe::egui::containers::menu::{MenuConfig, SubMenuButton};
use eframe::egui::{self, Button};

use crate::app::HighwaterApp;
use crate::app::commands::{Command, DocCommand};
use crate::app::panels::{chips, columns, frames, stack_rules};
use crate::app::settings::Theme;
use crate::format;
use crate::load::{Input, default_budget};
use crate::query::Column;

pub fn menu(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    egui::MenuBar::new().ui(ui, |ui| {
        ui.menu_button("File", |ui| file_menu(app, ui));
        ui.menu_button("View", |ui| view_menu(app, ui));
        ui.menu_button("Help", |ui| {
            if ui.add(Button::new("Keys").shortcut_text("F1")).clicked() {
                app.commands.push(Command::ShowKeys(true));
            }
        });
        if let Some(document) = &app.document {
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                ui.add(egui::Label::new(egui::RichText::new(document.name()).weak()).truncate());
            });
        }
    });
}

/// Why nothing can be recorded now.
pub fn why_not(app: &HighwaterApp) -> &'static str {
    match app.recorder {
        Some(_) => "Something is being recorded already",
        None => "Recording works on Windows only; traces that were recorded there open here",
    }
}

fn file_menu(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    if ui.add(Button::new("Open\u{2026}").shortcut_text("Ctrl+O")).clicked() {
        app.commands.push(Command::OpenDialog);
    }
    let can_record = app.recorder.is_some() && !app.is_recording();
    let record = ui.add_enabled(can_record, Button::new("Record\u{2026}").shortcut_text("Ctrl+R"));
    if record.on_disabled_hover_text(why_not(app)).clicked() {
        app.commands.push(Command::ShowAttach(true));
    }
    if ui.button("Open demo trace").clicked() {
        app.commands.push(Command::Open(vec![Input::Demo]));
    }
    ui.menu_button("Recent", |ui| {
        if app.settings.recent.is_empty() {
            ui.weak("none yet");
        }
        for path in &app.settings.recent {
            if ui.button(path.display().to_string()).clicked() {
                app.commands.push(Command::Open(vec![Input::File(path.clone())]));
            }
        }
    });
    if cfg!(windows) {
        ui.separator();
        let hint = "Shows Windows' settings, where you choose what opens .etl and .diagsession";
        if ui.button("Make highwater the default\u{2026}").on_hover_text(hint).clicked() {
            app.commands.push(Command::ShowDefaultPrograms);
        }
    }
    ui.separator();
    if ui.add_enabled(app.document.is_some(), Button::new("Close trace")).clicked() {
        app.commands.push(Command::Close);
    }
    if ui.button("Quit").clicked() {
        app.commands.push(Command::Quit);
    }
}

fn view_menu(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    ui.strong("Theme");
    for (theme, name) in [(Theme::System, "As the system"), (Theme::Light, "Light"), (Theme::Dark, "Dark")] {
        if ui.radio(app.settings.theme == theme, name).clicked() {
            app.commands.push(Command::SetTheme(theme));
        }
    }
    ui.separator();
    ui.strong("Columns");
    column_choice(app, ui);
    ui.separator();
    if let Some(shown) = frames::switch(ui, app.settings.show_allocators, false) {
        app.commands.push(Command::ShowAllocators(shown));
    }
    let hint = "Frames that are folded away, and names for stacks";
    if ui.button("Stack rules\u{2026}").on_hover_text(hint).clicked() {
        app.commands.push(Command::ShowRules(true));
    }
    ui.separator();
    // A number can be typed here, so a click inside closes nothing.
    let stays = MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
    SubMenuButton::new("Memory for a trace").config(stays).ui(ui, |ui| memory_limit(app, ui));
}

/// How much memory a trace may use; counts from the next one on.
fn memory_limit(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    ui.weak("From the next trace that is opened:");
    let limit = app.settings.memory_limit_mb;
    let automatic = format!("Three quarters of the machine's ({})", format::rough_bytes(default_budget()));
    if ui.radio(limit.is_none(), automatic).clicked() {
        app.commands.push(Command::SetMemoryLimit(None));
    }
    ui.horizontal(|ui| {
        let mut megabytes = limit.unwrap_or(default_budget() >> 20);
        if ui.radio(limit.is_some(), "At most").clicked() {
            app.commands.push(Command::SetMemoryLimit(Some(megabytes)));
        }
        let field = egui::DragValue::new(&mut megabytes).range(1..=u64::from(u32::MAX)).speed(64).suffix(" MB");
        let field = ui.add_enabled(limit.is_some(), field);
        if field.changed() {
            app.commands.push(Command::SetMemoryLimit(Some(megabytes)));
        }
    });
}

/// One check box for each column that can be hidden.
pub fn column_choice(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    for column in Column::ALL.into_iter().filter(|&c| c != Column::Name) {
        let mut shown = app.settings.shows(column);
        if ui.checkbox(&mut shown, columns::title(column)).clicked() {
            app.commands.push(Command::ShowColumn(column, shown));
        }
    }
}

pub fn tools(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    let Some(document) = &app.document else { return };
    let commands = &mut app.commands;
    ui.horizontal(|ui| {
        let mut tool = |ui: &mut egui::Ui, enabled, text: &str, hint: &str, command: DocCommand| {
            if ui.add_enabled(enabled, Button::new(text)).on_hover_text(hint).clicked() {
                commands.doc(command);
            }
        };
        tool(ui, document.history.can_go_back(), "Back", "The view before (Backspace)", DocCommand::Back);
        tool(ui, document.history.can_go_forward(), "Forward", "The view after (Alt+Right)", DocCommand::Forward);
        tool(ui, document.selection.is_some(), "Zoom", "Zoom to the selected interval (Z)", DocCommand::ZoomToSelection);
        tool(ui, document.view() != document.trace.span, "Whole trace", "Show all of it (Home)", DocCommand::ZoomOut);
        ui.separator();
        let can_clear = !document.filters().is_all();
        tool(ui, can_clear, "Clear filter", "Show everything again", DocCommand::ClearFilter);
        stack_rules::button(app.rules.now(), commands, ui);
        chips::show(document, commands, ui);
        let span = document.interval();
        let clock = &document.trace.clock;
        let (from, to) = (clock.seconds(span.from), clock.seconds(span.to));
        let what = if document.selection.is_some() { "Selection" } else { "View" };
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let text = match document.selection {
                Some(instant) if instant.is_empty() => format!("Alive at {to:.6} s"),
                _ => format!("{what}: {from:.3} s to {to:.3} s ({})", format::duration(to - from)),
            };
            ui.add(egui::Label::new(text).truncate());
        });
    });
}

/// The search field, whichever table is in sight. A name of its own: the button beside
/// it comes with the first letter, and must not take its focus.
pub fn search_id() -> egui::Id {
    egui::Id::unique("search field")
}

/// The field to search in the table in sight.
pub fn search(app: &mut HighwaterApp, ui: &mut egui::Ui) {
    let Some(searched) = app.document.as_ref().and_then(|document| document.searched()) else { return };
    ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
        let mut text = searched.to_owned();
        if !text.is_empty() && ui.button("Clear search").clicked() {
            text.clear();
        }
        let width = (ui.available_width() - 16.0).clamp(40.0, 220.0);
        let field = egui::TextEdit::singleline(&mut text).id(search_id()).hint_text("Search (Ctrl+F)");
        let field = ui.add(field.desired_width(width));
        field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Search"));
        let is_entered = field.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
        if text != searched {
            app.commands.doc(DocCommand::Search(text));
        }
        if is_entered {
            app.commands.doc(DocCommand::GoToFound);
        }
    });
}
