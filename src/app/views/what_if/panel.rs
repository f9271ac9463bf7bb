//! The table of models with its tools, or the state of the job that computes it.

use std::sync::Arc;
use std::time::Duration;

use eframe::egui::Ui;

use super::table::{Lines, ModelTable};
use super::{AT_FIRST, About, WhatIf};
use crate::app::base::table::TableSource;
use crate::app::document::Document;
use crate::app::jobs::drop_aside;
use crate::app::state::view_choices::ViewChoices;
use crate::app::views::{Pane, ViewContext};
use crate::app::widgets::drop_down::drop_down;
use crate::app::widgets::list;
use crate::format;
use crate::query::{ArenaKey, By, WhatIfRequest};

/// The meaning of the numbers.
const LEGEND: &str = "The recorded requests in their order, served by models of other allocators: the pages that they would touch, of the \
                      whole trace. Times are not compared.";

/// The word for no key.
const NO_KEY: &str = "nothing";

impl Pane for WhatIf {
    fn forget(&mut self) {
        self.cancel();
        drop_aside(self.given.take());
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let Some(given) = &self.given else {
            match context.document.trace.complete {
                true => context.wait(ui),
                false => context.nothing(ui, "Computed when the trace no longer grows."),
            }
            return;
        };
        let about = self.about(given);
        self.go_on(&about, ui.ctx());
        let table = self.table.clone().filter(|table| table.about.has_requests_of(&about));
        if table.as_ref().is_some_and(|table| table.lines.is_empty()) {
            context.nothing(ui, "No blocks of heaps or trackers were recorded.");
            return;
        }
        ui.horizontal_wrapped(|ui| {
            ui.weak(LEGEND);
            self.state(&about, table.as_deref(), ui);
        });
        let Some(table) = table else { return };
        table.sentences.iter().for_each(|sentence| _ = ui.strong(sentence));
        table.doubt.iter().for_each(|doubt| _ = ui.weak(format::sentence(doubt) + "."));
        ui.add_space(2.0);
        let pushed = list::show(ui, "what if", &table, &mut Lines(&table));
        context.commands.append(pushed);
    }

    fn tools(&mut self, _: &mut ViewContext<'_>, ui: &mut Ui) {
        let WhatIfRequest { pool_by, arena_by } = &mut self.request;
        ui.weak("Pool by:");
        choice(ui, "pools", pool_by, &WhatIfRequest::KEYS, By::word);
        ui.weak("Arena by:");
        choice(ui, "arenas", arena_by, &ArenaKey::ALL, ArenaKey::word);
    }

    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        Some(Arc::clone(self.table.as_ref()?) as Arc<dyn TableSource>)
    }

    fn command(&self, document: &Document) -> Option<Vec<String>> {
        let [input] = &document.inputs[..] else { return None };
        if !document.filters().is_all() {
            return None;
        }
        let mut words = ["highwater", "whatif"].map(str::to_owned).to_vec();
        words.push(input.name());
        let keys = [("--pool-by", self.request.pool_by.map(By::word)), ("--arena-by", self.request.arena_by.map(ArenaKey::word))];
        for (option, key) in keys {
            words.extend(key.into_iter().flat_map(|key| [option.to_owned(), key.to_owned()]));
        }
        Some(words)
    }

    fn add_choices(&self, choices: &mut ViewChoices) {
        let word = |word: Option<&'static str>| word.unwrap_or(NO_KEY);
        let words = [word(self.request.pool_by.map(By::word)), word(self.request.arena_by.map(ArenaKey::word))];
        choices.grouping = (self.request != AT_FIRST).then(|| words.join(","));
    }

    fn take_choices(&mut self, choices: &ViewChoices) {
        let words = choices.grouping.as_deref().and_then(|words| words.split_once(','));
        self.request = words.map_or(AT_FIRST, |(pools, arenas)| WhatIfRequest {
            pool_by: WhatIfRequest::KEYS.into_iter().find(|key| key.word() == pools),
            arena_by: ArenaKey::ALL.into_iter().find(|key| key.word() == arenas),
        });
    }
}

impl WhatIf {
    /// Draws how far the job is, or a way to start one.
    fn state(&mut self, about: &About, table: Option<&ModelTable>, ui: &mut Ui) {
        if let Some(job) = &self.job {
            let (done, known) = job.progress.now();
            ui.spinner();
            ui.label(format!("Computing: {done} of {known} models"));
            ui.ctx().request_repaint_after(Duration::from_millis(200));
            if ui.button("Cancel").clicked() {
                self.stopped = Some((job.about.clone(), None));
                self.cancel();
            }
            return;
        }
        if let Some((_, Some(caught))) = self.stopped.as_ref().filter(|_| self.is_stopped(about)) {
            ui.label(format!("The models could not be computed: {caught}."));
        }
        let (words, hint) = match table {
            None => ("Compute", "Compute the models, which takes some seconds per million allocations"),
            Some(table) if !table.about.is(about) => ("Compute again", "Names have become known since"),
            Some(_) => return,
        };
        if ui.button(words).on_hover_text(hint).clicked() {
            self.start(ui.ctx());
        }
    }
}

/// Draws the choice of a key, or of none.
fn choice<T: Copy + PartialEq>(ui: &mut Ui, id: &str, chosen: &mut Option<T>, all: &[T], word: fn(T) -> &'static str) {
    let text = |key: Option<T>| key.map_or(NO_KEY.to_owned(), |key| word(key).replace('_', " "));
    drop_down(ui, id, 150.0, text(*chosen)).show_ui(ui, |ui| {
        for key in [None].into_iter().chain(all.iter().copied().map(Some)) {
            ui.selectable_value(chosen, key, text(key));
        }
    });
}
