//! The menu entries that make a stack rule of a function.

use eframe::egui::Ui;

use crate::app::commands::{Command, Commands};
use crate::app::services::rule_book::RulesChange;
use crate::stack_rules::{StackRules, TagRule};

/// The menu entries for the frames of a function, by its printed name.
pub fn offer(ui: &mut Ui, function: &str, commands: &mut Commands) {
    if !function.contains('!') {
        return; // without a module there is no pattern for it
    }
    let frame = || StackRules::pattern_of(function);
    let hint = "Hide this frame in all stacks; its bytes count for the caller";
    commands.on_click(&ui.button("Hide this frame").on_hover_text(hint), Command::ChangeRules(RulesChange::Fold(frame())));
    let hint = "Give all stacks with this frame a tag, for grouping and filters";
    let button = ui.button("Tag these stacks\u{2026}").on_hover_text(hint);
    commands.on_click(&button, Command::NameStacks(Some(TagRule::new(frame(), ""))));
}
