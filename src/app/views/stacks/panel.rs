//! The table and its toolbar. The list of open rows comes from the query worker; only the rows on the screen ([`super::lines`])
//! are formatted.

use std::sync::Arc;

use eframe::egui::{self, Ui};

use super::lines::Lines;
use super::table::Table;
use super::{Action, Stacks, keys, place, text};
use crate::app::base::table::{SavedSort, TableSource};
use crate::app::commands::Setting;
use crate::app::document::Document;
use crate::app::jobs::drop_aside;
use crate::app::state::filters::Filters;
use crate::app::state::ids::Place;
use crate::app::state::view_choices::{NodePlace, OpenedNode, ViewChoices};
use crate::app::views::{Pane, ViewContext};
use crate::app::widgets::centered::centered;
use crate::app::widgets::{columns, frames, list, source_lines};
use crate::format;
use crate::model::Trace;
use crate::query::{Finding, KeyMap, Numbers, Path, SourceLine};

impl Pane for Stacks {
    fn settle(&mut self, trace: &Trace) -> bool {
        let search = self.search.clone();
        self.select(trace, |line, table| line.look(&search, table))
    }

    fn forget(&mut self) {
        drop_aside(self.table.take());
        self.selected.look(&self.search, None);
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let reveal = self.selected.take_reveal();
        let room = ui.available_width();
        if std::mem::replace(&mut self.is_wide, room >= WIDE) != self.is_wide {
            context.ask();
        }
        let Some(table) = &self.table else {
            context.wait(ui);
            return;
        };
        if table.tree.is_empty() {
            let text = format::sentence(&nothing(self, context.document));
            context.nothing(ui, &text);
            return;
        }
        if self.shows_details() {
            let shown = egui::Panel::right("details").resizable(true).default_size((room * 0.34).clamp(240.0, 420.0));
            let shown = shown.size_range(200.0..=(room - 200.0).max(220.0));
            shown.show(ui, |ui| details(self, table, context, ui));
        }
        let revealed = self.selected.index().filter(|_| reveal);
        let mut lines = Lines { view: self, table, context, visible: 0..0, rows: Vec::new(), revealed, action: None };
        let pushed = list::show(ui, "allocations", table, &mut lines);
        let (action, visible) = (lines.action, lines.visible);
        context.commands.append(pushed);
        self.look_at(visible, context);
        if let Some(action) = action {
            self.carry_out(action, context);
        }
    }

    /// Draws the toolbar above the table.
    fn tools(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        // A selected node can only be filtered to while the table contains it.
        let selected = self.selected.path().filter(|_| self.selected.index().is_some()).cloned();
        let changes = selected.is_some() && context.document.filters().under().any.first() != selected.as_ref();
        let button = ui.add_enabled(changes, egui::Button::new("Filter to this line"));
        if button.on_hover_text("Show only what is under the selected line (Enter)").clicked()
            && let Some(path) = selected
        {
            self.filter_to(path, context);
        }
        if ui.button("Collapse all").on_hover_text("Close all lines").clicked() {
            self.carry_out(Action::CollapseAll, context);
        }
        let hint = "Details of the selected line: size over time, distribution of sizes and lifetimes, call stack";
        let is_shown = self.shows_details();
        if ui.selectable_label(is_shown, "Details").on_hover_text(hint).clicked() {
            self.wants_details = Some(!is_shown);
            context.ask();
        }
        if let Some(shown) = frames::switch(ui, !context.document.fold.is_any(), false) {
            context.commands.push(Setting::AllFrames(shown));
        }
    }

    fn keys(&mut self, context: &mut ViewContext<'_>, ctx: &egui::Context) {
        keys::press(self, context, ctx);
    }

    fn searched(&self) -> Option<&str> {
        Some(&self.search)
    }

    fn search(&mut self, text: String) {
        self.search = text;
        self.selected.stop_seeking();
    }

    fn go_to_found(&mut self, document: &Document) {
        if !self.search.trim().is_empty() {
            let search = self.search.clone();
            self.select(&document.trace, |line, table| line.seek(&search, table));
        }
    }

    fn has_selected(&self) -> bool {
        self.selected.path().is_some()
    }

    fn unselect(&mut self) {
        self.selected.select(None, self.table.as_deref());
    }

    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        Some(Arc::clone(self.table.as_ref()?) as Arc<dyn TableSource>)
    }

    fn order(&self) -> Option<SavedSort> {
        columns::saved(self.sort)
    }

    fn set_order(&mut self, order: Option<&SavedSort>) {
        self.sort = columns::restored(order, |_| true).unwrap_or_default();
    }

    fn add_choices(&self, choices: &mut ViewChoices) {
        let node = |(path, is_open): (&Path, &bool)| OpenedNode { place: NodePlace::Path(Arc::clone(path)), is_open: *is_open };
        choices.nodes = self.toggled.iter().map(node).collect();
        choices.selected = self.selected.path().map(|path| NodePlace::Path(Arc::clone(path)));
        choices.details = self.wants_details;
    }

    fn take_choices(&mut self, choices: &ViewChoices) {
        let toggled = choices.nodes.iter().filter_map(|node| match &node.place {
            NodePlace::Path(path) => Some((Arc::clone(path), node.is_open)),
            NodePlace::Names { .. } | NodePlace::Mark(_) => None,
        });
        self.toggled = Arc::new(toggled.collect());
        self.wants_details = choices.details;
        match &choices.selected {
            Some(NodePlace::Path(path)) => self.selected.await_line(Arc::clone(path), self.table.as_deref()),
            _ => self.unselect(),
        }
    }

    fn says(&self) -> Option<String> {
        text::of_selected(self.table.as_deref()?, self.selected.index()?)
    }

    fn highlight(&self) -> Option<Path> {
        self.selected.path().cloned()
    }

    /// Clears the selection if the filter hides the selected row; the open nodes stay open.
    fn filtered(&mut self, filters: &Filters) {
        let under = filters.under();
        let kept = |s: &Path| under.is_all() || under.any.iter().any(|p| s.starts_with(p));
        if !self.selected.path().is_some_and(kept) {
            self.unselect();
        }
    }

    fn paths(&self) -> Vec<Path> {
        self.toggled.keys().chain(self.selected.path()).cloned().collect()
    }

    fn renumber(&mut self, map: &KeyMap) {
        self.toggled = Arc::new(self.toggled.iter().filter_map(|(path, open)| Some((map.path(path)?, *open))).collect());
        let selected = self.selected.path().and_then(|path| map.path(path));
        self.selected.rename(selected, self.table.as_deref());
    }

    fn open(&mut self, node: &Path) -> bool {
        let row = self.table.as_deref().and_then(|table| table.row(table.tree.find(&table.trace, node)?));
        let is_closed = row.is_some_and(|row| row.has_children && !row.is_open);
        if is_closed {
            self.toggle(Arc::clone(node), true);
        }
        is_closed
    }

    fn show_place(&mut self, place: &Place, document: &Document) -> bool {
        let Place::Heap(heap) = *place else { return false };
        self.search.clear();
        place::open_heap(self, heap, document);
        true
    }

    fn show_finding(&mut self, finding: &Finding, document: &Document) -> bool {
        self.search.clear();
        place::open(self, finding, document);
        true
    }
}

/// Width of the view from which details are shown without a choice of the user.
const WIDE: f32 = 1250.0;

/// Most frames that are listed in the details.
const FRAMES: usize = 100;

/// Draws the details of the selected row.
fn details(view: &Stacks, table: &Table, context: &mut ViewContext<'_>, ui: &mut Ui) {
    let (Some(index), Some(row)) = (view.selected.index(), view.selected_row()) else {
        centered(ui, egui::RichText::new("Select a line for its details.").weak());
        return;
    };
    egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.add(egui::Label::new(egui::RichText::new(&row.label).strong()).wrap());
        let line = table.tree.frame(&table.trace, index).and_then(|(frame, level)| SourceLine::of(&frame, level));
        let details = table.details.as_ref().filter(|details| details.path == row.path);
        let margin = |at: &SourceLine| match details.and_then(|details| details.at_line(at)) {
            Some(numbers) => marginal(numbers),
            None if line.as_ref() == Some(at) => marginal(&row.numbers),
            None => String::new(),
        };
        let reading = source_lines::Reading { sources: context.sources, settings: context.settings, commands: context.commands };
        source_lines::excerpt(ui, line.as_ref(), margin, reading);
        match details {
            Some(details) => details.show(context, ui),
            None => _ = ui.weak("Computing\u{2026}"),
        }
        let above = std::iter::successors(Some(index), |&line| table.tree.parent(line));
        let mut frames = above.filter_map(|line| table.tree.frame(&table.trace, line)).peekable();
        if frames.peek().is_none() {
            return;
        }
        ui.separator();
        ui.strong("Stack");
        for (frame, level) in frames.by_ref().take(FRAMES) {
            frames::line(ui, &frame, level, context.commands);
        }
        if frames.peek().is_some() {
            ui.weak("\u{2026}");
        }
    });
}

/// The number beside a line of source: its impacting size, or its size if that is zero.
fn marginal(n: &Numbers) -> String {
    if n.impacting == 0 { format::bytes(n.size) } else { format::signed_bytes(n.impacting) }
}

/// Why the table is empty.
fn nothing(view: &Stacks, document: &Document) -> String {
    if !view.search.trim().is_empty() {
        "Nothing in this interval matches the search.".to_owned()
    } else if !document.is_settled() {
        "Loading\u{2026}".to_owned()
    } else {
        document.with_silent("Nothing was alive in this interval.")
    }
}
