//! Changes of the stack rules, and their effects.

use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui;

use super::HighwaterApp;
use crate::app::commands::{Command, Setting};
use crate::app::services::rule_book::RulesChange;
use crate::paths::Existing;
use crate::stack_rules::StackRules;

impl HighwaterApp {
    pub(super) fn change_rules(&mut self, ctx: &egui::Context, change: RulesChange) {
        // A fold rule has no effect while all frames are shown.
        let folds = matches!(change, RulesChange::Fold(_));
        let changed = self.rules.change(change);
        if folds && self.settings.show_all_frames && matches!(changed, Ok(Some(()))) {
            self.carry_out(ctx, Command::Set(Setting::AllFrames(false)));
        }
        self.rules_changed(changed);
    }

    /// Adds the rules of a file, once it is read.
    pub(super) fn read_rules(&mut self, ctx: &egui::Context, file: PathBuf) {
        self.rules.at_work.start(ctx, move || StackRules::read(&file).map(Some));
    }

    /// Writes the rules to a file.
    pub(super) fn write_rules(&mut self, ctx: &egui::Context, file: PathBuf, existing: Existing) {
        if self.rules.file.as_ref() == Some(&file) {
            self.rules.unread = None; // the user wants its contents replaced
        }
        let rules = Arc::clone(&self.rules.now);
        self.rules.at_work.start(ctx, move || rules.write_to(&file, existing).map(|()| None));
    }

    /// Takes the results of finished reads and writes.
    pub(super) fn drain_rules(&mut self) {
        for result in self.rules.at_work.done() {
            let changed = match result {
                Ok(Some(others)) => {
                    self.rules.is_shown = true;
                    self.rules.add(&others)
                }
                Ok(None) => Ok(None),
                Err(reason) => Err(format!("{reason}.")),
            };
            self.rules_changed(changed);
        }
    }

    /// Saves changed rules, and has everything computed with them.
    fn rules_changed(&mut self, changed: Result<Option<()>, String>) {
        let saved = match changed {
            Ok(None) => return,
            Err(reason) => Err(reason),
            Ok(Some(())) => {
                if let Some(document) = self.front.document_mut() {
                    document.set_rules(&self.rules.now);
                }
                self.rules.save().map_err(|reason| format!("{reason}."))
            }
        };
        if let Err(text) = saved {
            self.tell_once(text);
        }
    }
}
