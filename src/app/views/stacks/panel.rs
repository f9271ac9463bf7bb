//! The table. The list of open rows comes from the query worker; only the rows on the screen are formatted.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use eframe::egui::{self, Ui};

use super::table::Table;
use super::{Action, Stacks, keys, place, text};
use crate::app::base::table::{SavedSort, TableSource};
use crate::app::commands::{Command, DocCommand, Setting};
use crate::app::document::Document;
use crate::app::jobs::drop_aside;
use crate::app::state::filters::{Chip, Filters, Predicate};
use crate::app::state::ids::Place;
use crate::app::state::view_choices::{NodePlace, OpenedNode, ViewChoices};
use crate::app::views::{Pane, ViewContext};
use crate::app::widgets::centered::centered;
use crate::app::widgets::columns::{self, title};
use crate::app::widgets::list::{self, List, Name, Share, Style, Value};
use crate::app::widgets::{frames, losses, rule_menu, source_lines};
use crate::format;
use crate::model::{NodeId, Trace};
use crate::query::{Column, Finding, Key, KeyMap, Numbers, Path, SourceLine, TreeRow, layer_label, magnitude};
use crate::units::{Interval, Layer, Ticks};

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
    }

    fn take_choices(&mut self, choices: &ViewChoices) {
        let toggled = choices.nodes.iter().filter_map(|node| match &node.place {
            NodePlace::Path(path) => Some((Arc::clone(path), node.is_open)),
            NodePlace::Names { .. } => None,
        });
        self.toggled = Arc::new(toggled.collect());
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
        "Nothing in this interval has that in its name.".to_owned()
    } else if !document.is_settled() {
        "Loading\u{2026}".to_owned()
    } else {
        document.why_nothing().unwrap_or_else(|| document.with_silent("Nothing was alive in this interval."))
    }
}

struct Lines<'a, 'b> {
    view: &'a Stacks,
    table: &'a Table,
    context: &'a mut ViewContext<'b>,
    /// The rows on the screen, and their contents.
    visible: Range<usize>,
    rows: Vec<Rc<TreeRow>>,
    revealed: Option<usize>,
    action: Option<Action>,
}

impl List<Table> for Lines<'_, '_> {
    fn prepare(&mut self, rows: Range<usize>) {
        if self.visible != rows {
            self.rows = rows.clone().map_while(|index| self.table.row(index).map(Rc::new)).collect();
            self.visible = rows;
        }
    }

    fn value(&self, table: &Table, row: usize, column: Column) -> Value {
        self.row(row).map_or(Value::Nothing, |line| text::of_cell(table, &line, row, column))
    }

    fn share(&self, row: usize, column: Column) -> Option<Share> {
        let line = self.row(row).filter(|line| !line.mixes_layers)?;
        let number = match column {
            Column::Peak => self.table.tree.peak(&self.table.trace, &self.table.peaks, row)?,
            Column::Name | Column::Source | Column::AllocTime | Column::FreeTime | Column::Address | Column::Thread => {
                return None;
            }
            column => magnitude(column, &line.numbers),
        };
        let layer = layer(&line)?;
        let whole = match column {
            Column::Impacting => columns::all_change(layer),
            column => format!("{}, by {}", layer_label(layer), title(column)),
        };
        Share::of(number, self.table.wholes.of(layer), whole)
    }

    fn cell(&mut self, ui: &mut Ui, row: usize, column: Column, value: &Value) {
        match (column, self.row(row)) {
            (Column::Name, Some(line)) => self.name_cell(ui, &line, row),
            // At the left, although the header is at the right.
            (Column::Thread, Some(_)) if let Value::Text(text) = value => _ = list::name(ui, Name::new(text, Style::Plain)),
            (_, Some(line)) if !line.mixes_layers => list::plain(self, ui, row, column, value),
            _ => {}
        }
    }

    fn parent(&self, row: usize) -> Option<usize> {
        self.table.tree.parent(row)
    }

    fn is_selected(&self, row: usize) -> bool {
        self.view.selected.index() == Some(row)
    }

    fn clicked(&mut self, row: usize) {
        self.action = self.row(row).map(|line| Action::Select(Some(Arc::clone(&line.path))));
    }

    fn double_clicked(&mut self, row: usize) {
        if let Some(line) = self.row(row).filter(|line| line.has_children) {
            self.action = Some(Action::Toggle(Arc::clone(&line.path), !line.is_open));
        }
    }

    fn revealed(&self) -> Option<usize> {
        self.revealed
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        if let Some(line) = self.row(row) {
            self.row_menu(ui, &line, row);
        }
    }

    fn copy_key(&self) -> &'static str {
        "Ctrl+C"
    }

    fn sorted(&self, column: Column) -> Option<bool> {
        let sort = self.view.sort.in_interval(self.table.interval);
        (column == sort.column).then_some(sort.descending)
    }

    fn bound(&self, column: Column) -> Option<String> {
        losses::bound(&self.table.trace, self.table.interval, column)
    }

    fn header_clicked(&mut self, column: Column) {
        self.action = Some(Action::SortBy(column));
    }

    fn is_shown(&self, column: Column) -> Option<bool> {
        let has_numbers = self.table.frames.is_some() || !column.is_per_frame();
        Some(has_numbers && columns::is_shown(column, self.table.interval, self.context.settings))
    }

    fn show_column(&mut self, column: Column, shown: bool) {
        self.context.commands.push(Setting::Column(column, shown));
    }
}

/// The layer of a row below a process.
fn layer(line: &TreeRow) -> Option<Layer> {
    line.path.iter().find_map(|key| if let Key::Layer(layer) = key { Some(*layer) } else { None })
}

impl Lines<'_, '_> {
    fn row(&self, index: usize) -> Option<Rc<TreeRow>> {
        let known = index.checked_sub(self.visible.start).and_then(|at| self.rows.get(at));
        known.cloned().or_else(|| self.table.row(index).map(Rc::new))
    }

    fn name_cell(&mut self, ui: &mut Ui, row: &TreeRow, index: usize) {
        if list::branch(ui, row.depth, row.has_children.then_some(row.is_open), &row.label) {
            self.action = Some(Action::Toggle(Arc::clone(&row.path), !row.is_open));
        }
        let style = match row.path.last() {
            Some(Key::Frame(NodeId::ROOT)) => Style::Weak,
            _ if row.is_foreign => Style::Weak,
            Some(Key::Frame(_) | Key::Inlined(..)) => Style::Frame,
            Some(Key::Row(_)) => Style::Code,
            _ if row.depth == 0 => Style::Strong,
            _ => Style::Plain,
        };
        let label = list::name(ui, Name { text: &row.label, style, searched: &self.table.search });
        if let Some(place) = self.table.place(index) {
            ui.add_space(8.0);
            list::name(ui, Name::new(&place, Style::Weak));
        }
        if let Some((_, allocation)) = &row.allocation {
            ui.add_space(10.0);
            list::name(ui, Name::new(&text::of_life(&self.table.trace, allocation), Style::Weak));
        }
        if let Some(meaning) = meaning(row) {
            label.on_hover_text(meaning);
        } else if matches!(row.path.last(), Some(Key::Inside(..))) {
            label.on_hover_ui(|ui| {
                self.table.tree.shared_frames(&self.table.trace, index).iter().for_each(|name| _ = ui.weak(name));
            });
        } else if let Some((frame, level)) = self.table.tree.frame(&self.table.trace, index) {
            label.on_hover_ui(|ui| {
                let shared = self.table.tree.shared_frames(&self.table.trace, index);
                for name in shared.iter().take(shared.len().saturating_sub(1)) {
                    ui.weak(name);
                }
                frames::details(ui, &frame, level);
            });
        }
    }

    fn row_menu(&mut self, ui: &mut Ui, row: &TreeRow, index: usize) {
        if ui.button("Filter to this line").clicked() {
            self.view.filter_to(Arc::clone(&row.path), self.context);
        }
        if ui.button("Exclude this").clicked()
            && let Some(path) = self.view.present(Arc::clone(&row.path), &self.context.document.trace)
        {
            let path = self.view.for_filter(path);
            self.context.commands.push(DocCommand::AddChip(Chip::without(Predicate::Under(path))));
        }
        let button = ui.add_enabled(!self.context.document.filters().is_all(), egui::Button::new("Clear filter"));
        self.context.commands.on_click(&button, DocCommand::ClearFilter);
        if let Some(life) = row.allocation.and_then(|(_, row)| self.life(row.birth, row.death))
            && ui.button("Zoom to its life").clicked()
        {
            self.context.commands.push(DocCommand::ZoomInto(life));
        }
        let Some((frame, level)) = self.table.tree.frame(&self.table.trace, index) else { return };
        source_lines::offer(ui, &frame, level, self.context.commands);
        rule_menu::offer(ui, &frame.name(level).to_string(), self.context.commands);
        let button = ui.button("Copy frame").on_hover_text("Module, function, source file and line");
        self.context.commands.on_click(&button, Command::Copy(frames::as_text(&frame, level)));
    }

    /// The lifetime of a block, with some space on both sides.
    fn life(&self, birth: Ticks, death: Ticks) -> Option<Interval> {
        let span = self.context.document.trace.span;
        let (from, to) = (birth.max(span.from), death.min(span.to));
        let room = (to.0.checked_sub(from.0)? / 5).max(self.table.interval.len() / 10_000).max(1);
        Some(Interval { from: Ticks(from.0.saturating_sub(room)), to: Ticks(to.0.saturating_add(room)) })
    }
}

/// The tooltip of a row's name: WPA's term and its meaning, or why a process with several layers has no sizes.
fn meaning(row: &TreeRow) -> Option<String> {
    let said = |name: &str, meaning: &str| format!("WPA's {name}: {meaning}");
    match *row.path.last()? {
        Key::Process(_) if row.mixes_layers => Some("Layers of memory nest, so their sizes are never added".to_owned()),
        Key::Impacting(kind) => Some(said(kind.name(), kind.meaning())),
        Key::Class(class) => {
            let kind = class.impacting();
            Some(format!("{}\n{}", said(kind.name(), kind.meaning()), said(class.name(), class.meaning())))
        }
        _ => None,
    }
}
