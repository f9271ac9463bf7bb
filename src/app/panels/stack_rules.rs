//! The windows and menus for stack rules: the rules in force, in a small window; the menu entries of a
//! function; and the dialog for tagging stacks.

use eframe::egui::{self, Button, RichText, Ui, WidgetInfo};

use super::context::PanelContext;
use crate::app::commands::{Command, Commands};
use crate::app::services::rule_book::{RuleBook, RulesChange};
use crate::format::{counted, plural};
use crate::stack_rules::{StackRules, TagRule};

/// Explanation of patterns.
const PATTERN: &str = "* matches anything, case is ignored; a pattern with ! matches module!function, one without \
                       matches the function alone";

/// Number of names that the dialog suggests.
const OFFERED: usize = 12;

/// Width of a name in points.
const NAME: f32 = 150.0;

/// Maximum height of a list of rules in points.
const LIST: f32 = 160.0;

/// A button with the number of rules, among the filters.
pub fn button(rules: &StackRules, commands: &mut Commands, ui: &mut Ui) {
    if rules.is_empty() {
        return;
    }
    let hint = format!(
        "{}, {}; click to see them",
        counted(rules.folds().len() as u64, "rule hides frames", "rules hide frames"),
        counted(rules.tags().len() as u64, "tags stacks", "tag stacks"),
    );
    commands.on_click(&ui.button(plural(rules.len() as u64, "rule")).on_hover_text(hint), Command::ShowRules(true));
}

pub fn show(context: &mut PanelContext<'_>, ctx: &egui::Context) {
    let PanelContext { rules, commands, .. } = context;
    if let Some((naming, is_new)) = rules.naming() {
        name_stacks(&rules.now, &naming, is_new, commands, ctx);
    }
    if !rules.is_shown {
        return;
    }
    let mut open = true;
    let window = egui::Window::new("Stack rules").open(&mut open).collapsible(false).default_width(520.0);
    window.default_pos(ctx.content_rect().center() - egui::vec2(270.0, 220.0)).show(ctx, |ui| {
        folds(&rules.now, commands, ui);
        ui.separator();
        tags(&rules.now, commands, ui);
        ui.separator();
        buttons(rules, commands, ui);
        kept(rules, ui);
    });
    if !open {
        commands.push(Command::ShowRules(false));
    }
}

fn folds(rules: &StackRules, commands: &mut Commands, ui: &mut Ui) {
    ui.strong("Hidden frames");
    ui.weak("Hidden in all stacks; their bytes count for the caller.");
    list(ui, "folds", rules.folds().len(), |ui, at| {
        let frame = &rules.folds()[at].frame;
        commands.on_click(&cross(ui, frame), Command::ChangeRules(RulesChange::RemoveFold(at)));
        pattern(ui, frame);
    });
    ui.horizontal(|ui| {
        let (mut frame, id) = draft(ui, "fold draft");
        let entered = field(ui, &mut frame, "Frame to hide", "engine.dll!*Allocator*", 330.0);
        let is_ready = !frame.trim().is_empty();
        if ui.add_enabled(is_ready, Button::new("Hide")).clicked() || (entered && is_ready) {
            commands.push(Command::ChangeRules(RulesChange::Fold(std::mem::take(&mut frame).trim().to_owned())));
        }
        ui.data_mut(|data| data.insert_temp(id, frame));
    });
}

fn tags(rules: &StackRules, commands: &mut Commands, ui: &mut Ui) {
    ui.strong("Tags of stacks");
    ui.weak("Stacks with such a frame have the tag; the first rule that fits, from the top, wins.");
    list(ui, "tags", rules.tags().len(), |ui, at| {
        let TagRule { frame, name, .. } = &rules.tags()[at];
        commands.on_click(&cross(ui, &format!("{frame} named {name}")), Command::ChangeRules(RulesChange::RemoveTag(at)));
        let up = ui.add_enabled(at > 0, Button::new("Up").small()).on_hover_text("Move it above the rule before");
        up.widget_info(|| WidgetInfo::labeled(egui::Role::Button, at > 0, format!("Raise rule {frame}")));
        commands.on_click(&up, Command::ChangeRules(RulesChange::RaiseTag(at)));
        let room = egui::vec2(NAME, ui.available_height());
        let left = egui::Layout::left_to_right(egui::Align::Center);
        ui.allocate_ui_with_layout(room, left, |ui| {
            ui.set_min_width(NAME);
            ui.add(egui::Label::new(name).truncate().show_tooltip_when_elided(false)).on_hover_text(name);
        });
        pattern(ui, frame);
    });
    ui.horizontal(|ui| {
        let ((mut name, name_id), (mut frame, id)) = (draft(ui, "name draft"), draft(ui, "tag draft"));
        let named = field(ui, &mut name, "Name of stacks", "Textures", 120.0);
        let entered = field(ui, &mut frame, "Frame in stacks", "*LoadTexture*", 204.0);
        let is_ready = !frame.trim().is_empty() && !name.trim().is_empty();
        if ui.add_enabled(is_ready, Button::new("Name")).clicked() || ((named || entered) && is_ready) {
            let rule = TagRule::new(std::mem::take(&mut frame), std::mem::take(&mut name));
            commands.push(Command::ChangeRules(RulesChange::Tag(rule)));
        }
        ui.data_mut(|data| {
            data.insert_temp(id, frame);
            data.insert_temp(name_id, name);
        });
    });
}

/// A list of rules, one a line; only visible ones are drawn.
fn list(ui: &mut Ui, id: &str, count: usize, mut line: impl FnMut(&mut Ui, usize)) {
    if count == 0 {
        return;
    }
    let height = ui.spacing().interact_size.y;
    let area = egui::ScrollArea::vertical().id_salt(id).max_height(LIST).auto_shrink([false, true]);
    area.show_rows(ui, height, count, |ui, range| {
        for at in range {
            ui.horizontal(|ui| {
                ui.set_height(height);
                line(ui, at);
            });
        }
    });
}

fn cross(ui: &mut Ui, words: &str) -> egui::Response {
    let cross = ui.add(Button::new("\u{d7}").frame(false)).on_hover_text("Remove this rule");
    cross.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, format!("Remove rule {words}")));
    cross
}

fn pattern(ui: &mut Ui, frame: &str) {
    ui.add(egui::Label::new(RichText::new(frame).monospace().size(12.0)).truncate().show_tooltip_when_elided(false))
        .on_hover_text(frame);
}

/// The text of a field until it is entered.
fn draft(ui: &Ui, name: &'static str) -> (String, egui::Id) {
    let id = egui::Id::unique(name);
    (ui.data(|data| data.get_temp(id)).unwrap_or_default(), id)
}

/// A field; returns whether it was left with Enter.
fn field(ui: &mut Ui, text: &mut String, label: &'static str, hint: &str, width: f32) -> bool {
    let field = egui::TextEdit::singleline(text).id_salt(label).hint_text(hint).desired_width(width);
    let field = ui.add(field);
    field.widget_info(|| WidgetInfo::labeled(egui::Role::TextInput, true, label));
    let entered = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
    field.on_hover_text(if label.starts_with("Name") { "The name" } else { PATTERN });
    entered
}

fn buttons(rules: &RuleBook, commands: &mut Commands, ui: &mut Ui) {
    ui.horizontal_wrapped(|ui| {
        let mut tool = |ui: &mut Ui, is_enabled, text: &str, hint: &str, command: Command| {
            commands.on_click(&ui.add_enabled(is_enabled, Button::new(text)).on_hover_text(hint), command);
        };
        let change = Command::ChangeRules;
        tool(ui, rules.can_undo(), "Undo", "Take the last change back", change(RulesChange::Undo));
        tool(ui, rules.can_redo(), "Redo", "Make it again", change(RulesChange::Redo));
        let any = !rules.now.is_empty();
        tool(ui, any, "Remove all", "Remove all rules", change(RulesChange::RemoveAll));
        ui.separator();
        let hint = "Add the rules of a file after these";
        tool(ui, true, "Add from file\u{2026}", hint, Command::OpenRulesDialog);
        tool(ui, any, "Save to file\u{2026}", "Save these rules to share them", Command::SaveRulesDialog);
    });
}

/// The file that stores the rules.
fn kept(rules: &RuleBook, ui: &mut Ui) {
    match (&rules.unread, rules.file.as_deref()) {
        (Some(reason), _) => {
            let text = format!("These rules cannot be saved: {reason}. Fix the file and start again, or save over it.");
            ui.add(egui::Label::new(RichText::new(text).color(ui.visuals().warn_fg_color)).wrap());
        }
        (None, Some(file)) => {
            ui.add(egui::Label::new(RichText::new(format!("Kept in {}", file.display())).weak()).truncate());
        }
        (None, None) => {}
    }
}

/// The dialog for tagging stacks with a frame.
fn name_stacks(rules: &StackRules, naming: &TagRule, is_new: bool, commands: &mut Commands, ctx: &egui::Context) {
    let mut rule = naming.clone();
    let (mut is_named, mut is_closed) = (false, false);
    let dialog = egui::Modal::new(egui::Id::unique("name stacks")).show(ctx, |ui| {
        ui.set_width(440.0f32.min(ctx.content_rect().width() - 60.0));
        ui.heading("Tag these stacks");
        ui.label("All stacks with this frame:");
        let mut entered = field(ui, &mut rule.frame, "Frame", "*LoadTexture*", f32::INFINITY);
        ui.label("get this tag:");
        let name = egui::TextEdit::singleline(&mut rule.name).id(egui::Id::unique("stack name")).hint_text("Textures");
        let name = ui.add(name.desired_width(f32::INFINITY));
        name.widget_info(|| WidgetInfo::labeled(egui::Role::TextInput, true, "Stack name"));
        if is_new {
            name.request_focus();
        }
        entered |= name.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        ui.horizontal_wrapped(|ui| {
            for known in rules.names().take(OFFERED) {
                if ui.selectable_label(rule.name == known, known).clicked() {
                    known.clone_into(&mut rule.name);
                }
            }
        });
        ui.separator();
        ui.horizontal(|ui| {
            let is_ready = !rule.name.trim().is_empty() && !rule.frame.trim().is_empty();
            is_named = ui.add_enabled(is_ready, Button::new("Tag stacks")).clicked() || (entered && is_ready);
            is_closed = ui.button("Cancel").clicked();
        });
    });
    if is_named {
        commands.push(Command::ChangeRules(RulesChange::Tag(rule)));
        commands.push(Command::NameStacks(None));
    } else if is_closed || dialog.should_close() {
        commands.push(Command::NameStacks(None));
    } else if rule != *naming {
        commands.push(Command::NameStacks(Some(rule)));
    }
}
